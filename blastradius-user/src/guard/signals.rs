//! Which signals are passed on, and how is a death repeated?

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};

/// Signals that mean a fault of the process that gets them. They are never blocked.
const FAULTS: [Signal; 7] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGILL,
    Signal::SIGFPE,
    Signal::SIGABRT,
    Signal::SIGTRAP,
    Signal::SIGSYS,
];

/// Signals that the front process answers itself, or that were meant for it alone.
const NOT_PASSED_ON: [Signal; 3] = [Signal::SIGCHLD, Signal::SIGTTIN, Signal::SIGTTOU];

/// Blocks everything that can be blocked but faults, and returns the mask that was in force: the agent gets it back.
///
/// # Errors
/// sigprocmask(2), which does not fail for valid arguments.
pub fn block_all() -> Result<SigSet, Errno> {
    let mut blocked = SigSet::all();
    for fault in FAULTS {
        blocked.remove(fault);
    }
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&blocked), Some(&mut before))?;
    Ok(before)
}

/// One signal as signalfd(2) tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its number; may be a real-time signal.
    pub signal: i32,
    /// It came from the kernel (a terminal's Ctrl-C): every process of the foreground group has got its own.
    pub from_kernel: bool,
    /// The sender's pid, 0 where there is none.
    pub sender: libc::pid_t,
}

impl Received {
    /// Whether the agent must be told: it has not got the signal by itself, and it is not one that concerns us alone.
    pub fn is_for_agent(&self) -> bool {
        let own = NOT_PASSED_ON.iter().any(|&signal| signal as i32 == self.signal);
        !own && !self.from_kernel
    }
}

/// Blocked signals as a readable descriptor.
#[derive(Debug)]
pub struct SignalFd(OwnedFd);

impl SignalFd {
    /// Watches every signal that [`block_all`] blocks. Non-blocking, closed on exec.
    ///
    /// # Errors
    /// signalfd(2): out of descriptors or memory.
    pub fn new() -> Result<Self, Errno> {
        let mut set = SigSet::all();
        for fault in FAULTS {
            set.remove(fault);
        }
        // SAFETY: `set` is a valid set; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, set.as_ref(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        let fd = Errno::result(fd)?;
        // SAFETY: signalfd returned it, so it is open and ours.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next pending signal, `None` if there is none.
    pub fn next(&self) -> Option<Received> {
        // SAFETY: all-zero is a valid signalfd_siginfo, and the kernel writes at most its size.
        let (info, read) = unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let read = libc::read(self.0.as_raw_fd(), (&raw mut info).cast(), size);
            (info, usize::try_from(read) == Ok(size))
        };
        read.then_some(Received {
            signal: info.ssi_signo as i32,
            from_kernel: info.ssi_code > 0,
            sender: info.ssi_pid as libc::pid_t,
        })
    }
}

impl AsRawFd for SignalFd {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }
}

impl std::os::fd::AsFd for SignalFd {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Dies of the signal that killed the agent, so that whoever waits for us sees what it would have seen without us. Where
/// that is not possible (the first process of a pid namespace, a signal that does not kill), returns the shell's
/// `128 + signal`.
pub fn die_of(signal: i32) -> u8 {
    // No second core file: the agent's own is the one that tells something.
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `none` is a valid limit; lowering is always allowed.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
    // By number, because real-time signals have no name.
    // SAFETY: SIG_DFL runs no code of ours; `set` is initialised before it is used. SIGKILL refuses a disposition and
    // needs none.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
    }
    128u8.saturating_add(signal as u8)
}
