//! Job control: a shell on a terminal starts the session, and does not notice.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::ground::Ground;

/// An interactive bash on a pseudo-terminal of its own.
struct Terminal {
    master: File,
    shell: Child,
    seen: String,
}

impl Terminal {
    fn open(ground: &Ground) -> Self {
        let pty = nix::pty::openpty(None, None).unwrap();
        let mut command = ground.command("bash");
        command.args(["--norc", "--noprofile", "-i"]).env("PS1", "READY> ").env("TERM", "dumb");
        command.env("GUARDED", format!("{} run --", env!("CARGO_BIN_EXE_blastradius")));
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

    fn send(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for a text after what was expected before.
    fn expect(&mut self, text: &str) {
        let start = Instant::now();
        loop {
            let mut buffer = [0; 4096];
            if let Ok(count) = self.master.read(&mut buffer) {
                self.seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return;
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

/// Lets the shell get from its echo into what follows. A key in between meets dash while it forks: a vfork that is stopped
/// before its exec holds up its parent, and a Ctrl-C is remembered and not acted on, with us or without.
fn settle() {
    std::thread::sleep(Duration::from_millis(500));
}

#[test]
fn ctrl_c_ends_the_agent_and_the_shell_sees_it() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED sh -c 'echo up''and; sleep 30'\n");
    terminal.expect("upand");
    settle();
    terminal.send("\x03");
    terminal.expect("READY> ");
    terminal.send("echo status=$?\n");
    terminal.expect("status=130");
}

#[test]
fn ctrl_z_stops_the_session_and_fg_continues_it() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED sh -c 'echo up''and; read x; echo got=$x; exit 4'\n");
    terminal.expect("upand");
    settle();
    terminal.send("\x1a");
    terminal.expect("Stopped");
    terminal.expect("READY> ");
    terminal.send("fg\n");
    terminal.expect("GUARDED");
    terminal.send("hello\n");
    terminal.expect("got=hello");
    terminal.expect("READY> ");
    terminal.send("echo status=$?\n");
    terminal.expect("status=4");
}

#[test]
fn a_pipeline_around_the_session_has_the_terminal() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED sh -c 'echo one; read x < /dev/tty; echo $x' | sed s/^/out:/\n");
    terminal.expect("blastradius");
    terminal.send("two\n");
    terminal.expect("out:one");
    terminal.expect("out:two");
}

#[test]
fn a_shell_in_the_session_has_job_control_of_its_own() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("PS1='INN''ER> ' $GUARDED bash --norc --noprofile -i\n");
    terminal.expect("INNER> ");
    terminal.send("sh -c 'echo at''work; sleep 30'\n");
    terminal.expect("atwork");
    settle();
    terminal.send("\x1a");
    terminal.expect("Stopped");
    terminal.send("kill %1; rm ~/photos/a.jpg; exit 6\n");
    terminal.expect("READY> ");
    terminal.send("echo status=$?\n");
    terminal.expect("status=6");
    ground.assert_whole();
}

#[test]
fn a_session_in_the_background_reads_the_terminal_only_in_the_foreground() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED sh -c 'read x; echo got=$x' &\n");
    terminal.expect("READY> ");
    terminal.send("until jobs | grep Stopped; do sleep 0.1; done\n");
    terminal.expect("Stopped  ");
    terminal.send("fg\n");
    terminal.expect("GUARDED");
    terminal.send("late\n");
    terminal.expect("got=late");
}

#[test]
fn the_window_size_is_the_terminals_own() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("stty rows 33 cols 77; $GUARDED stty size\n");
    terminal.expect("33 77");
}
