//! Work trees: what does git hold of them?

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::index::{Held, Index, IndexEntry, blob_id};
use super::object::Stamp;
use crate::policy::pattern;
use crate::policy::worktree::{self, Tie, WorkTree};
use crate::shell::world::World;
use crate::system::regular;

/// A work tree with its index.
#[derive(Debug)]
pub struct Tree {
    /// Where it lies.
    pub work: WorkTree,
    index: Arc<Index>,
    /// The index when the tree was first seen: the one that a start set holds.
    first: Arc<Index>,
    stamp: Option<Stamp>,
    /// Who may read what git writes here, as permission bits.
    readers: u32,
    filtered: Vec<Filtered>,
    sha256: bool,
    /// What was found by reading contents, and of which state of a file.
    asked: RefCell<HashMap<PathBuf, (Stamp, bool)>>,
}

/// Larger files are not read to ask whether git holds them: keeping costs no more.
const ASK_UP_TO: u64 = 16 << 20;

impl Tree {
    fn read(work: WorkTree) -> Self {
        let (index, stamp) = read_index(&work);
        let index = Arc::new(index);
        let filtered = filtered(&work, &index);
        let readers = fs::metadata(index_path(&work)).map_or(0, |meta| meta.mode() & READERS);
        let sha256 = is_sha256(&work);
        Self {
            work,
            first: index.clone(),
            index,
            stamp,
            readers,
            filtered,
            sha256,
            asked: RefCell::default(),
        }
    }

    /// Reads the index again if it was written.
    fn refresh(&mut self) {
        if stamp_of(&self.work) != self.stamp {
            let (index, stamp) = read_index(&self.work);
            (self.index, self.stamp) = (Arc::new(index), stamp);
        }
    }

    fn relative<'p>(&self, path: &'p Path) -> &'p [u8] {
        path.strip_prefix(&self.work.root).unwrap_or(path).as_os_str().as_bytes()
    }

    /// Whether git can give back the file as it is now.
    ///
    /// What was added to the index after the session began is held by a blob that nothing leads to, so it does not count.
    /// What goes through a filter (LFS) is held by something else than git.
    pub fn holds(&self, path: &Path, meta: &Metadata) -> bool {
        self.held(path, meta) == Some(true)
    }

    /// As [`Self::holds`]; `None`: git does not know the file.
    pub fn held(&self, path: &Path, meta: &Metadata) -> Option<bool> {
        let name = self.relative(path);
        let entry = self.index.find(name)?;
        Some(self.gives_back(path, name, meta, entry))
    }

    fn gives_back(&self, path: &Path, name: &[u8], meta: &Metadata, entry: &IndexEntry) -> bool {
        // Nearly always the index is as it was, and there is nothing to look up again.
        let lasting = Arc::ptr_eq(&self.first, &self.index)
            || self.first.find(name).is_some_and(|first| first.oid == entry.oid);
        if !lasting || self.is_filtered(name) || self.has_a_mode_of_its_own(meta) {
            return false;
        }
        match self.index.holds(entry, meta) {
            Held::Yes => true,
            Held::No => false,
            Held::Perhaps => self.asks_content(path, meta, entry),
        }
    }

    /// The content itself says whether git has it: in a tree that was copied or has another owner now, stat data say nothing.
    fn asks_content(&self, path: &Path, meta: &Metadata, entry: &IndexEntry) -> bool {
        let stamp = Stamp::of(meta);
        if let Some((of, held)) = self.asked.borrow().get(path)
            && *of == stamp
        {
            return *held;
        }
        if meta.len() > ASK_UP_TO {
            return false;
        }
        let content = match meta.is_symlink() {
            true => fs::read_link(path).map(|target| target.into_os_string().into_vec()),
            false => regular::read(path),
        };
        let held = content.is_ok_and(|content| blob_id(&content, self.sha256) == entry.oid);
        self.asked.borrow_mut().insert(path.to_owned(), (stamp, held));
        held
    }

    /// Whether git knows the file.
    pub fn tracks(&self, path: &Path) -> bool {
        self.index.find(self.relative(path)).is_some()
    }

    /// Whether git knows anything in the directory.
    pub fn tracks_below(&self, directory: &Path) -> bool {
        self.index.has_below(self.relative(directory))
    }

    fn is_filtered(&self, name: &[u8]) -> bool {
        self.filtered.iter().any(|filtered| filtered.matches(name))
    }

    /// git knows of a file's mode only whether it can be executed: a key that nobody else may read would come back open.
    fn has_a_mode_of_its_own(&self, meta: &Metadata) -> bool {
        meta.is_file() && (self.readers & !meta.mode() != 0 || meta.mode() & SPECIAL != 0)
    }
}

/// Group and others may read.
const READERS: u32 = 0o044;
/// Set-user-id, set-group-id, sticky.
const SPECIAL: u32 = 0o7000;

