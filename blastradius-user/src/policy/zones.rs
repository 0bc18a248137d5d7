//! Which zone a path lies in, and how the marks that say so are laid.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use blastradius_common::Zone;

use crate::shell::world::{MountPoint, World};

use super::marks::{Answer, Marks, Origin, PatternMark, Stated};
use super::paths::{depth, is_below, same, starts_with};
use super::pattern::Pattern;
use super::scope::DefaultScope;
use super::worktree::{HISTORY_NAMES, Tie, WorkTree, is_git_dir};
use super::{Policy, floor, presets};

/// The zone of a path, and the line of policy that decides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneAnswer {
    /// The zone.
    pub zone: Zone,
    /// Where it comes from, for people.
    pub origin: Origin,
    /// The mark is on the object itself, not on something above it.
    pub own: bool,
}

impl Policy {
    /// The zone of a canonical path.
    pub fn zone(&self, world: &dyn World, path: &Path) -> ZoneAnswer {
        let answer = self.zone_of_place(world, path);
        let may_be_command = matches!(answer.zone, Zone::Config | Zone::System)
            && path
                .parent()
                .is_some_and(|parent| self.launcher_directories.iter().any(|known| known == parent));
        if may_be_command && let Some(origin) = self.launchers(world).get(path) {
            return ZoneAnswer { zone: Zone::State, origin: origin.clone(), own: true };
        }
        answer
    }

    /// The zone of a canonical path by where it lies.
    pub(super) fn zone_of_place(&self, world: &dyn World, path: &Path) -> ZoneAnswer {
        let marked = self.marks.zone(path).unwrap_or_else(|| Answer {
            stated: Stated { zone: Zone::Other, origin: "no line names it".into() },
            depth: 0,
            own: false,
        });
        let Answer { stated, depth: mark_depth, own } = self.by_place(path, marked);
        let may_be_state = matches!(stated.zone, Zone::Config | Zone::Personal | Zone::System | Zone::Other);
        if may_be_state && let Some(state) = self.state(world, path, mark_depth) {
            return state;
        }
        if stated.zone == Zone::Scope
            && let Some(history) = self.nested_history(world, path)
        {
            return history;
        }
        ZoneAnswer { zone: stated.zone, origin: stated.origin, own }
    }

    /// Objects that are floor by their place alone, whether or not anything bears the name: `/srv`, `/home/alice`.
    fn by_place(&self, path: &Path, marked: Answer) -> Answer {
        if matches!(marked.stated.zone, Zone::Denied | Zone::Own) {
            return marked;
        }
        if floor::is_floor_by_place(self.platform, path) {
            let stated =
                Stated { zone: Zone::Floor, origin: "floor: at most one below the root, or a home".into() };
            return Answer { stated, depth: depth(path), own: true };
        }
        // Below a home that no account names, as below one that an account names.
        let by_parent =
            marked.depth == 1 && floor::home_parents().any(|parent| starts_with(self.platform, path, parent));
        let dotted = path.iter().nth(3).is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if by_parent && dotted && marked.stated.zone == Zone::Personal {
            let stated = Stated { zone: Zone::Config, origin: "dotfiles of a home".into() };
            return Answer { stated, ..marked };
        }
        marked
    }

    fn state(&self, world: &dyn World, path: &Path, mark_depth: usize) -> Option<ZoneAnswer> {
        let total = depth(path);
        self.states(world).iter().find_map(|state| {
            let depth = state.pattern.match_depth(path)?;
            let nearest = depth > mark_depth && presets::is_present(world, &self.tool_homes, state.preset);
            nearest.then(|| ZoneAnswer {
                zone: Zone::State,
                origin: format!("preset: {}", state.preset.tool).into(),
                own: depth == total,
            })
        })
    }

    /// Something below `path` that a `deny` line with wildcards matches, and the line. Looks at so many entries at most;
    /// what lies beyond is left to the syscall layer.
    pub fn denied_below(&self, world: &dyn World, path: &Path) -> Option<(PathBuf, Origin)> {
        let denied = |mark: &&PatternMark| {
            mark.stated.zone == Zone::Denied && mark.pattern.may_match_at_or_below(path)
        };
        let lines: Vec<&PatternMark> = self.marks.patterns().iter().filter(denied).collect();
        let mut todo = VecDeque::from([path.to_path_buf()]);
        let mut left = if lines.is_empty() { 0 } else { SEARCH_LIMIT };
        while let Some(dir) = todo.pop_front().filter(|_| left > 0) {
            for (name, kind) in world.read_dir(&dir, left).unwrap_or_default() {
                left = left.saturating_sub(1);
                let at = dir.join(name);
                let at_depth = depth(&at);
                if let Some(line) = lines.iter().find(|line| line.pattern.match_depth(&at).is_some()) {
                    return Some((at, line.stated.origin.clone()));
                }
                let goes_on =
                    |line: &&PatternMark| line.pattern.is_deep() || line.pattern.is_longer_than(at_depth);
                if kind == crate::shell::world::Kind::Directory && lines.iter().any(goes_on) {
                    todo.push_back(at);
                }
            }
        }
        None
    }

