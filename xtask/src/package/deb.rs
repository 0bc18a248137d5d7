//! The Debian package. `dpkg-deb` packs it; what lies in it and what it says of itself is decided here.

use std::process::Command;

use anyhow::{Context as _, Result};

use super::{
    Package, Release, SUMMARY,
    documents::{self, add_completions},
    tree::{PLAIN, PROGRAM, Tree, gzip},
};
use crate::{
    house, proc,
    setup::{self, requirements::Job},
};

/// Where Debian keeps what is said about a package.
const DOCUMENTS: &str = "usr/share/doc/blastradius";

pub(super) fn make(release: &Release) -> Result<Package> {
    setup::ensure(&[Job::Package])?;
    let mut tree = Tree::default();
    tree.add("usr/bin/blastradius", PROGRAM, release.binary.content.clone());
    tree.add("usr/share/man/man1/blastradius.1.gz", PLAIN, gzip(&documents::manual(release)?)?);
    add_completions(&mut tree, release)?;
    tree.add(format!("{DOCUMENTS}/copyright"), PLAIN, copyright()?);
    tree.add(format!("{DOCUMENTS}/changelog.gz"), PLAIN, gzip(&documents::ours("CHANGELOG.md")?)?);
    tree.add(format!("{DOCUMENTS}/README.md"), PLAIN, documents::ours("README.md")?);
    tree.add_below(&house::root().join("docs"), &format!("{DOCUMENTS}/docs/"))?;
    tree.add_below(&house::root().join("packaging/systemd"), &format!("{DOCUMENTS}/examples/systemd/"))?;
    let installed: usize = tree.files().map(|(_, content)| content.len().div_ceil(1024)).sum();
    tree.add("DEBIAN/control", PLAIN, control(release, installed));

    let work = tempfile::Builder::new().prefix("blastradius-deb-").tempdir()?;
    let root = work.path().join("root");
    tree.write_below(&root)?;
    let file = work.path().join("out.deb");
    let mut command = Command::new("dpkg-deb");
    // One thread: the bytes of xz depend on how many there are.
    command.args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"]).arg(&root).arg(&file);
    command.env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    proc::capture(&mut command)?;
    let content = std::fs::read(&file).context("dpkg-deb made nothing")?;
    Ok(Package { name: format!("blastradius_{}_amd64.deb", release.version), content })
}

/// What dpkg and apt read.
fn control(release: &Release, installed: usize) -> String {
    format!(
        "Package: blastradius\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: The blastradius developers <developers@blastradius.invalid>\n\
         Installed-Size: {installed}\n\
         Recommends: git\n\
         Section: admin\n\
         Priority: optional\n\
         Description: {SUMMARY}\n \
         blastradius reads a command just before it runs and refuses it when it would\n \
         destroy what is not the agent's to destroy; on Linux it also judges, in the\n \
         kernel, every object that a whole tree of processes is about to remove.\n \
         There is no model in it and no network.\n",
        version = release.version,
    )
}

fn copyright() -> Result<String> {
    let mut licences = Tree::default();
    documents::add_licences(&mut licences, "")?;
    let mut text = String::from("blastradius is licensed under Apache-2.0 or MIT, as you like.\n");
    for (name, content) in licences.files() {
        text.push_str(&format!("\n==== {name}\n\n{}", String::from_utf8_lossy(content)));
    }
    Ok(text)
}
