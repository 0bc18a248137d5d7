//! Words as written → parts that keep their quoting.

use std::cell::OnceCell;
use std::rc::Rc;

use super::brace;
use super::lexical::{
    skip_ansi, skip_backtick, skip_brace, skip_bracket, skip_double, skip_paren, skip_single,
};
use super::syntax::{Code, Param, ParamOp, Part, ReplaceHow, Subscript, Word};

/// Where a word stands, which decides what its quotes and backslashes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// A word of a command.
    Command,
    /// The value of an assignment: a tilde also counts behind `:`.
    Assignment,
    /// A pattern, or a word that is not split: no braces.
    Single,
    /// Inside double quotes (an operand of `"${x:-…}"`).
    Double,
    /// The body of a here-document: quotes are text.
    HereDoc,
    /// Arithmetic: double quotes are dropped.
    Arithmetic,
}

/// Takes a word apart. `raw` is the word as written.
pub(crate) fn parse(raw: &str, context: Context) -> Word {
    if let Some(word) = parse_plain(raw, context) {
        return word;
    }
    if context == Context::Command && brace::may_expand(raw) {
        let expansion = brace::expand(raw);
        if expansion.words.len() != 1 || expansion.words[0] != raw || expansion.overflow {
            let source: Rc<str> = raw.into();
            let mut words = expansion.words.iter().map(|text| parse_parts(text, context, source.clone()));
            let mut first = words.next().unwrap_or_default();
            first.siblings = words.collect();
            first.overflow = expansion.overflow;
            return first;
        }
    }
    parse_parts(raw, context, raw.into())
}

/// The common case: a word in which nothing has a meaning of its own.
fn parse_plain(raw: &str, context: Context) -> Option<Word> {
    let special = |byte: u8| {
        matches!(
            byte,
            b'\\'
                | b'\''
                | b'"'
                | b'$'
                | b'`'
                | b'~'
                | b'{'
                | b'*'
                | b'?'
                | b'['
                | b'('
                | b'<'
                | b'>'
                | b'\n'
                | b' '
        )
    };
    if raw.is_empty() || context == Context::HereDoc || raw.bytes().any(special) {
        return None;
    }
    let text: Rc<str> = raw.into();
    Some(Word { source: text.clone(), plain: Some(text), ..Word::default() })
}

fn parse_parts(raw: &str, context: Context, source: Rc<str>) -> Word {
    let mut parser = Parser { src: raw, at: 0, parts: Vec::new(), text: String::new(), text_quoted: false };
    match context {
        Context::Command | Context::Single => parser.unquoted(false),
        Context::Assignment => parser.unquoted(true),
        Context::Double => parser.quoted(raw.len(), Quotes::Toggle),
        Context::HereDoc => parser.quoted(raw.len(), Quotes::Text),
        Context::Arithmetic => parser.quoted(raw.len(), Quotes::Drop),
    }
    parser.flush();
    let Parser { parts, .. } = parser;
    Word { parts, source, ..Word::default() }
}

/// What `"` means inside text that is already quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// It ends the string.
    End,
    /// It is text.
    Text,
    /// It is taken off.
    Drop,
    /// It opens and closes a quoted stretch, all of it quoted anyway.
    Toggle,
}

struct Parser<'a> {
    src: &'a str,
    at: usize,
    parts: Vec<Part>,
    text: String,
    text_quoted: bool,
}

