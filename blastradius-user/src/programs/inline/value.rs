//! What an expression of inline code may give.

use std::rc::Rc;

use crate::policy::effect::Selection;
use crate::programs::words;
use crate::shell::value::{Abstract, Cause, Hole, Piece};

/// One possible value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A text.
    Text(Abstract),
    /// A path object (Python's pathlib, Ruby's Pathname): its methods act on what it names.
    Path(Abstract),
    /// A list or tuple.
    List(Vec<Values>),
    /// Pairs: an object literal, a hash, keyword arguments.
    Map(Vec<(Rc<str>, Values)>),
    /// Something that is selected below a root.
    Below(Below),
    /// A module, a function or a name that nothing is known of: its dotted name.
    Object(Rc<str>),
    /// A method of a value.
    Method(Box<Value>, Rc<str>),
    /// The path of something that this code has just made.
    Fresh,
    /// Anything. Holds it as written.
    Unknown(Rc<str>),
}

/// The possible values of an expression.
pub(super) type Values = Vec<Value>;

/// Entries below a root: a list of them, or any one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Below {
    /// The root.
    pub(super) root: Abstract,
    /// Which of them.
    pub(super) selection: Selection,
    /// They are given as names, without the root in front.
    pub(super) bare: bool,
    /// They may lie at any depth.
    pub(super) deep: bool,
}

/// More possible values than this are one unknown value.
const MAX_VALUES: usize = 32;
/// A text that grows longer is unknown: nobody's path.
const MAX_TEXT: usize = 1 << 15;

/// A text of which nothing is known but that it may be any.
pub(super) fn unknown_text(source: &str) -> Abstract {
    Abstract::unknown(Cause::NotModelled(source.into()))
}

/// One name without a slash.
pub(super) fn component(source: &str) -> Abstract {
    let cause = Rc::new(Cause::NotModelled(source.into()));
    Abstract::hole(Hole { cause, maybe_empty: false, component: true, born: false })
}

/// The path of something that the code makes while it runs.
fn fresh() -> Abstract {
    let cause = Rc::new(Cause::NotModelled("a temporary path".into()));
    Abstract::hole(Hole { cause, maybe_empty: false, component: false, born: true })
}

/// Keeps the list of possible values short.
pub(super) fn bounded(mut values: Values, source: &str) -> Values {
    values.dedup();
    if values.len() > MAX_VALUES { vec![Value::Unknown(source.into())] } else { values }
}

impl Value {
    /// A known text.
    pub(super) fn text(text: &str) -> Self {
        Self::Text(Abstract::known(text))
    }

    /// The value as text, if it is one or may become one.
    pub(super) fn as_text(&self) -> Abstract {
        match self {
            Self::Text(text) | Self::Path(text) => text.clone(),
            Self::Below(below) if below.bare => component(&below.selection.filter),
            Self::Below(below) => {
                let mut text = below.root.clone();
                text.push_text("/");
                text.push(&component(&below.selection.filter));
                text
            }
            Self::Fresh => fresh(),
            Self::Object(name) | Self::Unknown(name) => unknown_text(name),
            Self::List(_) | Self::Map(_) | Self::Method(..) => unknown_text("a value"),
        }
    }

    /// The known text, if the value is one.
    pub(super) fn known(&self) -> Option<String> {
        match self {
            Self::Text(text) | Self::Path(text) => text.as_known().map(|known| known.into_owned()),
            _ => None,
        }
    }

    /// What a loop over the value gives.
    pub(super) fn elements(&self) -> Values {
        match self {
            Self::List(items) => items.iter().flatten().cloned().collect(),
            Self::Map(pairs) => pairs.iter().map(|(key, _)| Self::text(key)).collect(),
            Self::Below(_) => vec![self.clone()],
            Self::Fresh => vec![Self::Fresh],
            _ => vec![Self::Unknown("an element".into())],
        }
    }
}

/// Two values put behind each other.
pub(super) fn concatenated(left: &Value, right: &Value) -> Value {
    match (left, right) {
        // Whatever lies in a fresh directory is as fresh.
        (Value::Fresh, _) => Value::Fresh,
        (Value::List(left), Value::List(right)) => Value::List(left.iter().chain(right).cloned().collect()),
        (Value::Text(prefix), Value::Below(below)) if below.bare => {
            let root = prefix.as_known().map(|known| known.trim_end_matches('/').to_owned());
            let same = below.root.as_known().map(|known| known.trim_end_matches('/').to_owned());
            if root.is_some() && root == same {
                Value::Below(Below { bare: false, ..below.clone() })
            } else {
                joined_text(prefix, &right.as_text(), "")
            }
        }
        _ => joined_text(&left.as_text(), &right.as_text(), ""),
    }
}

fn joined_text(left: &Abstract, right: &Abstract, between: &str) -> Value {
    let mut text = left.clone();
    text.push_text(between);
    text.push(right);
    if length(&text) > MAX_TEXT { Value::Unknown("a long text".into()) } else { Value::Text(text) }
}

fn length(text: &Abstract) -> usize {
    let piece = |piece: &Piece| if let Piece::Text(known) = piece { known.len() } else { 1 };
    text.pieces.iter().map(piece).sum()
}

/// Two paths joined as `os.path.join` does: an absolute second one replaces the first.
pub(super) fn path_joined(left: &Value, right: &Value) -> Value {
    if words::lead(&right.as_text()).starts_with('/') {
        return right.clone();
    }
    match (left, right) {
        (Value::Fresh, _) => Value::Fresh,
        // The names that a walk gives, put behind the directory in which it found them.
        (Value::Below(directory), Value::Below(name)) if name.bare && directory.root == name.root => {
            Value::Below(Below { bare: false, ..name.clone() })
        }
        (Value::Below(directory), Value::Text(name)) if !directory.bare => {
            let mut below = directory.clone();
            if let Some(name) = name.as_known() {
                below.selection.names = vec![name.rsplit('/').next().unwrap_or_default().to_owned()];
                below.selection.narrow_by_name = true;
                below.deep = true;
            }
            Value::Below(below)
        }
        (Value::Text(root) | Value::Path(root), Value::Below(name))
            if name.bare && same_place(root, &name.root) =>
        {
            Value::Below(Below { bare: false, ..name.clone() })
        }
        _ => {
            let text = left.as_text();
            let between = if text.pieces.is_empty() || words::ends_with_slash(&text) { "" } else { "/" };
            match joined_text(&text, &named(right), between) {
                Value::Text(text) if matches!(left, Value::Path(_)) => Value::Path(text),
                joined => joined,
            }
        }
    }
}

/// The name that is put behind a directory. One that is empty leaves the directory itself, and is remembered.
fn named(name: &Value) -> Abstract {
    let text = name.as_text();
    if text.pieces.is_empty() { Abstract::nothing(Cause::Empty("the joined name".into())) } else { text }
}

fn same_place(left: &Abstract, right: &Abstract) -> bool {
    match (left.as_known(), right.as_known()) {
        (Some(left), Some(right)) => left.trim_end_matches('/') == right.trim_end_matches('/'),
        _ => left == right,
    }
}
