//! The proof: before anything is trusted to a session, a child of it tries every guarded act and every free one.
//!
//! The lsm list is no evidence: where `bpf` is missing from it, programs load, attach and never fire.

use std::{
    ffi::CString,
    fmt, fs, io,
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use blastradius_common::{Below, Common, Member, ObjectKey, Zone};

use super::{marks, place, programs::lacking, session::Session};

/// What was proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Acts that were tried and refused.
    pub refused: Vec<&'static str>,
    /// Acts that were tried and passed.
    pub passed: Vec<&'static str>,
}

/// What is not enforced, or enforced too much.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CanaryError {
    /// Acts that should have been refused were done, or permitted ones were refused.
    #[error("the canary {}", Deviations(.0))]
    Deviates(Vec<Deviation>),
    /// The canary could not be set up or did not report.
    #[error("the canary could not be run: {what}: {error}")]
    Setup {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
}

/// An act that went otherwise than it must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The act.
    pub act: &'static str,
    /// Whether it must be refused.
    pub must_be_refused: bool,
    /// The error number that it gave; 0: it was done.
    pub errno: i32,
}

struct Deviations<'a>(&'a [Deviation]);

impl fmt::Display for Deviations<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Deviation { act, must_be_refused, errno }) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match (must_be_refused, errno) {
                (true, 0) => write!(formatter, "{comma}was not refused: {act}")?,
                (_, errno) => write!(formatter, "{comma}failed with errno {errno}: {act}")?,
            }
        }
        Ok(())
    }
}

/// What the kernel must say to an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Must {
    Refuse,
    Pass,
}

/// A system call, ready to be made in a forked child: nothing is allocated there.
enum Act {
    Unlink(CString),
    Rmdir(CString),
    Mkdir(CString),
    Create(CString),
    Symlink(CString),
    Link(CString, CString),
    Rename(CString, CString, u32),
    Truncate(CString),
    OpenTruncating(CString),
    Chmod(CString),
    Chown(CString),
    /// A tmpfs over it.
    MountOver(CString),
    /// What is no mount, to a place: it fails anyhow, after it was judged.
    MoveMount(CString, CString),
    /// Only marks the mount as unused, if nobody refuses.
    Unmount(CString),
    /// To a place that is no mount: it fails anyhow, after it was judged.
    PivotRoot(CString),
    /// A request with an argument of zeros, which names nothing.
    Request(CString, libc::c_ulong),
    /// With numbers that mean nothing: it fails anyhow, after it was judged.
    Reboot,
    /// Of a module that there is not.
    UnloadModule,
    /// Of a message queue, which the kernel unlinks by itself.
    RemoveQueue(CString),
    /// The act by a child of the child.
    InChild(Box<Act>),
}

impl Act {
    /// Makes the call; 0 or an error number. Async-signal-safe.
    fn perform(&self) -> i32 {
        // SAFETY: each string is live and ends in a zero; the calls touch nothing else of this process.
        let result = unsafe {
            match self {
                Self::Unlink(path) => i64::from(libc::unlink(path.as_ptr())),
                Self::Rmdir(path) => i64::from(libc::rmdir(path.as_ptr())),
                Self::Mkdir(path) => i64::from(libc::mkdir(path.as_ptr(), 0o700)),
                Self::Create(path) => {
                    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
                    let fd = libc::open(path.as_ptr(), flags, 0o600);
                    if fd < 0 { -1 } else { i64::from(libc::close(fd)) }
                }
                Self::Truncate(path) => i64::from(libc::truncate(path.as_ptr(), 0)),
                Self::OpenTruncating(path) => {
                    let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_TRUNC | libc::O_CLOEXEC);
                    if fd < 0 { -1 } else { i64::from(libc::close(fd)) }
                }
                Self::Symlink(path) => i64::from(libc::symlink(c"canary".as_ptr(), path.as_ptr())),
                Self::Link(old, new) => i64::from(libc::link(old.as_ptr(), new.as_ptr())),
                Self::Rename(old, new, flags) => {
                    let here = libc::AT_FDCWD;
                    libc::syscall(libc::SYS_renameat2, here, old.as_ptr(), here, new.as_ptr(), *flags)
                }
                Self::Chmod(path) => i64::from(libc::chmod(path.as_ptr(), 0o600)),
                Self::Chown(path) => i64::from(libc::chown(path.as_ptr(), 0, 0)),
                Self::MountOver(path) => {
                    let (none, kind) = (c"none".as_ptr(), c"tmpfs".as_ptr());
                    let mounted = libc::mount(none, path.as_ptr(), kind, 0, std::ptr::null());
                    if mounted == 0 {
                        libc::umount2(path.as_ptr(), libc::MNT_DETACH);
                    }
                    i64::from(mounted)
                }
                Self::MoveMount(from, to) => {
                    let here = libc::AT_FDCWD;
                    libc::syscall(libc::SYS_move_mount, here, from.as_ptr(), here, to.as_ptr(), 0)
                }
                Self::Unmount(path) => i64::from(libc::umount2(path.as_ptr(), libc::MNT_EXPIRE)),
                Self::PivotRoot(path) => libc::syscall(libc::SYS_pivot_root, path.as_ptr(), path.as_ptr()),
                Self::Request(path, request) => {
                    // The largest argument that any of the requests has.
                    let mut argument = [0u8; 4096];
                    let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
                    i64::from(libc::ioctl(fd, *request as _, argument.as_mut_ptr()))
                }
                Self::Reboot => libc::syscall(libc::SYS_reboot, 0, 0, 0, 0),
                Self::UnloadModule => {
                    let name = c"blastradius_canary".as_ptr();
                    libc::syscall(libc::SYS_delete_module, name, libc::O_NONBLOCK)
                }
                Self::RemoveQueue(name) => libc::syscall(libc::SYS_mq_unlink, name.as_ptr()),
                Self::InChild(act) => return perform_in_child(act),
            }
        };
        if result == 0 { 0 } else { last_errno() }
    }
}

fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

fn perform_in_child(act: &Act) -> i32 {
    // SAFETY: the child only makes the call and ends.
    let child = unsafe { libc::fork() };
    match child {
        -1 => last_errno(),
        // SAFETY: ends the child without running anything of the parent's.
        0 => unsafe { libc::_exit(act.perform()) },
        _ => wait(child).unwrap_or(libc::EIO),
    }
}

/// The exit status of `child`; `None`: it did not exit by itself.
fn wait(child: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: a live integer.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if waited == child {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        if waited == -1 && last_errno() != libc::EINTR {
            return None;
        }
    }
}

struct Step {
    what: &'static str,
    must: Must,
    act: Act,
    /// Not tried where this is not enforced, and said so.
    unless: Option<&'static str>,
}

impl Step {
    fn judged_unless(self, lacking: &'static str) -> Self {
        Self { unless: Some(lacking), ..self }
    }
}

/// `BTRFS_IOC_SNAP_DESTROY` (include/uapi/linux/btrfs.h) and `FS_IOC_SETFLAGS` (include/uapi/linux/fs.h).
const DESTROY_SUBVOLUME: libc::c_ulong = 0x5000_940f;
const SET_FLAGS: libc::c_ulong = 0x4008_6602;

/// The canary's own tree: `kept` and `denied` must survive, `scope` may go.
struct Tree {
    root: PathBuf,
    queue: Option<Queue>,
}

/// A message queue, where the kernel has them.
struct Queue {
    /// As the kernel wants it: without the slash that the library wants.
    name: CString,
    file: fs::File,
}

impl Queue {
    fn plant(name: &str) -> Option<Self> {
        let with_slash = CString::new(format!("/{name}")).ok()?;
        // SAFETY: a live string, and no attributes.
        let fd = unsafe {
            let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
            libc::mq_open(with_slash.as_ptr(), flags, 0o600, std::ptr::null::<libc::mq_attr>())
        };
        // SAFETY: the descriptor that was just returned to us.
        let file = if fd < 0 { return None } else { unsafe { fs::File::from_raw_fd(fd) } };
        Some(Self { name: CString::new(name).ok()?, file })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: a live string.
        unsafe { libc::syscall(libc::SYS_mq_unlink, self.name.as_ptr()) };
    }
}

impl Tree {
    fn plant() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("canary-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let root = place::run_directory().join(&name);
        let _ = fs::remove_dir_all(&root);
        let tree = Self { root, queue: Queue::plant(&format!("blastradius-{name}")) };
        for directory in ["kept", "kept/directory", "denied", "scope", "scope/directory"] {
            fs::create_dir_all(tree.root.join(directory))?;
        }
        for file in ["kept/file", "kept/other", "denied/file", "scope/file", "scope/other", "scope/third"] {
            fs::write(tree.root.join(file), "canary\n")?;
        }
        Ok(tree)
    }

