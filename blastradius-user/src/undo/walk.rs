//! What lies in scope that nothing else can give back?

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::Instant;

use blastradius_common::Zone;

use super::object::is_kept_kind;
use super::restore::LITTER;
use super::tree::{Tree, Trees};
use crate::policy::Policy;
use crate::policy::judge::{is_surely_rebuildable_directory, is_surely_rebuildable_file};
use crate::policy::worktree::WorkTree;
use crate::shell::world::World;

/// More names than this are not looked at in one walk.
const MOST: usize = 2_000_000;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Objects that need keeping.
    pub objects: Vec<(PathBuf, Metadata)>,
    /// Work trees that were met.
    pub work_trees: Vec<WorkTree>,
    /// Where the walk had to stop, and why.
    pub stopped: Vec<(PathBuf, String)>,
}

/// A walk over part of scope.
pub struct Walk<'a> {
    world: &'a dyn World,
    policy: &'a Policy,
    trees: &'a mut Trees,
    deadline: Instant,
    mounts: HashSet<PathBuf>,
    looked: usize,
}

/// Which of the objects below a directory are meant.
pub type Select<'s> = &'s dyn Fn(&OsStr, &Metadata) -> bool;

impl<'a> Walk<'a> {
    /// Begins.
    pub fn new(world: &'a dyn World, policy: &'a Policy, trees: &'a mut Trees, deadline: Instant) -> Self {
        let mounts = world.mounts().iter().map(|mount| mount.path.clone()).collect();
        Self { world, policy, trees, deadline, mounts, looked: 0 }
    }

    /// Whether an agent may destroy the object at all.
    pub fn is_scope(&self, path: &Path) -> bool {
        matches!(self.policy.zone(self.world, path).zone, Zone::Scope | Zone::Born | Zone::Root)
    }

    /// Whether a single object needs keeping.
    pub fn needs_keeping(&mut self, path: &Path, meta: &Metadata) -> bool {
        if !is_kept_kind(meta) || !self.is_scope(path) {
            return false;
        }
        let name = path.file_name().unwrap_or_default();
        match self.trees.holding(self.world, path) {
            Some(tree) => tree.held(path, meta).map_or_else(|| !comes_back(name), |held| !held),
            None => !comes_back(name),
        }
    }

    /// Whether a path lies in a directory that a tool rebuilds.
    pub fn is_in_rebuildable(&mut self, path: &Path) -> bool {
        let scope_root = |dir: &Path| self.policy.scope().roots.iter().any(|root| root.path == dir);
        let above = path.ancestors().take_while(|dir| !scope_root(dir));
        let dirs: Vec<&Path> = above.filter(|dir| is_surely_rebuildable_directory(self.world, dir)).collect();
        dirs.iter().any(|dir| {
            let tree = self.trees.holding(self.world, dir);
            !tree.is_some_and(|tree| tree.tracks_below(dir))
        })
    }

    /// Adds what lies below a directory and needs keeping; what is no directory is all that there is.
    pub fn below(&mut self, top: &Path, select: Select<'_>, found: &mut Found) {
        if let Ok(meta) = fs::symlink_metadata(top)
            && !top.is_dir()
        {
            if select(top.file_name().unwrap_or_default(), &meta) && self.needs_keeping(top, &meta) {
                found.objects.push((top.to_owned(), meta));
            }
            return;
        }
        let tree = self.trees.holding(self.world, &top.join("x")).map(|tree| tree.work.root.clone());
        let mut todo = vec![(top.to_path_buf(), tree)];
        while let Some((directory, tree)) = todo.pop() {
            if let Some(why) = self.is_to_stop() {
                // What is still to be looked at is as little covered as where it stopped.
                let rest = todo.into_iter().map(|(directory, _)| directory);
                found.stopped.extend(rest.chain([directory]).map(|directory| (directory, why.clone())));
                return;
            }
            self.directory(&directory, tree, select, found, &mut todo);
        }
    }

    fn is_to_stop(&self) -> Option<String> {
        if self.looked >= MOST {
            return Some(format!("more than {MOST} names are not looked at"));
        }
        (Instant::now() >= self.deadline).then(|| "no time was left to look".into())
    }

