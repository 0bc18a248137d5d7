//! Reflinks: a copy that shares its blocks, where the file system can.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

/// ioctl_ficlone(2), `_IOW(0x94, 9, int)`.
const FICLONE: libc::Ioctl = 0x4004_9409_u32 as libc::Ioctl;

/// Makes `to` a clone of `from`.
///
/// # Errors
/// EOPNOTSUPP, EXDEV or EINVAL where these two files cannot share blocks.
pub fn reflink(from: &File, to: &File) -> io::Result<()> {
    // SAFETY: takes two descriptors, which are open.
    let result = unsafe { libc::ioctl(to.as_raw_fd(), FICLONE, from.as_raw_fd()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
