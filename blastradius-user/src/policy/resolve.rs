//! Operand → canonical path, with links treated as the program treats them.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::shell::world::{Kind, Look, Meta, World};

use super::paths::one_name;

/// As many links as Linux follows before it says ELOOP.
const LINK_LIMIT: usize = 40;

/// What happens to a link in the last component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// The link itself is meant. A trailing slash follows it all the same.
    Kept,
    /// What it points to is meant.
    Followed,
}

/// Looks at one path. No system resolves a path with more components: Linux takes 4,096 bytes of it.
const LOOKS: usize = 4096;

/// A link that was followed on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Where it lies.
    pub link: PathBuf,
    /// What it holds.
    pub target: PathBuf,
}

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The canonical absolute path; what lies below the first absent component is taken as written.
    pub path: PathBuf,
    /// The links that were followed.
    pub hops: Vec<Hop>,
    /// The object, if there is one.
    pub meta: Option<Meta>,
    /// The directory that should hold it does not exist either.
    pub parent_absent: bool,
    /// Links lead in a circle, or something on the way cannot be looked at.
    pub doubtful: bool,
}

impl Resolved {
    /// Whether it is a directory now.
    pub fn is_dir(&self) -> bool {
        self.meta.is_some_and(|meta| meta.kind == Kind::Directory)
    }
}

/// Resolves `text` read in `base` (absolute).
pub fn resolve(world: &dyn World, base: &Path, text: &Path, last: Last) -> Resolved {
    Walk::new(world, PathBuf::from("/")).run(&base.join(text), last)
}

/// As [`resolve`], for paths that lie below `real`, which is known to be canonical and to exist: saves the looks at its
/// components.
pub fn resolve_below(world: &dyn World, real: &Path, base: &Path, text: &Path, last: Last) -> Resolved {
    let whole = base.join(text);
    let Ok(rest) = whole.strip_prefix(real) else { return resolve(world, base, text, last) };
    if rest.as_os_str().is_empty() || rest.components().next() == Some(Component::ParentDir) {
        return resolve(world, base, text, last);
    }
    let mut rest = rest.as_os_str().to_owned();
    if ends_with_slash(&whole) {
        rest.push("/");
    }
    Walk::new(world, real.to_path_buf()).run(Path::new(&rest), last)
}

struct Walk<'a> {
    world: &'a dyn World,
    at: PathBuf,
    hops: Vec<Hop>,
    meta: Option<Meta>,
    /// How many of the last components do not exist.
    absent: usize,
    looks: usize,
    doubtful: bool,
}

impl<'a> Walk<'a> {
    fn new(world: &'a dyn World, at: PathBuf) -> Self {
        Self { world, at, hops: Vec::new(), meta: None, absent: 0, looks: 0, doubtful: false }
    }

    fn run(mut self, path: &Path, last: Last) -> Resolved {
        let keep_last = last == Last::Kept && !ends_with_slash(path);
        let mut todo: Vec<Name<'_>> = names(path).map(Cow::Borrowed).collect();
        todo.reverse();
        let mut looked = false;
        while let Some(name) = todo.pop() {
            looked = true;
            if *name == *".." {
                self.up();
                continue;
            }
            self.at.push(&*name);
            if self.absent > 0 {
                self.absent += 1;
            } else {
                self.enter(keep_last && todo.is_empty(), &mut todo);
            }
            // A process's root that is not to be seen from here: the magic link cannot be read, its meaning is known.
            if self.absent > 0 && *name == *"root" && is_process_root(&self.at) {
                self.absent = 0;
                self.at = PathBuf::from("/");
            }
        }
        // `..` at the end, or nothing at all: the object has not been looked at by its own name.
        if self.meta.is_none() && self.absent == 0 && !self.doubtful || !looked {
            self.look();
        }
        Resolved {
            path: one_name(self.world.platform(), self.at),
            hops: self.hops,
            meta: self.meta,
            parent_absent: self.absent > 1,
            doubtful: self.doubtful,
        }
    }

    fn up(&mut self) {
        self.meta = None;
        self.absent = self.absent.saturating_sub(1);
        self.at.pop();
    }

    fn look(&mut self) {
        self.looks += 1;
        if self.looks > LOOKS {
            // Taken as written from here on.
            (self.absent, self.doubtful) = (1, true);
            return;
        }
        match self.world.look(&self.at) {
            Look::Found(meta) => self.meta = Some(meta),
            Look::Absent => self.absent = 1,
            Look::Unreadable => self.doubtful = true,
        }
    }

    /// Looks at the component that was just appended, and follows it if it is a link that is not to be kept.
    fn enter(&mut self, keep: bool, todo: &mut Vec<Name<'_>>) {
        self.meta = None;
        self.look();
        let is_link = self.meta.is_some_and(|meta| meta.kind == Kind::Link);
        if is_link && !keep {
            self.follow(todo);
        }
    }

    fn follow(&mut self, todo: &mut Vec<Name<'_>>) {
        self.meta = None;
        let target = self.world.read_link(&self.at);
        let (Some(target), true) = (target, self.hops.len() < LINK_LIMIT) else {
            self.doubtful = true;
            return;
        };
        self.hops.push(Hop { link: self.at.clone(), target: target.clone() });
        self.at.pop();
        if target.is_absolute() {
            self.at = PathBuf::from("/");
        }
        let from = todo.len();
        todo.extend(names(&target).map(|name| Cow::Owned(name.to_owned())));
        todo[from..].reverse();
    }
}

