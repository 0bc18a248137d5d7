//! How is an object given back?
//!
//! Beside its name, then in its place: whoever looks sees what was there or what was kept, and a kill at any moment leaves
//! one of both. Never through a link that stands where a directory was.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::stat::{UtimensatFlags, futimens, utimensat};
use nix::sys::time::TimeSpec;

use super::clone::reflink;
use super::object::{Body, Entry};
use super::pinned::Pinned;
use super::plan::Now;
use super::store::Reader;
use super::xattr;

/// How names begin that a restore gives to what is not in its place yet.
pub const LITTER: &str = ".blastradius-restoring-";

/// Where a content comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The store.
    Kept(Entry),
    /// A file that git wrote out for us, and when it was modified, as git's index says.
    Staged(PathBuf, Option<(i64, i64)>),
}

/// One object to give back.
#[derive(Clone, Debug)]
pub struct Action {
    /// Where to.
    pub path: PathBuf,
    /// What is there now.
    pub now: Now,
    /// What it will be.
    pub source: Source,
}

/// Gives objects back.
pub struct Restorer<'a> {
    reader: &'a Reader,
    /// Nothing above these is made or replaced.
    roots: &'a [PathBuf],
    /// The first name that a hard-linked file got, by device and inode.
    links: HashMap<(u64, u64), PathBuf>,
    /// The directory in which the last object went, which is often that of the next.
    last: Option<(PathBuf, Pinned)>,
}

impl<'a> Restorer<'a> {
    /// Gives back below these roots.
    pub fn new(reader: &'a Reader, roots: &'a [PathBuf]) -> Self {
        Self { reader, roots, links: HashMap::new(), last: None }
    }

    /// A file that is as it was, and under which name: what shared its inode shares it again.
    pub fn is_there(&mut self, entry: &Entry, path: &Path) {
        let inode = (entry.stamp.dev, entry.stamp.ino);
        let same = |meta: fs::Metadata| meta.is_file() && (meta.dev(), meta.ino()) == inode;
        if entry.links > 1 && fs::symlink_metadata(path).is_ok_and(same) {
            self.links.entry(inode).or_insert_with(|| path.to_owned());
        }
    }

    /// Gives back, directories first. Returns what failed and why.
    pub fn apply(&mut self, actions: &[Action]) -> Vec<(PathBuf, io::Error)> {
        let is_directory =
            |action: &&Action| matches!(&action.source, Source::Kept(entry) if entry.body == Body::Directory);
        let (mut directories, others): (Vec<&Action>, Vec<&Action>) = actions.iter().partition(is_directory);
        directories.sort_by(|left, right| left.path.cmp(&right.path));
        let mut failed = Vec::new();
        let mut missing: HashSet<&Path> = HashSet::new();
        for action in directories.iter().copied().chain(others) {
            if let Err(error) = self.one(action) {
                failed.push((action.path.clone(), error));
                missing.insert(&action.path);
            }
        }
        // Innermost first, and after their content: both change a directory's times, and a mode may close it.
        for action in directories.iter().rev().filter(|action| !missing.contains(&*action.path)) {
            if let Source::Kept(entry) = &action.source
                && let Err(error) = finish_directory(&action.path, entry, action.now)
            {
                failed.push((action.path.clone(), error));
            }
        }
        failed
    }

    fn one(&mut self, action: &Action) -> io::Result<()> {
        let path = &self.way(&action.path)?;
        match &action.source {
            Source::Staged(from, mtime) => staged(from, path, *mtime),
            Source::Kept(entry) => match &entry.body {
                Body::Directory => make_directory(path),
                Body::Link(target) => {
                    clear(path)?;
                    in_place(path, |draft| std::os::unix::fs::symlink(target.path(), draft))?;
                    own(path, entry);
                    Ok(times(path, entry)?)
                }
                Body::Fifo => {
                    clear(path)?;
                    in_place(path, |draft| fifo(draft, entry))
                }
                Body::File(_) | Body::Clone(_) => self.file(entry, path, action),
            },
        }
    }

