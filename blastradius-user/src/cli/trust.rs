//! `blastradius trust`: a human approves the lines of this repository's file that widen.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};

use super::{exit, scope};
use crate::policy::config::{Waiting, fingerprint};
use crate::policy::{Policy, Start};
use crate::report::human::clean;
use crate::shell::world::amended::Amended;
use crate::system::{System, approvals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Take the approval back
    #[arg(long)]
    withdraw: bool,
}

pub(super) fn main(args: Args) -> ExitCode {
    match trust(args) {
        Ok(code) => code,
        Err(error) => exit::failure(&error, exit::OWN_FAILURE),
    }
}

fn trust(Args { withdraw }: Args) -> Result<ExitCode> {
    let system = System::current().context("the working directory cannot be read")?;
    let store = system.approvals_file().context("the user database names no home to keep approvals in")?;
    let file = scope::policy_file(&system);
    let mut approved = system.approvals();
    if withdraw {
        approved.withdraw(&file);
        approvals::write(&store, &approved).with_context(|| store.display().to_string())?;
        anstream::println!("withdrawn: {}", file.display());
        return Ok(ExitCode::SUCCESS);
    }
    // What is wrong with the file is told first: it may be one that never ends, or never answers.
    let policy = system.policy();
    let errors: String = policy.errors().iter().map(|error| format!("\n  {error}")).collect();
    ensure!(errors.is_empty(), "the policy must be mended before it can be approved:{errors}");
    let content = std::fs::read(&file).with_context(|| file.display().to_string())?;
    if waiting(&system, &file, &content)?.is_empty() {
        anstream::println!("nothing to approve: no line reaches beyond the work tree");
        return Ok(ExitCode::SUCCESS);
    }
    if !approve(&system, &file, &content)? {
        return Ok(ExitCode::from(1));
    }
    anstream::println!("approved until it changes, or what it reaches: {}", file.display());
    Ok(ExitCode::SUCCESS)
}

/// The lines of the file, or of what it is to say, that wait for an approval.
fn waiting(system: &System, file: &Path, content: &[u8]) -> Result<Vec<Waiting>> {
    let world = Amended::new(system, file, content);
    // Nothing is approved yet: every line that widens waits, and says what it reaches.
    let policy = Policy::load(&world, Start::default());
    let errors: String = policy.errors().iter().map(|error| format!("\n  {error}")).collect();
    ensure!(errors.is_empty(), "the policy must be mended before it can be approved:{errors}");
    let waiting = policy.config().waiting.iter();
    Ok(waiting.filter(|line| line.reach.is_some()).cloned().collect())
}

/// Shows what the file says, or is to say, and asks; a yes is stored. `false`: the answer was no.
pub(super) fn approve(system: &System, file: &Path, content: &[u8]) -> Result<bool> {
    a_human_answers()?;
    let store = system.approvals_file().context("the user database names no home to keep approvals in")?;
    let waiting = waiting(system, file, content)?;
    anstream::eprintln!("{}:\n", file.display());
    for line in String::from_utf8_lossy(content).lines().filter(|line| !line.trim().is_empty()) {
        anstream::eprintln!("  {}", clean(line));
    }
    let reaching: Vec<_> = waiting.iter().filter_map(|line| Some((line, line.reach.as_ref()?))).collect();
    if !reaching.is_empty() {
        anstream::eprintln!("\nbeyond the work tree these reach:\n");
    }
    for (line, reach) in reaching {
        anstream::eprintln!("  {}  ({})", clean(&reach.to_string()), clean(&line.origin));
    }
    anstream::eprint!("\nlet these lines apply, outside the work tree too? [y/N] ");
    std::io::stderr().flush().context("stderr")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("stdin")?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        anstream::eprintln!("nothing changed");
        return Ok(false);
    }
    let mut approved = system.approvals();
    ensure!(
        approved.approve(file, &fingerprint(content, &waiting)),
        "{}: a path with a line break cannot be approved",
        file.display()
    );
    approvals::write(&store, &approved).with_context(|| store.display().to_string())?;
    Ok(true)
}

/// Approval is a human's: it is given on a terminal, outside every session.
fn a_human_answers() -> Result<()> {
    if std::env::var_os("BLASTRADIUS_SESSION").is_some() {
        bail!("this is inside a session: approve from a terminal outside it");
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    ensure!(terminal, "approval is asked of a human: run it on a terminal");
    Ok(())
}
