//! The one door between the analyzer and the machine.
//!
//! Everything below [`World`] is pure: it runs in tests on a made-up world, fuzzes, and compiles for macOS. All paths
//! that are handed in are absolute. Nothing here follows a link unless its name says so.

pub mod amended;
pub mod memory;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Which operating system's layout and floor apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux, WSL included.
    Linux,
    /// macOS: `/Users`, `/System`, `/private`, case-insensitive comparison.
    MacOs,
}

/// What kind of object a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A block device.
    BlockDevice,
    /// A character device, fifo or socket.
    Special,
}

/// What lstat(2) tells that a rule may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The kind of object.
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    /// Owner.
    pub uid: u32,
    /// Number of hard links.
    pub nlink: u64,
    /// Everybody may write to it.
    pub is_open: bool,
}

/// What looking at a path gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The object.
    Found(Meta),
    /// ENOENT or ENOTDIR: nothing bears the name.
    Absent,
    /// Anything else (EACCES, ELOOP, EIO, …): it cannot be told.
    Unreadable,
}

/// One mount point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountPoint {
    /// Where it is mounted.
    pub path: PathBuf,
    /// The file system type of mountinfo.
    pub fs_type: String,
    /// For a bind mount or subvolume: the root within the file system, else `/`.
    pub root: PathBuf,
    /// `major:minor` of mountinfo, as one number; equal for two binds of one file system.
    pub device: u64,
    /// Nothing can be written through it.
    pub read_only: bool,
}

/// What git says of one path of a work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// In the index and unchanged: git can give it back.
    Clean,
    /// In the index, and the working file or the index differs from HEAD.
    Modified,
    /// Not in the index, not ignored.
    Untracked,
    /// Not in the index, ignored.
    Ignored,
}

/// What a directory of a work tree holds that git cannot give back. Counting stops at a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitState {
    /// Paths relative to the work tree, with what git says of them. Clean paths are left out. A directory that is
    /// wholly untracked or ignored is one entry that ends with `/`.
    pub dirty: Vec<(String, Tracking)>,
    /// The listing stopped at a budget: there may be more.
    pub truncated: bool,
}

/// The machine as the analyzer sees it.
pub trait World {
    /// Which layout applies.
    fn platform(&self) -> Platform;
    /// The value of an environment variable; `None` if it is unset. Values that are not UTF-8 are given lossily.
    fn env(&self, name: &str) -> Option<Rc<str>>;
    /// The names of all environment variables.
    fn env_names(&self) -> Vec<String>;
    /// The working directory, absolute.
    fn cwd(&self) -> PathBuf;
    /// The effective user id.
    fn uid(&self) -> u32;
    /// The home that the user database names for `user`, or for the effective user. Never `$HOME`.
    fn home_of(&self, user: Option<&str>) -> Option<PathBuf>;
    /// The homes of root, of the session's user, of the sudo caller and of local accounts with a login shell.
    fn homes(&self) -> Vec<PathBuf>;
    /// lstat(2).
    fn look(&self, path: &Path) -> Look;
    /// readlink(2); `None` if it is no link or cannot be read.
    fn read_link(&self, path: &Path) -> Option<PathBuf>;
    /// The names in a directory with their kinds, at most `limit`, `.` and `..` left out, unsorted; `None` if it cannot be read.
    fn read_dir(&self, path: &Path, limit: usize) -> Option<Vec<(OsString, Kind)>>;
    /// The content of a regular file, `None` if it is absent, unreadable, no regular file, or larger than `limit` bytes.
    fn read_file(&self, path: &Path, limit: usize) -> Option<Vec<u8>>;
    /// The mount points, those that are mounted over included.
    fn mounts(&self) -> Rc<[MountPoint]>;
    /// What the work tree rooted at `root` holds that git cannot give back, below `below` (relative, empty: all of
    /// it). `None`: git's state cannot be read, which is to be taken as "there is something to lose".
    fn git_state(&self, root: &Path, below: &Path) -> Option<GitState>;
    /// The path that the shell would run for a command name without a slash; `None`: not found on PATH.
    fn which(&self, name: &str) -> Option<PathBuf>;
}
