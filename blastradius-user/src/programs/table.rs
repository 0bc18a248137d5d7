//! Every program that is known by name, assembled from the families' own tables.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Call, Machine, Program};

/// The families' tables.
const FAMILIES: &[&[(&str, Program)]] = &[
    super::archive::PROGRAMS,
    super::backups::PROGRAMS,
    super::cp::PROGRAMS,
    super::dd::PROGRAMS,
    super::fd::PROGRAMS,
    super::find::PROGRAMS,
    super::list::PROGRAMS,
    super::ln::PROGRAMS,
    super::mv::PROGRAMS,
    super::output::PROGRAMS,
    super::perm::PROGRAMS,
    super::rm::PROGRAMS,
    super::sed::PROGRAMS,
    super::sync::PROGRAMS,
    super::tee::PROGRAMS,
    super::truncate::PROGRAMS,
    super::shells::PROGRAMS,
    super::wrappers::PROGRAMS,
    super::wrappers::SPECIAL,
    super::sudo::PROGRAMS,
    super::enclosures::PROGRAMS,
    super::remote_shell::PROGRAMS,
    super::terminals::PROGRAMS,
    super::parallel::PROGRAMS,
    super::xargs::PROGRAMS,
    super::accounts::PROGRAMS,
    super::cloud::PROGRAMS,
    super::containers::PROGRAMS,
    super::databases::PROGRAMS,
    super::packages::PROGRAMS,
    super::posture::PROGRAMS,
    super::sysconfig::PROGRAMS,
    super::git::PROGRAMS,
    super::inline::PROGRAMS,
    super::network::PROGRAMS,
    super::osascript::PROGRAMS,
    super::recipes::PROGRAMS,
    super::power::PROGRAMS,
    super::storage::PROGRAMS,
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

/// A tool with many subcommands may belong to several families, each of which reads its own.
static TABLE: LazyLock<HashMap<&'static str, Vec<Program>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<Program>> = HashMap::new();
    for (name, program) in FAMILIES.iter().flat_map(|family| family.iter().copied()) {
        table.entry(name).or_default().push(program);
    }
    table
});

/// Has every family that knows the name read the call.
fn every(call: &Call<'_>, machine: &mut dyn Machine) {
    for program in TABLE.get(canonical(call.name)).into_iter().flatten() {
        program(call, machine);
    }
}

/// The name that a program goes by in the table: without directory, and without the `g` of GNU tools on other systems.
pub fn canonical(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    match name.strip_prefix('g') {
        _ if name.starts_with("ld-linux") || name.starts_with("ld-musl") => "ld.so",
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
    match TABLE.get(canonical(name))?.as_slice() {
        [only] => Some(*only),
        _ => Some(every),
    }
}

/// Whether a program of this name destroys as it is usually called.
pub fn is_destructive(name: &str) -> bool {
    let name = canonical(name);
    DESTRUCTIVE.contains(&name) || name.starts_with("mkfs.") || name.starts_with("newfs")
}
