//! The zones as marks on paths: the one table that the judge asks and that both back ends are compiled from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use blastradius_common::Zone;

use crate::shell::world::Platform;

use super::paths::{depth, folded};
use super::pattern::Pattern;

/// The line of policy that a zone comes from, for people.
pub type Origin = Cow<'static, str>;

/// A zone and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The zone.
    pub zone: Zone,
    /// The line of policy that says so.
    pub origin: Origin,
}

/// What is said of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Of the object itself.
    pub own: Option<Stated>,
    /// Of what lies below it.
    pub below: Option<Stated>,
    /// Of entries whose name begins with a dot, and what is below them.
    pub dots: Option<Stated>,
    /// The zone belongs to the name, whatever object bears it.
    pub by_name: bool,
}

/// A zone for what a pattern with wildcards matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternMark {
    /// Which paths.
    pub pattern: Pattern,
    /// Their zone.
    pub stated: Stated,
}

/// All marks of one policy. Paths are canonical.
#[derive(Clone, Debug)]
pub struct Marks {
    platform: Platform,
    entries: HashMap<PathBuf, Entry>,
    patterns: Vec<PatternMark>,
    /// How many components the deepest mark has: nothing deeper need be looked up, however long a path is.
    deepest: usize,
}

/// What the marks say of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The zone and its origin.
    pub stated: Stated,
    /// How many components below `/` the deciding mark lies.
    pub depth: usize,
    /// The mark is on the object itself.
    pub own: bool,
}

impl Marks {
    /// No marks yet: everything is [`Zone::Other`].
    pub fn new(platform: Platform) -> Self {
        Self { platform, entries: HashMap::new(), patterns: Vec::new(), deepest: 0 }
    }

    /// Says what the object at `path` itself is. The stricter of two statements stays.
    pub fn own(&mut self, path: &Path, zone: Zone, origin: impl Into<Origin>) {
        let own = &mut self.entry(path).own;
        if own.as_ref().is_none_or(|stated| rank(zone) < rank(stated.zone)) {
            *own = Some(Stated { zone, origin: origin.into() });
        }
    }

    /// Says what lies below `path`. A later statement replaces an earlier one, except a denied one.
    pub fn below(&mut self, path: &Path, zone: Zone, origin: impl Into<Origin>) {
        let below = &mut self.entry(path).below;
        if below.as_ref().is_none_or(|stated| stated.zone != Zone::Denied) {
            *below = Some(Stated { zone, origin: origin.into() });
        }
    }

    /// Says what the dot entries of `path` are.
    pub fn dots(&mut self, path: &Path, zone: Zone, origin: impl Into<Origin>) {
        self.entry(path).dots = Some(Stated { zone, origin: origin.into() });
    }

    /// Says what bears the name `path`, now or later, and what lies below it.
    pub fn name(&mut self, path: &Path, zone: Zone, origin: impl Into<Origin>) {
        let origin = origin.into();
        self.own(path, zone, origin.clone());
        self.below(path, zone, origin);
        self.entry(path).by_name = true;
    }

    /// Says what a pattern with wildcards matches.
    pub fn pattern(&mut self, mark: PatternMark) {
        self.patterns.push(mark);
    }

    /// Marks every ancestor of `path` that is not yet a stricter object as the root of something.
    pub fn ancestors(&mut self, path: &Path, origin: &Origin) {
        for ancestor in path.ancestors().skip(1) {
            self.own(ancestor, Zone::Root, origin.clone());
        }
    }

    /// All entries, unsorted. Paths are folded on macOS.
    pub fn entries(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_path(), entry))
    }

    /// All pattern marks.
    pub fn patterns(&self) -> &[PatternMark] {
        &self.patterns
    }

    /// What is said of exactly this path.
    pub fn at(&self, path: &Path) -> Option<&Entry> {
        self.entries.get(&*folded(self.platform, path))
    }

    /// The zone of a canonical path: the nearest mark decides, but a denied one anywhere above wins, and inside history
    /// and the guard's own files nothing milder is heard.
    pub fn zone(&self, path: &Path) -> Option<Answer> {
        let path = folded(self.platform, path);
        let by_mark = self.nearest_entry(&path);
        let by_pattern = self.nearest_pattern(&path);
        match (by_mark, by_pattern) {
            (Some(mark), Some(pattern)) => Some(nearer(mark, pattern)),
            (mark, pattern) => mark.or(pattern),
        }
    }

    fn entry(&mut self, path: &Path) -> &mut Entry {
        self.deepest = self.deepest.max(depth(path));
        self.entries.entry(folded(self.platform, path).into_owned()).or_default()
    }

    fn nearest_entry(&self, path: &Path) -> Option<Answer> {
        let mut nearest: Option<Answer> = None;
        let mut child: Option<&Path> = None;
        let total = depth(path);
        for (up, ancestor) in path.ancestors().enumerate() {
            if total - up > self.deepest {
                child = Some(ancestor);
                continue;
            }
            let stated = self.entries.get(ancestor).and_then(|entry| match child {
                None => entry.own.as_ref(),
                Some(child) if begins_with_dot(child) => entry.dots.as_ref().or(entry.below.as_ref()),
                Some(_) => entry.below.as_ref(),
            });
            child = Some(ancestor);
            let Some(stated) = stated else { continue };
            if nearest.as_ref().is_none_or(|near| precedence(stated.zone) > precedence(near.stated.zone)) {
                nearest = Some(Answer { stated: stated.clone(), depth: total - up, own: up == 0 });
                if stated.zone == Zone::Denied {
                    break;
                }
            }
        }
        nearest
    }

    fn nearest_pattern(&self, path: &Path) -> Option<Answer> {
        let total = depth(path);
        let matching = self.patterns.iter().filter_map(|mark| {
            let depth = mark.pattern.match_depth(path)?;
            let own = depth == total;
            if own && mark.pattern.is_below_only() {
                // `D/**` says nothing of D, except that something of note lies in it.
                let stated = Stated { zone: Zone::Root, origin: mark.stated.origin.clone() };
                return Some(Answer { stated, depth, own });
            }
            Some(Answer { stated: mark.stated.clone(), depth, own })
        });
        matching.reduce(nearer)
    }
}

