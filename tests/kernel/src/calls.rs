//! System calls as the tests make them: no library between, and an outcome that a test can name.

use std::{ffi::CString, fmt, io, os::unix::ffi::OsStrExt as _, path::Path};

/// How a call went.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome(i32);

/// It was done.
pub(crate) const DONE: Outcome = Outcome(0);
/// The guard refused it.
pub(crate) const REFUSED: Outcome = Outcome(libc::EPERM);

impl Outcome {
    /// The outcome with this error number.
    pub(crate) const fn from_errno(errno: i32) -> Self {
        Self(errno)
    }

    /// Its error number, 0 for done.
    pub(crate) const fn errno(self) -> i32 {
        self.0
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DONE => formatter.write_str("done"),
            REFUSED => formatter.write_str("EPERM"),
            Outcome(ASSERTION_FAILED) => formatter.write_str("an assertion failed in the child"),
            Outcome(errno) => write!(formatter, "{}", io::Error::from_raw_os_error(errno)),
        }
    }
}

/// What the calling thread's last call said.
pub(crate) fn outcome(result: i64) -> Outcome {
    if result >= 0 { DONE } else { Outcome(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)) }
}

fn c(path: impl AsRef<Path>) -> CString {
    CString::new(path.as_ref().as_os_str().as_bytes()).expect("no zero in a test's path")
}

macro_rules! call {
    ($call:expr) => {{
        // SAFETY: every pointer is to a live string or buffer of this function.
        outcome(i64::from(unsafe { $call }))
    }};
}

/// unlink(2)
pub(crate) fn unlink(path: impl AsRef<Path>) -> Outcome {
    call!(libc::unlink(c(path).as_ptr()))
}

/// unlinkat(2), relative to an open directory
pub(crate) fn unlinkat(directory: impl AsRef<Path>, name: &str, flags: i32) -> Outcome {
    let directory = match std::fs::File::open(directory) {
        Ok(directory) => directory,
        Err(error) => return Outcome(error.raw_os_error().unwrap_or(libc::EIO)),
    };
    use std::os::fd::AsRawFd as _;
    call!(libc::unlinkat(directory.as_raw_fd(), c(name).as_ptr(), flags))
}

/// rmdir(2)
pub(crate) fn rmdir(path: impl AsRef<Path>) -> Outcome {
    call!(libc::rmdir(c(path).as_ptr()))
}

/// mkdir(2)
pub(crate) fn mkdir(path: impl AsRef<Path>) -> Outcome {
    call!(libc::mkdir(c(path).as_ptr(), 0o755))
}

/// chdir(2)
pub(crate) fn chdir(path: impl AsRef<Path>) -> Outcome {
    call!(libc::chdir(c(path).as_ptr()))
}

/// renameat2(2)
pub(crate) fn rename_with(old: impl AsRef<Path>, new: impl AsRef<Path>, flags: u32) -> Outcome {
    let (old, new) = (c(old), c(new));
    call!(libc::syscall(
        libc::SYS_renameat2,
        libc::AT_FDCWD,
        old.as_ptr(),
        libc::AT_FDCWD,
        new.as_ptr(),
        flags
    ))
}

/// rename(2)
pub(crate) fn rename(old: impl AsRef<Path>, new: impl AsRef<Path>) -> Outcome {
    rename_with(old, new, 0)
}

/// link(2)
pub(crate) fn link(old: impl AsRef<Path>, new: impl AsRef<Path>) -> Outcome {
    call!(libc::link(c(old).as_ptr(), c(new).as_ptr()))
}

/// symlink(2)
pub(crate) fn symlink(target: impl AsRef<Path>, path: impl AsRef<Path>) -> Outcome {
    call!(libc::symlink(c(target).as_ptr(), c(path).as_ptr()))
}

/// mknod(2); a device is the null device
pub(crate) fn mknod(path: impl AsRef<Path>, kind: libc::mode_t) -> Outcome {
    call!(libc::mknod(c(path).as_ptr(), kind | 0o644, libc::makedev(1, 3)))
}

/// truncate(2) to nothing
pub(crate) fn truncate(path: impl AsRef<Path>) -> Outcome {
    call!(libc::truncate(c(path).as_ptr(), 0))
}

/// ftruncate(2) to nothing
pub(crate) fn ftruncate(path: impl AsRef<Path>) -> Outcome {
    match open_fd(path, libc::O_RDWR) {
        Ok(fd) => {
            let outcome = call!(libc::ftruncate(fd, 0));
            call!(libc::close(fd));
            outcome
        }
        Err(outcome) => outcome,
    }
}

/// chmod(2)
pub(crate) fn chmod(path: impl AsRef<Path>, mode: libc::mode_t) -> Outcome {
    call!(libc::chmod(c(path).as_ptr(), mode))
}

/// chown(2) to root
pub(crate) fn chown(path: impl AsRef<Path>) -> Outcome {
    call!(libc::chown(c(path).as_ptr(), 0, 0))
}

/// open(2) and close(2)
pub(crate) fn open(path: impl AsRef<Path>, flags: i32) -> Outcome {
    match open_fd(path, flags) {
        Ok(fd) => call!(libc::close(fd)),
        Err(outcome) => outcome,
    }
}

/// open(2)
pub(crate) fn open_fd(path: impl AsRef<Path>, flags: i32) -> Result<i32, Outcome> {
    // SAFETY: a live string.
    let fd = unsafe { libc::open(c(path).as_ptr(), flags | libc::O_CLOEXEC, 0o644) };
    if fd < 0 { Err(outcome(-1)) } else { Ok(fd) }
}

