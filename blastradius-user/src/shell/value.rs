//! Text as the evaluator knows it: stretches of known text, holes, and the traces of variables that gave nothing.
//!
//! A value never forgets where it came from. `"$AGENT_TMP/session-$SID"` with both unset is
//! `[Nothing(AGENT_TMP is unset), Text("/session-"), Nothing(SID is unset)]`: it reads `/session-`, and a refusal can
//! say which variable is to blame and whether it stood in front of a slash.

use std::rc::Rc;

use smallvec::SmallVec;

/// Why a stretch of text is missing or not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The variable is set nowhere: not in the environment, not in the text.
    Unset(Rc<str>),
    /// The variable is set and empty.
    Empty(Rc<str>),
    /// A positional parameter of submitted text: whoever runs it decides.
    Positional(Rc<str>),
    /// What a command substitution prints is known only at run time. Holds the command as written.
    CommandOutput(Rc<str>),
    /// Input that the text reads while it runs (`read`, stdin).
    Input(Rc<str>),
    /// The variable has several possible values, more than are followed.
    ManyValues(Rc<str>),
    /// A construct that the evaluator does not model. Holds it as written.
    NotModelled(Rc<str>),
}

impl Cause {
    /// The variable to blame, if it is a variable.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Unset(name) | Self::Empty(name) | Self::ManyValues(name) => Some(name),
            Self::Positional(_) | Self::CommandOutput(_) | Self::Input(_) | Self::NotModelled(_) => None,
        }
    }
}

/// One stretch of an abstract text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Known text.
    Text(Rc<str>),
    /// Zero width: a variable (or substitution) that is known to have given nothing.
    Nothing(Rc<Cause>),
    /// Text that is known only at run time.
    Hole(Hole),
}

/// Text that is known only at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Why it is not known.
    pub cause: Rc<Cause>,
    /// It may turn out to be empty. `${X:?}` and `[ -n "$X" ]` clear this.
    pub maybe_empty: bool,
    /// It is one path component or a fragment of one: it holds no `/` and is neither `.` nor `..` (a loop over the
    /// output of `basename`, a number).
    pub component: bool,
    /// It names an object that the same text made under a name that nobody knows yet (`mktemp -d`): whatever the
    /// name turns out to be, the object and what is below it were not there before. Holds only while nothing but
    /// further components follows; text in front of the hole makes it another path.
    pub born: bool,
}

/// A text that may hold holes. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abstract {
    /// In order. Adjacent known texts are merged by [`Abstract::push_text`].
    pub pieces: SmallVec<[Piece; 2]>,
}

impl Abstract {
    /// A text that is wholly known.
    pub fn known(text: &str) -> Self {
        let mut value = Self::default();
        value.push_text(text);
        value
    }

    /// A single hole that may be empty and may hold anything.
    pub fn unknown(cause: Cause) -> Self {
        Self::hole(Hole { cause: Rc::new(cause), maybe_empty: true, component: false, born: false })
    }

    /// A single hole.
    pub fn hole(hole: Hole) -> Self {
        Self { pieces: SmallVec::from_iter([Piece::Hole(hole)]) }
    }

