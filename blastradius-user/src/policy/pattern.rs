//! Path patterns: `*`, `?`, `[…]` within a component, `**` across components.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// One component of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Matches itself.
    Literal(Box<OsStr>),
    /// Matches one component by wildcard.
    Wild(Box<str>),
    /// `**`: any number of components, none included.
    Deep,
}

/// An absolute path pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
    /// It ended with `/**`: what is below the match is meant, not the match itself.
    below_only: bool,
    fold: bool,
}

impl Pattern {
    /// Reads an absolute pattern, in which `.`, `..` and doubled slashes are already gone.
    ///
    /// `fold`: letters are compared without case.
    pub fn new(text: &str, fold: bool) -> Self {
        Self::below(Path::new("/"), text, fold)
    }

    /// Reads a pattern below a directory whose name is meant as it is, whatever characters it holds.
    pub fn below(dir: &Path, text: &str, fold: bool) -> Self {
        let dir = dir.components().filter_map(|component| match component {
            Component::Normal(name) => Some(Part::Literal(name.into())),
            _ => None,
        });
        let mut names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
        let mut below_only = false;
        while names.last() == Some(&"**") {
            names.pop();
            below_only = true;
        }
        let parts = names.into_iter().map(|name| match name {
            "**" => Part::Deep,
            name if name.contains(['*', '?', '[']) => Part::Wild(name.into()),
            name => Part::Literal(OsStr::new(name).into()),
        });
        Self { parts: dir.chain(parts).collect(), below_only, fold }
    }

    /// Whether what lies below the match is meant, and not the match itself (`D/**`).
    pub fn is_below_only(&self) -> bool {
        self.below_only
    }

    /// The path that the pattern names, if it holds no wildcard. `D/**` names D.
    pub fn literal(&self) -> Option<PathBuf> {
        let prefix = self.literal_prefix();
        (super::paths::depth(&prefix) == self.parts.len()).then_some(prefix)
    }

    /// The path in front of the first component that holds a wildcard.
    pub fn literal_prefix(&self) -> PathBuf {
        let mut path = PathBuf::from("/");
        for part in &self.parts {
            match part {
                Part::Literal(name) => path.push(&**name),
                Part::Wild(_) | Part::Deep => break,
            }
        }
        path
    }

    /// Whether `**` stands in the middle: then no finite number of marks can say what it means.
    pub fn is_deep(&self) -> bool {
        self.parts.contains(&Part::Deep)
    }

    /// Whether the pattern has more components than this.
    pub fn is_longer_than(&self, depth: usize) -> bool {
        self.parts.len() > depth
    }

    /// How many components of `path` the pattern takes to match: the match is that ancestor, or the path itself. The
    /// shortest match counts, since everything below it is meant as well.
    pub fn match_depth(&self, path: &Path) -> Option<usize> {
        // A path may have a million components; without `**` no more of them count than the pattern has itself.
        let counted = if self.is_deep() { usize::MAX } else { self.parts.len() };
        let names: Vec<&OsStr> = path
            .components()
            .filter_map(|component| match component {
                Component::Normal(name) => Some(name),
                _ => None,
            })
            .take(counted)
            .collect();
        shortest(&self.parts, &names, 0, self.fold, &mut 4096)
    }

    /// Whether `path` could hold a match somewhere below it, or be one.
    pub fn may_match_at_or_below(&self, path: &Path) -> bool {
        let prefix = self.literal_prefix();
        if self.fold {
            let (prefix, path) =
                (prefix.as_os_str().to_ascii_lowercase(), path.as_os_str().to_ascii_lowercase());
            return Path::new(&prefix).starts_with(&path) || Path::new(&path).starts_with(&prefix);
        }
        prefix.starts_with(path) || path.starts_with(&prefix)
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for part in &self.parts {
            match part {
                Part::Literal(name) => write!(out, "/{}", name.to_string_lossy())?,
                Part::Wild(name) => write!(out, "/{name}")?,
                Part::Deep => write!(out, "/**")?,
            }
        }
        if self.below_only { write!(out, "/**") } else { Ok(()) }
    }
}

/// `budget` bounds the work that several `**` can make.
fn shortest(parts: &[Part], names: &[&OsStr], at: usize, fold: bool, budget: &mut u32) -> Option<usize> {
    let Some((part, rest)) = parts.split_first() else { return Some(at) };
    *budget = budget.checked_sub(1)?;
    match part {
        Part::Literal(name) => {
            let next = names.get(at)?;
            let same = if fold { name.eq_ignore_ascii_case(next) } else { **name == **next };
            same.then(|| shortest(rest, names, at + 1, fold, budget)).flatten()
        }
        Part::Wild(wild) => {
            let next = names.get(at)?;
            wildcard(wild.as_bytes(), next.as_bytes(), fold)
                .then(|| shortest(rest, names, at + 1, fold, budget))
                .flatten()
        }
        Part::Deep => (at..=names.len()).filter_map(|from| shortest(rest, names, from, fold, budget)).min(),
    }
}

