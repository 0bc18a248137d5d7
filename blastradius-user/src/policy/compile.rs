//! The policy compiled for the enforcing back ends: the marks of the policy, made explicit for what exists now.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use blastradius_common::{RuleId, Verdict, Zone};

use crate::shell::world::{Kind, Look, World};

use super::marks::{Entry, Stated, is_absorbing};
use super::pattern::Pattern;
use super::plan::{Mark, NameMark, Plan};
use super::resolve::{Last, resolve};
use super::worktree::HISTORY_NAMES;
use super::{Policy, floor, nested, paths, presets};

/// How many entries of one directory are looked at where a pattern or the floor asks for them.
const ENTRY_LIMIT: usize = 4096;

/// How many paths one pattern may stand for.
const MATCH_LIMIT: usize = 4096;

/// How many entries are looked at for one pattern with `**` in the middle. Such a line asks for a walk.
const WALK_LIMIT: usize = 50_000;

impl Policy {
    /// The policy as a list of marks. Unlike judging, this looks at the directories that patterns and the floor name; it
    /// walks a tree only for a pattern with `**` in the middle, and only so far.
    pub fn plan(&self, world: &dyn World) -> Plan {
        self.plan_and_rest(world).0
    }

    /// The plan, and the lines that match more than is looked at: what lies beyond, only the text layer knows.
    pub fn plan_and_rest(&self, world: &dyn World) -> (Plan, Vec<String>) {
        let mut compiler = Compiler { policy: self, world, entries: BTreeMap::new(), cut: Vec::new() };
        compiler.marks();
        compiler.places();
        compiler.states();
        compiler.launchers();
        compiler.patterns();
        compiler.nested();
        let cut = std::mem::take(&mut compiler.cut);
        (compiler.into_plan(), cut)
    }

    /// Whether someone who may do so has lowered the rule about stopping the machine.
    fn permits_power(&self) -> bool {
        self.config().rule(RuleId::PowerState).is_some_and(|verdict| verdict <= Verdict::Warn)
    }
}

struct Compiler<'a> {
    policy: &'a Policy,
    world: &'a dyn World,
    entries: BTreeMap<PathBuf, Entry>,
    /// Lines that match more than was looked at.
    cut: Vec<String>,
}

