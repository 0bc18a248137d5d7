//! `blastradius scope`: the effective policy, and the zone of a path.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use super::exit;
use crate::shell::world::World as _;
use crate::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Tell the zone of these paths, the line that decides it, and what would happen; without: the whole policy
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
}

pub(super) fn main(args: Args) -> ExitCode {
    match scope(&args.paths) {
        Ok(code) => code,
        Err(error) => exit::failure(&error, exit::OWN_FAILURE),
    }
}

fn scope(paths: &[OsString]) -> Result<ExitCode> {
    let system = System::current().context("the working directory cannot be read")?;
    let policy = system.policy();
    let mut out = std::io::stdout().lock();
    if paths.is_empty() {
        for line in policy.describe(&system) {
            writeln!(out, "{line}").context("stdout")?;
        }
    }
    for path in paths {
        let answer = policy.explain_path(&system, &system.cwd(), &path.to_string_lossy());
        write!(out, "{answer}").context("stdout")?;
    }
    for error in policy.errors() {
        anstream::eprintln!("blastradius: {error}");
    }
    // What a broken policy lets pass nobody can rely on.
    Ok(if policy.errors().is_empty() { ExitCode::SUCCESS } else { ExitCode::from(exit::DATA) })
}

/// The nearest policy file from `cwd` up to the root of its work tree; where there is none yet, the place for it.
pub(super) fn policy_file(system: &System) -> std::path::PathBuf {
    let policy = system.policy();
    let root = policy.work_tree().map_or(policy.cwd(), |tree| &*tree.root);
    let nearest =
        policy.cwd().ancestors().take_while(|dir| dir.starts_with(root)).map(at).find(|file| file.exists());
    nearest.unwrap_or_else(|| at(root))
}

fn at(dir: &Path) -> std::path::PathBuf {
    dir.join(crate::policy::CONFIG_NAME)
}
