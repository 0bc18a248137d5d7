//! The mount table.

use std::path::Path;

use crate::shell::world::MountPoint;

/// The mount points below `root` (ours if `None`), named as a process with that root names them; empty if they cannot
/// be read.
#[cfg(target_os = "linux")]
pub(super) fn read(root: Option<&Path>) -> Vec<MountPoint> {
    let table = |path: &Path| read_table(path).map(|text| parse(&text)).unwrap_or_default();
    let Some(root) = root else { return table(Path::new("/proc/self/mountinfo")) };
    // /proc/PID/root has a mountinfo beside it, already in the terms of that process.
    if root.starts_with("/proc") {
        return table(&root.with_file_name("mountinfo"));
    }
    let inside = |mount: MountPoint| {
        let path = Path::new("/").join(mount.path.strip_prefix(root).ok()?);
        Some(MountPoint { path, ..mount })
    };
    table(Path::new("/proc/self/mountinfo")).into_iter().filter_map(inside).collect()
}

/// The kernel writes the table anew for each read, and says of no file in /proc how large it is: without room for all of
/// it, std would begin with 32 bytes.
#[cfg(target_os = "linux")]
fn read_table(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::with_capacity(16 << 10);
    std::fs::File::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// The mount points that this process sees, as getmntinfo(3) lists them.
#[cfg(not(target_os = "linux"))]
pub(super) fn read(_root: Option<&Path>) -> Vec<MountPoint> {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt as _;
    let mut table: *mut libc::statfs = std::ptr::null_mut();
    // SAFETY: getmntinfo(3) stores a pointer to `count` records that libc owns until the next call of this thread.
    let count = unsafe { libc::getmntinfo(&raw mut table, libc::MNT_NOWAIT) };
    let Ok(count) = usize::try_from(count) else { return Vec::new() };
    if table.is_null() {
        return Vec::new();
    }
    // SAFETY: as above; the records are initialised and nobody writes to them while we read.
    let records = unsafe { std::slice::from_raw_parts(table, count) };
    let text = |field: &[libc::c_char]| {
        // SAFETY: the kernel NUL-terminates both name fields.
        unsafe { CStr::from_ptr(field.as_ptr()) }.to_bytes().to_vec()
    };
    let mount = |record: &libc::statfs| MountPoint {
        path: OsStr::from_bytes(&text(&record.f_mntonname)).into(),
        fs_type: String::from_utf8_lossy(&text(&record.f_fstypename)).into_owned(),
        root: "/".into(),
        // SAFETY: fsid_t is two plain 32-bit integers.
        device: unsafe { std::mem::transmute_copy::<libc::fsid_t, u64>(&record.f_fsid) },
        read_only: record.f_flags & libc::MNT_RDONLY as u32 != 0,
    };
    records.iter().map(mount).collect()
}

/// Reads a mountinfo text (proc_pid_mountinfo(5)). Lines that do not have its form are passed over.
#[cfg(target_os = "linux")]
fn parse(text: &str) -> Vec<MountPoint> {
    text.lines().filter_map(parse_line).collect()
}

#[cfg(target_os = "linux")]
fn parse_line(line: &str) -> Option<MountPoint> {
    // 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
    let (mount, source) = line.split_once(" - ")?;
    let fields: Vec<&str> = mount.split(' ').collect();
    let (major, minor) = fields.get(2)?.split_once(':')?;
    // The options of the mount, and behind the source those of its file system: one of them is enough.
    let is_read_only = |options: &str| options.split(',').any(|option| option == "ro");
    let options = [fields.get(5).copied(), source.split(' ').nth(2)];
    Some(MountPoint {
        path: unescape(fields.get(4)?).into(),
        fs_type: source.split(' ').next()?.to_owned(),
        root: unescape(fields.get(3)?).into(),
        device: major.parse::<u64>().ok()? << 32 | minor.parse::<u64>().ok()?,
        read_only: options.into_iter().flatten().any(is_read_only),
    })
}

/// Undoes the kernel's octal escapes of space, tab, newline and backslash (`mangle` in fs/seq_file.c).
#[cfg(target_os = "linux")]
fn unescape(field: &str) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt as _;
    let bytes = field.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = bytes.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if bytes[at] == b'\\' => {
                out.push(byte);
                at += 4;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    std::ffi::OsString::from_vec(out)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_mountinfo_line_is_read_with_its_escapes() {
        let text = "36 35 98:1 /root\\040dir /mnt/a\\040b\\134c rw,noatime master:1 shared:2 - ext3 /dev/root rw\nnonsense\n";
        let mounts = parse(text);
        assert_eq!(
            mounts,
            [MountPoint {
                path: "/mnt/a b\\c".into(),
                fs_type: "ext3".into(),
                root: "/root dir".into(),
                device: 98 << 32 | 1,
                read_only: false,
            }]
        );
    }

    #[test]
    fn a_mount_or_its_file_system_may_be_read_only() {
        let is_read_only = |options: &str, of_all: &str| {
            let line = format!("36 35 98:1 / /mnt {options} shared:2 - ext3 /dev/root {of_all}");
            parse(&line)[0].read_only
        };
        assert!(is_read_only("ro,nosuid", "rw") && is_read_only("rw", "ro,errors=continue"));
        assert!(!is_read_only("rw,relatime", "rw,errors=remount-ro"));
    }

    #[test]
    fn the_root_of_this_machine_is_mounted() {
        assert!(read(None).iter().any(|mount| mount.path.as_os_str() == "/"));
    }
}