impl Compiler<'_> {
    fn marks(&mut self) {
        for (path, entry) in self.policy.marks.entries() {
            let mut entry = entry.clone();
            entry.own = entry.own.map(|stated| self.as_it_holds(path, stated));
            entry.below = entry.below.map(|stated| self.as_it_holds(&path.join("\u{1}"), stated));
            self.entries.insert(path.to_path_buf(), entry);
        }
    }

    /// What holds of a place of which this is said. A back end lets the nearest mark decide; inside history and the guard's
    /// own files that is not the one that a line put there.
    fn as_it_holds(&self, place: &Path, stated: Stated) -> Stated {
        let answer = self.policy.zone(self.world, place);
        if is_absorbing(answer.zone) { Stated { zone: answer.zone, origin: answer.origin } } else { stated }
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
            if !presets::is_present(self.world, &self.policy.tool_homes, state.preset) {
                continue;
            }
            let origin = format!("preset: {}", state.preset.tool);
            for path in self.expand(&state.pattern).paths {
                // A mark that a person or the floor put there decides: of the directory itself, of what lies in it, or both.
                let real = resolve(self.world, Path::new("/"), &path, Last::Kept).path;
                let own = self.policy.zone(self.world, &real);
                let inside = self.policy.zone(self.world, &real.join("\u{1}"));
                let stated = || Some(Stated { zone: Zone::State, origin: origin.clone().into() });
                let by_it = [own.zone == Zone::State && own.own, inside.zone == Zone::State && !inside.own];
                if by_it.contains(&true) {
                    let entry = self.entries.entry(real).or_default();
                    if by_it[0] {
                        entry.own = stated();
                    }
                    if by_it[1] {
                        entry.below = stated();
                    }
                }
            }
        }
    }

    fn launchers(&mut self) {
        for path in self.policy.launchers(self.world).keys() {
            let answer = self.policy.zone(self.world, path);
            let is_there = matches!(self.world.look(path), Look::Found(_));
            if is_there && answer.zone == Zone::State {
                let entry = self.entries.entry(path.clone()).or_default();
                entry.own = Some(Stated { zone: answer.zone, origin: answer.origin });
            }
        }
    }

    fn patterns(&mut self) {
        for mark in self.policy.marks.patterns() {
            let Matches { paths, is_cut } = self.expand(&mark.pattern);
            if is_cut {
                self.cut.push(mark.stated.origin.to_string());
            }
            for path in paths {
                let real = resolve(self.world, Path::new("/"), &path, Last::Kept).path;
                let own = self.policy.zone(self.world, &real);
                let inside = self.as_it_holds(&real.join("\u{1}"), mark.stated.clone());
                let entry = self.entries.entry(real).or_default();
                if own.own || is_absorbing(own.zone) {
                    entry.own = Some(Stated { zone: own.zone, origin: own.origin });
                }
                if entry.below.as_ref().is_none_or(|stated| stated.zone != Zone::Denied) {
                    entry.below = Some(inside);
                }
            }
        }
    }

    /// The history of repositories inside the project, of as many as a short look finds.
    fn nested(&mut self) {
        let Some(project) = self.policy.project() else { return };
        let (dirs, _) = nested::git_dirs(self.world, project, nested::SESSION_LIMIT);
        for dir in dirs {
            for name in HISTORY_NAMES {
                let at = dir.join(name);
                let answer = self.policy.zone(self.world, &at);
                if answer.zone == Zone::History {
                    let stated = Stated { zone: Zone::History, origin: answer.origin };
                    let entry = self.entries.entry(at).or_default();
                    *entry =
                        Entry { own: Some(stated.clone()), below: Some(stated), dots: None, by_name: true };
                }
            }
        }
    }

    fn children(&self, dir: &Path) -> Vec<PathBuf> {
        let names = self.world.read_dir(dir, ENTRY_LIMIT).unwrap_or_default();
        names.into_iter().map(|(name, _)| dir.join(name)).collect()
    }

    /// The paths that a pattern matches now, nearest first. No link is followed.
    fn expand(&self, pattern: &Pattern) -> Matches {
        if let Some(path) = pattern.literal() {
            return Matches { paths: vec![path], is_cut: false };
        }
        let mut found = Matches::default();
        let mut todo = VecDeque::from([pattern.literal_prefix()]);
        let mut looked = 0;
        while let Some(dir) = todo.pop_front() {
            let entries = self.world.read_dir(&dir, ENTRY_LIMIT).unwrap_or_default();
            looked += entries.len();
            found.is_cut |= entries.len() >= ENTRY_LIMIT;
            for (name, kind) in entries {
                // Git's own store: thousands of names, none of them a person's.
                let is_store = name == "objects" && dir.ends_with(".git");
                let at = dir.join(name);
                let depth = paths::depth(&at);
                if pattern.match_depth(&at) == Some(depth) {
                    found.paths.push(at);
                } else if kind == Kind::Directory
                    && (pattern.is_longer_than(depth) || pattern.is_deep() && !is_store)
                {
                    todo.push_back(at);
                }
            }
            if found.paths.len() + todo.len() > MATCH_LIMIT || looked > WALK_LIMIT {
                found.is_cut = true;
                return found;
            }
        }
        found
    }

    fn into_plan(self) -> Plan {
        let mut plan = Plan { spares_power: self.policy.permits_power(), ..Plan::default() };
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

/// What a pattern matches.
#[derive(Default)]
struct Matches {
    paths: Vec<PathBuf>,
    /// There was more to look at than is looked at.
    is_cut: bool,
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::policy::Start;
    use crate::shell::world::Platform;
    use crate::shell::world::memory::MemoryWorld;

    /// The zone as a back end finds it: the nearest mark or name above, a denied one anywhere above wins.
    pub(in crate::policy) fn planned(plan: &Plan, path: &Path) -> Zone {
        let mut nearest = None;
        let mut child: Option<&Path> = None;
        for ancestor in path.ancestors() {
            let mark = plan.marks.iter().find(|mark| mark.path == ancestor);
            let name = plan.names.iter().find(|name| name.parent.join(&name.name) == ancestor);
            let dotted =
                child.and_then(Path::file_name).is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            let zone = mark.and_then(|mark| match child {
                None => mark.own,
                Some(_) if dotted => mark.dots.or(mark.below),
                Some(_) => mark.below,
            });
            child = Some(ancestor);
            let Some(zone) = zone.or(name.map(|name| name.zone)) else { continue };
            if zone == Zone::Denied {
                return zone;
            }
            nearest = nearest.or(Some(zone));
        }
        nearest.unwrap_or(Zone::Other)
    }

    /// A small generator: the same seed gives the same tree.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % sides
        }

        fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
            from[self.roll(from.len())]
        }
    }

    const TOPS: &[&str] = &[
        "/home/dev",
        "/home/dev/work",
        "/home/ann",
        "/srv",
        "/etc",
        "/usr/local",
        "/tmp",
        "/var/log",
        "/mnt",
        "/app",
    ];
    const NAMES: &[&str] =
        &["a", "b", ".c", ".cache", "build", ".git", "data", "x.log", "keys.pem", "[odd]*"];
    const LINES: &[&str] = &[
        "allow ./build",
        "allow ./build/**",
        "allow ./a/*",
        "deny ./data",
        "deny ./a/**",
        "deny ./*/b",
        "deny ./.c",
        "deny /srv/a",
        "allow /tmp/**",
        "deny <repo>/a/.git",
        "deny *.pem",
        "deny **/*.log",
        "deny ./**/data/**",
        "allow ./a/**/build",
        "allow ./[ab]/**",
        "deny ./b/*/?",
        "allow ./link/**",
        "deny ./link",
        "allow <repo>/**",
        "deny $HOME/.cache",
        "allow $TMPDIR/**",
        "deny ./vendor/.git",
        "allow ./.git/refs/heads/**",
        "allow ./.git/refs/*",
        "allow ./**/heads",
        "deny ./.git/hooks",
    ];

    fn path(dice: &mut Dice) -> String {
        let mut path = dice.pick(TOPS).to_owned();
        for _ in 0..dice.roll(5) {
            path.push('/');
            path.push_str(dice.pick(NAMES));
        }
        path
    }

    fn machine(dice: &mut Dice) -> (MemoryWorld, Vec<String>) {
        let mut world = MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .env("HOME", "/home/dev")
            .env("PATH", "/usr/bin")
            .file("/usr/bin/pip", "")
            .file("/usr/bin/npm", "")
            .file("/usr/bin/cargo", "")
            .env("TMPDIR", "/tmp")
            .env("VIRTUAL_ENV", &path(dice))
            .env("CARGO_HOME", &path(dice));
        let mut paths: Vec<String> = (0..30).map(|_| path(dice)).collect();
        paths.push("/home/dev/.cache/pip/x".into());
        paths.push("/usr/local/lib/python3.11/site".into());
        for path in &paths {
            world = world.dir(path);
        }
        let root = path(dice);
        if dice.roll(4) > 0 {
            world = world.work_tree(&root).dir(&format!("{root}/.git/refs/heads"));
            paths.extend(
                ["", "/.git", "/.git/objects/ab", "/.git/hooks", "/.git/config"]
                    .map(|rest| format!("{root}{rest}")),
            );
            if dice.roll(3) == 0 {
                let nested = format!("{root}/{}", dice.pick(&["a", "vendor", "a/b"]));
                world = world.work_tree(&nested).dir(&format!("{nested}/.git/refs/heads"));
                paths.extend(["", "/.git/refs/heads", "/.git/index"].map(|rest| format!("{nested}{rest}")));
            }
            if dice.roll(3) == 0 {
                world = world.link(&format!("{root}/link"), &path(dice));
                paths.push(format!("{root}/link"));
            }
            if dice.roll(2) == 0 {
                let lines: Vec<&str> = (0..dice.roll(4) + 1).map(|_| dice.pick(LINES)).collect();
                world = world.file(&format!("{root}/.blastradius"), &lines.join("\n"));
                paths.push(format!("{root}/.blastradius"));
            }
        }
        for _ in 0..dice.roll(3) {
            let at = path(dice);
            world = world.mount(&at, dice.pick(&["ext4", "tmpfs", "nfs4"]), 7);
            paths.push(at);
        }
        if dice.roll(3) == 0 {
            world = world.env("TMPDIR", &path(dice));
        }
        (world.cwd(&root), paths)
    }

    #[test]
    fn the_text_layers_zone_is_the_zone_that_the_plan_gives() {
        for seed in 0..300 {
            let mut dice = Dice(seed);
            let (world, paths) = machine(&mut dice);
            let policy = Policy::load(&world, Start { session: seed % 2 == 0, ..Start::default() });
            let plan = policy.plan(&world);
            let whole = paths.iter().flat_map(|path| Path::new(path).ancestors());
            for path in whole {
                let answer = policy.zone(&world, path);
                assert_eq!(
                    answer.zone,
                    planned(&plan, path),
                    "seed {seed}: {} ({})",
                    path.display(),
                    answer.origin
                );
            }
        }
    }

    #[test]
    fn a_pattern_with_stars_in_the_middle_binds_what_it_matches_now_and_says_when_it_was_too_much() {
        let mut world = MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .work_tree("/home/dev/p")
            .file("/home/dev/p/a/b/c/deep.key", "")
            .file("/home/dev/p/.blastradius", "deny **/*.key")
            .cwd("/home/dev/p");
        let (plan, cut) = Policy::load(&world, Start::default()).plan_and_rest(&world);
        assert_eq!(planned(&plan, Path::new("/home/dev/p/a/b/c/deep.key")), Zone::Denied);
        assert_eq!((planned(&plan, Path::new("/home/dev/p/a/b/c/other")), cut), (Zone::Scope, vec![]));
        for index in 0..MATCH_LIMIT {
            world = world.dir(&format!("/home/dev/p/many/{index}"));
        }
        let (_, cut) = Policy::load(&world, Start::default()).plan_and_rest(&world);
        assert_eq!(cut, [".blastradius:1: deny **/*.key"]);
    }

    #[test]
    fn a_plan_holds_what_exists_as_marks_and_what_may_come_as_names() {
        let world = MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .dir("/tmp")
            .dir("/etc")
            .work_tree("/home/dev/p")
            .file("/home/dev/p/.blastradius", "deny ./secrets\nallow ./build")
            .cwd("/home/dev/p");
        let plan = Policy::load(&world, Start::default()).plan(&world);
        let mark = |path: &str| plan.marks.iter().find(|mark| mark.path == Path::new(path));
        let name = |name: &str| plan.names.iter().find(|mark| mark.name == name);
        assert_eq!(mark("/home/dev").and_then(|mark| mark.own), Some(Zone::Floor));
        assert_eq!(mark("/home/dev/p").and_then(|mark| mark.own), Some(Zone::Root));
        assert_eq!(mark("/boot"), None);
        assert_eq!(name("secrets").map(|mark| mark.zone), Some(Zone::Denied));
        assert_eq!(name("build").map(|mark| mark.zone), Some(Zone::Scope));
        assert_eq!(name("packed-refs").map(|mark| mark.zone), Some(Zone::History));
        assert_eq!(name(".blastradius").map(|mark| mark.zone), Some(Zone::Own));
    }
}
