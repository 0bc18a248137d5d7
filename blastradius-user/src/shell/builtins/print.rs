//! `echo` and `printf`, folded to the text that they print.

use std::borrow::Cow;

use crate::programs::{Dialect, Input};
use crate::shell::eval::Evaluator;
use crate::shell::limits::Eval;
use crate::shell::parameter::quote;
use crate::shell::state::{Outcome, Val};
use crate::shell::value::{Abstract, Builder, Field, Piece};
use crate::shell::word::decode_escape;

/// The text that an argument is when it is printed: a glob is its matches.
pub(crate) fn printed(field: &Field) -> Abstract {
    match &field.glob {
        Some(glob) if glob.count > 0 && glob.count == glob.matches.len() => {
            Abstract::known(&glob.matches.join(" "))
        }
        Some(glob) if glob.count > 0 => {
            Abstract::unknown(crate::shell::value::Cause::NotModelled(field.source.clone()))
        }
        _ => field.text.clone(),
    }
}

pub(super) fn echo(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    if !evaluator.is_captured() {
        return Ok(Outcome::ok());
    }
    let (mut newline, mut escapes) = (true, evaluator.dialect != Dialect::Bash);
    let mut rest = args;
    while let Some((first, tail)) = rest.split_first() {
        let Some(option) = first.as_known() else { break };
        let letters = option.strip_prefix('-').unwrap_or("");
        if letters.is_empty() || !letters.chars().all(|c| "neE".contains(c)) {
            break;
        }
        for letter in letters.chars() {
            match letter {
                'n' => newline = false,
                'e' => escapes = true,
                _ => escapes = false,
            }
        }
        rest = tail;
    }
    let mut out = Builder::default();
    for (index, field) in rest.iter().enumerate() {
        if index > 0 {
            out.push_text(" ");
        }
        let text = printed(field);
        if escapes { push_escaped(&mut out, &text) } else { out.push(&text) }
    }
    if newline {
        out.push_text("\n");
    }
    evaluator.print(Input::Text(out.finish()))?;
    Ok(Outcome::ok())
}

fn push_escaped(out: &mut Builder, text: &Abstract) {
    for piece in &text.pieces {
        match piece {
            Piece::Text(text) => out.push_text(&unescape(text)),
            other => out.push_piece(other),
        }
    }
}

