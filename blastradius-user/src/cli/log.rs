//! `blastradius log`: what was started, refused and ended.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};

use super::record::{self, Record};
use crate::guard::log;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Go on printing while the session runs
    #[arg(long)]
    follow: bool,
    /// Print the records as they are, one JSON object a line
    #[arg(long)]
    json: bool,
    /// The session, by its name or the beginning of it; default: the latest
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// The records of all sessions
    #[arg(long, conflicts_with_all = ["session", "follow"])]
    all: bool,
    /// Only what has this verdict
    #[arg(long, value_name = "VERDICT", value_parser = ["warn", "confirm", "deny"])]
    verdict: Option<String>,
    /// Only what this rule said
    #[arg(long, value_name = "ID")]
    rule: Option<String>,
    /// Only what concerns this path or what lies below it
    #[arg(long, value_name = "PATH")]
    path: Option<PathBuf>,
    /// Only what is not older than this: `90s`, `15m`, `2h`, `1day`
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    since: Option<Duration>,
}

/// How often a log that is followed is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub(super) fn main(args: Args) -> ExitCode {
    match print(&args) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that has seen enough (`| head`) is no failure.
        Err(error)
            if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            anstream::eprintln!("blastradius: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print(args: &Args) -> Result<()> {
    let directory = log::directory()?;
    let unreadable = || format!("no log in {}", directory.display());
    if args.all {
        for (_, files) in log::sessions(&directory).with_context(unreadable)? {
            print_files(args, &files)?;
        }
        return Ok(());
    }
    let session = record::session(&directory, args.session.as_deref()).with_context(unreadable)?;
    let (name, files) = session.with_context(|| format!("no such session in {}", directory.display()))?;
    if args.follow { follow(args, &directory, &name) } else { print_files(args, &files) }
}

fn print_files(args: &Args, files: &[PathBuf]) -> Result<()> {
    for file in files {
        let reader = File::open(file).with_context(|| file.display().to_string())?;
        for line in BufReader::new(reader).lines() {
            print_line(args, &line?)?;
        }
    }
    Ok(())
}

fn print_line(args: &Args, line: &str) -> Result<()> {
    let Some(record) = Record::parse(line) else { return Ok(()) };
    if is_wanted(args, &record) {
        let text = if args.json { line.to_owned() } else { record.line() };
        writeln!(io::stdout(), "{text}")?;
    }
    Ok(())
}

fn is_wanted(args: &Args, record: &Record) -> bool {
    let same = |wanted: &Option<String>, is: &Option<String>| wanted.is_none() || wanted == is;
    let below = |path: &PathBuf| record.resolved.as_ref().is_some_and(|resolved| resolved.starts_with(path));
    let oldest = args.since.and_then(|since| SystemTime::now().checked_sub(since)).map(log::timestamp);
    same(&args.verdict, &record.verdict)
        && same(&args.rule, &record.rule)
        && args.path.as_ref().is_none_or(below)
        // Times of one form sort as text.
        && oldest.is_none_or(|oldest| record.time >= oldest)
}

/// Prints what is there and what comes, part by part, until the session's end is printed.
fn follow(args: &Args, directory: &Path, name: &str) -> Result<()> {
    let mut part = 0;
    let mut open: Option<BufReader<File>> = None;
    let mut line = String::new();
    loop {
        let files =
            log::sessions(directory)?.into_iter().find(|(session, _)| session == name).unwrap_or_default().1;
        if open.is_none() {
            open = files.get(part).map(File::open).transpose()?.map(BufReader::new);
        }
        let Some(reader) = &mut open else { anyhow::bail!("the log of {name} has gone") };
        while reader.read_line(&mut line)? > 0 {
            // Half a line is kept until the rest of it comes.
            if !line.ends_with('\n') {
                break;
            }
            print_line(args, line.trim_end())?;
            if Record::parse(&line).is_some_and(|record| record.event == "end") {
                return Ok(());
            }
            line.clear();
        }
        if files.len() > part + 1 {
            part += 1;
            open = None;
        } else {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}
