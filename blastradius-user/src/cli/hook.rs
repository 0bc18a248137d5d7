//! `blastradius hook [--agent NAME]`: one JSON document in, one out.

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use crate::hosts::answer::Answer;
use crate::hosts::document::SIZE_LIMIT;
use crate::hosts::hook::{self, DEADLINE};
use crate::hosts::machine::{self, Machine};

/// Deep nesting must end at a limit of the evaluation, and not at the end of the stack: a process that a signal kills
/// lets the command run in most hosts.
const STACK: usize = 64 << 20;

#[derive(Debug, clap::Args)]
#[command(override_usage = "blastradius hook [--agent NAME]")]
pub(super) struct Args {
    /// --agent NAME: the host, instead of telling it by the payload
    // Read by hand: clap's status for a usage error lets the command run in most hosts.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "--agent NAME")]
    words: Vec<String>,
}

pub(super) fn main(args: Args) -> ExitCode {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let name = match words.as_slice() {
        [] => None,
        ["--agent", name] => Some((*name).to_owned()),
        [word] if word.starts_with("--agent=") => word.strip_prefix("--agent=").map(str::to_owned),
        _ => {
            return end(&hook::failure(None, "The hook's arguments make no sense: expected [--agent NAME]."));
        }
    };
    end(&judged_in_time(name))
}

fn end(answer: &Answer) -> ExitCode {
    ExitCode::from(answer.write(std::io::stdout().lock(), std::io::stderr().lock()))
}

/// The answer, or a refusal if there is none at the deadline. The thread that is late dies with the process.
fn judged_in_time(name: Option<String>) -> Answer {
    share_the_heap();
    let (send, receive) = mpsc::channel();
    let of = name.clone();
    let thread = thread::Builder::new().stack_size(STACK).spawn(move || {
        // The other side is gone only when the process ends.
        let _ = send.send(judged(of.as_deref()));
    });
    let failed = |what: &str| hook::failure(name.as_deref(), what);
    match thread.map(|_| receive.recv_timeout(DEADLINE)) {
        Ok(Ok(answer)) => answer,
        Ok(Err(RecvTimeoutError::Timeout)) => {
            failed(&format!("It was not done after {} seconds.", DEADLINE.as_secs()))
        }
        Ok(Err(RecvTimeoutError::Disconnected)) => failed("The analyzer failed."),
        Err(error) => failed(&format!("The analyzer could not be started: {error}.")),
    }
}

/// Only one thread works. glibc would give it a heap of its own, which is new memory and grows by a system call a page.
fn share_the_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt(3) takes two numbers; there is no other thread yet. If it fails, only time is lost.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

fn judged(name: Option<&str>) -> Answer {
    let mut payload = Vec::new();
    let mut stdin = std::io::stdin().lock();
    let read = (&mut stdin).take(SIZE_LIMIT as u64 + 1).read_to_end(&mut payload).and_then(|_| {
        // The rest is read and dropped: a host may take a pipe that closes early for a crash of its own.
        std::io::copy(&mut stdin, &mut std::io::sink())
    });
    match read {
        Ok(_) => hook::answer(&payload, name, &machine::here(), &Machine),
        Err(error) => hook::failure(name, &format!("The payload could not be read: {error}.")),
    }
}
