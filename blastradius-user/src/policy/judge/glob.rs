//! Wildcards: what they range over, how broadly, and what they matched.

use std::path::{Path, PathBuf};

use blastradius_common::{RuleId, Verdict, Zone};

use crate::policy::critical::{gives_entries_by_consent, is_critical};
use crate::policy::effect::PathTarget;
use crate::policy::operand::SOME_NAME;
use crate::policy::paths;
use crate::policy::resolve::Last;
use crate::shell::value::Glob;

use super::path::{is_removal, last, shown};
use super::verdict::{Case, floor_object, out_of_scope};
use super::{Court, Objection, is_literal_minded};

/// A glob that expands to more is broad.
const BREADTH: usize = 100;

/// Matches that are judged one by one; beyond, the directory speaks for its entries.
const JUDGED: usize = 512;

impl Court<'_> {
    /// Judges a wildcard by the directory that it ranges over, then by its matches.
    pub(super) fn glob(&self, case: Case<'_>, target: &PathTarget, glob: &Glob) -> Vec<Objection> {
        let dir = self.policy.resolve(self.world, Path::new("/"), &glob.base, Last::Followed);
        let mut objections = Vec::new();
        objections.extend(self.binding(case, glob, &dir.path));
        let range = self.range(case, glob, &dir.path).map(|mut objection| {
            objection.resolved = Some(dir.path.join(&glob.pattern));
            for hop in &dir.hops {
                objection.reasons.push(format!(
                    "{} is a link to {}",
                    hop.link.display(),
                    hop.target.display()
                ));
            }
            objection
        });
        match range {
            Some(objection) => objections.push(objection),
            None => objections.extend(self.matches(case, target, glob, &dir.path)),
        }
        objections
    }

    /// The directory's own word on a wildcard below it.
    fn range(&self, case: Case<'_>, glob: &Glob, dir: &Path) -> Option<Objection> {
        let shape = Shape::of(&glob.pattern);
        let zone = self.zone(dir);
        let inside = self.zone_inside(dir);
        if !is_removal(case.act) && !is_recursive_metadata(case) {
            return None;
        }
        let by_consent = gives_entries_by_consent(self.policy.platform(), dir);
        let is_project = inside.zone == Zone::Scope && !by_consent;
        match zone.zone {
            Zone::Floor if by_consent => (shape.wide && shape.ends).then(|| {
                Objection::new(RuleId::ScopeRoot, Verdict::Confirm)
                    .because(format!("{} is shared with every program on the machine", dir.display()))
            }),
            Zone::Floor if !is_project => {
                Some(floor_object(dir, &zone).because("a wildcard directly below it is the same as itself"))
            }
            // A tmpfs inside scope: its entries are scope.
            Zone::Floor if !self.is_scope_root(dir) => None,
            Zone::Floor | Zone::Root if shape.wide && shape.ends => {
                Some(Objection::new(RuleId::ScopeRoot, Verdict::Confirm).because(format!(
                    "every entry of {} would go: {}",
                    dir.display(),
                    zone.origin
                )))
            }
            // A fatal directory emptied is a fatal directory lost.
            Zone::System if is_critical(self.policy.platform(), self.policy.homes(), dir) => Some(
                Objection::critical(RuleId::CriticalFile)
                    .because(format!("without what lies in {} the system does not start", dir.display())),
            ),
            _ => None,
        }
    }

    fn matches(&self, case: Case<'_>, target: &PathTarget, glob: &Glob, dir: &Path) -> Vec<Objection> {
        let mut objections: Vec<Objection> = Vec::new();
        // The pattern itself speaks for what may match when the command runs.
        let some = self.policy.resolve(self.world, dir, Path::new(&some_match(&glob.pattern)), Last::Kept);
        let general = self.object(case, &some).map(|mut objection| {
            objection.resolved = Some(dir.join(&glob.pattern));
            shown(objection)
        });
        let base = relative_base(glob);
        for text in glob.matches.iter().take(JUDGED) {
            let text = Path::new(text.trim_start_matches("../"));
            let object = self.policy.resolve(self.world, &base, text, last(target.follow));
            let Some(objection) = self.object(case, &object) else { continue };
            // One line for all matches that the directory's zone already speaks for.
            let covered = general.as_ref().is_some_and(|general| {
                general.rule == objection.rule && general.verdict >= objection.verdict
            });
            if !covered && objections.len() < 8 {
                objections.push(objection);
            }
        }
        let untracked =
            if is_removal(case.act) && general.is_none() { self.untracked_matches(glob, dir) } else { None };
        objections.into_iter().chain(general).chain(untracked).collect()
    }

    /// The rules on wildcards of the first reference: they bind where nobody can answer.
    fn binding(&self, case: Case<'_>, glob: &Glob, dir: &Path) -> Option<Objection> {
        if !is_literal_minded(self.asker) || !is_removal(case.act) {
            return None;
        }
        let resolved = Some(dir.join(&glob.pattern));
        let objection = |rule, reason: String| {
            Objection { resolved: resolved.clone(), ..Objection::new(rule, Verdict::Deny) }.because(reason)
        };
        if glob.count == 0 {
            return Some(objection(
                RuleId::GlobNoMatch,
                "it matches nothing here: the program would be handed the pattern itself".into(),
            ));
        }
        if glob.count > BREADTH {
            return Some(objection(RuleId::GlobBreadth, format!("it matches {} entries", glob.count)));
        }
        let is_tree_root =
            self.policy.work_tree().is_some_and(|tree| paths::same(self.policy.platform(), &tree.root, dir));
        let at_root = is_tree_root && !glob.pattern.trim_end_matches('/').contains('/');
        at_root.then(|| objection(RuleId::GlobBreadth, "it matches entries of the work tree's root".into()))
    }

    /// One unknown entry of a directory.
    pub(super) fn any_entry(&self, case: Case<'_>, dir: &Path) -> Option<Objection> {
        let zone = self.zone(dir);
        let inside = self.zone_inside(dir);
        if !is_removal(case.act) {
            let object = self.policy.resolve(self.world, dir, Path::new(SOME_NAME), Last::Kept);
            return self.object(case, &object).map(shown);
        }
        match (zone.zone, inside.zone) {
            // Any entry of the project's root may be the work itself.
            (Zone::Root, Zone::Scope) => Some(
                Objection::new(RuleId::UnknownOperand, Verdict::Confirm)
                    .because(format!("any entry of {} may be meant", dir.display())),
            ),
            (_, Zone::Scope | Zone::Born | Zone::State) => None,
            (Zone::Floor, _) if !gives_entries_by_consent(self.policy.platform(), dir) => {
                Some(floor_object(dir, &zone).because("any entry of it may be meant"))
            }
            _ => Some(out_of_scope(&inside).because(format!("any entry of {} may be meant", dir.display()))),
        }
    }
}

