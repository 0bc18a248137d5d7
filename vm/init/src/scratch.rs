//! /scratch, where the command starts, on the file system that was asked for.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use anyhow::{Context as _, Result};

use crate::{conf::Conf, devices, mounts};

const SCRATCH: &str = "/scratch";

/// Mounts it. A test must not run on another file system than it asked for, so any failure is fatal.
pub(crate) fn mount(conf: &Conf) -> Result<()> {
    fs::create_dir_all(SCRATCH).with_context(|| format!("cannot make {SCRATCH}"))?;
    match (conf.file_system.as_str(), &conf.scratch_disk) {
        ("overlay", _) => overlay()?,
        (kind, Some(disk)) => {
            devices::wait_for(disk)?;
            mounts::new_from(disk, kind, SCRATCH)?;
        }
        (kind, None) => mounts::new(kind, SCRATCH, "")?,
    }
    fs::set_permissions(SCRATCH, Permissions::from_mode(0o755))
        .with_context(|| format!("cannot open up {SCRATCH}"))
}

fn overlay() -> Result<()> {
    let below = "/run/overlay";
    fs::create_dir(below).with_context(|| format!("cannot make {below}"))?;
    mounts::new("tmpfs", below, "")?;
    for dir in ["lower", "upper", "work"] {
        fs::create_dir(format!("{below}/{dir}"))?;
    }
    mounts::new(
        "overlay",
        SCRATCH,
        &format!("lowerdir={below}/lower,upperdir={below}/upper,workdir={below}/work"),
    )
}
