//! What does the text layer say of an exec?
//!
//! The judge that `run` uses: the analyzer, asked in the caller's own environment, working directory and root. Where the
//! session's rung is proved, removals are left to the kernel, which knows what was born; what that rung says it does not
//! enforce (history on the Landlock rung, settings of agents) is judged here after all.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use blastradius_common::{RuleId, Verdict};

use super::caller::ExecRequest;
use super::judge::{Answer, ExecJudge};
use super::landlock::unenforced::Unenforced;
use crate::analysis::{self, Report, Subject};
use crate::policy::Policy;
use crate::policy::finding::Finding;
use crate::policy::mode::{Asker, Mode, Surface};
use crate::system::System;

/// What the exec layer must look after because the rung does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uncovered {
    /// No rung at all: everything.
    pub everything: bool,
    /// Places whose removal the rung does not refuse.
    pub places: Vec<PathBuf>,
    /// Rules about acts that the rung does not see.
    pub rules: Vec<RuleId>,
}

impl Uncovered {
    /// What a text-only session must look after.
    pub fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// What is left by a rung with these gaps.
    pub fn by(gaps: &[Unenforced]) -> Self {
        let mut uncovered = Self::default();
        for gap in gaps {
            match gap {
                Unenforced::History { places }
                | Unenforced::ConfigRemoval { places }
                | Unenforced::OwnFiles { places }
                | Unenforced::NestedRoots { places } => uncovered.places.extend(places.iter().cloned()),
                Unenforced::LaterName { place, .. } | Unenforced::NotCarved { place, .. } => {
                    uncovered.places.push(place.clone());
                }
                Unenforced::FileSystem { mount, .. } => uncovered.places.push(mount.clone()),
                Unenforced::Metadata => uncovered.rules.push(RuleId::RecursiveMetadata),
                _ => {}
            }
        }
        uncovered
    }

    fn concerns(&self, finding: &Finding) -> bool {
        let touches = |path: &Path| {
            self.places.iter().any(|place| path.starts_with(place) || place.starts_with(path))
        };
        self.rules.contains(&finding.rule) || finding.resolved.as_deref().is_some_and(touches)
    }
}

/// The analyzer as a judge of execs.
pub struct Analyst {
    policy: Arc<Policy>,
    uncovered: Arc<Uncovered>,
    mode: Mode,
}

impl Analyst {
    /// A judge by this policy, read once for the session.
    pub fn new(policy: Arc<Policy>, uncovered: Arc<Uncovered>, mode: Mode) -> Self {
        Self { policy, uncovered, mode }
    }

    fn ask(&self, subject: &Subject, system: &System, rung_proved: bool) -> Report {
        let asker = Asker { mode: self.mode, surface: Surface::Exec { rung_proved } };
        analysis::analyze(subject, system, &self.policy, asker)
    }

    /// All objections, less those that the rung answers for.
    fn report(&self, request: &ExecRequest) -> Report {
        let subject = Subject::Exec { path: Some(request.path.clone()), argv: request.argv.clone() };
        let system =
            System::of_process(request.env.iter().cloned(), request.cwd.clone(), request.uid, request.root.clone());
        let mut report = self.ask(&subject, &system, false);
        // Nearly always there is no objection, and then one question is enough.
        if report.findings.is_empty() || self.uncovered.everything {
            return report;
        }
        let here = self.ask(&subject, &system, true).findings;
        report.findings.retain(|finding| here.contains(finding) || self.uncovered.concerns(finding));
        report.verdict = report.findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Allow);
        report
    }
}

impl ExecJudge for Analyst {
    fn judge(&mut self, request: &ExecRequest) -> Answer {
        let report = self.report(request);
        match report.verdict {
            Verdict::Allow => Answer::Allow(None),
            Verdict::Warn => Answer::Allow(Some(report)),
            Verdict::Confirm | Verdict::Deny => Answer::Refuse(report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: RuleId, resolved: &str) -> Finding {
        Finding {
            rule,
            verdict: Verdict::Deny,
            target: resolved.to_owned(),
            resolved: Some(resolved.into()),
            segment: String::new(),
            reasons: Vec::new(),
            advice: None,
        }
    }

    #[test]
    fn what_the_rung_does_not_enforce_is_looked_after() {
        let uncovered = Uncovered::by(&[Unenforced::History { places: vec!["/w/.git".into()] }, Unenforced::Metadata]);
        for path in ["/w/.git", "/w/.git/objects", "/w", "/"] {
            assert!(uncovered.concerns(&finding(RuleId::GitHistory, path)), "{path}");
        }
        for path in ["/w/src", "/home/dev", "/w/.gitignore"] {
            assert!(!uncovered.concerns(&finding(RuleId::OutOfScope, path)), "{path}");
        }
        assert!(uncovered.concerns(&finding(RuleId::RecursiveMetadata, "/srv")));
    }
}
