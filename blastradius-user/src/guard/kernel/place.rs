//! Where the machine keeps the one set of programs and maps, and who uses it.
//!
//! | what | where | for |
//! |---|---|---|
//! | pins | `/sys/fs/bpf/blastradius/SET` | programs and maps outlive every supervisor |
//! | lock | `/run/blastradius/lock` | one start, end or reaping at a time |
//! | notes | `/run/blastradius/SET.notes` | what is otherwise on this kernel |
//! | users | `/run/blastradius/SET.users` | held shared by every process with the set open |
//! | session | `/run/blastradius/session-N` | held by the supervisor of session N |
//!
//! `SET` names object and rung, so that two versions do not share maps of different layouts.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::AsRawFd as _,
        unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use super::error::LoadError;

const BPFFS: &str = "/sys/fs/bpf";
const RUN: &str = "/run/blastradius";
/// `BPF_FS_MAGIC` (include/uapi/linux/magic.h).
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;

/// A file lock, held until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held, not read")] File);

/// How a lock is wanted.
#[derive(Clone, Copy)]
pub(super) enum Want {
    /// Alone; wait for it.
    Alone,
    /// Alone, now or not at all.
    AloneNow,
    /// With others who want the same.
    Shared,
}

impl Lock {
    pub(super) fn take(path: &Path, want: Want) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        let operation = match want {
            Want::Alone => libc::LOCK_EX,
            Want::AloneNow => libc::LOCK_EX | libc::LOCK_NB,
            Want::Shared => libc::LOCK_SH,
        };
        // SAFETY: a live descriptor.
        if unsafe { libc::flock(file.as_raw_fd(), operation) } == 0 {
            Ok(Self(file))
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// The lock of the whole machine, for starting, ending and reaping.
    pub(super) fn machine() -> Result<Self, LoadError> {
        private_directory(Path::new(RUN))?;
        let path = Path::new(RUN).join("lock");
        Self::take(&path, Want::Alone)
            .map_err(|error| LoadError::Io { what: path.display().to_string(), error })
    }
}

/// Where locks, notes and canaries live: a tmpfs that only root may enter.
pub(super) fn run_directory() -> &'static Path {
    Path::new(RUN)
}

/// The file whose lock says that the supervisor of `session` lives.
pub(super) fn session_file(session: u32) -> PathBuf {
    Path::new(RUN).join(format!("session-{session}"))
}

/// The file whose shared lock says that someone uses the set.
pub(super) fn users_file(set: &str) -> PathBuf {
    Path::new(RUN).join(format!("{set}.users"))
}

/// The file that tells later processes what is otherwise on this kernel.
pub(super) fn notes_file(set: &str) -> PathBuf {
    Path::new(RUN).join(format!("{set}.notes"))
}

/// The directory of the pins of one set.
pub(super) fn pins(set: &str) -> PathBuf {
    Path::new(BPFFS).join("blastradius").join(set)
}

/// Makes sure that pins have a place.
pub(super) fn prepare() -> Result<(), LoadError> {
    let path = Path::new(BPFFS);
    let no_bpffs = |error| LoadError::NoBpffs { path: path.to_owned(), error };
    if file_system(path).map_err(no_bpffs)? != BPF_FS_MAGIC {
        nix::mount::mount(Some("bpf"), path, Some("bpf"), nix::mount::MsFlags::empty(), None::<&str>)
            .map_err(|error| no_bpffs(error.into()))?;
    }
    private_directory(&path.join("blastradius"))
}

fn file_system(path: &Path) -> io::Result<i64> {
    Ok(nix::sys::statfs::statfs(path)?.filesystem_type().0)
}

/// Makes a directory that only root may enter.
pub(super) fn private_directory(path: &Path) -> Result<(), LoadError> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(LoadError::NotPermitted { what: format!("making {}", path.display()), error })
        }
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(LoadError::Io { what: format!("making {}", path.display()), error })
        }
        _ => Ok(()),
    }
}

/// Takes the pins of a set away. Links without a descriptor detach, maps without one are freed.
pub(super) fn unpin(set: &str) -> io::Result<()> {
    let directory = pins(set);
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        fs::remove_file(entry?.path())?;
    }
    fs::remove_dir(&directory)?;
    let _ = fs::remove_file(users_file(set));
    let _ = fs::remove_file(notes_file(set));
    Ok(())
}
