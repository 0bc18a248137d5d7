//! Exit codes, in one place. The numbers are part of the interface.

use std::process::ExitCode;

use blastradius_common::Verdict;

/// sysexits(3), EX_USAGE: the arguments make no sense.
pub(super) const USAGE: u8 = 64;
/// sysexits(3), EX_DATAERR: an input has not the form that is documented.
pub(super) const DATA: u8 = 65;
/// env(1), nohup(1): the guard's own failure, or its refusal to start.
pub(super) const OWN_FAILURE: u8 = 125;
/// POSIX shell, exit status: the command was found and not executed. The wrapper's refusal.
pub(super) const NOT_EXECUTED: u8 = 126;
/// POSIX shell, exit status: the command was not found.
pub(super) const NOT_FOUND: u8 = 127;

/// `check`: 0 allow and warn, 1 deny, 2 confirm.
pub(super) fn of_verdict(verdict: Verdict) -> ExitCode {
    match verdict {
        Verdict::Allow | Verdict::Warn => ExitCode::SUCCESS,
        Verdict::Deny => ExitCode::from(1),
        Verdict::Confirm => ExitCode::from(2),
    }
}

/// Says what clap has to say: help and version on stdout with 0, errors on stderr with [`USAGE`].
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    // Nothing can be done about a closed stream.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
}

/// Says what went wrong, with its causes, and gives the exit code back.
pub(super) fn failure(error: &anyhow::Error, code: u8) -> ExitCode {
    anstream::eprintln!("blastradius: {error:#}");
    ExitCode::from(code)
}
