//! Sets of places of the file system, asked by what lies above or below a path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Absolute paths. What is asked costs what the deepest of them has components, however many there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    paths: BTreeSet<PathBuf>,
    /// How many components the deepest has.
    deepest: usize,
}

impl Places {
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// How many components the deepest of them has.
    pub(crate) fn deepest(&self) -> usize {
        self.deepest
    }

    pub(crate) fn insert(&mut self, path: PathBuf) {
        self.deepest = self.deepest.max(path.components().count());
        self.paths.insert(path);
    }

    /// Adds all of another set.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.deepest = self.deepest.max(other.deepest);
        for path in &other.paths {
            if !self.paths.contains(path) {
                self.paths.insert(path.clone());
            }
        }
    }

    /// Whether the path is one of them or lies below one.
    pub(crate) fn hold(&self, path: &Path) -> bool {
        !self.is_empty() && prefixes(path, self.deepest).any(|above| self.paths.contains(&above))
    }

    /// Whether the path lies below one of them.
    pub(crate) fn hold_below(&self, path: &Path) -> bool {
        !self.is_empty()
            && prefixes(path, self.deepest).any(|above| above != path && self.paths.contains(&above))
    }

    /// Whether one of them is the path or lies below it.
    pub(crate) fn lie_in(&self, path: &Path) -> bool {
        // Paths are ordered by their components: what lies below one follows it.
        self.paths.range(path.to_path_buf()..).next().is_some_and(|next| next.starts_with(path))
    }

    /// Removes the path and what is above it.
    pub(crate) fn forget_above(&mut self, path: &Path) {
        for above in prefixes(path, self.deepest) {
            self.paths.remove(&above);
        }
    }
}

/// The path's own ancestors and itself, from the root on, up to so many components.
pub(crate) fn prefixes(path: &Path, deepest: usize) -> impl Iterator<Item = PathBuf> {
    let mut above = PathBuf::new();
    path.components().take(deepest).map(move |component| {
        above.push(component);
        above.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(paths: &[&str]) -> Places {
        let mut places = Places::default();
        for path in paths {
            places.insert(path.into());
        }
        places
    }

    #[test]
    fn what_lies_above_and_below_is_found_by_components() {
        let places = places(&["/a/b", "/a/bc", "/x"]);
        for path in ["/a/b", "/a/b/c", "/x/y/z", "/a/bc"] {
            assert!(places.hold(Path::new(path)), "{path}");
        }
        for path in ["/", "/a", "/a/bcd", "/xy", "/b"] {
            assert!(!places.hold(Path::new(path)), "{path}");
        }
        assert!(places.hold_below(Path::new("/a/b/c")) && !places.hold_below(Path::new("/a/b")));
        assert!(places.lie_in(Path::new("/a")) && places.lie_in(Path::new("/a/b")));
        assert!(places.lie_in(Path::new("/")) && !places.lie_in(Path::new("/a/b/c")));
        assert!(!places.lie_in(Path::new("/a/bb")));
    }

    #[test]
    fn forgetting_leaves_what_lies_beside() {
        let mut places = places(&["/a", "/a/b", "/a/c"]);
        places.forget_above(Path::new("/a/b/d"));
        assert!(!places.hold(Path::new("/a/b")) && places.hold(Path::new("/a/c")));
        assert_eq!(places.len(), 1);
    }
}
