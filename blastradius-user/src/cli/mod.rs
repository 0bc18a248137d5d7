//! The command line: one file per subcommand. This file says what there is and hands over.

#[cfg(target_os = "linux")]
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A guard between a coding agent and the machine's data.
#[derive(Debug, Parser)]
#[command(name = "blastradius", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an agent and everything that it starts under guard
    #[cfg(target_os = "linux")]
    Run(run::Args),
}

/// Reads the arguments of this process and does what they say.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        #[cfg(target_os = "linux")]
        Command::Run(args) => run::main(args),
    }
}
