//! `cargo xtask bench`: what the guard costs, as ratios measured side by side in one run.
//!
//! A ratio says the same on every machine; a time does not. Each bench is a row of the table.

mod execs;
mod spawn;
mod undo;

use anyhow::{Result, bail};
use clap::Args;

use crate::{
    cargo, proc, program,
    setup::{self, requirements::Job},
    test::steps::{KERNEL_TESTS, WHOLE_TESTS},
    vm,
};

/// Measure what the guard costs
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Only the benches with this in their name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Show the benches
    #[arg(long)]
    list: bool,
}

/// One row.
struct Bench {
    name: &'static str,
    what: &'static str,
    jobs: &'static [Job],
    measure: fn() -> Result<Measured>,
}

/// What a bench found.
enum Measured {
    /// Guarded over unguarded.
    Ratio(f64),
    /// It printed its ratios itself.
    Printed,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "wrapper",
        what: "starting a program through `blastradius -- CMD`, against starting it",
        jobs: &[Job::Build],
        measure: || spawn::ratio(&program::build()?, &["--", "/bin/true"], "/bin/true"),
    },
    Bench {
        name: "exec",
        what: "starting a program inside a session on this machine's best rung, against starting it outside",
        jobs: &[Job::Build],
        measure: || execs::ratio(&program::build()?),
    },
    Bench {
        name: "text",
        what: "a verdict of the text layer, in CPU time",
        jobs: &[Job::Build],
        measure: text,
    },
    Bench {
        name: "undo",
        what: "keeping what could be lost, against `git status` and `cp -a`",
        jobs: &[Job::Build],
        measure: || undo::ratios(&program::build()?),
    },
    Bench {
        name: "kernel",
        what: "deleting files in scope under the kernel rung, against deleting them, counted in instructions",
        jobs: &[Job::Build, Job::Vm],
        measure: kernel,
    },
];

/// Measures and prints.
pub(crate) fn run(request: &Request) -> Result<i32> {
    let wanted = |bench: &&Bench| request.only.as_ref().is_none_or(|word| bench.name.contains(word.as_str()));
    let benches: Vec<&Bench> = BENCHES.iter().filter(wanted).collect();
    if benches.is_empty() {
        let names: Vec<_> = BENCHES.iter().map(|bench| bench.name).collect();
        bail!("there is no such bench; there are {}", names.join(", "));
    }
    for Bench { name, what, jobs, measure } in benches {
        if request.list {
            println!("{name:<10} {what}");
            continue;
        }
        setup::ensure(jobs)?;
        println!("\n== {name}: {what}");
        match measure()? {
            Measured::Ratio(ratio) => println!("{name}: {ratio:.2} times the time"),
            Measured::Printed => {}
        }
    }
    Ok(0)
}

/// The text layer is measured in its own process.
fn text() -> Result<Measured> {
    proc::run(&mut cargo::cargo(&["bench", "--locked", "--package", WHOLE_TESTS, "--bench", "text"]))?;
    Ok(Measured::Printed)
}

/// Under -icount the guest's clock counts instructions, so that one run is like another.
fn kernel() -> Result<Measured> {
    let program = cargo::release(KERNEL_TESTS, KERNEL_TESTS, &[])?;
    let request = vm::Request {
        icount: true,
        timeout: 1800,
        ..vm::Request::new("6.12", vec![program.into_os_string(), "cost".into()])
    };
    match vm::run(&request)? {
        0 => Ok(Measured::Printed),
        code => bail!("the guest ended with exit {code}"),
    }
}
