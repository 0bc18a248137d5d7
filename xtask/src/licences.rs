//! `cargo xtask licences`: may we pass on what we are made of?

use anyhow::Result;
use clap::Args;
use spdx::{Expression, LicenseReq, ParseMode};

use crate::crates::{self, Crate};

/// Check the licence, and the compiler, that every crate of both workspaces asks for
#[derive(Debug, Default, Args)]
pub(crate) struct Request {
    /// Print every crate with its licence
    #[arg(long)]
    list: bool,
}

/// Terms under which a work of Apache-2.0 or MIT may pass on what it contains. `deny.toml` says the same to cargo-deny.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Prints what is wrong. The exit code is 1 if anything is.
pub(crate) fn run(request: &Request) -> Result<i32> {
    let crates = crates::all()?;
    if request.list {
        for one in &crates {
            println!("{} {}: {}", one.name, one.version, one.licence.as_deref().unwrap_or("none"));
        }
    }
    let complaints: Vec<String> = crates.iter().flat_map(complaints).collect();
    for complaint in &complaints {
        println!("{complaint}");
    }
    println!("{} crates, {} complaints", crates.len(), complaints.len());
    Ok(i32::from(!complaints.is_empty()))
}

fn complaints(one: &Crate) -> Vec<String> {
    let named = |what: String| format!("{} {}: {what}", one.name, one.version);
    let compiler = newer_compiler(one.rust_version.as_deref(), env!("CARGO_PKG_RUST_VERSION"));
    [licence(one.licence.as_deref()).err(), compiler].into_iter().flatten().map(named).collect()
}

/// Whether the expression can be met with what is allowed.
fn licence(said: Option<&str>) -> Result<(), String> {
    let said = said.ok_or("it states no licence")?;
    let expression = Expression::parse_mode(said, ParseMode::LAX)
        .map_err(|error| format!("`{said}` is no licence: {}", error.reason))?;
    if expression.evaluate(allowed) {
        Ok(())
    } else {
        Err(format!("`{said}` is not among the allowed licences"))
    }
}

fn allowed(asked: &LicenseReq) -> bool {
    ALLOWED.contains(&asked.to_string().as_str())
}

/// What is wrong if a crate asks for a newer compiler than we do: our own `rust-version` would be a lie.
fn newer_compiler(asked: Option<&str>, ours: &str) -> Option<String> {
    let numbers =
        |version: &str| version.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>();
    let asked = asked?;
    (numbers(asked) > numbers(ours)).then(|| format!("it asks for Rust {asked}, and we for {ours}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::house;

    #[test]
    fn an_expression_is_met_by_any_of_its_alternatives() {
        for good in
            ["MIT", "Apache-2.0 OR GPL-3.0-only", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0"]
        {
            assert_eq!(licence(Some(good)), Ok(()), "{good}");
        }
        for bad in ["GPL-3.0-only", "MIT AND LGPL-2.1-only", "LicenseRef-Ours", "whatever", ""] {
            assert!(licence(Some(bad)).is_err(), "{bad}");
        }
        assert!(licence(None).is_err());
    }

    #[test]
    fn a_crate_may_not_ask_for_a_newer_compiler() {
        assert_eq!(newer_compiler(Some("1.85"), "1.95"), None);
        assert_eq!(newer_compiler(Some("1.9.1"), "1.95"), None);
        assert_eq!(newer_compiler(None, "1.95"), None);
        assert!(newer_compiler(Some("1.96.0"), "1.95").is_some());
    }

    #[test]
    fn cargo_deny_is_told_the_same() {
        let text = std::fs::read_to_string(house::root().join("deny.toml")).unwrap();
        let table: toml::Table = toml::from_str(&text).unwrap();
        let listed = table["licenses"]["allow"].as_array().unwrap();
        let listed: BTreeSet<&str> = listed.iter().map(|value| value.as_str().unwrap()).collect();
        assert_eq!(listed, ALLOWED.iter().copied().collect());
    }
}
