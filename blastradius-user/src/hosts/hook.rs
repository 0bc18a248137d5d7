//! A payload in, an answer out.

use std::path::Path;
use std::time::Duration;

use blastradius_common::Verdict;
use serde_json::Value;

use super::answer::Answer;
use super::judge::{Judge, Question};
use super::reason::Consent;
use super::request::{Moment, Request};
use super::table::{Ask, Host};
use super::{document, reason, request, table, tell};
use crate::analysis::Report;
use crate::policy::mode::{Asker, Mode, Surface};

/// How long the hook may take, reading included. Far below every host's limit: when that is reached, the command runs
/// in all of them (measured), so the hook must have refused by then.
pub const DEADLINE: Duration = Duration::from_secs(4);

/// The answer to one payload. `name` is the host that the installed command names, if it does; `here` is the
/// directory of this process.
pub fn answer(payload: &[u8], name: Option<&str>, here: &Path, judge: &dyn Judge) -> Answer {
    let named = name.and_then(table::find);
    if let (Some(name), None) = (name, named) {
        return Answer::deny(None, &reason::of_failure(&format!("No host is called {name:?}.")));
    }
    let document = match document::read(payload) {
        Ok(document) => document,
        Err(error) => return Answer::deny(named, &reason::of_failure(&sentence(&error))),
    };
    let host = match name {
        Some(name) => tell::by_name(name, &document),
        None => tell::by_shape(&document),
    };
    let Some(host) = host else {
        let what = "The payload is none of a host that is known. Name the host with --agent.";
        return Answer::deny(None, &reason::of_failure(what));
    };
    match request::read(host, &document, here) {
        Ok(request) if request.moment == Moment::After => after(host, &request, judge),
        Ok(request) => before(host, &document, &request, judge),
        Err(error) => Answer::deny(Some(host), &reason::of_failure(&sentence(&error))),
    }
}

/// The answer of a hook that could not do its work.
pub fn failure(name: Option<&str>, what: &str) -> Answer {
    Answer::deny(name.and_then(table::find), &reason::of_failure(what))
}

fn sentence(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}

fn before(host: &Host, document: &Value, request: &Request, judge: &dyn Judge) -> Answer {
    let asks = !request.human && honours_ask(host, document);
    let mode = if asks { Mode::Interactive } else { Mode::Unattended };
    let reports = objections(request, judge, mode);
    match worst(&reports) {
        Verdict::Allow | Verdict::Warn => Answer::allow(host, request.explicit),
        // A human's own command is stopped only by what nobody may do.
        Verdict::Confirm if request.human => Answer::allow(host, request.explicit),
        Verdict::Confirm if asks => Answer::ask(host, &reason::of_reports(&reports, Consent::Asked)),
        Verdict::Confirm => Answer::deny(Some(host), &reason::of_reports(&reports, Consent::Missing)),
        Verdict::Deny => {
            // Unattended, what would be asked is a denial too; the model should know the one from the other.
            let askable = !asks && worst(&objections(request, judge, Mode::Interactive)) < Verdict::Deny;
            let consent = if askable { Consent::Missing } else { Consent::Useless };
            Answer::deny(Some(host), &reason::of_reports(&reports, consent))
        }
    }
}

/// The reports on everything that must not simply run.
fn objections(request: &Request, judge: &dyn Judge, mode: Mode) -> Vec<Report> {
    let asker = Asker { mode, surface: if request.human { Surface::Human } else { Surface::Hook } };
    let reports = request.asked.iter().map(|asked| match blind(&asked.question) {
        Some(report) => report,
        None => judge.judge(&asked.question, &asked.cwd, asker),
    });
    reports.filter(|report| report.verdict >= Verdict::Confirm).collect()
}

fn worst(reports: &[Report]) -> Verdict {
    reports.iter().map(|report| report.verdict).max().unwrap_or(Verdict::Allow)
}

fn honours_ask(host: &Host, document: &Value) -> bool {
    match &host.answer.ask_in {
        Ask::Never => false,
        Ask::Always => true,
        Ask::Modes(pointer, modes) => {
            document.pointer(pointer).and_then(Value::as_str).is_some_and(|mode| modes.contains(&mode))
        }
        Ask::Payload(pointer) => document.pointer(pointer) == Some(&Value::Bool(true)),
    }
}

/// A shell that is started to be typed into: what is typed raises no event in any host, so only its start can be
/// judged.
fn blind(question: &Question) -> Option<Report> {
    const CARRIERS: &[&str] = &["exec", "env", "sudo", "command", "nohup", "setsid"];
    const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish", "tcsh"];
    let words: Vec<&str> = match question {
        Question::Text(text) => text.split_whitespace().collect(),
        Question::Argv(argv) => argv.iter().map(String::as_str).collect(),
        Question::File(..) => return None,
    };
    let mut words = words.into_iter().skip_while(|word| CARRIERS.contains(word));
    let shell = words.next()?;
    let name = shell.rsplit('/').next()?;
    let interactive =
        |word: &str| word.starts_with('-') && !word.contains('c') && word != "-s" || word.starts_with("--");
    if !SHELLS.contains(&name) || !words.all(interactive) {
        return None;
    }
    Some(reason::of_bare_shell(shell))
}

fn after(host: &Host, request: &Request, judge: &dyn Judge) -> Answer {
    let refusals = judge.refusals();
    if refusals.is_empty() {
        return Answer::allow(host, request.explicit);
    }
    let text = format!("blastradius refused part of what this command did:\n{}", refusals.join("\n"));
    Answer::context(host, &request.event, &reason::clean(&text))
}
