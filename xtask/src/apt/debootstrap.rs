//! Fresh Debian systems in directories.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use nix::unistd::geteuid;

use super::sources::Archive;
use crate::{
    house, proc,
    setup::{self, requirements::Job},
};

/// A system of a release with some packages, made once and kept in a room of the cache.
pub(crate) fn kept(room: &str, release: &str, packages: &[&str]) -> Result<PathBuf> {
    let cache = house::cache(room)?;
    let base = cache.join(format!("debian-{release}"));
    if base.is_dir() {
        return Ok(base);
    }
    eprintln!("xtask: making a fresh Debian {release}");
    let work = tempfile::Builder::new().prefix(".making-").tempdir_in(&cache)?;
    let root = work.path().join("root");
    run(release, packages, &root)?;
    fs::rename(&root, &base).with_context(|| format!("cannot make {}", base.display()))?;
    Ok(base)
}

/// Makes a minimal system of a release, with some packages.
pub(crate) fn run(release: &str, packages: &[&str], into: &Path) -> Result<()> {
    if !geteuid().is_root() {
        bail!("a Debian in a directory takes root to make");
    }
    setup::ensure(&[Job::Newcomer])?;
    let mut command = Command::new(proc::which("debootstrap").context("debootstrap is missing")?);
    command
        .args(["--variant=minbase", &format!("--include={}", packages.join(",")), release])
        .arg(into)
        .arg(Archive::of_this_machine()?.main_address());
    proc::run(command.stdout(Stdio::null()))
}
