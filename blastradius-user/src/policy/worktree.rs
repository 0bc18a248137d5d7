//! Git work trees: found as git finds them, without running git.

use std::path::{Path, PathBuf};

use crate::shell::world::{Kind, Look, World};

use super::resolve::{Last, resolve};

/// No work tree lies deeper; bounds the search upwards.
const DEPTH_LIMIT: usize = 256;

/// Where a repository keeps what its linked work trees need, a directory each.
const LINKED: &str = "worktrees";

/// How many linked work trees of one repository are looked at.
const LINKED_LIMIT: usize = 256;

/// A `.git` file is one line.
const GIT_FILE_LIMIT: usize = 8192;

/// What git needs to give the past back, as entries of a git directory.
pub const HISTORY_NAMES: &[&str] = &["HEAD", "config", "logs", "objects", "packed-refs", "refs"];

/// How the work tree is tied to its git directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// `.git` is a directory.
    Directory,
    /// `.git` is a file: a linked worktree or a submodule.
    File,
    /// There is no work tree: the repository itself.
    Bare,
}

/// A work tree (or bare repository) and its git directories, all canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkTree {
    /// The directory that `git rev-parse --show-toplevel` names; for a bare repository the repository.
    pub root: PathBuf,
    /// Where this work tree's `HEAD` and index lie.
    pub git_dir: PathBuf,
    /// Where `objects` and `refs` lie: other than `git_dir` for a linked worktree.
    pub common_dir: PathBuf,
    /// How they are tied.
    pub tie: Tie,
    /// The owner, if it is neither the effective user nor root: git would refuse to work here.
    pub foreign_owner: Option<u32>,
}

/// Finds the work tree that holds `start` (canonical), nearest first.
pub fn discover(world: &dyn World, start: &Path) -> Option<WorkTree> {
    start.ancestors().take(DEPTH_LIMIT).find_map(|dir| at(world, dir))
}

/// The work tree whose root is `dir`, if it is one.
pub fn at(world: &dyn World, dir: &Path) -> Option<WorkTree> {
    let dot_git = dir.join(".git");
    match world.look(&dot_git) {
        Look::Found(meta) => match meta.kind {
            Kind::Directory => with_git_dir(world, dir, dot_git, Tie::Directory),
            Kind::Link => {
                let target = resolve(world, Path::new("/"), &dot_git, Last::Followed).path;
                with_git_dir(world, dir, target, Tie::Directory)
            }
            Kind::File => with_git_dir(world, dir, named_git_dir(world, dir, &dot_git)?, Tie::File),
            Kind::BlockDevice | Kind::Special => None,
        },
        Look::Absent => bare(world, dir),
        Look::Unreadable => None,
    }
}

fn with_git_dir(world: &dyn World, root: &Path, git_dir: PathBuf, tie: Tie) -> Option<WorkTree> {
    // git itself asks for HEAD before it believes in a repository.
    if !exists(world, &git_dir.join("HEAD")) {
        return None;
    }
    let common_dir = common_dir(world, &git_dir);
    let owner = match world.look(root) {
        Look::Found(meta) if meta.uid != world.uid() && meta.uid != 0 => Some(meta.uid),
        _ => None,
    };
    Some(WorkTree { root: root.to_path_buf(), git_dir, common_dir, tie, foreign_owner: owner })
}

fn bare(world: &dyn World, dir: &Path) -> Option<WorkTree> {
    let has = |name: &str| exists(world, &dir.join(name));
    if !(has("HEAD") && has("objects") && has("refs")) {
        return None;
    }
    // The git directory of an ordinary work tree is no repository of its own.
    if dir.file_name().is_some_and(|name| name == ".git") {
        return None;
    }
    with_git_dir(world, dir, dir.to_path_buf(), Tie::Bare)
}

/// Reads `gitdir: PATH` from a `.git` file.
fn named_git_dir(world: &dyn World, dir: &Path, file: &Path) -> Option<PathBuf> {
    let content = world.read_file(file, GIT_FILE_LIMIT)?;
    let text = std::str::from_utf8(&content).ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    Some(resolve(world, dir, Path::new(named), Last::Followed).path)
}

