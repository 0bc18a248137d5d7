//! `blastradius why`: the last refusal, explained.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use super::record::{self, Record};
use crate::guard::door::{self, Request, Response};
use crate::guard::log;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session, by its name or the beginning of it; default: the one we run in, else the latest
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Print the record as it is
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: Args) -> ExitCode {
    match explain(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            anstream::eprintln!("blastradius: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the last refusal; `false` if nothing was refused.
fn explain(args: &Args) -> Result<bool> {
    if args.session.is_none()
        && let Some(answer) = at_the_door(args)
    {
        return answer;
    }
    let directory = log::directory()?;
    let session = record::session(&directory, args.session.as_deref());
    let session = session.with_context(|| format!("no log in {}", directory.display()))?;
    let (name, files) = session.with_context(|| format!("no such session in {}", directory.display()))?;
    let mut last = None;
    let mut rung = None;
    for file in &files {
        let reader = std::fs::File::open(file).with_context(|| file.display().to_string())?;
        for line in BufReader::new(reader).lines() {
            let line = line?;
            match Record::parse(&line) {
                Some(record) if record.is_refusal() => last = Some((record, line)),
                Some(record) if record.event == "start" => rung = record.rung,
                _ => {}
            }
        }
    }
    let Some((record, line)) = last else {
        anstream::eprintln!("blastradius: nothing was refused in session {name}{}", silent(rung.as_deref()));
        return Ok(false);
    };
    if args.json {
        writeln!(io::stdout(), "{line}")?;
    } else {
        write!(io::stdout(), "{}{}", record.story(), silent(rung.as_deref()))?;
    }
    Ok(true)
}

/// Inside a session the log may be out of reach (it belongs to who started the session): the guard tells. `None`: it does
/// not, or nothing was refused yet.
fn at_the_door(args: &Args) -> Option<Result<bool>> {
    let session = std::env::var("BLASTRADIUS_SESSION").ok()?;
    let Ok(Response::Done(record)) = door::visit(&session, &Request::Why) else { return None };
    let line = record.to_string();
    let record = Record::parse(&line).filter(Record::is_refusal)?;
    let text = if args.json { format!("{line}\n") } else { record.story() };
    Some(write!(io::stdout(), "{text}").map(|()| true).map_err(Into::into))
}

/// What the log cannot know.
fn silent(rung: Option<&str>) -> &'static str {
    match rung {
        Some("landlock") => {
            "\n  On the landlock rung the kernel refuses without telling us: a \"Permission denied\" or a cross-device error of\n  \
             a removal, a rename or a truncation outside scope is ours too, and stands in no log.\n"
        }
        _ => "",
    }
}
