//! What an operand says: a path, a glob, or something that is known only at run time.

use std::borrow::Cow;

use crate::shell::value::{Cause, Field, Glob, Hole, Piece};

/// Stands for a name that nobody knows yet. No file system holds a name with this character by accident.
pub const SOME_NAME: &str = "\u{1}";

/// An operand, read.
#[derive(Clone, Debug)]
pub enum Reading<'a> {
    /// The text is known.
    Known {
        /// The path as the program is handed it.
        text: Cow<'a, str>,
        /// Variables that gave nothing, and what that did.
        nothings: Nothings<'a>,
    },
    /// A wildcard that was looked up.
    Glob {
        /// What it matched.
        glob: &'a Glob,
        /// Variables that gave nothing.
        nothings: Nothings<'a>,
    },
    /// Part of it is known only at run time.
    Partial(Partial<'a>),
}

/// Variables of an operand that are unset or empty.
#[derive(Clone, Debug, Default)]
pub struct Nothings<'a> {
    /// Why each gave nothing, in order.
    pub causes: Vec<&'a Cause>,
    /// The operand begins with one, and what is left begins with a slash: it moved to the root.
    pub moved_to_root: bool,
    /// One stood where the last component should be: what is left names the directory around it.
    pub lost_last: bool,
    /// Nothing else was there.
    pub all: bool,
}

/// An operand that is known in part.
#[derive(Clone, Debug)]
pub struct Partial<'a> {
    /// What is known in front of the first hole.
    pub prefix: String,
    /// The first hole.
    pub hole: &'a Hole,
    /// What follows it; further holes are [`SOME_NAME`].
    pub after: String,
    /// Every cause, in order.
    pub causes: Vec<&'a Cause>,
}

impl Partial<'_> {
    /// Whether the text guards against emptiness, and nothing but the environment is unknown: `${X:?}`, `set -u`,
    /// `[ -n "$X" ] &&`. Where the variable is not set, nothing happens; where it is, the shell shows its value to us.
    pub fn is_guarded(&self) -> bool {
        let from_environment =
            matches!(&*self.hole.cause, Cause::Unset(_) | Cause::Empty(_) | Cause::Positional(_));
        !self.hole.maybe_empty && from_environment
    }

    /// Whether a known, non-empty component follows the hole's own.
    pub fn has_literal_after(&self) -> bool {
        let mut names = self.after.split('/');
        // The first is a part of the hole's own component.
        names.next();
        names.any(|name| {
            !matches!(name, "" | "." | "..") && name.chars().any(|letter| !"*?[]{}!\u{1}".contains(letter))
        })
    }
}

/// Reads an operand.
pub fn read(field: &Field) -> Reading<'_> {
    if let Some(partial) = partial(field) {
        return Reading::Partial(partial);
    }
    let nothings = nothings(field);
    match &field.glob {
        Some(glob) => Reading::Glob { glob, nothings },
        None => Reading::Known { text: field.text.as_known().unwrap_or_default(), nothings },
    }
}

fn partial(field: &Field) -> Option<Partial<'_>> {
    let pieces = &field.text.pieces;
    let at = pieces.iter().position(|piece| matches!(piece, Piece::Hole(_)))?;
    let Piece::Hole(hole) = &pieces[at] else { return None };
    let mut after = String::new();
    for piece in &pieces[at + 1..] {
        match piece {
            Piece::Text(text) => after.push_str(text),
            Piece::Nothing(_) => {}
            Piece::Hole(_) => after.push_str(SOME_NAME),
        }
    }
    Some(Partial { prefix: field.text.known_prefix(), hole, after, causes: field.text.causes().collect() })
}

fn nothings(field: &Field) -> Nothings<'_> {
    let pieces = &field.text.pieces;
    let causes: Vec<&Cause> = field.text.causes().collect();
    if causes.is_empty() {
        return Nothings::default();
    }
    let texts = || {
        pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(&**text),
            _ => None,
        })
    };
    let begins_with_nothing = matches!(pieces.first(), Some(Piece::Nothing(_)));
    let first = texts().next();
    Nothings {
        moved_to_root: begins_with_nothing && first.is_some_and(|text| text.starts_with('/')),
        lost_last: lost_last(field),
        all: first.is_none(),
        causes,
    }
}