impl Parser<'_> {
    fn bytes(&self) -> &[u8] {
        self.src.as_bytes()
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text).into();
            self.parts.push(Part::Text { text, quoted: self.text_quoted });
        }
    }

    fn push_text(&mut self, text: &str, quoted: bool) {
        if self.text_quoted != quoted {
            self.flush();
            self.text_quoted = quoted;
        }
        self.text.push_str(text);
    }

    fn push_part(&mut self, part: Part) {
        self.flush();
        self.parts.push(part);
    }

    /// `""`: nothing, but enough for a word.
    fn push_empty_quotes(&mut self) {
        self.push_part(Part::Text { text: "".into(), quoted: true });
    }

    /// Text outside quotes, to the end.
    fn unquoted(&mut self, assignment: bool) {
        let mut tilde_here = true;
        while self.at < self.src.len() {
            let tilde_now = std::mem::take(&mut tilde_here);
            match self.bytes()[self.at] {
                b'\\' => self.escape(),
                b'\'' => {
                    let end = skip_single(self.bytes(), self.at);
                    let inner = within(self.src, self.at + 1..end, '\'');
                    self.at = end;
                    if inner.is_empty() { self.push_empty_quotes() } else { self.push_text(inner, true) }
                }
                b'"' => self.double_quotes(),
                b'`' => self.backtick(false),
                b'$' => match self.bytes().get(self.at + 1) {
                    Some(b'\'') => {
                        let end = skip_ansi(self.bytes(), self.at + 1);
                        let inner = self.src[self.at + 2..end].strip_suffix('\'').unwrap_or_default();
                        let decoded = decode_ansi(inner);
                        self.at = end;
                        if decoded.is_empty() {
                            self.push_empty_quotes()
                        } else {
                            self.push_text(&decoded, true)
                        }
                    }
                    Some(b'"') => {
                        self.at += 1;
                        self.double_quotes();
                    }
                    _ => self.dollar(false),
                },
                b'~' if tilde_now => self.tilde(),
                byte @ (b'<' | b'>') if self.bytes().get(self.at + 1) == Some(&b'(') => {
                    let end = skip_paren(self.bytes(), self.at + 1, 0);
                    let code = code(within(self.src, self.at + 2..end, ')'), &self.src[self.at..end]);
                    self.at = end;
                    self.push_part(Part::Process { code, input: byte == b'<' });
                }
                byte => {
                    let end = next_special(self.bytes(), self.at);
                    let text = &self.src[self.at..end];
                    // bash also looks behind the `=` of a word that reads like an assignment (`of=~/x`).
                    let names =
                        self.at == 0 && name_length(text.as_bytes()) + 1 == text.len() && text.ends_with('=');
                    tilde_here = names || (assignment && text.ends_with(':'));
                    debug_assert!(end > self.at, "no progress at {byte}");
                    self.at = end;
                    self.push_text(text, false);
                }
            }
        }
    }

    /// A backslash outside quotes: the next character as text; nothing for a line that goes on.
    fn escape(&mut self) {
        let rest = &self.src[self.at + 1..];
        let Some(next) = rest.chars().next() else {
            self.at += 1;
            self.push_text("\\", true);
            return;
        };
        self.at += 1 + next.len_utf8();
        if next != '\n' {
            self.push_text(&rest[..next.len_utf8()], true);
        }
    }

    fn double_quotes(&mut self) {
        let end = skip_double(self.bytes(), self.at, 0);
        let parts = self.parts.len() + usize::from(!self.text.is_empty());
        let length = self.text.len();
        self.at += 1;
        self.quoted(end, Quotes::End);
        self.at = end;
        let grown =
            self.text.len() != length || self.parts.len() + usize::from(!self.text.is_empty()) != parts;
        if !grown {
            self.push_empty_quotes();
        }
    }

    /// Text inside double quotes, to `end`.
    fn quoted(&mut self, end: usize, quotes: Quotes) {
        while self.at < end {
            match self.bytes()[self.at] {
                b'\\' => {
                    let next = self.bytes().get(self.at + 1).copied();
                    let escapes = match next {
                        Some(b'$' | b'`' | b'\\' | b'\n') => true,
                        Some(b'"') => quotes != Quotes::Text,
                        Some(b'}') => quotes == Quotes::Toggle,
                        _ => false,
                    };
                    if !escapes {
                        self.push_text("\\", true);
                        self.at += 1;
                    } else {
                        let next = &self.src[self.at + 1..self.at + 2];
                        self.at += 2;
                        if next != "\n" {
                            self.push_text(next, true);
                        }
                    }
                }
                b'"' if quotes != Quotes::Text => {
                    self.at += 1;
                    if quotes == Quotes::End {
                        return;
                    }
                }
                b'`' => self.backtick(true),
                b'$' => self.dollar(true),
                _ => {
                    let rest = &self.bytes()[self.at..end];
                    let length = rest
                        .iter()
                        .position(|byte| matches!(byte, b'\\' | b'"' | b'`' | b'$'))
                        .unwrap_or(rest.len());
                    let length = length.max(1);
                    let text = &self.src[self.at..self.at + length];
                    self.at += length;
                    self.push_text(text, true);
                }
            }
        }
    }

    fn backtick(&mut self, in_double: bool) {
        let end = skip_backtick(self.bytes(), self.at);
        let source = &self.src[self.at..end];
        let inner = source.strip_prefix('`').unwrap_or(source);
        let inner = inner.strip_suffix('`').unwrap_or(inner);
        let mut text = String::with_capacity(inner.len());
        let mut chars = inner.chars().peekable();
        while let Some(next) = chars.next() {
            let escaped = next == '\\'
                && chars.peek().is_some_and(|&c| matches!(c, '$' | '`' | '\\') || (in_double && c == '"'));
            text.push(if escaped { chars.next().unwrap_or('\\') } else { next });
        }
        let code = Code { text: text.into(), source: source.into(), parsed: OnceCell::new() };
        self.at = end;
        self.push_part(Part::Command { code, quoted: in_double });
    }

    /// A tilde prefix at the start of a word. bash ends it at a colon in any word: `-v ~:/home`.
    fn tilde(&mut self) {
        let rest = &self.src[self.at + 1..];
        let end = rest.bytes().position(|byte| matches!(byte, b'/' | b':')).unwrap_or(rest.len());
        let user = &rest[..end];
        let valid = user
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+'));
        self.at += 1;
        if valid {
            let part = Part::Tilde(user.into());
            self.at += end;
            self.push_part(part);
        } else {
            self.push_text("~", false);
        }
    }

    /// What begins with `$`, in or out of double quotes.
    fn dollar(&mut self, quoted: bool) {
        let start = self.at;
        let Some(&next) = self.bytes().get(start + 1) else {
            self.at += 1;
            self.push_text("$", quoted);
            return;
        };
        match next {
            b'(' => self.dollar_paren(quoted),
            b'[' => {
                let end = skip_bracket(self.bytes(), start + 1, 0);
                let inner = within(self.src, start + 2..end, ']');
                let text = Box::new(parse(inner, Context::Arithmetic));
                self.at = end;
                self.push_part(Part::Arith { text, quoted });
            }
            b'{' => {
                let end = skip_brace(self.bytes(), start + 1, quoted, 0);
                let source = &self.src[start..end];
                let body = self.src[start + 2..end].strip_suffix('}').unwrap_or(&self.src[start + 2..end]);
                let param = Box::new(parse_param(body, source, quoted));
                self.at = end;
                self.push_part(Part::Param { param, quoted });
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let length = name_length(&self.bytes()[start + 1..]);
                self.plain_param(start + 1 + length, quoted);
            }
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => {
                self.plain_param(start + 2, quoted)
            }
            _ => {
                self.at += 1;
                self.push_text("$", quoted);
            }
        }
    }

    /// `$name` that ends at `end`.
    fn plain_param(&mut self, end: usize, quoted: bool) {
        let source: Rc<str> = self.src[self.at..end].into();
        let name: Rc<str> = self.src[self.at + 1..end].into();
        let param = Param { name, subscript: None, indirect: false, op: ParamOp::Plain, source };
        self.at = end;
        self.push_part(Part::Param { param: Box::new(param), quoted });
    }

    /// `$(…)` or `$((…))`.
    fn dollar_paren(&mut self, quoted: bool) {
        let start = self.at;
        let end = skip_paren(self.bytes(), start + 1, 0);
        let closed = end > start + 2 && self.bytes()[end - 1] == b')';
        let inner = &self.src[start + 2..if closed { end - 1 } else { end }];
        if let Some(expression) = arithmetic_body(inner) {
            let text = Box::new(parse(expression, Context::Arithmetic));
            self.at = end;
            self.push_part(Part::Arith { text, quoted });
            return;
        }
        let code = code(inner, &self.src[start..end]);
        self.at = end;
        self.push_part(Part::Command { code, quoted });
    }
}

