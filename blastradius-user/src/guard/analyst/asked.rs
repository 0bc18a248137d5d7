//! What is a person asked of an exec, and what would a yes let pass?

use std::path::Path;

use blastradius_common::grant::Cover;
use blastradius_common::{Operation, RuleId, Verdict};

use super::{Analyst, Objections};
use crate::guard::caller::ExecRequest;
use crate::guard::kernel_rung::Grants;
use crate::guard::question::{Object, Question};
use crate::policy::effect::{Act, Effect, Located, Selection};
use crate::policy::finding::Finding;
use crate::policy::mode::Backing;

impl Analyst {
    /// What a person is asked of these objections; `None`: nothing.
    pub(super) fn question(&self, request: &ExecRequest, objections: &Objections) -> Option<Question> {
        let Objections { report, left, effects } = objections;
        let mut objects: Vec<Object> = Vec::new();
        let mut asked = report.clone();
        let futile = report.findings.iter().find_map(|finding| self.futile(request, finding, effects));
        if let Some(grants) = &self.grants {
            let root = request.root.as_deref().unwrap_or(Path::new("/"));
            let find = |finding: &Finding| object(grants, root, finding, effects);
            objects.extend(report.findings.iter().filter_map(find));
            // A yes to what would be lost of a linked work tree is one to its removal.
            objects.extend(self.lent(request, effects));
            for finding in left.iter().filter(|finding| finding.verdict == Verdict::Confirm) {
                if let Some(object) = find(finding) {
                    objects.push(object);
                    asked.findings.push(finding.clone());
                }
            }
        }
        if asked.findings.iter().all(|finding| finding.verdict < Verdict::Confirm) {
            return None;
        }
        asked.verdict = Verdict::Confirm;
        asked.findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
        Some(Question { report: asked, objects, binding: report.verdict == Verdict::Confirm, futile })
    }

    /// Why a yes to this would not help: the rung refuses it all the same.
    fn futile(&self, request: &ExecRequest, finding: &Finding, effects: &[Located]) -> Option<&'static str> {
        if self.uncovered.backing == Backing::Nothing || finding.verdict != Verdict::Confirm {
            return None;
        }
        if self.grants.is_some() {
            return (finding.rule == RuleId::BlockDevice).then_some(
                "a yes cannot be carried into the kernel for a block device: write to it outside the session",
            );
        }
        // The kernel lets go what lies in scope, kept by git or not.
        if finding.rule == RuleId::UntrackedFiles {
            return None;
        }
        let path = finding.resolved.as_deref()?;
        let on_files = effects.iter().any(|located| act_of(finding, located).is_some());
        let refused = on_files && path.symlink_metadata().is_ok();
        (refused && !self.uncovered.leaves(&request.path, finding)).then_some(
            "this rung (landlock) cannot carry a yes: the kernel would refuse it all the same; an `allow` line for the directory that holds it, or the kernel rung, can",
        )
    }
}

/// The object of a finding and what would be done to it, if it is there, can be granted, and is not the session's own.
fn object(grants: &Grants, root: &Path, finding: &Finding, effects: &[Located]) -> Option<Object> {
    let path = finding.resolved.clone()?;
    let cover = effects
        .iter()
        .filter_map(|located| act_of(finding, located))
        .map(cover)
        .reduce(|one, other| Some(Cover(one?.0 | other?.0)))??;
    let id = grants.identify(root, &path).ok()?;
    match grants.is_born(id) {
        Ok(false) => Some(Object { path, id, cover }),
        _ => None,
    }
}

/// What this effect does to the object of this finding, if it is its cause.
fn act_of<'a>(finding: &Finding, located: &'a Located) -> Option<(Act, &'a Selection)> {
    match &located.effect {
        Effect::Path { act, target }
            if *located.segment == *finding.segment
                && target.operand.source.to_string() == finding.target =>
        {
            Some((*act, &target.selection))
        }
        _ => None,
    }
}

/// What the kernel must let pass for an act; `None`: more would pass than was asked about.
fn cover((act, selection): (Act, &Selection)) -> Option<Cover> {
    use Operation::{Metadata, MetadataRecursive, MoveOut, Remove, Replace, Truncate};
    let none = Cover::default();
    let cover = match act {
        Act::Remove { recursive: false } => none.with(Remove),
        Act::Remove { recursive: true } => none.with(Remove).with_below(Remove),
        Act::Truncate | Act::Append => none.with(Truncate),
        // The old object goes: by rename, by being cut, or removed first. Programs differ.
        Act::Replace => none.with(Replace).with(Truncate).with(Remove),
        // To another file system it is copied, and then removed.
        Act::Move => none.with(MoveOut).with(Replace).with(Remove).with_below(Remove),
        Act::Metadata { recursive: false } => none.with(Metadata),
        Act::Metadata { recursive: true } => {
            none.with(Metadata).with(MetadataRecursive).with_below(Metadata).with_below(MetadataRecursive)
        }
        Act::Device => return None,
    };
    let partly = !selection.filter.is_empty() || selection.contents_only;
    (!partly).then_some(cover)
}
