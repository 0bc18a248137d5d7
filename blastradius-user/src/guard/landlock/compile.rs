//! Which rules give the plan's policy, as far as an allow-list can?
//!
//! A Landlock rule grants rights on a directory and everything below it, for ever, and nothing takes them back deeper
//! down. So a protected place inside scope is carved out by granting its siblings instead of their parent, down the path
//! that leads to it. What that costs, and what it cannot say, is returned as [`Unenforced`].

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use blastradius_common::Zone;

use super::rights::Rights;
use super::unenforced::Unenforced;
use crate::policy::plan::{Mark, NameMark, Plan};
use crate::shell::world::{Kind, Look, MountPoint, World};

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// A directory, or a file where only [`Rights::ON_FILE`] is granted.
    pub path: PathBuf,
    /// What may be done below it.
    pub rights: Rights,
}

/// The rules, and what they leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// Rules; no path twice.
    pub grants: Vec<Grant>,
    /// What the plan says and the rules do not.
    pub unenforced: Vec<Unenforced>,
}

impl Compiled {
    /// The rights that the rules give on what lies directly in `directory`.
    pub fn rights_in(&self, directory: &Path) -> Rights {
        let above = |grant: &&Grant| directory.starts_with(&grant.path);
        self.grants.iter().filter(above).fold(Rights::empty(), |rights, grant| rights | grant.rights)
    }
}

/// At most so many entries of one directory are granted one by one; what lies beyond stays without rights.
const SIBLINGS: usize = 10_000;

/// Directories of a home in which agents and their tools save files by rename while they work. Elsewhere among the
/// settings of a home saving by rename is refused, because the same right would let every file there be removed.
const SAVED_BY_RENAME: &[&str] = &[
    ".aider",
    ".augment",
    ".cache",
    ".claude",
    ".cline",
    ".codex",
    ".config/amp",
    ".config/claude",
    ".config/codex",
    ".config/crush",
    ".config/goose",
    ".config/opencode",
    ".continue",
    ".copilot",
    ".cursor",
    ".factory",
    ".gemini",
    ".local/share/amp",
    ".local/share/claude",
    ".local/share/crush",
    ".local/share/goose",
    ".local/share/opencode",
    ".local/state/amp",
    ".local/state/claude",
    ".local/state/opencode",
    ".openhands",
    ".pi",
    ".qwen",
];

/// File systems without stored data: truncation there is how one writes to a control file.
const NO_STORED_DATA: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "efivarfs",
    "fusectl",
    "mqueue",
    "proc",
    "pstore",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];

/// File systems on which the kernel does not ask Landlock (their inodes do not last).
const NOT_ENFORCED_ON: &[&str] = &["9p"];

/// Compiles `plan` for the file system that `world` shows.
pub fn compile(plan: &Plan, world: &dyn World) -> Compiled {
    let tree = Node::of(plan);
    let mut compiler =
        Compiler { world, mounts: world.mounts(), grants: BTreeMap::new(), gaps: Gaps::default() };
    compiler.visit(&tree, Path::new("/"), Rights::empty(), Rights::empty());
    compiler.control_files();
    let grants = compiler.grants.into_iter().map(|(path, rights)| Grant { path, rights }).collect();
    Compiled { grants, unenforced: compiler.gaps.into_list(world) }
}

/// The plan as a tree of names.
#[derive(Debug, Default)]
struct Node {
    own: Option<Zone>,
    below: Option<Zone>,
    dots: Option<Zone>,
    /// The object need not exist: a name mark.
    by_name: bool,
    /// One of [`SAVED_BY_RENAME`].
    saves: bool,
    origin: String,
    children: BTreeMap<OsString, Self>,
}

impl Node {
    fn of(plan: &Plan) -> Self {
        let mut root = Self::default();
        for mark in &plan.marks {
            root.descend(&mark.path).add(mark);
        }
        for name in &plan.names {
            root.descend(&name.parent.join(&name.name)).add_name(name);
        }
        root.add_saves();
        root
    }

