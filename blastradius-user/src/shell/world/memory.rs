//! A made-up machine: what tests, fuzzers and the corpus judge against.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::{GitState, Kind, Look, Meta, MountPoint, Platform, Tracking, World};

/// An object of the made-up file system.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Object {
    Directory(BTreeSet<String>),
    File(Vec<u8>),
    Link(PathBuf),
    BlockDevice,
    Special,
}

/// A machine in memory. It starts with `/`, no environment and uid 1000, and is built by chained calls.
#[derive(Clone, Debug)]
pub struct MemoryWorld {
    platform: Platform,
    uid: u32,
    cwd: PathBuf,
    env: BTreeMap<String, Rc<str>>,
    users: BTreeMap<String, PathBuf>,
    user: String,
    objects: BTreeMap<PathBuf, Object>,
    owners: BTreeMap<PathBuf, u32>,
    open: BTreeSet<PathBuf>,
    mounts: Vec<MountPoint>,
    git: BTreeMap<PathBuf, GitState>,
}

impl MemoryWorld {
    /// An empty machine.
    pub fn new(platform: Platform) -> Self {
        let root = MountPoint {
            path: "/".into(),
            fs_type: "ext4".into(),
            root: "/".into(),
            device: 1,
            read_only: false,
        };
        Self {
            platform,
            uid: 1000,
            cwd: "/".into(),
            env: BTreeMap::new(),
            users: BTreeMap::new(),
            user: "dev".into(),
            objects: BTreeMap::from([("/".into(), Object::Directory(BTreeSet::new()))]),
            owners: BTreeMap::new(),
            open: BTreeSet::new(),
            mounts: vec![root],
            git: BTreeMap::new(),
        }
    }

    /// Sets the effective uid and the user's name.
    #[must_use]
    pub fn user(mut self, uid: u32, name: &str) -> Self {
        self.uid = uid;
        name.clone_into(&mut self.user);
        self
    }

    /// Adds an account with a login shell and makes its home.
    #[must_use]
    pub fn account(mut self, name: &str, home: &str) -> Self {
        self.users.insert(name.into(), home.into());
        self.dir(home)
    }

    /// Sets the working directory and makes it.
    #[must_use]
    pub fn cwd(mut self, path: &str) -> Self {
        self.cwd = path.into();
        self.dir(path)
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.env.remove(name);
        self
    }

    /// Makes a directory and its parents.
    #[must_use]
    pub fn dir(mut self, path: &str) -> Self {
        self.put(Path::new(path), Object::Directory(BTreeSet::new()));
        self
    }

    /// Makes a file, and its parents.
    #[must_use]
    pub fn file(mut self, path: &str, content: &str) -> Self {
        self.put(Path::new(path), Object::File(content.into()));
        self
    }

    /// Makes a symbolic link, and its parents.
    #[must_use]
    pub fn link(mut self, path: &str, target: &str) -> Self {
        self.put(Path::new(path), Object::Link(target.into()));
        self
    }

    /// Makes a block device node.
    #[must_use]
    pub fn block_device(mut self, path: &str) -> Self {
        self.put(Path::new(path), Object::BlockDevice);
        self
    }

    /// Makes a character device, fifo or socket.
    #[must_use]
    pub fn special(mut self, path: &str) -> Self {
        self.put(Path::new(path), Object::Special);
        self
    }

    /// Gives an object another owner than the effective uid.
    #[must_use]
    pub fn owner(mut self, path: &str, uid: u32) -> Self {
        self.owners.insert(path.into(), uid);
        self
    }

    /// Lets everybody write to an object.
    #[must_use]
    pub fn open_to_all(mut self, path: &str) -> Self {
        self.open.insert(path.into());
        self
    }

    /// Makes a mount point.
    #[must_use]
    pub fn mount(mut self, path: &str, fs_type: &str, device: u64) -> Self {
        self.put(Path::new(path), Object::Directory(BTreeSet::new()));
        let root = "/".into();
        self.mounts.push(MountPoint {
            path: path.into(),
            fs_type: fs_type.into(),
            root,
            device,
            read_only: false,
        });
        self
    }

