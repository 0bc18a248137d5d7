//! The judge: effects in, findings out. Pure: it sees the machine through [`World`] and the policy through its zones.

mod asked;
mod device;
mod elsewhere;
mod facts;
mod git;
mod glob;
mod path;
mod verdict;

#[cfg(test)]
mod tests;

pub(crate) use facts::{
    is_rebuildable_directory, is_surely_rebuildable_directory, is_surely_rebuildable_file,
};

use std::path::PathBuf;

use blastradius_common::{Operation, RuleId, Verdict};

use crate::shell::world::{Look, World};

use super::effect::{Act, Effect, Located};
use super::finding::Finding;
use super::mode::{Asker, Backing, Mode, Surface};
use super::{Policy, advice, pattern, rules};
use asked::Asked;

/// Something about the text as a whole that is an objection in itself: it does not parse, a limit was reached, what it
/// executes is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rule that objects.
    pub rule: RuleId,
    /// Instead of the rule's default.
    pub verdict: Option<Verdict>,
    /// The part of the text that is meant.
    pub segment: String,
    /// Why, one fact a line.
    pub reasons: Vec<String>,
}

/// What the zone table and the rules say of one effect, before modes and configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Objection {
    rule: RuleId,
    verdict: Verdict,
    /// The target is critical: no mode and no doubt lowers it.
    critical: bool,
    resolved: Option<PathBuf>,
    reasons: Vec<String>,
}

impl Objection {
    fn new(rule: RuleId, verdict: Verdict) -> Self {
        Self { rule, verdict, critical: false, resolved: None, reasons: Vec::new() }
    }

    fn critical(rule: RuleId) -> Self {
        Self { critical: true, ..Self::new(rule, Verdict::Deny) }
    }

    fn because(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }
}

/// What every part of the judge needs.
#[derive(Clone, Copy)]
struct Court<'a> {
    policy: &'a Policy,
    world: &'a dyn World,
    asker: Asker,
    asked: &'a Asked,
}

/// Judges effects. Findings of verdict allow are not kept; the worst come first, then the order of the text.
pub fn judge(effects: &[Located], policy: &Policy, world: &dyn World, asker: Asker) -> Vec<Finding> {
    let asked = Asked::default();
    let court = Court { policy, world, asker, asked: &asked };
    let mut findings = Vec::new();
    for located in effects {
        for objection in court.objections(located) {
            if let Some(finding) = court.finding(located, objection) {
                findings.push(finding);
            }
        }
    }
    sort(&mut findings);
    findings
}

/// Judges what is wrong with the text itself.
pub fn judge_problems(problems: &[Problem], policy: &Policy, asker: Asker) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for problem in problems {
        let default = rules::rule(problem.rule).verdict;
        let verdict = problem.verdict.unwrap_or(default);
        let verdict = configured(policy, problem.rule, verdict, default);
        let Some(verdict) = in_mode(verdict, asker) else { continue };
        findings.push(Finding {
            rule: problem.rule,
            verdict,
            target: String::new(),
            resolved: None,
            segment: problem.segment.clone(),
            reasons: problem.reasons.clone(),
            advice: advice::for_rule(policy, problem.rule, &problem.segment, None),
        });
    }
    sort(&mut findings);
    findings
}

/// Asks the `deny-command` and `confirm-command` lines about one simple command, after unwrapping.
pub fn judge_command(command: &str, segment: &str, policy: &Policy, asker: Asker) -> Option<Finding> {
    let worst = policy
        .config()
        .commands
        .iter()
        .filter(|line| pattern::wildcard(line.glob.as_bytes(), command.as_bytes(), false))
        .max_by_key(|line| line.verdict)?;
    let verdict = in_mode(worst.verdict, asker)?;
    Some(Finding {
        rule: RuleId::CommandPattern,
        verdict,
        target: command.into(),
        resolved: None,
        segment: segment.into(),
        reasons: vec![format!("{} says so", worst.origin)],
        advice: None,
    })
}

/// Worst first; equals keep the order of the text, and are told once.
fn sort(findings: &mut Vec<Finding>) {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    let mut seen: Vec<Finding> = Vec::with_capacity(findings.len());
    findings.retain(|finding| {
        let new = !seen.iter().any(|old| {
            old.rule == finding.rule
                && old.resolved == finding.resolved
                && old.segment == finding.segment
                && old.target == finding.target
        });
        // A long loop makes many findings; telling them apart must not cost more than they are worth.
        if new && seen.len() < FINDING_LIMIT {
            seen.push(finding.clone());
        }
        new
    });
    findings.truncate(FINDING_LIMIT);
}

/// More findings than this say nothing new. The worst are kept.
const FINDING_LIMIT: usize = 64;