    /// Below each home, names the directories of [`SAVED_BY_RENAME`].
    fn add_saves(&mut self) {
        self.children.values_mut().for_each(Self::add_saves);
        if self.dots == Some(Zone::Config) {
            for entry in SAVED_BY_RENAME {
                self.descend(Path::new(entry)).saves = true;
            }
        }
    }

    fn descend(&mut self, path: &Path) -> &mut Self {
        path.components().fold(self, |node, component| match component {
            Component::Normal(name) => node.children.entry(name.to_owned()).or_default(),
            _ => node,
        })
    }

    fn add(&mut self, mark: &Mark) {
        self.own = mark.own.or(self.own);
        self.below = mark.below.or(self.below);
        self.dots = mark.dots.or(self.dots);
        self.by_name = false;
        mark.origin.clone_into(&mut self.origin);
    }

    fn add_name(&mut self, mark: &NameMark) {
        let unmarked = self.own.is_none() && self.below.is_none();
        self.own = Some(mark.zone);
        self.below = Some(mark.zone);
        self.by_name = unmarked;
        mark.origin.clone_into(&mut self.origin);
    }
}

struct Compiler<'a> {
    world: &'a dyn World,
    mounts: Rc<[MountPoint]>,
    grants: BTreeMap<PathBuf, Rights>,
    gaps: Gaps,
}