    fn path(&self, relative: &str) -> CString {
        let path = self.root.join(relative);
        CString::new(path.as_os_str().as_bytes()).expect("a path that was made holds no zero")
    }

    fn steps(&self) -> Vec<Step> {
        let path = |relative| self.path(relative);
        let refuse = |what, act| Step { what, must: Must::Refuse, act, unless: None };
        let pass = |what, act| Step { what, must: Must::Pass, act, unless: None };
        let rename = |old, new| Act::Rename(path(old), path(new), 0);
        let exchange = |old, new| Act::Rename(path(old), path(new), libc::RENAME_EXCHANGE);
        let queue = self.queue.iter().map(|queue| {
            refuse("removal by the kernel itself", Act::RemoveQueue(queue.name.clone()))
                .judged_unless(lacking::SECOND_LINE)
        });
        let steps = vec![
            refuse("unlink", Act::Unlink(path("kept/file"))),
            refuse("unlink by a child", Act::InChild(Box::new(Act::Unlink(path("kept/file"))))),
            refuse("rmdir", Act::Rmdir(path("kept/directory"))),
            refuse("rename away", rename("kept/file", "scope/away")),
            refuse("rename over", rename("scope/file", "kept/file")),
            refuse("exchange", exchange("scope/file", "kept/file")),
            refuse("exchange the other way", exchange("kept/file", "scope/file")),
            refuse("truncate", Act::Truncate(path("kept/file"))),
            refuse("open with O_TRUNC", Act::OpenTruncating(path("kept/file"))),
            refuse("link into scope", Act::Link(path("kept/file"), path("scope/linked"))),
            refuse("unlink of what is denied", Act::Unlink(path("denied/file"))),
            refuse("change of mode", Act::Chmod(path("denied/file"))),
            refuse("change of owner", Act::Chown(path("denied/file"))).judged_unless(lacking::OWNERS),
            refuse("change of flags", Act::Request(path("denied/file"), SET_FLAGS))
                .judged_unless(lacking::REQUESTS),
            refuse("destruction of a subvolume", Act::Request(path("kept"), DESTROY_SUBVOLUME))
                .judged_unless(lacking::REQUESTS),
            refuse("mount over", Act::MountOver(path("denied"))).judged_unless(lacking::MOUNTS),
            refuse("move of a mount over", Act::MoveMount(path("kept"), path("denied")))
                .judged_unless(lacking::MOUNTS),
            refuse("change of the root", Act::PivotRoot(path("scope"))).judged_unless(lacking::MOUNTS),
            refuse("unmount of what holds the programs", Act::Unmount(c"/sys/fs/bpf".to_owned())),
            refuse("restart", Act::Reboot).judged_unless(lacking::POWER),
            refuse("unloading a module", Act::UnloadModule).judged_unless(lacking::POWER),
            pass("truncate in scope", Act::Truncate(path("scope/third"))),
            pass("open with O_TRUNC in scope", Act::OpenTruncating(path("scope/third"))),
            pass("write to a pseudo file with O_TRUNC", Act::OpenTruncating(c"/proc/self/comm".to_owned())),
            pass("create", Act::Create(path("kept/new"))),
            pass("unlink what it created", Act::Unlink(path("kept/new"))),
            pass("mkdir", Act::Mkdir(path("kept/made"))),
            pass("rmdir what it made", Act::Rmdir(path("kept/made"))),
            pass("symlink", Act::Symlink(path("kept/link"))),
            pass("unlink its symlink", Act::Unlink(path("kept/link"))),
            pass("link", Act::Link(path("scope/third"), path("kept/linked"))),
            pass("unlink its link", Act::Unlink(path("kept/linked"))),
            pass("rename over in scope", rename("scope/file", "scope/other")),
            pass("unlink in scope", Act::Unlink(path("scope/other"))),
            pass("rmdir in scope", Act::Rmdir(path("scope/directory"))),
        ];
        steps.into_iter().chain(queue).collect()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The marks of the tree, in the session under proof, until dropped.
struct TreeMarks<'a> {
    session: &'a Session,
    keys: Vec<ObjectKey>,
}

impl<'a> TreeMarks<'a> {
    fn write(session: &'a Session, tree: &Tree) -> io::Result<Self> {
        let _answering = session.set().attach_identify()?;
        let mut marks = Self { session, keys: Vec::new() };
        let open = |part: &str| fs::File::open(tree.root.join(part));
        marks.add(&open("")?, Zone::Root, Zone::Other)?;
        marks.add(&open("scope")?, Zone::Root, Zone::Scope)?;
        marks.add(&open("denied")?, Zone::Denied, Zone::Denied)?;
        if let Some(queue) = &tree.queue {
            marks.add(&queue.file, Zone::Denied, Zone::Denied)?;
        }
        Ok(marks)
    }

