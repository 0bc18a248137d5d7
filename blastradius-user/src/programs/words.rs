//! Small operations on argv words that may hold holes.

use std::borrow::Cow;
use std::rc::Rc;

use crate::shell::value::{Abstract, Cause, Field, Hole, Piece};

/// The known text in front of the first hole, without allocating where it is one piece.
pub fn lead(text: &Abstract) -> Cow<'_, str> {
    match text.pieces.as_slice() {
        [Piece::Text(only)] | [Piece::Text(only), Piece::Hole(_), ..] => Cow::Borrowed(only),
        _ => Cow::Owned(text.known_prefix()),
    }
}

/// A word that is known only at run time.
pub fn unknown(cause: Cause, source: &str) -> Field {
    Field { text: Abstract::unknown(cause), glob: None, source: source.into(), tilde: false }
}

/// A text made of this word alone, for shells that are handed a word.
pub fn from_text(text: Abstract, source: &str) -> Field {
    Field { text, glob: None, source: source.into(), tilde: false }
}

/// What remains of a word after its first `bytes` bytes of known text: `--target=$D` without `--target=`.
pub fn without_prefix(field: &Field, bytes: usize) -> Field {
    let mut text = Abstract::default();
    let mut skip = bytes;
    for piece in &field.text.pieces {
        match piece {
            Piece::Text(known) if skip >= known.len() => skip -= known.len(),
            Piece::Text(known) => {
                text.push_text(known.get(skip..).unwrap_or_default());
                skip = 0;
            }
            Piece::Nothing(_) if skip > 0 => {}
            Piece::Nothing(_) | Piece::Hole(_) => text.pieces.push(piece.clone()),
        }
    }
    let lead = lead(&field.text);
    let source = lead.get(..bytes).and_then(|prefix| field.source.strip_prefix(prefix));
    Field {
        text,
        glob: None,
        source: source.map_or_else(|| Rc::clone(&field.source), Rc::from),
        tilde: false,
    }
}

/// `NAME=value` taken apart, if the known start of the word has that shape.
pub fn assignment(field: &Field) -> Option<(String, Abstract)> {
    let lead = lead(&field.text);
    let (name, _) = lead.split_once('=')?;
    let mut letters = name.chars();
    let starts_well = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    if !starts_well || !letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        return None;
    }
    let name = name.to_owned();
    let value = without_prefix(field, name.len() + 1).text;
    Some((name, value))
}

/// The words joined by blanks, as ssh, watch and `su -c` hand them to a shell.
pub fn joined<'a>(fields: impl IntoIterator<Item = &'a Field>) -> Abstract {
    let mut text = Abstract::default();
    for (place, field) in fields.into_iter().enumerate() {
        if place > 0 {
            text.push_text(" ");
        }
        text.push(&field.text);
    }
    text
}

/// `DIR/NAME`, where NAME is the last component of `source`: where a file lands that is copied into a directory.
pub fn below(directory: &Field, source: &Field) -> Field {
    let known = source.as_known();
    let name = known.as_deref().map(|path| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default());
    if name == Some(".") {
        return directory.clone();
    }
    let mut text = directory.text.clone();
    if !ends_with_slash(&text) {
        text.push_text("/");
    }
    match name {
        Some(name) => text.push_text(name),
        // Whatever the source turns out to be called, its last component is a single name.
        None => text.pieces.push(Piece::Hole(Hole {
            cause: Rc::new(Cause::NotModelled(Rc::clone(&source.source))),
            maybe_empty: false,
            component: true,
            born: false,
        })),
    }
    Field { text, glob: None, source: Rc::clone(&directory.source), tilde: directory.tilde }
}

/// `DIR/NAME` for a name that is known.
pub fn child(directory: &Field, name: &str) -> Field {
    below(directory, &Field::literal(name))
}

/// Whether the text is known to end with a slash.
pub fn ends_with_slash(text: &Abstract) -> bool {
    text.pieces
        .iter()
        .rev()
        .find(|piece| !matches!(piece, Piece::Nothing(_)))
        .is_some_and(|piece| matches!(piece, Piece::Text(known) if known.ends_with('/')))
}

/// The words that a word stands for: itself, or the matches of its glob.
pub fn expanded(field: &Field) -> Vec<Field> {
    match &field.glob {
        None => vec![field.clone()],
        Some(glob) if glob.matches.is_empty() => vec![Field { glob: None, ..field.clone() }],
        Some(glob) => glob
            .matches
            .iter()
            .map(|name| Field { text: Abstract::known(name), glob: None, ..field.clone() })
            .collect(),
    }
}

/// The text with every `needle` replaced by `with`. Holes are kept as they are.
pub fn replaced(text: &Abstract, needle: &str, with: &Abstract) -> Abstract {
    let mut result = Abstract::default();
    for piece in &text.pieces {
        let Piece::Text(known) = piece else {
            result.pieces.push(piece.clone());
            continue;
        };
        let mut parts = known.split(needle);
        result.push_text(parts.next().unwrap_or_default());
        for part in parts {
            result.push(with);
            result.push_text(part);
        }
    }
    result
}

/// A text for people: holes are `…`.
pub fn shown(text: &Abstract) -> String {
    let shown = text.pieces.iter().map(|piece| match piece {
        Piece::Text(known) => &**known,
        Piece::Nothing(_) => "",
        Piece::Hole(_) => "…",
    });
    shown.collect()
}

/// A text as one word of shell text: quoted if anything in it is special.
pub fn quoted(text: &Abstract) -> Abstract {
    let plain = |letter: char| letter.is_alphanumeric() || "_-./:=@%+,".contains(letter);
    let mut result = Abstract::default();
    for piece in &text.pieces {
        match piece {
            Piece::Text(known) if known.chars().all(plain) => result.push_text(known),
            Piece::Text(known) => result.push_text(&format!("'{}'", known.replace('\'', r"'\''"))),
            Piece::Nothing(_) | Piece::Hole(_) => result.pieces.push(piece.clone()),
        }
    }
    result
}

#[test]
fn a_prefix_is_cut_and_holes_behind_it_stay() {
    let mut text = Abstract::known("--into=");
    text.push(&Abstract::unknown(Cause::Input("x".into())));
    text.push_text("/a");
    let rest = without_prefix(&from_text(text, "--into=$x/a"), "--into=".len());
    assert!(rest.text.has_hole());
    assert_eq!(&*rest.source, "$x/a");
    assert_eq!(lead(&rest.text), "");
}

#[test]
fn only_names_make_an_assignment() {
    assert_eq!(assignment(&Field::literal("A_1=x=y")), Some(("A_1".into(), Abstract::known("x=y"))));
    assert_eq!(assignment(&Field::literal("1A=x")), None);
    assert_eq!(assignment(&Field::literal("./a=x")), None);
    assert_eq!(assignment(&Field::literal("rm")), None);
}

#[test]
fn a_copy_lands_below_the_directory_under_its_last_name() {
    let landed = below(&Field::literal("d/"), &Field::literal("a/b/"));
    assert_eq!(landed.as_known().as_deref(), Some("d/b"));
}
