//! A repository: what leads to commits, and what holds them?

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::blob::Digest;
use super::name::Name;
use super::set::{Gap, Repository};
use super::store::Store;
use crate::policy::worktree::WorkTree;

/// Files of a work tree's own git directory, and of the common one, that say where things are.
const OWN: &[&str] =
    &["HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "index", "logs", "refs"];
const COMMON: &[&str] = &["HEAD", "packed-refs", "config", "info", "shallow", "logs", "refs", "worktrees"];

/// More files than this are not read of one repository.
const MOST: usize = 50_000;

/// How a repository is named in a set.
pub fn described(work: &WorkTree) -> Repository {
    Repository {
        root: Name::from(&*work.root),
        git_dir: Name::from(&*work.git_dir),
        common_dir: Name::from(&*work.common_dir),
        objects: None,
    }
}

/// The files that hold HEAD, refs, reflogs and the index.
pub fn files(work: &WorkTree) -> Vec<PathBuf> {
    let mut todo: Vec<PathBuf> = OWN.iter().map(|name| work.git_dir.join(name)).collect();
    todo.extend(COMMON.iter().map(|name| work.common_dir.join(name)));
    todo.sort();
    todo.dedup();
    let mut files = Vec::new();
    while let Some(path) = todo.pop() {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        if meta.is_dir() {
            todo.extend(
                fs::read_dir(&path).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())),
            );
        } else if path.extension().is_none_or(|ext| ext != "lock") {
            files.push(path);
        }
        if files.len() >= MOST {
            break;
        }
    }
    files
}

/// How much may be done for a repository's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Further names, and only if they are few: nothing is about to be lost yet.
    Light,
    /// All that is needed.
    Full,
}

/// More loose objects than this are not given further names when a session starts. git packs them from 6700 on (`gc.auto`).
const LOOSE: usize = 8_000;

/// Loose objects, about: as git estimates it, by one of the 256 directories that their names' beginnings part them into.
fn loose_objects(objects: &Path) -> usize {
    fs::read_dir(objects.join("17")).map_or(0, |entries| entries.count() * 256)
}

/// Holds the repository's object files by further names in the store, so that git may drop its own. They are never written
/// again once they are there, so a hard link is as good as a copy; where there can be none, they are copied.
///
/// Returns the directory's name in the store. Sessions of one day share it, so that what git itself let go of goes when these do.
/// What is not held when `deadline` comes is a gap; the next to hold goes on from there.
///
/// # Errors
/// If the directory cannot be made.
pub fn hold_objects(
    work: &WorkTree,
    store: &Store,
    day: &str,
    effort: Effort,
    deadline: Instant,
    left: &mut u64,
    gaps: &mut Vec<Gap>,
) -> io::Result<String> {
    let objects = work.common_dir.join("objects");
    if effort == Effort::Light && loose_objects(&objects) > LOOSE {
        return Err(io::Error::other(format!("more than {LOOSE} are loose: `git gc` packs them")));
    }
    let digest = Digest::of(work.common_dir.as_os_str().as_encoded_bytes()).hex();
    let name = format!("{}-{day}", &digest[..32]);
    let to = store.room("objects").join(&name);
    let mut missed = 0_u64;
    let mut why = String::new();
    for (from, relative) in object_files(&objects) {
        let at = to.join(relative);
        if at.exists() {
            continue;
        }
        let held = if Instant::now() < deadline {
            if let Some(parent) = at.parent() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            }
            hold(&from, &at, store, effort, left)
        } else {
            Err(io::ErrorKind::TimedOut.into())
        };
        if let Err(error) = held {
            missed += 1;
            why = error.to_string();
        }
    }
    if missed > 0 {
        let path = Name::from(&*objects);
        gaps.push(Gap { path, why: format!("{missed} of its files cannot be held ({why})") });
    }
    Ok(name)
}

fn hold(from: &Path, at: &Path, store: &Store, effort: Effort, left: &mut u64) -> io::Result<()> {
    match fs::hard_link(from, at) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        // Gone since it was listed: git packs and prunes meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if effort == Effort::Light => return Err(error),
        Err(_) => {}
    }
    let size = fs::metadata(from)?.len();
    *left = left
        .checked_sub(size)
        .ok_or_else(|| io::Error::other("the store is full, or too little of its disk is free"))?;
    let draft = store.draft();
    let copied = fs::copy(from, &draft).and_then(|_| fs::rename(&draft, at));
    if copied.is_err() {
        let _ = fs::remove_file(&draft);
    }
    copied
}

/// The files below an object directory, absolute and relative. What git is still writing (`tmp_…`) is left out.
pub fn object_files(objects: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut files = Vec::new();
    let mut todo = vec![objects.to_path_buf()];
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                todo.push(path);
            } else if kind.is_file() && !entry.file_name().to_string_lossy().starts_with("tmp_") {
                let relative = path.strip_prefix(objects).unwrap_or(&path).to_path_buf();
                files.push((path, relative));
            }
        }
    }
    // Packs before their indexes: git believes in a pack when it sees the index.
    files.sort_by_key(|(path, _)| (path.extension().is_some_and(|ext| ext == "idx"), path.clone()));
    files
}
