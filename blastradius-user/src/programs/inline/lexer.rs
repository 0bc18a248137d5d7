//! Code → tokens: strings and comments are told apart from code, and text within strings that is code is kept as such.
//!
//! One tokenizer reads all languages from their descriptions. It never fails: what it does not know becomes a sign that
//! the reader steps over.

use std::rc::Rc;

use super::language::{Interpolation, Language};

/// A stretch of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text as the program sees it, escapes undone.
    Text(String),
    /// An expression whose value stands here.
    Code(String),
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, sigil included.
    Name(Rc<str>),
    /// A string.
    Text(Vec<Part>),
    /// Text that a shell runs: backticks, `qx{}`, `%x()`.
    Command(Vec<Part>),
    /// A list of plain words: `qw(a b)`, `%w[a b]`.
    Words(Vec<String>),
    /// A file pattern: `<*.o>` of Perl.
    Glob(Vec<Part>),
    /// A regular expression or a transliteration: no text that becomes a path.
    Pattern,
    /// A number.
    Number(Rc<str>),
    /// An operator or a punctuation mark.
    Sign(&'static str),
    /// The end of a line, with the indentation of the next.
    Line(usize),
}

/// Operators of several characters, longest first.
const SIGNS: &[&str] = &[
    "===", "!==", "**=", "//=", "...", "<=>", "||=", "&&=", "??=", "<<=", ">>=", "->", "=>", "::", "==",
    "!=", "<=", ">=", "+=", "-=", "*=", "/=", ".=", "|=", "&=", "%=", "^=", "||", "&&", "??", "?.", "**",
    "..", "=~", "!~", "<<", ">>", ":=", "++", "--", "//", "(", ")", "[", "]", "{", "}", ",", ";", ":", ".",
    "=", "+", "-", "*", "/", "%", "<", ">", "!", "?", "|", "&", "^", "~", "@", "$", "\\", "#", "`",
];

/// Words behind which a `/` begins a pattern and a `<` a file pattern.
const OPERATOR_WORDS: &[&str] = &[
    "return", "if", "unless", "and", "or", "not", "split", "grep", "map", "when", "in", "for", "foreach",
    "unlink", "typeof", "case", "while", "until", "push", "print",
];

/// Reads code into tokens.
pub(super) fn tokens(code: &str, language: &Language) -> Vec<Token> {
    let mut lexer = Lexer { code, at: 0, language, tokens: Vec::new(), heredoc_end: None, line_end: 0 };
    lexer.read();
    lexer.tokens
}

struct Lexer<'a> {
    code: &'a str,
    at: usize,
    language: &'a Language,
    tokens: Vec<Token>,
    /// Where the bodies of the here-documents end that began on this line.
    heredoc_end: Option<usize>,
    /// Where the current line ends, looked for once a line.
    line_end: usize,
}