    /// A floor object that lies below `path`, which a recursion through `path` would reach.
    pub fn floor_below(&self, path: &Path) -> Option<&FloorObject> {
        self.floor_objects.iter().find(|object| is_below(self.platform, &object.path, path))
    }
}

/// A floor object with a place of its own: a system root, a home, a mount point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloorObject {
    /// Canonical.
    pub path: PathBuf,
    /// Something is mounted there.
    pub is_mount: bool,
}

/// What the marks are laid from.
pub(super) struct Ground<'a> {
    pub(super) world: &'a dyn World,
    pub(super) homes: &'a [PathBuf],
    pub(super) mounts: &'a [MountPoint],
    pub(super) tree: Option<&'a WorkTree>,
    pub(super) scope: &'a DefaultScope,
    pub(super) allows: &'a [Line],
    pub(super) denies: &'a [Line],
    pub(super) own: &'a [PathBuf],
    /// The policy files that were read.
    pub(super) files: &'a [PathBuf],
}

/// One `allow` or `deny` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it matches, canonical as far as it holds no wildcard.
    pub pattern: Pattern,
    /// `.blastradius:3: deny ./secrets/**`.
    pub origin: Origin,
}

/// Lays all marks. The order matters where two marks speak of one path: floor first, denied last.
pub(super) fn lay(ground: &Ground<'_>) -> (Marks, Vec<FloorObject>) {
    let mut marks = Marks::new(ground.world.platform());
    let mut objects = Vec::new();
    lay_system(ground, &mut marks, &mut objects);
    lay_homes(ground, &mut marks, &mut objects);
    lay_scope(ground, &mut marks);
    lay_allows(ground, &mut marks);
    lay_mounts(ground, &mut marks, &mut objects);
    if let Some(tree) = ground.tree {
        lay_history(ground, tree, &mut marks);
    }
    lay_own(ground, &mut marks);
    lay_denies(ground, &mut marks);
    (marks, objects)
}

fn lay_system(ground: &Ground<'_>, marks: &mut Marks, objects: &mut Vec<FloorObject>) {
    marks.own(Path::new("/"), Zone::Floor, "floor: the root directory");
    marks.below(Path::new("/"), Zone::Other, "neither home, system nor scope");
    for parent in floor::home_parents() {
        marks.own(parent, Zone::Floor, "floor: holds homes");
        marks.below(parent, Zone::Personal, "what lies in homes");
        objects.push(FloorObject { path: parent.into(), is_mount: false });
    }
    for root in floor::system_roots(ground.world.platform()) {
        marks.own(Path::new(root), Zone::Floor, "floor: a system root");
        marks.below(Path::new(root), Zone::System, "below a system root");
        objects.push(FloorObject { path: root.into(), is_mount: false });
    }
}

fn lay_homes(ground: &Ground<'_>, marks: &mut Marks, objects: &mut Vec<FloorObject>) {
    for home in ground.homes {
        marks.own(home, Zone::Floor, "floor: a home");
        marks.below(home, Zone::Personal, "personal: in a home");
        marks.dots(home, Zone::Config, "dotfiles of a home");
        marks.ancestors(home, &format!("holds the home {}", home.display()).into());
        objects.push(FloorObject { path: home.clone(), is_mount: false });
    }
}

fn lay_scope(ground: &Ground<'_>, marks: &mut Marks) {
    let DefaultScope { roots, patterns, refused: _ } = ground.scope;
    for root in roots {
        marks.own(&root.path, Zone::Root, root.origin.clone());
        marks.below(&root.path, Zone::Scope, root.origin.clone());
        if root.dots_are_config {
            marks.dots(&root.path, Zone::Config, "dotfiles of a home");
            // What is no history of it is the project's, although its name begins with a dot.
            marks.below(&root.path.join(".git"), Zone::Scope, root.origin.clone());
        }
        marks.ancestors(&root.path, &format!("holds the scope root {}", root.path.display()).into());
    }
    for pattern in patterns {
        let stated = Stated { zone: Zone::Scope, origin: "default scope: temporary files".into() };
        marks.pattern(PatternMark { pattern: pattern.clone(), stated });
    }
}