/// Makes a file with some content.
pub(crate) fn create(path: impl AsRef<Path>) -> Outcome {
    let path = path.as_ref();
    open(path, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY)
}

/// mount(2), without data
pub(crate) fn mount(source: impl AsRef<Path>, target: impl AsRef<Path>, kind: &str, flags: u64) -> Outcome {
    mount_with(source, target, kind, flags, "")
}

/// mount(2)
pub(crate) fn mount_with(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    kind: &str,
    flags: u64,
    data: &str,
) -> Outcome {
    let (source, target, kind, data) = (c(source), c(target), c(kind), c(data));
    call!(libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast()))
}

/// mount(2) that shows `source` at `target` too
pub(crate) fn bind(source: impl AsRef<Path>, target: impl AsRef<Path>) -> Outcome {
    mount(source, target, "", libc::MS_BIND)
}

/// umount2(2) with MNT_DETACH
pub(crate) fn umount(target: impl AsRef<Path>) -> Outcome {
    call!(libc::umount2(c(target).as_ptr(), libc::MNT_DETACH))
}

/// pivot_root(2)
pub(crate) fn pivot_root(new: impl AsRef<Path>, old: impl AsRef<Path>) -> Outcome {
    call!(libc::syscall(libc::SYS_pivot_root, c(new).as_ptr(), c(old).as_ptr()))
}

/// chroot(2)
pub(crate) fn chroot(root: impl AsRef<Path>) -> Outcome {
    call!(libc::chroot(c(root).as_ptr()))
}

/// unshare(2)
pub(crate) fn unshare(what: i32) -> Outcome {
    call!(libc::unshare(what))
}

/// open_tree(2) with OPEN_TREE_CLONE: a mount that is attached nowhere
pub(crate) fn clone_tree(path: impl AsRef<Path>) -> Result<i32, Outcome> {
    /// `OPEN_TREE_CLONE` (include/uapi/linux/mount.h).
    const CLONE: libc::c_uint = 1;
    // SAFETY: a live string.
    let fd = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, c(path).as_ptr(), CLONE) };
    i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(|| outcome(-1))
}

/// move_mount(2) of an open mount to a path
pub(crate) fn attach(tree: i32, target: impl AsRef<Path>) -> Outcome {
    /// `MOVE_MOUNT_F_EMPTY_PATH` (include/uapi/linux/mount.h).
    const EMPTY: libc::c_uint = 4;
    let here = libc::AT_FDCWD;
    call!(libc::syscall(libc::SYS_move_mount, tree, c"".as_ptr(), here, c(target).as_ptr(), EMPTY))
}

/// move_mount(2) of what is mounted at a path
pub(crate) fn move_mount(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Outcome {
    let here = libc::AT_FDCWD;
    call!(libc::syscall(libc::SYS_move_mount, here, c(from).as_ptr(), here, c(to).as_ptr(), 0))
}

/// ioctl(2) with an argument of `argument`
pub(crate) fn ioctl(path: impl AsRef<Path>, request: libc::c_ulong, argument: &mut [u8]) -> Outcome {
    match open_fd(path, libc::O_RDONLY) {
        Ok(fd) => {
            let outcome = call!(libc::ioctl(fd, request as _, argument.as_mut_ptr()));
            call!(libc::close(fd));
            outcome
        }
        Err(outcome) => outcome,
    }
}

/// Forks, runs `act` in the child and returns what it returned.
pub(crate) fn in_child(act: impl FnOnce() -> Outcome) -> Outcome {
    // SAFETY: the test program has one thread when it forks.
    match unsafe { libc::fork() } {
        -1 => outcome(-1),
        0 => run_and_exit(act),
        child => wait(child),
    }
}

/// What a forked child does: a failed assertion must not go on as a second test program.
pub(crate) fn run_and_exit(act: impl FnOnce() -> Outcome) -> ! {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)) {
        Ok(outcome) => exit_with(outcome),
        Err(_) => exit_with(Outcome(ASSERTION_FAILED)),
    }
}

/// No error number of the kernel's.
const ASSERTION_FAILED: i32 = 250;

/// Ends the process with the outcome as its status.
pub(crate) fn exit_with(outcome: Outcome) -> ! {
    // SAFETY: ends the process without running anything else of it.
    unsafe { libc::_exit(outcome.errno()) }
}

/// Puts the calling process under a Landlock ruleset, for good.
pub(crate) fn restrict(ruleset: &impl std::os::fd::AsRawFd) {
    // SAFETY: numbers only.
    let unprivileged = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: a live descriptor.
    let restricted = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    assert!(unprivileged == 0 && restricted == 0, "the child is guarded");
}

/// The outcome that the child ended with.
pub(crate) fn wait(child: libc::pid_t) -> Outcome {
    let mut status = 0;
    // SAFETY: a live integer.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    if waited != child {
        return outcome(-1);
    }
    if libc::WIFEXITED(status) { Outcome(libc::WEXITSTATUS(status)) } else { Outcome(libc::EINTR) }
}

/// Lets the kernel forget every inode and dentry that nobody holds.
pub(crate) fn drop_caches() {
    // SAFETY: no arguments.
    unsafe { libc::sync() };
    for _ in 0..2 {
        std::fs::write("/proc/sys/vm/drop_caches", "3").expect("drop_caches is writable for root");
    }
}
