//! Does it really?
//!
//! A throwaway tree inside scope and one outside; a child enters the very ruleset that the agent will enter and does each
//! destructive operation in both. Outside each must fail with the errno of a refusal and leave the object as it was;
//! inside each must succeed. Nothing else is taken as proof: not a version, not a list of security modules.

use std::ffi::CString;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::ForkResult;

use super::child::{self, ChildError};
use super::landlock::Abi;

/// One operation on the objects prepared for it in a directory.
struct Probe {
    name: &'static str,
    /// Whether this kernel's Landlock can refuse it.
    applies: fn(Abi) -> bool,
    attempt: fn(&Path) -> io::Result<()>,
}

/// Each operation works on its own objects, named after it: a file `NAME`, a neighbour `NAME.other`, a directory
/// `NAME.d`, so that no operation depends on another.
const PROBES: &[Probe] = &[
    Probe { name: "unlink", applies: always, attempt: |at| fs::remove_file(at) },
    Probe { name: "rmdir", applies: always, attempt: |at| fs::remove_dir(beside(at, "d")) },
    Probe { name: "rename", applies: always, attempt: |at| fs::rename(at, beside(at, "new")) },
    Probe { name: "rename-over", applies: always, attempt: |at| fs::rename(beside(at, "other"), at) },
    Probe { name: "exchange", applies: always, attempt: |at| exchange(at, &beside(at, "other")) },
    Probe { name: "unlink-by-grandchild", applies: always, attempt: in_a_child },
    Probe { name: "truncate", applies: Abi::has_truncate, attempt: truncate },
    Probe { name: "open-truncate", applies: Abi::has_truncate, attempt: |at| fs::File::create(at).map(drop) },
];

const fn always(_: Abi) -> bool {
    true
}

fn beside(at: &Path, suffix: &str) -> PathBuf {
    let mut name = at.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let flags = nix::fcntl::RenameFlags::RENAME_EXCHANGE;
    Ok(nix::fcntl::renameat2(nix::fcntl::AT_FDCWD, one, nix::fcntl::AT_FDCWD, other, flags)?)
}

fn truncate(at: &Path) -> io::Result<()> {
    Ok(nix::unistd::truncate(at, 0)?)
}

fn in_a_child(at: &Path) -> io::Result<()> {
    let path = CString::new(at.as_os_str().as_bytes())?;
    // SAFETY: the child calls unlink and _exit only.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Child => unsafe {
            // SAFETY: `path` is NUL-terminated.
            let failed = libc::unlink(path.as_ptr()) != 0;
            libc::_exit(if failed { Errno::last_raw() } else { 0 })
        },
        ForkResult::Parent { child } => match nix::sys::wait::waitpid(child, None)? {
            nix::sys::wait::WaitStatus::Exited(_, 0) => Ok(()),
            nix::sys::wait::WaitStatus::Exited(_, errno) => Err(io::Error::from_raw_os_error(errno)),
            other => Err(io::Error::other(format!("{other:?}"))),
        },
    }
}

/// Why a rung is not proved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CanaryError {
    /// No directory could be made for the tree.
    #[error("no place for the canary tree {side}: {tried}")]
    NoPlace {
        /// Inside or outside scope.
        side: &'static str,
        /// What was tried.
        tried: String,
    },
    /// Preparing it failed.
    #[error("preparing the canary tree: {0}")]
    Prepare(#[source] io::Error),
    /// The child could not enter the ruleset.
    #[error("the canary could not enter the ruleset: {}", explain(.0))]
    Enter(ChildError),
    /// The child ended without an answer.
    #[error("the canary ended without an answer")]
    Silent,
    /// Something that must be refused passed, or failed with another errno, or changed the object all the same.
    #[error("{operation} outside scope was not refused ({got})")]
    NotRefused {
        /// The operation.
        operation: &'static str,
        /// What happened.
        got: String,
    },
    /// Something that must pass was refused.
    #[error("{operation} inside scope was refused: {errno}")]
    NotPermitted {
        /// The operation.
        operation: &'static str,
        /// The errno.
        errno: Errno,
    },
}

fn explain(error: &ChildError) -> String {
    match error.stage {
        child::Stage::Landlock => super::landlock::explain_restrict(error.errno).to_owned(),
        _ => error.to_string(),
    }
}

/// A rung that was seen to refuse and to permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The operations that were tried.
    pub operations: Vec<&'static str>,
}

/// Where canary trees may be made.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Directories in which the agent may destroy, best first.
    pub inside: Vec<PathBuf>,
    /// Directories in which it may not.
    pub outside: Vec<PathBuf>,
}

/// Proves a Landlock ruleset.
///
/// # Errors
/// See [`CanaryError`]. The trees are removed in any case.
pub fn prove(ruleset: &OwnedFd, abi: Abi, no_new_privs: bool, places: &Places) -> Result<Proof, CanaryError> {
    let inside = Tree::plant("inside scope", &places.inside)?;
    let outside = Tree::plant("outside scope", &places.outside)?;
    let answers = ask(ruleset, abi, no_new_privs, [&inside.0, &outside.0])?;
    let mut operations = Vec::new();
    for (probe, [permitted, refused]) in PROBES.iter().zip(answers) {
        if (probe.applies)(abi) {
            judge(probe, permitted, refused)?;
            operations.push(probe.name);
        }
    }
    outside.is_intact(abi)?;
    Ok(Proof { operations })
}

