//! Lexical work on paths: no look at any file system.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::shell::world::Platform;

/// The number of components below `/`. `/` has none.
pub fn depth(path: &Path) -> usize {
    path.components().filter(|component| matches!(component, Component::Normal(_))).count()
}

/// Removes `.`, doubled slashes and, without looking at links, `..`.
pub fn normalise(path: &Path) -> PathBuf {
    let mut normal = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::ParentDir => {
                normal.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    normal
}

/// Prefixes under which macOS shows the same tree a second time.
const MACOS_SECOND_NAMES: &[(&str, &str)] = &[
    ("/System/Volumes/Data", "/"),
    ("/private/tmp", "/tmp"),
    ("/private/var", "/var"),
    ("/private/etc", "/etc"),
];

/// The one name of a canonical path: macOS shows `/tmp`, `/var` and `/etc` below `/private` as well, and the data
/// volume below `/System/Volumes/Data`.
pub fn one_name(platform: Platform, path: PathBuf) -> PathBuf {
    if platform != Platform::MacOs {
        return path;
    }
    let mut path = path;
    for (second, first) in MACOS_SECOND_NAMES {
        let second = Path::new(second);
        if starts_with(platform, &path, second) {
            let rest = path.components().skip(second.components().count());
            path = Path::new(first).components().chain(rest).collect();
        }
    }
    path
}

/// The form in which two names of one object compare equal: macOS volumes ignore case.
pub fn folded(platform: Platform, path: &Path) -> Cow<'_, Path> {
    if platform == Platform::MacOs && path.as_os_str().as_bytes().iter().any(u8::is_ascii_uppercase) {
        Cow::Owned(PathBuf::from(path.as_os_str().to_ascii_lowercase()))
    } else {
        Cow::Borrowed(path)
    }
}

/// Whether two canonical paths name one object.
pub fn same(platform: Platform, left: &Path, right: &Path) -> bool {
    match platform {
        Platform::Linux => left == right,
        Platform::MacOs => folded(platform, left) == folded(platform, right),
    }
}

/// Whether `path` is `dir` or lies below it. Both are normalised: compared as bytes, which is what a table of floor objects
/// asks for most.
pub fn starts_with(platform: Platform, path: &Path, dir: &Path) -> bool {
    match platform {
        Platform::Linux => {
            let (path, dir) = (path.as_os_str().as_bytes(), dir.as_os_str().as_bytes());
            let rest = path.strip_prefix(dir);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || dir == b"/")
        }
        Platform::MacOs => folded(platform, path).starts_with(folded(platform, dir)),
    }
}

/// Whether `path` lies below `dir` and is not `dir` itself.
pub fn is_below(platform: Platform, path: &Path, dir: &Path) -> bool {
    starts_with(platform, path, dir) && !same(platform, path, dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_components_below_the_root() {
        assert_eq!(depth(Path::new("/")), 0);
        assert_eq!(depth(Path::new("/usr/lib")), 2);
    }

    #[test]
    fn dots_and_doubled_slashes_go() {
        assert_eq!(normalise(Path::new("/a/./b//../c")), Path::new("/a/c"));
        assert_eq!(normalise(Path::new("/../..")), Path::new("/"));
    }

    #[test]
    fn macos_paths_have_one_name_and_linux_paths_are_left_alone() {
        let one = |path: &str| one_name(Platform::MacOs, path.into());
        assert_eq!(one("/private/tmp/x"), Path::new("/tmp/x"));
        assert_eq!(one("/System/Volumes/Data/Users/tim"), Path::new("/Users/tim"));
        assert_eq!(one("/System/Volumes/Data/private/var/x"), Path::new("/var/x"));
        assert_eq!(one_name(Platform::Linux, "/private/tmp".into()), Path::new("/private/tmp"));
    }

    #[test]
    fn macos_ignores_case_and_linux_does_not() {
        assert!(same(Platform::MacOs, Path::new("/users/TIM"), Path::new("/Users/tim")));
        assert!(!same(Platform::Linux, Path::new("/users"), Path::new("/Users")));
        assert!(is_below(Platform::MacOs, Path::new("/users/tim"), Path::new("/Users")));
        assert!(!is_below(Platform::Linux, Path::new("/a"), Path::new("/a")));
    }
}
