//! How does git give back what it holds, and get back what led to it?
//!
//! Here, and nowhere else, git is run and may take its locks: a person asked for it. It runs as the owner of the work tree,
//! so that nothing in it belongs to somebody else afterwards, without hooks and without a file-system monitor.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::index::{Index, IndexEntry};
use super::object::{Body, Entry};
use super::pinned::is_direct;
use super::repository::object_files;
use super::set::Repository;
use super::store::{Reader, Store};
use crate::system::regular;

/// The kept state of one repository: the first word on each ref and the index, and all that was ever in a reflog.
pub struct Past<'a> {
    repository: Repository,
    /// Kept files by path, first state.
    files: BTreeMap<PathBuf, Entry>,
    /// All states of the reflogs.
    logs: BTreeMap<PathBuf, Vec<Entry>>,
    /// The index that the first set holds.
    index: Option<Entry>,
    /// Names of refs to what they held.
    refs: BTreeMap<String, String>,
    reader: &'a Reader,
    objects: Option<PathBuf>,
}

/// A file that git holds and wrote out for us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Where it belongs.
    pub path: PathBuf,
    /// Where it lies now.
    pub staged: PathBuf,
    /// When it was modified, as the index says.
    pub mtime: Option<(i64, i64)>,
}

/// Something about a repository that can be given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The git directory is gone.
    Directory,
    /// Object files that git no longer has.
    Objects(usize),
    /// A ref, to this object.
    Ref(String, String),
    /// HEAD, to what this file held.
    Head(String),
    /// A reflog that lost lines.
    Log(PathBuf),
    /// Another file that is gone.
    File(PathBuf),
    /// The index.
    Index,
}

impl Step {
    /// For people.
    pub fn line(&self) -> String {
        match self {
            Self::Directory => "the git directory".into(),
            Self::Objects(count) => format!("{count} object files"),
            Self::Ref(name, oid) => format!("{name} at {}", &oid[..oid.len().min(12)]),
            Self::Head(to) => format!("HEAD at {}", to.trim().trim_start_matches("ref: ")),
            Self::Log(path) | Self::File(path) => path.display().to_string(),
            Self::Index => "the index".into(),
        }
    }
}

/// All repositories of which sets hold the state, each with everything that is known of it.
pub fn pasts<'a>(git: &[(Repository, Vec<Entry>)], store: &Store, reader: &'a Reader) -> Vec<Past<'a>> {
    let roots: BTreeSet<&Path> = git.iter().map(|(repository, _)| repository.root.path()).collect();
    let one = |root: &Path| {
        let states = git.iter().filter(|(repository, _)| repository.root.path() == root);
        Past::new(states, store, reader)
    };
    roots.into_iter().filter_map(one).collect()
}

