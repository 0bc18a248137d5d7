//! The command line: one file per subcommand. This file says what there is and hands over.

#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod log;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod why;

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
    /// Prove what is enforced here, and say what to change to get more
    #[cfg(target_os = "linux")]
    Doctor(doctor::Args),
    /// Print the log of a session
    #[cfg(target_os = "linux")]
    Log(log::Args),
    /// Explain the last refusal
    #[cfg(target_os = "linux")]
    Why(why::Args),
}

/// Reads the arguments of this process and does what they say.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        #[cfg(target_os = "linux")]
        Command::Run(args) => run::main(args),
        #[cfg(target_os = "linux")]
        Command::Doctor(args) => doctor::main(args),
        #[cfg(target_os = "linux")]
        Command::Log(args) => log::main(args),
        #[cfg(target_os = "linux")]
        Command::Why(args) => why::main(args),
    }
}
