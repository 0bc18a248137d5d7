//! Brace expansion: `{a,b}` and `{1..9..2}`, on the word as written, before anything else is expanded.

use super::lexical::{skip_backtick, skip_dollar, skip_double, skip_single};
use super::limits::{BRACE_WORDS, VALUE_BYTES};

/// What a word expands to.
pub(crate) struct Expansion {
    pub(crate) words: Vec<String>,
    /// There are more words than are followed.
    pub(crate) overflow: bool,
}

/// Whether a look is worth it.
pub(crate) fn may_expand(raw: &str) -> bool {
    raw.contains('{') && raw.contains('}') && (raw.contains(',') || raw.contains(".."))
}

/// Expands the braces of a word as written.
pub(crate) fn expand(raw: &str) -> Expansion {
    let mut budget = Budget { words: BRACE_WORDS, bytes: VALUE_BYTES, overflow: false };
    let words = expand_text(raw, &mut budget, 0);
    Expansion { words, overflow: budget.overflow }
}

struct Budget {
    words: usize,
    bytes: usize,
    overflow: bool,
}

impl Budget {
    /// Whether `text` may be one more word.
    fn admit(&mut self, text: &str) -> bool {
        if self.words == 0 || self.bytes < text.len() {
            self.overflow = true;
            return false;
        }
        self.words -= 1;
        self.bytes -= text.len();
        true
    }
}

/// Deeper nesting is left as it is, and the word counts as too much.
const MAX_NESTING: u32 = 40;

fn expand_text(raw: &str, budget: &mut Budget, depth: u32) -> Vec<String> {
    if depth > MAX_NESTING {
        budget.overflow = true;
        return vec![raw.to_owned()];
    }
    let Some(group) = find_group(raw.as_bytes()) else { return vec![raw.to_owned()] };
    let prefix = &raw[..group.open];
    let inner = &raw[group.open + 1..group.close];
    let alternatives: Vec<String> = if group.commas.is_empty() {
        match sequence(inner, budget) {
            Some(words) => words,
            // `{x}` stays, but what is inside it and behind it may hold more.
            None => {
                let inside = expand_text(inner, budget, depth + 1);
                inside.into_iter().map(|text| format!("{{{text}}}")).collect()
            }
        }
    } else {
        let mut starts = vec![0];
        starts.extend(group.commas.iter().map(|comma| comma - group.open));
        let ends = group.commas.iter().map(|comma| comma - group.open - 1).chain([inner.len()]);
        starts
            .iter()
            .zip(ends)
            .flat_map(|(&start, end)| expand_text(&inner[start..end], budget, depth + 1))
            .collect()
    };
    let suffixes = expand_text(&raw[group.close + 1..], budget, depth + 1);
    let mut words = Vec::new();
    for alternative in &alternatives {
        for suffix in &suffixes {
            let word = format!("{prefix}{alternative}{suffix}");
            if !budget.admit(&word) {
                return words;
            }
            words.push(word);
        }
    }
    words
}

struct Group {
    open: usize,
    close: usize,
    commas: Vec<usize>,
}

/// The first group of braces outside quotes that may expand.
fn find_group(src: &[u8]) -> Option<Group> {
    let mut at = 0;
    while at < src.len() {
        at = match src[at] {
            b'\\' => at + 2,
            b'\'' => skip_single(src, at),
            b'"' => skip_double(src, at, 0),
            b'`' => skip_backtick(src, at),
            b'$' => skip_dollar(src, at, false, 0),
            b'{' => {
                if let Some(group) = close_group(src, at) {
                    return Some(group);
                }
                at + 1
            }
            _ => at + 1,
        };
    }
    None
}

/// The group that opens at `open`, if it closes and holds a comma or `..`.
fn close_group(src: &[u8], open: usize) -> Option<Group> {
    let mut at = open + 1;
    let mut depth = 0;
    let mut commas = Vec::new();
    let mut dots = false;
    while at < src.len() {
        at =
            match src[at] {
                b'\\' => at + 2,
                b'\'' => skip_single(src, at),
                b'"' => skip_double(src, at, 0),
                b'`' => skip_backtick(src, at),
                b'$' => skip_dollar(src, at, false, 0),
                b'{' => {
                    depth += 1;
                    at + 1
                }
                b'}' if depth == 0 => {
                    return (!commas.is_empty() || dots || src[open + 1..at].contains(&b'{'))
                        .then_some(Group { open, close: at, commas });
                }
                b'}' => {
                    depth -= 1;
                    at + 1
                }
                b',' if depth == 0 => {
                    commas.push(at);
                    at + 1
                }
                b'.' if src.get(at + 1) == Some(&b'.') => {
                    dots = true;
                    at + 2
                }
                _ => at + 1,
            };
    }
    None
}

/// `1..9`, `a..e`, `01..10..2`; `None` if it is no sequence.
fn sequence(inner: &str, budget: &mut Budget) -> Option<Vec<String>> {
    let mut fields = inner.split("..");
    let (first, last) = (fields.next()?, fields.next()?);
    let step = match fields.next() {
        Some(step) => step.parse::<i64>().ok()?,
        None => 1,
    };
    if fields.next().is_some() {
        return None;
    }
    let single = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    let (from, to, letters) = match (first.parse::<i64>(), last.parse::<i64>()) {
        (Ok(from), Ok(to)) => (from, to, false),
        _ => (i64::from(u32::from(single(first)?)), i64::from(u32::from(single(last)?)), true),
    };
    let padded = |text: &str| {
        let digits = text.trim_start_matches(['-', '+']);
        digits.len() > 1 && digits.starts_with('0')
    };
    let width = if !letters && (padded(first) || padded(last)) { first.len().max(last.len()) } else { 0 };
    let step = step.unsigned_abs().max(1);
    let count = from.abs_diff(to) / step + 1;
    if count > budget.words as u64 {
        budget.overflow = true;
    }
    let shown = count.min(budget.words as u64);
    let value = |index: u64| {
        let distance = i64::try_from(index.saturating_mul(step)).unwrap_or(i64::MAX);
        if from <= to { from.saturating_add(distance) } else { from.saturating_sub(distance) }
    };
    let words = (0..shown).map(|index| {
        let value = value(index);
        if letters {
            u32::try_from(value).ok().and_then(char::from_u32).map(String::from).unwrap_or_default()
        } else if value < 0 {
            format!("-{:0width$}", value.unsigned_abs(), width = width.saturating_sub(1))
        } else {
            format!("{value:0width$}")
        }
    });
    Some(words.collect())
}
