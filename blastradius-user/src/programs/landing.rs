//! Where objects land that mv, cp, ln, install and rsync are told to put somewhere.

use crate::policy::effect::{Act, Follow, Selection};
use crate::programs::{Machine, acts, words};
use crate::shell::value::{Abstract, Cause, Field};
use crate::shell::world::Kind;

/// Names of one source that are looked at one by one; of more, the first few stand for all.
const MAX_NAMES: usize = 256;

/// Sources and the place they are put.
#[derive(Clone, Debug)]
pub struct Landing {
    /// What is moved, copied or linked.
    pub sources: Vec<Field>,
    /// The last operand, or the argument of `-t`.
    pub target: Field,
    /// The sources land inside the target under their last names, and do not take over its name.
    pub inside: bool,
}

impl Landing {
    /// Sorts operands as `SOURCE… DIRECTORY`, `SOURCE DEST`, `-t DIRECTORY SOURCE…` or `-T SOURCE DEST`.
    pub fn new(
        machine: &dyn Machine,
        operands: &[&Field],
        directory: Option<&Field>,
        exact: bool,
    ) -> Option<Self> {
        if let Some(directory) = directory {
            let sources = operands.iter().copied().cloned().collect();
            return Some(Self { sources, target: directory.clone(), inside: true });
        }
        let (last, sources) = operands.split_last()?;
        let mut sources: Vec<Field> = sources.iter().copied().cloned().collect();
        // The shell expands the last word too: the last of its matches is the target, the others are sources.
        let target = match last.glob.as_ref().and_then(|glob| glob.matches.split_last()) {
            None => (*last).clone(),
            Some((name, others)) => {
                let literal =
                    |name: &String| Field { text: Abstract::known(name), glob: None, ..(*last).clone() };
                sources.extend(others.iter().map(literal));
                literal(name)
            }
        };
        let several = sources.len() > 1
            || sources.first().and_then(|source| source.glob.as_ref()).is_some_and(|glob| glob.count > 1);
        let inside = !exact && (several || acts::is_directory(machine, &target, &machine.cwd()));
        (!sources.is_empty()).then_some(Self { sources, target, inside })
    }

    /// The names that are taken over, source by source. Of a glob's matches those are kept that are there already, and
    /// one that stands for the others.
    pub fn names(&self, machine: &dyn Machine) -> Vec<Landed> {
        let base = machine.cwd();
        let mut landed = Vec::new();
        for source in &self.sources {
            if !self.inside {
                landed.push(Landed { source: source.clone(), name: self.target.clone() });
                continue;
            }
            let expanded = words::expanded(source);
            let is_one = expanded.len() == 1;
            if expanded.len() > MAX_NAMES {
                let rest = Field {
                    text: Abstract::unknown(Cause::ManyValues(source.source.clone())),
                    ..source.clone()
                };
                landed.push(Landed { name: words::below(&self.target, &rest), source: rest });
            }
            for (place, source) in expanded.into_iter().take(MAX_NAMES).enumerate() {
                let name = words::below(&self.target, &source);
                if is_one || place == 0 || acts::named(machine, &name, &base) != acts::Named::Nothing {
                    landed.push(Landed { source, name });
                }
            }
        }
        landed
    }
}

/// One source and the name it takes over.
#[derive(Clone, Debug)]
pub struct Landed {
    /// What is put there.
    pub source: Field,
    /// The name it gets.
    pub name: Field,
}

/// The name is taken over by another object, or its content by another content. A directory that a directory is copied
/// onto is merged into: only what both hold is lost.
pub fn take_over(machine: &mut dyn Machine, landed: &Landed, act: Act, follow: Follow, recursive: bool) {
    let base = machine.cwd();
    let there = acts::named(machine, &landed.name, &base);
    if there == acts::Named::Object(Kind::Directory) && recursive {
        merge(machine, &landed.source, &landed.name, act);
        return;
    }
    if is_device_name(&landed.name) && act != Act::Replace {
        acts::path(machine, Act::Device, &landed.name, follow);
    } else {
        acts::path(machine, act, &landed.name, follow);
    }
    acts::creates(machine, &landed.name);
}

/// `cp -r src/. dst`: what both directories hold is overwritten.
pub fn merge(machine: &mut dyn Machine, source: &Field, target: &Field, act: Act) {
    let base = machine.cwd();
    let common = acts::location(source, &base).zip(acts::location(target, &base)).and_then(|(from, to)| {
        let entries = machine.world().read_dir(&from, MAX_NAMES)?;
        let present = machine.world().read_dir(&to, MAX_NAMES)?;
        let known = entries.len() < MAX_NAMES && present.len() < MAX_NAMES;
        known.then(|| {
            let shared =
                |entry: &(std::ffi::OsString, Kind)| present.iter().any(|(name, _)| *name == entry.0);
            entries.iter().filter(|entry| shared(entry)).cloned().collect::<Vec<_>>()
        })
    });
    let Some(common) = common else {
        let filter = format!("what {} holds", source.source);
        merged(machine, target, act, filter);
        return;
    };
    for (name, kind) in common {
        let name = words::child(target, &name.to_string_lossy());
        if kind == Kind::Directory {
            merged(machine, &name, act, format!("what {} holds", source.source));
        } else {
            acts::path(machine, act, &name, Follow::Last);
        }
    }
}

/// Part of what lies below a directory is overwritten.
fn merged(machine: &mut dyn Machine, directory: &Field, act: Act, filter: String) {
    let selection = Selection { filter, narrow_by_other: true, contents_only: true, ..Selection::default() };
    acts::selected(machine, act, directory, Follow::Last, selection);
}

/// A name that is known to lie below `/dev`: written to, and never replaced.
pub fn is_device_name(operand: &Field) -> bool {
    words::lead(&operand.text).starts_with("/dev/")
}

/// Something is unpacked or copied over a whole directory, and overwrites what it likes. Only for `/` and its entries
/// is that more than an edit: elsewhere nobody can tell what it replaces.
pub fn overlays(machine: &mut dyn Machine, directory: &Field) {
    let base = machine.cwd();
    let Some(path) = acts::location(directory, &base) else { return };
    let depth = path.components().filter(|part| matches!(part, std::path::Component::Normal(_))).count();
    let plain = path.components().all(|part| part != std::path::Component::ParentDir);
    if plain && depth <= 1 {
        merged(machine, directory, Act::Replace, "what the source holds".to_owned());
    }
}
