//! `cargo xtask setup`: finds or installs what the other commands need. They call it themselves, each for its own part.

mod debian;
pub(crate) mod linker;
pub(crate) mod machine;
pub(crate) mod requirements;

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::{
    proc,
    test::steps,
    vm::{
        fetch,
        table::{Need, Table},
    },
};
use requirements::{Get, Job, REQUIREMENTS, Requirement};

/// Find or install everything that is needed to build, test and run
///
/// Debian's packages are installed through apt, from suites of this release, and nothing is removed. The linker of the kernel side and the
/// kernels for the virtual machines go into the cache, ~/.cache/blastradius. Run it as often as you like.
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Only show what is there and what is missing
    #[arg(long)]
    list: bool,
    /// Look for newer kernels of the series that are in the cache
    #[arg(long)]
    refresh: bool,
}

/// The whole of it.
pub(crate) fn run(request: &Request) -> Result<i32> {
    if request.list {
        return list();
    }
    let all: Vec<&Requirement> = REQUIREMENTS.iter().collect();
    let installed = install_missing(&all)?;
    let table = Table::read()?;
    for kernel in &table.kernels {
        let cached = fetch::cached(kernel)?;
        // What only long test runs need is fetched when it is used.
        if cached.is_none() && !steps::kernels_of_every_run().any(|series| series == kernel.series) {
            continue;
        }
        match fetch::ensure(&table, kernel, request.refresh) {
            Ok(fetched) => eprintln!("xtask: kernel {}: {}", kernel.series, fetched.about.version),
            Err(error) if kernel.need == Need::Optional => eprintln!("xtask: {error:#}"),
            Err(error) => return Err(error),
        }
    }
    eprintln!("xtask: everything is there{}", if installed { " now" } else { "" });
    Ok(0)
}

/// Makes sure that what some jobs need is there.
pub(crate) fn ensure(jobs: &[Job]) -> Result<()> {
    let rows: Vec<&Requirement> =
        REQUIREMENTS.iter().filter(|row| row.serves.iter().any(|job| jobs.contains(job))).collect();
    install_missing(&rows).map(drop)
}

fn list() -> Result<i32> {
    let mut missing = false;
    for row in REQUIREMENTS {
        let present = (row.present)();
        missing |= !present;
        println!("{:<8} {}", if present { "there" } else { "missing" }, row.name);
    }
    Ok(i32::from(missing))
}

/// Installs what is missing of some rows. Says whether anything was.
fn install_missing(rows: &[&Requirement]) -> Result<bool> {
    let missing = still_missing(rows);
    if missing.is_empty() {
        return Ok(false);
    }
    for row in &missing {
        eprintln!("xtask: missing: {}", row.name);
    }
    let packaged: Vec<&Requirement> =
        missing.iter().copied().filter(|row| matches!(row.get, Get::Debian { .. })).collect();
    // What needs no root is done first, so that someone without it has one thing left to do.
    let others: Result<Vec<()>> = missing.iter().map(|row| get(row)).collect();
    if !packaged.is_empty() {
        debian::install(&packaged)?;
    }
    others?;
    Ok(true)
}

fn still_missing<'a>(rows: &[&'a Requirement]) -> Vec<&'a Requirement> {
    rows.iter().copied().filter(|row| !(row.present)()).collect()
}

/// Gets what does not come as a package.
fn get(row: &Requirement) -> Result<()> {
    match row.get {
        Get::Debian { .. } => Ok(()),
        Get::BpfLinker => linker::install(),
        Get::Component(name) => {
            let Some(rustup) = proc::which("rustup") else {
                bail!(
                    "{} is missing from this Rust toolchain, and there is no rustup to add it: install {}",
                    row.name,
                    row.name
                );
            };
            proc::run(Command::new(rustup).args(["component", "add", name]))
                .with_context(|| format!("cannot add {name} to the Rust toolchain"))
        }
    }
}
