//! `cargo xtask demo`: what agents have done to homes, replayed without the guard and with it, where nothing real can be lost.

mod acts;
pub(crate) mod stage;
mod svg;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use nix::unistd::geteuid;

use crate::{
    proc, program,
    setup::{self, requirements::Job},
};
use acts::{ACTS, Act, Stakes};
use stage::{Count, Report};

/// Replay what agents have done to homes, without the guard and with it
///
/// Each act gets a root of its own: an overlay of this machine's in private namespaces, whose writes are dropped. It fails if the guard
/// lets anything be lost that the agent had no business with, or if it disturbs ordinary work.
#[derive(Debug, Default, Args)]
pub(crate) struct Request {
    /// Only these acts
    #[arg(value_name = "ACT", value_parser = ACTS.iter().map(|act| act.name).collect::<Vec<_>>())]
    acts: Vec<String>,
    /// Do not put the guard to the test
    #[arg(long)]
    unguarded: bool,
    /// Draw it, too: a picture of a terminal, for a page
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Both ways of an act.
struct Played {
    act: &'static Act,
    unguarded: Report,
    guarded: Option<Report>,
}

/// Plays them and prints what was lost and what was saved.
pub(crate) fn run(request: &Request) -> Result<i32> {
    if !geteuid().is_root() {
        bail!("a throwaway root takes root to make: sudo env PATH=\"$PATH\" cargo xtask demo");
    }
    setup::ensure(&[Job::Programs])?;
    let props = props(!request.unguarded)?;
    let wanted = |act: &&Act| request.acts.is_empty() || request.acts.iter().any(|name| name == act.name);
    let mut played = Vec::new();
    for act in ACTS.iter().filter(wanted) {
        eprintln!("xtask demo: {}", act.title);
        let unguarded = play(act, props.path(), false)?;
        let guarded = if request.unguarded { None } else { Some(play(act, props.path(), true)?) };
        played.push(Played { act, unguarded, guarded });
    }
    for played in &played {
        tell(played);
    }
    println!(
        "\nFiles outside of the project, and files in the project, which are the agent's to delete:\n\n{}",
        table(&played)
    );
    if let Some(file) = &request.svg {
        fs::write(file, svg::picture(&played)).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let wrong: Vec<String> = played.iter().filter_map(wrong).collect();
    for complaint in &wrong {
        println!("{complaint}");
    }
    Ok(i32::from(!wrong.is_empty()))
}

/// What goes on stage: the guard, the programs of the acts, and the script that fills the home.
fn props(guarded: bool) -> Result<tempfile::TempDir> {
    let props = tempfile::Builder::new().prefix("blastradius-demo-").tempdir()?;
    let at = |name: &str| props.path().join(name);
    if guarded {
        fs::copy(program::build()?, at("blastradius"))?;
    }
    fs::write(at("home.sh"), include_str!("home.sh"))?;
    fs::write(at("cleanup.py"), "import os, shutil\nshutil.rmtree(os.environ[\"HOME\"])\n")?;
    let source = at("wipe.c");
    fs::write(&source, include_str!("wipe.c"))?;
    proc::run(Command::new("cc").args(["-O1", "-Wall", "-o"]).arg(at("wipe")).arg(&source))?;
    Ok(props)
}

fn play(act: &Act, props: &Path, guarded: bool) -> Result<Report> {
    let ourselves = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--net",
        "--ipc",
        "--propagation",
        "private",
    ]);
    command.arg(ourselves).args(["stage", act.name]).arg(props);
    if guarded {
        command.arg("--guarded");
    }
    let report =
        proc::capture(&mut command).with_context(|| format!("the stage for `{}` broke down", act.name))?;
    serde_json::from_str(&report).with_context(|| format!("no report of `{}`, but: {report}", act.name))
}

fn tell(Played { act, unguarded, guarded }: &Played) {
    println!("\n== {}\n{}", act.title, act.story);
    for line in act.text.trim().lines() {
        println!("    | {line}");
    }
    show("without the guard", unguarded);
    if let Some(report) = guarded {
        show("under `blastradius run`", report);
    }
}

/// How much of an act's output is shown, the rung and a whole refusal: programs that are refused a thousand times say so a thousand times.
const SHOWN: usize = 11;