/// Escapes as `echo -e` and `%b` read them.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let src = text.as_bytes();
    let mut bytes = Vec::with_capacity(src.len());
    let mut at = 0;
    while at < src.len() {
        if src[at] == b'\\' && at + 1 < src.len() {
            if src[at + 1] == b'c' {
                break;
            }
            at = decode_escape(src, at + 1, &mut bytes, false);
        } else {
            bytes.push(src[at]);
            at += 1;
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn printf(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let mut args = args;
    let mut into = None;
    loop {
        match args.first().and_then(Field::as_known).as_deref() {
            Some("-v") => {
                into = args.get(1).and_then(Field::as_known).map(Cow::into_owned);
                args = args.get(2..).unwrap_or_default();
            }
            Some("--") => {
                args = &args[1..];
                break;
            }
            _ => break,
        }
    }
    if into.is_none() && !evaluator.is_captured() {
        return Ok(Outcome::ok());
    }
    let Some((format, operands)) = args.split_first() else { return Ok(Outcome::unknown()) };
    let text = match format.as_known() {
        Some(format) => format_all(evaluator, &format, operands)?,
        None => None,
    };
    let text = text.unwrap_or_else(|| evaluator.not_modelled(&evaluator.segment_text()));
    match into {
        Some(name) => evaluator.assign(&name, Val::plain(text))?,
        None => evaluator.print(Input::Text(text))?,
    }
    Ok(Outcome::ok())
}

/// The format, used as often as there are arguments. `None`: it is not modelled.
fn format_all(evaluator: &mut Evaluator<'_>, format: &str, operands: &[Field]) -> Eval<Option<Abstract>> {
    let mut out = Builder::default();
    let mut rest = operands.iter().peekable();
    loop {
        let (before, length) = (rest.len(), out.length());
        if !format_once(format, &mut rest, &mut out) {
            return Ok(None);
        }
        evaluator.tick(1)?;
        evaluator.work.expand(out.length() - length)?;
        if rest.len() == 0 || rest.len() == before {
            return Ok(Some(out.finish()));
        }
    }
}

fn format_once<'a>(
    format: &str,
    operands: &mut std::iter::Peekable<impl Iterator<Item = &'a Field>>,
    out: &mut Builder,
) -> bool {
    let src = format.as_bytes();
    let mut literal = Vec::new();
    let mut at = 0;
    let flush = |literal: &mut Vec<u8>, out: &mut Builder| {
        out.push_text(&String::from_utf8_lossy(literal));
        literal.clear();
    };
    while at < src.len() {
        match src[at] {
            b'\\' if at + 1 < src.len() => {
                if src[at + 1] == b'c' {
                    break;
                }
                at = match src[at + 1] {
                    byte @ (b'"' | b'\'') => {
                        literal.push(byte);
                        at + 2
                    }
                    _ => decode_escape(src, at + 1, &mut literal, true),
                };
            }
            b'%' => {
                let start = at + 1;
                let mut end = start;
                while end < src.len() && (src[end].is_ascii_digit() || b"-+ #.*".contains(&src[end])) {
                    end += 1;
                }
                let Some(&kind) = src.get(end) else { return false };
                at = end + 1;
                if kind == b'%' {
                    literal.push(b'%');
                    continue;
                }
                flush(&mut literal, out);
                let value = operands.next().map(printed);
                match kind {
                    // A width only adds blanks or zeros.
                    b's' | b'b' | b'q' if end == start => match value {
                        Some(text) if kind == b'b' => push_escaped(out, &text),
                        Some(text) if kind == b'q' => match text.as_known() {
                            Some(known)
                                if known
                                    .bytes()
                                    .all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b)) =>
                            {
                                out.push(&text);
                            }
                            Some(known) => out.push_text(&quote(&known)),
                            None => out.push(&text),
                        },
                        Some(text) => out.push(&text),
                        None => {}
                    },
                    b'd' | b'i' | b'u' if end == start => match value {
                        None => out.push_text("0"),
                        Some(text) => match text.as_known().map(|known| known.parse::<i64>()) {
                            Some(Ok(number)) => out.push_text(&number.to_string()),
                            _ => return false,
                        },
                    },
                    b'c' if end == start => match value {
                        None => {}
                        Some(text) => match text.as_known() {
                            Some(known) => out.push_text(&known.chars().take(1).collect::<String>()),
                            None => return false,
                        },
                    },
                    b'x' | b'X' | b'o' if end == start => {
                        let number = match value {
                            None => 0,
                            Some(text) => match text.as_known().map(|known| known.parse::<i64>()) {
                                Some(Ok(number)) => number,
                                _ => return false,
                            },
                        };
                        out.push_text(&match kind {
                            b'x' => format!("{number:x}"),
                            b'X' => format!("{number:X}"),
                            _ => format!("{number:o}"),
                        });
                    }
                    b'd' | b'i' | b's' => {
                        let (flags, Some(text)) = (&format[start..end], value) else { return false };
                        let Some(padded) = text.as_known().and_then(|known| pad(&known, flags, kind == b's'))
                        else {
                            return false;
                        };
                        out.push_text(&padded);
                    }
                    _ => return false,
                }
            }
            byte => {
                literal.push(byte);
                at += 1;
            }
        }
    }
    flush(&mut literal, out);
    true
}

/// A text in a field of the width that the flags give.
fn pad(text: &str, flags: &str, string: bool) -> Option<String> {
    if let Some((width, precision)) = flags.split_once('.') {
        if !string || !width.is_empty() {
            return None;
        }
        return precision.parse().ok().map(|count| text.chars().take(count).collect());
    }
    let left = flags.starts_with('-');
    let digits = flags.trim_start_matches('-');
    let zeros = digits.starts_with('0') && !string;
    let width: usize = digits.parse().ok().filter(|width| *width <= 4096)?;
    Some(match (left, zeros) {
        (true, _) => format!("{text:<width$}"),
        (false, true) => format!("{text:0>width$}"),
        (false, false) => format!("{text:>width$}"),
    })
}
