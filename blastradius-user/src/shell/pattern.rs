//! Shell patterns: `*`, `?`, `[…]` with classes, and the extended forms.
//!
//! A pattern is matched by following the set of positions that it can reach, so its cost is bounded by the product
//! of both lengths whatever the pattern is.

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    nodes: Vec<Node>,
    fold_case: bool,
}

#[derive(Clone, Debug)]
enum Node {
    Char(char),
    Any,
    Star,
    Set { negated: bool, items: Vec<Item> },
    Ext { kind: char, bodies: Vec<Vec<Node>> },
}

#[derive(Clone, Debug)]
enum Item {
    Range(char, char),
    Class(fn(char) -> bool),
}

/// Whether the text holds a wildcard that no backslash takes away.
pub(crate) fn has_wildcard(text: &str, extglob: bool) -> bool {
    let bytes = text.as_bytes();
    // Looked for once: a text may be a million opening brackets.
    let closes = bytes.iter().rposition(|byte| *byte == b']').unwrap_or(0);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'*' | b'?' => return true,
            b'[' if at < closes => return true,
            b'+' | b'@' | b'!' if extglob && bytes.get(at + 1) == Some(&b'(') => return true,
            _ => {}
        }
        at += 1;
    }
    false
}

/// Puts a backslash in front of everything that means something in a pattern.
pub(crate) fn escape_into(text: &str, out: &mut String) {
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '(' | ')' | '|' | '!' | '+' | '@' | '-' | '^') {
            out.push('\\');
        }
        out.push(c);
    }
}

/// Takes the backslashes of a pattern off.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or('\\') } else { c });
    }
    out
}

impl Pattern {
    /// Compiles a pattern. A backslash makes the next character literal.
    pub(crate) fn new(text: &str, extglob: bool) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut at = 0;
        let nodes = parse(&chars, &mut at, extglob, 0);
        Self { nodes, fold_case: false }
    }

    /// Makes upper and lower case the same.
    pub(crate) fn fold_case(mut self, fold: bool) -> Self {
        self.fold_case = fold;
        self
    }

    /// The text, if the pattern matches just one.
    pub(crate) fn literal(&self) -> Option<String> {
        if self.fold_case {
            return None;
        }
        self.nodes.iter().map(|node| if let Node::Char(c) = node { Some(*c) } else { None }).collect()
    }

    /// Whether the whole text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        if let [Node::Star] = self.nodes.as_slice() {
            return true;
        }
        if !self.fold_case && !self.nodes.iter().any(|node| matches!(node, Node::Ext { .. })) {
            return matches_plain(&self.nodes, text);
        }
        let chars = self.chars(text);
        self.ends(&chars, 0)[chars.len()]
    }

    /// Whether an entry's name matches; a leading dot wants a leading dot unless `dotglob`.
    pub(crate) fn matches_name(&self, name: &str, dotglob: bool) -> bool {
        if name.starts_with('.') && !dotglob && !matches!(self.nodes.first(), Some(Node::Char('.'))) {
            return false;
        }
        self.matches(name)
    }

    /// The length in characters of the shortest or longest prefix that matches.
    pub(crate) fn prefix(&self, text: &[char], longest: bool) -> Option<usize> {
        // A search tries this at every place of a text: it must not look at the whole rest each time.
        let reach = self.longest().unwrap_or(usize::MAX).min(text.len());
        let ends = self.ends(&text[..reach], 0);
        if longest { ends.iter().rposition(|&end| end) } else { ends.iter().position(|&end| end) }
    }

    /// How many characters a match has at most; `None`: any number.
    pub(crate) fn longest(&self) -> Option<usize> {
        let is_one = |node: &Node| !matches!(node, Node::Star | Node::Ext { .. });
        self.nodes.iter().all(is_one).then_some(self.nodes.len())
    }

    /// The same pattern, read from its end.
    pub(crate) fn reversed(&self) -> Self {
        Self { nodes: reverse(&self.nodes), fold_case: self.fold_case }
    }

    fn chars(&self, text: &str) -> Vec<char> {
        if self.fold_case { text.to_lowercase().chars().collect() } else { text.chars().collect() }
    }

    /// Which positions a match that begins at `start` can end at.
    fn ends(&self, text: &[char], start: usize) -> Vec<bool> {
        let mut from = vec![false; text.len() + 1];
        from[start] = true;
        advance(&self.nodes, text, from, self.fold_case)
    }
}

/// Whether the whole text matches nodes without extended forms. A directory of a million entries is matched name by
/// name, so nothing is set aside here: where a node does not fit, the last star takes one character more, and the stars
/// before it need not be tried again. The cost is bounded by the product of both lengths all the same.
fn matches_plain(nodes: &[Node], text: &str) -> bool {
    let (mut node, mut rest) = (0, text);
    // Behind the last star: the node, and the text that the star has not yet taken.
    let mut resume: Option<(usize, &str)> = None;
    loop {
        let next = nodes.get(node);
        if matches!(next, Some(Node::Star)) {
            node += 1;
            resume = Some((node, rest));
            continue;
        }
        let mut letters = rest.chars();
        match (next, letters.next()) {
            (None, None) => return true,
            (Some(one), Some(letter)) if takes(one, letter) => {
                node += 1;
                rest = letters.as_str();
                continue;
            }
            _ => {}
        }
        let Some((behind, untaken)) = resume else { return false };
        let mut letters = untaken.chars();
        if letters.next().is_none() {
            return false;
        }
        (node, rest) = (behind, letters.as_str());
        resume = Some((node, rest));
    }
}

