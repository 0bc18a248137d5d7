//! The analyzer on this machine, as hooks ask it.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use blastradius_common::Verdict;
use serde_json::Value;

use super::judge::{FileAct, Judge, Question};
use crate::analysis::{self, Report, Subject};
use crate::policy::Policy;
use crate::policy::effect::{Act, Base, Effect, Follow, Located, PathTarget, Selection};
use crate::policy::finding::worst;
use crate::policy::judge::judge;
use crate::policy::mode::Asker;
use crate::programs::Dialect;
use crate::shell::value::Field;
use crate::shell::world::World as _;
use crate::system::System;

/// More refusals than this say nothing new.
const REFUSALS: usize = 5;
/// So much of a session's log is read for one answer.
const TAIL: u64 = 1 << 20;

/// This machine, with the environment of this process: the hook's, which is not the shell's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

impl Judge for Machine {
    fn judge(&self, question: &Question, cwd: &Path, asker: Asker) -> Report {
        let uid = nix::unistd::geteuid().as_raw();
        let system = System::of_process(std::env::vars_os(), cwd.to_path_buf(), uid, None);
        let policy = system.policy();
        let subject = match question {
            Question::Text(text) => Subject::Text { text: text.clone().into_bytes(), dialect: dialect() },
            Question::Argv(argv) => {
                Subject::Exec { path: None, argv: argv.iter().map(std::ffi::OsString::from).collect() }
            }
            Question::File(act, path) => return of_file(*act, path, &system, &policy, asker),
        };
        let (report, effects) = analysis::analyze_with_effects(&subject, &system, &policy, asker);
        kept(report, &effects, &system, policy, asker)
    }

    fn refusals(&self) -> Vec<String> {
        let session = std::env::var("BLASTRADIUS_SESSION").ok();
        session.and_then(|session| untold(&session)).unwrap_or_default()
    }
}

/// Keeps what the command would destroy, as far as there is time: what could be kept need not be asked about.
#[cfg(target_os = "linux")]
fn kept(report: Report, effects: &[Located], system: &System, policy: Policy, asker: Asker) -> Report {
    /// Well within the hook's own deadline.
    const PATIENCE: std::time::Duration = std::time::Duration::from_millis(1500);
    if report.verdict < Verdict::Confirm {
        return report;
    }
    let policy = std::sync::Arc::new(policy);
    crate::undo::session::once("hook", report, effects, system, policy, asker.mode, PATIENCE).0
}

/// Keeping is for Linux.
#[cfg(not(target_os = "linux"))]
fn kept(report: Report, _: &[Located], _: &System, _: Policy, _: Asker) -> Report {
    report
}

/// The shell that agents use is the user's, as far as it is known.
fn dialect() -> Dialect {
    let shell = std::env::var("SHELL").unwrap_or_default();
    if shell.rsplit('/').next() == Some("zsh") { Dialect::Zsh } else { Dialect::Bash }
}

/// What a file tool does has no command; its effect is stated directly.
fn of_file(act: FileAct, path: &Path, system: &System, policy: &Policy, asker: Asker) -> Report {
    let (act, program) = match act {
        FileAct::Write => (Act::Replace, "write"),
        FileAct::Delete => (Act::Remove { recursive: true }, "delete"),
        FileAct::Move => (Act::Move, "move"),
    };
    // Some tools expand a leading tilde; those that do not would not have found a file of that name either.
    let home = system.home_of(None);
    let path = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_path_buf(),
    };
    let shown = path.to_string_lossy();
    let target = PathTarget {
        operand: Field::literal(&shown),
        base: Base::Known(Rc::new(system.cwd())),
        follow: if act == Act::Replace { Follow::Last } else { Follow::Never },
        selection: Selection::default(),
    };
    let segment: Rc<str> = format!("{program} {shown}").into();
    let effect = Effect::Path { act, target };
    let located = Located {
        effect,
        segment: segment.clone(),
        program: program.into(),
        conditional: false,
        elsewhere: None,
    };
    let mut findings = judge(&[located], policy, system, asker);
    findings.retain(|finding| finding.verdict != Verdict::Allow);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    let verdict = worst(&findings);
    Report { command: segment.to_string(), verdict, findings }
}

/// What the session's log says was refused and no hook has told yet.
fn untold(session: &str) -> Option<Vec<String>> {
    let name_is_plain = session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let directory = crate::system::state::directory().filter(|_| name_is_plain)?;
    let mut log = File::open(directory.join(format!("{session}.jsonl"))).ok()?;
    let length = log.metadata().ok()?.len();
    let mark = directory.join(format!("{session}.told"));
    let told: u64 = fs::read_to_string(&mark).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let from = told.max(length.saturating_sub(TAIL)).min(length);
    log.seek(SeekFrom::Start(from)).ok()?;
    let mut text = String::new();
    log.take(TAIL).read_to_string(&mut text).ok()?;
    // Only whole lines; the rest is told the next time.
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    // If the mark cannot be kept, the model reads a refusal twice, which harms nothing.
    let _ = fs::write(&mark, (from + whole as u64).to_string());
    let refusals = text[..whole].lines().filter_map(refusal).take(REFUSALS).collect();
    Some(refusals)
}

/// One line of the log in words, if it tells of a refusal.
fn refusal(line: &str) -> Option<String> {
    let record: Value = serde_json::from_str(line).ok()?;
    if record["event"] != "refused" {
        return None;
    }
    let field = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let object = Some(field("resolved")).filter(|path| !path.is_empty()).unwrap_or_else(|| field("target"));
    let mut text = format!("{object} [{}]", field("rule"));
    let reasons = record["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for reason in reasons {
        text.push_str("\n  ");
        text.push_str(reason);
    }
    if let Some(advice) = record["advice"].as_str() {
        text.push_str("\n  Instead: ");
        text.push_str(advice);
    }
    Some(text)
}

/// The directory of this process, or the root if it is gone: every path that a payload gives is absolute then.
pub fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_are_told_with_their_object_rule_and_advice() {
        let refused = r#"{"v":1,"event":"refused","rule":"floor-path","resolved":"/home/dev","reasons":["it is a home"],"advice":"rm x"}"#;
        assert_eq!(
            refusal(refused).as_deref(),
            Some("/home/dev [floor-path]\n  it is a home\n  Instead: rm x")
        );
        assert_eq!(refusal(r#"{"v":1,"event":"start"}"#), None);
        assert_eq!(refusal("garbage"), None);
    }
}
