//! May this process stop itself and be woken again?
//!
//! The session shares the terminal: no pseudo-terminal of our own, so window size, modes and colours are the agent's
//! affair. What is left is job control: when the agent stops, the front process stops too, so that the shell that
//! started it gets its prompt back.

use nix::unistd::{Pid, getpgrp, getpid, getppid, getsid};

/// Whether a shell that could continue us is there: our parent is in our session and in another process group. Without
/// one (a session leader, CI, a container's first process) stopping would mean never to wake up.
pub fn can_be_continued() -> bool {
    let parent = getppid();
    let same_session =
        matches!((getsid(Some(parent)), getsid(None)), (Ok(theirs), Ok(ours)) if theirs == ours);
    let other_group = nix::unistd::getpgid(Some(parent)).is_ok_and(|group| group != getpgrp());
    getpid() != Pid::from_raw(1) && same_session && other_group
}

/// Stops this process until someone continues it.
pub fn stop_here() {
    // SIGSTOP and not the agent's SIGTSTP: it cannot be blocked, and the kernel does not discard it for an orphaned
    // process group. A failure leaves us running, which is what we would do anyway.
    let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGSTOP);
}

/// Gives up standard input and output: from now on they are the agent's alone, and a reader of its output sees the end
/// when the agent closes it.
pub fn leave_input_and_output() {
    redirect_to_null(&[libc::STDIN_FILENO, libc::STDOUT_FILENO]);
}

/// Gives up the standard streams altogether, for a guard that outlives its agent.
pub fn leave_all_streams() {
    redirect_to_null(&[libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO]);
}

fn redirect_to_null(streams: &[libc::c_int]) {
    use std::os::fd::AsRawFd;
    let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") else {
        // Without /dev/null the streams stay as they are: a reader may see the end later, nothing worse.
        return;
    };
    for &stream in streams {
        // SAFETY: both descriptors are open; nothing in this process owns the standard streams as OwnedFd.
        unsafe { libc::dup2(null.as_raw_fd(), stream) };
    }
}
