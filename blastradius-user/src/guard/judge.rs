//! May it start?
//!
//! The seam between the supervisor and the analyzer. The supervisor asks from several threads, so each thread makes its
//! own judge, and a judge may keep what it likes between two questions.

use blastradius_common::{RuleId, Verdict};

use super::caller::{ExecRequest, ReadError};
use super::question::{Object, Question};
use crate::analysis::Report;
use crate::policy::finding::Finding;

/// The answer to one exec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may start. Warnings, if there are any, are only logged; what git is lent for it comes first.
    Allow(Option<Report>, Vec<Object>),
    /// It may not, and this is why.
    Refuse(Report),
    /// A person decides.
    Ask(Box<Question>),
}

/// Judges execs.
pub trait ExecJudge {
    /// Judges one exec. Must come back in bounded time: the caller waits.
    fn judge(&mut self, request: &ExecRequest) -> Answer;

    /// A person let the exec go that was asked about; it starts when this comes back.
    fn approved(&mut self, _request: &ExecRequest) {}
}

/// Makes a judge for the calling thread.
pub type MakeJudge = dyn Fn() -> Box<dyn ExecJudge> + Send + Sync;

/// The answer about a caller that cannot be read: what cannot be resolved is refused.
pub fn unreadable(error: ReadError) -> Report {
    refusal_of(RuleId::UnparseableLimit, "an exec that could not be read", error.to_string())
}

/// The answer when the judge itself failed.
pub fn broken(request: &ExecRequest) -> Report {
    let reason =
        "the analyzer failed on this command; this is a fault of blastradius and worth a report".to_owned();
    refusal_of(RuleId::UnparseableLimit, &command_line(request), reason)
}

fn refusal_of(rule: RuleId, command: &str, reason: String) -> Report {
    let finding = Finding {
        rule,
        verdict: Verdict::Deny,
        target: String::new(),
        resolved: None,
        segment: command.to_owned(),
        reasons: vec![reason],
        advice: None,
    };
    Report { command: command.to_owned(), verdict: Verdict::Deny, findings: vec![finding] }
}

/// The arguments as a shell would need them.
pub fn command_line(request: &ExecRequest) -> String {
    crate::analysis::quote_all(&request.argv)
}
