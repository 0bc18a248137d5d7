//! `blastradius check --batch`: JSON lines in, JSON lines out, one answer for each line whatever it holds.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::exit;
use crate::analysis::{self, Report, Subject};
use crate::policy::mode::Asker;
use crate::programs::Dialect;
use crate::report::json::Answer;
use crate::shell::world::Platform;
use crate::system::System;

/// One line of input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Given back as it is.
    #[serde(default)]
    id: Value,
    /// Shell text.
    command: String,
    /// Where it would run; the working directory of this process if absent. Need not exist.
    cwd: Option<PathBuf>,
    /// Set on top of the environment: a string, or null to unset.
    #[serde(default)]
    env: BTreeMap<String, Option<String>>,
    /// Start from an empty environment.
    #[serde(default)]
    clear_env: bool,
    /// Which layout and floor apply; this machine's if absent.
    platform: Option<PlatformName>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PlatformName {
    Linux,
    MacOs,
}

pub(super) fn main(asker: Asker, dialect: Dialect) -> ExitCode {
    let mut broken = 0_usize;
    let mut output = std::io::stdout().lock();
    for (index, line) in std::io::stdin().lock().split(b'\n').enumerate() {
        let answer = match line.context("stdin").and_then(|line| answer(&line, asker, dialect)) {
            Ok(None) => continue,
            Ok(Some(answer)) => answer,
            Err(error) => {
                broken += 1;
                // A caller that only looks at the verdict must not take an error for a yes.
                json!({"id": null, "verdict": "deny", "findings": [], "error": format!("line {}: {error:#}", index + 1)})
                    .to_string()
            }
        };
        if let Err(error) = writeln!(output, "{answer}") {
            return exit::failure(&anyhow::Error::from(error).context("stdout"), exit::OWN_FAILURE);
        }
    }
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::from(exit::DATA) }
}

/// The answer to one line; `None` for a blank one.
fn answer(line: &[u8], asker: Asker, dialect: Dialect) -> Result<Option<String>> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let request: Request = serde_json::from_slice(line)
        .context("expected {\"id\",\"command\",\"cwd\"?,\"env\"?,\"clear_env\"?,\"platform\"?}")?;
    if let Some(cwd) = &request.cwd {
        ensure!(cwd.is_absolute(), "cwd: expected an absolute path, found {}", cwd.display());
    }
    let began = Instant::now();
    let report = judge(&request, asker, dialect)?;
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok(Some(Answer::new(&report, Some(&request.id), Some(micros)).to_line()))
}

fn judge(request: &Request, asker: Asker, dialect: Dialect) -> Result<Report> {
    let mut system = System::current().context("the working directory cannot be read")?;
    if request.clear_env {
        system = system.with_clear_env();
    }
    for (name, value) in &request.env {
        system = system.with_env(name, value.as_deref());
    }
    if let Some(cwd) = &request.cwd {
        system = system.with_cwd(cwd.clone());
    }
    system = match request.platform {
        Some(PlatformName::Linux) => system.with_platform(Platform::Linux),
        Some(PlatformName::MacOs) => system.with_platform(Platform::MacOs),
        None => system,
    };
    let policy = system.policy();
    let subject = Subject::Text { text: request.command.clone().into_bytes(), dialect };
    Ok(analysis::analyze(&subject, &system, &policy, asker))
}
