//! Which crates are ours made of? Asked of cargo, for both workspaces.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::{cargo::cargo, house, proc};

/// The workspaces: the kernel side is one of its own.
const WORKSPACES: &[&str] = &["Cargo.toml", "blastradius-ebpf/Cargo.toml"];

/// What becomes part of the binary: a manifest, and the package whose dependencies count.
const LINKED: &[(&str, &str)] =
    &[("Cargo.toml", "blastradius-user"), ("blastradius-ebpf/Cargo.toml", "blastradius-ebpf")];

/// What the binaries are made for.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) version: String,
    /// What its manifest says, as an SPDX expression.
    pub(crate) licence: Option<String>,
    /// Where its manifest lies.
    pub(crate) directory: PathBuf,
    /// The SHA-256 of what the registry serves. Our own crates have none.
    pub(crate) checksum: Option<String>,
    /// The oldest compiler that it asks for.
    pub(crate) rust_version: Option<String>,
}

/// Every crate that is named in a lock file, whatever it is for.
pub(crate) fn all() -> Result<BTreeSet<Crate>> {
    let mut found = BTreeSet::new();
    for manifest in WORKSPACES {
        found.extend(of_workspace(manifest)?.into_values());
    }
    Ok(found)
}

/// The crates that end up in the binary: no tests, no build scripts, no macros.
pub(crate) fn linked() -> Result<BTreeSet<Crate>> {
    let mut found = BTreeSet::new();
    for (manifest, package) in LINKED {
        let crates = of_workspace(manifest)?;
        for name in tree(manifest, package)? {
            let one =
                crates.get(&name).with_context(|| format!("{} {} is in no lock file", name.0, name.1))?;
            found.insert(one.clone());
        }
    }
    Ok(found)
}

/// What cargo links a package from: names and versions.
fn tree(manifest: &str, package: &str) -> Result<BTreeSet<(String, String)>> {
    let mut command =
        cargo(&["tree", "--locked", "--quiet", "--edges=normal,no-proc-macro", "--prefix=none"]);
    command.args(["--format={p}", "--target", TARGET, "--manifest-path", manifest, "--package", package]);
    let text = proc::capture(&mut command)?;
    Ok(text.lines().filter_map(name_and_version).collect())
}

/// `name v1.2.3 (/where)`, with more behind it at times.
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

fn of_workspace(manifest: &str) -> Result<BTreeMap<(String, String), Crate>> {
    let mut command =
        cargo(&["metadata", "--locked", "--quiet", "--format-version=1", "--manifest-path", manifest]);
    let metadata: Metadata = serde_json::from_str(&proc::capture(&mut command)?)?;
    let lock = house::root().join(manifest).with_file_name("Cargo.lock");
    let text = fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let lock: Lock = toml::from_str(&text)?;
    let checksums: BTreeMap<_, _> =
        lock.package.into_iter().map(|one| ((one.name, one.version), one.checksum)).collect();
    let made = |one: MetadataPackage| {
        let key = (one.name.clone(), one.version.clone());
        let checksum = checksums.get(&key).cloned().flatten();
        let directory = one.manifest_path.parent().map(Into::into).unwrap_or_default();
        let (licence, rust_version) = (one.license, one.rust_version);
        (key, Crate { name: one.name, version: one.version, licence, directory, checksum, rust_version })
    };
    Ok(metadata.packages.into_iter().map(made).collect())
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    rust_version: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<LockPackage>,
}

#[derive(Deserialize)]
struct LockPackage {
    name: String,
    version: String,
    checksum: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_prints_is_read() {
        let read = |line| name_and_version(line).map(|(name, version)| format!("{name}={version}"));
        assert_eq!(read("aya v0.14.0").as_deref(), Some("aya=0.14.0"));
        assert_eq!(
            read("blastradius-common v0.1.0 (/somewhere) (*)").as_deref(),
            Some("blastradius-common=0.1.0")
        );
        assert_eq!(read(""), None);
    }

    /// The guard has no network code: whoever adds some meets this test.
    #[test]
    fn nothing_in_the_binary_speaks_to_a_network() {
        const NETWORK: &[&str] = &[
            "hyper",
            "reqwest",
            "ureq",
            "rustls",
            "native-tls",
            "openssl",
            "openssl-sys",
            "curl",
            "h2",
            "h3",
            "quinn",
            "tonic",
            "tungstenite",
            "isahc",
            "attohttpc",
            "hickory-resolver",
            "trust-dns-resolver",
            "webpki",
            "ring",
            "http",
            "opentelemetry",
            "opentelemetry-otlp",
            "libp2p",
            "russh",
            "ssh2",
            "git2",
            "gix-transport",
        ];
        let linked = linked().unwrap();
        assert!(linked.iter().any(|one| one.name == "shuck-parser"), "this looks at the wrong thing");
        assert!(linked.iter().any(|one| one.name == "aya-ebpf"), "the kernel side is in the binary, too");
        let found: Vec<_> = linked.iter().filter(|one| NETWORK.contains(&one.name.as_str())).collect();
        assert!(found.is_empty(), "{found:?}");
    }
}