/// Code within a string, or a file pattern, that is longer is taken as text: nobody writes it by hand.
const EMBEDDED_LIMIT: usize = 2000;

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.code.get(self.at..).unwrap_or_default()
    }

    /// The rest of the current line.
    fn line_rest(&mut self) -> &'a str {
        if self.line_end <= self.at {
            self.line_end = self.rest().find('\n').map_or(self.code.len(), |end| self.at + end);
        }
        self.code.get(self.at..self.line_end).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn read(&mut self) {
        while let Some(letter) = self.peek() {
            let done = self.line(letter)
                || self.comment()
                || self.heredoc()
                || self.string(letter)
                || self.quote_word()
                || self.pattern(letter)
                || self.name(letter)
                || self.number(letter)
                || self.sign();
            if !done {
                self.at += letter.len_utf8();
            }
        }
    }

    fn line(&mut self, letter: char) -> bool {
        if letter == '\n' {
            self.at = self.heredoc_end.take().unwrap_or(self.at + 1);
            let indent = self.rest().chars().take_while(|letter| matches!(letter, ' ' | '\t')).count();
            self.tokens.push(Token::Line(indent));
            return true;
        }
        if letter == '\\' && self.rest().starts_with("\\\n") {
            self.at += 2;
            return true;
        }
        if letter.is_whitespace() {
            self.at += letter.len_utf8();
            return true;
        }
        false
    }

    fn comment(&mut self) -> bool {
        let rest = self.rest();
        for (open, close) in self.language.block_comments {
            if rest.starts_with(open) {
                let end = rest.get(open.len()..).and_then(|body| body.find(close));
                self.at += end.map_or(rest.len(), |end| open.len() + end + close.len());
                return true;
            }
        }
        // `$#array` of Perl is no comment.
        let after_sigil = self.code.get(..self.at).is_some_and(|before| before.ends_with('$'));
        if !after_sigil && self.language.line_comments.iter().any(|open| rest.starts_with(open)) {
            self.at += self.line_rest().len();
            return true;
        }
        false
    }

    /// Whether an operand may begin here: behind an operator, not behind a value.
    fn at_operand(&self) -> bool {
        match self.tokens.last() {
            None | Some(Token::Line(_)) => true,
            Some(Token::Sign(sign)) => !matches!(*sign, ")" | "]" | "}"),
            Some(Token::Name(name)) => OPERATOR_WORDS.contains(&&**name),
            Some(_) => false,
        }
    }

    /// `puts %q(x)`: behind a name and a blank, what is glued to its sign is an argument without parentheses.
    fn may_be_argument(&self) -> bool {
        let before = self.code.get(..self.at).unwrap_or_default();
        matches!(self.tokens.last(), Some(Token::Name(_))) && before.ends_with([' ', '\t'])
    }

    /// `<<WORD`, `<<"WORD"`, `<<~WORD` (Perl, Ruby), `<<<WORD` (PHP): the body stands behind this line.
    fn heredoc(&mut self) -> bool {
        let open = self.language.heredocs;
        if open.is_empty() || !self.rest().starts_with(open) {
            return false;
        }
        let after = self.rest().get(open.len()..).unwrap_or_default();
        let after = after.trim_start_matches(['~', '-', ' ']);
        let quote = after.chars().next().filter(|first| matches!(first, '"' | '\''));
        let named = quote.map_or(after, |quote| after.trim_start_matches(quote));
        let word: String =
            named.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
        let plausible = word
            .chars()
            .next()
            .is_some_and(|first| first.is_uppercase() || quote.is_some() || open.len() == 3);
        if !plausible {
            return false;
        }
        let body_start = self.heredoc_end.unwrap_or(self.at + self.line_rest().len() + 1);
        if body_start >= self.code.len() {
            return false;
        }
        let (body, length) = heredoc_body(self.code.get(body_start..).unwrap_or_default(), &word);
        self.heredoc_end = Some(body_start + length);
        let style = if quote == Some('\'') { Interpolation::None } else { self.double_quoted() };
        self.tokens.push(Token::Text(interpolate(body, style)));
        let consumed = self.rest().len() - named.len() + word.len() + usize::from(quote.is_some());
        self.at += consumed;
        true
    }

    fn double_quoted(&self) -> Interpolation {
        self.language
            .quotes
            .iter()
            .find(|(quote, _)| *quote == '"')
            .map_or(Interpolation::None, |(_, style)| *style)
    }

    fn string(&mut self, letter: char) -> bool {
        if self.language.prefixed {
            return self.prefixed_string();
        }
        if self.language.name == "lua" && self.rest().starts_with("[[") {
            let body = self.rest().get(2..).unwrap_or_default();
            let end = body.find("]]").unwrap_or(body.len());
            self.tokens.push(Token::Text(vec![Part::Text(body.get(..end).unwrap_or_default().to_owned())]));
            self.at += (2 + end + 2).min(self.rest().len());
            return true;
        }
        if self.language.command_quote == Some(letter) {
            let body = self.delimited(letter, letter);
            self.tokens.push(Token::Command(interpolate(&body, self.double_quoted())));
            return true;
        }
        let Some((_, style)) = self.language.quotes.iter().find(|(quote, _)| *quote == letter) else {
            return false;
        };
        let body = self.delimited(letter, letter);
        let raw = *style == Interpolation::None && letter == '\'' && self.language.sigils.contains('$');
        let parts = if raw { vec![Part::Text(raw_quoted(&body))] } else { interpolate(&body, *style) };
        self.tokens.push(Token::Text(parts));
        true
    }

    /// Python: `r"…"`, `f'…'`, `b"""…"""`.
    fn prefixed_string(&mut self) -> bool {
        let rest = self.rest();
        let prefix = rest.find(|letter: char| !"rRbBfFuUtT".contains(letter)).unwrap_or(rest.len());
        let body = rest.get(prefix..).unwrap_or_default();
        let Some(quote) = body.chars().next().filter(|first| matches!(first, '"' | '\'')) else {
            return false;
        };
        if prefix > 2 {
            return false;
        }
        let letters = rest.get(..prefix).unwrap_or_default().to_lowercase();
        self.at += prefix;
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let body = if body.starts_with(&triple) {
            let body = body.get(3..).unwrap_or_default();
            let end = body.find(&triple).unwrap_or(body.len());
            self.at += (end + 6).min(self.rest().len());
            body.get(..end).unwrap_or_default().to_owned()
        } else {
            self.delimited(quote, quote)
        };
        let parts = match (letters.contains('f'), letters.contains('r')) {
            (true, _) => interpolate(&body, Interpolation::Braces),
            (false, true) => vec![Part::Text(body)],
            (false, false) => interpolate(&body, Interpolation::None),
        };
        self.tokens.push(Token::Text(parts));
        true
    }

    /// The body between delimiters, escapes kept; the position moves behind the closing one. Brackets nest.
    fn delimited(&mut self, open: char, close: char) -> String {
        let mut depth = 0_usize;
        let mut body = String::new();
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((place, letter)) = letters.next() {
            if letter == '\\' {
                body.push(letter);
                body.extend(letters.next().map(|(_, next)| next));
                continue;
            }
            if letter == close && depth == 0 {
                self.at += place + letter.len_utf8();
                return body;
            }
            if open != close && letter == open {
                depth += 1;
            } else if open != close && letter == close {
                depth -= 1;
            }
            body.push(letter);
        }
        self.at = self.code.len();
        body
    }

    /// Perl's `q qq qw qx m s tr y qr`, Ruby's `%w %i %q %Q %x`.
    fn quote_word(&mut self) -> bool {
        let rest = self.rest();
        let found = self.language.quote_words.iter().find(|word| rest.starts_with(**word));
        let Some(word) = found else { return false };
        if matches!(self.tokens.last(), Some(Token::Sign("->" | "." | "::" | "{"))) && !word.starts_with('%')
        {
            return false;
        }
        let after = rest.get(word.len()..).unwrap_or_default();
        let trimmed = after.trim_start_matches(' ');
        let Some(open) = trimmed.chars().next() else { return false };
        let glued = trimmed.len() == after.len();
        let arrow = trimmed.starts_with("=>") || trimmed.starts_with("= ") || trimmed.starts_with("==");
        let percent = word.starts_with('%');
        if open.is_alphanumeric()
            || open.is_whitespace()
            || "_,;)=\\$".contains(open)
            || arrow
            || percent && !(glued && (self.at_operand() || self.may_be_argument()))
        {
            return false;
        }
        if !glued && open == '#' {
            return false;
        }
        let close = closing(open);
        self.at += word.len() + (after.len() - trimmed.len());
        let body = self.delimited(open, close);
        let token = match *word {
            "q" | "%q" => Token::Text(vec![Part::Text(raw_quoted(&body))]),
            "qq" | "%Q" => Token::Text(interpolate(&body, self.double_quoted())),
            "qw" | "%w" | "%i" => Token::Words(body.split_whitespace().map(str::to_owned).collect()),
            "qx" | "%x" => Token::Command(interpolate(&body, self.double_quoted())),
            "s" | "tr" | "y" => {
                self.second_body(open, close);
                Token::Pattern
            }
            _ => Token::Pattern,
        };
        if token == Token::Pattern {
            self.skip_flags();
        }
        self.tokens.push(token);
        true
    }

    /// The replacement of `s/…/…/` or `s{…}{…}`.
    fn second_body(&mut self, open: char, close: char) {
        if open == close {
            // The closing delimiter of the first body opens the second.
            self.at = self.at.saturating_sub(close.len_utf8());
        } else {
            let skipped = self.rest().len() - self.rest().trim_start().len();
            self.at += skipped;
        }
        let open = self.peek().unwrap_or(open);
        self.delimited(open, closing(open));
    }

    fn skip_flags(&mut self) {
        let flags = self.rest().chars().take_while(char::is_ascii_alphabetic).count();
        self.at += flags;
    }

    /// `/…/` in front of which an operand may begin, and `<*.o>` of Perl.
    fn pattern(&mut self, letter: char) -> bool {
        if !self.language.patterns || !self.at_operand() {
            return false;
        }
        if letter == '<' && self.language.name == "perl" {
            return self.file_pattern();
        }
        if letter != '/' {
            return false;
        }
        if !closes_on_line(self.line_rest()) {
            return false;
        }
        self.delimited('/', '/');
        self.skip_flags();
        self.tokens.push(Token::Pattern);
        true
    }

    fn file_pattern(&mut self) -> bool {
        let line = self.line_rest();
        let Some(end) = line.char_indices().take(EMBEDDED_LIMIT).find(|(_, letter)| *letter == '>') else {
            return false;
        };
        let end = end.0;
        let body = line.get(1..end).unwrap_or_default();
        if body.contains(['<', '=', ';']) {
            return false;
        }
        self.at += end + 1;
        let token = if body.contains(['*', '?', '/', '~', '{']) {
            Token::Glob(interpolate(body, Interpolation::Sigils))
        } else {
            Token::Name(format!("<{body}>").into())
        };
        self.tokens.push(token);
        true
    }

    fn name(&mut self, letter: char) -> bool {
        let rest = self.rest();
        let sigil = self.language.sigils.contains(letter);
        let begins =
            letter.is_alphabetic() || letter == '_' || letter == '$' && self.language.name == "javascript";
        if !begins && !sigil {
            return false;
        }
        let start = if sigil && !begins { letter.len_utf8() } else { 0 };
        let body = rest.get(start..).unwrap_or_default();
        // `${name}` of Perl is `$name`.
        if sigil && letter == '$' && body.starts_with('{') {
            let name: String = body
                .chars()
                .skip(1)
                .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                .collect();
            if !name.is_empty() && body.get(1 + name.len()..).is_some_and(|after| after.starts_with('}')) {
                self.tokens.push(Token::Name(format!("${name}").into()));
                self.at += start + name.len() + 2;
                return true;
            }
        }
        let dollar = self.language.name == "javascript";
        let continues = |letter: char| letter.is_alphanumeric() || letter == '_' || dollar && letter == '$';
        let length = body.find(|letter| !continues(letter)).unwrap_or(body.len());
        if start > 0 && length == 0 {
            // `$_` is a name like others; `$!`, `$0`, `$$` are special, `@` and `%` alone are operators.
            let special =
                letter == '$' && body.chars().next().is_some_and(|next| "!@/\\,;.&0$^".contains(next));
            if !special {
                return false;
            }
            self.tokens.push(Token::Name(format!("${}", &body[..1]).into()));
            self.at += 2;
            return true;
        }
        if start > 0 && letter == '%' && !self.at_operand() {
            return false;
        }
        let mut end = start + length;
        // `delete?` and `save!` of Ruby and Elixir, but not `x!=y`.
        if matches!(self.language.name, "ruby" | "elixir") {
            let tail = rest.get(end..).unwrap_or_default();
            if tail.starts_with(['?', '!']) && !tail.get(1..).is_some_and(|next| next.starts_with('=')) {
                end += 1;
            }
        }
        self.tokens.push(Token::Name(rest.get(..end).unwrap_or_default().into()));
        self.at += end;
        true
    }

    fn number(&mut self, letter: char) -> bool {
        if !letter.is_ascii_digit() {
            return false;
        }
        let rest = self.rest();
        let length =
            rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        self.tokens.push(Token::Number(rest.get(..length).unwrap_or_default().into()));
        self.at += length;
        true
    }

    fn sign(&mut self) -> bool {
        let Some(sign) = SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) else { return false };
        self.tokens.push(Token::Sign(sign));
        self.at += sign.len();
        true
    }
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        other => other,
    }
}

