//! Debian's archive, through a private apt root.
//!
//! The machine's own lists and sources are left alone: a suite that is only wanted for one package must not become a candidate for the
//! next upgrade of the machine. Proxies, credentials and keys are the machine's own.

pub(crate) mod debootstrap;
pub(crate) mod sources;
pub(crate) mod version;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::proc;
use sources::Archive;

/// A set of suites with lists of its own.
pub(crate) struct PrivateRoot {
    dir: PathBuf,
    /// Whether the packages that are installed here are taken into account.
    installs: bool,
}

/// One version of one package in one suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The name of the package.
    pub(crate) package: String,
    /// Its Debian version.
    pub(crate) version: String,
    /// The suite that has it.
    pub(crate) suite: String,
}

impl PrivateRoot {
    /// A root to look up and download packages that are never installed.
    pub(crate) fn for_downloads(dir: PathBuf, archive: &Archive, suites: &[&str]) -> Result<Self> {
        Self::new(dir, archive, suites, false)
    }

    /// A root to install packages from.
    pub(crate) fn for_installing(dir: PathBuf, archive: &Archive, suites: &[&str]) -> Result<Self> {
        Self::new(dir, archive, suites, true)
    }

    fn new(dir: PathBuf, archive: &Archive, suites: &[&str], installs: bool) -> Result<Self> {
        for sub in ["lists/partial", "cache/archives/partial"] {
            let sub = dir.join(sub);
            fs::create_dir_all(&sub).with_context(|| format!("cannot make {}", sub.display()))?;
        }
        let lines: String = suites.iter().map(|suite| archive.line(suite) + "\n").collect();
        fs::write(dir.join("sources.list"), lines).context("cannot write the private sources.list")?;
        Ok(Self { dir, installs })
    }

    /// An apt command that sees only this root's suites.
    pub(crate) fn apt(&self, program: &str) -> Command {
        let Self { dir, installs } = self;
        let mut command = Command::new(program);
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        let mut option = |name: &str, value: &str| {
            command.arg("-o").arg(format!("{name}={value}"));
        };
        option("Dir::Etc::sourcelist", &dir.join("sources.list").to_string_lossy());
        option("Dir::Etc::sourceparts", "-");
        option("Dir::State::lists", &dir.join("lists").to_string_lossy());
        option("Dir::Cache", &dir.join("cache").to_string_lossy());
        option("Acquire::Languages", "none");
        option("Acquire::IndexTargets::deb::DEP-11::DefaultEnabled", "false");
        option("Acquire::Retries", "3");
        option("APT::Sandbox::User", "root");
        option("DPkg::Lock::Timeout", "600");
        if !installs {
            option("Dir::State::status", "/dev/null");
        }
        command
    }

    /// Fetches the lists. A suite that has gone is reported by apt and is no failure: what is missed is missed by name, later.
    pub(crate) fn update(&self) -> Result<()> {
        let mut command = self.apt("apt-get");
        command.args(["-q", "-q", "update"]);
        if let Err(error) = proc::run(&mut command) {
            eprintln!("xtask: not all package lists could be fetched: {error:#}");
        }
        Ok(())
    }

    /// What the suites have of the packages whose name starts with `prefix`.
    pub(crate) fn candidates(&self, prefix: &str) -> Result<Vec<Candidate>> {
        let names = proc::capture(self.apt("apt-cache").args(["pkgnames", prefix]))?;
        let names: Vec<&str> = names.split_whitespace().collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let table = proc::capture(self.apt("apt-cache").arg("madison").args(names))?;
        Ok(table.lines().filter_map(madison_line).collect())
    }

    /// The packages that `package` depends on, by name, alternatives left out.
    pub(crate) fn depends(&self, package: &str, version: &str) -> Result<Vec<String>> {
        let record = proc::capture(self.apt("apt-cache").arg("show").arg(format!("{package}={version}")))?;
        Ok(depends_field(&record))
    }

    /// Downloads packages into a directory.
    pub(crate) fn download(&self, packages: &[(String, String)], into: &Path) -> Result<()> {
        let mut command = self.apt("apt-get");
        command.args(["-q", "download"]).current_dir(into);
        command.args(packages.iter().map(|(name, version)| format!("{name}={version}")));
        proc::run(&mut command)
    }
}

/// Reads a line of `apt-cache madison`: `package | version | uri suite/component arch Packages`.
fn madison_line(line: &str) -> Option<Candidate> {
    let mut fields = line.split('|').map(str::trim);
    let (package, version, place) = (fields.next()?, fields.next()?, fields.next()?);
    let mut place = place.split_whitespace();
    let suite = place.nth(1)?.split('/').next()?;
    if place.last() != Some("Packages") {
        return None;
    }
    Some(Candidate { package: package.into(), version: version.into(), suite: suite.into() })
}

fn depends_field(record: &str) -> Vec<String> {
    let Some(field) = record.lines().find_map(|line| line.strip_prefix("Depends:")) else {
        return Vec::new();
    };
    let plain = field.split(',').filter(|entry| !entry.contains('|'));
    plain.filter_map(|entry| entry.split_whitespace().next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn madison_lines_are_read() {
        let line = " linux-image-6.1.0-57-cloud-amd64 |  6.1.192-3 | http://deb.example/debian-security bookworm-security/main amd64 Packages";
        let expected = Candidate {
            package: "linux-image-6.1.0-57-cloud-amd64".into(),
            version: "6.1.192-3".into(),
            suite: "bookworm-security".into(),
        };
        assert_eq!(madison_line(line), Some(expected));
        assert_eq!(madison_line("x | 1 | http://deb.example/debian sid/main Sources"), None);
        assert_eq!(madison_line("nonsense"), None);
    }

    #[test]
    fn dependencies_are_read_without_alternatives() {
        let record = "Package: a\nDepends: dracut | initramfs-tools (>= 0.1), linux-base-7 (= 7-1), linux-modules-7 (= 7-1)\nSize: 1\n";
        assert_eq!(depends_field(record), ["linux-base-7", "linux-modules-7"]);
        assert!(depends_field("Package: a\n").is_empty());
    }
}
