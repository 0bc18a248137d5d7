//! What is mounted in a guest, whatever its root.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use nix::mount::{MsFlags, mount};

use crate::copy;

/// One file system to mount.
struct Mount {
    kind: &'static str,
    at: &'static str,
    data: &'static str,
}

const fn on(kind: &'static str, at: &'static str, data: &'static str) -> Mount {
    Mount { kind, at, data }
}

/// In this order. All of them must be there: a kernel that lacks one is none that the guard is tested on.
const MOUNTS: &[Mount] = &[
    on("proc", "/proc", ""),
    on("sysfs", "/sys", ""),
    on("devtmpfs", "/dev", "mode=0755"),
    on("devpts", "/dev/pts", "mode=0620,ptmxmode=0666"),
    on("tmpfs", "/dev/shm", "mode=1777"),
    on("tmpfs", "/run", "mode=0755"),
    on("tmpfs", "/tmp", "mode=1777"),
    on("cgroup2", "/sys/fs/cgroup", ""),
    on("bpf", "/sys/fs/bpf", "mode=0700"),
    on("securityfs", "/sys/kernel/security", ""),
    on("debugfs", "/sys/kernel/debug", ""),
    on("tracefs", "/sys/kernel/tracing", ""),
];

/// The links that udev makes elsewhere.
const LINKS: &[(&str, &str)] = &[
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

const NONE: Option<&str> = None;

/// Mounts what it takes to reach a disk and to report. The kernel's first root has none of it.
pub(crate) fn first() -> Result<()> {
    for Mount { kind, at, data } in &MOUNTS[..FIRST] {
        new(kind, at, data)?;
    }
    Ok(())
}

/// How many of the table a root is mounted with.
const FIRST: usize = 3;

/// Mounts all of the table.
pub(crate) fn all() -> Result<()> {
    for Mount { kind, at, data } in MOUNTS {
        fs::create_dir_all(at).with_context(|| format!("cannot make {at}"))?;
        // What the request put where a tmpfs comes to lie moves into it.
        if *kind == "tmpfs" && fs::read_dir(at)?.next().is_some() {
            filled(at, data)?;
        } else {
            new(kind, at, data)?;
        }
    }
    for (link, to) in LINKS {
        // devtmpfs has some of them on some kernels.
        if !Path::new(link).exists() {
            std::os::unix::fs::symlink(to, link).with_context(|| format!("cannot link {link}"))?;
        }
    }
    Ok(())
}

/// Mounts a file system.
pub(crate) fn new(kind: &str, at: &str, data: &str) -> Result<()> {
    mount(Some(kind), at, Some(kind), MsFlags::empty(), Some(data))
        .with_context(|| format!("cannot mount {kind} on {at}"))
}

/// Mounts a file system that lies on a disk.
pub(crate) fn new_from(disk: &str, kind: &str, at: &str) -> Result<()> {
    mount(Some(disk), at, Some(kind), MsFlags::empty(), NONE)
        .with_context(|| format!("cannot mount {disk} as {kind} on {at}"))
}

fn filled(at: &str, data: &str) -> Result<()> {
    let aside = "/filling";
    fs::create_dir(aside).with_context(|| format!("cannot make {aside}"))?;
    new("tmpfs", aside, data)?;
    copy::tree(Path::new(at), Path::new(aside))?;
    mount(Some(aside), at, NONE, MsFlags::MS_MOVE, NONE)
        .with_context(|| format!("cannot move {aside} to {at}"))?;
    fs::remove_dir(aside).with_context(|| format!("cannot remove {aside}"))
}
