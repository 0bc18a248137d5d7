//! The source archive: what is committed, with every crate that it is built from, so that it builds without a network.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{
    Package, Release,
    tree::{PLAIN, Tree},
};
use crate::{cargo::cargo, house, proc};

/// Where the crates lie in the archive.
const VENDOR: &str = "vendor";

pub(super) fn make(release: &Release) -> Result<Package> {
    let stem = format!("blastradius-{}", release.version);
    let work = tempfile::Builder::new().prefix("blastradius-source-").tempdir()?;
    let committed = work.path().join("committed.tar");
    let mut git = Command::new("git");
    git.args(["archive", "--format=tar", "--output"]).arg(&committed).arg("HEAD").current_dir(house::root());
    proc::run(&mut git).context("a source archive is made from what is committed")?;
    let sources = work.path().join("sources");
    std::fs::create_dir(&sources)?;
    tar::Archive::new(std::fs::File::open(&committed)?).unpack(&sources)?;

    // Both workspaces: the kernel side has a lock file of its own.
    // Not quietly: cargo would keep the settings to itself that replace its registry.
    let mut vendor =
        cargo(&["vendor", "--locked", "--versioned-dirs", "--sync", "blastradius-ebpf/Cargo.toml"]);
    vendor.arg(sources.join(VENDOR));
    let replacement = proc::capture(&mut vendor)?;
    ensure!(
        replacement.contains(VENDOR),
        "`cargo vendor` did not say how its crates take the registry's place"
    );
    let mut tree = Tree::default();
    tree.add_below(&sources, "")?;
    let config = std::fs::read_to_string(sources.join(".cargo/config.toml")).unwrap_or_default();
    // cargo names the directory that it filled; in the archive it is a relative one.
    let replacement = replacement.replace(&sources.join(VENDOR).display().to_string(), VENDOR);
    tree.add(".cargo/config.toml", PLAIN, format!("{config}\n{replacement}"));
    let content = tree.tar_gz(&stem, release.epoch)?;
    Ok(Package { name: format!("{stem}-vendored.tar.gz"), content })
}
