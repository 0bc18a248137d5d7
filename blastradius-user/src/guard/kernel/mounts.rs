//! Where a file system is mounted, for people who read refusals. Nothing is decided by it.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

/// Bits of the minor number in the kernel's own device encoding (`MINORBITS`, include/linux/kdev_t.h).
const MINOR_BITS: u32 = 20;

/// `inner`, a path from the root of the file system `dev`, as this process sees it.
pub(super) fn locate(dev: u32, inner: &Path) -> Option<PathBuf> {
    locate_in(&std::fs::read("/proc/self/mountinfo").ok()?, dev, inner)
}

/// The mount that shows most of the path is the nearest; of equals, the first.
fn locate_in(mountinfo: &[u8], dev: u32, inner: &Path) -> Option<PathBuf> {
    let number = format!("{}:{}", dev >> MINOR_BITS, dev & ((1 << MINOR_BITS) - 1));
    let mut best: Option<(PathBuf, PathBuf)> = None;
    for line in mountinfo.split(|byte| *byte == b'\n') {
        // proc(5): id, parent, major:minor, root, mount point, …
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let (Some(device), Some(root), Some(point)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let root = unescape(root);
        if device == number.as_bytes()
            && inner.starts_with(&root)
            && best.as_ref().is_none_or(|(other, _)| root.components().count() > other.components().count())
        {
            best = Some((root, unescape(point)));
        }
    }
    let (root, point) = best?;
    let rest = inner.strip_prefix(&root).ok()?;
    Some(if rest.as_os_str().is_empty() { point } else { point.join(rest) })
}

/// Space, tab, newline and backslash are written as `\` and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        bytes.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &rest[4..] } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"21 1 254:1 / / rw - ext4 /dev/vda1 rw\n\
        22 21 0:5 / /dev rw - devtmpfs none rw\n\
        30 21 254:1 /home/u /mnt/my\\040home rw - ext4 /dev/vda1 rw\n\
        broken line\n";
    const ROOT: u32 = 254 << MINOR_BITS | 1;

    #[test]
    fn a_path_gets_its_mount_point() {
        assert_eq!(locate_in(MOUNTS, 5, Path::new("/shm/x")), Some("/dev/shm/x".into()));
        assert_eq!(locate_in(MOUNTS, ROOT, Path::new("/etc/passwd")), Some("/etc/passwd".into()));
        assert_eq!(locate_in(MOUNTS, 5, Path::new("/")), Some("/dev".into()));
    }

    #[test]
    fn the_nearest_mount_is_named_and_unescaped() {
        assert_eq!(locate_in(MOUNTS, ROOT, Path::new("/home/u/x")), Some("/mnt/my home/x".into()));
    }

    #[test]
    fn an_unknown_file_system_has_no_place() {
        assert_eq!(locate_in(MOUNTS, 6, Path::new("/x")), None);
        assert_eq!(locate_in(b"", 6, Path::new("/x")), None);
    }
}
