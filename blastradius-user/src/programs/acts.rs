//! What families say to the machine, in one line each.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use blastradius_common::{RuleId, Verdict};

use crate::policy::effect::{Act, Base, Effect, Follow, PathTarget, Selection};
use crate::programs::{Input, Machine};
use crate::shell::value::{Abstract, Cause, Field};
use crate::shell::world::{Kind, Look};

/// Links that are followed before a chain counts as a loop, as in the kernel (MAXSYMLINKS, path_resolution(7)).
const MAX_LINKS: usize = 40;

/// An act on one operand, read in the working directory.
pub fn path(machine: &mut dyn Machine, act: Act, operand: &Field, follow: Follow) {
    selected(machine, act, operand, follow, Selection::default());
}

/// An act on part of a tree.
pub fn selected(machine: &mut dyn Machine, act: Act, operand: &Field, follow: Follow, selection: Selection) {
    let base = machine.cwd();
    at(machine, act, operand, base, follow, selection);
}

/// An act on an operand that is read in another directory.
pub fn at(
    machine: &mut dyn Machine,
    act: Act,
    operand: &Field,
    base: Base,
    follow: Follow,
    selection: Selection,
) {
    let target = PathTarget { operand: operand.clone(), base, follow, selection };
    machine.effect(Effect::Path { act, target });
}

/// The name goes; with `recursive` everything below it.
pub fn remove(machine: &mut dyn Machine, operand: &Field, recursive: bool) {
    path(machine, Act::Remove { recursive }, operand, Follow::Never);
}

/// The content goes, or is overwritten in place.
pub fn truncate(machine: &mut dyn Machine, operand: &Field) {
    path(machine, Act::Truncate, operand, Follow::Last);
}

/// The operand is overwritten, be it a file or a device.
pub fn overwrite(machine: &mut dyn Machine, operand: &Field) {
    path(machine, Act::Device, operand, Follow::Last);
}

/// What is not a file: the rule decides, with its own verdict.
pub fn thing(
    machine: &mut dyn Machine,
    rule: RuleId,
    what: impl Into<Cow<'static, str>>,
    object: impl Into<Cow<'static, str>>,
) {
    machine.effect(Effect::Thing { rule, verdict: None, what: what.into(), object: object.into() });
}

/// What is not a file, with a verdict other than the rule's.
pub fn judged_thing(
    machine: &mut dyn Machine,
    rule: RuleId,
    verdict: Verdict,
    what: impl Into<Cow<'static, str>>,
    object: impl Into<Cow<'static, str>>,
) {
    machine.effect(Effect::Thing { rule, verdict: Some(verdict), what: what.into(), object: object.into() });
}

/// The program prints this text, newline included.
pub fn print_line(machine: &mut dyn Machine, mut text: Abstract) {
    text.push_text("\n");
    machine.print(Input::Text(text));
}

/// Where an operand lies, if directory and name are known and no glob is involved.
pub fn location(operand: &Field, base: &Base) -> Option<PathBuf> {
    let name = operand.as_known()?;
    let path = Path::new(&*name);
    if path.is_absolute() {
        return Some(path.to_path_buf());
    }
    match base {
        Base::Known(directory) => Some(directory.join(path)),
        Base::OneOf(_) | Base::Unknown(_) => None,
    }
}

/// What an operand names once links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// An object of this kind.
    Object(Kind),
    /// Nothing bears the name.
    Nothing,
    /// It cannot be told.
    Unknown,
}

/// Looks at what an operand names, links followed.
pub fn named(machine: &dyn Machine, operand: &Field, base: &Base) -> Named {
    let Some(mut path) = location(operand, base) else { return Named::Unknown };
    for _ in 0..MAX_LINKS {
        match machine.world().look(&path) {
            Look::Absent => return Named::Nothing,
            Look::Unreadable => return Named::Unknown,
            Look::Found(meta) if meta.kind != Kind::Link => return Named::Object(meta.kind),
            Look::Found(_) => match machine.world().read_link(&path) {
                Some(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
                None => return Named::Unknown,
            },
        }
    }
    Named::Unknown
}

/// Whether the operand is known to be a directory, or spelled as one (`x/`, `.`, `..`).
pub fn is_directory(machine: &dyn Machine, operand: &Field, base: &Base) -> bool {
    let spelled = operand.as_known().is_some_and(|name| {
        name.ends_with('/') || matches!(&*name, "." | "..") || name.ends_with("/.") || name.ends_with("/..")
    });
    spelled || named(machine, operand, base) == Named::Object(Kind::Directory)
}

/// The program makes the operand, unless it is there already: what was there before is not its own to lose.
pub fn creates(machine: &mut dyn Machine, operand: &Field) {
    let base = machine.cwd();
    if named(machine, operand, &base) == Named::Nothing {
        machine.creates(operand, base);
    }
}

/// A word for the output of a command that is known only at run time.
pub fn output_word(command: &str) -> Field {
    let cause = Cause::CommandOutput(Rc::from(command));
    Field { text: Abstract::unknown(cause), glob: None, source: command.into(), tilde: false }
}