    /// Nothing can be written through what was mounted last.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        if let Some(mount) = self.mounts.last_mut() {
            mount.read_only = true;
        }
        self
    }

    /// Makes a git work tree with a `.git` directory and a clean state.
    #[must_use]
    pub fn work_tree(mut self, root: &str) -> Self {
        self.git.entry(root.into()).or_default();
        let git = format!("{root}/.git");
        self.dir(&format!("{git}/objects"))
            .dir(&format!("{git}/refs/heads"))
            .dir(&format!("{git}/logs"))
            .file(&format!("{git}/HEAD"), "ref: refs/heads/main\n")
            .file(&format!("{git}/config"), "[core]\n\trepositoryformatversion = 0\n")
            .file(&format!("{git}/index"), "")
    }

    /// Adds a work tree at `root` that is linked to the one at `main` under this name, each naming the other.
    #[must_use]
    pub fn linked(mut self, main: &str, root: &str, name: &str) -> Self {
        self.git.entry(root.into()).or_default();
        let registered = format!("{main}/.git/worktrees/{name}");
        self.file(&format!("{root}/.git"), &format!("gitdir: {registered}\n"))
            .file(&format!("{registered}/gitdir"), &format!("{root}/.git\n"))
            .file(&format!("{registered}/commondir"), "../..\n")
            .file(&format!("{registered}/HEAD"), "ref: refs/heads/side\n")
    }

    /// Adds a repository without a work tree.
    #[must_use]
    pub fn bare(self, root: &str) -> Self {
        self.dir(&format!("{root}/objects"))
            .dir(&format!("{root}/refs/heads"))
            .dir(&format!("{root}/hooks"))
            .file(&format!("{root}/HEAD"), "ref: refs/heads/main\n")
            .file(&format!("{root}/config"), "[core]\n\tbare = true\n")
    }

    /// Says what git says of a path of the work tree at `root`. `path` is relative to it.
    #[must_use]
    pub fn tracked(mut self, root: &str, path: &str, tracking: Tracking) -> Self {
        self.git.entry(root.into()).or_default().dirty.push((path.into(), tracking));
        self
    }

    /// Makes git refuse to say anything of a work tree: another owner, no git on PATH, a broken index.
    #[must_use]
    pub fn unreadable_by_git(mut self, root: &str) -> Self {
        self.git.remove(Path::new(root));
        self
    }

    fn put(&mut self, path: &Path, object: Object) {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            if !matches!(self.objects.get(parent), Some(Object::Directory(_))) {
                self.put(parent, Object::Directory(BTreeSet::new()));
            }
            if let Some(Object::Directory(names)) = self.objects.get_mut(parent) {
                names.insert(name.to_string_lossy().into_owned());
            }
        }
        let keep =
            matches!((self.objects.get(path), &object), (Some(Object::Directory(_)), Object::Directory(_)));
        if !keep {
            self.objects.insert(path.to_path_buf(), object);
        }
    }

    /// The path with every link in front of the last component followed, as the kernel does for lstat(2).
    fn follow_parents(&self, path: &Path) -> Option<PathBuf> {
        let mut budget = 40;
        let mut at = PathBuf::from("/");
        let mut todo: Vec<OsString> = components(path);
        todo.reverse();
        while let Some(name) = todo.pop() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&name);
            match self.objects.get(&next) {
                Some(Object::Link(target)) if !todo.is_empty() => {
                    budget -= 1;
                    if budget == 0 {
                        return None;
                    }
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    todo.extend(components(target).into_iter().rev());
                }
                _ => at = next,
            }
        }
        Some(at)
    }

    fn object(&self, path: &Path) -> Option<(&Object, PathBuf)> {
        let real = self.follow_parents(path)?;
        self.objects.get(&real).map(|object| (object, real))
    }
}

fn components(path: &Path) -> Vec<OsString> {
    let named = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    named.collect()
}

impl Object {
    fn kind(&self) -> Kind {
        match self {
            Self::Directory(_) => Kind::Directory,
            Self::File(_) => Kind::File,
            Self::Link(_) => Kind::Link,
            Self::BlockDevice => Kind::BlockDevice,
            Self::Special => Kind::Special,
        }
    }

    fn size(&self) -> u64 {
        if let Self::File(content) = self { content.len() as u64 } else { 0 }
    }
}

