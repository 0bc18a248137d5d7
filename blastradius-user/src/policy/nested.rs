//! Repositories that lie inside the project: what they remember is history, as that of the project's own is.
//!
//! A path says by itself whether it lies in one. Which there are, only a look at the tree tells: a session takes one when it
//! starts, and a removal before it is judged, neither without bounds.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use blastradius_common::Zone;

use crate::shell::world::{Kind, Look, World};

use super::judge::is_rebuildable_directory;
use super::marks::Origin;
use super::paths::{depth, is_below};
use super::scope::RootKind;
use super::worktree::{HISTORY_NAMES, Tie};
use super::zones::ZoneAnswer;
use super::{Policy, floor};

/// How many entries a session looks at when it starts.
pub(super) const SESSION_LIMIT: usize = 4_000;

impl Policy {
    /// Where the repositories of others are looked for: the work tree, or the directory in which a session started.
    pub(super) fn project(&self) -> Option<&Path> {
        let tree = self.tree.as_ref().filter(|tree| tree.tie != Tie::Bare).map(|tree| &*tree.root);
        let start = || self.scope.roots.iter().find(|root| root.kind == RootKind::Project);
        let project = tree.or_else(|| start().map(|root| &*root.path))?;
        (!floor::is_floor_by_place(self.platform, project) || self.tree.is_some()).then_some(project)
    }

    /// The history of a nested repository, if the path is it or lies in it.
    pub(super) fn nested_history(&self, world: &dyn World, path: &Path) -> Option<ZoneAnswer> {
        if !path.iter().any(is_called_repository) {
            return None;
        }
        let project = self.project().filter(|project| is_below(self.platform, path, project))?;
        let mut names = path.iter().skip(1 + depth(project));
        let mut dir: PathBuf = path.iter().take(1 + depth(project)).collect();
        while let Some(name) = names.next() {
            dir.push(name);
            if is_repository(world, &dir) {
                let part = names.next().filter(|part| HISTORY_NAMES.iter().any(|name| *part == *name))?;
                let own = dir.join(part) == path;
                return Some(ZoneAnswer { zone: Zone::History, origin: origin(&dir), own });
            }
            if is_rebuildable_directory(world, &dir) {
                return None;
            }
        }
        None
    }
}

/// What people are told of it.
pub(super) fn origin(git_dir: &Path) -> Origin {
    format!("history of the repository {}", git_dir.display()).into()
}

/// The git directories below `top`, nearest first, without `top`'s own; stops after about `limit` entries. Tells the second
/// part how many were looked at. What tools rebuild is not entered.
pub(super) fn git_dirs(world: &dyn World, top: &Path, limit: usize) -> (Vec<PathBuf>, usize) {
    let mut found = Vec::new();
    let mut looked = 0;
    let mut todo = VecDeque::from([top.to_path_buf()]);
    while let Some(dir) = todo.pop_front() {
        if looked >= limit {
            break;
        }
        let entries = world.read_dir(&dir, limit - looked).unwrap_or_default();
        looked += entries.len() + 1;
        for (name, _) in entries.into_iter().filter(|(_, kind)| *kind == Kind::Directory) {
            let at = dir.join(&name);
            if is_repository(world, &at) {
                if dir != top || name != ".git" {
                    found.push(at);
                }
            } else if !is_rebuildable_directory(world, &at) {
                todo.push_back(at);
            }
        }
    }
    (found, looked)
}

fn is_called_repository(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".git")
}

/// Whether it is called as a git directory is, and git would believe it: `.git` by its HEAD, a bare repository by all that
/// it needs.
pub(super) fn is_repository(world: &dyn World, dir: &Path) -> bool {
    let has = |name: &str| matches!(world.look(&dir.join(name)), Look::Found(_));
    let called = dir.file_name().is_some_and(is_called_repository);
    called && has("HEAD") && (dir.ends_with(".git") || has("objects") && has("refs"))
}
