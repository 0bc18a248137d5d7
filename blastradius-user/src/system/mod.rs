//! The machine that we run on, behind [`World`].
//!
//! The only place where the text layer's questions meet the operating system. [`System`] can also speak for another
//! process: its environment, its working directory and its root.

mod accounts;
pub mod approvals;
mod ask;
mod git;
mod mounts;
pub mod regular;
pub(crate) mod state;
pub(crate) mod users;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::shell::world::{GitState, Kind, Look, Meta, MountPoint, Platform, World};

/// The real machine, as one process sees it.
///
/// What does not change during one analysis (mounts, accounts) is read once, when it is first asked for.
pub struct System {
    env: HashMap<String, Rc<str>>,
    cwd: PathBuf,
    uid: u32,
    /// Where `/` of the process is, if not here: `/proc/PID/root`.
    root: Option<PathBuf>,
    platform: Platform,
    mounts: OnceCell<Rc<[MountPoint]>>,
    accounts: OnceCell<accounts::Accounts>,
}

/// The layout of the operating system that this binary was built for.
pub const PLATFORM: Platform = if cfg!(target_os = "macos") { Platform::MacOs } else { Platform::Linux };

impl System {
    /// The machine as this process sees it.
    ///
    /// # Errors
    /// If the working directory cannot be told (it was removed, or a parent cannot be read).
    pub fn current() -> io::Result<Self> {
        Ok(Self::of_process(
            std::env::vars_os(),
            std::env::current_dir()?,
            nix::unistd::geteuid().as_raw(),
            None,
        ))
    }

    /// The machine as another process sees it.
    ///
    /// `root` is where its `/` can be reached from here (`/proc/PID/root`), if it is not ours.
    pub fn of_process(
        env: impl IntoIterator<Item = (OsString, OsString)>,
        cwd: PathBuf,
        uid: u32,
        root: Option<PathBuf>,
    ) -> Self {
        let env = env
            .into_iter()
            .map(|(name, value)| (lossy(&name).into_owned(), Rc::from(&*lossy(&value))))
            .collect();
        Self { env, cwd, uid, root, platform: PLATFORM, mounts: OnceCell::new(), accounts: OnceCell::new() }
    }

    /// Reads paths in another working directory, which need not exist.
    #[must_use]
    pub fn with_cwd(mut self, cwd: PathBuf) -> Self {
        self.cwd = cwd;
        self
    }

    /// Sets (`Some`) or removes (`None`) an environment variable.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.env.insert(name.into(), value.into()),
            None => self.env.remove(name),
        };
        self
    }

    /// Starts from an empty environment.
    #[must_use]
    pub fn with_clear_env(mut self) -> Self {
        self.env.clear();
        self
    }

    /// Judges as if on this platform.
    #[must_use]
    pub fn with_platform(mut self, platform: Platform) -> Self {
        self.platform = platform;
        self
    }

    /// Where `path` of the process is to be opened by us.
    fn here(&self, path: &Path) -> PathBuf {
        match &self.root {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_path_buf(),
        }
    }

    fn accounts(&self) -> &accounts::Accounts {
        self.accounts.get_or_init(|| accounts::Accounts::read(self.platform))
    }
}

fn lossy(text: &OsStr) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(text.as_bytes())
}

fn kind_of(kind: fs::FileType) -> Kind {
    if kind.is_file() {
        Kind::File
    } else if kind.is_dir() {
        Kind::Directory
    } else if kind.is_symlink() {
        Kind::Link
    } else if kind.is_block_device() {
        Kind::BlockDevice
    } else {
        Kind::Special
    }
}

impl World for System {
    fn platform(&self) -> Platform {
        self.platform
    }

    fn env(&self, name: &str) -> Option<Rc<str>> {
        self.env.get(name).cloned()
    }

    fn env_names(&self) -> Vec<String> {
        self.env.keys().cloned().collect()
    }

    fn cwd(&self) -> PathBuf {
        self.cwd.clone()
    }

