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
        self.shortest(&names)
    }

    /// Whether the first component behind the literal ones takes any name: `D/*`, `D/?*`, `D/[!x]*`, `D/**/*`, `D/.*`.
    pub fn takes_any_entry(&self) -> bool {
        let dir = self.literal_prefix();
        let whole = super::paths::depth(&dir) + 1;
        ["qZ7\u{1}", ".qZ7\u{1}"].iter().any(|name| self.match_depth(&dir.join(name)) == Some(whole))
    }

    /// The fewest names that the parts take, one after the other. Work is the product of both, however many `**` there are.
    fn shortest(&self, names: &[&OsStr]) -> Option<usize> {
        // After how many names the parts read so far can be at their end.
        let mut ends = vec![false; names.len() + 1];
        ends[0] = true;
        for part in &self.parts {
            let mut next = vec![false; names.len() + 1];
            match part {
                Part::Deep => {
                    let mut open = false;
                    for (end, from) in next.iter_mut().zip(&ends) {
                        open |= from;
                        *end = open;
                    }
                }
                Part::Literal(_) | Part::Wild(_) => {
                    for (at, name) in names.iter().enumerate() {
                        next[at + 1] = ends[at] && self.takes(part, name);
                    }
                }
            }
            if !next.contains(&true) {
                return None;
            }
            ends = next;
        }
        ends.iter().position(|end| *end)
    }

    /// Whether a part that stands for one component takes this name.
    fn takes(&self, part: &Part, name: &OsStr) -> bool {
        match part {
            Part::Literal(literal) if self.fold => literal.eq_ignore_ascii_case(name),
            Part::Literal(literal) => **literal == *name,
            Part::Wild(wild) => wildcard(wild.as_bytes(), name.as_bytes(), self.fold),
            Part::Deep => true,
        }
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
                Part::Literal(name) => match name.to_str() {
                    Some(name) => write!(out, "/{name}")?,
                    // Two names that are no text must not look the same: an approval holds for one of them.
                    None => write!(out, "/{}", name.as_bytes().escape_ascii())?,
                },
                Part::Wild(name) => write!(out, "/{name}")?,
                Part::Deep => write!(out, "/**")?,
            }
        }
        if self.below_only { write!(out, "/**") } else { Ok(()) }
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
            Some(_) => one(&pattern[at..], &text[to..], fold),
            None => None,
        };
        if let Some((read, taken)) = step {
            at += read;
            to += taken;
        } else if let Some((behind, taken)) = resume {
            let taken = taken + letter(&text[taken..]).1;
            resume = Some((behind, taken));
            at = behind;
            to = taken;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Matches the beginning of `text` with the first element of `pattern`; how many bytes of both that takes, if it fits.
fn one(pattern: &[u8], text: &[u8], fold: bool) -> Option<(usize, usize)> {
    let same = |left: u8, right: u8| if fold { left.eq_ignore_ascii_case(&right) } else { left == right };
    let byte = *text.first()?;
    match pattern {
        [b'?', ..] => Some((1, letter(text).1)),
        [b'\\', escaped, ..] => same(*escaped, byte).then_some((2, 1)),
        [b'[', ..] => {
            let (found, width) = letter(text);
            match set(pattern, found, fold) {
                Some((read, true)) => Some((read, width)),
                Some((_, false)) => None,
                // An opening bracket that is never closed is an ordinary character.
                None => (byte == b'[').then_some((1, 1)),
            }
        }
        [first, ..] => same(*first, byte).then_some((1, 1)),
        [] => None,
    }
}

/// The first character and its width; a byte that begins none counts as one that nothing else equals. Of nothing: nothing.
fn letter(text: &[u8]) -> (Letter, usize) {
    let Some(first) = text.first() else { return (Err(0), 0) };
    if first.is_ascii() {
        return (Ok(char::from(*first)), 1);
    }
    let whole = (2..=4.min(text.len())).find_map(|width| std::str::from_utf8(&text[..width]).ok());
    match whole.and_then(|text| text.chars().next()) {
        Some(found) => (Ok(found), found.len_utf8()),
        None => (Err(*first), 1),
    }
}

/// A character, or a byte that is none.
type Letter = Result<char, u8>;

/// Reads `[…]`: its width, and whether `wanted` is in it.
fn set(pattern: &[u8], wanted: Letter, fold: bool) -> Option<(usize, bool)> {
    let mut at = 1;
    let negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    if negated {
        at += 1;
    }
    let start = at;
    let mut found = false;
    loop {
        match pattern[at..] {
            [] => return None,
            [b']', ..] if at > start => return Some((at + 1, found != negated)),
            [b'[', b':', ..] => {
                if let Some((width, class)) = class(&pattern[at..]) {
                    found |= wanted.is_ok_and(class);
                    at += width;
                    continue;
                }
            }
            _ => {}
        }
        let (low, width) = member(&pattern[at..])?;
        at += width;
        let is_range =
            pattern.get(at) == Some(&b'-') && pattern.get(at + 1).is_some_and(|next| *next != b']');
        let (high, width) = if is_range { member(&pattern[at + 1..])? } else { (low, 0) };
        at += if is_range { width + 1 } else { 0 };
        found |= is_within(low, high, wanted, fold);
    }
}

/// One end of a range, or a member: a backslash takes the meaning from what follows.
fn member(pattern: &[u8]) -> Option<(Letter, usize)> {
    let escaped = pattern.first() == Some(&b'\\') && pattern.len() > 1;
    let (found, width) = letter(&pattern[usize::from(escaped)..]);
    (width > 0).then_some((found, width + usize::from(escaped)))
}

fn is_within(low: Letter, high: Letter, wanted: Letter, fold: bool) -> bool {
    let (Ok(first), Ok(last), Ok(letter)) = (low, high, wanted) else {
        return low == wanted || high == wanted;
    };
    let within = |letter: char| (first..=last).contains(&letter);
    within(letter) || fold && (within(letter.to_ascii_lowercase()) || within(letter.to_ascii_uppercase()))
}

/// Reads `[:alpha:]` inside a set: its width, and what is in the class.
fn class(pattern: &[u8]) -> Option<(usize, Class)> {
    CLASSES.iter().find(|(name, _)| pattern.starts_with(name)).map(|(name, class)| (name.len(), *class))
}

/// Whether a character is in it.
type Class = fn(char) -> bool;

/// The classes of POSIX.
const CLASSES: &[(&[u8], Class)] = &[
    (b"[:alnum:]", char::is_alphanumeric),
    (b"[:alpha:]", char::is_alphabetic),
    (b"[:blank:]", |letter| letter == ' ' || letter == '\t'),
    (b"[:cntrl:]", char::is_control),
    (b"[:digit:]", |letter| letter.is_ascii_digit()),
    (b"[:graph:]", |letter| !letter.is_control() && !letter.is_whitespace()),
    (b"[:lower:]", char::is_lowercase),
    (b"[:print:]", |letter| !letter.is_control()),
    (b"[:punct:]", |letter| letter.is_ascii_punctuation()),
    (b"[:space:]", char::is_whitespace),
    (b"[:upper:]", char::is_uppercase),
    (b"[:xdigit:]", |letter| letter.is_ascii_hexdigit()),
];

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
            ("?", "ü", true),
            ("??", "ü", false),
            ("[ä-ö]x", "äx", true),
            ("[!ü]", "ü", false),
            ("a*[!ü]", "aü", false),
            ("*ü?", "xüö", true),
            ("[[:digit:][:upper:]]x", "7x", true),
            ("[[:digit:][:upper:]]x", "Xx", true),
            ("[[:digit:]]x", "ax", false),
            ("[![:space:]]", "a", true),
            ("[[:nonsense:]]", "n]", true),
            ("[\\]a]", "]", true),
            ("[a-", "[a-", true),
            ("[a-]", "-", true),
            ("[]-a]", "a", true),
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
        assert_eq!(deep.match_depth(Path::new(&path)), Some(30));
        let none = Pattern::new(&format!("{}/c", "/**/a".repeat(30)), false);
        assert_eq!(none.match_depth(Path::new(&path)), None);
    }

    #[test]
    fn a_pattern_that_takes_any_entry_is_known_by_what_it_takes() {
        for (pattern, any) in [
            ("/a/*", true),
            ("/a/*/**", true),
            ("/a/?*", true),
            ("/a/[!x]*", true),
            ("/a/**/*", true),
            ("/a/.*", true),
            ("/a/**/*.o", false),
            ("/a/*.log", false),
            ("/a/x*", false),
            ("/a/*/x", false),
        ] {
            assert_eq!(Pattern::new(pattern, false).takes_any_entry(), any, "{pattern}");
        }
    }

    #[test]
    fn names_that_are_no_text_are_told_apart() {
        let shown = |name: &[u8]| {
            Pattern::below(&Path::new("/a").join(OsStr::from_bytes(name)), "", false).to_string()
        };
        assert_ne!(shown(b"\xff"), shown(b"\xfe"));
        assert_eq!(shown("ü".as_bytes()), "/a/ü");
    }
}
