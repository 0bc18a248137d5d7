//! What may git do, for its own work, that nobody else may?
//!
//! Two things of git lie out of scope and are its own all the same: a linked work tree of a repository in scope, which
//! git removes when there is nothing to lose in it, and the git directory that someone pushes to. The exec layer has the
//! kernel lend them to the git that is about to run, and to no other program.

use std::path::{Path, PathBuf};

use blastradius_common::Zone;

use crate::shell::value::Field;
use crate::shell::world::World;

use super::Policy;
use super::effect::Discard;
use super::worktree::{self, WorkTree};

/// A directory that git may work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loan {
    /// The directory.
    pub path: PathBuf,
    /// For what.
    pub purpose: Purpose,
}

/// What git does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It removes it and all that is in it.
    Removal,
    /// It replaces and removes what is in it.
    Keeping,
}

impl Policy {
    /// The linked work tree that `git worktree remove OPERAND`, run in `base`, means, if it belongs to a repository in scope.
    pub fn linked_tree(&self, world: &dyn World, base: &Path, operand: &Field) -> Option<WorkTree> {
        let tree = worktree::linked_by_name(world, base, &operand.as_known()?)?;
        (self.zone(world, &tree.git_dir).zone == Zone::Scope).then_some(tree)
    }

    /// What git needs for `discard`, run in `base`, that the zones do not give it.
    pub fn loans(&self, world: &dyn World, base: &Path, discard: &Discard) -> Vec<Loan> {
        let loan = |purpose| move |path| Loan { path, purpose };
        let mut loans: Vec<Loan> = match discard {
            Discard::Worktree { tree, .. } => {
                let tree = self.linked_tree(world, base, tree);
                tree.map(|tree| tree.root).into_iter().map(loan(Purpose::Removal)).collect()
            }
            Discard::Pushed(repository) => {
                let named = repository.as_known();
                let dirs = named.map(|named| worktree::pushed_to(world, base, &named)).unwrap_or_default();
                dirs.into_iter().map(loan(Purpose::Keeping)).collect()
            }
            _ => Vec::new(),
        };
        loans.retain(|loan| self.is_to_be_lent(world, &loan.path));
        loans
    }

    /// Whether the directory is somebody's own, and nothing that more depends on: the root of something, a floor object, a part
    /// of the system.
    fn is_to_be_lent(&self, world: &dyn World, path: &Path) -> bool {
        let is_somebodys =
            |path: &Path| matches!(self.zone(world, path).zone, Zone::Config | Zone::Personal | Zone::Other);
        is_somebodys(path) && is_somebodys(&path.join("\u{1}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Start;
    use crate::shell::world::Platform;
    use crate::shell::world::memory::MemoryWorld;

    const PROJ: &str = "/home/dev/proj";

    /// A project, a linked work tree of it beside it, and the repositories of others.
    fn world() -> MemoryWorld {
        MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .cwd(PROJ)
            .work_tree(PROJ)
            .linked(PROJ, "/home/dev/beside", "beside")
            .work_tree("/home/dev/other")
            .linked("/home/dev/other", "/home/dev/other-side", "side")
            .bare("/home/dev/remote.git")
    }

    fn lent(world: &MemoryWorld, discard: &Discard) -> Vec<String> {
        let policy = Policy::load(world, Start::default());
        let loans = policy.loans(world, Path::new(PROJ), discard);
        loans.iter().map(|loan| loan.path.display().to_string()).collect()
    }

    fn removed(world: &MemoryWorld, operand: &str) -> Vec<String> {
        lent(world, &Discard::Worktree { tree: Field::literal(operand), forced: false })
    }

    fn pushed(world: &MemoryWorld, operand: &str) -> Vec<String> {
        lent(world, &Discard::Pushed(Field::literal(operand)))
    }

    #[test]
    fn a_linked_work_tree_of_the_project_is_gits_to_remove_by_any_of_its_names() {
        for operand in ["../beside", "/home/dev/beside", "beside", "dev/beside", "../beside/"] {
            assert_eq!(removed(&world(), operand), ["/home/dev/beside"], "{operand}");
        }
    }

    #[test]
    fn no_other_directory_is() {
        let world = world().dir("/home/dev/photos");
        for operand in ["../photos", "..", "../other", "../other-side", "../remote.git", ".", "nothing"] {
            assert!(removed(&world, operand).is_empty(), "{operand}");
        }
    }

    #[test]
    fn one_side_alone_makes_no_linked_work_tree() {
        let claims = world()
            .file("/home/dev/photos/.git", "gitdir: /home/dev/proj/.git/worktrees/beside\n")
            .file("/home/dev/photos/june.jpg", "");
        assert!(removed(&claims, "../photos").is_empty(), "the repository knows of no such work tree");
        let claimed = world()
            .file("/home/dev/photos/june.jpg", "")
            .file("/home/dev/proj/.git/worktrees/photos/gitdir", "/home/dev/photos/.git\n")
            .file("/home/dev/proj/.git/worktrees/photos/commondir", "../..\n")
            .file("/home/dev/proj/.git/worktrees/photos/HEAD", "x");
        assert!(removed(&claimed, "../photos").is_empty(), "the directory knows of no such repository");
    }

    #[test]
    fn a_linked_work_tree_that_holds_the_project_stays() {
        let world = MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .cwd("/home/dev/out/proj")
            .work_tree("/home/dev/out/proj")
            .linked("/home/dev/out/proj", "/home/dev/out", "out");
        let policy = Policy::load(&world, Start::default());
        let discard = Discard::Worktree { tree: Field::literal("/home/dev/out"), forced: false };
        assert!(policy.loans(&world, Path::new("/home/dev/out/proj"), &discard).is_empty());
    }

    #[test]
    fn a_git_directory_that_is_pushed_to_is_gits_and_what_only_looks_like_one_is_not() {
        assert_eq!(pushed(&world(), "../remote.git"), ["/home/dev/remote.git"]);
        assert_eq!(pushed(&world(), "../remote"), ["/home/dev/remote.git"]);
        assert_eq!(pushed(&world(), "../other"), ["/home/dev/other/.git"]);
        assert_eq!(pushed(&world(), "../other/.git"), ["/home/dev/other/.git"]);
        assert!(pushed(&world(), ".").is_empty(), "the project's own is in scope");
        assert!(pushed(&world(), "..").is_empty() && pushed(&world(), "../beside/x").is_empty());
        let mixed = world().file("/home/dev/remote.git/june.jpg", "");
        assert!(pushed(&mixed, "../remote.git").is_empty(), "something else lies among what git put there");
        let denied = world().file("/home/dev/proj/.blastradius", "deny /home/dev/remote.git\n");
        assert!(pushed(&denied, "../remote.git").is_empty());
    }
}