    /// Whether it reads as "" for sure.
    pub fn is_known_empty(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Nothing(_)))
    }

    /// Whether it may read as "" when it is used.
    pub fn may_be_empty(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Text(_) => false,
            Piece::Nothing(_) => true,
            Piece::Hole(hole) => hole.maybe_empty,
        })
    }

    /// What a variable gives that gives nothing.
    pub fn nothing(cause: Cause) -> Self {
        Self { pieces: SmallVec::from_iter([Piece::Nothing(Rc::new(cause))]) }
    }

    /// Appends known text, merging it with a known last piece.
    pub fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            let mut joined = String::with_capacity(last.len() + text.len());
            joined.push_str(last);
            joined.push_str(text);
            *last = joined.into();
        } else {
            self.pieces.push(Piece::Text(text.into()));
        }
    }

    /// Appends another text.
    pub fn push(&mut self, other: &Self) {
        for piece in &other.pieces {
            match piece {
                Piece::Text(text) => self.push_text(text),
                Piece::Nothing(_) | Piece::Hole(_) => self.pieces.push(piece.clone()),
            }
        }
    }

    /// The text, if it is nothing but text: no hole, and no variable that gave nothing.
    pub fn as_plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text, if no part of it is a hole. Variables that gave nothing count as known: they read as "".
    pub fn as_known(&self) -> Option<std::borrow::Cow<'_, str>> {
        use std::borrow::Cow;
        match self.pieces.as_slice() {
            [] | [Piece::Nothing(_)] => Some(Cow::Borrowed("")),
            [Piece::Text(text)] => Some(Cow::Borrowed(text)),
            pieces => {
                let mut joined = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => joined.push_str(text),
                        Piece::Nothing(_) => {}
                        Piece::Hole(_) => return None,
                    }
                }
                Some(Cow::Owned(joined))
            }
        }
    }

    /// Whether any part is known only at run time.
    pub fn has_hole(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Hole(_)))
    }

    /// The known text in front of the first hole.
    pub fn known_prefix(&self) -> String {
        let known = self.pieces.iter().map_while(|piece| match piece {
            Piece::Text(text) => Some(&**text),
            Piece::Nothing(_) => Some(""),
            Piece::Hole(_) => None,
        });
        known.collect()
    }

    /// Everything that is missing or unknown in it, in order.
    pub fn causes(&self) -> impl Iterator<Item = &Cause> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Nothing(cause) => Some(&**cause),
            Piece::Hole(hole) => Some(&*hole.cause),
        })
    }
}

/// A text that is put together from many parts. What is known of it is copied once: appending to an [`Abstract`] copies
/// what is there already, and the square of a long text is too much.
#[derive(Debug, Default)]
pub struct Builder {
    done: Abstract,
    /// Known text behind what is done.
    tail: String,
    length: usize,
}

impl Builder {
    /// Appends known text.
    pub fn push_text(&mut self, text: &str) {
        self.length += text.len();
        self.tail.push_str(text);
    }

    /// Appends a known letter.
    pub fn push_letter(&mut self, letter: char) {
        self.length += letter.len_utf8();
        self.tail.push(letter);
    }

    /// Appends another text.
    pub fn push(&mut self, other: &Abstract) {
        for piece in &other.pieces {
            self.push_piece(piece);
        }
    }

    /// Appends a piece.
    pub fn push_piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Text(text) => self.push_text(text),
            Piece::Nothing(_) | Piece::Hole(_) => {
                self.length += 1;
                self.settle();
                self.done.pieces.push(piece.clone());
            }
        }
    }

    /// The bytes that have been appended; what is not known counts as one.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Whether nothing has been appended.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The text.
    pub fn finish(mut self) -> Abstract {
        self.settle();
        self.done
    }

    fn settle(&mut self) {
        self.done.push_text(&self.tail);
        self.tail.clear();
    }
}

/// What a glob of the text matched on the file system that the [`World`](super::world::World) shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    /// The directory in front of the first component that holds a wildcard, absolute and lexically normalised; the
    /// place whose entries the glob ranges over.
    pub base: std::path::PathBuf,
    /// The pattern from the first wildcard component on: `*`, `*.log`, `*/build`.
    pub pattern: String,
    /// The matches as the shell would pass them, in sorted order, at most the evaluation's glob limit.
    pub matches: Vec<String>,
    /// How many there are: above `matches.len()` when the limit was reached, and then only a lower bound.
    pub count: usize,
}

/// One word of an argv after expansion.
///
/// A glob stays one field, however many entries it matches, so that a program's operands keep their places and a
/// rule can still see the pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// What the program is handed; for a glob, the pattern as text.
    pub text: Abstract,
    /// Set if the word holds an active wildcard and the known part of it could be looked up.
    pub glob: Option<Rc<Glob>>,
    /// The word as written in the text, quotes included; for argv without text, the argument.
    pub source: Rc<str>,
    /// The word began with an unquoted `~` that was expanded.
    pub tilde: bool,
}

impl Field {
    /// A field whose text is wholly known and was written just so.
    pub fn literal(text: &str) -> Self {
        Self { text: Abstract::known(text), glob: None, source: text.into(), tilde: false }
    }

    /// The text of a field that is neither a glob nor in part unknown.
    pub fn as_known(&self) -> Option<std::borrow::Cow<'_, str>> {
        if self.glob.is_some() { None } else { self.text.as_known() }
    }
}
