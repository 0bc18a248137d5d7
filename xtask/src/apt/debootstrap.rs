//! Fresh Debian systems in directories.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use nix::unistd::geteuid;

use super::sources::Archive;
use crate::{
    proc,
    setup::{self, requirements::Job},
};

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
