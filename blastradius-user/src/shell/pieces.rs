//! A long text, a few statements at a time: so that the trees of all of it are never in memory together.
//!
//! A shell reads its text the same way: it executes what stands before a line's end as soon as that is complete. A cut
//! is taken where the text before it parses by itself and nothing of it can reach over the cut.

use std::ops::Range;
use std::rc::Rc;

use super::parse::{self, Parsed};
use crate::programs::Dialect;

/// The pieces of a text, in order. After one that is not clean there is no further.
pub(crate) struct Pieces<'t> {
    text: &'t Rc<str>,
    dialect: Dialect,
    /// Where the next one begins.
    at: usize,
    /// No piece but the last is shorter.
    least: usize,
}

impl<'t> Pieces<'t> {
    /// Takes a text apart into pieces of `least` bytes and more; where it cannot be, it is one.
    pub(crate) fn new(text: &'t Rc<str>, dialect: Dialect, least: usize) -> Self {
        // What an alias stands for is parsed in its place, if the parser has seen its definition. zsh's `always` and
        // short forms may follow what is complete without them.
        let whole = dialect == Dialect::Zsh || text.contains("alias");
        Self { text, dialect, at: 0, least: if whole { text.len() } else { least } }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Parsed;

    fn next(&mut self) -> Option<Parsed> {
        if self.at >= self.text.len() {
            return None;
        }
        let mut length = self.least;
        loop {
            let end = cut(self.text, self.at, length);
            let part = self.at..end;
            let parsed = parse::parse_part(self.text, part.clone(), self.dialect);
            let ends = end == self.text.len();
            // A limit that a part reaches, what is longer reaches too.
            let done = match parsed {
                Parsed::Clean(_) => ends || !is_open(self.text, part, self.dialect),
                Parsed::TooMuch => true,
                Parsed::Broken(_) => ends,
            };
            if done {
                self.at = if matches!(parsed, Parsed::Clean(_)) { end } else { self.text.len() };
                return Some(parsed);
            }
            // Each try is twice as long, so that all of them together cost as much as the last.
            length = 2 * (end - self.at).max(1);
        }
    }
}

/// The first place at least `length` bytes behind `from` where the text may be cut.
fn cut(text: &str, from: usize, length: usize) -> usize {
    let bytes = text.as_bytes();
    let mut line = bytes[..from].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let least = from.saturating_add(length);
    for at in from..bytes.len() {
        let is_cut = match bytes[at] {
            b'\n' => {
                let joined = bytes[line..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
                line = at + 1;
                !joined
            }
            b';' => at + 1 >= least && ends_statement(bytes, line, at),
            _ => false,
        };
        if is_cut && at + 1 >= least {
            return at + 1;
        }
    }
    bytes.len()
}

/// Whether the semicolon ends what stands before it on its line: it is no part of `;;`, is not quoted, and neither a
/// comment nor a here-document begins on the line.
fn ends_statement(bytes: &[u8], line: usize, at: usize) -> bool {
    let before = &bytes[line..at];
    let after = bytes.get(at + 1);
    !matches!(before.last(), None | Some(b';' | b'&' | b'|' | b'\\'))
        && !matches!(after, Some(b';' | b'&' | b'|'))
        && !before.contains(&b'#')
        && !before.windows(2).any(|pair| pair == b"<<")
}

/// Whether something that the part begins goes on behind it: a here-document, an array or a parameter whose end it does not
/// hold, which the parser forgives. A parenthesis is then no error behind the part, but content or that end.
fn is_open(text: &str, part: Range<usize>, dialect: Dialect) -> bool {
    let part = &text[part];
    ["<<", "=(", "${"].iter().any(|begins| part.contains(begins))
        && parse::is_clean(&format!("{part}\n)\n"), dialect)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Option<String> {
        match parse::parse(&text.into(), Dialect::Bash) {
            Parsed::Clean(script) => Some(format!("{:?}", script.body)),
            _ => None,
        }
    }

    /// The pieces put together again, and how many there were.
    fn pieces(text: &str) -> (Option<String>, usize) {
        let text: Rc<str> = text.into();
        let mut body = Vec::new();
        let mut count = 0;
        for piece in Pieces::new(&text, Dialect::Bash, 1) {
            let Parsed::Clean(script) = piece else { return (None, count) };
            body.extend(script.body);
            count += 1;
        }
        (Some(format!("{body:?}")), count)
    }

    const WHOLE_ONLY: &[&str] = &[
        "cat <<E\nrm -rf /; x\nE\n",
        "cat <<'A' <<-B; echo x\na;b\nA\n\tb\n\tB\n",
        "echo 'a;\nb;\n'",
        "echo \"a;\n$(b;\nc)\"",
        "if a; then\nb; fi",
        "for x in a; do b;\ndone",
        "for ((i=0; i<3; i++)); do a; done",
        "case x in\na) b;;\nc) d;& *) e;;& esac",
        "f()\n{\na;\n}",
        "f() { a; }",
        "while a;\ndo b; done",
        "until a; do\n:; done",
        "select x in a; do b; done",
        "a &&\nb ||\nc",
        "a |\nb",
        "x=(a\nb\n)",
        "[[ a &&\nb ]]",
        "((a\n+b))",
        "echo a \\\nb; ",
        "{ a;\nb; }",
        "( a;\nb )",
        "echo $((1\n+2))",
        "`a;\nb`",
        "find . -exec rm {} \\; -print",
        "echo ${x:-a;\nb}",
        "coproc { a;\n}",
        "function f\n{ a; }",
        "diff <(a;\nb) c",
    ];

    #[test]
    fn pieces_are_the_statements_of_the_whole() {
        let mut differ = Vec::new();
        for text in WHOLE_ONLY.iter().copied().chain([
            "a; b; c",
            "a\nb\nc\n",
            "a # b; c\nd; e # f",
            "cat <<E; rm x\nb; c\nE\nd; e",
            "echo 'it;s'; b",
            "x='\n;\n'; y=\"\n\"\nb",
            "a & b; c",
            "echo a#b; c",
            "cat <<E\n$(b; c)\nE\nd\n",
            "echo a;;b",
        ]) {
            if pieces(text).0 != whole(text) {
                differ.push(text);
            }
        }
        assert_eq!(differ, [""; 0]);
    }

    #[test]
    fn what_belongs_together_is_not_cut() {
        for text in WHOLE_ONLY {
            assert!(whole(text).is_some(), "{text:?} is understood");
            assert!(pieces(text).1 <= 2, "{text:?}");
        }
        assert_eq!(pieces(&"rm x; ".repeat(40)).1, 40 + 1, "a blank is left behind the last");
        assert_eq!(pieces(&"rm x\n".repeat(40)).1, 40);
    }

    #[test]
    fn a_piece_that_is_not_understood_is_the_last() {
        let text: Rc<str> = "a\nb)\nc\nd".into();
        let kinds: Vec<bool> =
            Pieces::new(&text, Dialect::Bash, 1).map(|piece| matches!(piece, Parsed::Clean(_))).collect();
        assert_eq!(kinds, [true, false]);
    }
}