/// Whether a pattern that begins with the line's `/` ends on it.
fn closes_on_line(line: &str) -> bool {
    let mut letters = line.chars().skip(1);
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            '/' => return true,
            _ => {}
        }
    }
    false
}

/// The body of a here-document and how far it reaches, its last line included.
fn heredoc_body<'a>(text: &'a str, word: &str) -> (&'a str, usize) {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim().trim_end_matches([';', ',', ')']);
        if trimmed == word {
            return (text.get(..length).unwrap_or_default(), length + line.len());
        }
        length += line.len();
    }
    (text, text.len())
}

/// `'…'` of Perl, PHP and Ruby: only `\\` and the quote are escapes.
fn raw_quoted(body: &str) -> String {
    let mut plain = String::with_capacity(body.len());
    let mut letters = body.chars().peekable();
    while let Some(letter) = letters.next() {
        match letters.peek() {
            Some(next @ ('\\' | '\'')) if letter == '\\' => {
                plain.push(*next);
                letters.next();
            }
            _ => plain.push(letter),
        }
    }
    plain
}

/// Undoes escapes, and takes the code out of a string that may hold some.
fn interpolate(body: &str, style: Interpolation) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut at = 0;
    while let Some(letter) = body.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = body.get(at..).unwrap_or_default();
        if letter == '\\' {
            at += escape(rest, &mut text);
            continue;
        }
        if let Some((code, length)) = embedded(rest, style) {
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Code(code));
            at += length;
            continue;
        }
        let doubled = style == Interpolation::Braces && (rest.starts_with("{{") || rest.starts_with("}}"));
        text.push(letter);
        at += if doubled { 2 } else { letter.len_utf8() };
    }
    if !text.is_empty() || parts.is_empty() {
        parts.push(Part::Text(text));
    }
    parts
}

