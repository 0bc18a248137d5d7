//! `blastradius install|uninstall HOST [--global]`.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use super::exit;
use crate::hosts::install::site::{Scope, Site};
use crate::hosts::install::{self, Change, Outcome, present};
use crate::hosts::table::{self, HOSTS, Host};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// `install`.
    In,
    /// `uninstall`.
    Out,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The agents; without one, those that are found here
    #[arg(value_name = "AGENT")]
    agents: Vec<String>,
    /// For all projects of the user, not only for the one in this directory
    #[arg(long)]
    global: bool,
    /// The same as the agent claude-code
    #[arg(long)]
    claude_code: bool,
    /// The same as the agent cursor
    #[arg(long)]
    cursor: bool,
}

pub(super) fn main(args: Args, direction: Direction) -> ExitCode {
    match run(args, direction) {
        Ok(code) => code,
        Err(error) => exit::failure(&error, exit::USAGE),
    }
}

fn run(args: Args, direction: Direction) -> Result<ExitCode> {
    let site = Site::current().context("the installation cannot be prepared")?;
    let scope = if args.global { Scope::Global } else { Scope::Project };
    let flags = [("claude-code", args.claude_code), ("cursor", args.cursor)];
    let mut names = args.agents;
    names.extend(flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| name.to_owned()));
    let hosts = if names.is_empty() { chosen(&site)? } else { named(&names)? };
    let mut failed = false;
    for host in hosts {
        let done = match direction {
            Direction::In => install::install(host, scope, &site),
            Direction::Out => install::uninstall(host, scope, &site),
        };
        match done {
            Ok(outcome) => tell(host, scope, &outcome, direction),
            Err(error) => {
                failed = true;
                anstream::eprintln!("blastradius: {error}");
            }
        }
    }
    Ok(if failed { ExitCode::from(exit::DATA) } else { ExitCode::SUCCESS })
}

fn named(names: &[String]) -> Result<Vec<&'static Host>> {
    let host = |name: &String| match table::find(name) {
        Some(host) if host.config.is_some() => Ok(host),
        _ => bail!("no agent is called {name}; there are {}", known().join(", ")),
    };
    names.iter().map(host).collect()
}

fn known() -> Vec<&'static str> {
    HOSTS.iter().filter(|host| host.config.is_some()).map(|host| host.name).collect()
}

/// The agents that are here and that the user says yes to.
fn chosen(site: &Site) -> Result<Vec<&'static Host>> {
    let path: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let here = present::hosts(site, &path);
    if here.is_empty() {
        bail!("no agent was found here; name one of {}", known().join(", "));
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let names: Vec<&str> = here.iter().map(|host| host.name).collect();
        bail!("name the agents; found here: {}", names.join(", "));
    }
    let mut chosen = Vec::new();
    for host in here {
        anstream::eprint!("{} ({})? [y/N] ", host.title, host.name);
        std::io::stderr().flush().context("stderr")?;
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).context("stdin")?;
        if matches!(line.trim(), "y" | "Y" | "yes") {
            chosen.push(host);
        }
    }
    Ok(chosen)
}

fn tell(host: &Host, scope: Scope, outcome: &Outcome, direction: Direction) {
    let Outcome { path, change, backup } = outcome;
    let path = path.display();
    let what = match (change, direction) {
        (Change::None, Direction::In) => format!("is there already: {path}"),
        (Change::None, Direction::Out) => format!("was not there: {path}"),
        (Change::Restored, _) => format!("taken out, everything as it was before: {path}"),
        (Change::Removed, _) => format!("taken out; what others wrote since was left: {path}"),
        (Change::Written, _) => format!("put into {path}"),
    };
    anstream::eprintln!("{}: the hook {what}", host.title);
    if let Some(backup) = backup {
        anstream::eprintln!("  before       {}", backup.display());
    }
    if direction == Direction::Out {
        return;
    }
    anstream::eprintln!("  if it fails  {}", host.on_failure);
    for hole in host.holes {
        anstream::eprintln!("  not seen     {hole}");
    }
    if let Some(warning) = present::too_old(host) {
        anstream::eprintln!("  warning      {warning}");
    }
    let global = if scope == Scope::Global { " --global" } else { "" };
    anstream::eprintln!("  undo         blastradius uninstall {}{global}", host.name);
}
