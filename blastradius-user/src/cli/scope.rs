//! `blastradius scope`: the effective policy, and the zone of a path.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use super::exit;
use crate::shell::world::{Look, World as _};
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

/// The nearest policy file that the policy looks for; where there is none yet, the place for it.
pub(super) fn policy_file(system: &System) -> std::path::PathBuf {
    let policy = system.policy();
    let root = policy.work_tree().map_or(policy.cwd(), |tree| &*tree.root);
    let at = |dir: &Path| dir.join(crate::policy::CONFIG_NAME);
    let is_there = |file: &&std::path::PathBuf| {
        file.ends_with(crate::policy::CONFIG_NAME) && !matches!(system.look(file), Look::Absent)
    };
    policy.config().places.iter().find(is_there).cloned().unwrap_or_else(|| at(root))
}
