//! How does a fresh fork become the guarded agent?
//!
//! Everything between fork(2) and execve(2) happens here, on values prepared by the parent: no allocation, no lock, no
//! message built. What fails is reported as a static stage and an errno; the parent puts it into words.

use std::ffi::CString;
use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;

/// What the child was doing when it failed. The discriminant crosses the report pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// setpgid(2): joining the job of the process that the user started.
    ProcessGroup = 1,
    /// prctl(PR_SET_NO_NEW_PRIVS).
    NoNewPrivs = 2,
    /// landlock_restrict_self(2).
    Landlock = 3,
    /// seccomp(2) with a listener.
    Seccomp = 4,
    /// Handing the listener to the supervisor.
    Listener = 5,
    /// setgroups, setgid, setuid.
    Identity = 6,
    /// chdir(2).
    Directory = 7,
    /// sigprocmask(2).
    Signals = 8,
    /// execve(2).
    Exec = 9,
}

impl Stage {
    const ALL: [Self; 9] = [
        Self::ProcessGroup,
        Self::NoNewPrivs,
        Self::Landlock,
        Self::Seccomp,
        Self::Listener,
        Self::Identity,
        Self::Directory,
        Self::Signals,
        Self::Exec,
    ];

    fn from_u8(value: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| *stage as u8 == value)
    }

    /// The system call, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProcessGroup => "setpgid",
            Self::NoNewPrivs => "prctl(PR_SET_NO_NEW_PRIVS)",
            Self::Landlock => "landlock_restrict_self",
            Self::Seccomp => "seccomp",
            Self::Listener => "sendmsg (seccomp listener)",
            Self::Identity => "setgroups/setgid/setuid",
            Self::Directory => "chdir",
            Self::Signals => "sigprocmask",
            Self::Exec => "execve",
        }
    }
}

/// Why the child did not become the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildError {
    /// Where.
    pub stage: Stage,
    /// What the kernel said.
    pub errno: Errno,
}

impl ChildError {
    /// Bytes of a report on the pipe.
    pub const WIRE: usize = 5;

    /// The report as it crosses the pipe.
    pub fn to_wire(self) -> [u8; Self::WIRE] {
        let [a, b, c, d] = (self.errno as i32).to_ne_bytes();
        [self.stage as u8, a, b, c, d]
    }

    /// Reads what the child wrote. `None`: nothing came (the exec succeeded), or not a whole report.
    pub fn from_wire(bytes: &[u8]) -> Option<Self> {
        let [stage, a, b, c, d] = *bytes else { return None };
        let errno = Errno::from_raw(i32::from_ne_bytes([a, b, c, d]));
        Some(Self { stage: Stage::from_u8(stage)?, errno })
    }
}

impl fmt::Display for ChildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.stage.name(), self.errno.desc())
    }
}

impl std::error::Error for ChildError {}

