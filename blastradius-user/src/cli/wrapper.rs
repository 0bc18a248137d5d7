//! `blastradius [--ask] -- CMD [ARG…]`: judge, then execute.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use blastradius_common::Verdict;

use super::exit;
use crate::analysis::{self, Report, Subject};
use crate::policy::Policy;
use crate::policy::effect::Located;
use crate::policy::mode::{Asker, Mode, Surface};
use crate::programs::Dialect;
use crate::report::human;
use crate::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Ask on the terminal what would otherwise be refused
    #[arg(long)]
    ask: bool,
    /// The command to judge and then execute
    #[arg(last = true, value_name = "CMD")]
    argv: Vec<OsString>,
}

pub(super) fn main(args: Args) -> ExitCode {
    if args.argv.is_empty() {
        // Without a command there is nothing to judge: say what there is.
        let help = super::command().render_help();
        anstream::eprintln!("{}", help.ansi());
        return ExitCode::from(exit::USAGE);
    }
    match judge(&args) {
        Ok(true) => execute(&args.argv),
        Ok(false) => ExitCode::from(exit::NOT_EXECUTED),
        Err(error) => exit::failure(&error, exit::NOT_EXECUTED),
    }
}

/// Whether the command may run. Says why not.
fn judge(args: &Args) -> Result<bool> {
    let system = System::current().context("the working directory cannot be read")?;
    let policy = system.policy();
    let asks = args.ask && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let mode = if asks { Mode::Interactive } else { Mode::Unattended };
    let asker = Asker { mode, surface: Surface::Wrapper };
    let (report, effects) = analysis::analyze_with_effects(&subject(&args.argv), &system, &policy, asker);
    let report = kept(report, &effects, &system, policy, mode);
    if report.verdict != Verdict::Allow {
        anstream::eprint!("{}", human::render(&report));
    }
    Ok(match report.verdict {
        Verdict::Allow | Verdict::Warn => true,
        Verdict::Confirm => asks && ask()?,
        Verdict::Deny => false,
    })
}

/// Keeps what the command would destroy, and says so.
#[cfg(target_os = "linux")]
fn kept(report: Report, effects: &[Located], system: &System, policy: Policy, mode: Mode) -> Report {
    /// A person waits.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(8);
    let policy = std::sync::Arc::new(policy);
    let (report, line) =
        crate::undo::session::once("wrapper", report, effects, system, policy, mode, PATIENCE);
    if let Some(line) = line.filter(|_| report.verdict < Verdict::Confirm) {
        anstream::eprintln!("blastradius: {line}");
    }
    report
}

/// Keeping is for Linux.
#[cfg(not(target_os = "linux"))]
fn kept(report: Report, _: &[Located], _: &System, _: Policy, _: Mode) -> Report {
    report
}

/// One argument that holds shell syntax is shell text; anything else is an exact argv, which no shell will expand.
fn subject(argv: &[OsString]) -> Subject {
    match shell_text(argv) {
        Some(text) => Subject::Text { text: text.as_bytes().to_vec(), dialect: Dialect::Posix },
        None => Subject::Exec { path: None, argv: argv.to_vec() },
    }
}

fn shell_text(argv: &[OsString]) -> Option<&OsStr> {
    const SYNTAX: &[u8] = b" \t\n;&|<>()$`\\\"'*?[]{}#~=!";
    let [text] = argv else { return None };
    text.as_bytes().iter().any(|byte| SYNTAX.contains(byte)).then_some(text)
}

/// Asks on the terminal. Anything but a plain yes, the end of input included, is a no.
fn ask() -> Result<bool> {
    anstream::eprint!("run it? [y/N] ");
    std::io::stderr().flush().context("stderr")?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("stdin")?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Becomes the command. Comes back only if it cannot.
fn execute(argv: &[OsString]) -> ExitCode {
    let mut command = match shell_text(argv) {
        Some(text) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").arg(text);
            shell
        }
        None => {
            let mut command = Command::new(&argv[0]);
            command.args(&argv[1..]);
            command
        }
    };
    let error = command.exec();
    anstream::eprintln!("blastradius: {}: {error}", argv[0].display());
    let found = error.kind() != std::io::ErrorKind::NotFound;
    ExitCode::from(if found { exit::NOT_EXECUTED } else { exit::NOT_FOUND })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn one_argument_with_syntax_is_text_and_all_else_is_argv() {
        assert!(shell_text(&argv(&["rm -rf x && ls"])).is_some());
        assert!(shell_text(&argv(&["ls"])).is_none());
        assert!(shell_text(&argv(&["rm", "a b", "$X"])).is_none());
    }
}