    /// The way to a path that no link bends, its directories made. A file or link in their way has been kept by now, and goes.
    fn way(&mut self, path: &Path) -> io::Result<PathBuf> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if self.last.as_ref().is_none_or(|(held, _)| held != parent) {
            let roots = self.roots.iter().filter(|root| parent.starts_with(root));
            let top = roots.min_by_key(|root| root.as_os_str().len());
            self.last = Some((parent.to_owned(), Pinned::make(parent, top.map_or(parent, |root| root))?));
        }
        let (_, held) = self.last.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok(held.at(name))
    }

    fn file(&mut self, entry: &Entry, path: &Path, action: &Action) -> io::Result<()> {
        if action.now == Now::Attributes {
            let file =
                OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
            remove_other_xattrs(path, entry);
            return attributes(&file, entry);
        }
        clear(path)?;
        let inode = (entry.stamp.dev, entry.stamp.ino);
        if entry.links > 1
            && let Some(first) = self.links.get(&inode)
        {
            let (Some(parent), Some(name)) = (first.parent(), first.file_name()) else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let first = Pinned::reach(parent)?;
            return in_place(path, |draft| fs::hard_link(first.at(name), draft));
        }
        if let Some(file) = still_shared(entry, path) {
            file.set_len(0)?;
            self.fill(&file, entry)?;
            attributes(&file, entry)?;
        } else {
            let draft = Draft::beside(path)?;
            self.fill(&draft.file, entry)?;
            attributes(&draft.file, entry)?;
            draft.name(path)?;
        }
        if entry.links > 1 {
            self.links.insert(inode, action.path.clone());
        }
        Ok(())
    }

    fn fill(&self, file: &File, entry: &Entry) -> io::Result<()> {
        match &entry.body {
            Body::File(pieces) => {
                file.set_len(entry.stamp.size)?;
                for piece in pieces {
                    file.write_all_at(&self.reader.get(&piece.blob)?, piece.at)?;
                }
                Ok(())
            }
            Body::Clone(digest) => {
                let mut kept = self.reader.clone_file(digest)?;
                if reflink(&kept, file).is_err() {
                    io::copy(&mut kept, &mut &*file)?;
                }
                Ok(())
            }
            Body::Link(_) | Body::Directory | Body::Fifo => Ok(()),
        }
    }

    /// Writes a file's kept content elsewhere.
    ///
    /// # Errors
    /// If it is not in the store, or cannot be written.
    pub fn show(&self, entry: &Entry, to: &Path) -> io::Result<()> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(to)?;
        match &entry.body {
            Body::Link(target) => (&file).write_all(&target.0),
            _ => self.fill(&file, entry),
        }
    }
}

/// The kept file itself, written to under this or another name, which may lie outside the tree: a copy in the place of
/// this name would leave the other one as it is. This is the one thing that is not first made beside its name.
fn still_shared(entry: &Entry, path: &Path) -> Option<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let shared = |meta: &fs::Metadata| {
        meta.is_file() && meta.nlink() > 1 && (meta.dev(), meta.ino()) == (entry.stamp.dev, entry.stamp.ino)
    };
    if entry.links < 2 || !fs::symlink_metadata(path).is_ok_and(|meta| shared(&meta)) {
        return None;
    }
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).ok()?;
    file.metadata().is_ok_and(|meta| shared(&meta)).then_some(file)
}

/// A named pipe as it was.
fn fifo(path: &Path, entry: &Entry) -> io::Result<()> {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRUSR)?;
    own(path, entry);
    // By a descriptor: chmod(2) follows links. Opened for its name alone, it waits for nobody.
    let made = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)?;
    let here = format!("/proc/self/fd/{}", made.as_raw_fd());
    fs::set_permissions(here, Permissions::from_mode(entry.mode & 0o7777))?;
    for (name, value) in &entry.xattrs {
        let _ = xattr::write(path, &name.0, &value.0);
    }
    Ok(times(path, entry)?)
}

/// A file that has no name yet, or where the file system wants one, a name of its own.
struct Draft {
    file: File,
    name: Option<PathBuf>,
}

impl Draft {
    fn beside(path: &Path) -> io::Result<Self> {
        let parent = path.parent().unwrap_or(Path::new("/"));
        let unnamed =
            OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(parent);
        match unnamed {
            Ok(file) => Ok(Self { file, name: None }),
            Err(_) => {
                let name = litter(path);
                let file =
                    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&name)?;
                Ok(Self { file, name: Some(name) })
            }
        }
    }

    /// Gives the file its name, in place of what bears it.
    fn name(mut self, path: &Path) -> io::Result<()> {
        let Some(name) = self.name.take() else {
            let here = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            return match link_unnamed(&here, path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    in_place(path, |draft| link_unnamed(&here, draft))
                }
                other => other,
            };
        };
        fs::rename(&name, path).inspect_err(|_| {
            let _ = fs::remove_file(&name);
        })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::remove_file(name);
        }
    }
}

