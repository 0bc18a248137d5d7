//! How is a directory reached without a link?
//!
//! A restore writes where something was. Meanwhile a link may stand there, or be put there while we write, and it may lead
//! anywhere. So the way is gone name by name, links refused, and its end is held open: what is written below goes into
//! the very directory that was reached.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// A directory, held open.
#[derive(Debug)]
pub struct Pinned(OwnedFd);

impl Pinned {
    /// Goes to a directory that is there.
    ///
    /// # Errors
    /// If it is not, or a link stands on the way.
    pub fn reach(directory: &Path) -> io::Result<Self> {
        Self::go(directory, |_, _, at, errno| Err(refused(at, errno)))
    }

    /// Goes to a directory and makes what is missing. What stands in the way of a directory strictly below `top` goes.
    ///
    /// # Errors
    /// If it cannot be made, or a link stands on the way to `top`.
    pub fn make(directory: &Path, top: &Path) -> io::Result<Self> {
        Self::go(directory, |held, name, at, errno| {
            match errno {
                Errno::ENOENT => {}
                Errno::ENOTDIR | Errno::ELOOP if at.starts_with(top) && at != top => {
                    unlinkat(held, name, UnlinkatFlags::NoRemoveDir)?;
                }
                _ => return Err(refused(at, errno)),
            }
            Ok(mkdirat(held, name, Mode::from_bits_truncate(0o777))?)
        })
    }

    /// Goes name by name. `mend` makes a name of an open directory one that can be entered, once; the path is for people.
    fn go(
        directory: &Path,
        mend: impl Fn(BorrowedFd<'_>, &OsStr, &Path, Errno) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut held: OwnedFd = nix::fcntl::open("/", flags(), Mode::empty())?;
        let mut at = PathBuf::from("/");
        for component in directory.components() {
            let name = match component {
                Component::RootDir => continue,
                Component::Normal(name) => name,
                _ => return Err(io::ErrorKind::InvalidInput.into()),
            };
            at.push(name);
            let step = || openat(held.as_fd(), name, flags(), Mode::empty());
            let next = match step() {
                Ok(next) => next,
                Err(errno) => {
                    mend(held.as_fd(), name, &at, errno)?;
                    step()?
                }
            };
            held = next;
        }
        Ok(Self(held))
    }

    /// A way to a name in the directory that no link can bend.
    pub fn at(&self, name: &OsStr) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd())).join(name)
    }

    /// The directory itself, for calls that follow no link at the end.
    pub fn itself(&self) -> PathBuf {
        self.at(OsStr::new("."))
    }
}

fn flags() -> OFlag {
    OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC
}

fn refused(at: &Path, errno: Errno) -> io::Error {
    match errno {
        Errno::ENOTDIR | Errno::ELOOP => {
            io::Error::other(format!("{} is a link now, or no directory", at.display()))
        }
        other => other.into(),
    }
}

/// Whether what is there of this path is reached without a link.
pub fn is_direct(path: &Path) -> bool {
    let there = path.ancestors().find(|place| fs::symlink_metadata(place).is_ok());
    there.is_none_or(|there| fs::canonicalize(there).is_ok_and(|real| real == there))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_missing_is_made_and_a_link_below_the_top_makes_room_and_one_above_does_not() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let top = fs::canonicalize(dir.path()).expect("there");
        let at = |name: &str| top.join(name);
        fs::create_dir(at("elsewhere")).expect("made");
        symlink("elsewhere", at("link")).expect("made");

        assert!(Pinned::make(&at("link/a"), &at("link")).is_err(), "the top itself is a link");
        assert!(Pinned::make(&at("link/a/b"), &at("link/a")).is_err(), "a link lies above the top");
        assert!(Pinned::reach(&at("link")).is_err());
        assert!(!is_direct(&at("link/x")) && is_direct(&at("elsewhere/x")));

        let pinned = Pinned::make(&at("link/a/b"), &top).expect("the link makes room");
        fs::write(pinned.at(OsStr::new("file")), "x").expect("written");
        assert!(at("link/a/b/file").is_file() && is_direct(&at("link")));
        assert_eq!(fs::read_dir(at("elsewhere")).expect("there").count(), 0, "nothing went through the link");
    }

    #[test]
    fn what_is_held_stays_what_it_is_whatever_takes_its_name() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let top = fs::canonicalize(dir.path()).expect("there");
        for name in ["was", "other"] {
            fs::create_dir(top.join(name)).expect("made");
        }
        let pinned = Pinned::reach(&top.join("was")).expect("there");
        fs::rename(top.join("was"), top.join("moved")).expect("moved");
        symlink("other", top.join("was")).expect("made");
        fs::write(pinned.at(OsStr::new("file")), "x").expect("written");
        assert!(top.join("moved/file").is_file() && !top.join("other/file").exists());
    }
}