    fn directory(
        &mut self,
        directory: &Path,
        tree: Option<PathBuf>,
        select: Select<'_>,
        found: &mut Found,
        todo: &mut Vec<(PathBuf, Option<PathBuf>)>,
    ) {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => {
                found.stopped.push((directory.to_owned(), format!("it cannot be read ({error})")));
                return;
            }
        };
        let entries: Vec<fs::DirEntry> = entries.filter_map(Result::ok).collect();
        self.looked += entries.len() + 1;
        let own = entries.iter().any(|entry| entry.file_name() == ".git");
        let tree_root = match own.then(|| self.trees.at(self.world, directory)).flatten() {
            Some(tree) => {
                found.work_trees.push(tree.work.clone());
                Some(directory.to_path_buf())
            }
            None => tree,
        };
        if entries.is_empty() {
            self.empty_directory(directory, select, found);
        }
        for entry in entries {
            let name = entry.file_name();
            let path = directory.join(&name);
            let Ok(kind) = entry.file_type() else { continue };
            let tree = tree_root.as_deref().and_then(|root| self.trees.at(self.world, root));
            if kind.is_dir() {
                let is_git_directory = name == ".git" && tree_root.as_deref() == Some(directory);
                if !is_git_directory && self.is_entered(&path, tree_root.as_deref()) {
                    todo.push((path, tree_root.clone()));
                }
                continue;
            }
            let Ok(meta) = entry.metadata() else { continue };
            if is_lost(tree, &name, &path, &meta) && select(&name, &meta) && self.is_scope(&path) {
                found.objects.push((path, meta));
            }
        }
    }

    fn empty_directory(&self, directory: &Path, select: Select<'_>, found: &mut Found) {
        let Ok(meta) = fs::symlink_metadata(directory) else { return };
        if select(directory.file_name().unwrap_or_default(), &meta) && self.is_scope(directory) {
            found.objects.push((directory.to_owned(), meta));
        }
    }

    /// Whether a directory is walked through: not what a tool rebuilds, unless git tracks something in it; not another file
    /// system, unless it is scope.
    fn is_entered(&mut self, directory: &Path, tree: Option<&Path>) -> bool {
        if self.mounts.contains(directory) {
            let inside = self.policy.zone(self.world, &directory.join("\u{1}"));
            if inside.zone != Zone::Scope {
                return false;
            }
        }
        if !is_surely_rebuildable_directory(self.world, directory) {
            return true;
        }
        let tree = tree.and_then(|root| self.trees.at(self.world, root));
        tree.is_some_and(|tree| tree.tracks_below(directory))
    }
}

/// Whether a file would be lost: neither git nor a tool gives it back.
fn is_lost(tree: Option<&Tree>, name: &OsStr, path: &Path, meta: &Metadata) -> bool {
    if !is_kept_kind(meta) {
        return false;
    }
    match tree.and_then(|tree| tree.held(path, meta)) {
        Some(held) => !held,
        None => !comes_back(name),
    }
}

fn comes_back(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    is_surely_rebuildable_file(&name) || name.starts_with(LITTER)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::system::System;

    #[test]
    fn a_walk_that_must_stop_names_all_that_it_did_not_look_at() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["a/x", "b/x", "c/d/x"] {
            fs::create_dir_all(dir.path().join(name)).expect("made");
        }
        fs::write(dir.path().join("file"), "").expect("written");
        let system = System::of_process([], dir.path().to_owned(), 0, None);
        let policy = system.session_policy(&[]);
        let (mut trees, mut found) = (Trees::default(), Found::default());
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut walk = Walk::new(&system, &policy, &mut trees, deadline);
        // It is over while the first directory is looked at.
        walk.looked = MOST - 1;
        walk.below(dir.path(), &|_, _| true, &mut found);
        let mut stopped: Vec<_> = found.stopped.iter().map(|(path, _)| path.clone()).collect();
        stopped.sort();
        assert_eq!(stopped, ["a", "b", "c"].map(|name| dir.path().join(name)));
    }
}
