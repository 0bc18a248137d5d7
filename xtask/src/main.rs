//! Everything that a contributor runs: `cargo xtask COMMAND`.

mod apt;
mod bench;
mod cargo;
mod crates;
mod demo;
mod fuzz;
mod house;
mod licences;
mod newcomer;
mod package;
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
    Package(package::Request),
    Licences(licences::Request),
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
        Task::Package(request) => package::run(&request),
        Task::Licences(request) => licences::run(&request),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands behind `cargo xtask` in a text, to the end of the line or of the code.
    fn tasks(text: &str) -> Vec<&str> {
        text.split("cargo xtask ")
            .skip(1)
            .filter_map(|rest| rest.split(['`', '\n', '\'', ';', ',']).next())
            .collect()
    }

    #[test]
    fn each_task_that_a_page_shows_is_understood() {
        let docs = std::fs::read_dir(house::root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
        let pages = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|page| house::root().join(page));
        let mut seen = 0;
        for page in docs.filter(|page| page.extension().is_some_and(|ending| ending == "md")).chain(pages) {
            for task in tasks(&std::fs::read_to_string(&page).unwrap()) {
                let words = task.split([' ', '[', ']']).filter(|word| !word.is_empty());
                let words: Vec<&str> = ["cargo xtask"].into_iter().chain(words).collect();
                if let Err(error) = Cli::try_parse_from(&words) {
                    panic!("{}: cargo xtask {task}: {error}", page.display());
                }
                seen += 1;
            }
        }
        assert!(seen > 10, "only {seen} were found");
    }
}