/// The expression of `$((…))`, given what stands between the outer parentheses; `None` for a command substitution.
fn arithmetic_body(inner: &str) -> Option<&str> {
    let body = inner.strip_prefix('(')?.strip_suffix(')')?;
    let mut open = 0_i32;
    for byte in body.bytes() {
        match byte {
            b'(' => open += 1,
            b')' => open -= 1,
            _ => {}
        }
        if open < 0 {
            return None;
        }
    }
    (open == 0).then_some(body)
}

fn code(text: &str, source: &str) -> Code {
    Code { text: text.into(), source: source.into(), parsed: OnceCell::new() }
}

/// The next byte from `from` on (at least one further) that means something outside quotes.
fn next_special(src: &[u8], from: usize) -> usize {
    let stop = |&byte: &u8| matches!(byte, b'\\' | b'\'' | b'"' | b'`' | b'$' | b'<' | b'>' | b'~' | b':');
    let rest = &src[from + 1..];
    match rest.iter().position(stop) {
        // A colon stays with the text in front of it: a tilde may follow.
        Some(at) if rest[at] == b':' => from + 1 + at + 1,
        Some(at) => from + 1 + at,
        None => src.len(),
    }
}

/// The length of the variable name at the start.
pub(crate) fn name_length(src: &[u8]) -> usize {
    if src.first().is_none_or(u8::is_ascii_digit) {
        return 0;
    }
    src.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_')).unwrap_or(src.len())
}