fn show(how: &str, report: &Report) {
    println!("\n  {how}: exit {}", report.code);
    for line in report.output.lines().take(SHOWN) {
        println!("    {line}");
    }
    match report.output.lines().count().saturating_sub(SHOWN) {
        0 => {}
        more => println!("    … and {more} lines more"),
    }
}

fn table(played: &[Played]) -> String {
    let mut rows = vec![["".to_owned(), "without the guard".to_owned(), "under blastradius run".to_owned()]];
    for Played { act, unguarded, guarded } in played {
        let with = guarded.as_ref().map_or_else(|| "not tried".to_owned(), |report| verdict(act, report));
        rows.push([act.title.to_owned(), verdict(act, unguarded), with]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    rows.iter().map(|[what, without, with]| format!("{what:<first$}  {without:<second$}  {with}\n")).collect()
}

/// A cell of the table.
fn verdict(act: &Act, report: &Report) -> String {
    match act.stakes {
        Stakes::Work { .. } if succeeded(report) => "undisturbed".to_owned(),
        Stakes::Work { .. } => format!("DISTURBED: exit {}", report.code),
        Stakes::Files(_) => losses(report),
    }
}

fn losses(Report { outside, inside, .. }: &Report) -> String {
    let Count { before, after } = *outside;
    let what = if after == before {
        format!("saved all {before} files")
    } else {
        format!("LOST {} of {before} files", before - after)
    };
    match inside.before - inside.after {
        0 => what,
        gone => format!("{what}, and {gone} of {} in the project", inside.before),
    }
}

/// Whether ordinary work did what it was to do, and nothing else went.
fn succeeded(report: &Report) -> bool {
    report.code == 0 && report.left.is_empty() && report.outside.before == report.outside.after
}

/// What is not as it should be, if anything is.
fn wrong(Played { act, unguarded, guarded }: &Played) -> Option<String> {
    let lost = |report: &Report| report.outside.after < report.outside.before;
    let name = act.name;
    match (act.stakes, guarded) {
        (Stakes::Files(_), _) if !lost(unguarded) => {
            Some(format!("{name}: nothing was lost without the guard: this shows nothing"))
        }
        (Stakes::Files(_), Some(report)) if lost(report) => {
            Some(format!("{name}: the guard let files be lost"))
        }
        // A guard that does not start saves everything.
        (_, Some(report)) if report.code == 125 => Some(format!("{name}: the guard did not start")),
        (Stakes::Work { .. }, _) if !succeeded(unguarded) => {
            Some(format!("{name}: the work fails without the guard, too"))
        }
        (Stakes::Work { .. }, Some(report)) if !succeeded(report) => {
            Some(format!("{name}: the guard disturbed ordinary work"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(after: usize, code: i32) -> Report {
        Report {
            outside: Count { before: 9, after },
            inside: Count { before: 4, after: 4 },
            left: Vec::new(),
            code,
            output: String::new(),
        }
    }

    fn played(name: &str, unguarded: Report, guarded: Report) -> Played {
        let act = ACTS.iter().find(|act| act.name == name).unwrap();
        Played { act, unguarded, guarded: Some(guarded) }
    }

    #[test]
    fn a_show_that_shows_nothing_is_wrong() {
        assert_eq!(wrong(&played("python", report(0, 0), report(9, 1))), None);
        assert!(wrong(&played("python", report(9, 0), report(9, 1))).unwrap().contains("shows nothing"));
        assert!(wrong(&played("python", report(0, 0), report(8, 1))).unwrap().contains("be lost"));
        assert!(wrong(&played("python", report(0, 0), report(9, 125))).unwrap().contains("not start"));
        assert_eq!(wrong(&played("work", report(9, 0), report(9, 0))), None);
        assert!(wrong(&played("work", report(9, 0), report(9, 2))).unwrap().contains("disturbed"));
        assert!(wrong(&played("work", report(9, 2), report(9, 2))).unwrap().contains("fails without"));
    }

    #[test]
    fn the_table_lines_up() {
        let text = table(&[
            played("python", report(0, 0), report(9, 1)),
            played("work", report(9, 0), report(9, 0)),
        ]);
        let column = |line: &str, word: &str| line.find(word).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(column(lines[0], "without"), column(lines[1], "LOST 9 of 9"));
        assert_eq!(
            column(lines[0], "under"),
            column(lines[2].trim_end(), "undisturbed").max(column(lines[1], "saved"))
        );
    }
}
