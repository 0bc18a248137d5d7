//! Reading a file that somebody else may have made.
//!
//! Under a name that is looked for may lie a FIFO, which would have its reader wait for a writer, or a link to a device
//! that never ends. Whoever guards a session waits for neither.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a regular file for reading.
///
/// # Errors
/// As open(2), and EINVAL for anything else that bears the name.
pub fn open(path: &Path) -> io::Result<File> {
    let refused = || Err(io::Error::from_raw_os_error(libc::EINVAL));
    // Asked before as well: a writer that waits for a reader would be let go, to nobody.
    if !std::fs::metadata(path)?.is_file() {
        return refused();
    }
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => refused(),
    }
}

/// The content of a regular file.
///
/// # Errors
/// As [`open`] and read(2).
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// The content of a regular file that holds text.
///
/// # Errors
/// As [`open`] and read(2), and if it is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_what_would_wait_or_never_end_is_not() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "text").expect("written");
        std::os::unix::fs::symlink("file", at("link")).expect("made");
        nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).expect("made");
        std::os::unix::fs::symlink("/dev/zero", at("endless")).expect("made");
        for name in ["file", "link"] {
            assert_eq!(read(&at(name)).expect("read"), b"text", "{name}");
            assert_eq!(read_to_string(&at(name)).expect("read"), "text", "{name}");
        }
        for name in ["fifo", "endless", "."] {
            assert_eq!(
                read(&at(name)).map_err(|error| error.raw_os_error()),
                Err(Some(libc::EINVAL)),
                "{name}"
            );
        }
        assert!(read(&at("none")).is_err());
    }
}