/// One escape; returns its length.
fn escape(rest: &str, text: &mut String) -> usize {
    let mut letters = rest.chars().skip(1);
    let Some(letter) = letters.next() else {
        text.push('\\');
        return 1;
    };
    let hex = |digits: usize, skip: usize| {
        let code = rest.get(skip..skip + digits)?;
        u32::from_str_radix(code, 16).ok().and_then(char::from_u32)
    };
    match letter {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        '0' => text.push('\0'),
        '\n' => {}
        'x' => {
            if let Some(letter) = hex(2, 2) {
                text.push(letter);
                return 4;
            }
            text.push('x');
        }
        'u' => {
            if let Some(letter) = hex(4, 2) {
                text.push(letter);
                return 6;
            }
            text.push('u');
        }
        other => text.push(other),
    }
    1 + letter.len_utf8()
}

/// The code that begins here, and how long its spelling is.
fn embedded(rest: &str, style: Interpolation) -> Option<(String, usize)> {
    match style {
        Interpolation::None => None,
        Interpolation::Braces => {
            if rest.starts_with("{{") || !rest.starts_with('{') {
                return None;
            }
            let (code, length) = braced(rest)?;
            Some((without_format(&code), length))
        }
        Interpolation::DollarBraces => {
            let (code, length) = braced(rest.strip_prefix('$')?)?;
            Some((code, length + 1))
        }
        Interpolation::HashBraces => {
            let (code, length) = braced(rest.strip_prefix('#')?)?;
            Some((code, length + 1))
        }
        Interpolation::Sigils => sigil_code(rest),
    }
}