/// Strings for execve(2): NUL-terminated, with the NULL-terminated array of pointers that the kernel wants.
#[derive(Debug)]
pub struct CStrings {
    // Pointed into by `pointers`; never changed after construction. The heap buffers do not move with the struct.
    _strings: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl CStrings {
    /// Prepares the array.
    pub fn new(strings: Vec<CString>) -> Self {
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self { _strings: strings, pointers }
    }

    fn as_ptr(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

/// The user that the agent runs as, where that differs from ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User id.
    pub uid: libc::uid_t,
    /// Primary group.
    pub gid: libc::gid_t,
    /// All groups.
    pub groups: Vec<libc::gid_t>,
}

/// What to do when another seccomp listener already serves this process tree (EBUSY).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerNeed {
    /// Nothing else guards the session: do not start.
    Required,
    /// The syscall layer is proved: start without the exec layer and say so.
    Wanted,
}

/// The exec filter and where its listener goes.
#[derive(Debug)]
pub struct ExecTrap {
    /// The compiled filter (see [`super::notify`]).
    pub program: Vec<libc::sock_filter>,
    /// Our end of a socket pair; the parent receives the listener on the other.
    pub socket: OwnedFd,
    /// What happens without a listener.
    pub need: ListenerNeed,
}

/// Everything that the child needs, prepared before the fork.
#[derive(Debug)]
pub struct Recipe {
    /// The process group to join; `None`: stay in the parent's.
    pub group: Option<libc::pid_t>,
    /// no_new_privs: needed for what follows unless we hold CAP_SYS_ADMIN.
    pub no_new_privs: bool,
    /// The Landlock ruleset to enter.
    pub landlock: Option<OwnedFd>,
    /// The exec filter.
    pub trap: Option<ExecTrap>,
    /// The user to become.
    pub identity: Option<Identity>,
    /// The signal mask that the process which the user started had.
    pub mask: libc::sigset_t,
    /// The file to execute.
    pub path: CString,
    /// Its argv.
    pub argv: CStrings,
    /// `/bin/sh PATH ARG…`, for a file without a header that the kernel knows (ENOEXEC), as execvp(3) does.
    pub shell_argv: CStrings,
    /// The environment.
    pub envp: CStrings,
    /// Where a failure is written; closed by a successful exec.
    pub report: OwnedFd,
}

/// Exit status when the supervisor itself, not the agent, is at fault.
pub const OWN_FAILURE: i32 = 125;

/// Becomes the agent, or reports why not and exits. Runs in the child of a fork.
pub fn become_agent(recipe: &Recipe) -> ! {
    let error = match prepare(recipe) {
        Ok(()) => execute(recipe),
        Err(error) => error,
    };
    let wire = error.to_wire();
    // SAFETY: the pointer and the length describe `wire`; a failed write leaves the parent with the exit status alone.
    unsafe {
        libc::write(recipe.report.as_raw_fd(), wire.as_ptr().cast(), wire.len());
        libc::_exit(OWN_FAILURE)
    }
}

fn prepare(recipe: &Recipe) -> Result<(), ChildError> {
    if let Some(group) = recipe.group {
        // SAFETY: takes two numbers.
        check(Stage::ProcessGroup, unsafe { libc::setpgid(0, group) })?;
    }
    if recipe.no_new_privs {
        give_up_new_privileges()?;
    }
    if let Some(ruleset) = &recipe.landlock {
        restrict(ruleset.as_raw_fd())?;
    }
    // The filter traps execve only, and comes before the change of user because installing it may need CAP_SYS_ADMIN.
    if let Some(trap) = &recipe.trap {
        trap_execs(trap)?;
    }
    if let Some(identity) = &recipe.identity {
        assume(identity)?;
    }
    restore_signals(&recipe.mask)
}

/// From now on no set-uid program gains rights: prctl(2), PR_SET_NO_NEW_PRIVS.
pub(super) fn give_up_new_privileges() -> Result<(), ChildError> {
    // SAFETY: this prctl takes numbers only.
    check(Stage::NoNewPrivs, unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
}

/// Enters a Landlock domain: see landlock_restrict_self(2).
pub(super) fn restrict(ruleset: RawFd) -> Result<(), ChildError> {
    // SAFETY: takes a descriptor and flags.
    let status = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) };
    check(Stage::Landlock, status as libc::c_int)
}

fn trap_execs(trap: &ExecTrap) -> Result<(), ChildError> {
    match trap_and_send(&trap.program, &trap.socket) {
        Err(error) if error.errno == Errno::EBUSY && trap.need == ListenerNeed::Wanted => Ok(()),
        result => result,
    }
}

/// Installs the filter and hands its listener over, or the errno of a failure.
pub(super) fn trap_and_send(program: &[libc::sock_filter], socket: &OwnedFd) -> Result<(), ChildError> {
    match install(program) {
        Ok(listener) => {
            let sent = send(socket.as_raw_fd(), 0, Some(listener));
            // Ours must be closed before the exec: a listener that the trapped task itself keeps open would let it wait
            // for ever once the supervisor is gone.
            // SAFETY: `listener` was returned by seccomp(2) and is used nowhere else.
            unsafe { libc::close(listener) };
            sent
        }
        Err(error) => send(socket.as_raw_fd(), error.errno as i32, None).and(Err(error)),
    }
}