/// Reads what stands between the braces of `${…}`.
fn parse_param(body: &str, source: &str, quoted: bool) -> Param {
    let source: Rc<str> = source.into();
    let unknown = |name: &str| Param {
        name: name.into(),
        subscript: None,
        indirect: false,
        op: ParamOp::NotModelled,
        source: source.clone(),
    };
    // zsh: `${=x}` splits what it gives; bash has no such parameter.
    let body = body.strip_prefix('=').filter(|rest| name_length(rest.as_bytes()) > 0).unwrap_or(body);
    let bytes = body.as_bytes();
    // `${#x}` is a length; `${#}`, `${#:-x}`, `${#-x}` are about the number of arguments.
    if bytes.first() == Some(&b'#') && bytes.len() > 1 {
        let rest = &body[1..];
        if let Some((name, subscript, after)) = parse_reference(rest)
            && after.is_empty()
        {
            return Param { name, subscript, indirect: false, op: ParamOp::Length, source };
        }
    }
    let (indirect, rest) = match body.strip_prefix('!') {
        Some(rest) if name_length(rest.as_bytes()) > 0 || rest.starts_with(|c: char| c.is_ascii_digit()) => {
            (true, rest)
        }
        _ => (false, body),
    };
    let Some((name, subscript, after)) = parse_reference(rest) else {
        return unknown(body);
    };
    if indirect {
        match (&subscript, after) {
            (Some(Subscript::At | Subscript::Star), "") => {
                return Param { name, subscript, indirect: false, op: ParamOp::Keys, source };
            }
            (None, "@" | "*") => {
                return Param { name, subscript, indirect: false, op: ParamOp::Names, source };
            }
            _ => {}
        }
    }
    let op = parse_operator(after, quoted);
    Param { name, subscript, indirect, op, source }
}