/// A component that is still to be entered: of the operand, which may have a million, or of a link's target.
type Name<'p> = Cow<'p, OsStr>;

/// The components of a path that lead anywhere.
fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Whether the last component is followed by a slash, or is `.`: `link/` and `link/.` mean what the link points to.
fn ends_with_slash(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

/// `/proc/self/root`, `/proc/1/root`: a name of `/`.
fn is_process_root(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix("/proc") else { return false };
    let mut names = below.iter();
    let process = names.next().is_some_and(|name| {
        name == "self" || name == "thread-self" || name.as_bytes().iter().all(u8::is_ascii_digit)
    });
    process && names.next().is_some_and(|name| name == "root") && names.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::world::Platform;
    use crate::shell::world::memory::MemoryWorld;

    fn world() -> MemoryWorld {
        MemoryWorld::new(Platform::Linux)
            .dir("/home/dev/proj/build")
            .file("/home/dev/proj/a", "")
            .link("/home/dev/proj/link", "/etc")
            .link("/home/dev/proj/near", "build")
            .link("/home/dev/proj/loop", "loop")
            .dir("/etc/ssh")
    }

    fn path(text: &str, last: Last) -> PathBuf {
        resolve(&world(), Path::new("/home/dev/proj"), Path::new(text), last).path
    }

    #[test]
    fn relative_and_absolute_operands_become_canonical() {
        assert_eq!(path("build/../a", Last::Kept), Path::new("/home/dev/proj/a"));
        assert_eq!(path("./build/../../", Last::Kept), Path::new("/home/dev"));
        assert_eq!(path("/tmp/x/../../etc", Last::Kept), Path::new("/etc"));
        assert_eq!(path(".", Last::Kept), Path::new("/home/dev/proj"));
        assert_eq!(path("../../../../..", Last::Kept), Path::new("/"));
    }

    #[test]
    fn a_link_is_kept_and_a_trailing_slash_or_a_following_program_follows_it() {
        assert_eq!(path("link", Last::Kept), Path::new("/home/dev/proj/link"));
        assert_eq!(path("link/", Last::Kept), Path::new("/etc"));
        assert_eq!(path("link/.", Last::Kept), Path::new("/etc"));
        assert_eq!(path("link", Last::Followed), Path::new("/etc"));
        assert_eq!(path("link/ssh", Last::Kept), Path::new("/etc/ssh"));
        assert_eq!(path("near/../a", Last::Kept), Path::new("/home/dev/proj/a"));
    }

    #[test]
    fn followed_links_are_reported_and_a_circle_is_doubtful() {
        let followed = resolve(&world(), Path::new("/home/dev/proj"), Path::new("link/ssh"), Last::Kept);
        assert_eq!(followed.hops, [Hop { link: "/home/dev/proj/link".into(), target: "/etc".into() }]);
        assert!(!followed.doubtful);
        assert!(resolve(&world(), Path::new("/home/dev/proj"), Path::new("loop/x"), Last::Kept).doubtful);
    }

    #[test]
    fn absent_components_are_taken_as_written() {
        let absent = resolve(&world(), Path::new("/home/dev/proj"), Path::new("no/such/x"), Last::Kept);
        assert_eq!(absent.path, Path::new("/home/dev/proj/no/such/x"));
        assert!(absent.parent_absent && absent.meta.is_none());
        let new = resolve(&world(), Path::new("/home/dev/proj"), Path::new("new"), Last::Kept);
        assert!(!new.parent_absent && new.meta.is_none());
        let back = resolve(&world(), Path::new("/home/dev/proj"), Path::new("no/../a"), Last::Kept);
        assert_eq!(back.path, Path::new("/home/dev/proj/a"));
        assert!(back.meta.is_some());
    }

    #[test]
    fn the_short_way_below_a_known_directory_gives_the_same() {
        let world = world();
        let real = Path::new("/home/dev/proj");
        for text in
            ["build", "link", "link/", "link/ssh", "..", "../x", ".", "no/such", "/etc/ssh", "build/../a"]
        {
            for last in [Last::Kept, Last::Followed] {
                let long = resolve(&world, real, Path::new(text), last);
                let short = resolve_below(&world, real, real, Path::new(text), last);
                assert_eq!(short, long, "{text}");
            }
        }
    }

    #[test]
    fn a_path_that_no_system_takes_is_not_looked_at_to_its_end() {
        let long = |part: &str| {
            resolve(
                &world(),
                Path::new("/"),
                Path::new(&("/etc".to_owned() + &part.repeat(9_000))),
                Last::Kept,
            )
        };
        for part in ["/../etc", "/x/..", "/ssh/.."] {
            let found = long(part);
            assert_eq!((&*found.path, found.doubtful), (Path::new("/etc"), true), "{part}");
        }
    }

    #[test]
    fn a_process_root_is_the_root() {
        assert_eq!(path("/proc/self/root/etc/ssh", Last::Kept), Path::new("/etc/ssh"));
    }
}
