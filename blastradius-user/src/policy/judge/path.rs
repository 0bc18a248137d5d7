//! Effects on the file system: from operand and working directory to the objects that are judged.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use blastradius_common::{RuleId, Verdict};

use crate::policy::effect::{Act, Base, Effect, Follow, Located, PathTarget};
use crate::policy::mode::Surface;
use crate::policy::operand::{Nothings, Partial, Reading, SOME_NAME, explain, read};
use crate::policy::paths;
use crate::policy::resolve::Last;
use crate::shell::value::Cause;

use super::verdict::Case;
use super::{Court, Objection, is_literal_minded};

impl Court<'_> {
    pub(super) fn path(&self, located: &Located, act: Act, target: &PathTarget) -> Vec<Objection> {
        if let Some(place) = &located.elsewhere {
            return self.elsewhere(place, act, target).into_iter().collect();
        }
        let case = Case { act, selection: &target.selection, program: &located.program };
        let mut objections = Vec::new();
        match read(&target.operand) {
            Reading::Known { text, nothings } => {
                objections.extend(self.tilde(act, target));
                objections.extend(self.spelling(act, &text, target));
                self.known(case, target, &text, &nothings, &mut objections);
            }
            Reading::Glob { glob, nothings } => {
                objections.extend(self.tilde(act, target));
                objections.extend(self.emptied(case, &glob_text(target), &nothings));
                if objections.iter().all(|objection| !objection.critical) {
                    let found = self.glob(case, target, glob);
                    objections.extend(found.into_iter().map(|objection| self.blamed(objection, &nothings)));
                }
            }
            Reading::Partial(partial) => {
                objections.extend(self.tilde(act, target));
                for base in bases(&target.base) {
                    objections.extend(self.partial(case, target, &partial, base.as_deref()));
                }
            }
        }
        objections
    }

    /// The path that an effect is about, for a refusal that does not depend on it. `None`: it has none, or not one that is known.
    pub(super) fn meant(&self, located: &Located) -> Option<PathBuf> {
        let Effect::Path { target, .. } = &located.effect else { return None };
        if located.elsewhere.is_some() {
            return None;
        }
        match read(&target.operand) {
            Reading::Known { text, .. } if !text.is_empty() => {
                let base = bases(&target.base).into_iter().next()?;
                let base = if text.starts_with('/') { Some(Rc::new(PathBuf::from("/"))) } else { base }?;
                Some(self.policy.resolve(self.world, &base, Path::new(&*text), last(target.follow)).path)
            }
            Reading::Glob { glob, .. } => {
                let directory = self.policy.resolve(self.world, Path::new("/"), &glob.base, Last::Followed);
                Some(directory.path.join(&glob.pattern))
            }
            Reading::Known { .. } | Reading::Partial(_) => None,
        }
    }

    /// `~` at the front means the home; someone may have meant a file of that name.
    fn tilde(&self, act: Act, target: &PathTarget) -> Option<Objection> {
        let destroys = matches!(act, Act::Remove { .. } | Act::Truncate | Act::Move);
        let literal = target.operand.source.starts_with('~');
        if destroys && target.operand.tilde && is_literal_minded(self.asker) {
            return Some(Objection::new(RuleId::TildeAmbiguous, Verdict::Deny).because(
                "a leading ~ is the home directory, and may have been meant as a file of that name",
            ));
        }
        // `~someone/x`: the shell looks the account up when it runs.
        let unexpanded = literal && !target.operand.tilde && destroys && target.operand.source.len() > 1;
        unexpanded.then(|| {
            Objection::new(RuleId::TildeAmbiguous, Verdict::Confirm)
                .because("it names the home of an account that is not known here")
        })
    }

    /// Why each part is missing or unknown. A hook's environment is not the command's.
    fn causes(&self, causes: &[&Cause]) -> Vec<String> {
        let told = causes.iter().map(|cause| match cause {
            Cause::Unset(name) if self.asker.surface == Surface::Hook => {
                format!("{name} is not visible here: set neither in this environment nor in the command; assign it in the command")
            }
            cause => explain(cause),
        });
        told.collect()
    }

    /// Letters that look like others, or like nothing.
    fn spelling(&self, act: Act, text: &str, target: &PathTarget) -> Option<Objection> {
        if text.is_ascii() || !matches!(act, Act::Remove { .. } | Act::Move) {
            return None;
        }
        let letter = text.chars().find(|letter| is_deceptive(*letter))?;
        Some(Objection::new(RuleId::LookAlike, Verdict::Confirm).because(format!(
            "{} holds U+{:04X}, which looks like another character or like none",
            target.operand.source.escape_debug(),
            u32::from(letter)
        )))
    }

    fn known(
        &self,
        case: Case<'_>,
        target: &PathTarget,
        text: &str,
        nothings: &Nothings<'_>,
        objections: &mut Vec<Objection>,
    ) {
        if text.is_empty() {
            objections.extend(self.empty(case, nothings));
            return;
        }
        if let Some(objection) = self.emptied(case, text, nothings) {
            let resolved =
                self.policy.resolve(self.world, Path::new("/"), Path::new(text), last(target.follow));
            objections.push(Objection { resolved: Some(resolved.path), ..objection });
            return;
        }
        if !text.starts_with('/') && matches!(target.base, Base::Unknown(_)) {
            objections.extend(unknown_base(case.act, &target.base));
            return;
        }
        let mut worst: Option<Objection> = None;
        for base in bases(&target.base) {
            let base = base.unwrap_or_else(|| Rc::new(PathBuf::from("/")));
            let object = self.policy.resolve(self.world, &base, Path::new(text), last(target.follow));
            let objection = self.object(case, &object).map(|objection| self.blamed(objection, nothings));
            worst = match (worst, objection) {
                (Some(old), Some(new)) if new.verdict <= old.verdict => Some(old),
                (old, new) => new.or(old),
            };
        }
        let lost = nothings.lost_last && is_removal(case.act);
        if worst.is_none() && lost {
            let mut objection = Objection::new(RuleId::EmptyVariableExpansion, Verdict::Confirm);
            objection.reasons = self.causes(&nothings.causes);
            worst = Some(objection.because("what is left is the directory around what was meant"));
        }
        objections.extend(worst);
    }

    /// An operand that is an empty word.
    fn empty(&self, case: Case<'_>, nothings: &Nothings<'_>) -> Option<Objection> {
        if matches!(case.act, Act::Append) {
            return None;
        }
        if nothings.causes.is_empty() {
            return Some(
                Objection::new(RuleId::EmptyTarget, Verdict::Deny).because("the operand is an empty word"),
            );
        }
        let mut objection = Objection::critical(RuleId::EmptyVariableExpansion);
        objection.reasons = self.causes(&nothings.causes);
        Some(objection)
    }

    /// A removal whose operand moved to the root because a variable in front of its slash gave nothing.
    fn emptied(&self, case: Case<'_>, text: &str, nothings: &Nothings<'_>) -> Option<Objection> {
        let reaches = is_removal(case.act) || matches!(case.act, Act::Metadata { recursive: true });
        if !nothings.moved_to_root || !reaches {
            return None;
        }
        let mut objection = Objection::critical(RuleId::EmptyVariableExpansion);
        objection.reasons = self.causes(&nothings.causes);
        objection.resolved = Some(paths::normalise(Path::new(text)));
        Some(objection.because(format!("what is left of the operand starts at the root: {text}")))
    }

    /// Part of the operand is known only at run time.
    fn partial(
        &self,
        case: Case<'_>,
        target: &PathTarget,
        partial: &Partial<'_>,
        base: Option<&PathBuf>,
    ) -> Option<Objection> {
        if case.act == Act::Append || case.act == (Act::Metadata { recursive: false }) {
            return None;
        }
        if partial.prefix.is_empty() {
            return self.leading_hole(case, target, partial, base);
        }
        let relative = !partial.prefix.starts_with('/');
        let Some(base) = base.cloned().or_else(|| (!relative).then(|| PathBuf::from("/"))) else {
            return unknown_base(case.act, &target.base).map(|objection| self.because_of(objection, partial));
        };
        let (dir, fragment) = match partial.prefix.rfind('/') {
            Some(slash) => partial.prefix.split_at(slash + 1),
            None => ("", &*partial.prefix),
        };
        self.entry(case, &base, dir, fragment, partial).map(|objection| self.because_of(objection, partial))
    }

    /// The operand begins with what is not known.
    fn leading_hole(
        &self,
        case: Case<'_>,
        target: &PathTarget,
        partial: &Partial<'_>,
        base: Option<&PathBuf>,
    ) -> Option<Objection> {
        // What was made a moment ago is nobody's loss, unless the operand climbs out of it.
        let climbs = partial.after.split('/').any(|part| part == "..");
        if partial.hole.born && !climbs || partial.is_guarded() {
            return None;
        }
        if partial.hole.component && !partial.hole.maybe_empty {
            let Some(base) = base else {
                return unknown_base(case.act, &target.base)
                    .map(|objection| self.because_of(objection, partial));
            };
            return self
                .entry(case, base, "", "", partial)
                .map(|objection| self.because_of(objection, partial));
        }
        let followed_by_slash = partial.after.starts_with('/');
        if partial.hole.maybe_empty
            && followed_by_slash
            && !partial.has_literal_after()
            && is_removal(case.act)
        {
            let mut objection = Objection::critical(RuleId::EmptyVariableExpansion);
            objection.resolved = Some(PathBuf::from(partial.after.replace(SOME_NAME, "?")));
            let objection = self.because_of(objection, partial);
            return Some(objection.because("if it is empty, what is left of the operand starts at the root"));
        }
        let objection = Objection::new(RuleId::UnknownOperand, Verdict::Confirm);
        Some(self.because_of(objection, partial))
    }

    /// An entry of a known directory, of whose name at most a fragment is known.
    fn entry(
        &self,
        case: Case<'_>,
        base: &Path,
        dir: &str,
        fragment: &str,
        partial: &Partial<'_>,
    ) -> Option<Objection> {
        let place = self.policy.resolve(
            self.world,
            base,
            Path::new(if dir.is_empty() { "." } else { dir }),
            Last::Followed,
        );
        let named_after = partial.has_literal_after();
        let own_part = partial.after.split('/').next().unwrap_or_default();
        let whole_name = fragment.is_empty() && own_part.chars().all(|letter| !letter.is_alphanumeric());
        if whole_name && !named_after {
            if partial.hole.maybe_empty
                && let Some(objection) = self.if_empty(case, &place.path)
            {
                return Some(objection);
            }
            return self.any_entry(case, &place.path);
        }
        let name = format!("{fragment}{SOME_NAME}{}", partial.after);
        let object = self.policy.resolve(self.world, &place.path, Path::new(&name), Last::Kept);
        self.object(case, &object).map(shown)
    }

    /// What becomes of `dir/$X` if X is empty: the directory itself.
    fn if_empty(&self, case: Case<'_>, dir: &Path) -> Option<Objection> {
        let object = self.policy.resolve(self.world, dir, Path::new("."), Last::Followed);
        let objection = self.object(case, &object)?;
        let scratch = self.zone_inside(dir).zone == blastradius_common::Zone::Scope;
        let lowered = if scratch { Verdict::Confirm } else { objection.verdict };
        Some(
            Objection { verdict: lowered, critical: objection.critical && !scratch, ..objection }
                .because("that is what the operand names if it is empty"),
        )
    }

    /// Adds the variables that gave nothing to an objection; where they made the target critical, they are the rule.
    fn blamed(&self, objection: Objection, nothings: &Nothings<'_>) -> Objection {
        if nothings.causes.is_empty() {
            return objection;
        }
        let mut reasons = self.causes(&nothings.causes);
        reasons.extend(objection.reasons);
        let rule = if objection.critical { RuleId::EmptyVariableExpansion } else { objection.rule };
        Objection { rule, reasons, ..objection }
    }

    /// Adds what is known only at run time to an objection.
    fn because_of(&self, objection: Objection, partial: &Partial<'_>) -> Objection {
        let mut reasons = self.causes(&partial.causes);
        reasons.extend(objection.reasons);
        Objection { reasons, ..objection }
    }
}