/// Whether the wildcard matches the whole text. `*` takes any characters, `/` included: a caller that splits at
/// slashes hands in single components. Time is at most the product of both lengths.
pub fn wildcard(pattern: &[u8], text: &[u8], fold: bool) -> bool {
    let (mut at, mut to) = (0, 0);
    // Where to resume after the last `*`: the pattern behind it, and the text that it has not yet taken.
    let mut resume: Option<(usize, usize)> = None;
    while to < text.len() {
        let step = match pattern.get(at) {
            Some(b'*') => {
                resume = Some((at + 1, to));
                at += 1;
                continue;
            }
            Some(_) => one(&pattern[at..], text[to], fold),
            None => None,
        };
        if let Some(width) = step {
            at += width;
            to += 1;
        } else if let Some((behind, taken)) = resume {
            resume = Some((behind, taken + 1));
            at = behind;
            to = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Matches one byte of text with the first element of `pattern`; the element's width if it fits.
fn one(pattern: &[u8], byte: u8, fold: bool) -> Option<usize> {
    let same = |left: u8, right: u8| if fold { left.eq_ignore_ascii_case(&right) } else { left == right };
    match pattern {
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => same(*escaped, byte).then_some(2),
        [b'[', ..] => match set(pattern, byte, fold) {
            Some((width, true)) => Some(width),
            Some((_, false)) => None,
            // An opening bracket that is never closed is an ordinary character.
            None => (byte == b'[').then_some(1),
        },
        [first, ..] => same(*first, byte).then_some(1),
        [] => None,
    }
}

/// Reads `[…]`: its width, and whether `byte` is in it.
fn set(pattern: &[u8], byte: u8, fold: bool) -> Option<(usize, bool)> {
    let mut at = 1;
    let negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    if negated {
        at += 1;
    }
    let start = at;
    let within = |low: u8, high: u8| {
        (low..=high).contains(&byte)
            || fold
                && ((low..=high).contains(&byte.to_ascii_lowercase())
                    || (low..=high).contains(&byte.to_ascii_uppercase()))
    };
    let mut found = false;
    loop {
        match pattern[at..] {
            [] => return None,
            [b']', ..] if at > start => return Some((at + 1, found != negated)),
            [low, b'-', high, ..] if high != b']' => {
                found |= within(low, high);
                at += 3;
            }
            [low, ..] => {
                found |= within(low, low);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(pattern: &str, path: &str) -> Option<usize> {
        Pattern::new(pattern, false).match_depth(Path::new(path))
    }

    #[test]
    fn a_literal_pattern_takes_what_is_below_it_and_nothing_beside_it() {
        assert_eq!(depth("/a/b", "/a/b"), Some(2));
        assert_eq!(depth("/a/b", "/a/b/c/d"), Some(2));
        assert_eq!(depth("/a/b", "/a/bc"), None);
        assert_eq!(depth("/a/b", "/a"), None);
    }

    #[test]
    fn wildcards_stay_within_a_component_and_double_stars_do_not() {
        assert_eq!(depth("/a/*/c", "/a/b/c/d"), Some(3));
        assert_eq!(depth("/a/*/c", "/a/b/x/c"), None);
        assert_eq!(depth("/a/**/c", "/a/b/x/c"), Some(4));
        assert_eq!(depth("/a/**/c", "/a/c"), Some(2));
        assert_eq!(depth("/**/*.o", "/a/b.o"), Some(2));
    }

    #[test]
    fn a_trailing_double_star_means_what_is_below() {
        let pattern = Pattern::new("/tmp/**", false);
        assert!(pattern.is_below_only());
        assert_eq!(pattern.literal(), Some("/tmp".into()));
        assert!(!Pattern::new("/tmp", false).is_below_only());
        assert_eq!(Pattern::new("/tmp/*", false).literal(), None);
    }

    #[test]
    fn sets_ranges_and_escapes_match_as_in_the_shell() {
        for (pattern, text, expected) in [
            ("*.log", "a.log", true),
            ("*.log", "a.logs", false),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[", "[", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("*a*b*c", "xxaxxbxxc", true),
            ("*a*b*c", "xxaxxcxxb", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(wildcard(pattern.as_bytes(), text.as_bytes(), false), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn many_stars_end_in_time() {
        let pattern = "*a".repeat(200);
        assert!(!wildcard(pattern.as_bytes(), "a".repeat(199).as_bytes(), false));
        let deep = Pattern::new(&"/**/a".repeat(30), false);
        let path = format!("/{}b", "a/".repeat(60));
        // Out of budget is "no match", which never widens an allow; deny patterns are matched by literal prefix too.
        let _ = deep.match_depth(Path::new(&path));
    }
}
