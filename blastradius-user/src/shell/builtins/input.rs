//! `read` and `mapfile`: variables from input.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::programs::Input;
use crate::shell::eval::{Evaluator, Stdin};
use crate::shell::limits::Eval;
use crate::shell::state::{Kind, Outcome, Shape, Val};
use crate::shell::value::{Abstract, Cause, Field, Piece};

/// Options of `read` that take an argument.
const READ_ARGUMENTS: &str = "adinNptu";

pub(super) fn read(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let options = parse(args, READ_ARGUMENTS);
    let mut names: Vec<String> = options.operands;
    let array = options.values.iter().find(|(letter, _)| *letter == 'a').map(|(_, value)| value.clone());
    let other_delimiter = options.values.iter().any(|(letter, value)| *letter == 'd' && value != "\n");
    let partial = options.values.iter().any(|(letter, _)| "nN".contains(*letter));
    if names.is_empty() {
        names.push("REPLY".into());
    }
    let input = evaluator.standard_input();
    let outcome = match &input {
        Input::Names(selected) if names.len() == 1 && array.is_none() => {
            let text = evaluator.input_text(&input);
            let kind = match selected.as_slice() {
                [only] => Kind::Selected(Rc::new(only.clone())),
                _ => Kind::Plain,
            };
            evaluator.assign(&names[0], Val { text, kind })?;
            Outcome::unknown()
        }
        Input::Text(text) if !other_delimiter && !partial => {
            let text = text.clone();
            return read_line(evaluator, &text, &names, array);
        }
        other => {
            let text = evaluator.input_text(other);
            let text = match other {
                Input::Inherited => {
                    Abstract::unknown(Cause::Input(format!("read {}", names.join(" ")).into()))
                }
                _ => text,
            };
            if let Some(array) = &array {
                let cause = Rc::new(Cause::Input(array.as_str().into()));
                evaluator.assign_shape(array, Shape::UnknownArray(cause))?;
            } else {
                for name in &names {
                    evaluator.assign(name, Val::plain(text.clone()))?;
                }
            }
            Outcome::unknown()
        }
    };
    Ok(outcome)
}

/// Takes one line off known input.
fn read_line(
    evaluator: &mut Evaluator<'_>,
    text: &Abstract,
    names: &[String],
    array: Option<String>,
) -> Eval<Outcome> {
    if text.pieces.is_empty() {
        for name in names {
            evaluator.assign(name, Val::plain(Abstract::default()))?;
        }
        return Ok(Outcome::status(1));
    }
    let (line, rest, ended) = split_line(text);
    evaluator.tick(1 + crate::shell::eval::Said::length(&rest) as u64 / 64)?;
    evaluator.stdin = Stdin::Input(Input::Text(rest));
    let status = u8::from(!ended);
    let ifs = evaluator.text_of("IFS")?;
    let ifs = ifs.as_known().map_or_else(|| " \t\n".to_owned(), std::borrow::Cow::into_owned);
    let Some(known) = line.as_known().filter(|_| line.causes().next().is_none()) else {
        // Not known, or with a blame to keep: the first name takes all of it.
        for (index, name) in names.iter().enumerate() {
            let value = if index == 0 || line.has_hole() { line.clone() } else { Abstract::default() };
            evaluator.assign(name, Val::plain(value))?;
        }
        return Ok(Outcome::status(status));
    };
    if let Some(array) = array {
        let words = known.split(|c| ifs.contains(c)).filter(|word| !word.is_empty());
        let items = words.enumerate().map(|(at, word)| (at as i64, Val::known(word))).collect();
        evaluator.assign_shape(&array, Shape::Indexed(Rc::new(items)))?;
        return Ok(Outcome::status(status));
    }
    let blank = |c: char| ifs.contains(c) && c.is_ascii_whitespace();
    let mut left = known.trim_matches(blank);
    for (index, name) in names.iter().enumerate() {
        let word = if index + 1 == names.len() {
            std::mem::take(&mut left)
        } else {
            match left.find(|c| ifs.contains(c)) {
                Some(at) => {
                    let (word, tail) = left.split_at(at);
                    let tail = tail.trim_start_matches(blank);
                    left = tail
                        .strip_prefix(|c: char| ifs.contains(c))
                        .unwrap_or(tail)
                        .trim_start_matches(blank);
                    word
                }
                None => std::mem::take(&mut left),
            }
        };
        evaluator.assign(name, Val::known(word))?;
    }
    Ok(Outcome::status(status))
}

/// The first line, what follows, and whether the line was ended by a newline.
fn split_line(text: &Abstract) -> (Abstract, Abstract, bool) {
    let mut line = Abstract::default();
    for (index, piece) in text.pieces.iter().enumerate() {
        match piece {
            Piece::Text(known) => {
                if let Some((head, tail)) = known.split_once('\n') {
                    line.push_text(head);
                    let mut rest = Abstract::known(tail);
                    for piece in &text.pieces[index + 1..] {
                        rest.pieces.push(piece.clone());
                    }
                    return (line, rest, true);
                }
                line.push_text(known);
            }
            other => line.pieces.push(other.clone()),
        }
    }
    (line, Abstract::default(), false)
}

pub(super) fn mapfile(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let options = parse(args, "dnOsucC");
    let name = options.operands.first().cloned().unwrap_or_else(|| "MAPFILE".into());
    let nul = options.values.iter().any(|(letter, value)| *letter == 'd' && value.is_empty());
    let input = evaluator.standard_input();
    let shape = match &input {
        Input::Names(selected) => {
            let text = evaluator.input_text(&input);
            let items = selected.iter().enumerate().map(|(at, selected)| {
                (at as i64, Val { text: text.clone(), kind: Kind::Selected(Rc::new(selected.clone())) })
            });
            Shape::Indexed(Rc::new(items.collect()))
        }
        Input::Text(text) => match text.as_known() {
            Some(known) => {
                let lines = known.split_terminator(if nul { '\0' } else { '\n' });
                let items: BTreeMap<i64, Val> =
                    lines.enumerate().map(|(at, line)| (at as i64, Val::known(line))).collect();
                evaluator.tick(items.len() as u64)?;
                Shape::Indexed(Rc::new(items))
            }
            None => Shape::UnknownArray(Rc::new(Cause::Input(name.as_str().into()))),
        },
        Input::Unknown { from, .. } => Shape::UnknownArray(Rc::new(Cause::CommandOutput(from.clone()))),
        Input::Inherited => Shape::UnknownArray(Rc::new(Cause::Input(name.as_str().into()))),
    };
    evaluator.assign_shape(&name, shape)?;
    Ok(Outcome::unknown())
}

/// Short options and operands.
pub(super) struct Parsed {
    pub(super) flags: String,
    pub(super) values: Vec<(char, String)>,
    pub(super) operands: Vec<String>,
}

/// Reads short options as POSIX has them. `with_value`: the letters that take an argument.
pub(super) fn parse(args: &[Field], with_value: &str) -> Parsed {
    let mut parsed = Parsed { flags: String::new(), values: Vec::new(), operands: Vec::new() };
    let mut words =
        args.iter().map(|field| field.as_known().map(std::borrow::Cow::into_owned).unwrap_or_default());
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            parsed.operands.push(word);
            break;
        };
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            if with_value.contains(letter) {
                let attached = rest.as_str().to_owned();
                let value = if attached.is_empty() { words.next().unwrap_or_default() } else { attached };
                parsed.values.push((letter, value));
                break;
            }
            parsed.flags.push(letter);
        }
    }
    parsed.operands.extend(words);
    parsed
}
