//! Everything that a contributor runs: `cargo xtask COMMAND`.

mod apt;
mod house;
mod proc;
mod setup;
mod vm;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Everything that a contributor of blastradius runs
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Setup(setup::Request),
    Vm(vm::Request),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Task::Setup(request) => setup::run(&request),
        Task::Vm(request) => vm::run(&request),
    };
    match done {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