/// Whether what gave nothing stood as a whole component with no named component behind it: `build/$X`, `build/$X/*`.
fn lost_last(field: &Field) -> bool {
    let pieces = &field.text.pieces;
    pieces.iter().enumerate().any(|(at, piece)| {
        let text = |piece: Option<&Piece>| match piece {
            Some(Piece::Text(text)) => Some(text.to_string()),
            _ => None,
        };
        let rest: String = pieces[at + 1..].iter().filter_map(|piece| text(Some(piece))).collect();
        let before = at.checked_sub(1).and_then(|at| text(pieces.get(at)));
        let named_later = rest.chars().any(|letter| !"/*?.".contains(letter));
        let whole =
            before.is_some_and(|text| text.ends_with('/')) && (rest.is_empty() || rest.starts_with('/'));
        matches!(piece, Piece::Nothing(_)) && whole && !named_later
    })
}

/// One line for people on why a part is missing or unknown.
pub fn explain(cause: &Cause) -> String {
    match cause {
        Cause::Unset(name) => format!("{name} is unset: expansion produced an empty string"),
        Cause::Empty(name) => format!("{name} is set but empty"),
        Cause::Positional(name) => format!("{name} is a positional parameter: known only when the text runs"),
        Cause::CommandOutput(command) => format!("the output of `{command}` is known only at run time"),
        Cause::Input(what) => format!("{what} comes from input that is read at run time"),
        Cause::ManyValues(name) => format!("{name} has several possible values"),
        Cause::NotModelled(what) => format!("`{what}` is known only at run time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::value::Abstract;
    use std::rc::Rc;

    fn field(pieces: impl IntoIterator<Item = Piece>) -> Field {
        Field { text: Abstract { pieces: pieces.into_iter().collect() }, ..Field::literal("x") }
    }

    fn unset(name: &str) -> Piece {
        Piece::Nothing(Rc::new(Cause::Unset(name.into())))
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.into())
    }

    fn hole(maybe_empty: bool) -> Piece {
        let cause = Rc::new(Cause::CommandOutput("cat x".into()));
        Piece::Hole(Hole { cause, maybe_empty, component: false, born: false })
    }

    fn nothings_of(field: &Field) -> Nothings<'_> {
        match read(field) {
            Reading::Known { nothings, .. } => nothings,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unset_variable_in_front_of_a_slash_moves_the_operand_to_the_root() {
        assert!(nothings_of(&field([unset("A"), text("/session-"), unset("B")])).moved_to_root);
        assert!(!nothings_of(&field([unset("A"), text("build")])).moved_to_root);
        assert!(!nothings_of(&field([text("a/"), unset("A"), text("/b")])).moved_to_root);
    }

    #[test]
    fn a_lost_last_component_leaves_the_directory_around_it() {
        assert!(nothings_of(&field([text("build/"), unset("A")])).lost_last);
        assert!(nothings_of(&field([text("build/"), unset("A"), text("/")])).lost_last);
        assert!(!nothings_of(&field([text("build/"), unset("A"), text("/x")])).lost_last);
        assert!(!nothings_of(&field([text("build/x"), unset("A")])).lost_last);
    }

    #[test]
    fn a_lone_unset_variable_is_all_there_was() {
        assert!(nothings_of(&field([unset("A")])).all);
        assert!(!nothings_of(&field([])).all);
    }

    #[test]
    fn a_literal_component_behind_a_hole_is_seen() {
        let after = |tail: &str| match read(&field([hole(true), text(tail)])) {
            Reading::Partial(partial) => partial.has_literal_after(),
            other => panic!("{other:?}"),
        };
        assert!(after("/build"));
        assert!(after("/*/build"));
        assert!(!after("/"));
        assert!(!after("/*"));
        assert!(!after("/.."));
        assert!(!after("suffix"));
    }
}