impl World for MemoryWorld {
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
        self.users.get(user.unwrap_or(&self.user)).cloned()
    }

    fn homes(&self) -> Vec<PathBuf> {
        self.users.values().cloned().collect()
    }

    fn look(&self, path: &Path) -> Look {
        match self.object(path) {
            Some((object, real)) => Look::Found(Meta {
                kind: object.kind(),
                size: object.size(),
                uid: self.owners.get(&real).copied().unwrap_or(self.uid),
                nlink: 1,
                is_open: self.open.contains(&real),
            }),
            None => Look::Absent,
        }
    }

    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        match self.object(path)?.0 {
            Object::Link(target) => Some(target.clone()),
            _ => None,
        }
    }

    fn read_dir(&self, path: &Path, limit: usize) -> Option<Vec<(OsString, Kind)>> {
        // A trailing component makes every link in `path` itself a parent to follow.
        let real = self.follow_parents(&path.join("."))?;
        let real = match self.objects.get(&real)? {
            Object::Link(_) => self.follow_parents(&real.join("x"))?.parent()?.to_path_buf(),
            _ => real,
        };
        let Object::Directory(names) = self.objects.get(&real)? else { return None };
        let entries = names.iter().take(limit).map(|name| {
            let kind = self.objects.get(&real.join(name)).map_or(Kind::Special, Object::kind);
            (OsString::from(name), kind)
        });
        Some(entries.collect())
    }

    fn read_file(&self, path: &Path, limit: usize) -> Option<Vec<u8>> {
        let mut path = path.to_path_buf();
        for _ in 0..40 {
            let (object, real) = self.object(&path)?;
            match object {
                Object::File(content) => return (content.len() <= limit).then(|| content.clone()),
                Object::Link(target) => path = real.parent()?.join(target),
                _ => return None,
            }
        }
        None
    }

    fn mounts(&self) -> Rc<[MountPoint]> {
        self.mounts.as_slice().into()
    }

    fn git_state(&self, root: &Path, below: &Path) -> Option<GitState> {
        let state = self.git.get(root)?;
        let below = below.to_string_lossy();
        let within = |path: &str| {
            below.is_empty()
                || path == below
                || path.strip_prefix(&*below).is_some_and(|rest| rest.starts_with('/'))
                || (path.ends_with('/') && format!("{below}/").starts_with(path))
        };
        let dirty = state.dirty.iter().filter(|(path, _)| within(path)).cloned().collect();
        Some(GitState { dirty, ..state.clone() })
    }

    fn which(&self, name: &str) -> Option<PathBuf> {
        let path = self.env.get("PATH")?;
        path.split(':').map(|dir| Path::new(dir).join(name)).find(|at| self.objects.contains_key(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> MemoryWorld {
        MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .file("/home/dev/proj/a.txt", "hello")
            .link("/home/dev/link", "proj")
            .link("/abs", "/home/dev/proj")
            .link("/loop", "/loop/x")
    }

    #[test]
    fn a_link_in_the_middle_is_followed_and_at_the_end_is_not() {
        let world = world();
        assert!(matches!(
            world.look(Path::new("/abs/a.txt")),
            Look::Found(Meta { kind: Kind::File, size: 5, .. })
        ));
        assert!(matches!(world.look(Path::new("/abs")), Look::Found(Meta { kind: Kind::Link, .. })));
        assert_eq!(world.look(Path::new("/abs/none")), Look::Absent);
    }

    #[test]
    fn a_directory_is_listed_through_a_link_and_a_loop_ends() {
        let world = world();
        let names = world.read_dir(Path::new("/home/dev/link"), 10).expect("a directory");
        assert_eq!(names, [(OsString::from("a.txt"), Kind::File)]);
        assert_eq!(world.read_dir(Path::new("/loop"), 10), None);
        assert_eq!(world.read_file(Path::new("/abs/a.txt"), 4), None, "larger than the limit");
    }

    #[test]
    fn git_state_is_told_for_the_part_that_is_asked() {
        let world = MemoryWorld::new(Platform::Linux)
            .work_tree("/p")
            .tracked("/p", "src/lib.rs", Tracking::Modified)
            .tracked("/p", "build/", Tracking::Ignored);
        let dirty =
            |below: &str| world.git_state(Path::new("/p"), Path::new(below)).expect("a work tree").dirty;
        assert_eq!(dirty("").len(), 2);
        assert_eq!(dirty("src"), [("src/lib.rs".into(), Tracking::Modified)]);
        assert_eq!(dirty("build/a.o"), [("build/".into(), Tracking::Ignored)]);
        assert_eq!(dirty("docs"), []);
    }
}