/// `{…}`, nested braces included.
fn braced(rest: &str) -> Option<(String, usize)> {
    if !rest.starts_with('{') {
        return None;
    }
    let mut depth = 0_usize;
    for (place, letter) in rest.char_indices().take(EMBEDDED_LIMIT) {
        match letter {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some((rest.get(1..place)?.to_owned(), place + 1));
                }
            }
            _ => {}
        }
    }
    None
}

/// The expression of `{expr!r:>10}`.
fn without_format(code: &str) -> String {
    let mut depth = 0_usize;
    for (place, letter) in code.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => return code.get(..place).unwrap_or_default().to_owned(),
            '!' if depth == 0 && !code.get(place + 1..).is_some_and(|next| next.starts_with('=')) => {
                return code.get(..place).unwrap_or_default().to_owned();
            }
            _ => {}
        }
    }
    code.to_owned()
}

/// `$name`, `${name}`, `$name{key}`, `$name[0]`, `$name->{key}`, `@name`, `{$name…}`.
fn sigil_code(rest: &str) -> Option<(String, usize)> {
    if rest.starts_with("{$") {
        return braced(rest);
    }
    let sigil = rest.chars().next().filter(|first| matches!(first, '$' | '@'))?;
    let body = rest.get(1..)?;
    if body.starts_with('{') {
        let (name, length) = braced(body)?;
        return Some((format!("{sigil}{name}"), length + 1));
    }
    let length = body.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(body.len());
    if length == 0 || sigil == '@' && body.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let mut end = 1 + length;
    let tail = rest.get(end..).unwrap_or_default();
    let arrow = if tail.starts_with("->") { 2 } else { 0 };
    let index = tail.get(arrow..).unwrap_or_default();
    if index.starts_with('{') {
        end += arrow + braced(index).map_or(0, |(_, length)| length);
    } else if index.starts_with('[') {
        end += index.find(']').map_or(0, |close| arrow + close + 1);
    }
    Some((rest.get(..end)?.to_owned(), end))
}
