//! Reads `vm/kernels.toml`: which kernels there are to test on.

use std::fs;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::house;

/// The whole table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// The modules that a guest may ask for.
    pub(crate) modules: Vec<String>,
    /// One row per kernel.
    #[serde(rename = "kernel")]
    pub(crate) kernels: Vec<Kernel>,
}

/// One row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kernel {
    /// What `--kernel` takes.
    pub(crate) series: String,
    /// The pattern of its package names.
    pub(crate) package: String,
    /// Where its packages are looked for.
    pub(crate) suites: Vec<String>,
    /// Whether a test run may do without it.
    pub(crate) need: Need,
    /// Whether it lists `bpf` among its security modules by itself.
    pub(crate) lsm_bpf: bool,
    /// What its command line needs.
    #[serde(default)]
    pub(crate) append: String,
    /// What it stands for.
    pub(crate) why: String,
}

/// What becomes of a test run that could not test a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Need {
    /// It has failed.
    Required,
    /// It says so and goes on.
    Optional,
}

impl Need {
    /// As the table has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Optional => "optional",
        }
    }
}

impl Table {
    /// The table of this clone.
    pub(crate) fn read() -> Result<Self> {
        let path = house::root().join("vm/kernels.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not a kernel table", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let table: Self = toml::from_str(text)?;
        for kernel in &table.kernels {
            if kernel.suites.is_empty() {
                bail!("kernel {} names no suite to look in", kernel.series);
            }
        }
        Ok(table)
    }

    /// The row of a series.
    pub(crate) fn kernel(&self, series: &str) -> Result<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.series == series).with_context(|| {
            let known: Vec<_> = self.kernels.iter().map(|kernel| kernel.series.as_str()).collect();
            format!("no kernel `{series}` in vm/kernels.toml: it has {}", known.join(", "))
        })
    }
}

impl Kernel {
    /// Whether a package is one of this series.
    pub(crate) fn matches(&self, package: &str) -> bool {
        glob(self.package.as_bytes(), package.as_bytes())
    }

    /// What all of its packages' names start with.
    pub(crate) fn prefix(&self) -> &str {
        self.package.split(['*', '[']).next().unwrap_or_default()
    }
}

/// `*` matches anything and `[0-9]` a digit.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    if let Some(rest) = pattern.strip_prefix(b"[0-9]") {
        return name.first().is_some_and(u8::is_ascii_digit) && glob(rest, &name[1..]);
    }
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|skipped| glob(rest, &name[skipped..])),
        (Some((wanted, rest)), Some((found, tail))) => wanted == found && glob(rest, tail),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_this_clone_is_read() {
        let table = Table::read().unwrap();
        let required: Vec<_> = table
            .kernels
            .iter()
            .filter(|kernel| kernel.need == Need::Required)
            .map(|kernel| kernel.series.as_str())
            .collect();
        assert_eq!(required, ["6.1", "6.12", "latest"]);
        for kernel in &table.kernels {
            assert_eq!(kernel.lsm_bpf, kernel.append.is_empty(), "{}: bpf has to get in", kernel.series);
            assert!(!kernel.why.is_empty());
        }
        let error = table.kernel("9.9").unwrap_err().to_string();
        assert!(error.contains("it has 5.10, 6.1, 6.12"), "{error}");
    }

    #[test]
    fn packages_are_told_apart() {
        let table = Table::read().unwrap();
        let matching = |package: &str| -> Vec<&str> {
            table.kernels.iter().filter(|k| k.matches(package)).map(|k| k.series.as_str()).collect()
        };
        assert_eq!(matching("linux-image-6.1.0-57-cloud-amd64"), ["6.1", "latest"]);
        assert_eq!(matching("linux-image-6.12.118+deb13-cloud-amd64"), ["6.12", "latest"]);
        assert_eq!(matching("linux-image-7.3.4+deb13-cloud-amd64"), ["latest"]);
        for other in [
            "linux-image-6.12-cloud-amd64",
            "linux-image-cloud-amd64",
            "linux-image-6.1.0-57-amd64",
            "linux-image-6.1.0-57-cloud-amd64-dbg",
            "linux-image-rt-6.1.0-57-cloud-amd64",
        ] {
            assert!(matching(other).is_empty(), "{other}");
        }
        assert_eq!(table.kernel("6.1").unwrap().prefix(), "linux-image-6.1.");
        assert_eq!(table.kernel("latest").unwrap().prefix(), "linux-image-");
    }

    #[test]
    fn unknown_fields_are_errors() {
        let text = "modules = []\n[[kernel]]\nseries = \"1\"\nflavour = \"x\"\n";
        assert!(Table::parse(text).unwrap_err().to_string().contains("flavour"));
    }
}