impl Compiler<'_> {
    /// Grants what lies below `path`. `zone`: the rights of its content by the nearest mark above; `held`: what rules
    /// above give already.
    fn visit(&mut self, node: &Node, path: &Path, zone: Rights, held: Rights) {
        self.itself(node, path, held);
        let mut rights = node.below.map_or(zone, Rights::of);
        if node.saves && node.below.is_none() && self.is_directory(path) {
            rights |= Rights::SAVE;
            self.gaps.config.push(path.to_owned());
        }
        let dots = node.dots.map(Rights::of);
        if dots.is_some_and(|dots| !dots.contains(rights)) {
            // A home that is scope (a container's): carving its settings out would freeze the home itself.
            self.gaps.config.push(path.to_owned());
        }
        let spoilers = self.spoilers(node, path, rights);
        let held = if spoilers.is_empty() {
            self.grant(path, rights, held)
        } else {
            self.carve(node, path, rights, dots, &spoilers, held)
        };
        if let Some(dots) = dots {
            self.grant_dots(node, path, dots, held);
        }
        for (name, child) in &node.children {
            let inherited = match dots {
                Some(dots) if is_dot(name) => dots,
                _ => rights,
            };
            self.visit(child, &path.join(name), inherited, held);
        }
    }

    /// Notes what may go by itself and cannot: the right would be one on the directory that holds it, so its neighbours
    /// would go with it.
    fn itself(&mut self, node: &Node, path: &Path, held: Rights) {
        let right = if self.is_directory(path) { Rights::REMOVE_DIR } else { Rights::REMOVE_FILE };
        if node.own == Some(Zone::Scope) && !held.contains(right) && self.exists(path) {
            self.gaps.itself.push(path.to_owned());
        }
    }

    fn grant(&mut self, path: &Path, rights: Rights, held: Rights) -> Rights {
        if !held.contains(rights) && self.exists(path) {
            let rights = if self.is_directory(path) { rights } else { rights & Rights::ON_FILE };
            if !rights.is_empty() {
                *self.grants.entry(path.to_owned()).or_insert(Rights::empty()) |= rights;
            }
        }
        held | rights
    }

    /// Grants the neighbours of what is protected, one by one. The directory's own grant shrinks to what everything
    /// below it may have.
    fn carve(
        &mut self,
        node: &Node,
        path: &Path,
        rights: Rights,
        dots: Option<Rights>,
        spoilers: &[Spoiler],
        held: Rights,
    ) -> Rights {
        let common = spoilers.iter().fold(rights, |common, spoiler| common & spoiler.rights);
        let held = self.grant(path, common, held);
        let Some(entries) = self.world.read_dir(path, SIBLINGS) else { return held };
        for (name, kind) in entries {
            let left_to_visit = node.children.contains_key(&name) || (dots.is_some() && is_dot(&name));
            if !left_to_visit && kind != Kind::Link {
                self.grant(&path.join(name), rights, held);
            }
        }
        if rights.contains(Rights::REMOVE_FILE) {
            let origin = spoilers[0].origin.clone();
            self.gaps.list.push(Unenforced::Siblings { directory: path.to_owned(), origin });
        }
        held
    }

    /// Marks below `node` that permit less than `rights`, so that a grant of `rights` on it would widen the plan.
    fn spoilers(&mut self, node: &Node, path: &Path, rights: Rights) -> Vec<Spoiler> {
        let mut found = Vec::new();
        if !rights.is_empty() {
            self.collect_spoilers(node, path, rights, &mut found);
        }
        found
    }

    fn collect_spoilers(&mut self, node: &Node, path: &Path, rights: Rights, found: &mut Vec<Spoiler>) {
        for (name, child) in &node.children {
            let at = path.join(name);
            let lost = self.at_stake(child, &at).find(|&zone| !Rights::of(zone).contains(rights));
            match lost {
                Some(zone) if self.spoils(child, &at, zone, rights) => {
                    let left = Rights::of(zone) & child.below.map_or(Rights::empty(), Rights::of);
                    found.push(Spoiler { rights: left, origin: child.origin.clone() });
                }
                // What lies below it is its own affair when it is visited; only what this grant would reach counts.
                _ => self.collect_spoilers(child, &at, rights, found),
            }
        }
    }

    /// The zones of the object itself and of what lies below it, as far as anything could be lost there. What something is mounted on
    /// keeps its name by itself (EBUSY), and nothing is written through a mount that is read only.
    fn at_stake(&self, node: &Node, at: &Path) -> impl Iterator<Item = Zone> + use<> {
        let mut mounts = self.mounts.iter().filter(|mount| mount.path == at).peekable();
        let is_mounted_on = mounts.peek().is_some();
        let is_read_only = is_mounted_on && mounts.all(|mount| mount.read_only);
        let own = node.own.filter(|&zone| !(is_mounted_on && zone == Zone::Floor));
        let below = node.below.filter(|_| !is_read_only);
        [own, below].into_iter().flatten()
    }

    /// Whether this mark is worth freezing its neighbours. Inside scope, history, settings, our own files and nested
    /// roots are not: carving `.git` out of a work tree would stop git and every edit of a file beside it.
    fn spoils(&mut self, child: &Node, at: &Path, zone: Zone, rights: Rights) -> bool {
        let exists = self.exists(at);
        if child.by_name && !exists {
            if zone == Zone::Denied {
                self.gaps.later(at, &child.origin);
            }
            return false;
        }
        if !rights.contains(Rights::REMOVE_FILE) {
            return exists;
        }
        match zone {
            Zone::History => self.gaps.history.push(at.to_owned()),
            Zone::Config => self.gaps.config.push(at.to_owned()),
            Zone::Own => self.gaps.own.push(at.to_owned()),
            Zone::Root => self.gaps.roots.push(at.to_owned()),
            _ => return exists,
        }
        false
    }

    /// Entries of a home whose name begins with a dot.
    fn grant_dots(&mut self, node: &Node, path: &Path, dots: Rights, held: Rights) {
        for (name, kind) in self.world.read_dir(path, SIBLINGS).unwrap_or_default() {
            if is_dot(&name) && kind != Kind::Link && !node.children.contains_key(&name) {
                let at = path.join(&name);
                self.grant(&at, dots, held);
            }
        }
    }

    /// Control files are written with O_TRUNC; nothing is lost there.
    fn control_files(&mut self) {
        let mounts = Rc::clone(&self.mounts);
        for mount in mounts.iter().filter(|mount| NO_STORED_DATA.contains(&&*mount.fs_type)) {
            let covers_data = mounts.iter().any(|other| {
                other.path.starts_with(&mount.path) && carries_data(&other.fs_type, &other.path)
            });
            if !covers_data {
                self.grant(&mount.path, Rights::TRUNCATE, Rights::empty());
            }
        }
    }

    fn exists(&self, path: &Path) -> bool {
        matches!(self.world.look(path), Look::Found(_))
    }

    fn is_directory(&self, path: &Path) -> bool {
        matches!(self.world.look(path), Look::Found(meta) if meta.kind == Kind::Directory)
    }
}

