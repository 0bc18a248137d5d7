//! `blastradius check`: judge only.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use super::{batch, exit};
use crate::analysis::{self, Subject};
use crate::policy::mode::{Asker, Mode, Surface};
use crate::programs::Dialect;
use crate::report::human;
use crate::report::json::Answer;
use crate::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print the findings as one JSON document on stdout
    #[arg(long)]
    json: bool,
    /// Read JSON lines on stdin, write one answer a line on stdout
    #[arg(long, conflicts_with_all = ["json", "text", "cwd"])]
    batch: bool,
    #[command(flatten)]
    judging: Judging,
    /// Judge as if run in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The shell command, as one text
    #[arg(required_unless_present = "batch", num_args = 1.., value_name = "TEXT")]
    text: Vec<OsString>,
}

// What `check` and `explain` have in common. Not a documentation comment: clap would take it for what each of them says of
// itself.
#[derive(Debug, clap::Args)]
pub(super) struct Judging {
    /// Nobody can answer a question: what would be asked is refused
    #[arg(long)]
    unattended: bool,
    /// Unattended, and warnings are refused
    #[arg(long)]
    strict: bool,
    /// The shell that will read the text
    #[arg(long, value_enum, default_value_t = Shell::Bash)]
    shell: Shell,
}

/// The shells whose grammar is known.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shell {
    Bash,
    Sh,
    Dash,
    Zsh,
}

impl Judging {
    /// The asker that the flags describe.
    pub(super) fn asker(&self) -> Asker {
        let mode = match (self.strict, self.unattended) {
            (true, _) => Mode::Strict,
            (false, true) => Mode::Unattended,
            (false, false) => Mode::Interactive,
        };
        Asker { mode, surface: Surface::Text }
    }

    /// The dialect that the flags name.
    pub(super) fn dialect(&self) -> Dialect {
        match self.shell {
            Shell::Bash => Dialect::Bash,
            Shell::Sh | Shell::Dash => Dialect::Posix,
            Shell::Zsh => Dialect::Zsh,
        }
    }
}

/// Several arguments are one text, as they are for `eval`.
pub(super) fn join(words: Vec<OsString>) -> Vec<u8> {
    let words: Vec<Vec<u8>> = words.into_iter().map(OsString::into_vec).collect();
    words.join(&b' ')
}

/// The machine as this process sees it, in `cwd` if one is given.
///
/// # Errors
/// If there is no working directory, or `cwd` is no directory.
pub(super) fn machine(cwd: Option<PathBuf>) -> Result<System> {
    let system = System::current().context("the working directory cannot be read")?;
    let Some(cwd) = cwd else { return Ok(system) };
    let cwd = std::fs::canonicalize(&cwd).with_context(|| format!("--cwd {}", cwd.display()))?;
    anyhow::ensure!(cwd.is_dir(), "--cwd {}: expected a directory", cwd.display());
    Ok(system.with_cwd(cwd))
}

pub(super) fn main(args: Args) -> ExitCode {
    if args.batch {
        return batch::main(args.judging.asker(), args.judging.dialect());
    }
    match check(args) {
        Ok(code) => code,
        Err(error) => exit::failure(&error, exit::USAGE),
    }
}

fn check(args: Args) -> Result<ExitCode> {
    let system = machine(args.cwd)?;
    let subject = Subject::Text { text: join(args.text), dialect: args.judging.dialect() };
    let policy = system.policy();
    let report = analysis::analyze(&subject, &system, &policy, args.judging.asker());
    if args.json {
        writeln!(std::io::stdout(), "{}", Answer::new(&report, None, None).to_line()).context("stdout")?;
    } else {
        anstream::eprint!("{}", human::render(&report));
    }
    Ok(exit::of_verdict(report.verdict))
}
