//! What one judging has asked that is dear: git, and the entries of directories. Both are bounded over all effects
//! together, so that a command with a thousand operands costs no thousand times as much.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::shell::world::{GitState, World};

/// So often git is asked about single directories of a work tree; then about all of it, once.
const SINGLE: usize = 2;
/// Entries of directories that are looked at for counting.
const ENTRIES: usize = 100_000;

/// The questions so far.
#[derive(Debug, Default)]
pub(super) struct Asked {
    single: Cell<usize>,
    /// What git said of whole work trees.
    whole: RefCell<Vec<(PathBuf, Option<Rc<GitState>>)>>,
    entries: Cell<usize>,
}

impl Asked {
    /// What git says of the part of the work tree at `root` that lies below `below`. `None`: it cannot be asked, or not
    /// so often.
    pub(super) fn git(&self, world: &dyn World, root: &Path, below: &Path) -> Option<Rc<GitState>> {
        if let Some(whole) = self.known(root) {
            return whole.as_deref().filter(|state| !state.truncated).map(|state| part(state, below));
        }
        self.single.set(self.single.get() + 1);
        if self.single.get() <= SINGLE {
            return world.git_state(root, below).map(Rc::new);
        }
        let whole = world.git_state(root, Path::new("")).map(Rc::new);
        self.whole.borrow_mut().push((root.to_owned(), whole.clone()));
        whole.as_deref().filter(|state| !state.truncated).map(|state| part(state, below))
    }

    fn known(&self, root: &Path) -> Option<Option<Rc<GitState>>> {
        self.whole.borrow().iter().find(|(known, _)| known == root).map(|(_, state)| state.clone())
    }

    /// Counts entries that were looked at.
    pub(super) fn looked(&self, entries: usize) {
        self.entries.set(self.entries.get() + entries);
    }

    /// Whether no more entries are to be looked at.
    pub(super) fn has_looked_enough(&self) -> bool {
        self.entries.get() >= ENTRIES
    }
}

/// The entries that lie at or below `below`, or hold it.
fn part(state: &GitState, below: &Path) -> Rc<GitState> {
    let concerns = |name: &str| {
        let entry = Path::new(name.trim_end_matches('/'));
        entry.starts_with(below) || (name.ends_with('/') && below.starts_with(entry))
    };
    let dirty = state.dirty.iter().filter(|(name, _)| concerns(name)).cloned().collect();
    Rc::new(GitState { dirty, truncated: state.truncated })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::world::memory::MemoryWorld;
    use crate::shell::world::{Platform, Tracking};

    #[test]
    fn what_is_said_of_a_part_is_the_same_however_often_git_was_asked() {
        let world = MemoryWorld::new(Platform::Linux)
            .work_tree("/p")
            .tracked("/p", "src/lib.rs", Tracking::Modified)
            .tracked("/p", "results/", Tracking::Untracked)
            .tracked("/p", "srcs/x", Tracking::Untracked);
        for below in ["", "src", "results", "results/a/b", "srcs", "s", "docs"] {
            let (fresh, tired) = (Asked::default(), Asked::default());
            let ask = |asked: &Asked, below: &str| asked.git(&world, Path::new("/p"), Path::new(below));
            for _ in 0..5 {
                ask(&tired, "docs");
            }
            assert_eq!(ask(&fresh, below), ask(&tired, below), "{below}");
        }
    }

    #[test]
    fn a_work_tree_that_git_cannot_read_stays_unknown() {
        let world = MemoryWorld::new(Platform::Linux).work_tree("/p").unreadable_by_git("/p");
        let asked = Asked::default();
        for _ in 0..5 {
            assert_eq!(asked.git(&world, Path::new("/p"), Path::new("src")), None);
        }
    }
}
