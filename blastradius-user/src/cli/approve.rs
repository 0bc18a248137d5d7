//! `blastradius approve [ID]`: a person answers a question of a running session, once.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use super::exit;
use crate::guard::desk::LONGEST_PAUSE;
use crate::guard::door::{self, Request, Response};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The number that a refusal named; without it, all open questions are shown, and a single one is asked
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Let these paths be removed in sessions to come, too: adds `allow` lines to the `.blastradius` of this work tree
    #[arg(long, requires = "id")]
    always: bool,
    /// Answer every question of the session with yes for this time: `10m`, `1h`; `0s` ends it. Never what is denied
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, conflicts_with_all = ["id", "always"])]
    pause: Option<Duration>,
    /// The session, by its name or the beginning of it; default: all that run
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
}

/// An open question, as a session tells it.
#[derive(Debug, Deserialize)]
struct Open {
    id: String,
    text: String,
    age_seconds: u64,
    paths: Vec<PathBuf>,
}

pub(super) fn main(args: Args) -> ExitCode {
    match approve(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => exit::failure(&error, exit::OWN_FAILURE),
    }
}

fn approve(args: &Args) -> Result<bool> {
    let wanted = |name: &String| args.session.as_ref().is_none_or(|start| name.starts_with(start));
    let sessions: Vec<_> =
        door::sessions().context("the running sessions cannot be read")?.into_iter().filter(wanted).collect();
    ensure!(!sessions.is_empty(), "no session runs here{}", but_elsewhere());
    match args.pause {
        Some(time) => pause(&sessions, time),
        None => answer(args, &sessions),
    }
}

/// A door can be seen only from its own network namespace.
fn but_elsewhere() -> &'static str {
    "; one that runs in a container with a network of its own is answered from inside the container"
}

fn pause(sessions: &[String], time: Duration) -> Result<bool> {
    let [session] = sessions else {
        bail!("more than one session runs, so say which: --session {}", sessions.join(" or --session "));
    };
    ensure!(time <= LONGEST_PAUSE, "a pause lasts {} at most", humantime::format_duration(LONGEST_PAUSE));
    if !time.is_zero()
        && !a_person_says_yes(&format!(
            "answer every question of {session} with yes for {}?",
            humantime::format_duration(time)
        ))?
    {
        return Ok(false);
    }
    tell(session, &Request::Pause { seconds: time.as_secs() })?;
    Ok(true)
}

/// What several sessions answer.
struct Questions {
    found: Vec<(String, Open)>,
    /// Who did not answer, a line each: the question may be theirs.
    closed: String,
}

fn questions(args: &Args, sessions: &[String]) -> Result<Questions> {
    let (mut found, mut closed) = (Vec::new(), String::new());
    let only = args.session.is_some() || sessions.len() == 1;
    for session in sessions {
        match door::visit(session, &Request::List) {
            Ok(Response::Done(open)) => {
                let open: Vec<Open> =
                    serde_json::from_value(open).context("what the session says is not understood")?;
                found.extend(open.into_iter().map(|open| (session.clone(), open)));
            }
            Ok(Response::Refused(why)) if only => bail!("{why}"),
            Ok(Response::Refused(why)) => closed += &format!("\n  {session}: {why}"),
            Err(error) if only => return Err(error).with_context(|| format!("session {session}")),
            // One that has ended a moment ago has no question for us.
            Err(_) => {}
        }
    }
    Ok(Questions { found, closed })
}

fn answer(args: &Args, sessions: &[String]) -> Result<bool> {
    let Questions { mut found, closed } = questions(args, sessions)?;
    if let Some(id) = &args.id {
        found.retain(|(_, open)| open.id == *id);
        ensure!(!found.is_empty(), "there is no open question {id}{closed}");
    }
    for (session, open) in &found {
        anstream::eprintln!("{}  ({session}, {} s ago)\n{}", open.id, open.age_seconds, open.text);
    }
    let [(session, open)] = &*found else {
        anstream::eprintln!(
            "{}",
            if found.is_empty() { "no question is open" } else { "say which: blastradius approve ID" }
        );
        return Ok(false);
    };
    if !a_person_says_yes("allow exactly this, once?")? {
        return Ok(false);
    }
    if args.always {
        super::always::allow(&open.paths)?;
    }
    tell(session, &Request::Approve { id: open.id.clone() })?;
    anstream::eprintln!("approved: it passes when it is tried again, within ten minutes");
    Ok(true)
}

fn tell(session: &str, request: &Request) -> Result<()> {
    match door::visit(session, request).with_context(|| format!("session {session}"))? {
        Response::Done(_) => Ok(()),
        Response::Refused(why) => bail!("{why}"),
    }
}

/// Asks on the terminal; without one there is no person.
fn a_person_says_yes(question: &str) -> Result<bool> {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    ensure!(terminal, "a yes is a person's: run it on a terminal");
    anstream::eprint!("{question} [y/N] ");
    std::io::stderr().flush().context("stderr")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("stdin")?;
    let yes = matches!(answer.trim(), "y" | "Y" | "yes");
    if !yes {
        anstream::eprintln!("nothing changed");
    }
    Ok(yes)
}
