//! Passes the command's output on to a serial port.

use std::{
    fs::File,
    io::{PipeReader, Read as _, Write as _},
    os::fd::AsFd as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow};
use nix::{
    poll::{PollFd, PollFlags, poll},
    sys::termios::tcdrain,
};

/// A thread that relays.
pub(crate) struct Relay {
    thread: JoinHandle<Result<()>>,
    ended: Arc<AtomicBool>,
}

/// How often to look whether the command has ended, in milliseconds.
const TICK: u16 = 20;

/// How long a process that the command left behind may go on writing.
const PATIENCE: Duration = Duration::from_secs(5);

impl Relay {
    /// Starts to relay.
    pub(crate) fn start(from: PipeReader, to: File) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        Self { thread: thread::spawn(move || relay(from, to, &seen)), ended }
    }

    /// Relays what was written before now, and stops.
    pub(crate) fn finish(self) -> Result<()> {
        self.ended.store(true, Ordering::Release);
        self.thread.join().map_err(|_| anyhow!("the relay of the command's output panicked"))?
    }
}

fn relay(mut from: PipeReader, mut to: File, ended: &AtomicBool) -> Result<()> {
    let mut buffer = [0; 4096];
    let mut ended_at: Option<Instant> = None;
    loop {
        if ended_at.is_none() && ended.load(Ordering::Acquire) {
            ended_at = Some(Instant::now());
        }
        let ready = poll(&mut [PollFd::new(from.as_fd(), PollFlags::POLLIN)], TICK)?;
        let over = ended_at.is_some_and(|at| ready == 0 || at.elapsed() > PATIENCE);
        if over {
            break;
        }
        if ready > 0 {
            let count = from.read(&mut buffer).context("cannot read the command's output")?;
            if count == 0 {
                break;
            }
            to.write_all(&buffer[..count]).context("cannot write to the output port")?;
        }
    }
    tcdrain(&to).context("cannot flush the output port")
}
