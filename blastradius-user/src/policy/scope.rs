//! The default scope: where an agent may destroy when nobody has said anything else.

use std::path::{Path, PathBuf};

use crate::shell::world::{Look, Platform, World};

use super::floor;
use super::paths::{depth, is_below, same, starts_with};
use super::pattern::Pattern;
use super::resolve::{Last, resolve};
use super::worktree::{Tie, WorkTree};

/// Scratch directories: what lies in them is scope, they themselves are not.
const LINUX_SCRATCH: &[&str] = &["/dev/shm", "/tmp", "/var/tmp"];
const MACOS_SCRATCH: &[&str] = &["/tmp", "/var/tmp"];

/// Where macOS puts each user's temporary files.
const MACOS_TEMPORARY: &str = "/var/folders/*/*/T/**";

/// Variables that name a CI job's own directories.
const CI_VARIABLES: &[&str] =
    &["RUNNER_TEMP", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "CI_BUILDS_DIR", "WORKSPACE"];

/// Directories of a home that people fill by hand: no place for a session to call its own.
const STANDARD_USER_DIRECTORIES: &[&str] = &[
    "Applications",
    "Desktop",
    "Documents",
    "Downloads",
    "Library",
    "Movies",
    "Music",
    "Pictures",
    "Public",
    "Templates",
    "Videos",
];

/// What a scope root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// The work tree, or the directory in which a session starts.
    Project,
    /// Scratch space, shared by everything on the machine.
    Scratch,
}

/// A directory whose entries are scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeRoot {
    /// Canonical.
    pub path: PathBuf,
    /// Project or scratch.
    pub kind: RootKind,
    /// Where it comes from, for people.
    pub origin: super::marks::Origin,
    /// Its dot entries stay *config*: a container's home that is a work tree.
    pub dots_are_config: bool,
}

/// The default scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultScope {
    /// Directories.
    pub roots: Vec<ScopeRoot>,
    /// Patterns with wildcards.
    pub patterns: Vec<Pattern>,
    /// Why a work tree or a start directory is no scope, for people.
    pub refused: Option<String>,
}

/// Computes the default scope.
///
/// `cwd` is canonical. `session`: for `run`, the start directory is scope where there is no work tree.
pub fn default_scope(
    world: &dyn World,
    homes: &[PathBuf],
    cwd: &Path,
    tree: Option<&WorkTree>,
    session: bool,
) -> DefaultScope {
    let mut scope = DefaultScope::default();
    scratch(world, homes, &mut scope);
    match tree {
        Some(tree) if tree.tie != Tie::Bare => project(world.platform(), homes, tree, &mut scope),
        Some(_) => scope.refused = Some("a bare repository is history, not scope".into()),
        None if session => start_directory(world.platform(), homes, cwd, &mut scope),
        None => {}
    }
    scope
}

fn scratch(world: &dyn World, homes: &[PathBuf], scope: &mut DefaultScope) {
    let platform = world.platform();
    let fixed = match platform {
        Platform::Linux => LINUX_SCRATCH,
        Platform::MacOs => MACOS_SCRATCH,
    };
    for path in fixed {
        scope.roots.push(ScopeRoot {
            path: path.into(),
            kind: RootKind::Scratch,
            origin: "default scope: scratch".into(),
            dots_are_config: false,
        });
    }
    if platform == Platform::MacOs {
        scope.patterns.push(Pattern::new(MACOS_TEMPORARY, true));
    }
    let ci = world.env("CI").is_some_and(|value| !value.is_empty() && &*value != "false");
    let variables = ["TMPDIR"].iter().chain(if ci { CI_VARIABLES } else { &[] });
    for name in variables {
        let Some(value) = world.env(name) else { continue };
        let value = Path::new(&*value);
        if !value.is_absolute() {
            continue;
        }
        let path = resolve(world, Path::new("/"), value, Last::Followed).path;
        let known = scope.roots.iter().any(|root| same(platform, &root.path, &path));
        // A CI job's directory may be its work tree; scratch is none.
        let is_tree = *name == "TMPDIR" && !matches!(world.look(&path.join(".git")), Look::Absent);
        if known || is_tree || !may_be_scratch(platform, homes, &path, *name == "TMPDIR") {
            continue;
        }
        scope.roots.push(ScopeRoot {
            path,
            kind: RootKind::Scratch,
            origin: format!("default scope: ${name}").into(),
            dots_are_config: false,
        });
    }
}

/// Whether a directory that a variable names may be scratch: it is no floor object, holds no home, is nothing that a
/// person fills by hand, and lies below no system root. CI directories lie in no home at all.
fn may_be_scratch(platform: Platform, homes: &[PathBuf], path: &Path, temporary: bool) -> bool {
    let in_scratch = LINUX_SCRATCH.iter().any(|dir| is_below(platform, path, Path::new(dir)))
        || starts_with(platform, path, Path::new("/var/folders"));
    if in_scratch {
        return true;
    }
    let in_home = homes.iter().any(|home| starts_with(platform, path, home));
    depth(path) > 1
        && !floor::is_floor_by_place(platform, path)
        && !homes.iter().any(|home| starts_with(platform, home, path))
        && !floor::is_system(platform, path)
        && !is_standard_user_directory(platform, homes, path)
        && (temporary || !in_home)
}

/// Whether it is a directory of a home that people fill by hand.
pub(super) fn is_standard_user_directory(platform: Platform, homes: &[PathBuf], path: &Path) -> bool {
    homes
        .iter()
        .any(|home| STANDARD_USER_DIRECTORIES.iter().any(|name| same(platform, path, &home.join(name))))
}