/// Replaces the placeholder of unknown names by what people read.
pub(super) fn shown(objection: Objection) -> Objection {
    let show = |path: PathBuf| PathBuf::from(path.to_string_lossy().replace(SOME_NAME, "*"));
    let reasons = objection.reasons.into_iter().map(|reason| reason.replace(SOME_NAME, "*")).collect();
    Objection { resolved: objection.resolved.map(show), reasons, ..objection }
}

pub(super) fn last(follow: Follow) -> Last {
    match follow {
        Follow::Never => Last::Kept,
        Follow::Last => Last::Followed,
    }
}

pub(super) fn is_removal(act: Act) -> bool {
    matches!(act, Act::Remove { .. } | Act::Move)
}

/// The directories in which the operand may be read; `None`: unknown.
pub(super) fn bases(base: &Base) -> Vec<Option<Rc<PathBuf>>> {
    match base {
        Base::Known(path) => vec![Some(path.clone())],
        Base::OneOf(paths) => paths.iter().cloned().map(Some).collect(),
        Base::Unknown(_) => vec![None],
    }
}

/// A relative operand in a directory that nobody knows.
pub(super) fn unknown_base(act: Act, base: &Base) -> Option<Objection> {
    let harmless =
        matches!(act, Act::Append | Act::Metadata { recursive: false } | Act::Truncate | Act::Replace);
    let Base::Unknown(why) = base else { return None };
    (!harmless).then(|| {
        Objection::new(RuleId::UnknownOperand, Verdict::Confirm)
            .because(format!("the working directory is known only at run time: {why}"))
    })
}

fn glob_text(target: &PathTarget) -> String {
    target.operand.text.as_known().unwrap_or_default().into_owned()
}

/// Invisible characters, blanks that are no blanks, and doubles of `/`, `.`, `~`, `-` and `*`.
fn is_deceptive(letter: char) -> bool {
    matches!(
        letter,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180e}' | '\u{2000}'..='\u{200f}' | '\u{2010}'..='\u{2015}' | '\u{2024}' | '\u{2028}'..='\u{202f}'
            | '\u{2044}' | '\u{205f}'..='\u{206f}' | '\u{2215}' | '\u{2217}' | '\u{223c}' | '\u{29f8}'
            | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ff0d}'..='\u{ff0f}'
            | '\u{ff0a}' | '\u{ff5e}' | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}'
    )
}
