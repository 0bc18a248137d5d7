//! Where the machine keeps the one set of programs and maps, and who uses it.
//!
//! | what | where | for |
//! |---|---|---|
//! | pins | `/sys/fs/bpf/blastradius/SET` | programs and maps outlive every supervisor |
//! | notes | `/sys/fs/bpf/blastradius/SET/note-N` | what is otherwise on this kernel |
//! | lock | the directory `/sys/fs/bpf/blastradius` | one start, end or reaping at a time |
//! | users | the directory `/sys/fs/bpf/blastradius/SET` | held shared by every process with the set open |
//! | session | the directory `/sys/fs/bpf/blastradius/SET/session-N` | held by the supervisor of session N |
//!
//! `SET` names object and rung, so that two versions do not share maps of different layouts. What is locked lies beside what is
//! pinned: containers that share the one share the other, and need have nothing else in common. `/run/blastradius` is
//! each container's own.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::{
        fd::AsRawFd as _,
        unix::fs::{DirBuilderExt as _, MetadataExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use nix::{mount::MsFlags, unistd::geteuid};

use super::error::LoadError;

const BPFFS: &str = "/sys/fs/bpf";
const RUN: &str = "/run/blastradius";
/// What the notes of a set begin with.
const NOTE: &str = "note-";
/// `BPF_FS_MAGIC` (include/uapi/linux/magic.h).
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;

/// A lock of a directory (flock(2)), held until it is dropped or the process ends.
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
    /// Takes the lock of a directory, which must be there.
    pub(super) fn take(directory: &Path, want: Want) -> io::Result<Self> {
        let file = File::open(directory)?;
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

    /// The lock of the whole machine, for starting, ending and reaping. [`prepare`] has made what it locks.
    pub(super) fn machine() -> Result<Self, LoadError> {
        let path = house();
        Self::take(&path, Want::Alone)
            .map_err(|error| LoadError::Io { what: format!("locking {}", path.display()), error })
    }
}

/// Where canaries live: a tmpfs that only root may enter.
pub(super) fn run_directory() -> &'static Path {
    Path::new(RUN)
}

/// The directory of all that is pinned.
fn house() -> PathBuf {
    Path::new(BPFFS).join("blastradius")
}

/// The directory of the pins of one set, whose shared lock says that someone uses it.
pub(super) fn pins(set: &str) -> PathBuf {
    house().join(set)
}

/// The directory whose lock says that the supervisor of `session` lives.
pub(super) fn session_directory(set: &str, session: u32) -> PathBuf {
    pins(set).join(format!("session-{session}"))
}

/// Tells later processes what is otherwise on this kernel, a note a line. The file system has no files: the target of a
/// symlink is the text.
pub(super) fn write_notes(set: &str, text: &str) -> io::Result<()> {
    let mut lines = text.lines().enumerate();
    lines.try_for_each(|(number, line)| symlink(line, pins(set).join(format!("{NOTE}{number}"))))
}

/// What [`write_notes`] wrote.
pub(super) fn read_notes(set: &str) -> io::Result<String> {
    let mut notes = Vec::new();
    for entry in fs::read_dir(pins(set))? {
        let entry = entry?;
        let name = entry.file_name().into_string().unwrap_or_default();
        if let Some(number) = name.strip_prefix(NOTE).and_then(|number| number.parse::<u32>().ok()) {
            notes.push((number, fs::read_link(entry.path())?.to_string_lossy().into_owned()));
        }
    }
    notes.sort_unstable();
    Ok(notes.into_iter().map(|(_, line)| line + "\n").collect())
}

/// Makes sure that pins, locks and canaries have a place.
pub(super) fn prepare() -> Result<(), LoadError> {
    let path = Path::new(BPFFS);
    let no_bpffs = |error| LoadError::NoBpffs { path: path.to_owned(), error };
    if !is_bpffs(path).map_err(no_bpffs)? {
        mount_bpffs(path).map_err(no_bpffs)?;
    }
    private_directory(&house())?;
    private_directory(Path::new(RUN))
}

fn is_bpffs(path: &Path) -> io::Result<bool> {
    Ok(nix::sys::statfs::statfs(path)?.filesystem_type().0 == BPF_FS_MAGIC)
}

/// Of two that find none there, the second must not cover what the first has mounted.
fn mount_bpffs(path: &Path) -> io::Result<()> {
    let _below = Lock::take(path, Want::Alone)?;
    if !is_bpffs(path)? {
        nix::mount::mount(Some("bpf"), path, Some("bpf"), MsFlags::empty(), Some("mode=0700"))?;
    }
    Ok(())
}

/// Makes a directory that only we may enter, or makes sure that it is one.
pub(super) fn private_directory(path: &Path) -> Result<(), LoadError> {
    let what = || format!("making {}", path.display());
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => assert_private(path),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(LoadError::NotPermitted { what: what(), error })
        }
        Err(error) => Err(LoadError::Io { what: what(), error }),
    }
}

/// In a directory of somebody else's, or that others may write, somebody else could put what we would trust.
fn assert_private(path: &Path) -> Result<(), LoadError> {
    let what = || format!("looking at {}", path.display());
    let metadata = fs::symlink_metadata(path).map_err(|error| LoadError::Io { what: what(), error })?;
    if metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o077 == 0 {
        return Ok(());
    }
    let error = io::Error::other("it must be a directory of the guard's user, with mode 0700");
    Err(LoadError::Io { what: what(), error })
}

/// Takes the pins of a set away. Links without a descriptor detach, maps without one are freed.
pub(super) fn unpin(set: &str) -> io::Result<()> {
    let directory = pins(set);
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }?;
    }
    fs::remove_dir(&directory)
}