/// linkat(2) of a file that has no name, as open(2) describes it under O_TMPFILE.
fn link_unnamed(here: &str, path: &Path) -> io::Result<()> {
    let flags = nix::fcntl::AtFlags::AT_SYMLINK_FOLLOW;
    Ok(nix::unistd::linkat(nix::fcntl::AT_FDCWD, here, nix::fcntl::AT_FDCWD, path, flags)?)
}

fn litter(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!("{LITTER}{}-{number}", std::process::id()))
}

/// Makes something beside a path and puts it in its place.
fn in_place(path: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let draft = litter(path);
    let made = make(&draft).and_then(|()| fs::rename(&draft, path));
    // rename(2) of two names of one inode does nothing, and leaves both.
    let _ = fs::remove_file(&draft);
    made
}

/// An empty directory in a file's place goes; a full one is somebody's, and stays.
fn clear(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir(path)
            .map_err(|_| io::Error::other("a directory that is not empty stands in its place")),
        _ => Ok(()),
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => return Ok(()),
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    fs::create_dir(path)
}

fn finish_directory(path: &Path, entry: &Entry, now: Now) -> io::Result<()> {
    let held = Pinned::reach(path)?;
    let path = &held.itself();
    own(path, entry);
    remove_other_xattrs(path, entry);
    for (name, value) in &entry.xattrs {
        let _ = xattr::write(path, &name.0, &value.0);
    }
    fs::set_permissions(path, Permissions::from_mode(entry.mode & 0o7777))?;
    if now == Now::Gone { Ok(times(path, entry)?) } else { Ok(()) }
}

/// An access list that was added later would still let others in.
fn remove_other_xattrs(path: &Path, entry: &Entry) {
    let others = xattr::read(path).into_iter().map(|(name, _)| name);
    for name in
        others.filter(|name| xattr::is_peoples(name) && entry.xattrs.iter().all(|(kept, _)| kept.0 != *name))
    {
        let _ = xattr::remove(path, &name);
    }
}

/// Owner, attributes, mode and times. Only root gives files away; what a label's owner alone may set is left.
fn attributes(file: &File, entry: &Entry) -> io::Result<()> {
    let _ = std::os::unix::fs::fchown(file, Some(entry.uid), Some(entry.gid));
    for (name, value) in &entry.xattrs {
        let _ = xattr::write_to(file, &name.0, &value.0);
    }
    // After the owner: a change of owner takes set-user-id away.
    file.set_permissions(Permissions::from_mode(entry.mode & 0o7777))?;
    let (seconds, nanoseconds) = entry.stamp.mtime;
    Ok(futimens(file, &TimeSpec::UTIME_NOW, &TimeSpec::new(seconds, nanoseconds))?)
}

fn own(path: &Path, entry: &Entry) {
    let _ = std::os::unix::fs::lchown(path, Some(entry.uid), Some(entry.gid));
}

fn times(path: &Path, entry: &Entry) -> nix::Result<()> {
    let (seconds, nanoseconds) = entry.stamp.mtime;
    let time = TimeSpec::new(seconds, nanoseconds);
    utimensat(nix::fcntl::AT_FDCWD, path, &TimeSpec::UTIME_NOW, &time, UtimensatFlags::NoFollowSymlink)
}

/// Puts a file or link that git wrote out in its place.
fn staged(from: &Path, path: &Path, mtime: Option<(i64, i64)>) -> io::Result<()> {
    clear(path)?;
    let meta = fs::symlink_metadata(from)?;
    if meta.is_symlink() {
        let target = fs::read_link(from)?;
        return in_place(path, |draft| std::os::unix::fs::symlink(target, draft));
    }
    let draft = Draft::beside(path)?;
    let mut content = Vec::new();
    File::open(from)?.read_to_end(&mut content)?;
    (&draft.file).write_all(&content)?;
    draft.file.set_permissions(meta.permissions())?;
    if let Some((seconds, nanoseconds)) = mtime {
        futimens(&draft.file, &TimeSpec::UTIME_NOW, &TimeSpec::new(seconds, nanoseconds))?;
    }
    if nix::unistd::geteuid().is_root() {
        // git ran as the owner of the tree.
        let _ = std::os::unix::fs::fchown(&draft.file, Some(meta.uid()), Some(meta.gid()));
    }
    draft.name(path)
}
