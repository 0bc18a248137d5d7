//! The adapter to the parser: which dialect, and whether the text was understood.

use std::borrow::Cow;

use shuck_parser::ShellDialect;
use shuck_parser::parser::{ParseStatus, Parser};

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

/// How many substitutions a text may hold, counted from above.
fn substitutions(text: &str) -> usize {
    let bytes = text.as_bytes();
    let opens = bytes.windows(2).filter(|pair| *pair == b"$(" || *pair == b"<(" || *pair == b">(").count();
    opens + bytes.iter().filter(|byte| **byte == b'`').count() / 2
}

/// The parser expands aliases where a text switches that on, and what it puts in their place lies at no place of the
/// text: words would be read from the wrong spans. With a name of the same length it leaves them to the evaluator.
fn without_alias_switch(text: &str) -> Cow<'_, str> {
    const SWITCH: &str = "expand_aliases";
    if text.contains(SWITCH) { text.replace(SWITCH, "expand-aliases").into() } else { text.into() }
}

/// Parses a text.
pub(crate) fn parse(text: &str, dialect: Dialect) -> Parsed {
    let native = match dialect {
        Dialect::Zsh => ShellDialect::Zsh,
        // bash reads all that sh reads, and what dash reads differently (`[[`, `((`, arrays) is no error there but a
        // command that is not found: to see more is the safe side.
        Dialect::Bash | Dialect::Posix => ShellDialect::Bash,
    };
    if text.len() > SUBSTITUTIONS && substitutions(text) > SUBSTITUTIONS {
        return Parsed::TooMuch;
    }
    let result = Parser::with_dialect(&without_alias_switch(text), native).parse();
    if result.status == ParseStatus::Clean {
        return Parsed::Clean(lower::script(text, &result.file));
    }
    let message = result.strict_error().to_string();
    if LIMIT_WORDS.iter().any(|word| message.contains(word)) {
        Parsed::TooMuch
    } else {
        Parsed::Broken(message)
    }
}
