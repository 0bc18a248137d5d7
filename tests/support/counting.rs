//! A world that counts what it is asked: tests assert work, not time.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use blastradius::shell::world::{GitState, Kind, Look, MountPoint, Platform, World};

/// Another world, with its questions counted.
pub struct Counting<'w> {
    inner: &'w dyn World,
    asked: Cell<u64>,
    entries: Cell<u64>,
    bytes: Cell<u64>,
    git: Cell<u64>,
}

impl<'w> Counting<'w> {
    /// Counts what is asked of `inner`.
    pub fn new(inner: &'w dyn World) -> Self {
        Self {
            inner,
            asked: Cell::default(),
            entries: Cell::default(),
            bytes: Cell::default(),
            git: Cell::default(),
        }
    }

    /// Questions that cost a system call or more.
    pub fn asked(&self) -> u64 {
        self.asked.get()
    }

    /// Entries of directories that were handed out.
    pub fn entries(&self) -> u64 {
        self.entries.get()
    }

    /// Bytes of files that were handed out.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Questions to git.
    pub fn git(&self) -> u64 {
        self.git.get()
    }

    fn ask(&self) -> &dyn World {
        self.asked.set(self.asked.get() + 1);
        self.inner
    }
}

impl World for Counting<'_> {
    fn platform(&self) -> Platform {
        self.inner.platform()
    }
    fn env(&self, name: &str) -> Option<Rc<str>> {
        self.inner.env(name)
    }
    fn env_names(&self) -> Vec<String> {
        self.inner.env_names()
    }
    fn cwd(&self) -> PathBuf {
        self.inner.cwd()
    }
    fn uid(&self) -> u32 {
        self.inner.uid()
    }
    fn home_of(&self, user: Option<&str>) -> Option<PathBuf> {
        self.ask().home_of(user)
    }
    fn homes(&self) -> Vec<PathBuf> {
        self.ask().homes()
    }
    fn look(&self, path: &Path) -> Look {
        self.ask().look(path)
    }
    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        self.ask().read_link(path)
    }
    fn read_dir(&self, path: &Path, limit: usize) -> Option<Vec<(OsString, Kind)>> {
        let entries = self.ask().read_dir(path, limit)?;
        self.entries.set(self.entries.get() + entries.len() as u64);
        Some(entries)
    }
    fn read_file(&self, path: &Path, limit: usize) -> Option<Vec<u8>> {
        let content = self.ask().read_file(path, limit)?;
        self.bytes.set(self.bytes.get() + content.len() as u64);
        Some(content)
    }
    fn mounts(&self) -> Rc<[MountPoint]> {
        self.ask().mounts()
    }
    fn git_state(&self, root: &Path, below: &Path) -> Option<GitState> {
        self.git.set(self.git.get() + 1);
        self.ask().git_state(root, below)
    }
    fn which(&self, name: &str) -> Option<PathBuf> {
        self.ask().which(name)
    }
}