/// A linked worktree's git directory names the repository's in a file `commondir`.
fn common_dir(world: &dyn World, git_dir: &Path) -> PathBuf {
    let named = world
        .read_file(&git_dir.join("commondir"), GIT_FILE_LIMIT)
        .and_then(|content| String::from_utf8(content).ok());
    match named {
        Some(named) => resolve(world, git_dir, Path::new(named.trim()), Last::Followed).path,
        None => git_dir.to_path_buf(),
    }
}

/// The linked work tree whose root is `root`, by the word of both: its `.git` names a directory among the `worktrees` of a
/// repository, and that directory names it. Each of the two alone is anybody's to write.
pub fn linked(world: &dyn World, root: &Path) -> Option<WorkTree> {
    let tree = at(world, root).filter(|tree| tree.tie == Tie::File)?;
    let is_registered = tree.git_dir.parent() == Some(&*tree.common_dir.join(LINKED));
    (is_registered && linked_root(world, &tree.git_dir)? == root).then_some(tree)
}

/// The linked work tree that `git worktree remove OPERAND`, run in `base`, means: one of the repository there. git takes the
/// end of a path for the whole where only one ends so (find_worktree in its worktree.c).
pub fn linked_by_name(world: &dyn World, base: &Path, operand: &str) -> Option<WorkTree> {
    let common_dir = discover(world, base)?.common_dir;
    let registered = world.read_dir(&common_dir.join(LINKED), LINKED_LIMIT).unwrap_or_default();
    let roots =
        registered.iter().filter_map(|(name, _)| linked_root(world, &common_dir.join(LINKED).join(name)));
    let end = Path::new(operand.trim_end_matches('/'));
    let mut by_end = roots.filter(|root| end.is_relative() && root.ends_with(end));
    let root = match (by_end.next(), by_end.next()) {
        (Some(root), None) => root,
        _ => resolve(world, base, Path::new(operand), Last::Followed).path,
    };
    linked(world, &root).filter(|tree| tree.common_dir == common_dir)
}

/// The work tree that a directory among the `worktrees` of a repository names in its file `gitdir`.
fn linked_root(world: &dyn World, git_dir: &Path) -> Option<PathBuf> {
    let content = world.read_file(&git_dir.join("gitdir"), GIT_FILE_LIMIT)?;
    let dot_git =
        resolve(world, git_dir, Path::new(std::str::from_utf8(&content).ok()?.trim()), Last::Kept).path;
    dot_git.ends_with(".git").then(|| dot_git.parent().map(Path::to_path_buf))?
}

/// The git directories that a push to `operand` writes to, seen from `base`: git looks for one in the directory, then with
/// `.git` at the end of its name (enter_repo in git's path.c). None, where something else lies among what git puts there.
pub fn pushed_to(world: &dyn World, base: &Path, operand: &str) -> Vec<PathBuf> {
    let named = [operand.to_owned(), format!("{}.git", operand.trim_end_matches('/'))];
    let git_dirs = |name: &String| {
        let place = resolve(world, base, Path::new(name), Last::Followed).path;
        let mut dirs = match at(world, &place) {
            Some(tree) => vec![tree.common_dir, tree.git_dir],
            None => vec![place],
        };
        dirs.dedup();
        dirs.iter().all(|dir| is_git_dir(world, dir)).then_some(dirs)
    };
    named.iter().find_map(git_dirs).unwrap_or_default()
}

/// What git puts into a git directory, besides [`HISTORY_NAMES`], locks and the names that [`is_gits_own`] knows by form.
const GIT_NAMES: &[&str] = &[
    "COMMIT_EDITMSG",
    "branches",
    "commondir",
    "config.worktree",
    "description",
    "gc.log",
    "gc.pid",
    "gitdir",
    "hooks",
    "index",
    "info",
    "lfs",
    "modules",
    "rebase-apply",
    "rebase-merge",
    "rr-cache",
    "sequencer",
    "shallow",
    "worktrees",
];

