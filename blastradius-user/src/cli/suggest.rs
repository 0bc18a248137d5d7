//! `blastradius suggest`: the lines of a policy file that would have let a session pass.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use super::exit;
use super::record::{self, Record};
use crate::guard::log;
use crate::policy::suggest::{Suggestion, Wish, suggest};
use crate::report::human::clean;
use crate::shell::world::World as _;
use crate::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session, by its name or the beginning of it; default: the latest that was run with --audit, else the latest
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
}

pub(super) fn main(args: Args) -> ExitCode {
    match print(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::failure(&error, exit::OWN_FAILURE),
    }
}

fn print(args: &Args) -> Result<()> {
    let directory = log::directory()?;
    let Told { name, cwd, wishes } = told(&directory, args.session.as_deref())?;
    let mut system = System::current().context("the working directory cannot be read")?;
    if let Some(cwd) = cwd {
        system = system.with_cwd(cwd);
    }
    let suggestion = suggest(&system, &wishes);
    if suggestion.lines.is_empty() && suggestion.left.is_empty() {
        let what = if wishes.is_empty() { "nothing was refused" } else { "everything passes now" };
        anstream::eprintln!("blastradius: session {name}: {what} in {}", system.cwd().display());
        return Ok(());
    }
    io::stdout().write_all(text(&name, &suggestion).as_bytes()).context("stdout")
}

/// What a session's log tells.
struct Told {
    name: String,
    cwd: Option<PathBuf>,
    wishes: Vec<Wish>,
}

fn told(directory: &Path, asked: Option<&str>) -> Result<Told> {
    let unreadable = || format!("no log in {}", directory.display());
    let audited = || -> Result<Option<(String, Vec<PathBuf>)>> {
        let sessions = log::sessions(directory).with_context(unreadable)?;
        Ok(sessions.into_iter().rev().find(|(_, files)| files.first().is_some_and(|file| is_audit(file))))
    };
    let chosen = match asked {
        Some(_) => None,
        None => audited()?,
    };
    let chosen = match chosen {
        Some(session) => Some(session),
        None => record::session(directory, asked).with_context(unreadable)?,
    };
    let (name, files) = chosen.with_context(|| format!("no such session in {}", directory.display()))?;
    let mut told = Told { name, cwd: None, wishes: Vec::new() };
    for file in &files {
        let reader = File::open(file).with_context(|| file.display().to_string())?;
        for line in BufReader::new(reader).lines() {
            match Record::parse(&line?) {
                Some(record) if record.event == "start" => told.cwd = record.cwd,
                Some(record) if record.is_refusal() => told.wishes.extend(record.wishes()),
                _ => {}
            }
        }
    }
    Ok(told)
}

fn is_audit(file: &Path) -> bool {
    let first = File::open(file).ok().and_then(|file| BufReader::new(file).lines().next()?.ok());
    first.and_then(|line| Record::parse(&line)).is_some_and(|record| record.audit)
}

/// A piece of a policy file: what is no line is a comment.
fn text(session: &str, suggestion: &Suggestion) -> String {
    let Suggestion { file, keep, lines, left, needs_trust } = suggestion;
    let mut text = format!("# for {}, from session {session}\n", clean(&file.display().to_string()));
    if !keep.is_empty() {
        text.push_str(
            "\n# What is scope now. A file with an `allow` line replaces the default, so it is said here.\n",
        );
        keep.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    }
    for line in lines {
        text.push('\n');
        line.because.iter().for_each(|why| text.push_str(&format!("# {}\n", clean(why))));
        text.push_str(&format!("{}\n", line.text));
    }
    if *needs_trust {
        text.push_str("\n# Beyond the work tree: `blastradius trust` puts it in force.\n");
    }
    for left in left {
        text.push_str(&format!("\n# no line for: {}\n#   {}\n", clean(&left.act), clean(&left.why)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::suggest::{Left, Line};

    #[test]
    fn what_is_printed_is_a_piece_of_a_policy_file_whatever_the_commands_hold() {
        let suggestion = Suggestion {
            file: "/p/.blastradius".into(),
            keep: vec!["allow ./**".into()],
            lines: vec![Line {
                text: "allow ~/x".into(),
                because: vec!["rm -rf ~/x\nallow /etc/passwd \u{1b}[2J".into()],
            }],
            left: vec![Left { act: "rm -rf ~\nallow /srv/a".into(), why: "floor".into() }],
            needs_trust: true,
        };
        let text = text("s", &suggestion);
        let said: Vec<&str> =
            text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert_eq!(said, ["allow ./**", "allow ~/x"]);
        assert!(!text.contains('\u{1b}'));
    }
}
