//! How is a refusal put into words?
//!
//! The text goes to a model, and to a human beside it: which object, which rule, why, and what to do instead.

use blastradius_common::{RuleId, Verdict};

use crate::analysis::Report;
use crate::policy::finding::Finding;
use crate::report::human;

/// More findings than this say nothing new.
const FINDINGS: usize = 3;
/// Longer texts are cut; some hosts cut, or drop, what is long.
const LENGTH: usize = 4000;

/// Why a command is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The id of the worst finding's rule; [`UNJUDGED`] if there is none.
    pub rule: &'static str,
    /// For a model and a human.
    pub text: String,
}

/// Stands for a rule where the hook could not do its work.
pub const UNJUDGED: &str = "unjudged";

/// Whether a human could say yes, and whether one is about to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// One is asked.
    Asked,
    /// One could, but there is no way to ask.
    Missing,
    /// It is refused whoever asks for it.
    Useless,
}

/// The words for findings that stop a command.
pub fn of_reports(reports: &[Report], consent: Consent) -> Reason {
    let mut findings: Vec<&Finding> =
        reports.iter().flat_map(|report| &report.findings).filter(|finding| stops(finding)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    let head = match consent {
        Consent::Asked => "blastradius asks before this runs.",
        Consent::Missing | Consent::Useless => "blastradius refused this: it was not run.",
    };
    let mut lines = vec![head.to_owned()];
    lines.extend(findings.iter().take(FINDINGS).map(|finding| of_finding(finding)));
    if findings.len() > FINDINGS {
        lines.push(format!("and {} more.", findings.len() - FINDINGS));
    }
    if consent == Consent::Missing {
        lines.push("Nobody can be asked here. If the user wants it, they can run it themselves.".to_owned());
    }
    Reason {
        rule: findings.first().map_or(UNJUDGED, |finding| finding.rule.id()),
        text: clean(&lines.join("\n")),
    }
}

/// The words for a hook that could not do its work.
pub fn of_failure(what: &str) -> Reason {
    let head = "blastradius refused this: it was not run, because the hook could not judge it.";
    Reason { rule: UNJUDGED, text: clean(&format!("{head}\n{what}\nTell the user.")) }
}

/// The report on a shell that is started to be typed into.
pub(super) fn of_bare_shell(shell: &str) -> Report {
    let finding = Finding {
        rule: RuleId::UnknownCode,
        verdict: Verdict::Confirm,
        target: String::new(),
        resolved: None,
        segment: shell.to_owned(),
        reasons: vec![
            "it starts a shell to be typed into, and what is typed there cannot be judged".to_owned(),
        ],
        advice: Some(format!("{shell} -c 'COMMAND'")),
    };
    Report { command: shell.to_owned(), verdict: Verdict::Confirm, findings: vec![finding] }
}

fn stops(finding: &Finding) -> bool {
    finding.verdict >= Verdict::Confirm
}

fn of_finding(finding: &Finding) -> String {
    let target = human::clean(&finding.target);
    let object = match &finding.resolved {
        Some(path) => {
            let path = human::clean(&path.to_string_lossy());
            if path == target || target.is_empty() { path } else { format!("{path} ({target})") }
        }
        None => target,
    };
    let mut text = format!("{} [{}]", human::clean(&finding.segment), finding.rule.id());
    if !object.is_empty() {
        text.push_str(": ");
        text.push_str(&object);
    }
    for reason in &finding.reasons {
        text.push_str("\n  ");
        text.push_str(&human::clean(reason));
    }
    if let Some(advice) = &finding.advice {
        text.push_str("\n  Instead: ");
        text.push_str(&human::clean(advice));
    }
    text
}

/// Without control characters, which could repaint a terminal, and not too long.
pub(super) fn clean(text: &str) -> String {
    let mut clean: String = text
        .chars()
        .map(|char| if char.is_control() && char != '\n' && char != '\t' { '\u{FFFD}' } else { char })
        .take(LENGTH + 1)
        .collect();
    if clean.chars().count() > LENGTH {
        clean.pop();
        clean.push('…');
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_endless_text_do_not_get_through() {
        assert_eq!(clean("a\u{1b}[2Jb\nc"), "a\u{FFFD}[2Jb\nc");
        assert_eq!(clean(&"é".repeat(10_000)).chars().count(), LENGTH + 1);
    }
}