/// Whether a node for one character takes this one.
fn takes(node: &Node, letter: char) -> bool {
    match node {
        Node::Char(c) => *c == letter,
        Node::Any => true,
        Node::Set { negated, items } => set_matches(items, letter, false) != *negated,
        Node::Star | Node::Ext { .. } => false,
    }
}

fn advance(nodes: &[Node], text: &[char], mut reached: Vec<bool>, fold: bool) -> Vec<bool> {
    for node in nodes {
        reached = match node {
            Node::Char(c) => {
                let same =
                    |other: char| if fold { c.to_lowercase().eq(other.to_lowercase()) } else { *c == other };
                shift(text, &reached, same)
            }
            Node::Any => shift(text, &reached, |_| true),
            Node::Set { negated, items } => {
                shift(text, &reached, |c| set_matches(items, c, fold) != *negated)
            }
            Node::Star => {
                let mut seen = false;
                reached
                    .iter()
                    .map(|&here| {
                        seen |= here;
                        seen
                    })
                    .collect()
            }
            Node::Ext { kind, bodies } => extended(*kind, bodies, text, reached, fold),
        };
        if !reached.contains(&true) {
            break;
        }
    }
    reached
}

fn shift(text: &[char], reached: &[bool], matches: impl Fn(char) -> bool) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    for (at, c) in text.iter().enumerate() {
        if reached[at] && matches(*c) {
            next[at + 1] = true;
        }
    }
    next
}

fn union(bodies: &[Vec<Node>], text: &[char], from: &[bool], fold: bool) -> Vec<bool> {
    let mut all = vec![false; from.len()];
    for body in bodies {
        for (all, end) in all.iter_mut().zip(advance(body, text, from.to_vec(), fold)) {
            *all |= end;
        }
    }
    all
}

fn extended(kind: char, bodies: &[Vec<Node>], text: &[char], from: Vec<bool>, fold: bool) -> Vec<bool> {
    match kind {
        '@' => union(bodies, text, &from, fold),
        '?' => merge(union(bodies, text, &from, fold), &from),
        '!' => {
            let mut ends = vec![false; from.len()];
            for start in (0..from.len()).filter(|&start| from[start]) {
                let mut one = vec![false; from.len()];
                one[start] = true;
                let taken = union(bodies, text, &one, fold);
                for end in start..from.len() {
                    ends[end] |= !taken[end];
                }
            }
            ends
        }
        _ => {
            let mut reached = union(bodies, text, &from, fold);
            loop {
                let next = merge(union(bodies, text, &reached, fold), &reached);
                if next == reached {
                    break;
                }
                reached = next;
            }
            if kind == '*' { merge(reached, &from) } else { reached }
        }
    }
}

fn merge(mut left: Vec<bool>, right: &[bool]) -> Vec<bool> {
    for (left, right) in left.iter_mut().zip(right) {
        *left |= right;
    }
    left
}

fn set_matches(items: &[Item], c: char, fold: bool) -> bool {
    let hit = |c: char| {
        items.iter().any(|item| match item {
            Item::Range(low, high) => (*low..=*high).contains(&c),
            Item::Class(class) => class(c),
        })
    };
    hit(c) || (fold && (c.to_lowercase().any(hit) || c.to_uppercase().any(hit)))
}

fn reverse(nodes: &[Node]) -> Vec<Node> {
    let flip = |node: &Node| match node {
        Node::Ext { kind, bodies } => {
            Node::Ext { kind: *kind, bodies: bodies.iter().map(|body| reverse(body)).collect() }
        }
        other => other.clone(),
    };
    nodes.iter().rev().map(flip).collect()
}

/// Deeper extended patterns are taken as text.
const MAX_NESTING: u32 = 24;

fn parse(chars: &[char], at: &mut usize, extglob: bool, depth: u32) -> Vec<Node> {
    let mut nodes = Vec::new();
    while *at < chars.len() {
        let c = chars[*at];
        if depth > 0 && matches!(c, '|' | ')') {
            break;
        }
        *at += 1;
        let extended = extglob && depth < MAX_NESTING && chars.get(*at) == Some(&'(');
        let node = match c {
            '\\' => {
                let next = chars.get(*at).copied();
                *at += 1;
                Node::Char(next.unwrap_or('\\'))
            }
            '@' | '!' | '+' | '*' | '?' if extended && closes(chars, *at) => {
                let mut bodies = Vec::new();
                loop {
                    // Past the `(` or the `|`.
                    *at += 1;
                    bodies.push(parse(chars, at, extglob, depth + 1));
                    if chars.get(*at) != Some(&'|') {
                        break;
                    }
                }
                *at += 1;
                Node::Ext { kind: c, bodies }
            }
            '*' => {
                if matches!(nodes.last(), Some(Node::Star)) {
                    continue;
                }
                Node::Star
            }
            '?' => Node::Any,
            '[' => match parse_set(chars, *at) {
                Some((node, end)) => {
                    *at = end;
                    node
                }
                None => Node::Char('['),
            },
            _ => Node::Char(c),
        };
        nodes.push(node);
    }
    *at = (*at).min(chars.len());
    nodes
}

