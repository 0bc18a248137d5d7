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
    /// Put a tree of processes that runs already under the kernel rung
    #[cfg(target_os = "linux")]
    Attach(attach::Args),
    /// Answer a question of a running session, from outside it
    #[cfg(target_os = "linux")]
    Approve(approve::Args),
    /// Prove what is enforced here, and say what to change to get more
    #[cfg(target_os = "linux")]
    Doctor(doctor::Args),
    /// Print the log of a session
    #[cfg(target_os = "linux")]
    Log(log::Args),
    /// Explain the last refusal
    #[cfg(target_os = "linux")]
    Why(why::Args),
    /// Take back what was destroyed inside scope
    #[cfg(target_os = "linux")]
    Undo(undo::Args),
    /// Judge what an agent's hook hands over: one JSON document in, one out
    Hook(hook::Args),
    /// Put the hook into an agent's settings
    Install(install::Args),
    /// Take the hook out of an agent's settings
    Uninstall(install::Args),
    /// Be the shell of an agent: judge, then hand over to the real one
    Shell(shell::Args),
    /// Answer questions of an agent over MCP, on stdin and stdout
    Mcp(mcp::Args),
    /// Print the policy in force, or the zone of paths
    Scope(scope::Args),
    /// Print the policy lines that would have let a session pass
    #[cfg(target_os = "linux")]
    Suggest(suggest::Args),
    /// Write a commented policy file to begin with
    Init(init::Args),
    /// Approve the lines of this repository's policy file that reach beyond it
    Trust(trust::Args),
    /// Print a completion script
    Completions(completions::Args),
    /// Print the manual page
    Man(man::Args),
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
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    match cli.command {
        Some(Command::Check(args)) => check::main(args),
        Some(Command::Explain(args)) => explain::main(args),
        #[cfg(target_os = "linux")]
        Some(Command::Run(args)) => run::main(args),
        #[cfg(target_os = "linux")]
        Some(Command::Attach(args)) => attach::main(args),
        #[cfg(target_os = "linux")]
        Some(Command::Approve(args)) => approve::main(args),
        #[cfg(target_os = "linux")]
        Some(Command::Doctor(args)) => doctor::main(args),
        #[cfg(target_os = "linux")]
        Some(Command::Log(args)) => log::main(args),
        #[cfg(target_os = "linux")]
        Some(Command::Why(args)) => why::main(args),
        #[cfg(target_os = "linux")]
        Some(Command::Undo(args)) => undo::main(args),
        Some(Command::Hook(args)) => hook::main(args),
        Some(Command::Install(args)) => install::main(args, install::Direction::In),
        Some(Command::Uninstall(args)) => install::main(args, install::Direction::Out),
        Some(Command::Shell(args)) => shell::main(args),
        Some(Command::Mcp(args)) => mcp::main(args),
        Some(Command::Scope(args)) => scope::main(args),
        #[cfg(target_os = "linux")]
        Some(Command::Suggest(args)) => suggest::main(args),
        Some(Command::Init(args)) => init::main(args),
        Some(Command::Trust(args)) => trust::main(args),
        Some(Command::Completions(args)) => completions::main(args),
        Some(Command::Man(args)) => man::main(args),
        None => wrapper::main(cli.wrapper),
    }
}
