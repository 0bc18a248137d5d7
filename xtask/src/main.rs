//! Everything that a contributor runs: `cargo xtask COMMAND`.

mod apt;
mod bench;
mod cargo;
mod demo;
mod fuzz;
mod house;
mod newcomer;
mod proc;
mod program;
mod setup;
mod test;
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
    /// Build the program as it is released, with the kernel side in it
    Build,
    Run(program::Request),
    Demo(demo::Request),
    #[command(hide = true)]
    Stage(demo::stage::Request),
    Test(test::Request),
    Bench(bench::Request),
    Fuzz(fuzz::Request),
    Newcomer(newcomer::Request),
    Vm(vm::Request),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Task::Setup(request) => setup::run(&request),
        Task::Build => program::build_and_tell(),
        Task::Run(request) => program::run(&request),
        Task::Demo(request) => demo::run(&request),
        Task::Stage(request) => demo::stage::run(&request),
        Task::Bench(request) => bench::run(&request),
        Task::Fuzz(request) => fuzz::run(&request),
        Task::Newcomer(request) => newcomer::run(&request),
        Task::Test(request) => test::run(&request),
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