/// Whether the parenthesis at `open` is closed.
fn closes(chars: &[char], open: usize) -> bool {
    let (mut depth, mut at) = (0, open);
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 1,
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return true;
                }
            }
            _ => {}
        }
        at += 1;
    }
    false
}

/// A bracket expression whose `[` is in front of `start`, and the offset behind it.
fn parse_set(chars: &[char], start: usize) -> Option<(Node, usize)> {
    let mut at = start;
    let negated = matches!(chars.get(at), Some('!' | '^'));
    if negated {
        at += 1;
    }
    let mut items = Vec::new();
    let mut first = true;
    loop {
        let mut c = *chars.get(at)?;
        if c == ']' && !first {
            return Some((Node::Set { negated, items }, at + 1));
        }
        first = false;
        if c == '['
            && matches!(chars.get(at + 1), Some(':' | '.' | '='))
            && let Some((name, end)) = bracket_name(chars, at)
        {
            if chars[at + 1] == ':' {
                items.push(Item::Class(class(&name)?));
            } else {
                let c = name.chars().next()?;
                items.push(Item::Range(c, c));
            }
            at = end;
            continue;
        }
        if c == '/' {
            return None;
        }
        if c == '\\' {
            at += 1;
            c = *chars.get(at)?;
        }
        at += 1;
        let ranged = chars.get(at) == Some(&'-') && chars.get(at + 1).is_some_and(|&c| c != ']');
        if ranged {
            at += 1;
            if chars[at] == '\\' {
                at += 1;
            }
            items.push(Item::Range(c, *chars.get(at)?));
            at += 1;
        } else {
            items.push(Item::Range(c, c));
        }
    }
}

/// The name in `[:name:]` at `at`, and the offset behind it.
fn bracket_name(chars: &[char], at: usize) -> Option<(String, usize)> {
    let mark = chars[at + 1];
    let end =
        (at + 2..chars.len().saturating_sub(1)).find(|&end| chars[end] == mark && chars[end + 1] == ']')?;
    Some((chars[at + 2..end].iter().collect(), end + 2))
}

/// A POSIX character class.
fn class(name: &str) -> Option<fn(char) -> bool> {
    Some(match name {
        "alpha" => char::is_alphabetic,
        "digit" => |c| c.is_ascii_digit(),
        "alnum" => char::is_alphanumeric,
        "upper" => char::is_uppercase,
        "lower" => char::is_lowercase,
        "space" => char::is_whitespace,
        "blank" => |c| c == ' ' || c == '\t',
        "punct" => |c| c.is_ascii_punctuation(),
        "print" => |c| !c.is_control(),
        "graph" => |c| !c.is_control() && !c.is_whitespace(),
        "cntrl" => char::is_control,
        "xdigit" => |c| c.is_ascii_hexdigit(),
        "word" => |c| c.is_alphanumeric() || c == '_',
        "ascii" => |c| c.is_ascii(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern, true).matches(text)
    }

    #[test]
    fn wildcards_match_as_bash_matches_them() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[[:digit:]]", "7", true),
            ("[]]", "]", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("@(a|b)c", "bc", true),
            ("!(a|b)", "c", true),
            ("!(a|b)", "a", false),
            ("*(ab)", "ababab", true),
            ("+(ab)", "", false),
            ("?(ab)c", "c", true),
            ("*.@(c|h)", "x.h", true),
            ("[", "[", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} against {text:?}");
        }
    }

    #[test]
    fn the_short_way_for_plain_patterns_matches_the_same() {
        let patterns =
            ["", "*", "a*b", "*a*", "*a", "a*", "?", "??*", "[ab]*[!a]", "*ab*ab", "*a?b*", "\\*a", "ä*"];
        let texts = ["", "a", "b", "ab", "aab", "abab", "abcab", "*a", "äb", "bbbab", "aXb", "ababa"];
        for pattern in patterns {
            let pattern = Pattern::new(pattern, false);
            for text in texts {
                let chars: Vec<char> = text.chars().collect();
                let long = pattern.ends(&chars, 0)[chars.len()];
                assert_eq!(pattern.matches(text), long, "{pattern:?} against {text:?}");
            }
        }
    }

    #[test]
    fn many_stars_stay_cheap() {
        let pattern = "*a".repeat(200);
        assert!(!matches(&pattern, &"a".repeat(150)));
    }
}
