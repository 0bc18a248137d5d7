//! The command line: one file per subcommand. This file says what there is and hands over.

#[cfg(target_os = "linux")]
mod always;
#[cfg(target_os = "linux")]
mod approve;
#[cfg(target_os = "linux")]
mod attach;
mod batch;
mod check;
mod completions;
#[cfg(target_os = "linux")]
mod doctor;
mod exit;
mod explain;
mod hook;
mod init;
mod install;
#[cfg(target_os = "linux")]
mod log;
mod man;
mod mcp;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod run;
mod scope;
mod shell;
#[cfg(target_os = "linux")]
mod suggest;
mod trust;
#[cfg(target_os = "linux")]
mod undo;
#[cfg(target_os = "linux")]
mod why;
mod wrapper;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, Args as _, CommandFactory as _, FromArgMatches, Parser};

use install::Direction;

/// A guard between a coding agent and the machine's data.
#[derive(Debug, Parser)]
#[command(
    name = "blastradius",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(flatten)]
    wrapper: wrapper::Args,
}

/// One row.
struct Subcommand {
    name: &'static str,
    about: &'static str,
    /// Adds its arguments. The program is started for every command of an agent, so those of the other rows are not built.
    arguments: fn(clap::Command) -> clap::Command,
    /// Does what they say.
    main: fn(Given<'_>) -> Result<ExitCode, clap::Error>,
}

/// What was given to a subcommand.
struct Given<'a>(&'a mut ArgMatches);

impl Given<'_> {
    fn args<A: FromArgMatches>(self) -> Result<A, clap::Error> {
        A::from_arg_matches_mut(self.0)
    }
}

/// What there is, in the order of the help.
const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "check",
        about: "Judge a command without running it",
        arguments: check::Args::augment_args,
        main: |given| Ok(check::main(given.args()?)),
    },
    Subcommand {
        name: "explain",
        about: "Judge a command and show every step of the evaluation",
        arguments: explain::Args::augment_args,
        main: |given| Ok(explain::main(given.args()?)),
    },
    #[cfg(target_os = "linux")]
    Subcommand {
        name: "run",
        about: "Run an agent and everything that it starts under guard",
        arguments: run::Args::augment_args,
        main: |given| Ok(run::main(given.args()?)),
    },
    #[cfg(target_os = "linux")]
    Subcommand {
        name: "attach",
        about: "Put a tree of processes that runs already under the kernel rung",
        arguments: attach::Args::augment_args,
        main: |given| Ok(attach::main(given.args()?)),
    },
    #[cfg(target_os = "linux")]
    Subcommand {
        name: "approve",
        about: "Answer a question of a running session, from outside it",
        arguments: approve::Args::augment_args,
        main: |given| Ok(approve::main(given.args()?)),
    },
    #[cfg(target_os = "linux")]
    Subcommand {
        name: "doctor",
        about: "Prove what is enforced here, and say what to change to get more",
        arguments: doctor::Args::augment_args,
        main: |given| Ok(doctor::main(given.args()?)),
    },
    #[cfg(target_os = "linux")]
    Subcommand {
        name: "log",
        about: "Print the log of a session",
        arguments: log::Args::augment_args,
        main: |given| Ok(log::main(given.args()?)),
    },
    #[cfg(target_os = "linux")]
    Subcommand {
        name: "why",
        about: "Explain the last refusal",
        arguments: why::Args::augment_args,
        main: |given| Ok(why::main(given.args()?)),
    },
    #[cfg(target_os = "linux")]
    Subcommand {
        name: "undo",
        about: "Take back what was destroyed inside scope",
        arguments: undo::Args::augment_args,
        main: |given| Ok(undo::main(given.args()?)),
    },
    Subcommand {
        name: "hook",
        about: "Judge what an agent's hook hands over: one JSON document in, one out",
        arguments: hook::Args::augment_args,
        main: |given| Ok(hook::main(given.args()?)),
    },
    Subcommand {
        name: "install",
        about: "Put the hook into an agent's settings",
        arguments: install::Args::augment_args,
        main: |given| Ok(install::main(given.args()?, Direction::In)),
    },
    Subcommand {
        name: "uninstall",
        about: "Take the hook out of an agent's settings",
        arguments: install::Args::augment_args,
        main: |given| Ok(install::main(given.args()?, Direction::Out)),
    },
    Subcommand {
        name: "shell",
        about: "Be the shell of an agent: judge, then hand over to the real one",
        arguments: shell::Args::augment_args,
        main: |given| Ok(shell::main(given.args()?)),
    },
    Subcommand {
        name: "mcp",
        about: "Answer questions of an agent over MCP, on stdin and stdout",
        arguments: mcp::Args::augment_args,
        main: |given| Ok(mcp::main(given.args()?)),
    },
    Subcommand {
        name: "scope",
        about: "Print the policy in force, or the zone of paths",
        arguments: scope::Args::augment_args,
        main: |given| Ok(scope::main(given.args()?)),
    },
    #[cfg(target_os = "linux")]
    Subcommand {
        name: "suggest",
        about: "Print the policy lines that would have let a session pass",
        arguments: suggest::Args::augment_args,
        main: |given| Ok(suggest::main(given.args()?)),
    },
    Subcommand {
        name: "init",
        about: "Write a commented policy file to begin with",
        arguments: init::Args::augment_args,
        main: |given| Ok(init::main(given.args()?)),
    },
    Subcommand {
        name: "trust",
        about: "Approve the lines of this repository's policy file that reach beyond it",
        arguments: trust::Args::augment_args,
        main: |given| Ok(trust::main(given.args()?)),
    },
    Subcommand {
        name: "completions",
        about: "Print a completion script",
        arguments: completions::Args::augment_args,
        main: |given| Ok(completions::main(given.args()?)),
    },
    Subcommand {
        name: "man",
        about: "Print the manual page",
        arguments: man::Args::augment_args,
        main: |given| Ok(man::main(given.args()?)),
    },
];

/// The whole command line, the arguments of the subcommands in it as soon as they are needed.
fn command() -> clap::Command {
    let rows =
        SUBCOMMANDS.iter().map(|row| clap::Command::new(row.name).about(row.about).defer(row.arguments));
    Cli::command().subcommands(rows)
}

/// Reads the arguments of this process and does what they say.
pub fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_default();
    match std::path::Path::new(&name).file_name() {
        Some(shell) if shell::is_called(shell) => shell::stand_in(shell, args.collect()),
        _ => run(std::iter::once(name).chain(args)),
    }
}

fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let done = command()
        .try_get_matches_from(args)
        .and_then(|mut matches| dispatch(&mut matches).map_err(|error| error.format(&mut command())));
    done.unwrap_or_else(|error| exit::usage(&error))
}

fn dispatch(matches: &mut ArgMatches) -> Result<ExitCode, clap::Error> {
    let Some((name, mut given)) = matches.remove_subcommand() else {
        return Ok(wrapper::main(Given(matches).args()?));
    };
    match SUBCOMMANDS.iter().find(|row| row.name == name) {
        Some(row) => (row.main)(Given(&mut given)),
        None => Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subcommand_is_what_its_row_says_also_when_its_arguments_are_built() {
        let mut command = command();
        command.build();
        for row in SUBCOMMANDS {
            let built = command.find_subcommand(row.name).expect("built");
            assert_eq!(
                built.get_about().map(ToString::to_string).as_deref(),
                Some(row.about),
                "{}",
                row.name
            );
        }
        command.debug_assert();
    }
}