impl<'a> Past<'a> {
    fn new<'s>(
        states: impl Iterator<Item = &'s (Repository, Vec<Entry>)>,
        store: &Store,
        reader: &'a Reader,
    ) -> Option<Self> {
        let mut past: Option<Self> = None;
        for (repository, entries) in states {
            let past = past.get_or_insert_with(|| Self {
                repository: repository.clone(),
                files: BTreeMap::new(),
                logs: BTreeMap::new(),
                index: None,
                refs: BTreeMap::new(),
                reader,
                objects: None,
            });
            if let Some(objects) = &repository.objects {
                past.objects = Some(store.room("objects").join(objects));
            }
            past.add(entries);
        }
        past
    }

    fn add(&mut self, entries: &[Entry]) {
        let index = self.git_dir().join("index");
        for entry in entries {
            let path = entry.path.path();
            if path == index && self.index.is_none() {
                self.index = Some(entry.clone());
            }
            if self.is_log(path) {
                self.logs.entry(path.to_owned()).or_default().push(entry.clone());
            }
            self.files.entry(path.to_owned()).or_insert_with(|| entry.clone());
        }
        // Packed first: a loose ref overrides its packed value.
        let mut refs = BTreeMap::new();
        let packed = self.common_dir().join("packed-refs");
        if let Some(packed) = entries.iter().find(|entry| entry.path.path() == packed) {
            refs.extend(packed_refs(&self.text(packed)));
        }
        for entry in entries {
            if let Some(name) = self.ref_name(entry.path.path()) {
                refs.insert(name, self.text(entry).trim().to_owned());
            }
        }
        for (name, value) in refs {
            self.refs.entry(name).or_insert(value);
        }
    }

    fn is_log(&self, path: &Path) -> bool {
        let below = path.strip_prefix(self.git_dir()).or_else(|_| path.strip_prefix(self.common_dir()));
        below.is_ok_and(|below| below.starts_with("logs"))
    }

    fn git_dir(&self) -> &Path {
        self.repository.git_dir.path()
    }

    fn common_dir(&self) -> &Path {
        self.repository.common_dir.path()
    }

    /// Its work tree.
    pub fn root(&self) -> &Path {
        self.repository.root.path()
    }

    fn bytes(&self, entry: &Entry) -> Vec<u8> {
        let Body::File(pieces) = &entry.body else { return Vec::new() };
        pieces.iter().filter_map(|piece| self.reader.get(&piece.blob).ok()).flatten().collect()
    }

    fn text(&self, entry: &Entry) -> String {
        String::from_utf8_lossy(&self.bytes(entry)).into_owned()
    }

    fn ref_name(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(self.common_dir()).ok()?;
        below.starts_with("refs").then(|| below.to_string_lossy().into_owned())
    }

    fn git(&self) -> Command {
        let mut git = Command::new("git");
        git.env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .env("GIT_DIR", self.git_dir())
            .env("GIT_WORK_TREE", self.root())
            .env_remove("GIT_INDEX_FILE")
            .env_remove("GIT_COMMON_DIR")
            .env_remove("GIT_OBJECT_DIRECTORY")
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
            .current_dir(if self.root().is_dir() { self.root() } else { Path::new("/") })
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(objects) = &self.objects {
            git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        }
        if let Some((uid, gid)) = self.owner() {
            git.uid(uid).gid(gid);
        }
        git
    }

    /// The owner of the work tree, if root acts for somebody else.
    fn owner(&self) -> Option<(u32, u32)> {
        if !nix::unistd::geteuid().is_root() {
            return None;
        }
        let meta = fs::metadata(self.root()).ok()?;
        (meta.uid() != 0).then(|| (meta.uid(), meta.gid()))
    }

    fn output(&self, args: &[&str]) -> io::Result<Output> {
        self.git().args(args).output()
    }

    fn succeeds(&self, args: &[&str]) -> bool {
        self.output(args).is_ok_and(|output| output.status.success())
    }

    fn current_refs(&self) -> BTreeMap<String, String> {
        let mut refs = regular::read_to_string(&self.common_dir().join("packed-refs"))
            .map(|text| packed_refs(&text).collect())
            .unwrap_or_else(|_| BTreeMap::new());
        let mut todo = vec![self.common_dir().join("refs")];
        while let Some(path) = todo.pop() {
            // Not through a link, which may lead to where it lies.
            if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
                todo.extend(
                    fs::read_dir(&path).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())),
                );
            } else if let (Some(name), Ok(value)) = (self.ref_name(&path), regular::read_to_string(&path)) {
                refs.insert(name, value.trim().to_owned());
            }
        }
        refs
    }

    /// What of the repository's own state is lost.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.git_dir().join("HEAD").exists() {
            steps.push(Step::Directory);
        }
        let missing = self.missing_objects().len();
        if missing > 0 {
            steps.push(Step::Objects(missing));
        }
        let now = self.current_refs();
        for (name, kept) in &self.refs {
            if self.is_ref_lost(name, kept, now.get(name)) {
                steps.push(Step::Ref(name.clone(), kept.clone()));
            }
        }
        steps.extend(self.head(&now));
        for path in self.files.keys() {
            let is_log = self.is_log(path);
            let is_other = self.ref_name(path).is_none()
                && !["HEAD", "packed-refs", "index"]
                    .iter()
                    .any(|name| path.file_name() == Some(OsStr::new(name)));
            if is_log && self.merged_log(path).is_some() {
                steps.push(Step::Log(path.clone()));
            } else if !is_log && is_other && is_settings(path) && self.is_gone(path) {
                steps.push(Step::File(path.clone()));
            }
        }
        if self.is_index_lost(&steps) {
            steps.push(Step::Index);
        }
        steps
    }

    /// A file that is not there, or that holds nothing where it held something. One that says something else now is left
    /// alone: `git config` is everyday work.
    fn is_gone(&self, path: &Path) -> bool {
        let had = || self.files.get(path).is_some_and(|entry| !self.bytes(entry).is_empty());
        fs::metadata(path).map_or(true, |now| now.len() == 0 && had())
    }

    /// A ref that is gone, or that no longer leads to what it led to. One that moved on is left alone.
    fn is_ref_lost(&self, name: &str, kept: &str, now: Option<&String>) -> bool {
        let Some(now) = now else { return true };
        if now == kept || kept_symbolic(kept) {
            return false;
        }
        if name == "refs/stash" {
            // A stash holds those below it by its reflog.
            return self.top_of_stash().is_some_and(|top| top != *now);
        }
        !self.succeeds(&["merge-base", "--is-ancestor", kept, now])
    }

    /// HEAD, if it is gone or leads to a branch that has no commit.
    fn head(&self, now: &BTreeMap<String, String>) -> Option<Step> {
        let path = self.git_dir().join("HEAD");
        let kept = self.text(self.files.get(&path)?);
        let current = regular::read_to_string(&path).unwrap_or_default();
        let leads = match current.trim().strip_prefix("ref: ") {
            Some(branch) => now.contains_key(branch),
            None => !current.trim().is_empty(),
        };
        (kept != current && !leads).then_some(Step::Head(kept))
    }

    /// The lines of a reflog that were kept and those that are there now; `None`: nothing was lost.
    fn merged_log(&self, path: &Path) -> Option<Vec<u8>> {
        let now = regular::read(path).unwrap_or_default();
        let states = self.logs.get(path)?.iter().map(|entry| self.bytes(entry)).chain([now.clone()]);
        // Lines may be there twice (two resets in a second), so they are counted.
        let mut known: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let mut merged = Vec::new();
        for state in states {
            let mut here: BTreeMap<&[u8], usize> = BTreeMap::new();
            for line in state.split_inclusive(|byte| *byte == b'\n') {
                let count = here.entry(line).or_default();
                *count += 1;
                let known = known.entry(line.to_vec()).or_default();
                if *count > *known {
                    *known = *count;
                    merged.extend_from_slice(line);
                }
            }
        }
        let lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
        (lines(&merged) > lines(&now)).then_some(merged)
    }

    /// The stash on top, once its reflog is whole again.
    fn top_of_stash(&self) -> Option<String> {
        let path = self.common_dir().join("logs/refs/stash");
        let log = self.merged_log(&path).or_else(|| regular::read(&path).ok())?;
        let last = log.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty())?.to_vec();
        String::from_utf8_lossy(&last).split(' ').nth(1).map(str::to_owned)
    }

    /// The index is gone; or HEAD is where it was (or will be), and the index is not.
    fn is_index_lost(&self, steps: &[Step]) -> bool {
        let Some(index) = &self.index else { return false };
        let Ok(now) = regular::read(index.path.path()) else { return true };
        let moved = steps.iter().any(|step| matches!(step, Step::Head(_) | Step::Ref(..) | Step::Directory));
        let kept_head =
            self.files.get(&self.git_dir().join("HEAD")).map(|entry| self.text(entry)).unwrap_or_default();
        let current = regular::read_to_string(&self.git_dir().join("HEAD")).unwrap_or_default();
        let tip = kept_head.trim().strip_prefix("ref: ").and_then(|branch| self.refs.get(branch));
        let tip_now =
            kept_head.trim().strip_prefix("ref: ").and_then(|branch| self.current_refs().remove(branch));
        let same = kept_head == current && tip == tip_now.as_ref();
        (moved || same) && entries_of(&now) != entries_of(&self.bytes(index))
    }

    fn missing_objects(&self) -> Vec<(PathBuf, PathBuf)> {
        let Some(objects) = &self.objects else { return Vec::new() };
        let here = self.common_dir().join("objects");
        let files = object_files(objects).into_iter();
        files.map(|(from, relative)| (from, here.join(relative))).filter(|(_, to)| !to.exists()).collect()
    }

    /// Gives the repository's state back. Returns what failed and why.
    pub fn apply(&self, steps: &[Step]) -> Vec<(String, io::Error)> {
        let mut failed = Vec::new();
        for directory in [self.git_dir(), self.common_dir()] {
            if !is_direct(directory) {
                let error = io::Error::other("it is reached through a link now; nothing was done");
                return vec![(directory.display().to_string(), error)];
            }
        }
        for step in steps {
            if let Err(error) = self.take(step, steps.contains(&Step::Directory)) {
                failed.push((step.line(), error));
            }
        }
        failed
    }

    fn take(&self, step: &Step, anew: bool) -> io::Result<()> {
        match step {
            Step::Directory => self.make_directory(),
            Step::Objects(_) => self.give_objects_back(),
            Step::Ref(name, oid) => {
                if name == "refs/stash" {
                    let top = self.top_of_stash().unwrap_or_else(|| oid.clone());
                    return self.put(&self.common_dir().join(name), format!("{top}\n").as_bytes());
                }
                if kept_symbolic(oid) {
                    return self.put(&self.common_dir().join(name), format!("{oid}\n").as_bytes());
                }
                // A ref to nothing is a repository that git refuses to read.
                if !self.succeeds(&["cat-file", "-e", oid]) {
                    return Err(io::Error::other("what it leads to is neither in git nor in the store"));
                }
                if anew {
                    // As it was, without a line in its log that says that it came back.
                    return self.put(&self.common_dir().join(name), format!("{oid}\n").as_bytes());
                }
                self.ran(&["update-ref", "-m", "blastradius undo", name, oid])
            }
            Step::Head(content) => self.put(&self.git_dir().join("HEAD"), content.as_bytes()),
            Step::Log(path) => match self.merged_log(path) {
                Some(merged) => self.put(path, &merged),
                None => Ok(()),
            },
            Step::File(path) => match self.files.get(path) {
                Some(entry) => self.put(path, &self.bytes(entry)),
                None => Ok(()),
            },
            Step::Index => match &self.index {
                Some(index) => self.put(index.path.path(), &self.bytes(index)),
                None => Ok(()),
            },
        }
    }

    fn ran(&self, args: &[&str]) -> io::Result<()> {
        let output = self.output(args)?;
        match output.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        }
    }

    fn make_directory(&self) -> io::Result<()> {
        // The work tree too: without one git says nothing of what is missing in it.
        for directory in [
            self.root().to_path_buf(),
            self.git_dir().to_path_buf(),
            self.common_dir().join("objects"),
            self.common_dir().join("refs"),
        ] {
            if !directory.is_dir() {
                fs::create_dir_all(&directory)?;
                self.give_away(&directory);
            }
        }
        for (path, entry) in &self.files {
            // Refs come later, when what they lead to is there.
            if self.ref_name(path).is_none() && !path.ends_with("packed-refs") && !path.exists() {
                self.put(path, &self.bytes(entry))?;
            }
        }
        Ok(())
    }

    fn give_objects_back(&self) -> io::Result<()> {
        for (from, to) in self.missing_objects() {
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
                self.give_away(parent);
            }
            if fs::hard_link(&from, &to).is_err() {
                let draft = to.with_extension("blastradius");
                fs::copy(&from, &draft).and_then(|_| fs::rename(&draft, &to)).inspect_err(|_| {
                    let _ = fs::remove_file(&draft);
                })?;
            }
            self.give_away(&to);
        }
        Ok(())
    }

    /// Writes a file of the git directory as git does: beside it, under the name that is git's lock on it.
    fn put(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
            self.give_away(parent);
        }
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let lock = PathBuf::from(lock);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&lock)?;
        let written = file.write_all(content).and_then(|()| fs::rename(&lock, path));
        if written.is_err() {
            let _ = fs::remove_file(&lock);
        }
        self.give_away(path);
        written
    }

    fn give_away(&self, path: &Path) {
        if let Some((uid, gid)) = self.owner() {
            let _ = std::os::unix::fs::lchown(path, Some(uid), Some(gid));
        }
    }

    /// The files that git held at the start and that are not so now, written out below `stage`.
    ///
    /// # Errors
    /// If git cannot be run, or `stage` cannot be written.
    pub fn held(&self, stage: &Path, wanted: &dyn Fn(&Path) -> bool) -> io::Result<Vec<Held>> {
        let Some(index) = &self.index else { return Ok(Vec::new()) };
        if !self.git_dir().join("HEAD").exists() {
            return Ok(Vec::new());
        }
        fs::create_dir_all(stage)?;
        self.give_away(stage);
        let copy = stage.join("index");
        fs::write(&copy, self.bytes(index))?;
        self.give_away(&copy);
        let git = || {
            let mut git = self.git();
            git.env("GIT_INDEX_FILE", &copy);
            git
        };
        // Its exit says that some files differ, which is what is asked next.
        git().args(["update-index", "-q", "--refresh"]).output()?;
        let listing = git().args(["diff-files", "--name-only", "--ignore-submodules", "-z"]).output()?;
        let names: Vec<&[u8]> = listing
            .stdout
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .filter(|name| wanted(&self.root().join(OsStr::from_bytes(name))))
            .collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let files = stage.join("files/");
        fs::create_dir_all(&files)?;
        self.give_away(&files);
        let mut prefix = std::ffi::OsString::from("--prefix=");
        prefix.push(&files);
        let mut child = git()
            .args(["checkout-index", "-q", "-f", "-z", "--stdin"])
            .arg(prefix)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // git reads names to the end before anybody waits for it; what it refuses is missing below.
            let _ = stdin.write_all(&[names.join(&0), vec![0]].concat());
        }
        child.wait()?;
        let bytes = self.bytes(index);
        let parsed = [20, 32].iter().find_map(|&length| Index::parse(&bytes, length, (0, 0)));
        let held = names.into_iter().map(|bytes| {
            let mtime = parsed.as_ref().and_then(|index| index.find(bytes)).map(IndexEntry::modified);
            let name = Path::new(OsStr::from_bytes(bytes));
            Held { path: self.root().join(name), staged: files.join(name), mtime }
        });
        Ok(held.filter(|held| fs::symlink_metadata(&held.staged).is_ok()).collect())
    }

    /// For what an undo replaces: the work tree as the policy knows it.
    pub fn work_tree(&self) -> crate::policy::worktree::WorkTree {
        crate::policy::worktree::WorkTree {
            root: self.root().to_owned(),
            git_dir: self.git_dir().to_owned(),
            common_dir: self.common_dir().to_owned(),
            tie: crate::policy::worktree::Tie::Directory,
            foreign_owner: None,
        }
    }
}

/// Whether a ref leads to another one (`refs/remotes/origin/HEAD`).
fn kept_symbolic(kept: &str) -> bool {
    kept.starts_with("ref:")
}

/// Whether a file of a git directory is a setting, which is given back when it is gone. What names a merge in progress
/// comes and goes.
fn is_settings(path: &Path) -> bool {
    const SETTINGS: &[&str] =
        &["config", "exclude", "sparse-checkout", "attributes", "shallow", "commondir", "gitdir"];
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| SETTINGS.contains(&name))
}

fn packed_refs(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    text.lines().filter(|line| !line.starts_with(['#', '^'])).filter_map(|line| {
        let (oid, name) = line.split_once(' ')?;
        Some((name.to_owned(), oid.to_owned()))
    })
}

/// What an index says of content: mode, blob and path of each entry. Stat data may differ.
fn entries_of(index: &[u8]) -> Option<Vec<(Vec<u8>, super::index::ObjectId)>> {
    [20, 32].iter().find_map(|&length| Index::parse(index, length, (0, 0))).map(|index| index.contents())
}
