//! Every program that is known by name, assembled from the families' own tables.

use super::{Call, Machine, Program};

/// The families' tables.
const FAMILIES: &[&[(&str, Program)]] = &[
    super::archive::PROGRAMS,
    super::backups::PROGRAMS,
    super::cp::PROGRAMS,
    super::dd::PROGRAMS,
    super::editors::PROGRAMS,
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
    super::keys::PROGRAMS,
    super::versions::PROGRAMS,
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

/// A name, and the family's reading of it.
type Row = (&'static str, Program);

/// How many rows the families have together.
const ROWS: usize = {
    let (mut rows, mut family) = (0, 0);
    while family < FAMILIES.len() {
        rows += FAMILIES[family].len();
        family += 1;
    }
    rows
};

/// All rows by name, in the families' order where several know one: a tool with many subcommands may belong to several
/// families, each of which reads its own. Sorted by the compiler, so that a start costs nothing.
static TABLE: [Row; ROWS] = sorted(all());

/// The families' rows, one after another.
const fn all() -> [Row; ROWS] {
    let mut rows = [FAMILIES[0][0]; ROWS];
    let (mut at, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut row = 0;
        while row < FAMILIES[family].len() {
            rows[at] = FAMILIES[family][row];
            at += 1;
            row += 1;
        }
        family += 1;
    }
    rows
}

/// A merge sort from the bottom up, which keeps the order of equal names.
const fn sorted(mut rows: [Row; ROWS]) -> [Row; ROWS] {
    let mut width = 1;
    while width < ROWS {
        let from = rows;
        let mut begin = 0;
        while begin < ROWS {
            let middle = least(begin + width, ROWS);
            let end = least(begin + 2 * width, ROWS);
            let (mut left, mut right, mut at) = (begin, middle, begin);
            while at < end {
                let takes_right = left == middle || (right < end && is_less(from[right].0, from[left].0));
                let taken = if takes_right { &mut right } else { &mut left };
                rows[at] = from[*taken];
                *taken += 1;
                at += 1;
            }
            begin = end;
        }
        width *= 2;
    }
    rows
}

const fn least(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

/// As `str` orders them, which the compiler cannot be asked for.
const fn is_less(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() {
        if a[at] != b[at] {
            return a[at] < b[at];
        }
        at += 1;
    }
    a.len() < b.len()
}

/// The rows of a name.
fn rows(name: &str) -> &'static [Row] {
    let begin = TABLE.partition_point(|(row, _)| *row < name);
    let count = TABLE[begin..].iter().take_while(|(row, _)| *row == name).count();
    &TABLE[begin..begin + count]
}

/// Has every family that knows the name read the call.
fn every(call: &Call<'_>, machine: &mut dyn Machine) {
    for (_, program) in rows(canonical(call.name)) {
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
    match rows(canonical(name)) {
        [] => None,
        [(_, only)] => Some(*only),
        _ => Some(every),
    }
}

/// Whether a program of this name destroys as it is usually called.
pub fn is_destructive(name: &str) -> bool {
    let name = canonical(name);
    DESTRUCTIVE.contains(&name) || name.starts_with("mkfs.") || name.starts_with("newfs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_every_family_is_found_in_the_order_of_the_families() {
        assert!(TABLE.is_sorted_by_key(|(name, _)| *name));
        for (name, _) in FAMILIES.iter().flat_map(|family| family.iter()) {
            let wanted = FAMILIES.iter().flat_map(|family| family.iter().filter(|(other, _)| other == name));
            let found = rows(name).iter().map(|(_, program)| *program as usize);
            assert!(found.eq(wanted.map(|(_, program)| *program as usize)), "{name}");
        }
        assert!(rows("no-such-program").is_empty() && rows("").is_empty() && rows("\u{10ffff}").is_empty());
    }
}
