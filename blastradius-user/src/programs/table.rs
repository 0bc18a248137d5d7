//! Every program that is known by name, assembled from the families' own tables.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::programs::{Program, cp, dd, find, ln, mv, rm, tee, truncate};
use crate::programs::{
    accounts, cloud, containers, databases, git, inline, network, packages, posture, power, storage,
    sysconfig,
};

/// The families' tables. A later family wins where two know one name.
const FAMILIES: &[&[(&str, Program)]] = &[
    cp::PROGRAMS,
    dd::PROGRAMS,
    find::PROGRAMS,
    ln::PROGRAMS,
    mv::PROGRAMS,
    rm::PROGRAMS,
    tee::PROGRAMS,
    truncate::PROGRAMS,
    accounts::PROGRAMS,
    cloud::PROGRAMS,
    containers::PROGRAMS,
    databases::PROGRAMS,
    packages::PROGRAMS,
    posture::PROGRAMS,
    sysconfig::PROGRAMS,
    git::PROGRAMS,
    inline::PROGRAMS,
    network::PROGRAMS,
    power::PROGRAMS,
    storage::PROGRAMS,
];

/// Programs that destroy when they are called as they usually are. Text that cannot be parsed is searched for these.
const DESTRUCTIVE: &[&str] = &[
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "srm",
    "wipe",
    "scrub",
    "rimraf",
    "trash",
    "trash-put",
    "dd",
    "truncate",
    "mkfs",
    "mke2fs",
    "mkswap",
    "wipefs",
    "fdisk",
    "sfdisk",
    "cfdisk",
    "gdisk",
    "sgdisk",
    "parted",
    "blkdiscard",
    "badblocks",
    "lvremove",
    "vgremove",
    "pvremove",
    "zpool",
    "zfs",
    "cryptsetup",
    "mdadm",
    "dmsetup",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "userdel",
    "deluser",
    "groupdel",
    "diskutil",
    "hdparm",
    "nvme",
];

static TABLE: LazyLock<HashMap<&'static str, Program>> =
    LazyLock::new(|| FAMILIES.iter().flat_map(|family| family.iter().copied()).collect());

/// The name that a program goes by in the table: without directory, and without the `g` of GNU tools on other systems.
fn canonical(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    match name.strip_prefix('g') {
        Some(gnu) if GNU_PREFIXED.contains(&gnu) => gnu,
        _ => name,
    }
}

/// GNU tools that are installed with a `g` in front where the system has its own.
const GNU_PREFIXED: &[&str] = &[
    "rm", "rmdir", "unlink", "shred", "find", "xargs", "mv", "cp", "ln", "install", "dd", "tee", "truncate",
    "sed", "tar", "chmod", "chown", "chgrp", "timeout", "nice", "nohup", "stdbuf", "env", "chroot", "mkdir",
    "mktemp", "touch", "cat", "ls", "echo", "printf", "realpath", "readlink", "dirname", "basename", "sort",
    "split", "csplit", "mkfifo", "time", "parallel", "rename",
];

/// The reading of a program, by the name or path it is called by.
pub fn lookup(name: &str) -> Option<Program> {
    TABLE.get(canonical(name)).copied()
}

/// Whether a program of this name destroys as it is usually called.
pub fn is_destructive(name: &str) -> bool {
    let name = canonical(name);
    DESTRUCTIVE.contains(&name) || name.starts_with("mkfs.") || name.starts_with("newfs")
}