/// Of two answers for one path: what overrules wins, then the deeper mark, then the stricter zone.
fn nearer(left: Answer, right: Answer) -> Answer {
    let key = |answer: &Answer| {
        let zone = answer.stated.zone;
        (precedence(zone), answer.depth, std::cmp::Reverse(rank(zone)))
    };
    if key(&right) > key(&left) { right } else { left }
}

/// What is said higher up and overrules a nearer mark: no line allows anything inside history or the guard's own files.
fn precedence(zone: Zone) -> u8 {
    match zone {
        Zone::Denied => 4,
        Zone::Floor => 3,
        Zone::Own => 2,
        Zone::History => 1,
        _ => 0,
    }
}

/// Whether a zone takes all that lies in it, whatever is said of a part: nothing but a stricter word holds there.
pub fn is_absorbing(zone: Zone) -> bool {
    matches!(zone, Zone::Own | Zone::History)
}

/// Which of two statements about one object stays: the lower.
fn rank(zone: Zone) -> u8 {
    match zone {
        Zone::Floor => 0,
        Zone::Own => 1,
        Zone::Denied => 2,
        Zone::History => 3,
        Zone::Root => 4,
        _ => 5,
    }
}

fn begins_with_dot(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks() -> Marks {
        let mut marks = Marks::new(Platform::Linux);
        marks.own(Path::new("/"), Zone::Floor, "/");
        marks.below(Path::new("/"), Zone::Other, "/");
        marks.own(Path::new("/home/dev"), Zone::Floor, "home");
        marks.below(Path::new("/home/dev"), Zone::Personal, "home");
        marks.dots(Path::new("/home/dev"), Zone::Config, "home");
        marks.below(Path::new("/home/dev/p"), Zone::Scope, "scope");
        marks
    }

    fn zone(marks: &Marks, path: &str) -> Zone {
        marks.zone(Path::new(path)).expect("marked").stated.zone
    }

    #[test]
    fn the_nearest_mark_decides() {
        let marks = marks();
        assert_eq!(zone(&marks, "/srv/x"), Zone::Other);
        assert_eq!(zone(&marks, "/home/dev"), Zone::Floor);
        assert_eq!(zone(&marks, "/home/dev/x"), Zone::Personal);
        assert_eq!(zone(&marks, "/home/dev/.ssh/id"), Zone::Config);
        assert_eq!(zone(&marks, "/home/dev/p/.ssh"), Zone::Scope);
        assert_eq!(zone(&marks, "/home/dev/p"), Zone::Personal);
    }

    #[test]
    fn denied_above_wins_over_anything_nearer() {
        let mut marks = marks();
        marks.name(Path::new("/home/dev/p/secret"), Zone::Denied, "deny");
        marks.below(Path::new("/home/dev/p/secret/out"), Zone::Scope, "allow");
        assert_eq!(zone(&marks, "/home/dev/p/secret/out/x"), Zone::Denied);
        assert_eq!(zone(&marks, "/home/dev/p/secrets"), Zone::Scope);
    }

    #[test]
    fn a_floor_object_stays_one_whatever_is_said_later() {
        let mut marks = marks();
        marks.own(Path::new("/home/dev"), Zone::Scope, "allow");
        marks.ancestors(Path::new("/home/dev/p"), &"scope".into());
        assert_eq!(zone(&marks, "/home/dev"), Zone::Floor);
        assert_eq!(zone(&marks, "/home"), Zone::Root);
    }

    #[test]
    fn patterns_compete_with_marks_by_depth() {
        let mut marks = marks();
        let stated = |zone| Stated { zone, origin: "line".into() };
        marks.pattern(PatternMark {
            pattern: Pattern::new("/home/dev/*/out/**", false),
            stated: stated(Zone::Scope),
        });
        marks.pattern(PatternMark {
            pattern: Pattern::new("/home/dev/p/*.key", false),
            stated: stated(Zone::Denied),
        });
        assert_eq!(zone(&marks, "/home/dev/q/out/x"), Zone::Scope);
        assert_eq!(zone(&marks, "/home/dev/q/out"), Zone::Root);
        assert_eq!(zone(&marks, "/home/dev/q/x"), Zone::Personal);
        assert_eq!(zone(&marks, "/home/dev/p/a.key"), Zone::Denied);
        assert_eq!(zone(&marks, "/home/dev/p/a.keys"), Zone::Scope);
    }
}