/// Whether a mount may hold what someone wants to keep. Whatever is mounted on `/proc` and `/sys` (masks of containers,
/// the tmpfs that carries the cgroup mounts) does not.
fn carries_data(fs_type: &str, path: &Path) -> bool {
    !NO_STORED_DATA.contains(&fs_type) && !path.starts_with("/proc") && !path.starts_with("/sys")
}

fn is_dot(name: &OsStr) -> bool {
    name.as_bytes().first() == Some(&b'.')
}

/// A mark that permits less than the grant above it would.
struct Spoiler {
    rights: Rights,
    origin: String,
}

/// Gaps as they are found; places of one kind make one sentence.
#[derive(Default)]
struct Gaps {
    history: Vec<PathBuf>,
    config: Vec<PathBuf>,
    own: Vec<PathBuf>,
    roots: Vec<PathBuf>,
    itself: Vec<PathBuf>,
    list: Vec<Unenforced>,
}

impl Gaps {
    fn later(&mut self, place: &Path, origin: &str) {
        let gap = Unenforced::LaterName { place: place.to_owned(), origin: origin.to_owned() };
        if !self.list.contains(&gap) {
            self.list.push(gap);
        }
    }

    fn into_list(mut self, world: &dyn World) -> Vec<Unenforced> {
        // History is marked name by name; people know the directory.
        self.history = self.history.iter().filter_map(|place| place.parent().map(Path::to_owned)).collect();
        let mut list = Vec::new();
        let mut gather = |mut places: Vec<PathBuf>, gap: fn(Vec<PathBuf>) -> Unenforced| {
            places.sort();
            places.dedup();
            if !places.is_empty() {
                list.push(gap(places));
            }
        };
        gather(self.history, |places| Unenforced::History { places });
        gather(self.config, |places| Unenforced::ConfigRemoval { places });
        gather(self.own, |places| Unenforced::OwnFiles { places });
        gather(self.roots, |places| Unenforced::NestedRoots { places });
        gather(self.itself, |places| Unenforced::ScopeItself { places });
        list.extend(self.list);
        for mount in world.mounts().iter().filter(|mount| NOT_ENFORCED_ON.contains(&&*mount.fs_type)) {
            list.push(Unenforced::FileSystem { mount: mount.path.clone(), fs_type: mount.fs_type.clone() });
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::world::Platform;
    use crate::shell::world::memory::MemoryWorld;

    fn mark(path: &str, own: Option<Zone>, below: Option<Zone>) -> Mark {
        Mark { path: path.into(), own, below, dots: None, origin: format!("mark of {path}") }
    }

    fn home() -> Mark {
        Mark { dots: Some(Zone::Config), ..mark("/home/dev", Some(Zone::Floor), Some(Zone::Personal)) }
    }

    fn scope(path: &str) -> Mark {
        mark(path, Some(Zone::Root), Some(Zone::Scope))
    }

    fn world() -> MemoryWorld {
        MemoryWorld::new(Platform::Linux)
            .file("/home/dev/p/a.txt", "")
            .file("/home/dev/p/.git/HEAD", "")
            .file("/home/dev/p/secrets/key", "")
            .dir("/home/dev/p/src")
            .file("/home/dev/.bashrc", "")
            .dir("/home/dev/.ssh")
            .dir("/home/dev/.claude")
            .file("/home/dev/.npm/cache", "")
            .dir("/home/dev/photos")
            .dir("/tmp")
    }

    fn compiled(marks: Vec<Mark>, names: Vec<NameMark>) -> Compiled {
        compile(&Plan { marks, names, ..Plan::default() }, &world())
    }

    fn rights(compiled: &Compiled, directory: &str) -> Rights {
        compiled.rights_in(Path::new(directory))
    }

    #[test]
    fn scope_may_be_destroyed_and_its_home_may_not() {
        let compiled = compiled(vec![home(), scope("/home/dev/p"), scope("/tmp")], vec![]);
        assert_eq!(rights(&compiled, "/home/dev/p/src"), Rights::DESTROY);
        assert_eq!(rights(&compiled, "/tmp"), Rights::DESTROY);
        for protected in ["/home/dev", "/home/dev/photos", "/home", "/", "/etc"] {
            assert_eq!(rights(&compiled, protected), Rights::empty(), "{protected}");
        }
    }

    #[test]
    fn what_may_go_by_itself_is_named_unless_the_directory_that_holds_it_is_scope() {
        let allowed = |path| mark(path, Some(Zone::Scope), Some(Zone::Scope));
        let marks =
            vec![home(), scope("/home/dev/p"), allowed("/home/dev/.bashrc"), allowed("/home/dev/p/a.txt")];
        let compiled = compiled(marks, vec![]);
        assert_eq!(rights(&compiled, "/home/dev"), Rights::empty(), "its neighbours stay");
        let places = vec!["/home/dev/.bashrc".into()];
        assert!(
            compiled.unenforced.contains(&Unenforced::ScopeItself { places }),
            "{:?}",
            compiled.unenforced
        );
    }

    #[test]
    fn settings_may_be_edited_and_those_of_agents_saved_by_rename() {
        let compiled =
            compiled(vec![home(), mark("/home/dev/.npm", Some(Zone::State), Some(Zone::State))], vec![]);
        assert_eq!(rights(&compiled, "/home/dev/.ssh"), Rights::TRUNCATE);
        assert_eq!(rights(&compiled, "/home/dev/.bashrc"), Rights::TRUNCATE);
        assert_eq!(rights(&compiled, "/home/dev/.claude"), Rights::SAVE);
        assert_eq!(rights(&compiled, "/home/dev/.npm"), Rights::DESTROY);
        let places = vec!["/home/dev/.claude".into()];
        assert!(compiled.unenforced.contains(&Unenforced::ConfigRemoval { places }));
    }

    #[test]
    fn a_denied_place_in_scope_is_carved_out_and_its_neighbours_are_granted() {
        let denied = mark("/home/dev/p/secrets", Some(Zone::Denied), Some(Zone::Denied));
        let compiled = compiled(vec![home(), scope("/home/dev/p"), denied], vec![]);
        assert_eq!(rights(&compiled, "/home/dev/p/secrets"), Rights::empty());
        assert_eq!(rights(&compiled, "/home/dev/p/src"), Rights::DESTROY);
        assert_eq!(rights(&compiled, "/home/dev/p"), Rights::empty());
        assert_eq!(rights(&compiled, "/home/dev/p/a.txt"), Rights::TRUNCATE);
        let frozen = |gap: &Unenforced| matches!(gap, Unenforced::Siblings { directory, .. } if directory == Path::new("/home/dev/p"));
        assert!(compiled.unenforced.iter().any(frozen));
    }

    #[test]
    fn history_is_not_carved_out_because_git_could_not_work() {
        let history = mark("/home/dev/p/.git/HEAD", Some(Zone::History), None);
        let compiled = compiled(vec![home(), scope("/home/dev/p"), history], vec![]);
        assert_eq!(rights(&compiled, "/home/dev/p/.git"), Rights::DESTROY);
        assert!(
            compiled.unenforced.contains(&Unenforced::History { places: vec!["/home/dev/p/.git".into()] })
        );
    }

    #[test]
    fn a_denied_name_that_does_not_exist_is_reported() {
        let name = NameMark {
            parent: "/home/dev/p".into(),
            name: "later".into(),
            zone: Zone::Denied,
            origin: ".blastradius:1: deny later".to_owned(),
        };
        let compiled = compiled(vec![scope("/home/dev/p")], vec![name]);
        assert_eq!(rights(&compiled, "/home/dev/p"), Rights::DESTROY);
        assert!(compiled.unenforced.iter().any(Unenforced::breaks_a_deny_line));
    }

    #[test]
    fn a_home_below_scratch_is_carved_out_of_it() {
        let world = world().dir("/tmp/h/photos").dir("/tmp/other");
        let inner = mark("/tmp/h", Some(Zone::Floor), Some(Zone::Personal));
        let plan = Plan { marks: vec![scope("/tmp"), inner], names: vec![], ..Plan::default() };
        let compiled = compile(&plan, &world);
        assert_eq!(compiled.rights_in(Path::new("/tmp/h/photos")), Rights::empty());
        assert_eq!(compiled.rights_in(Path::new("/tmp/other")), Rights::DESTROY);
    }

    /// What the policy says where this is mounted below a scratch directory.
    fn with_mount(mount: impl FnOnce(MemoryWorld) -> MemoryWorld) -> Compiled {
        let world = mount(MemoryWorld::new(Platform::Linux).account("dev", "/home/dev").dir("/tmp/other"));
        let policy = crate::policy::Policy::load(&world, crate::policy::Start::default());
        compile(&policy.plan(&world), &world)
    }

    #[test]
    fn a_mount_in_which_nothing_could_be_lost_takes_nothing_from_scratch() {
        let image = with_mount(|world| world.mount("/tmp/.mount_app", "fuse.app", 7).read_only());
        let memory = with_mount(|world| world.mount("/tmp/deep/down/ram", "tmpfs", 7));
        for compiled in [image, memory] {
            assert_eq!(rights(&compiled, "/tmp"), Rights::DESTROY, "what is made there later, too");
            assert!(!compiled.unenforced.iter().any(|gap| matches!(gap, Unenforced::Siblings { .. })));
        }
    }

    #[test]
    fn a_mount_with_something_to_lose_freezes_scratch_around_it() {
        let disk = with_mount(|world| world.mount("/tmp/disk", "ext4", 7).dir("/tmp/disk/backup"));
        assert_eq!(rights(&disk, "/tmp/disk/backup"), Rights::empty());
        assert_eq!(rights(&disk, "/tmp"), Rights::empty());
        assert_eq!(rights(&disk, "/tmp/other"), Rights::DESTROY);
        // One that is mounted over it hides it only for a time.
        let covered = with_mount(|world| {
            world.mount("/tmp/disk", "ext4", 7).mount("/tmp/disk", "squashfs", 8).read_only()
        });
        assert_eq!(rights(&covered, "/tmp/disk"), Rights::empty());
    }

    #[test]
    fn control_files_may_be_written_and_a_disk_below_them_is_not_granted() {
        let world = MemoryWorld::new(Platform::Linux)
            .dir("/proc")
            .dir("/dev/pts/disk")
            .mount("/proc", "proc", 2)
            .mount("/dev/pts", "devpts", 3)
            .mount("/dev/pts/disk", "ext4", 4);
        let compiled = compile(&Plan::default(), &world);
        assert_eq!(compiled.rights_in(Path::new("/proc/self")), Rights::TRUNCATE);
        assert_eq!(compiled.rights_in(Path::new("/dev/pts")), Rights::empty());
    }
}