/// A name or special parameter with its subscript, and what follows.
fn parse_reference(text: &str) -> Option<(Rc<str>, Option<Subscript>, &str)> {
    let bytes = text.as_bytes();
    let length = match bytes.first()? {
        b'0'..=b'9' => bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len()),
        b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => 1,
        _ => name_length(bytes),
    };
    if length == 0 {
        return None;
    }
    let (name, rest) = text.split_at(length);
    if !rest.starts_with('[') {
        return Some((name.into(), None, rest));
    }
    let end = skip_bracket(rest.as_bytes(), 0, 0);
    let inner = rest.get(1..end)?.strip_suffix(']')?;
    let subscript = match inner {
        "@" => Subscript::At,
        "*" => Subscript::Star,
        _ => Subscript::Index(parse(inner, Context::Arithmetic)),
    };
    Some((name.into(), Some(subscript), &rest[end..]))
}

fn parse_operator(text: &str, quoted: bool) -> ParamOp {
    let operand = |text: &str| parse(text, if quoted { Context::Double } else { Context::Single });
    let pattern = |text: &str| parse(text, Context::Single);
    let bytes = text.as_bytes();
    let Some(&first) = bytes.first() else { return ParamOp::Plain };
    let colon = first == b':';
    let rest = if colon { &text[1..] } else { text };
    match rest.as_bytes().first() {
        Some(b'-') => return ParamOp::Default { colon, word: operand(&rest[1..]) },
        Some(b'=') => return ParamOp::Assign { colon, word: operand(&rest[1..]) },
        Some(b'?') => return ParamOp::Require { colon },
        Some(b'+') => return ParamOp::Alternative { colon, word: operand(&rest[1..]) },
        _ => {}
    }
    match first {
        b':' => {
            let split = split_slice(rest);
            let offset = parse(&rest[..split.unwrap_or(rest.len())], Context::Arithmetic);
            let length = split.map(|at| parse(&rest[at + 1..], Context::Arithmetic));
            ParamOp::Slice { offset, length }
        }
        b'#' | b'%' => {
            let longest = bytes.get(1) == Some(&first);
            ParamOp::Trim {
                suffix: first == b'%',
                longest,
                pattern: pattern(&text[1 + usize::from(longest)..]),
            }
        }
        b'/' => {
            let (how, rest) = match bytes.get(1) {
                Some(b'/') => (ReplaceHow::All, &text[2..]),
                Some(b'#') => (ReplaceHow::Prefix, &text[2..]),
                Some(b'%') => (ReplaceHow::Suffix, &text[2..]),
                _ => (ReplaceHow::First, &text[1..]),
            };
            let split = split_replacement(rest);
            let with = split.map_or("", |at| &rest[at + 1..]);
            ParamOp::Replace {
                how,
                pattern: pattern(&rest[..split.unwrap_or(rest.len())]),
                with: operand(with),
            }
        }
        b'^' | b',' => {
            let all = bytes.get(1) == Some(&first);
            let rest = &text[1 + usize::from(all)..];
            ParamOp::Case { upper: first == b'^', all, pattern: (!rest.is_empty()).then(|| pattern(rest)) }
        }
        b'@' if bytes.len() == 2 => ParamOp::Transform(char::from(bytes[1])),
        _ => ParamOp::NotModelled,
    }
}

/// Where the pattern of `${x/pattern/with}` ends.
fn split_replacement(text: &str) -> Option<usize> {
    scan_to(text, b'/')
}

