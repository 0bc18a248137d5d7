//! Asking another program, which may hang or print without end.

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// More output than this is not read.
pub(super) const OUTPUT_LIMIT: usize = 4 << 20;

/// What a program said.
pub(super) struct Answer {
    /// How it ended: of one that was cut off, by our signal.
    pub(super) ended: ExitStatus,
    /// What it printed, up to [`OUTPUT_LIMIT`].
    pub(super) output: Vec<u8>,
}

/// What a command prints and how it ends. It is gone when this returns.
///
/// # Errors
/// If it cannot be started, or is not done in time ([`io::ErrorKind::TimedOut`]).
pub(super) fn ask(command: &mut Command, deadline: Duration) -> io::Result<Answer> {
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let read = read_until(&mut child, Instant::now() + deadline);
    if read.as_ref().map_or(true, |output| output.len() == OUTPUT_LIMIT) {
        // It hangs, or prints on and on. Its end is waited for in any case.
        let _ = child.kill();
    }
    let ended = child.wait();
    Ok(Answer { output: read?, ended: ended? })
}

/// What the child prints until it closes its output.
fn read_until(child: &mut Child, end: Instant) -> io::Result<Vec<u8>> {
    let mut output = Vec::new();
    let Some(mut stdout) = child.stdout.take() else { return Ok(output) };
    while output.len() < OUTPUT_LIMIT {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        let mut ready = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, timeout) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Err(nix::errno::Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let mut chunk = [0; 1 << 14];
        match stdout.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => output.extend_from_slice(&chunk[..length.min(OUTPUT_LIMIT - output.len())]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_an_error_and_one_that_prints_without_end_is_cut_off() {
        let sh = |text: &str, patience: u64| {
            let began = Instant::now();
            let said = ask(Command::new("/bin/sh").args(["-c", text]), Duration::from_millis(patience));
            assert!(began.elapsed() < Duration::from_secs(20), "{text}");
            said.map(|Answer { ended, output }| (ended.code(), output))
        };
        assert_eq!(sh("printf abc", 60_000).expect("done"), (Some(0), b"abc".to_vec()));
        assert_eq!(sh("printf abc; exit 3", 60_000).expect("done"), (Some(3), b"abc".to_vec()));
        assert_eq!(sh("printf abc; exec sleep 60", 300).expect_err("late").kind(), io::ErrorKind::TimedOut);
        let (code, output) = sh("exec yes", 60_000).expect("cut off");
        assert_eq!((code, output.len()), (None, OUTPUT_LIMIT));
        let missing = ask(&mut Command::new("/nonexistent/program"), Duration::ZERO);
        assert_eq!(missing.err().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
    }
}
