//! A machine with one file changed in thought.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::{GitState, Kind, Look, Meta, MountPoint, Platform, World};

/// The machine with one file changed.
pub struct Amended<'a> {
    world: &'a dyn World,
    file: &'a Path,
    content: Vec<u8>,
}

impl<'a> Amended<'a> {
    /// `world`, in which `file` is a regular file of the user's with this content.
    pub fn new(world: &'a dyn World, file: &'a Path, content: &[u8]) -> Self {
        Self { world, file, content: content.to_vec() }
    }
}

impl World for Amended<'_> {
    fn platform(&self) -> Platform {
        self.world.platform()
    }

    fn env(&self, name: &str) -> Option<Rc<str>> {
        self.world.env(name)
    }

    fn env_names(&self) -> Vec<String> {
        self.world.env_names()
    }

    fn cwd(&self) -> PathBuf {
        self.world.cwd()
    }

    fn uid(&self) -> u32 {
        self.world.uid()
    }

    fn home_of(&self, user: Option<&str>) -> Option<PathBuf> {
        self.world.home_of(user)
    }

    fn homes(&self) -> Vec<PathBuf> {
        self.world.homes()
    }

    fn look(&self, path: &Path) -> Look {
        if path == self.file {
            let size = self.content.len() as u64;
            let uid = self.world.uid();
            return Look::Found(Meta { kind: Kind::File, size, uid, nlink: 1, is_open: false });
        }
        self.world.look(path)
    }

    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        self.world.read_link(path)
    }

    fn read_dir(&self, path: &Path, limit: usize) -> Option<Vec<(OsString, Kind)>> {
        self.world.read_dir(path, limit)
    }

    fn read_file(&self, path: &Path, limit: usize) -> Option<Vec<u8>> {
        if path == self.file {
            return (self.content.len() <= limit).then(|| self.content.clone());
        }
        self.world.read_file(path, limit)
    }

    fn mounts(&self) -> Rc<[MountPoint]> {
        self.world.mounts()
    }

    fn git_state(&self, root: &Path, below: &Path) -> Option<GitState> {
        self.world.git_state(root, below)
    }

    fn which(&self, name: &str) -> Option<PathBuf> {
        self.world.which(name)
    }
}
