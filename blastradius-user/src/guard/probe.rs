//! Can execs be trapped here?
//!
//! Installing a filter is no proof: a container's security module may let it be installed and refuse to hand out what it
//! traps, and then every exec of the session would hang. So a child traps its own exec, and is answered.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::unistd::ForkResult;

use super::child::{self, ChildError};
use super::notify::{self, Handover, NotifyError, Silence};

/// Why they cannot.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Sockets, processes.
    #[error("probing the exec layer: {0}")]
    System(#[from] io::Error),
    /// The handing over failed.
    #[error(transparent)]
    Notify(#[from] NotifyError),
    /// The filter could not be installed.
    #[error("{}", words(.0))]
    Install(Errno),
    /// What is trapped is not handed out.
    #[error(
        "what is trapped cannot be received: {0}; a security module of this container (AppArmor, SELinux) may forbid it"
    )]
    Receive(Errno),
    /// The exec was not refused although we refused it.
    #[error("an exec that was refused went on")]
    NotRefused,
}

fn words(errno: &Errno) -> String {
    match errno {
        Errno::EBUSY => "another program already listens to the execs of this process tree".to_owned(),
        Errno::EPERM | Errno::EACCES => "installing a seccomp filter is forbidden here".to_owned(),
        Errno::EINVAL => "this kernel has no seccomp notification (it came with Linux 5.0)".to_owned(),
        errno => errno.desc().to_owned(),
    }
}

/// Traps one exec of a child and refuses it. Must be called while this process has one thread.
///
/// # Errors
/// See [`ProbeError`].
pub fn listen(program: &[libc::sock_filter]) -> Result<(), ProbeError> {
    let (ours, theirs) = nix::sys::socket::socketpair(
        nix::sys::socket::AddressFamily::Unix,
        nix::sys::socket::SockType::SeqPacket,
        None,
        nix::sys::socket::SockFlag::SOCK_CLOEXEC,
    )
    .map_err(io::Error::from)?;
    // SAFETY: one thread; the child allocates nothing and ends by _exit.
    match unsafe { nix::unistd::fork() }.map_err(io::Error::from)? {
        ForkResult::Child => be_trapped(program, &theirs),
        ForkResult::Parent { child } => {
            drop(theirs);
            let answered = answer(&ours);
            if answered.is_err() {
                // It may wait for an answer that nobody can give.
                let _ = nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL);
            }
            let ended = nix::sys::wait::waitpid(child, None).map_err(io::Error::from)?;
            answered?;
            match ended {
                nix::sys::wait::WaitStatus::Exited(_, REFUSED) => Ok(()),
                _ => Err(ProbeError::NotRefused),
            }
        }
    }
}

/// How the child says that its exec failed with EACCES.
const REFUSED: i32 = 77;

fn be_trapped(program: &[libc::sock_filter], socket: &OwnedFd) -> ! {
    let trapped = child::give_up_new_privileges().and_then(|()| child::trap_and_send(program, socket));
    let code = match trapped {
        Err(ChildError { .. }) => 1,
        Ok(()) => {
            let null = std::ptr::null();
            // SAFETY: the path is NUL-terminated; NULL arrays are empty ones for the kernel.
            unsafe { libc::execve(c"/proc/self/exe".as_ptr(), null, null) };
            if Errno::last() == Errno::EACCES { REFUSED } else { 1 }
        }
    };
    // SAFETY: leaves without running what belongs to the parent.
    unsafe { libc::_exit(code) }
}

fn answer(socket: &OwnedFd) -> Result<(), ProbeError> {
    let listener = match notify::receive_listener(socket)? {
        Handover::Listener(listener) => listener,
        Handover::Without(errno) => return Err(ProbeError::Install(errno)),
        Handover::Ended => return Err(ProbeError::Install(Errno::EPERM)),
    };
    loop {
        if !listener.has_something_within(Duration::from_secs(5)) {
            return Err(ProbeError::Receive(Errno::ETIMEDOUT));
        }
        match listener.receive() {
            Ok(trapped) => {
                listener.fail(&trapped, Errno::EACCES);
                return Ok(());
            }
            Err(Silence::Again) => {}
            Err(Silence::Over) => return Err(ProbeError::Receive(Errno::EPIPE)),
            Err(Silence::Broken(errno)) => return Err(ProbeError::Receive(errno)),
        }
    }
}
