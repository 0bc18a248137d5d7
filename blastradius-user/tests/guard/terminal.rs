//! A person's terminal: an interactive shell on a pseudo-terminal of its own.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::ground::Ground;

/// An interactive bash on a pseudo-terminal of its own.
pub(crate) struct Terminal {
    master: File,
    shell: Child,
    seen: String,
}

impl Terminal {
    pub(crate) fn open(ground: &Ground) -> Self {
        let pty = nix::pty::openpty(None, None).unwrap();
        // What the shell inherits, all its jobs do.
        for fd in [pty.master.as_raw_fd(), pty.slave.as_raw_fd()] {
            // SAFETY: sets a flag of our own descriptor.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        let mut command = ground.command("bash");
        command.args(["--norc", "--noprofile", "-i"]).env("PS1", "READY> ").env("TERM", "dumb");
        command.env("GUARDED", format!("{} run --no-undo --", env!("CARGO_BIN_EXE_blastradius")));
        command
            .stdin(pty.slave.try_clone().unwrap())
            .stdout(pty.slave.try_clone().unwrap())
            .stderr(pty.slave);
        // SAFETY: setsid and ioctl are async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let shell = command.spawn().unwrap();
        let master = File::from(pty.master);
        // SAFETY: sets a flag of our own descriptor.
        unsafe { libc::fcntl(master.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        let mut terminal = Self { master, shell, seen: String::new() };
        terminal.expect("READY> ");
        terminal
    }

    pub(crate) fn send(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the kernel reads one winsize.
        unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    }

    /// Waits for a text after what was expected before, and returns what stood before it.
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let start = Instant::now();
        loop {
            let mut buffer = [0; 4096];
            if let Ok(count) = self.master.read(&mut buffer) {
                self.seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
            if let Some(at) = self.seen.find(text) {
                let before = self.seen[..at].to_owned();
                self.seen.drain(..at + text.len());
                return before;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no {text:?} in {:?}", self.seen);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
