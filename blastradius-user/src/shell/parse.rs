//! The adapter to the parser: which dialect, and whether the text was understood.

use std::borrow::Cow;
use std::rc::Rc;

use shuck_parser::parser::{ParseStatus, Parser};
use shuck_parser::{ShellDialect, ShellProfile};

use super::limits::{PARSER_MARKS, PARSER_NESTING, PARSER_OPERATIONS};
use super::lower;
use super::syntax::Script;
use crate::programs::Dialect;

/// What the parser made of a text.
pub(crate) enum Parsed {
    /// All of it was understood.
    Clean(Script),
    /// It is not a text of this dialect, or not one that the parser understands. Holds what it said.
    Broken(String),
    /// The parser gave up at one of its own limits: nesting, operator chains, operations.
    TooMuch,
}

/// Words of the parser's message where a limit, not the grammar, made it stop.
const LIMIT_WORDS: &[&str] = &["too deep", "fuel", "budget", "too large", "too long", "too many", "chain"];

/// Substitutions in one text: the parser's work grows with the square of their number.
const SUBSTITUTIONS: usize = 4000;

/// Parses a text.
pub(crate) fn parse(text: &Rc<str>, dialect: Dialect) -> Parsed {
    parse_part(text, 0..text.len(), dialect)
}

/// The parser expands aliases where a text switches that on, and what it puts in their place lies at no place of the
/// text: words would be read from the wrong spans. With a name of the same length it leaves them to the evaluator.
fn without_alias_switch(text: &str) -> Cow<'_, str> {
    const SWITCH: &str = "expand_aliases";
    if text.contains(SWITCH) { text.replace(SWITCH, "expand-aliases").into() } else { text.into() }
}

/// Parses a part of a text that is one by itself. Spans are offsets into the whole text.
pub(super) fn parse_part(text: &Rc<str>, part: std::ops::Range<usize>, dialect: Dialect) -> Parsed {
    let Some(stretch) = text.get(part.clone()) else {
        return Parsed::Broken("the text cannot be taken apart".to_owned());
    };
    if is_too_much(stretch) {
        return Parsed::TooMuch;
    }
    let result = parser(&without_alias_switch(stretch), dialect).parse();
    if result.status == ParseStatus::Clean {
        return Parsed::Clean(lower::script(text, part.start, &result.file));
    }
    let message = result.strict_error().to_string();
    if LIMIT_WORDS.iter().any(|word| message.contains(word)) {
        Parsed::TooMuch
    } else {
        Parsed::Broken(message)
    }
}

/// Whether the text, as it stands, is one that the parser finds nothing wrong with.
pub(super) fn is_clean(text: &str, dialect: Dialect) -> bool {
    parser(text, dialect).parse().status == ParseStatus::Clean
}

fn parser(text: &str, dialect: Dialect) -> Parser<'_> {
    let native = match dialect {
        Dialect::Zsh => ShellDialect::Zsh,
        // bash reads all that sh reads, and what dash reads differently (`[[`, `((`, arrays) is no error there but a
        // command that is not found: to see more is the safe side.
        Dialect::Bash | Dialect::Posix => ShellDialect::Bash,
    };
    Parser::with_limits_and_profile(text, PARSER_NESTING, PARSER_OPERATIONS, ShellProfile::native(native))
}

/// What the parser's own limits do not bound, seen from above before it starts: the memory of what it does not count as
/// an operation, and its work on substitutions and on nesting that it will refuse.
fn is_too_much(text: &str) -> bool {
    if text.len() <= SUBSTITUTIONS {
        return false;
    }
    let seen = Seen::of(text);
    seen.substitutions > SUBSTITUTIONS || seen.nesting > PARSER_NESTING || seen.marks > PARSER_MARKS
}

/// What a text holds, counted from above. The bodies of here-documents whose delimiter is quoted are data.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    substitutions: usize,
    /// The longest run of opening parentheses, blanks between them or not.
    nesting: usize,
    /// Parts of words, elements of arrays and comments: what the parser keeps without counting it.
    marks: usize,
}

impl Seen {
    fn of(text: &str) -> Self {
        let mut seen = Self::default();
        let (mut in_array, mut backquotes, mut run) = (false, 0, 0);
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut before = b'\n';
            for &byte in line.as_bytes() {
                let is_blank = byte.is_ascii_whitespace();
                seen.substitutions += usize::from(byte == b'(' && matches!(before, b'$' | b'<' | b'>'));
                backquotes += usize::from(byte == b'`');
                seen.marks += match byte {
                    b'\'' | b'"' | b'$' | b'`' | b'#' | b'{' => 1,
                    _ if in_array && before.is_ascii_whitespace() && !is_blank => 1,
                    _ => 0,
                };
                if !is_blank {
                    run = if byte == b'(' { run + 1 } else { 0 };
                    seen.nesting = seen.nesting.max(run);
                }
                in_array = (in_array && byte != b')') || (byte == b'(' && before == b'=');
                before = byte;
            }
            if let Some(end) = quoted_here_document(line) {
                lines.by_ref().find(|line| line.trim_start_matches('\t') == end);
            }
        }
        seen.substitutions += backquotes / 2;
        seen
    }
}

/// The line that ends the here-document that begins behind this line, if its body is data: `<<'END'`.
fn quoted_here_document(line: &str) -> Option<&str> {
    let (before, word) = line.split_once("<<")?;
    let word = word.trim_start_matches('-').trim_start().strip_prefix(['\'', '"', '\\'])?;
    let end = word.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word.len());
    let is_plain = !before.contains(['#', '\'', '"', '(']) && end > 0;
    is_plain.then_some(&word[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_quoted_here_document_holds_is_data_and_what_another_holds_is_not() {
        let body = "`a` $(b) \"c\"\n((((\n";
        let seen = |delimiter: &str| Seen::of(&format!("cat <<{delimiter}\n{body}E\nx=(a b)\n"));
        assert_eq!(seen("'E'"), Seen { substitutions: 0, nesting: 1, marks: 3 });
        assert_eq!(seen("E"), Seen { substitutions: 2, nesting: 4, marks: 6 });
    }
}
