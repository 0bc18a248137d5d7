//! `blastradius shell [ARG…]`: the shell of an agent that has no hooks.
//!
//! A program finds its shell by SHELL, which is a path without arguments, so this also runs under a shell's name: a
//! link called `bash` (or `blastradius-shell`) that leads to the binary is enough. What `-c` or a script file says is
//! judged; then the real shell takes over, with the same arguments.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use blastradius_common::Verdict;

use super::exit;
use crate::analysis::{self, Subject};
use crate::policy::mode::{Asker, Mode, Surface};
use crate::programs::Dialect;
use crate::report::human;
use crate::system::System;
use crate::system::users::{self, Whom};

#[derive(Debug, clap::Args)]
#[command(override_usage = "blastradius shell [-c TEXT | FILE] [ARG]…")]
pub(super) struct Args {
    /// As the real shell takes them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    words: Vec<OsString>,
}

/// The shells that can be stood in for, and how they read.
const SHELLS: &[(&str, Dialect)] =
    &[("bash", Dialect::Bash), ("sh", Dialect::Posix), ("dash", Dialect::Posix), ("zsh", Dialect::Zsh)];
/// The name under which the user's own shell is stood in for.
const OWN_NAME: &str = "blastradius-shell";
/// Options that take the next word.
const WITH_VALUE: &[&str] = &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"];

pub(super) fn main(args: Args) -> ExitCode {
    stand_in(OsStr::new(OWN_NAME), args.words)
}

/// Whether the binary was called by a shell's name.
pub(super) fn is_called(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    // A login shell's name begins with a dash.
    let name = name.trim_start_matches('-');
    name == OWN_NAME || SHELLS.iter().any(|(shell, _)| *shell == name)
}

/// Judges what the shell called `name` would do with `words`, and becomes it.
pub(super) fn stand_in(name: &OsStr, words: Vec<OsString>) -> ExitCode {
    match shell(name).and_then(|real| Ok((judge(&real, &words)?, real))) {
        Ok((true, real)) => become_shell(&real, &words),
        Ok((false, _)) => ExitCode::from(exit::NOT_EXECUTED),
        Err(error) => exit::failure(&error, exit::NOT_EXECUTED),
    }
}

/// What a shell is asked to read.
#[derive(Debug, PartialEq, Eq)]
enum Source<'a> {
    /// `-c`.
    Text(&'a OsStr),
    /// A file.
    Script,
    /// `--version`, `--help`.
    Nothing,
    /// Standard input, and nobody knows what will be typed.
    Input,
}

fn source(words: &[OsString]) -> Source<'_> {
    let mut command = false;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.to_string_lossy();
        match &*text {
            "--version" | "--help" => return Source::Nothing,
            "--" | "-" => {
                at += 1;
                break;
            }
            option if WITH_VALUE.contains(&option) => at += 2,
            option if option.starts_with("--") => at += 1,
            option if option.starts_with(['-', '+']) && option.len() > 1 => {
                command |= option.starts_with('-') && option.contains('c');
                // `-eo pipefail`: the value is the next word.
                at += if option.contains('o') { 2 } else { 1 };
            }
            _ => break,
        }
    }
    match words.get(at) {
        Some(text) if command => Source::Text(text),
        Some(_) => Source::Script,
        None => Source::Input,
    }
}

/// Whether the shell may start. Says why not.
fn judge(real: &Path, words: &[OsString]) -> Result<bool> {
    let subject = match source(words) {
        Source::Nothing => return Ok(true),
        Source::Input => {
            anstream::eprintln!(
                "blastradius: refused to start {} without -c or a script: what is typed there cannot be judged",
                real.display()
            );
            return Ok(false);
        }
        Source::Text(text) => Subject::Text { text: text.as_bytes().to_vec(), dialect: dialect(real) },
        Source::Script => {
            let argv = std::iter::once(real.as_os_str().to_owned()).chain(words.iter().cloned());
            Subject::Exec { path: None, argv: argv.collect() }
        }
    };
    let system = System::current().context("the working directory cannot be read")?;
    let policy = system.policy();
    // Text is read by the shell as it stands, so nothing is said about quotes; but nobody can be asked.
    let asker = Asker { mode: Mode::Unattended, surface: Surface::Text };
    let report = analysis::analyze(&subject, &system, &policy, asker);
    let runs = report.verdict <= Verdict::Warn;
    if !runs {
        anstream::eprint!("{}", human::render(&report));
    }
    Ok(runs)
}

fn dialect(real: &Path) -> Dialect {
    let name = real.file_name().unwrap_or_default();
    SHELLS.iter().find(|(shell, _)| OsStr::new(shell) == name).map_or(Dialect::Bash, |(_, dialect)| *dialect)
}

/// The real shell: the first of that name on PATH that is not this program, for our own name the user's.
fn shell(name: &OsStr) -> Result<PathBuf> {
    let own =
        std::env::current_exe().and_then(std::fs::canonicalize).context("this program cannot be found")?;
    let is_real =
        |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|path| path.is_file() && path != own);
    let name = name.to_string_lossy();
    let name = name.trim_start_matches('-');
    let candidates: Vec<PathBuf> = if name == OWN_NAME {
        let own = users::find(Whom::Uid(nix::unistd::getuid().as_raw())).ok().flatten();
        let own = own.map(|user| user.shell);
        own.into_iter().chain(["/bin/bash".into(), "/bin/sh".into()]).collect()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        std::env::split_paths(&path)
            .chain(["/usr/bin".into(), "/bin".into()])
            .map(|dir| dir.join(name))
            .collect()
    };
    candidates.into_iter().find(is_real).with_context(|| format!("no other shell {name} was found"))
}

/// Becomes the shell. Comes back only if it cannot.
fn become_shell(real: &Path, words: &[OsString]) -> ExitCode {
    let error = Command::new(real).args(words).exec();
    anstream::eprintln!("blastradius: {}: {error}", real.display());
    ExitCode::from(exit::NOT_EXECUTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_found_behind_every_option() {
        let source_of = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            match source(&words) {
                Source::Text(text) => text.to_string_lossy().into_owned(),
                other => format!("{other:?}"),
            }
        };
        assert_eq!(source_of(&["-c", "ls"]), "ls");
        assert_eq!(source_of(&["-lc", "ls", "x"]), "ls");
        assert_eq!(source_of(&["-l", "-i", "-c", "--", "ls"]), "ls");
        assert_eq!(source_of(&["-eo", "pipefail", "-c", "ls"]), "ls");
        assert_eq!(source_of(&["--norc", "--rcfile", "f", "-c", "ls"]), "ls");
        assert_eq!(source_of(&["-x", "script", "-c", "ls"]), "Script");
        assert_eq!(source_of(&["-l"]), "Input");
        assert_eq!(source_of(&[]), "Input");
        assert_eq!(source_of(&["-c"]), "Input");
        assert_eq!(source_of(&["--version"]), "Nothing");
    }

    #[test]
    fn only_shells_names_are_shells() {
        for name in ["bash", "sh", "-zsh", "blastradius-shell"] {
            assert!(is_called(OsStr::new(name)), "{name}");
        }
        assert!(!is_called(OsStr::new("blastradius")));
    }
}