/// Where the offset of `${x:offset:length}` ends: a `?:` keeps its colon.
fn split_slice(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut open, mut conditionals) = (0, 0_i32, 0_i32);
    while at < bytes.len() {
        match bytes[at] {
            b'(' => open += 1,
            b')' => open -= 1,
            b'?' => conditionals += 1,
            b':' if open == 0 && conditionals == 0 => return Some(at),
            b':' => conditionals -= 1,
            b'$' => {
                at = super::lexical::skip_dollar(bytes, at, true, 0);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The first unquoted `wanted` that is in no nested construct.
fn scan_to(text: &str, wanted: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        at = match bytes[at] {
            byte if byte == wanted => return Some(at),
            b'\\' => at + 2,
            b'\'' => skip_single(bytes, at),
            b'"' => skip_double(bytes, at, 0),
            b'`' => skip_backtick(bytes, at),
            b'$' => super::lexical::skip_dollar(bytes, at, false, 0),
            _ => at + 1,
        };
    }
    None
}

/// The text of `$'…'`.
pub(crate) fn decode_ansi(inner: &str) -> String {
    let mut bytes = Vec::with_capacity(inner.len());
    let src = inner.as_bytes();
    let mut at = 0;
    while at < src.len() {
        if src[at] != b'\\' || at + 1 >= src.len() {
            bytes.push(src[at]);
            at += 1;
            continue;
        }
        at = decode_escape(src, at + 1, &mut bytes, true);
    }
    // bash cuts the string at a NUL.
    if let Some(end) = bytes.iter().position(|&byte| byte == 0) {
        bytes.truncate(end);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Decodes the escape whose letter is at `at` (the backslash is in front of it); gives the offset behind it.
/// `ansi`: as in `$'…'`, else as `echo -e` and `printf %b` do it.
pub(crate) fn decode_escape(src: &[u8], at: usize, out: &mut Vec<u8>, ansi: bool) -> usize {
    let push_char = |code: u32, out: &mut Vec<u8>| {
        let text = char::from_u32(code).unwrap_or('\u{fffd}');
        out.extend_from_slice(text.encode_utf8(&mut [0; 4]).as_bytes());
    };
    let digits = |from: usize, most: usize, radix: u32| {
        let run =
            src[from.min(src.len())..].iter().take(most).take_while(|&&b| char::from(b).is_digit(radix));
        let count = run.count();
        let text = std::str::from_utf8(&src[from.min(src.len())..from.min(src.len()) + count]).unwrap_or("");
        (u32::from_str_radix(text, radix).ok(), from + count)
    };
    match src[at] {
        b'a' => out.push(7),
        b'b' => out.push(8),
        b'e' | b'E' => out.push(27),
        b'f' => out.push(12),
        b'n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b'v' => out.push(11),
        b'\\' => out.push(b'\\'),
        byte @ (b'\'' | b'"' | b'?') if ansi => out.push(byte),
        b'x' => {
            let (code, end) = digits(at + 1, 2, 16);
            match code {
                // At most two hex digits: it fits.
                Some(code) => out.push((code & 0xff) as u8),
                None => out.extend_from_slice(b"\\x"),
            }
            return end;
        }
        letter @ (b'u' | b'U') => {
            let (code, end) = digits(at + 1, if letter == b'u' { 4 } else { 8 }, 16);
            match code {
                Some(code) => push_char(code, out),
                None => out.extend_from_slice(&[b'\\', letter]),
            }
            return end;
        }
        b'c' if ansi => {
            if let Some(&byte) = src.get(at + 1) {
                out.push(byte.to_ascii_uppercase() & 0x1f);
            }
            return (at + 2).min(src.len());
        }
        b'0' if !ansi => {
            let (code, end) = digits(at + 1, 3, 8);
            out.push((code.unwrap_or(0) & 0xff) as u8);
            return end;
        }
        b'0'..=b'7' => {
            let (code, end) = digits(at, 3, 8);
            out.push((code.unwrap_or(0) & 0xff) as u8);
            return end;
        }
        byte => out.extend_from_slice(&[b'\\', byte]),
    }
    at + 1
}

/// What stands between an opening and its closing sign. Where the text ends first, as a word out of its context may, it
/// reaches to the end.
fn within(src: &str, stretch: std::ops::Range<usize>, close: char) -> &str {
    let inner = src.get(stretch).unwrap_or_default();
    inner.strip_suffix(close).unwrap_or(inner)
}
