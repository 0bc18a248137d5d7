//! How does the session look from outside?
//!
//! As if we were not there: the front process is in the job that the shell made, gets its signals, stops and continues
//! with the agent, and ends as the agent ended. It holds nothing that protection depends on.

use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::SigSet;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpgrp, setpgid};

use super::child::OWN_FAILURE;
use super::link::{Heard, Link, Message};
use super::signals::{self, SignalFd};
use super::tty;

/// What the guard is born with.
#[derive(Debug)]
pub struct Birth {
    /// Its end of the link.
    pub link: Link,
    /// The process group of the job, which the agent joins.
    pub group: Pid,
    /// The signal mask that we were started with, which the agent gets back.
    pub mask: SigSet,
}

/// Forks the guard, which runs `guard` and exits with its result, and stands in for the agent until it ends. Returns the
/// exit status; where the agent was killed, dies of the same signal.
///
/// Must be called while this process has one thread.
///
/// # Errors
/// fork(2), socketpair(2), signalfd(2): out of processes, descriptors or memory.
pub fn stand_in(guard: impl FnOnce(Birth) -> u8) -> Result<u8, Errno> {
    let mask = signals::block_all()?;
    let signals = SignalFd::new()?;
    let (ours, theirs) = Link::pair()?;
    let group = getpgrp();
    adopt_orphans();
    // SAFETY: one thread, so the child may go on with everything that this process has.
    match unsafe { fork() }? {
        ForkResult::Child => {
            drop((ours, signals));
            // Own group: what the terminal sends to the job is the job's affair. Fails for no fresh fork.
            let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
            let code = guard(Birth { link: theirs, group, mask });
            std::process::exit(i32::from(code))
        }
        ForkResult::Parent { child } => {
            drop(theirs);
            tty::leave_input_and_output();
            Ok(Front { guard: child, agent: None, link: ours, signals }.wait())
        }
    }
}

/// Becomes the parent of descendants whose own parent ends: prctl(2), PR_SET_CHILD_SUBREAPER. The nearest such ancestor
/// adopts, so in the front process it matters only once the guard is gone.
pub(super) fn adopt_orphans() {
    // SAFETY: this prctl takes numbers only, and has no way to fail on a kernel that has it (3.4).
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

struct Front {
    guard: Pid,
    agent: Option<Pid>,
    link: Link,
    signals: SignalFd,
}

impl Front {
    fn wait(mut self) -> u8 {
        loop {
            self.sleep();
            self.pass_signals_on();
            match self.link.hear() {
                Heard::Message(Message::Started(pid)) => self.agent = Some(Pid::from_raw(pid)),
                Heard::Message(Message::Stopped(_)) if tty::can_be_continued() => tty::stop_here(),
                Heard::Message(Message::Ended(status)) => return repeat(status),
                Heard::Message(Message::Failed(code)) => return code as u8,
                Heard::Message(_) | Heard::Nothing => {}
                Heard::Gone => return self.outlive_the_guard(),
            }
        }
    }

    fn sleep(&self) {
        let mut fds = [
            PollFd::new(self.link.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        // An interrupted or failed wait only means one more look.
        let _ = poll(&mut fds, PollTimeout::NONE);
    }

    fn pass_signals_on(&self) {
        while let Some(received) = self.signals.next() {
            if received.signal == libc::SIGCHLD {
                self.reap_strangers();
            } else if received.is_for_agent() {
                self.link.say(Message::Signal(received.signal));
            }
        }
    }

    /// The first process of a container inherits what others leave behind. The guard is left for
    /// [`Self::outlive_the_guard`], which is why its own end is looked at and not taken.
    fn reap_strangers(&self) {
        use nix::sys::wait::{Id, waitid};
        let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        while let Ok(status) = waitid(Id::All, peek) {
            match status.pid() {
                Some(pid) if pid != self.guard => drop(waitpid(pid, Some(WaitPidFlag::WNOHANG))),
                _ => break,
            }
        }
    }

    /// The guard has died, which nothing of ours does on purpose. What the session cannot lose it still has: the syscall
    /// layer is in the kernel, and without a listener no program can be started (seccomp answers ENOSYS). So the agent
    /// is waited for, and the status says that we failed.
    fn outlive_the_guard(&self) -> u8 {
        let status = waitpid(self.guard, None);
        eprintln!(
            "blastradius: the supervisor died ({}). The session stays guarded, and can start no more programs.",
            how_it_died(status)
        );
        if let Some(agent) = self.agent {
            self.wait_alone(agent);
        }
        OWN_FAILURE as u8
    }

    /// Waits for the agent, which has become our child, and passes signals on directly.
    fn wait_alone(&self, agent: Pid) {
        while matches!(waitpid(agent, Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::StillAlive)) {
            let mut fds = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            // SIGCHLD is among the signals, so the agent's end ends the wait.
            let _ = poll(&mut fds, PollTimeout::NONE);
            while let Some(received) = self.signals.next() {
                if received.is_for_agent() {
                    // SAFETY: takes numbers; the agent has not been reaped.
                    unsafe { libc::kill(agent.as_raw(), received.signal) };
                }
            }
        }
    }
}

fn how_it_died(status: Result<WaitStatus, Errno>) -> String {
    match status {
        Ok(WaitStatus::Exited(_, code)) => format!("exit status {code}"),
        Ok(WaitStatus::Signaled(_, signal, _)) => signal.to_string(),
        _ => "unknown cause".to_owned(),
    }
}

/// Ends as the agent ended.
fn repeat(status: i32) -> u8 {
    if libc::WIFSIGNALED(status) {
        signals::die_of(libc::WTERMSIG(status))
    } else {
        libc::WEXITSTATUS(status) as u8
    }
}
