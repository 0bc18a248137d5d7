//! Extended attributes: access control lists, labels, what programs note.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// More bytes of names or of one value than Linux allows (XATTR_LIST_MAX, XATTR_SIZE_MAX of linux/limits.h).
const MOST: usize = 64 << 10;

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn checked(length: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}

/// The attributes of an object, links not followed. None where the file system has none.
pub fn read(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let Ok(path) = c_path(path) else { return Vec::new() };
    // Nearly every object has none, and says so without a buffer.
    // SAFETY: no buffer is handed over.
    let length = unsafe { libc::llistxattr(path.as_ptr(), std::ptr::null_mut(), 0) };
    if length <= 0 {
        return Vec::new();
    }
    let mut names = vec![0_u8; MOST];
    // SAFETY: the pointer and the length describe `names`.
    let length = unsafe { libc::llistxattr(path.as_ptr(), names.as_mut_ptr().cast(), names.len()) };
    let Ok(length) = checked(length) else { return Vec::new() };
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.filter_map(|name| Some((name.to_vec(), value(&path, name)?))).collect()
}

fn value(path: &CString, name: &[u8]) -> Option<Vec<u8>> {
    let name = CString::new(name).ok()?;
    let mut value = vec![0_u8; MOST];
    // SAFETY: the pointer and the length describe `value`.
    let length =
        unsafe { libc::lgetxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    value.truncate(checked(length).ok()?);
    Some(value)
}

/// Sets an attribute, links not followed.
///
/// # Errors
/// If the file system or the kernel refuses it.
pub fn write(path: &Path, name: &[u8], value: &[u8]) -> io::Result<()> {
    let path = c_path(path)?;
    let name = CString::new(name).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the pointer and the length describe `value`.
    let result =
        unsafe { libc::lsetxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Removes an attribute, links not followed.
///
/// # Errors
/// If the file system or the kernel refuses it.
pub fn remove(path: &Path, name: &[u8]) -> io::Result<()> {
    let path = c_path(path)?;
    let name = CString::new(name).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: both are strings that end with NUL.
    let result = unsafe { libc::lremovexattr(path.as_ptr(), name.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether an attribute is somebody's note or access list. What the system itself attaches (labels, capabilities) is given
/// back where that is allowed, but is no reason to.
pub fn is_peoples(name: &[u8]) -> bool {
    name.starts_with(b"user.") || name.starts_with(b"system.posix_acl_")
}

/// Sets an attribute of an open file.
///
/// # Errors
/// If the file system or the kernel refuses it.
pub fn write_to(file: &std::fs::File, name: &[u8], value: &[u8]) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let name = CString::new(name).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the descriptor is open; the pointer and the length describe `value`.
    let result =
        unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_and_written_and_a_link_has_its_own() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a temporary directory");
        let file = dir.path().join("f");
        std::fs::write(&file, "").expect("written");
        if write(&file, b"user.note", b"a\0b").is_err() {
            println!("not run here: no user attributes on this file system");
            return;
        }
        write_to(&std::fs::File::open(&file).expect("there"), b"user.more", b"").expect("written");
        let mut read_back = read(&file);
        read_back.sort();
        assert_eq!(
            read_back,
            [(b"user.more".to_vec(), Vec::new()), (b"user.note".to_vec(), b"a\0b".to_vec())]
        );
        let link = dir.path().join("l");
        std::os::unix::fs::symlink("f", &link).expect("made");
        assert_eq!(read(&link), []);
    }
}
