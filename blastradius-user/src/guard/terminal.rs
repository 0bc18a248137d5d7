//! Can a person be asked at our terminal, and what does he say?
//!
//! Only where the answer must be a person's: no task of the session has the terminal open, so none reads or writes there,
//! and none can put keys into it either (the exec filter refuses TIOCSTI). An agent that works on this terminal is never
//! disturbed by a question: it is told how to be approved from elsewhere.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{self, FlushArg, LocalFlags, SetArg};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};

/// What a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// Yes.
    Yes,
    /// No, or something that is not yes.
    No,
    /// Ctrl-C, or the terminal went away.
    Aborted,
    /// Nothing in time.
    Nothing,
}

impl Spoken {
    /// For the refusal.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Yes => "a person said yes",
            Self::No => "a person was asked and said no",
            Self::Aborted => "a person was asked and broke the question off",
            Self::Nothing => "a person was asked and did not answer in time",
        }
    }
}

/// The terminal that this session was started from, with nothing of the session on it.
#[derive(Debug)]
pub struct Terminal {
    /// The job: it is in the foreground when nobody is asked.
    job: Pid,
    patience: Duration,
}

impl Terminal {
    /// For a session whose job has this process group; a question waits for `patience`.
    pub const fn new(job: Pid, patience: Duration) -> Self {
        Self { job, patience }
    }

    /// Asks. `None`: there is no terminal, the session uses it, or the job is not in its foreground.
    pub fn ask(&self, text: &str) -> Option<Spoken> {
        let file = open()?;
        let mut terminal = &file;
        if tcgetpgrp(terminal).ok()? != self.job || is_used_by_the_session(terminal) {
            return None;
        }
        let quiet = Quiet::on(&file, self.job)?;
        let seconds = self.patience.as_secs();
        // In raw output modes of others a line feed alone would not return the carriage; here it does, by OPOST.
        let asked = write!(terminal, "\n{text}  allow this once? [y/N] ({seconds} s) ");
        let said = match asked {
            Ok(()) => listen(&file, self.patience),
            Err(_) => Spoken::Aborted,
        };
        let spoilt = said == Spoken::Yes && is_used_by_the_session(&file);
        let said = if spoilt { Spoken::Aborted } else { said };
        let _ = writeln!(
            terminal,
            "{}",
            match said {
                Spoken::Yes => "yes",
                Spoken::No => "no",
                Spoken::Aborted => "aborted",
                Spoken::Nothing => "no answer: refused",
            }
        );
        drop(quiet);
        Some(said)
    }
}

/// Our controlling terminal, if we have one.
fn open() -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = libc::O_NOCTTY | libc::O_CLOEXEC;
    std::fs::OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty").ok()
}

/// The terminal in our hands: in the foreground, key by key, without echo and signals. Given back when dropped.
struct Quiet<'a> {
    terminal: &'a File,
    before: termios::Termios,
    job: Pid,
}

impl<'a> Quiet<'a> {
    fn on(terminal: &'a File, job: Pid) -> Option<Quiet<'a>> {
        let before = termios::tcgetattr(terminal).ok()?;
        // SIGTTOU is blocked in this process (see `signals`), so a background group may do this.
        tcsetpgrp(terminal, getpgrp()).ok()?;
        let quiet = Self { terminal, before: before.clone(), job };
        let mut modes = before;
        modes.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG);
        // What was typed before the question is no answer to it.
        termios::tcsetattr(terminal, SetArg::TCSAFLUSH, &modes).ok()?;
        Some(quiet)
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        // The rest of what was typed ("es", Enter) is for nobody.
        let _ = termios::tcflush(self.terminal, FlushArg::TCIFLUSH);
        let _ = termios::tcsetattr(self.terminal, SetArg::TCSANOW, &self.before);
        let _ = tcsetpgrp(self.terminal, self.job);
    }
}

/// The first key, or none.
fn listen(mut terminal: &File, patience: Duration) -> Spoken {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const CTRL_BACKSLASH: u8 = 28;
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Spoken::Nothing;
        }
        let mut fds = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => continue,
            Ok(_) => {}
            Err(_) => return Spoken::Aborted,
        }
        let mut key = [0];
        return match terminal.read(&mut key) {
            Ok(1) => match key[0] {
                b'y' | b'Y' => Spoken::Yes,
                CTRL_C | CTRL_D | CTRL_BACKSLASH => Spoken::Aborted,
                _ => Spoken::No,
            },
            _ => Spoken::Aborted,
        };
    }
}

/// Whether a descendant of this process has the terminal open, under whatever name.
fn is_used_by_the_session(terminal: &File) -> bool {
    let Some(device) = device_of(terminal) else { return true };
    descendants().into_iter().any(|process| has_open(process, device))
}

/// The device behind /dev/tty: TIOCGDEV (tty_ioctl(2)), since 2.6.38.
fn device_of(terminal: &File) -> Option<u64> {
    const TIOCGDEV: libc::c_ulong = 0x8004_5432;
    let mut device: libc::c_uint = 0;
    // SAFETY: the kernel writes one unsigned int.
    let status = unsafe { libc::ioctl(terminal.as_raw_fd(), TIOCGDEV as _, &raw mut device) };
    (status == 0).then_some(u64::from(device))
}

/// `/dev/tty` itself: whoever opened it has his own controlling terminal, which is ours if it has one at all.
const OWN_TERMINAL: u64 = 5 << 8;

fn has_open(process: libc::pid_t, device: u64) -> bool {
    let Ok(fds) = std::fs::read_dir(format!("/proc/{process}/fd")) else {
        // It has ended meanwhile, or hides: one that hides may hide a terminal.
        return std::path::Path::new(&format!("/proc/{process}/fd")).exists();
    };
    let is_the_terminal = |fd: std::fs::DirEntry| {
        // Terminals are the only character devices whose numbers matter here; a stat through the link asks no driver.
        let meta = std::fs::metadata(fd.path()).ok();
        meta.is_some_and(|meta| {
            let character = meta.mode() & libc::S_IFMT == libc::S_IFCHR;
            character && (meta.rdev() == device || meta.rdev() == OWN_TERMINAL)
        })
    };
    fds.flatten().any(is_the_terminal)
}

/// Every process below this one. Orphans of the session are ours too: we adopt them.
fn descendants() -> Vec<libc::pid_t> {
    let mut children: HashMap<libc::pid_t, Vec<libc::pid_t>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(pid) = pid
            && let Some(parent) = super::caller::parent_of(pid)
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![std::process::id() as libc::pid_t];
    while let Some(pid) = next.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        found.extend(&below);
        next.extend(below);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_a_descendant_and_what_it_has_open_is_seen() {
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .stdin(File::open("/dev/null").expect("there"))
            .spawn()
            .expect("started");
        let pid = child.id() as libc::pid_t;
        let null = std::fs::metadata("/dev/null").expect("there").rdev();
        assert!(descendants().contains(&pid));
        assert!(has_open(pid, null));
        assert!(!has_open(pid, null + 1));
        child.kill().expect("ours");
        child.wait().expect("ours");
    }
}