fn lay_allows(ground: &Ground<'_>, marks: &mut Marks) {
    for line in ground.allows {
        let Line { pattern, origin } = line;
        let holds: Origin = format!("holds what a line allows ({origin})").into();
        if let Some(path) = pattern.literal() {
            let own = if pattern.is_below_only() { Zone::Root } else { Zone::Scope };
            marks.own(&path, own, origin.clone());
            marks.below(&path, Zone::Scope, origin.clone());
            marks.ancestors(&path, &holds);
        } else {
            lay_pattern(marks, pattern, Zone::Scope, origin, &holds);
        }
    }
}

fn lay_denies(ground: &Ground<'_>, marks: &mut Marks) {
    for line in ground.denies {
        let Line { pattern, origin } = line;
        let holds: Origin = format!("holds what a line denies ({origin})").into();
        match pattern.literal() {
            Some(path) if pattern.is_below_only() => {
                marks.own(&path, Zone::Root, holds.clone());
                marks.below(&path, Zone::Denied, origin.clone());
                marks.ancestors(&path, &holds);
            }
            Some(path) => {
                marks.name(&path, Zone::Denied, origin.clone());
                marks.ancestors(&path, &holds);
            }
            None => lay_pattern(marks, pattern, Zone::Denied, origin, &holds),
        }
    }
}

/// A pattern with wildcards matches somewhere below its literal prefix; the prefix and what is above it hold it.
fn lay_pattern(marks: &mut Marks, pattern: &Pattern, zone: Zone, origin: &Origin, holds: &Origin) {
    let prefix = pattern.literal_prefix();
    marks.own(&prefix, Zone::Root, holds.clone());
    marks.ancestors(&prefix, holds);
    marks.pattern(PatternMark { pattern: pattern.clone(), stated: Stated { zone, origin: origin.clone() } });
}

/// Mount points are floor objects. What lies below one inside scope is *other*, unless a line names it, it is a tmpfs
/// that is seen nowhere else (which has the zone of its place), or it is a bind of something whose zone is known.
fn lay_mounts(ground: &Ground<'_>, marks: &mut Marks, objects: &mut Vec<FloorObject>) {
    for mount in ground.mounts {
        if depth(&mount.path) == 0 {
            continue;
        }
        let is_scope_root = marks
            .at(&mount.path)
            .is_some_and(|entry| entry.below.as_ref().is_some_and(|stated| stated.zone == Zone::Scope));
        let inside = mount.path.join("\u{1}");
        let in_scope = marks.zone(&inside).is_some_and(|answer| answer.stated.zone == Zone::Scope);
        if in_scope && !is_scope_root {
            let zone = if is_its_places(ground, mount) {
                // Said of the mount's own root: who climbs from within comes no further.
                Zone::Scope
            } else {
                bind_source(ground, mount)
                    .and_then(|source| marks.zone(&source.join("\u{1}")))
                    .map_or(Zone::Other, |answer| answer.stated.zone)
            };
            marks.below(&mount.path, zone, format!("another file system ({}) inside scope", mount.fs_type));
        }
        marks.own(&mount.path, Zone::Floor, "floor: a mount point");
        marks.ancestors(&mount.path, &format!("holds the mount point {}", mount.path.display()).into());
        objects.push(FloorObject { path: mount.path.clone(), is_mount: true });
    }
}

/// Whether what is mounted belongs to the place where it is mounted: a tmpfs that is seen nowhere else.
fn is_its_places(ground: &Ground<'_>, mount: &MountPoint) -> bool {
    let shares = |other: &MountPoint| {
        let overlap = other.root.starts_with(&mount.root) || mount.root.starts_with(&other.root);
        other.path != mount.path && other.device == mount.device && overlap
    };
    mount.fs_type == "tmpfs" && !ground.mounts.iter().any(shares)
}

/// Where a bind mount's content lies otherwise: on another mount of the same file system that shows it.
fn bind_source(ground: &Ground<'_>, bind: &MountPoint) -> Option<PathBuf> {
    let shows = |mount: &&MountPoint| {
        mount.path != bind.path
            && mount.device == bind.device
            && bind.root.starts_with(&mount.root)
            && depth(&mount.root) < depth(&bind.root)
    };
    let mount = ground.mounts.iter().filter(shows).max_by_key(|mount| depth(&mount.root))?;
    // `starts_with` was asked above, so the prefix can be stripped.
    bind.root.strip_prefix(&mount.root).ok().map(|rest| mount.path.join(rest))
}