impl Court<'_> {
    fn objections(&self, located: &Located) -> Vec<Objection> {
        let mut objections = match &located.effect {
            Effect::Path { act, target } => self.path(located, *act, target),
            Effect::Git { discard, base, what } => self.git(located, discard, base, what),
            Effect::Thing { rule, verdict, what, object } => {
                vec![self.thing(located, *rule, *verdict, what, object)]
            }
        };
        if !self.policy.errors().is_empty() && is_destructive(&located.effect) {
            objections.push(self.policy_error(located));
        }
        objections
    }

    fn thing(
        &self,
        located: &Located,
        rule: RuleId,
        verdict: Option<Verdict>,
        what: &str,
        object: &str,
    ) -> Objection {
        let mut objection = Objection::new(rule, verdict.unwrap_or(rules::rule(rule).verdict));
        objection.reasons.push(if object.is_empty() || what.contains(object) {
            what.into()
        } else {
            format!("{what}: {object}")
        });
        if let Some(place) = &located.elsewhere {
            objection.reasons.push(format!("it happens elsewhere: {place}"));
        }
        objection
    }

    fn policy_error(&self, located: &Located) -> Objection {
        let errors = self.policy.errors().iter().take(3);
        let mut objection = Objection::critical(RuleId::PolicyError);
        objection.reasons = errors.map(ToString::to_string).collect();
        objection.resolved = self.meant(located);
        objection
    }

    fn finding(&self, located: &Located, objection: Objection) -> Option<Finding> {
        if !self.is_for_this_layer(located, &objection) {
            return None;
        }
        let Objection { rule, verdict, critical, resolved, reasons } = objection;
        let verdict = if critical {
            verdict
        } else {
            configured(self.policy, rule, verdict, rules::rule(rule).verdict)
        };
        let verdict = in_mode(verdict, self.asker)?;
        let target = match &located.effect {
            Effect::Path { target, .. } => target.operand.source.to_string(),
            Effect::Git { what, .. } => what.to_string(),
            Effect::Thing { object, .. } => object.to_string(),
        };
        let advice = advice::for_finding(self.policy, located, rule, resolved.as_deref());
        Some(Finding {
            rule,
            verdict,
            target,
            resolved,
            segment: located.segment.to_string(),
            reasons,
            advice,
        })
    }

    /// Inside a run whose rung is proved, removals are the kernel's to judge: it knows what was born. What no hook sees,
    /// and what is critical, is refused before it starts; so is what the rung would refuse without a word.
    fn is_for_this_layer(&self, located: &Located, objection: &Objection) -> bool {
        let Surface::Exec { backing: backing @ (Backing::Mute | Backing::Telling) } = self.asker.surface
        else {
            return true;
        };
        let Some(operation) = seen_by_hooks(&located.effect) else { return true };
        let unheard = || backing == Backing::Mute && self.is_certainly_refused(operation, objection);
        objection.critical || TEXT_ALONE.contains(&objection.rule) || unheard()
    }

    /// Whether the object is there and its zone refuses the operation.
    fn is_certainly_refused(&self, operation: Option<Operation>, objection: &Objection) -> bool {
        let (Some(operation), Some(path)) = (operation, objection.resolved.as_deref()) else { return false };
        !self.zone(path).zone.permits(operation) && matches!(self.world.look(path), Look::Found(_))
    }
}

/// Whether the syscall layer has a hook for the effect, and which of the operations of the zone table it judges there.
fn seen_by_hooks(effect: &Effect) -> Option<Option<Operation>> {
    let Effect::Path { act, .. } = effect else { return None };
    match act {
        Act::Remove { .. } => Some(Some(Operation::Remove)),
        // Within its own directory it is judged like replace: only where that is refused too, it is for certain.
        Act::Move => Some(Some(Operation::Replace)),
        Act::Truncate => Some(Some(Operation::Truncate)),
        Act::Replace => Some(Some(Operation::Replace)),
        Act::Append | Act::Metadata { .. } => Some(None),
        Act::Device => None,
    }
}

/// What only the text shows: to the kernel each of the objects lies in scope, and that all of them go, or that a variable
/// gave nothing, is not to be seen in any one of them.
const TEXT_ALONE: &[RuleId] =
    &[RuleId::EmptyVariableExpansion, RuleId::EmptyTarget, RuleId::ScopeRoot, RuleId::UntrackedFiles];

/// Whether a policy that cannot be read stands in the way of the effect. What only adds destroys nothing.
fn is_destructive(effect: &Effect) -> bool {
    match effect {
        Effect::Path { act, target } => {
            let adds = matches!(act, Act::Append | Act::Metadata { recursive: false });
            !adds && !device::is_sink(&target.operand.text.known_prefix())
        }
        Effect::Git { .. } => true,
        // A thing has a rule and a verdict of its own, which no policy file widens.
        Effect::Thing { .. } => false,
    }
}

/// Applies `rule` lines: they set a rule's default, and graver cases move with it.
fn configured(policy: &Policy, rule: RuleId, verdict: Verdict, default: Verdict) -> Verdict {
    match policy.config().rule(rule) {
        Some(said) if said > default => verdict.max(said),
        Some(said) if verdict <= default => said,
        _ => verdict,
    }
}

/// What the verdict is for this asker; `None`: nothing is to be said.
fn in_mode(verdict: Verdict, asker: Asker) -> Option<Verdict> {
    let asked = match (verdict, asker.mode) {
        (Verdict::Confirm, Mode::Unattended | Mode::Strict) | (Verdict::Warn, Mode::Strict) => Verdict::Deny,
        (verdict, _) => verdict,
    };
    // What a human types is theirs to decide, except what nobody would.
    let passes = asker.surface == Surface::Human && verdict != Verdict::Deny;
    (asked != Verdict::Allow && !passes).then_some(asked)
}

/// Whether the tilde and glob rules bind: in the wrapper and in text that nobody can answer for.
fn is_literal_minded(asker: Asker) -> bool {
    match asker.surface {
        Surface::Wrapper => true,
        Surface::Text | Surface::Hook => asker.mode != Mode::Interactive,
        Surface::Exec { .. } | Surface::Human => false,
    }
}
