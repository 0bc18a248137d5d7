//! The guest's root: what the kernel unpacked, or a disk.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chroot},
    path::Path,
};

use anyhow::{Context as _, Result};
use nix::mount::{MsFlags, mount};

use crate::{conf::Conf, copy, devices, mounts};

const NEW: &str = "/newroot";
const NONE: Option<&str> = None;

/// Goes where the request wants to be.
pub(crate) fn settle(conf: &Conf) -> Result<()> {
    fs::create_dir(NEW).with_context(|| format!("cannot make {NEW}"))?;
    match &conf.root_disk {
        Some(disk) => from_disk(disk)?,
        // The kernel's first root has no parent mount, so that pivot_root(2), which sandboxes call, does not work there. Bound onto itself
        // and moved to the top it has one.
        None => mount(Some("/"), NEW, NONE, MsFlags::MS_BIND, NONE).context("cannot bind the root")?,
    }
    env::set_current_dir(NEW)?;
    mount(Some("."), "/", NONE, MsFlags::MS_MOVE, NONE).context("cannot move the root")?;
    chroot(".").context("cannot enter the root")?;
    env::set_current_dir("/")?;
    if conf.root_disk.is_none() {
        fs::remove_dir(NEW).with_context(|| format!("cannot remove {NEW}"))?;
        // A tmpfs starts out as open as /tmp.
        fs::set_permissions("/", Permissions::from_mode(0o755)).context("cannot close up the root")?;
    }
    Ok(())
}

/// What the request brought lies apart in the first root, and moves onto the disk with the modules.
fn from_disk(disk: &str) -> Result<()> {
    devices::wait_for(disk)?;
    mounts::new_from(disk, "ext4", NEW)?;
    let new = Path::new(NEW);
    copy::tree(Path::new("/payload"), new)?;
    fs::create_dir_all(new.join("usr/lib/modules")).context("the root on the disk has no /usr/lib")?;
    copy::tree(Path::new("/lib/modules"), &new.join("usr/lib/modules"))
}
