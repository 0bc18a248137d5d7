//! Reports as JSON, one object each.

use blastradius_common::Verdict;
use serde::Serialize;

use crate::analysis::Report;
use crate::policy::finding::Finding;

/// One answer: `{"id","verdict","findings":[…],"micros"}`.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    /// What the question was called; left out where it had no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a serde_json::Value>,
    /// `allow`, `warn`, `confirm` or `deny`.
    pub verdict: &'static str,
    /// Worst first.
    pub findings: Vec<Line<'a>>,
    /// How long the judgement took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

/// One finding.
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    /// The rule's id.
    pub rule: &'static str,
    /// Its verdict.
    pub verdict: &'static str,
    /// The operand as written.
    pub target: &'a str,
    /// What it resolves to.
    pub resolved: Option<std::borrow::Cow<'a, str>>,
    /// The simple command that causes it.
    pub segment: &'a str,
    /// Why, one fact a line.
    pub reason: String,
    /// What could be done instead.
    pub advice: Option<&'a str>,
}

impl<'a> Answer<'a> {
    /// The answer that a report is.
    pub fn new(report: &'a Report, id: Option<&'a serde_json::Value>, micros: Option<u64>) -> Self {
        let Report { command: _, verdict, findings } = report;
        Self {
            id,
            verdict: verdict_name(*verdict),
            findings: findings.iter().map(Line::new).collect(),
            micros,
        }
    }

    /// One line of JSON, without the line's end.
    pub fn to_line(&self) -> String {
        // Strings, numbers and lists serialise without error.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl<'a> Line<'a> {
    fn new(finding: &'a Finding) -> Self {
        let Finding { rule, verdict, target, resolved, segment, reasons, advice } = finding;
        Self {
            rule: rule.id(),
            verdict: verdict_name(*verdict),
            target,
            resolved: resolved.as_ref().map(|path| path.to_string_lossy()),
            segment,
            reason: reasons.join("\n"),
            advice: advice.as_deref(),
        }
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    verdict.name()
}

#[cfg(test)]
mod tests {
    use super::*;
    use blastradius_common::RuleId;

    #[test]
    fn an_answer_is_one_line_with_the_documented_keys() {
        let finding = Finding {
            rule: RuleId::FloorPath,
            verdict: Verdict::Deny,
            target: "~".into(),
            resolved: Some("/home/dev".into()),
            segment: "rm -rf ~".into(),
            reasons: vec!["one".into(), "two".into()],
            advice: None,
        };
        let report = Report { command: "rm -rf ~".into(), verdict: Verdict::Deny, findings: vec![finding] };
        let id = serde_json::json!("c1");
        assert_eq!(
            Answer::new(&report, Some(&id), Some(12)).to_line(),
            "{\"id\":\"c1\",\"verdict\":\"deny\",\"findings\":[{\"rule\":\"floor-path\",\"verdict\":\"deny\",\"target\":\"~\",\
             \"resolved\":\"/home/dev\",\"segment\":\"rm -rf ~\",\"reason\":\"one\\ntwo\",\"advice\":null}],\"micros\":12}"
        );
    }

    #[test]
    fn a_report_without_findings_is_an_allow() {
        let report = Report { command: "ls".into(), verdict: Verdict::Allow, findings: Vec::new() };
        assert_eq!(Answer::new(&report, None, None).to_line(), "{\"verdict\":\"allow\",\"findings\":[]}");
    }
}