fn judge(probe: &Probe, permitted: Errno, refused: Errno) -> Result<(), CanaryError> {
    // A file system without RENAME_EXCHANGE says so before it asks anyone.
    let unsupported = probe.name == "exchange" && permitted == Errno::EINVAL;
    if permitted != Errno::UnknownErrno && !unsupported {
        return Err(CanaryError::NotPermitted { operation: probe.name, errno: permitted });
    }
    match refused {
        Errno::EACCES | Errno::EPERM | Errno::EXDEV => Ok(()),
        Errno::EINVAL if unsupported => Ok(()),
        Errno::UnknownErrno => {
            Err(CanaryError::NotRefused { operation: probe.name, got: "it succeeded".to_owned() })
        }
        other => Err(CanaryError::NotRefused { operation: probe.name, got: other.to_string() }),
    }
}

/// Bytes of one answer: the errnos inside and outside.
const ANSWER: usize = 8;

/// Forks the canary and returns, per probe, the errno inside and outside (`UnknownErrno`, which is 0, for success).
fn ask(
    ruleset: &OwnedFd,
    abi: Abi,
    no_new_privs: bool,
    trees: [&Path; 2],
) -> Result<Vec<[Errno; 2]>, CanaryError> {
    let (mut reader, writer) = io::pipe().map_err(CanaryError::Prepare)?;
    // SAFETY: called while this process has one thread (see `supervise`), so the child may allocate.
    match unsafe { nix::unistd::fork() }.map_err(|errno| CanaryError::Prepare(errno.into()))? {
        ForkResult::Child => {
            drop(reader);
            sing(ruleset, abi, no_new_privs, trees, writer)
        }
        ForkResult::Parent { child } => {
            drop(writer);
            let mut bytes = Vec::new();
            let read = reader.read_to_end(&mut bytes);
            let _ = nix::sys::wait::waitpid(child, None);
            read.map_err(CanaryError::Prepare)?;
            understand(&bytes)
        }
    }
}

fn understand(bytes: &[u8]) -> Result<Vec<[Errno; 2]>, CanaryError> {
    if let Some(error) = ChildError::from_wire(bytes) {
        return Err(CanaryError::Enter(error));
    }
    if bytes.len() != PROBES.len() * ANSWER {
        return Err(CanaryError::Silent);
    }
    let errno = |bytes: &[u8]| Errno::from_raw(bytes.try_into().map_or(libc::EIO, i32::from_ne_bytes));
    Ok(bytes.chunks_exact(ANSWER).map(|answer| [errno(&answer[..4]), errno(&answer[4..])]).collect())
}

fn sing(ruleset: &OwnedFd, abi: Abi, no_new_privs: bool, trees: [&Path; 2], mut writer: io::PipeWriter) -> ! {
    let entered = if no_new_privs { child::give_up_new_privileges() } else { Ok(()) };
    let entered = entered.and_then(|()| child::restrict(ruleset.as_raw_fd()));
    let song = match entered {
        Err(error) => error.to_wire().to_vec(),
        Ok(()) => {
            PROBES.iter().flat_map(|probe| trees.map(|tree| attempt(probe, abi, tree))).flatten().collect()
        }
    };
    let _ = writer.write_all(&song);
    // SAFETY: leaves without running what belongs to the parent.
    unsafe { libc::_exit(0) }
}

fn attempt(probe: &Probe, abi: Abi, tree: &Path) -> [u8; 4] {
    let result = if (probe.applies)(abi) { (probe.attempt)(&tree.join(probe.name)) } else { Ok(()) };
    result.map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0).to_ne_bytes()
}

/// A throwaway directory with the objects of each probe, removed when dropped.
struct Tree(PathBuf);

const CONTENT: &str = "canary";

impl Tree {
    fn plant(side: &'static str, places: &[PathBuf]) -> Result<Self, CanaryError> {
        let mut tried = Vec::new();
        for place in places {
            match nix::unistd::mkdtemp(&place.join(".blastradius-canary-XXXXXX")) {
                Ok(path) => {
                    let tree = Self(path);
                    tree.fill().map_err(CanaryError::Prepare)?;
                    return Ok(tree);
                }
                Err(errno) => tried.push(format!("{}: {}", place.display(), errno.desc())),
            }
        }
        Err(CanaryError::NoPlace {
            side,
            tried: if tried.is_empty() { "none known".into() } else { tried.join("; ") },
        })
    }

    fn fill(&self) -> io::Result<()> {
        for probe in PROBES {
            let at = self.0.join(probe.name);
            for file in [&at, &beside(&at, "other")] {
                fs::OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(file)?
                    .write_all(CONTENT.as_bytes())?;
            }
            fs::create_dir(beside(&at, "d"))?;
        }
        Ok(())
    }

    fn is_intact(&self, abi: Abi) -> Result<(), CanaryError> {
        for probe in PROBES.iter().filter(|probe| (probe.applies)(abi)) {
            let at = self.0.join(probe.name);
            let whole = |path: &Path| fs::read(path).is_ok_and(|content| content == CONTENT.as_bytes());
            if !whole(&at) || !whole(&beside(&at, "other")) || !beside(&at, "d").is_dir() {
                let got = "it was refused, and the object changed all the same".to_owned();
                return Err(CanaryError::NotRefused { operation: probe.name, got });
            }
        }
        Ok(())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // A tree that stays behind is empty of anything of value.
        let _ = fs::remove_dir_all(&self.0);
    }
}