/// Installs the filter and returns its listener. WAIT_KILLABLE_RECV (5.19) keeps a signal that arrives while we judge
/// from turning the exec into EINTR or asking twice; older kernels do without.
fn install(program: &[libc::sock_filter]) -> Result<RawFd, ChildError> {
    let base = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    let killable = base | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let fprog =
        libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_ptr().cast_mut() };
    let mut errno = Errno::EINVAL;
    for flags in [killable, base] {
        // SAFETY: `fprog` describes `program`, which outlives the call; the kernel only reads it.
        let fd = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &fprog) };
        if fd >= 0 {
            return Ok(fd as RawFd);
        }
        errno = Errno::last();
        if errno != Errno::EINVAL {
            break;
        }
    }
    Err(ChildError { stage: Stage::Seccomp, errno })
}

/// Room for one control message that carries one descriptor, aligned as the kernel wants it.
#[repr(C)]
union Control {
    _align: libc::cmsghdr,
    bytes: [u8; 64],
}

/// Sends an errno, and the listener if there is one: unix(7), SCM_RIGHTS.
fn send(socket: RawFd, errno: i32, listener: Option<RawFd>) -> Result<(), ChildError> {
    let mut word = errno.to_ne_bytes();
    let mut iov = libc::iovec { iov_base: word.as_mut_ptr().cast(), iov_len: word.len() };
    let mut control = Control { bytes: [0; 64] };
    // SAFETY: all-zero is a valid msghdr; every pointer set below outlives sendmsg. `control` is aligned for cmsghdr
    // and larger than CMSG_SPACE of one descriptor, so the header and its data lie inside it.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut iov;
        message.msg_iovlen = 1;
        if let Some(fd) = listener {
            message.msg_control = (&raw mut control).cast();
            message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
            std::ptr::write_unaligned(libc::CMSG_DATA(header).cast::<RawFd>(), fd);
        }
        libc::sendmsg(socket, &message, libc::MSG_NOSIGNAL)
    };
    check(Stage::Listener, if sent < 0 { -1 } else { 0 })
}

fn assume(identity: &Identity) -> Result<(), ChildError> {
    // Groups first, user last: the order that keeps the right to do the next step.
    // SAFETY: the pointer and the length describe `groups`; the others take numbers.
    unsafe {
        check(Stage::Identity, libc::setgroups(identity.groups.len(), identity.groups.as_ptr()))?;
        check(Stage::Identity, libc::setresgid(identity.gid, identity.gid, identity.gid))?;
        check(Stage::Identity, libc::setresuid(identity.uid, identity.uid, identity.uid))
    }
}

/// Gives the agent the signal state that we were started with. SIGPIPE excepted: the runtime of this program ignores it
/// before main, so the default is restored.
fn restore_signals(mask: &libc::sigset_t) -> Result<(), ChildError> {
    // SAFETY: `mask` is a valid set; SIG_DFL is a valid disposition.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        check(Stage::Signals, libc::sigprocmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()))
    }
}

fn execute(recipe: &Recipe) -> ChildError {
    let sh = c"/bin/sh";
    // SAFETY: path, argv and envp are NUL- and NULL-terminated and outlive the call.
    let errno = unsafe {
        libc::execve(recipe.path.as_ptr(), recipe.argv.as_ptr(), recipe.envp.as_ptr());
        if Errno::last() == Errno::ENOEXEC {
            libc::execve(sh.as_ptr(), recipe.shell_argv.as_ptr(), recipe.envp.as_ptr());
        }
        Errno::last()
    };
    ChildError { stage: Stage::Exec, errno }
}

fn check(stage: Stage, status: libc::c_int) -> Result<(), ChildError> {
    if status == -1 { Err(ChildError { stage, errno: Errno::last() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_survives_the_pipe() {
        for stage in Stage::ALL {
            let error = ChildError { stage, errno: Errno::EACCES };
            assert_eq!(ChildError::from_wire(&error.to_wire()), Some(error));
        }
    }

    #[test]
    fn half_a_report_is_no_report() {
        assert_eq!(ChildError::from_wire(&[1, 0]), None);
        assert_eq!(ChildError::from_wire(&[99, 0, 0, 0, 0]), None);
    }
}