fn is_recursive_metadata(case: Case<'_>) -> bool {
    matches!(case.act, crate::policy::effect::Act::Metadata { recursive: true })
}

/// What can be said of a pattern without looking.
struct Shape {
    /// The first component takes any name.
    wide: bool,
    /// Nothing that names anything follows the first component.
    ends: bool,
}

impl Shape {
    fn of(pattern: &str) -> Self {
        let mut names = pattern.split('/');
        let first = names.next().unwrap_or_default();
        Self { wide: is_wide(first), ends: names.all(is_wide) }
    }
}

/// Whether a component takes (nearly) any name: no letter or digit of it stands outside of `[…]` and `!(…)`.
fn is_wide(name: &str) -> bool {
    let mut depth = 0_usize;
    for letter in name.chars() {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            letter if depth == 0 && letter.is_alphanumeric() => return false,
            _ => {}
        }
    }
    true
}

/// A path that the pattern might match.
fn some_match(pattern: &str) -> String {
    let names = pattern.split('/').map(|name| {
        if name.contains(['*', '?', '[', '(']) {
            // `.*` matches dotfiles, which may have another zone.
            if name.starts_with('.') { format!(".{SOME_NAME}") } else { SOME_NAME.into() }
        } else {
            name.to_owned()
        }
    });
    names.collect::<Vec<_>>().join("/")
}

/// The directory in which the matches are to be read: they are as the shell passes them, relative if the operand is.
/// A `../` at their front is in the directory already.
fn relative_base(glob: &Glob) -> PathBuf {
    let Some(first) = glob.matches.first() else { return glob.base.clone() };
    let first = first.trim_start_matches("../");
    if first.starts_with('/') {
        return "/".into();
    }
    // The operand's own relative prefix has as many components as the match has more than the pattern.
    let extra =
        first.trim_end_matches('/').split('/').filter(|name| !name.is_empty() && *name != ".").count();
    let own = glob.pattern.trim_end_matches('/').split('/').count();
    let mut base = glob.base.clone();
    for _ in own..extra {
        base.pop();
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_of_wildcards_alone_is_wide() {
        for wide in ["*", ".*", "*.*", "?*", ".[!.]*", "**", "!(proc)", "[a-z]*"] {
            assert!(is_wide(wide), "{wide}");
        }
        for narrow in ["*.log", "build-*", "core.[0-9]*", "a*", "*1"] {
            assert!(!is_wide(narrow), "{narrow}");
        }
    }

    #[test]
    fn a_pattern_ends_where_nothing_named_follows() {
        assert!(Shape::of("*").ends && Shape::of("*/").ends && Shape::of("**/*").ends);
        assert!(!Shape::of("*/node_modules").ends && !Shape::of("**/*.o").ends);
    }

    #[test]
    fn matches_are_read_where_the_operand_is() {
        let glob = |base: &str, pattern: &str, first: &str| Glob {
            base: base.into(),
            pattern: pattern.into(),
            matches: vec![first.into()],
            count: 1,
        };
        assert_eq!(relative_base(&glob("/p/build", "*.o", "build/a.o")), Path::new("/p"));
        assert_eq!(relative_base(&glob("/p/build", "*.o", "a.o")), Path::new("/p/build"));
        assert_eq!(relative_base(&glob("/p", "*", "./a")), Path::new("/p"));
        assert_eq!(relative_base(&glob("/p/build", "*.o", "/p/build/a.o")), Path::new("/"));
        assert_eq!(relative_base(&glob("/p/build", "*.o", "../build/a.o")), Path::new("/p"));
        assert_eq!(relative_base(&glob("/p/build", "*.o", "../a.o")), Path::new("/p/build"));
    }
}
