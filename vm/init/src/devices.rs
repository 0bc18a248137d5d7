//! Modules, disks and the loopback device.

use std::{
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use nix::unistd::sethostname;

use crate::conf::Conf;

/// Loads what the request will need, names the machine and brings up the loopback device. This is done in the first root, which has the
/// tools for it.
pub(crate) fn prepare(conf: &Conf) -> Result<()> {
    sethostname("guest").context("cannot set the host's name")?;
    busybox("ip", &["link", "set", "lo", "up"]).context("cannot bring up the loopback device")?;
    let disks = ["virtio_pci", "virtio_blk", "crc32c-cryptoapi", "ext4"];
    for module in disks.into_iter().chain([conf.file_system.as_str()]) {
        // Built in or not, wanted or not: the mount tells.
        let _ = busybox("modprobe", &[module]);
    }
    Ok(())
}

/// Waits for a device, which appears some time after its driver.
pub(crate) fn wait_for(device: &str) -> Result<()> {
    let patience = Duration::from_secs(20);
    let started = Instant::now();
    while !Path::new(device).exists() {
        if started.elapsed() > patience {
            bail!("there is no {device} after {} s", patience.as_secs());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn busybox(applet: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new("/bin/busybox").arg(applet).args(arguments).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("{applet}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
