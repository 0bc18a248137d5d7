//! `blastradius explain`: check, with every step of the evaluation.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::{check, exit};
use crate::analysis::{self, Subject};
use crate::report::human;
use crate::shell::world::World as _;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    judging: check::Judging,
    /// Judge as if run in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The shell command, as one text
    #[arg(required = true, num_args = 1.., value_name = "TEXT")]
    text: Vec<OsString>,
}

pub(super) fn main(args: Args) -> ExitCode {
    match explain(args) {
        Ok(code) => code,
        Err(error) => exit::failure(&error, exit::USAGE),
    }
}

fn explain(args: Args) -> Result<ExitCode> {
    let system = check::machine(args.cwd)?;
    let subject = Subject::Text { text: check::join(args.text), dialect: args.judging.dialect() };
    let policy = system.policy();
    let (report, steps) = analysis::explain(&subject, &system, &policy, args.judging.asker());
    for step in &steps {
        anstream::println!("{step}");
    }
    anstream::println!("\nscope: {}", system.cwd().display());
    if report.findings.is_empty() {
        anstream::println!("verdict: {}", report.verdict.name());
    }
    anstream::eprint!("{}", human::render(&report));
    Ok(exit::of_verdict(report.verdict))
}
