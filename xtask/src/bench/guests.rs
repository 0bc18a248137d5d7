//! What the kernel rung costs, in a guest.

use anyhow::{Context as _, Result, bail};

use super::Measured;
use crate::{
    proc, program,
    test::{actions::GUEST_BINARY, steps::KERNEL_TESTS},
    vm,
};

/// What a guest's time is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Instructions executed (-icount), so that one run is like another.
    Instructions,
    /// That of this machine, which emulates the guest and does other things: no ordering can be read off.
    Wall,
}

/// Runs `kernel-tests cost WORDS`, which prints its ratios.
pub(crate) fn measure(words: &[&str], clock: Clock) -> Result<Measured> {
    let tests = program::beside(KERNEL_TESTS)?;
    let git = proc::which("git").context("git is missing: one of the benches clones with it")?;
    let mut request = vm::Request {
        icount: clock == Clock::Instructions,
        cpus: 1,
        timeout: 3600,
        copy: vec![
            format!("{}:{GUEST_BINARY}", program::build()?.display()),
            format!("{}:/usr/bin/git", git.display()),
        ],
        ..vm::Request::new("6.12", vec![tests.into_os_string(), "cost".into()])
    };
    request.command.extend(words.iter().map(Into::into));
    if clock == Clock::Wall {
        println!("by the clock:");
    }
    match vm::run(&request)? {
        0 => Ok(Measured::Printed),
        code => bail!("the guest ended with exit {code}"),
    }
}