/// Whether `dir` is the git directory of something: it is or lies in a `.git`, or holds what git puts there and nothing
/// else.
pub fn is_git_dir(world: &dyn World, dir: &Path) -> bool {
    let has = |name: &str| exists(world, &dir.join(name));
    if !has("HEAD") || !(has("commondir") || has("objects") && has("refs")) {
        return false;
    }
    let called = dir.iter().any(|name| name == ".git");
    let entries = || world.read_dir(dir, GIT_NAMES.len() * 8).unwrap_or_default();
    called || entries().iter().all(|(name, _)| name.to_str().is_some_and(is_gits_own))
}

/// Whether git itself may have put an entry of this name into a git directory.
fn is_gits_own(name: &str) -> bool {
    let by_form = [".lock", "_HEAD", "_MSG", "_MODE", "_RR"].iter().any(|end| name.ends_with(end));
    by_form || name.starts_with("BISECT_") || HISTORY_NAMES.contains(&name) || GIT_NAMES.contains(&name)
}

fn exists(world: &dyn World, path: &Path) -> bool {
    matches!(world.look(path), Look::Found(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::world::Platform;
    use crate::shell::world::memory::MemoryWorld;

    fn world() -> MemoryWorld {
        MemoryWorld::new(Platform::Linux).work_tree("/w/main").dir("/w/main/src/deep")
    }

    #[test]
    fn the_nearest_git_directory_above_is_found() {
        let tree = discover(&world(), Path::new("/w/main/src/deep")).expect("a work tree");
        assert_eq!(tree.root, Path::new("/w/main"));
        assert_eq!(tree.git_dir, Path::new("/w/main/.git"));
        assert_eq!(tree.tie, Tie::Directory);
        assert_eq!(discover(&world(), Path::new("/w")), None);
    }

    #[test]
    fn a_git_directory_without_head_is_none() {
        let world = MemoryWorld::new(Platform::Linux).dir("/w/.git");
        assert_eq!(discover(&world, Path::new("/w")), None);
    }

    #[test]
    fn a_linked_worktree_names_its_git_directory_and_the_common_one() {
        let world = world()
            .file("/w/linked/.git", "gitdir: /w/main/.git/worktrees/linked\n")
            .file("/w/main/.git/worktrees/linked/HEAD", "x")
            .file("/w/main/.git/worktrees/linked/commondir", "../..\n");
        let tree = discover(&world, Path::new("/w/linked")).expect("a work tree");
        assert_eq!(tree.git_dir, Path::new("/w/main/.git/worktrees/linked"));
        assert_eq!(tree.common_dir, Path::new("/w/main/.git"));
        assert_eq!(tree.tie, Tie::File);
    }

    #[test]
    fn a_submodule_lies_inside_and_is_found_first() {
        let world = world()
            .file("/w/main/lib/.git", "gitdir: ../.git/modules/lib")
            .file("/w/main/.git/modules/lib/HEAD", "x");
        let tree = discover(&world, Path::new("/w/main/lib")).expect("a work tree");
        assert_eq!(tree.root, Path::new("/w/main/lib"));
        assert_eq!(tree.common_dir, Path::new("/w/main/.git/modules/lib"));
    }

    #[test]
    fn a_bare_repository_is_its_own_root_and_a_git_directory_is_none() {
        let world = world().file("/r.git/HEAD", "x").dir("/r.git/objects").dir("/r.git/refs");
        assert_eq!(discover(&world, Path::new("/r.git")).expect("bare").tie, Tie::Bare);
        let inside = discover(&world, Path::new("/w/main/.git")).expect("the work tree around it");
        assert_eq!(inside.root, Path::new("/w/main"));
    }

    #[test]
    fn another_owner_is_stated() {
        let world = world().owner("/w/main", 4242);
        assert_eq!(discover(&world, Path::new("/w/main")).expect("found").foreign_owner, Some(4242));
        assert_eq!(discover(&self::world(), Path::new("/w/main")).expect("found").foreign_owner, None);
    }
}