/// Files that go through a filter: a pattern of a gitattributes file, and where that lies.
#[derive(Debug)]
struct Filtered {
    below: Vec<u8>,
    glob: Vec<u8>,
}

impl Filtered {
    fn matches(&self, name: &[u8]) -> bool {
        let Some(name) = name.strip_prefix(&*self.below) else { return false };
        let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
        pattern::wildcard(&self.glob, last, false) || pattern::wildcard(&self.glob, name, false)
    }
}

fn index_path(work: &WorkTree) -> PathBuf {
    work.git_dir.join("index")
}

fn stamp_of(work: &WorkTree) -> Option<Stamp> {
    fs::metadata(index_path(work)).ok().map(|meta| Stamp::of(&meta))
}

fn read_index(work: &WorkTree) -> (Index, Option<Stamp>) {
    let stamp = stamp_of(work);
    let id_length = if is_sha256(work) { 32 } else { 20 };
    let index = stamp.and_then(|stamp| {
        let bytes = regular::read(&index_path(work)).ok()?;
        Index::parse(&bytes, id_length, stamp.mtime)
    });
    (index.unwrap_or_default(), stamp)
}

fn is_sha256(work: &WorkTree) -> bool {
    let config = regular::read_to_string(&work.common_dir.join("config")).unwrap_or_default();
    config.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.split_once('=')
            .is_some_and(|(name, value)| name.trim() == "objectformat" && value.trim() == "sha256")
    })
}

/// The patterns whose files go through a filter (gitattributes(5)), in whichever directory they are tracked or at the top.
/// A filter that another line takes away again is not minded: what is kept for nothing costs little.
fn filtered(work: &WorkTree, index: &Index) -> Vec<Filtered> {
    const NAME: &str = ".gitattributes";
    let below = |name: &[u8]| {
        name.strip_suffix(NAME.as_bytes()).filter(|dir| dir.ends_with(b"/")).map(<[u8]>::to_vec)
    };
    let deeper = index.ending_with(NAME.as_bytes()).filter_map(below);
    let files = deeper.map(|dir| (work.root.join(OsStr::from_bytes(&dir)).join(NAME), dir));
    let top = [work.root.join(NAME), work.common_dir.join("info/attributes")].map(|path| (path, Vec::new()));
    let texts: Vec<(Vec<u8>, String)> = top
        .into_iter()
        .chain(files)
        .filter_map(|(path, dir)| Some((dir, regular::read_to_string(&path).ok()?)))
        .collect();
    let lines = || texts.iter().flat_map(|(dir, text)| text.lines().map(move |line| (dir, line.trim())));
    // `[attr]lfs filter=lfs` gives a set of attributes a name.
    let macros: Vec<&str> = lines()
        .filter_map(|(_, line)| line.strip_prefix("[attr]"))
        .filter(|line| line.split_whitespace().any(|word| word.starts_with("filter=")))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let filters = |word: &str| word.starts_with("filter=") || macros.contains(&word);
    lines()
        .filter(|(_, line)| !line.starts_with(['#', '[']))
        .filter_map(|(dir, line)| Some((dir, pattern_and_words(line)?)))
        .filter(|(_, (_, words))| words.split_whitespace().any(filters))
        .map(|(dir, (glob, _))| Filtered { below: dir.clone(), glob: glob.trim_start_matches('/').into() })
        .collect()
}

/// A line's pattern, which stands in quotes where it has spaces, and its attributes.
fn pattern_and_words(line: &str) -> Option<(&str, &str)> {
    match line.strip_prefix('"') {
        Some(quoted) => quoted.rsplit_once('"'),
        None => line.split_once(char::is_whitespace),
    }
}

/// The work trees that were met.
#[derive(Debug, Default)]
pub struct Trees {
    trees: HashMap<PathBuf, Option<Tree>>,
}

impl Trees {
    /// Looks at all indexes again, and for new repositories. To be called before each keeping.
    pub fn refresh(&mut self) {
        self.trees.retain(|_, tree| tree.is_some());
        for tree in self.trees.values_mut().flatten() {
            tree.refresh();
        }
    }

    /// The work tree whose root is this directory.
    pub fn at(&mut self, world: &dyn World, root: &Path) -> Option<&Tree> {
        if !self.trees.contains_key(root) {
            let work = worktree::at(world, root).filter(|work| work.tie != Tie::Bare);
            self.trees.insert(root.to_owned(), work.map(Tree::read));
        }
        self.trees.get(root)?.as_ref()
    }

    /// The nearest work tree that holds this path.
    pub fn holding(&mut self, world: &dyn World, path: &Path) -> Option<&Tree> {
        let root = path.ancestors().skip(1).find(|dir| self.at(world, dir).is_some())?.to_owned();
        self.at(world, &root)
    }
}