    fn uid(&self) -> u32 {
        self.uid
    }

    fn home_of(&self, user: Option<&str>) -> Option<PathBuf> {
        self.accounts().home(user, self.uid)
    }

    fn homes(&self) -> Vec<PathBuf> {
        self.accounts().homes(self.uid, self.env.get("SUDO_USER").map(|user| &**user))
    }

    fn look(&self, path: &Path) -> Look {
        match fs::symlink_metadata(self.here(path)) {
            Ok(meta) => Look::Found(Meta {
                kind: kind_of(meta.file_type()),
                size: meta.len(),
                uid: meta.uid(),
                nlink: meta.nlink(),
                is_open: meta.mode() & 0o002 != 0,
            }),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Look::Absent,
                // A name that no file system accepts (ENAMETOOLONG) or a NUL in it (EINVAL) names nothing.
                io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput => Look::Absent,
                _ => Look::Unreadable,
            },
        }
    }

    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        fs::read_link(self.here(path)).ok()
    }

    fn read_dir(&self, path: &Path, limit: usize) -> Option<Vec<(OsString, Kind)>> {
        let entries = fs::read_dir(self.here(path)).ok()?.take(limit).filter_map(|entry| {
            let entry = entry.ok()?;
            // d_type is free; DT_UNKNOWN falls back to lstat(2) inside file_type.
            let kind = entry.file_type().map_or(Kind::Special, kind_of);
            Some((entry.file_name(), kind))
        });
        Some(entries.collect())
    }

    fn read_file(&self, path: &Path, limit: usize) -> Option<Vec<u8>> {
        let path = self.here(path);
        let file = regular::open(&path).ok()?;
        let about = file.metadata().ok()?;
        // With room for more than it holds, the end is found with one read more; std would try with small ones.
        let size = usize::try_from(about.len()).unwrap_or(limit).min(limit);
        let mut content = Vec::with_capacity(size.saturating_add(64));
        file.take(limit as u64 + 1).read_to_end(&mut content).ok()?;
        (content.len() <= limit).then_some(content)
    }

    fn mounts(&self) -> Rc<[MountPoint]> {
        self.mounts.get_or_init(|| mounts::read(self.root.as_deref()).into()).clone()
    }

    fn git_state(&self, root: &Path, below: &Path) -> Option<GitState> {
        git::state(&self.here(root), below)
    }

    fn which(&self, name: &str) -> Option<PathBuf> {
        let path = self.env.get("PATH")?;
        let executable = |at: &PathBuf| {
            fs::metadata(self.here(at)).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
        };
        path.split(':')
            .map(|dir| if dir.is_empty() { self.cwd.join(name) } else { self.cwd.join(dir).join(name) })
            .find(executable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_a_directory_and_a_name_that_nobody_bears_is_absent() {
        let system = System::current().expect("a working directory");
        assert!(matches!(system.look(Path::new("/")), Look::Found(Meta { kind: Kind::Directory, .. })));
        assert_eq!(system.look(Path::new("/no-such-name-here")), Look::Absent);
        assert_eq!(system.look(Path::new("/etc/passwd/below-a-file")), Look::Absent);
    }

    #[test]
    fn a_file_larger_than_the_limit_and_a_fifo_are_not_read() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("file");
        fs::write(&file, "12345").expect("written");
        let fifo = dir.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("a fifo");
        let system = System::current().expect("a working directory");
        assert_eq!(system.read_file(&file, 5).as_deref(), Some(&b"12345"[..]));
        assert_eq!(system.read_file(&file, 4), None);
        assert_eq!(system.read_file(&fifo, 5), None);
    }

    #[test]
    fn another_process_is_seen_through_its_root() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(dir.path().join("inside")).expect("made");
        let system = System::of_process([], "/".into(), 0, Some(dir.path().to_path_buf()));
        assert!(matches!(system.look(Path::new("/inside")), Look::Found(_)));
        assert_eq!(system.look(Path::new("/etc")), Look::Absent);
    }
}
