//! What does a verdict become when something is kept?

use blastradius_common::{RuleId, Verdict};

use super::keep::{Keeper, Kept, Outcome, not_covered};
use crate::analysis::Report;
use crate::policy::Policy;
use crate::policy::effect::Located;
use crate::policy::finding::{Finding, worst};
use crate::policy::mode::Mode;
use crate::shell::world::World;

/// Rules that ask only because something would be lost. What a person's own line set is theirs.
const ABOUT_LOSS: &[RuleId] = &[RuleId::GitDiscard, RuleId::UntrackedFiles];

/// A report, and what was kept for it.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The report.
    pub report: Report,
    /// What was kept.
    pub kept: Option<Kept>,
}

/// Keeps what a command would destroy, unless it is refused for other reasons, and lowers what is only about the loss.
pub fn answer(
    keeper: &Keeper,
    report: Report,
    effects: &[Located],
    world: &dyn World,
    policy: &Policy,
    mode: Mode,
) -> Answered {
    if is_refused(&report, policy, mode) {
        return Answered { report, kept: None };
    }
    let outcome = keeper.before(&report.command, effects, world);
    let kept = outcome.kept.clone();
    Answered { report: told(report, keeper, &outcome), kept }
}

/// Whether a command is stopped for more than what it would destroy.
pub fn is_refused(report: &Report, policy: &Policy, mode: Mode) -> bool {
    let stops = |finding: &&Finding| finding.verdict >= Verdict::Confirm;
    report.findings.iter().filter(stops).any(|finding| !is_about_loss(finding, policy, mode))
}

fn is_about_loss(finding: &Finding, policy: &Policy, mode: Mode) -> bool {
    ABOUT_LOSS.contains(&finding.rule)
        && mode != Mode::Strict
        && policy.config().rules.iter().all(|line| line.rule != finding.rule)
}

fn told(mut report: Report, keeper: &Keeper, outcome: &Outcome) -> Report {
    for finding in report.findings.iter_mut().filter(|finding| finding.verdict >= Verdict::Confirm) {
        if outcome.complete {
            finding.verdict = Verdict::Warn;
            finding.advice = None;
            match &outcome.kept {
                Some(kept) => finding.reasons.push(format!("{}, takes it back", keeper.line(kept))),
                None => finding.reasons.push("nothing of it is unkept".into()),
            }
        } else {
            finding.reasons.extend(not_covered(&outcome.gaps));
            finding.reasons.extend(outcome.wiped.iter().map(|path| {
                format!("{} is to be wiped, so it is not kept: nothing gives it back", path.display())
            }));
        }
    }
    report.verdict = worst(&report.findings);
    report.findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    report
}