    fn add(&mut self, object: &fs::File, own: Zone, zone: Zone) -> io::Result<()> {
        let set = self.session.set();
        let key = ObjectKey::new(self.session.id(), marks::identify(set, object)?);
        self.keys.push(key);
        set.own.insert(&key, &u32::from(own as u8))?;
        let below = Below { zone: zone as u8, flags: Below::FINAL, ..Below::default() };
        set.below.insert(&key, &below)
    }
}

impl Drop for TreeMarks<'_> {
    fn drop(&mut self) {
        for key in &self.keys {
            let _ = self.session.set().own.remove(key);
            let _ = self.session.set().below.remove(key);
        }
    }
}

/// Proves that the session's protection is in force: a child that is born guarded tries every guarded act and must be
/// refused, and every free one, which must pass. Takes some milliseconds and leaves nothing behind.
///
/// # Errors
/// Names what is not enforced.
pub fn canary(session: &Session) -> Result<Proof, CanaryError> {
    let setup = |what| move |error| CanaryError::Setup { what, error };
    let tree = Tree::plant().map_err(setup("making its tree"))?;
    let _marks = TreeMarks::write(session, &tree).map_err(setup("marking its tree"))?;
    let rules = session.rules().map_err(setup("reading its rules"))?;
    let spared = |step: &Step| step.unless == Some(lacking::POWER) && rules & Common::POWER == 0;
    let lacking = |step: &Step| step.unless.is_some_and(|what| session.set().caveats.lacks(what));
    let steps: Vec<Step> = tree.steps().into_iter().filter(|step| !spared(step) && !lacking(step)).collect();
    let answers = try_in_guarded_child(session, &steps).map_err(setup("running its child"))?;
    let mut proof = Proof { refused: Vec::new(), passed: Vec::new() };
    let mut deviations = Vec::new();
    for (Step { what, must, .. }, errno) in steps.iter().zip(answers) {
        match (must, errno) {
            (Must::Refuse, libc::EPERM) => proof.refused.push(*what),
            (Must::Pass, 0) => proof.passed.push(*what),
            // The kernel has no such call at all.
            (Must::Refuse, libc::ENOSYS) => {}
            _ => deviations.push(Deviation { act: what, must_be_refused: *must == Must::Refuse, errno }),
        }
    }
    if deviations.is_empty() { Ok(proof) } else { Err(CanaryError::Deviates(deviations)) }
}

/// Forks a child that is born in the session, has it perform the steps, and returns their error numbers.
fn try_in_guarded_child(session: &Session, steps: &[Step]) -> io::Result<Vec<i32>> {
    let (reader, writer) = pipe()?;
    session.arm(Member::CANARY)?;
    // SAFETY: the child allocates nothing, takes no lock, and ends by _exit.
    let child = unsafe { libc::fork() };
    match child {
        -1 => {
            let error = io::Error::last_os_error();
            session.disarm()?;
            return Err(error);
        }
        0 => report_and_exit(steps, writer.as_raw_fd()),
        _ => {}
    }
    drop(writer);
    // If task_alloc never fires, the fork has not consumed it.
    session.disarm()?;
    let mut bytes = Vec::new();
    let read = io::Read::read_to_end(&mut fs::File::from(reader), &mut bytes);
    let ended = wait(child);
    read?;
    if ended != Some(0) || bytes.len() != steps.len() * 4 {
        return Err(io::Error::other(format!("its child ended with {ended:?} after {} bytes", bytes.len())));
    }
    Ok(bytes
        .chunks_exact(4)
        .map(|answer| i32::from_ne_bytes([answer[0], answer[1], answer[2], answer[3]]))
        .collect())
}

fn report_and_exit(steps: &[Step], writer: i32) -> ! {
    for step in steps {
        let answer = step.act.perform().to_ne_bytes();
        // SAFETY: four live bytes. A short write shows as missing bytes.
        unsafe { libc::write(writer, answer.as_ptr().cast(), answer.len()) };
    }
    // SAFETY: ends the child without running anything of the parent's.
    unsafe { libc::_exit(0) }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, which are ours when the call succeeds.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}
