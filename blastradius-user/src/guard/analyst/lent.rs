//! What is git lent for an exec, and what had it better not begin where nothing can be lent?

use std::path::{Path, PathBuf};
use std::rc::Rc;

use blastradius_common::Operation;
use blastradius_common::grant::Cover;

use super::{Analyst, age, is_of_the_program};
use crate::analysis::Report;
use crate::guard::caller::ExecRequest;
use crate::guard::question::Object;
use crate::policy::effect::{Base, Discard, Effect, Located};
use crate::policy::finding::Finding;
use crate::policy::lending::{Loan, Purpose};
use crate::policy::mode::Backing;
use crate::policy::resolve::Last;
use crate::system::System;

impl Analyst {
    /// What git is lent for its own work in this exec. Nobody is asked: what there is to lose, git looks after, or the judge has
    /// looked at. The kernel lends it to the git that is executed now, and to what other git that one starts.
    pub(super) fn lent(&self, request: &ExecRequest, effects: &[Located]) -> Vec<Object> {
        let is_its_own = |located: &&Located| is_of_the_program(request, &located.segment);
        let of_git = effects.iter().filter(is_its_own).filter_map(of_git);
        let mut of_git = of_git.peekable();
        // Paths of a caller with another root are not ours.
        let Some(grants) = self.grants.as_ref().filter(|_| request.root.is_none() && of_git.peek().is_some())
        else {
            return Vec::new();
        };
        let system = System::of_process(request.env.iter().cloned(), request.cwd.clone(), request.uid, None);
        let mut lent = Vec::new();
        for (discard, base) in of_git {
            let base = self.policy.resolve(&system, Path::new("/"), base, Last::Followed).path;
            for Loan { path, purpose } in self.policy.loans(&system, &base, discard) {
                if purpose == Purpose::Removal && !self.was_there_before(&path) {
                    continue;
                }
                if let Ok(id) = grants.identify(Path::new("/"), &path) {
                    lent.push(Object { path, id, cover: cover(purpose) });
                }
            }
        }
        lent
    }

    /// Whether the directory was a linked work tree when the session began. What the session made itself it may remove by itself;
    /// that it wrote a `.git` beside what was there before makes no linked work tree of it.
    fn was_there_before(&self, root: &Path) -> bool {
        age::is_untouched(&root.join(".git"), self.began)
    }

    /// Objections that hold only where the rung refuses without a word: that git would be stopped halfway.
    pub(super) fn begun_in_vain(
        &self,
        request: &ExecRequest,
        effects: &[Located],
        judged: &dyn Fn(Backing) -> Report,
    ) -> Vec<Finding> {
        let is_affected =
            effects.iter().filter_map(of_git).any(|(discard, _)| matches!(discard, Discard::Worktree { .. }));
        if !is_affected || self.uncovered.backing != Backing::Mute {
            return Vec::new();
        }
        let (here, mute) = (judged(Backing::Telling).findings, judged(Backing::Mute).findings);
        let is_new = |finding: &Finding| !here.contains(finding);
        mute.into_iter()
            .filter(|finding| is_new(finding) && is_of_the_program(request, &finding.segment))
            .collect()
    }
}

/// What git sees to in this effect, and where it runs.
fn of_git(located: &Located) -> Option<(&Discard, &Rc<PathBuf>)> {
    match &located.effect {
        Effect::Git {
            discard: discard @ (Discard::Worktree { .. } | Discard::Pushed(_)),
            base: Base::Known(base),
            ..
        } => Some((discard, base)),
        _ => None,
    }
}

/// What the kernel must let pass for it.
pub(super) const fn cover(purpose: Purpose) -> Cover {
    let below = Cover(0).with_below(Operation::Remove);
    match purpose {
        Purpose::Removal => below.with(Operation::Remove),
        Purpose::Keeping => below.with_below(Operation::Replace).with_below(Operation::Truncate),
    }
}
