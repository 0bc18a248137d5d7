//! git commands that discard: with nothing to lose they are allowed, with something they are asked about.

use std::path::{Path, PathBuf};

use blastradius_common::{Operation, RuleId, Verdict};

use crate::policy::effect::{Base, Discard, Located};
use crate::policy::mode::{Backing, Surface};
use crate::policy::resolve::Last;
use crate::policy::worktree::{self, WorkTree};
use crate::policy::{floor, paths, pattern};
use crate::shell::value::Field;
use crate::shell::world::{GitState, Tracking};

use super::facts::{is_rebuildable_directory, is_rebuildable_file};
use super::{Court, Objection};

/// So many names are listed in a reason.
const LISTED: usize = 4;

impl Court<'_> {
    pub(super) fn git(
        &self,
        located: &Located,
        discard: &Discard,
        base: &Base,
        what: &str,
    ) -> Vec<Objection> {
        let confirm = || Objection::new(RuleId::GitDiscard, Verdict::Confirm);
        if let Some(objection) = self.left_to_git(discard, base, what) {
            return objection.into_iter().collect();
        }
        if let Some(place) = &located.elsewhere {
            return vec![
                confirm().because(format!("{what} discards what cannot be seen: it happens in {place}")),
            ];
        }
        let unseen = |why: String| vec![confirm().because(format!("{what}: {why}"))];
        let base = match base {
            Base::Known(path) => path.clone(),
            Base::OneOf(several) => match several.last() {
                Some(path) => path.clone(),
                None => return unseen("the working directory is not known".into()),
            },
            Base::Unknown(why) => {
                return unseen(format!("the working directory is known only at run time: {why}"));
            }
        };
        let base = self.policy.resolve(self.world, Path::new("/"), &base, Last::Followed).path;
        let objection = match discard {
            Discard::WorkTree(fields) => self.discard_changes(&base, fields, what),
            Discard::Untracked { paths, ignored, only_ignored, .. } => {
                self.discard_untracked(&base, paths, *ignored, *only_ignored, what)
            }
            Discard::Stash => Some(confirm().because(format!("{what} drops stash entries"))),
            Discard::History => Some(
                confirm()
                    .because(format!("{what} drops commits, or what leads to them, that nothing else holds")),
            ),
            Discard::Worktree { tree, .. } => self.discard_tree(&base, tree, what),
            Discard::Pushed(_) => None,
        };
        let located = |objection: Objection| {
            let resolved = objection.resolved.or_else(|| Some(base.clone()));
            Objection { resolved, ..objection }
        };
        objection.into_iter().map(located).collect()
    }

    /// What is to be said of a discard that git itself sees to; `None`: it does not.
    ///
    /// A rung that cannot tell git from other programs refuses the files, and git, which has looked before, does not go back: it
    /// forgets the work tree all the same. There it had better not begin.
    fn left_to_git(&self, discard: &Discard, base: &Base, what: &str) -> Option<Option<Objection>> {
        let tree = match discard {
            Discard::Pushed(_) => return Some(None),
            Discard::Worktree { tree, forced } => {
                let stopped = self
                    .is_mute()
                    .then(|| self.linked_tree(base, tree))
                    .flatten()
                    .filter(|tree| !self.zone_inside(&tree.root).zone.permits(Operation::Remove));
                if stopped.is_none() && *forced {
                    return None;
                }
                stopped
            }
            _ => return None,
        };
        Some(tree.map(|tree| {
            let root = tree.root.display();
            let reason = format!(
                "{what} would forget the work tree {root} and leave its files: it lies out of scope, and this rung cannot let git alone remove it"
            );
            Objection {
                resolved: Some(tree.root.clone()),
                ..Objection::new(RuleId::OutOfScope, Verdict::Deny).because(reason)
            }
        }))
    }

    fn is_mute(&self) -> bool {
        self.asker.surface == Surface::Exec { backing: Backing::Mute }
    }

    /// The linked work tree that the operand means, where git may remove it.
    fn linked_tree(&self, base: &Base, operand: &Field) -> Option<WorkTree> {
        let Base::Known(base) = base else { return None };
        let base = self.policy.resolve(self.world, Path::new("/"), base, Last::Followed).path;
        self.policy.linked_tree(self.world, &base, operand)
    }

    fn discard_tree(&self, base: &Path, operand: &Field, what: &str) -> Option<Objection> {
        let confirm = |reason: String| Objection::new(RuleId::GitDiscard, Verdict::Confirm).because(reason);
        let unseen = || confirm(format!("{what} removes {} with what is uncommitted in it", operand.source));
        let Some(tree) = self.policy.linked_tree(self.world, base, operand) else { return Some(unseen()) };
        let Some(GitState { dirty, truncated }) = self.world.git_state(&tree.root, Path::new("")) else {
            return Some(Objection { resolved: Some(tree.root), ..unseen() });
        };
        let lost: Vec<&str> = dirty
            .iter()
            .filter(|(_, tracking)| matches!(tracking, Tracking::Modified | Tracking::Untracked))
            .map(|(path, _)| &**path)
            .collect();
        let objection = loses(what, "uncommitted or untracked files, among them", &lost, truncated)?;
        Some(Objection { resolved: Some(tree.root), ..objection })
    }

    fn tree_at(&self, base: &Path) -> Option<WorkTree> {
        match self.policy.work_tree() {
            Some(tree) if paths::same(self.policy.platform(), &tree.root, base) => Some(tree.clone()),
            _ => worktree::discover(self.world, base),
        }
    }

    /// What git says of the work tree, or why that cannot be told.
    fn dirty(&self, base: &Path, what: &str) -> Result<(WorkTree, GitState), Objection> {
        let unseen = |why: &str| {
            Objection::new(RuleId::GitDiscard, Verdict::Confirm)
                .because(format!("{what} discards what cannot be seen: {why}"))
        };
        let tree = self
            .tree_at(base)
            .ok_or_else(|| unseen(&format!("{} is in no work tree that can be found now", base.display())))?;
        let state =
            self.world.git_state(&tree.root, Path::new("")).ok_or_else(|| match tree.foreign_owner {
                Some(owner) => {
                    unseen(&format!("the work tree belongs to user {owner}, and git refuses to read it"))
                }
                None => unseen("git cannot read its state"),
            })?;
        Ok((tree, state))
    }

    fn discard_changes(&self, base: &Path, fields: &[Field], what: &str) -> Option<Objection> {
        let (tree, GitState { dirty, truncated }) = match self.dirty(base, what) {
            Ok(seen) => seen,
            Err(objection) => return Some(objection),
        };
        let within = match self.specs(base, &tree, fields) {
            Ok(specs) => specs,
            Err(objection) => return Some(objection),
        };
        let lost: Vec<&str> = dirty
            .iter()
            .filter(|(path, tracking)| *tracking == Tracking::Modified && selected(&within, path))
            .map(|(path, _)| &**path)
            .collect();
        loses(what, "uncommitted changes in", &lost, truncated)
    }

    fn discard_untracked(
        &self,
        base: &Path,
        fields: &[Field],
        ignored: bool,
        only_ignored: bool,
        what: &str,
    ) -> Option<Objection> {
        // Where no work tree is seen, git may be told of one by its environment: then it is where git runs.
        let root = self.tree_at(base).map_or_else(|| base.to_path_buf(), |tree| tree.root);
        // Not the working directory of someone who works right below the root (`/app`), but what is a home or system.
        let is_system =
            floor::system_roots(self.policy.platform()).iter().any(|system| root == Path::new(system));
        let is_home = paths::depth(&root) > 1 && self.zone(&root).zone == blastradius_common::Zone::Floor;
        if (paths::depth(&root) == 0 || is_system || is_home) && !self.is_scope(&root) {
            return Some(
                Objection::critical(RuleId::FloorPath)
                    .because(format!("{what} would clean {}, a floor object", root.display())),
            );
        }
        let (tree, GitState { dirty, truncated }) = match self.dirty(base, what) {
            Ok(seen) => seen,
            Err(objection) => return Some(objection),
        };
        let within = match self.specs(base, &tree, fields) {
            Ok(specs) => specs,
            Err(objection) => return Some(objection),
        };
        // Without paths git cleans from the working directory down.
        let within = if fields.is_empty() { own_part(base, &tree) } else { within };
        let meant = |tracking: Tracking| match tracking {
            Tracking::Untracked => !only_ignored,
            Tracking::Ignored => ignored || only_ignored,
            Tracking::Clean | Tracking::Modified => false,
        };
        let lost: Vec<&str> = dirty
            .iter()
            .filter(|(path, tracking)| meant(*tracking) && selected(&within, path))
            .map(|(path, _)| &**path)
            .filter(|path| !self.comes_back(&tree, path))
            .collect();
        if lost.is_empty()
            && let Some(absent) = self.absent(base, fields)
        {
            return Some(
                Objection::new(RuleId::GitDiscard, Verdict::Confirm)
                    .because(format!("{what} discards what cannot be seen: {absent} is not there now")),
            );
        }
        loses(what, "untracked files, among them", &lost, truncated)
    }

    fn is_scope(&self, root: &Path) -> bool {
        self.zone_inside(root).zone == blastradius_common::Zone::Scope
    }

    fn comes_back(&self, tree: &WorkTree, path: &str) -> bool {
        match path.strip_suffix('/') {
            Some(dir) => is_rebuildable_directory(self.world, &tree.root.join(dir)),
            None => is_rebuildable_file(path.rsplit('/').next().unwrap_or(path)),
        }
    }

    /// A path operand that names nothing now.
    fn absent<'f>(&self, base: &Path, fields: &'f [Field]) -> Option<&'f str> {
        let gone = |field: &&Field| {
            field.as_known().is_some_and(|text| {
                self.policy.resolve(self.world, base, Path::new(&*text), Last::Kept).meta.is_none()
            })
        };
        fields.iter().find(gone).map(|field| &*field.source)
    }

    /// Path operands, relative to the work tree's root; empty: all of it.
    fn specs(&self, base: &Path, tree: &WorkTree, fields: &[Field]) -> Result<Vec<String>, Objection> {
        let mut specs = Vec::new();
        for field in fields {
            let names: Vec<String> = match (&field.glob, field.text.as_known()) {
                (Some(glob), _) if !glob.matches.is_empty() => glob.matches.clone(),
                (_, Some(text)) => vec![text.into_owned()],
                _ => {
                    return Err(Objection::new(RuleId::GitDiscard, Verdict::Confirm)
                        .because(format!("{} is known only at run time", field.source)));
                }
            };
            for name in names {
                // `:/x` counts from the root; other magic is taken as "anything".
                if let Some(magic) = name.strip_prefix(':') {
                    let rest = magic.strip_prefix('/').unwrap_or_default();
                    specs.push(rest.into());
                    continue;
                }
                let path = self.policy.resolve(self.world, base, Path::new(&name), Last::Kept).path;
                let below =
                    path.strip_prefix(&tree.root).map(Path::to_path_buf).unwrap_or_else(|_| PathBuf::new());
                specs.push(below.to_string_lossy().into_owned());
            }
        }
        Ok(specs)
    }
}

fn own_part(base: &Path, tree: &WorkTree) -> Vec<String> {
    let below = base.strip_prefix(&tree.root).map(|below| below.to_string_lossy().into_owned());
    below.into_iter().filter(|below| !below.is_empty()).collect()
}

/// Whether a path of git's listing lies in one of the specs, or holds one.
fn selected(specs: &[String], path: &str) -> bool {
    let path = path.trim_end_matches('/');
    specs.is_empty()
        || specs.iter().any(|spec| {
            let inside = |outer: &str, inner: &str| {
                inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            spec.is_empty()
                || inside(spec, path)
                || inside(path, spec)
                || spec.contains(['*', '?', '['])
                    && pattern::wildcard(spec.as_bytes(), path.as_bytes(), false)
        })
}

fn loses(what: &str, kind: &str, lost: &[&str], truncated: bool) -> Option<Objection> {
    if lost.is_empty() && !truncated {
        return None;
    }
    let mut names = lost.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    if lost.len() > LISTED || truncated {
        names.push_str(", …");
    }
    let least = if truncated { "at least " } else { "" };
    Some(
        Objection::new(RuleId::GitDiscard, Verdict::Confirm)
            .because(format!("{what} discards {least}{} {kind} {names}", lost.len())),
    )
}
