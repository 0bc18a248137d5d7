//! The policy compiled for the enforcing back ends: the marks of the policy, made explicit for what exists now.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use blastradius_common::Zone;

use crate::shell::world::{Kind, Look, World};

use super::marks::{Entry, Stated};
use super::pattern::Pattern;
use super::plan::{Mark, NameMark, Plan};
use super::resolve::{Last, resolve};
use super::{Policy, floor, paths, presets};

/// How many entries of one directory are looked at where a pattern or the floor asks for them.
const ENTRY_LIMIT: usize = 4096;

/// How many paths one pattern may stand for.
const MATCH_LIMIT: usize = 4096;

impl Policy {
    /// The policy as a list of marks. Unlike judging, this looks at the directories that patterns and the floor name; it
    /// walks no tree.
    pub fn plan(&self, world: &dyn World) -> Plan {
        let mut compiler = Compiler { policy: self, world, entries: BTreeMap::new() };
        compiler.marks();
        compiler.places();
        compiler.states();
        compiler.patterns();
        compiler.into_plan()
    }
}

struct Compiler<'a> {
    policy: &'a Policy,
    world: &'a dyn World,
    entries: BTreeMap<PathBuf, Entry>,
}

impl Compiler<'_> {
    fn marks(&mut self) {
        for (path, entry) in self.policy.marks.entries() {
            self.entries.insert(path.to_path_buf(), entry.clone());
        }
    }

    /// Floor objects by place, as far as they exist: entries of `/`, of `/home`, Windows drives.
    fn places(&mut self) {
        let stated = |zone, origin: &'static str| Some(Stated { zone, origin: origin.into() });
        for at in self.children(Path::new("/")) {
            let entry = self.entries.entry(at).or_default();
            floor_first(entry, "floor: at most one below the root");
        }
        for parent in floor::home_parents() {
            for at in self.children(parent) {
                let entry = self.entries.entry(at).or_default();
                floor_first(entry, "floor: a home");
                if entry.below.is_none() {
                    entry.below = stated(Zone::Personal, "personal: in a home");
                    entry.dots = stated(Zone::Config, "dotfiles of a home");
                }
            }
        }
        for drive in self.children(Path::new("/mnt")).into_iter().filter(|path| floor::is_windows_floor(path))
        {
            let users = drive.join("Users");
            let below = self.children(&drive).into_iter().chain(self.children(&users));
            for at in std::iter::once(drive.clone()).chain(below).filter(|path| floor::is_windows_floor(path))
            {
                floor_first(self.entries.entry(at).or_default(), "floor: a Windows drive");
            }
        }
    }

    fn states(&mut self) {
        for state in self.policy.states(self.world) {
            if !presets::is_present(self.world, state.preset) {
                continue;
            }
            let origin = format!("preset: {}", state.preset.tool);
            for path in self.expand(&state.pattern) {
                // A mark that a person or the floor put there decides.
                let real = resolve(self.world, Path::new("/"), &path, Last::Kept).path;
                let nearest = self.policy.zone(self.world, &real);
                if nearest.zone == Zone::State && nearest.own {
                    let stated = Some(Stated { zone: Zone::State, origin: origin.clone().into() });
                    let entry = self.entries.entry(real).or_default();
                    entry.own = stated.clone();
                    entry.below = stated;
                }
            }
        }
    }

    fn patterns(&mut self) {
        for mark in self.policy.marks.patterns() {
            for path in self.expand(&mark.pattern) {
                let real = resolve(self.world, Path::new("/"), &path, Last::Kept).path;
                let own = self.policy.zone(self.world, &real);
                let entry = self.entries.entry(real).or_default();
                if own.own {
                    entry.own = Some(Stated { zone: own.zone, origin: own.origin });
                }
                if entry.below.as_ref().is_none_or(|stated| stated.zone != Zone::Denied) {
                    entry.below = Some(mark.stated.clone());
                }
            }
        }
    }

    fn children(&self, dir: &Path) -> Vec<PathBuf> {
        let names = self.world.read_dir(dir, ENTRY_LIMIT).unwrap_or_default();
        names.into_iter().map(|(name, _)| dir.join(name)).collect()
    }

    /// The paths that a pattern matches now, without walking: a `**` in the middle matches at its own place only.
    fn expand(&self, pattern: &Pattern) -> Vec<PathBuf> {
        if let Some(path) = pattern.literal() {
            return vec![path];
        }
        let mut found = Vec::new();
        let mut todo = vec![pattern.literal_prefix()];
        while let Some(dir) = todo.pop() {
            for (name, kind) in self.world.read_dir(&dir, ENTRY_LIMIT).unwrap_or_default() {
                let at = dir.join(name);
                if pattern.match_depth(&at) == Some(paths::depth(&at)) {
                    found.push(at);
                } else if kind == Kind::Directory
                    && !pattern.is_deep()
                    && pattern.is_longer_than(paths::depth(&at))
                {
                    todo.push(at);
                }
                if found.len() + todo.len() > MATCH_LIMIT {
                    return found;
                }
            }
        }
        found
    }

    fn into_plan(self) -> Plan {
        let mut plan = Plan::default();
        for (path, entry) in self.entries {
            let exists = matches!(self.world.look(&path), Look::Found(_));
            if entry.by_name
                && let Some(mark) = name_mark(&path, &entry)
            {
                plan.names.push(mark);
            }
            if exists {
                plan.marks.push(mark(path, entry));
            } else if let Some(mark) = name_mark(&path, &entry).filter(|mark| lasts(mark.zone)) {
                // What is protected or granted and is not there yet is bound by its name.
                let parent_there = matches!(self.world.look(&mark.parent), Look::Found(_));
                if parent_there && !entry.by_name {
                    plan.names.push(mark);
                }
            }
        }
        plan
    }
}

/// Zones that matter for an object that does not exist yet.
fn lasts(zone: Zone) -> bool {
    matches!(zone, Zone::Own | Zone::Denied | Zone::History | Zone::Scope | Zone::State)
}

fn floor_first(entry: &mut Entry, origin: &'static str) {
    let stricter = entry
        .own
        .as_ref()
        .is_some_and(|stated| matches!(stated.zone, Zone::Denied | Zone::Own | Zone::Floor));
    if !stricter {
        entry.own = Some(Stated { zone: Zone::Floor, origin: origin.into() });
    }
}

fn mark(path: PathBuf, entry: Entry) -> Mark {
    let Entry { own, below, dots, by_name: _ } = entry;
    let origin = below.as_ref().or(own.as_ref()).map_or_else(String::new, |stated| stated.origin.to_string());
    let zone = |stated: Option<Stated>| stated.map(|stated| stated.zone);
    Mark { path, own: zone(own), below: zone(below), dots: zone(dots), origin }
}

fn name_mark(path: &Path, entry: &Entry) -> Option<NameMark> {
    let stated = entry.below.as_ref().or(entry.own.as_ref())?;
    let name: OsString = path.file_name()?.to_owned();
    Some(NameMark {
        parent: path.parent()?.to_path_buf(),
        name,
        zone: stated.zone,
        origin: stated.origin.to_string(),
    })
}