/// Whether a home is a person's: below `/home`, `/root` or `/Users`. A container's `/app` may be a home by accident.
pub(super) fn is_persons_home(platform: Platform, home: &Path) -> bool {
    ["/home", "/root", "/Users", "/var/root"]
        .iter()
        .any(|parent| starts_with(platform, home, Path::new(parent)))
}

/// Whether a work tree may be scope, and if so, whether its dotfiles are a home's settings (a container's home that is a
/// work tree).
pub(super) fn project_root(platform: Platform, homes: &[PathBuf], root: &Path) -> Result<bool, &'static str> {
    let home = homes.iter().find(|home| same(platform, home, root));
    let holds_home = homes.iter().any(|home| is_below(platform, home, root));
    let is_system_root =
        floor::system_roots(platform).iter().any(|floor| same(platform, root, Path::new(floor)));
    if depth(root) == 0 {
        Err("the work tree is the root directory")
    } else if home.is_some_and(|home| is_persons_home(platform, home)) {
        Err("the work tree is a home")
    } else if holds_home {
        Err("the work tree holds a home")
    } else if is_system_root {
        Err("the work tree is a system root")
    } else {
        Ok(home.is_some())
    }
}

fn project(platform: Platform, homes: &[PathBuf], tree: &WorkTree, scope: &mut DefaultScope) {
    let root = &tree.root;
    match project_root(platform, homes, root) {
        Ok(dots_are_config) => scope.roots.push(ScopeRoot {
            path: root.clone(),
            kind: RootKind::Project,
            origin: "default scope: the git work tree".into(),
            dots_are_config,
        }),
        Err(why) => scope.refused = Some(format!("{why} ({}): no scope", root.display())),
    }
}

fn start_directory(platform: Platform, homes: &[PathBuf], cwd: &Path, scope: &mut DefaultScope) {
    let refused = floor::is_floor_by_place(platform, cwd)
        || floor::is_system(platform, cwd)
        || homes.iter().any(|home| starts_with(platform, home, cwd))
        || is_standard_user_directory(platform, homes, cwd);
    if refused {
        scope.refused = Some(format!("{} is no place to start in: scratch only", cwd.display()));
        return;
    }
    if scope.roots.iter().any(|root| same(platform, &root.path, cwd)) {
        return;
    }
    scope.roots.push(ScopeRoot {
        path: cwd.to_path_buf(),
        kind: RootKind::Project,
        origin: "default scope: the directory in which the session started".into(),
        dots_are_config: false,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::worktree::discover;
    use crate::shell::world::memory::MemoryWorld;

    fn roots(world: &MemoryWorld, cwd: &str, session: bool) -> Vec<String> {
        let homes = floor::homes(world, None);
        let tree = discover(world, Path::new(cwd));
        let scope = default_scope(world, &homes, Path::new(cwd), tree.as_ref(), session);
        scope.roots.iter().map(|root| root.path.display().to_string()).skip(3).collect()
    }

    fn world() -> MemoryWorld {
        MemoryWorld::new(Platform::Linux).account("dev", "/home/dev").dir("/home/dev/work/x")
    }

    #[test]
    fn the_work_tree_is_scope_and_outside_one_only_a_session_has_its_start_directory() {
        let world = world().work_tree("/home/dev/proj").dir("/home/dev/proj/src");
        assert_eq!(roots(&world, "/home/dev/proj/src", false), ["/home/dev/proj"]);
        assert_eq!(roots(&world, "/home/dev/work", false), [""; 0]);
        assert_eq!(roots(&world, "/home/dev/work", true), ["/home/dev/work"]);
    }

    #[test]
    fn a_session_that_starts_in_a_home_or_among_documents_has_scratch_only() {
        let world = world().dir("/home/dev/Documents");
        for cwd in ["/", "/home", "/home/dev", "/home/dev/Documents", "/etc/x", "/srv"] {
            assert_eq!(roots(&world, cwd, true), [""; 0], "{cwd}");
        }
    }

    #[test]
    fn a_work_tree_that_is_a_home_or_the_root_is_no_scope_and_a_containers_is() {
        assert_eq!(roots(&world().work_tree("/home/dev"), "/home/dev/work", false), [""; 0]);
        assert_eq!(roots(&world().work_tree(""), "/home/dev/work", false), [""; 0]);
        assert_eq!(roots(&world().work_tree("/home"), "/home/dev/work", false), [""; 0]);
        assert_eq!(roots(&world().work_tree("/etc"), "/etc", false), [""; 0]);
        assert_eq!(roots(&world().account("app", "/app").work_tree("/app"), "/app", false), ["/app"]);
        assert_eq!(roots(&world().work_tree("/usr/src/app"), "/usr/src/app", false), ["/usr/src/app"]);
    }

    #[test]
    fn a_temporary_directory_counts_only_where_it_is_one() {
        let with = |value: &str| roots(&world().env("TMPDIR", value), "/", false);
        assert_eq!(with("/tmp/t1"), ["/tmp/t1"]);
        assert_eq!(with("/home/dev/.tmp"), ["/home/dev/.tmp"]);
        for bad in
            ["/home/dev", "/home", "/", "/etc/x", "/tmp/../root", "tmp", "/home/dev/Documents", "/data"]
        {
            assert_eq!(with(bad), [""; 0], "{bad}");
        }
    }

    #[test]
    fn ci_variables_count_in_ci_and_outside_homes() {
        let world = world().env("WORKSPACE", "/builds/job").env("RUNNER_TEMP", "/home/dev/t");
        assert_eq!(roots(&world, "/", false), [""; 0]);
        assert_eq!(roots(&world.env("CI", "true"), "/", false), ["/builds/job"]);
    }
}