fn lay_history(ground: &Ground<'_>, tree: &WorkTree, marks: &mut Marks) {
    let WorkTree { root, git_dir, common_dir, tie, foreign_owner: _ } = tree;
    let origin: Origin = format!("history of the repository {}", root.display()).into();
    let dirs = if git_dir == common_dir { vec![git_dir] } else { vec![git_dir, common_dir] };
    for dir in dirs {
        lay_git_dir(marks, dir, &origin);
        // The rest of a git directory that lies elsewhere is scope, as it is inside the work tree.
        let elsewhere = *tie == Tie::File && !dir.starts_with(root);
        if elsewhere && !is_anothers(tree) && is_nothing_else(ground, dir) {
            marks.below(dir, Zone::Scope, origin.clone());
        }
    }
    if *tie == Tie::File {
        marks.own(&root.join(".git"), Zone::Root, origin.clone());
    }
    for module in submodules(ground.world, common_dir) {
        lay_git_dir(marks, &module, &origin);
    }
}

/// Whether a `.git` file names the git directory of an ordinary work tree elsewhere: that is the other's to change.
fn is_anothers(tree: &WorkTree) -> bool {
    tree.git_dir == tree.common_dir && tree.git_dir.file_name().is_some_and(|name| name == ".git")
}

/// Whether a directory that a `.git` file names is a git directory and nothing else. The file is anybody's to write: what
/// it names must not become scope because somebody put a `HEAD` beside the photos.
fn is_nothing_else(ground: &Ground<'_>, dir: &Path) -> bool {
    let platform = ground.world.platform();
    let holds_home = ground.homes.iter().any(|home| starts_with(platform, home, dir));
    !holds_home
        && !floor::is_floor_by_place(platform, dir)
        && !floor::system_roots(platform).iter().any(|root| same(platform, dir, Path::new(root)))
        && !ground.mounts.iter().any(|mount| same(platform, dir, &mount.path))
        && is_git_dir(ground.world, dir)
}

fn lay_git_dir(marks: &mut Marks, dir: &Path, origin: &Origin) {
    for name in HISTORY_NAMES {
        marks.name(&dir.join(name), Zone::History, origin.clone());
    }
    marks.own(dir, Zone::Root, origin.clone());
    marks.ancestors(dir, origin);
}

/// How many entries are looked at for what a line with wildcards matches.
const SEARCH_LIMIT: usize = 20_000;

/// How many submodules are looked for.
const SUBMODULE_LIMIT: usize = 64;

/// The git directories of submodules: `.git/modules/NAME`, where NAME may hold a slash.
fn submodules(world: &dyn World, common_dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![(common_dir.join("modules"), 0)];
    while let Some((dir, deep)) = todo.pop() {
        for (name, kind) in world.read_dir(&dir, SUBMODULE_LIMIT).unwrap_or_default() {
            if kind != crate::shell::world::Kind::Directory || found.len() + todo.len() >= SUBMODULE_LIMIT {
                continue;
            }
            let at = dir.join(name);
            if matches!(world.look(&at.join("HEAD")), crate::shell::world::Look::Found(_)) {
                todo.push((at.join("modules"), 0));
                found.push(at);
            } else if deep < 3 {
                todo.push((at, deep + 1));
            }
        }
    }
    found
}

fn lay_own(ground: &Ground<'_>, marks: &mut Marks) {
    for path in ground.own {
        let origin: Origin = "the guard's own files".into();
        marks.own(path, Zone::Own, origin.clone());
        marks.below(path, Zone::Own, origin.clone());
        marks.ancestors(path, &format!("holds {}", path.display()).into());
    }
    if let Some(tree) = ground.tree
        && tree.tie != Tie::Bare
    {
        marks.name(&tree.root.join(super::CONFIG_NAME), Zone::Own, "the policy of this work tree");
        marks.own(&tree.root, Zone::Root, "the git work tree");
    }
    for file in ground.files.iter().filter(|file| file.ends_with(super::CONFIG_NAME)) {
        marks.name(file, Zone::Own, "a policy in force");
        marks.ancestors(file, &format!("holds {}", file.display()).into());
    }
}

/// Whether the two paths name one object on the policy's platform.
pub(super) fn is_same(policy: &Policy, left: &Path, right: &Path) -> bool {
    same(policy.platform, left, right)
}
