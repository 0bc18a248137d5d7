//! The refusal, the question and the warning, as text.
//!
//! ```text
//! blastradius  BLOCKED
//!   command   rm -rf "$AGENT_TMP/session-$SID"
//!   resolved  /session-
//!   reason    AGENT_TMP is unset: expansion produced an empty string
//!             SID is unset: expansion produced an empty string
//!   rule      empty-variable-expansion (cannot be overridden)
//!   instead   rm -rf "${AGENT_TMP:?}/session-${SID:?}"
//!   human     to do it yourself, run it outside the agent
//! ```

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use blastradius_common::Verdict;

use crate::analysis::Report;
use crate::policy::config::is_invisible;
use crate::policy::finding::Finding;
use crate::policy::rules;

/// Findings that are told in full; of further ones only the rule and the path.
const TOLD: usize = 3;

/// Lines of reasons of one finding.
const REASON_LIMIT: usize = 6;

/// Text longer than this is cut: a refusal is read on a terminal.
const TEXT_LIMIT: usize = 400;

const LABEL: Style = Style::new().dimmed();
const PATH: Style = Style::new().bold();

/// Renders a report, ANSI colours included; the stream that it is written to strips them where they are not wanted
/// (`anstream`). Empty for a report without findings.
pub fn render(report: &Report) -> String {
    let Some(worst) = report.findings.first() else { return String::new() };
    let mut text = String::new();
    let (title, colour) = title(worst.verdict);
    line(&mut text, format_args!("blastradius  {colour}{title}{colour:#}"));
    for (at, finding) in report.findings.iter().take(TOLD).enumerate() {
        if at > 0 {
            text.push('\n');
        }
        told(&mut text, report, finding);
    }
    for finding in report.findings.iter().skip(TOLD) {
        let object = resolved(finding).unwrap_or_else(|| clean(&finding.target));
        let also = format!("{object} ({}, {})", finding.rule.id(), finding.verdict.name());
        field(&mut text, "also", [also].into_iter());
    }
    field(&mut text, "human", std::iter::once(human(worst.verdict).into()));
    text
}

fn title(verdict: Verdict) -> (&'static str, Style) {
    let style = |colour: AnsiColor| colour.on_default().bold();
    match verdict {
        Verdict::Deny => ("BLOCKED", style(AnsiColor::Red)),
        Verdict::Confirm => ("ASKS", style(AnsiColor::Yellow)),
        Verdict::Warn | Verdict::Allow => ("WARN", style(AnsiColor::Cyan)),
    }
}

fn human(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Deny => "to do it yourself, run it outside the agent",
        Verdict::Confirm => "it runs only with a person's yes",
        Verdict::Warn | Verdict::Allow => "it runs; --strict refuses it",
    }
}

fn told(text: &mut String, report: &Report, finding: &Finding) {
    field(text, "command", std::iter::once(clean(&report.command)));
    // In a compound command, which part of it is meant.
    let segment = clean(&finding.segment);
    if !segment.is_empty() && segment != clean(&report.command) {
        field(text, "segment", std::iter::once(segment));
    }
    if let Some(resolved) = resolved(finding) {
        field(text, "resolved", std::iter::once(format!("{PATH}{resolved}{PATH:#}")));
    }
    let more = finding.reasons.len().saturating_sub(REASON_LIMIT);
    let reasons = finding.reasons.iter().take(REASON_LIMIT).map(|reason| clean(reason));
    let rest = (more > 0).then(|| format!("… and {more} more"));
    field(text, "reason", reasons.chain(rest));
    let fixed = if rules::rule(finding.rule).overridable { "" } else { " (cannot be overridden)" };
    field(text, "rule", std::iter::once(format!("{}{fixed}", finding.rule.id())));
    if let Some(advice) = &finding.advice {
        field(text, "instead", std::iter::once(clean(advice)));
    }
}

fn resolved(finding: &Finding) -> Option<String> {
    finding.resolved.as_ref().map(|path| clean(&path.to_string_lossy()))
}

/// One field; further lines are aligned under the first.
fn field(text: &mut String, label: &str, values: impl Iterator<Item = String>) {
    for (at, value) in values.enumerate() {
        let label = if at == 0 { label } else { "" };
        line(text, format_args!("  {LABEL}{label:<8}{LABEL:#}  {value}"));
    }
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{what}");
}

/// Text that an agent chose, made safe for a terminal: control and invisible characters are shown as escapes, length is
/// bounded.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, letter) in text.chars().enumerate() {
        if at == TEXT_LIMIT {
            out.push('…');
            break;
        }
        match letter {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            letter if letter.is_control() || is_invisible(letter) => out.extend(letter.escape_unicode()),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use blastradius_common::RuleId;

    fn finding(verdict: Verdict) -> Finding {
        Finding {
            rule: RuleId::EmptyVariableExpansion,
            verdict,
            target: "\"$AGENT_TMP/session-$SID\"".into(),
            resolved: Some("/session-".into()),
            segment: "rm -rf \"$AGENT_TMP/session-$SID\"".into(),
            reasons: vec![
                "AGENT_TMP is unset: expansion produced an empty string".into(),
                "SID is unset".into(),
            ],
            advice: Some("rm -rf \"${AGENT_TMP:?}/session-${SID:?}\"".into()),
        }
    }

    fn report(command: &str, findings: Vec<Finding>) -> Report {
        let verdict = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Allow);
        Report { command: command.into(), verdict, findings }
    }

    fn plain(report: &Report) -> String {
        anstream::adapter::strip_str(&render(report)).to_string()
    }

    #[test]
    fn a_refusal_has_the_layout_of_the_documentation() {
        let report = report("rm -rf \"$AGENT_TMP/session-$SID\"", vec![finding(Verdict::Deny)]);
        assert_eq!(
            plain(&report),
            "blastradius  BLOCKED\n  \
             command   rm -rf \"$AGENT_TMP/session-$SID\"\n  \
             resolved  /session-\n  \
             reason    AGENT_TMP is unset: expansion produced an empty string\n            \
             SID is unset\n  \
             rule      empty-variable-expansion (cannot be overridden)\n  \
             instead   rm -rf \"${AGENT_TMP:?}/session-${SID:?}\"\n  \
             human     to do it yourself, run it outside the agent\n"
        );
    }

    #[test]
    fn a_compound_command_names_the_segment_and_a_question_says_so() {
        let report = report("ls; rm -rf \"$AGENT_TMP/session-$SID\"", vec![finding(Verdict::Confirm)]);
        let text = plain(&report);
        assert!(text.starts_with("blastradius  ASKS\n"), "{text}");
        assert!(text.contains("\n  segment   rm -rf"), "{text}");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\r\nc\u{202e}"), "a\\u{1b}[31mb\\u{d}\\nc\\u{202e}");
        let mut long = finding(Verdict::Deny);
        long.segment = "x".repeat(100_000);
        assert!(plain(&report(&"y".repeat(100_000), vec![long])).len() < 3_000);
    }

    #[test]
    fn many_findings_are_told_compactly_and_none_gives_nothing() {
        let many = report("x", (0..10).map(|_| finding(Verdict::Deny)).collect());
        assert_eq!(plain(&many).matches("  also").count(), 10 - TOLD);
        assert_eq!(render(&report("x", Vec::new())), "");
    }
}
