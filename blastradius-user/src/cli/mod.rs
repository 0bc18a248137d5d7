//! The command line: one file per subcommand. This file says what there is and hands over.

mod batch;
mod check;
mod completions;
mod exit;
mod explain;
mod man;
#[cfg(target_os = "linux")]
mod run;
mod wrapper;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A guard between a coding agent and the machine's data.
#[derive(Debug, Parser)]
#[command(
    name = "blastradius",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    wrapper: wrapper::Args,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge a command without running it
    Check(check::Args),
    /// Judge a command and show every step of the evaluation
    Explain(explain::Args),
    /// Run an agent and everything that it starts under guard
    #[cfg(target_os = "linux")]
    Run(run::Args),
    /// Print a completion script
    Completions(completions::Args),
    /// Print the manual page
    Man(man::Args),
}

/// Reads the arguments of this process and does what they say.
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    match cli.command {
        Some(Command::Check(args)) => check::main(args),
        Some(Command::Explain(args)) => explain::main(args),
        #[cfg(target_os = "linux")]
        Some(Command::Run(args)) => run::main(args),
        Some(Command::Completions(args)) => completions::main(args),
        Some(Command::Man(args)) => man::main(args),
        None => wrapper::main(cli.wrapper),
    }
}
