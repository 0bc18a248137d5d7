//! Arithmetic, on the text that is left after expansion.
//!
//! `None` stands for a number that is known only at run time. Assignments take effect as in bash; one that may or
//! may not happen makes the variable unknown.

/// The variables that an expression reads and writes.
pub(crate) trait Variables {
    /// The text of a variable; `None`: known only at run time. Unset reads as "".
    fn get(&mut self, name: &str, index: Option<&str>) -> Option<String>;
    /// Assigns a number; `None`: known only at run time.
    fn set(&mut self, name: &str, index: Option<&str>, value: Option<i64>);
}

/// Nested parentheses, and variables that hold expressions.
const MAX_DEPTH: u32 = 24;

/// Evaluates an expression; the empty one is 0. `None`: known only at run time, or an error.
pub(crate) fn evaluate(text: &str, variables: &mut dyn Variables) -> Option<i64> {
    evaluate_at(text, variables, 0)
}

fn evaluate_at(text: &str, variables: &mut dyn Variables, depth: u32) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0);
    }
    if let Ok(number) = text.parse::<i64>()
        && !(text.len() > 1 && text.trim_start_matches('-').starts_with('0'))
    {
        return Some(number);
    }
    let mut parser = Parser { src: text.as_bytes(), text, at: 0, variables, depth, muted: 0, uncertain: 0 };
    let value = parser.comma()?;
    parser.space();
    (parser.at == text.len()).then_some(value).flatten()
}

struct Parser<'a> {
    src: &'a [u8],
    text: &'a str,
    at: usize,
    variables: &'a mut dyn Variables,
    depth: u32,
    /// Above 0: inside a branch that is not taken.
    muted: u32,
    /// Above 0: inside a branch that may be taken.
    uncertain: u32,
}

/// A value, or an error of syntax.
type Parsed = Option<Option<i64>>;

/// Binary operators by binding strength, loosest first.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Parser<'_> {
    fn space(&mut self) {
        while self.src.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.src[self.at..].starts_with(token.as_bytes());
        if found {
            self.at += token.len();
        }
        found
    }

    fn comma(&mut self) -> Parsed {
        let mut value = self.assignment()?;
        while self.eat(",") {
            value = self.assignment()?;
        }
        Some(value)
    }

    /// The name at the cursor with its subscript, and the offset behind.
    fn reference(&mut self) -> Option<(String, Option<String>, usize)> {
        self.space();
        let length = super::word::name_length(&self.src[self.at..]);
        if length == 0 {
            return None;
        }
        let name = self.text[self.at..self.at + length].to_owned();
        let end = self.at + length;
        if self.src.get(end) == Some(&b'[') {
            let close = super::lexical::skip_bracket(self.src, end, 0);
            let index = self.text[end + 1..close].strip_suffix(']')?.to_owned();
            return Some((name, Some(index), close));
        }
        Some((name, None, end))
    }

    fn assignment(&mut self) -> Parsed {
        let start = self.at;
        if let Some((name, index, end)) = self.reference() {
            self.at = end;
            self.space();
            for op in ["<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "="] {
                if !self.src[self.at..].starts_with(op.as_bytes()) || self.src[self.at..].starts_with(b"==") {
                    continue;
                }
                self.at += op.len();
                let right = self.assignment()?;
                let value = if op == "=" {
                    right
                } else {
                    let left = self.read(&name, index.as_deref());
                    apply(&op[..op.len() - 1], left, right)
                };
                self.write(&name, index.as_deref(), value);
                return Some(value);
            }
            self.at = start;
        }
        self.conditional()
    }

    fn conditional(&mut self) -> Parsed {
        let condition = self.binary(0)?;
        if !self.eat("?") {
            return Some(condition);
        }
        let yes = self.branch(condition.map(|value| value != 0), Self::comma)?;
        if !self.eat(":") {
            return None;
        }
        let no = self.branch(condition.map(|value| value == 0), Self::conditional)?;
        Some(match condition {
            Some(0) => no,
            Some(_) => yes,
            None => None,
        })
    }

    /// Evaluates what is reached only if `taken`.
    fn branch(&mut self, taken: Option<bool>, parse: fn(&mut Self) -> Parsed) -> Parsed {
        match taken {
            Some(true) => parse(self),
            Some(false) => {
                self.muted += 1;
                let value = parse(self);
                self.muted -= 1;
                value
            }
            None => {
                self.uncertain += 1;
                let value = parse(self);
                self.uncertain -= 1;
                value
            }
        }
    }

    fn binary(&mut self, level: usize) -> Parsed {
        let Some(ops) = LEVELS.get(level) else { return self.power() };
        let mut left = self.binary(level + 1)?;
        'next: loop {
            self.space();
            for op in *ops {
                let rest = &self.src[self.at..];
                if !rest.starts_with(op.as_bytes()) || is_longer_operator(rest, op) {
                    continue;
                }
                self.at += op.len();
                left = match (*op, left) {
                    ("&&", known) => {
                        let right = self.next_logical(level, known.map(|value| value != 0))?;
                        logical(known, right, true)
                    }
                    ("||", known) => {
                        let right = self.next_logical(level, known.map(|value| value == 0))?;
                        logical(known, right, false)
                    }
                    (op, left) => {
                        let right = self.binary(level + 1)?;
                        apply(op, left, right)
                    }
                };
                continue 'next;
            }
            return Some(left);
        }
    }

    fn next_logical(&mut self, level: usize, taken: Option<bool>) -> Parsed {
        match level {
            0 => self.branch(taken, |parser| parser.binary(1)),
            _ => self.branch(taken, |parser| parser.binary(2)),
        }
    }

    fn power(&mut self) -> Parsed {
        let base = self.unary()?;
        if self.eat("**") {
            let exponent = self.power()?;
            return Some(apply("**", base, exponent));
        }
        Some(base)
    }

    fn unary(&mut self) -> Parsed {
        self.depth += 1;
        let value = if self.depth > MAX_DEPTH * 4 { None } else { self.unary_inner() };
        self.depth -= 1;
        value
    }

    fn unary_inner(&mut self) -> Parsed {
        self.space();
        for (op, step) in [("++", 1), ("--", -1)] {
            let start = self.at;
            if self.eat(op) {
                if let Some((name, index, end)) = self.reference() {
                    self.at = end;
                    let value = self.read(&name, index.as_deref()).map(|value| value.wrapping_add(step));
                    self.write(&name, index.as_deref(), value);
                    return Some(value);
                }
                self.at = start;
            }
        }
        match self.src.get(self.at)? {
            b'!' => {
                self.at += 1;
                Some(self.unary()?.map(|value| i64::from(value == 0)))
            }
            b'~' => {
                self.at += 1;
                Some(self.unary()?.map(|value| !value))
            }
            b'-' => {
                self.at += 1;
                Some(self.unary()?.map(i64::wrapping_neg))
            }
            b'+' => {
                self.at += 1;
                self.unary()
            }
            b'(' => {
                self.at += 1;
                let value = self.comma()?;
                self.eat(")").then_some(value)
            }
            byte if byte.is_ascii_digit() => self.number(),
            _ => self.variable(),
        }
    }

    fn number(&mut self) -> Parsed {
        let rest = &self.src[self.at..];
        let length = rest
            .iter()
            .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b'_' | b'@')))
            .unwrap_or(rest.len());
        let text = &self.text[self.at..self.at + length];
        self.at += length;
        let (radix, digits) = if let Some((radix, digits)) = text.split_once('#') {
            (radix.parse().ok().filter(|radix| (2..=36).contains(radix))?, digits)
        } else if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            (16, digits)
        } else if text.len() > 1 && text.starts_with('0') {
            (8, &text[1..])
        } else {
            (10, text)
        };
        i64::from_str_radix(digits, radix).ok().map(Some)
    }

    fn variable(&mut self) -> Parsed {
        let (name, index, end) = self.reference()?;
        self.at = end;
        let value = self.read(&name, index.as_deref());
        for (op, step) in [("++", 1), ("--", -1)] {
            if self.src[self.at..].starts_with(op.as_bytes()) {
                self.at += 2;
                self.write(&name, index.as_deref(), value.map(|value| value.wrapping_add(step)));
                return Some(value);
            }
        }
        Some(value)
    }

    fn read(&mut self, name: &str, index: Option<&str>) -> Option<i64> {
        if self.depth > MAX_DEPTH {
            return None;
        }
        let text = self.variables.get(name, index)?;
        evaluate_at(&text, self.variables, self.depth + 1)
    }

    fn write(&mut self, name: &str, index: Option<&str>, value: Option<i64>) {
        if self.muted == 0 {
            self.variables.set(name, index, value.filter(|_| self.uncertain == 0));
        }
    }
}

/// Whether the text begins with an operator that only begins with `op`.
fn is_longer_operator(rest: &[u8], op: &str) -> bool {
    let next = rest.get(op.len());
    match op {
        "|" | "&" => next == Some(&op.as_bytes()[0]) || next == Some(&b'='),
        "<" | ">" => matches!(next, Some(&byte) if byte == b'=' || byte == op.as_bytes()[0]),
        "*" => matches!(next, Some(b'*' | b'=')),
        "^" | "+" | "-" | "/" | "%" | "<<" | ">>" => next == Some(&b'='),
        _ => false,
    }
}

fn logical(left: Option<i64>, right: Option<i64>, and: bool) -> Option<i64> {
    let decided = |value: Option<i64>| value.map(|value| value != 0).filter(|&truth| truth != and);
    if let Some(truth) = decided(left).or(decided(right)) {
        return Some(i64::from(truth));
    }
    left.zip(right).map(|_| i64::from(and))
}

fn apply(op: &str, left: Option<i64>, right: Option<i64>) -> Option<i64> {
    let (left, right) = (left?, right?);
    let truth = |value: bool| Some(i64::from(value));
    // The low six bits count, as the processor does it.
    let shift = (right & 63) as u32;
    match op {
        "+" => Some(left.wrapping_add(right)),
        "-" => Some(left.wrapping_sub(right)),
        "*" => Some(left.wrapping_mul(right)),
        "/" => (right != 0).then(|| left.wrapping_div(right)),
        "%" => (right != 0).then(|| left.wrapping_rem(right)),
        "**" => u32::try_from(right).ok().map(|exponent| left.wrapping_pow(exponent)),
        "<<" => Some(left.wrapping_shl(shift)),
        ">>" => Some(left.wrapping_shr(shift)),
        "&" => Some(left & right),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "==" => truth(left == right),
        "!=" => truth(left != right),
        "<" => truth(left < right),
        ">" => truth(left > right),
        "<=" => truth(left <= right),
        ">=" => truth(left >= right),
        _ => None,
    }
}

/// The names that an expression may assign, judged by its text alone.
pub(crate) fn assigned_names(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut names = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = super::word::name_length(&bytes[at..]);
        if length == 0 {
            at += 1;
            continue;
        }
        let before = text[..at].trim_end();
        let after = text[at + length..].trim_start();
        let compound = ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--", "["];
        let assigned = (after.starts_with('=') && !after.starts_with("=="))
            || compound.iter().any(|op| after.starts_with(op))
            || before.ends_with("++")
            || before.ends_with("--");
        if assigned {
            names.push(text[at..at + length].to_owned());
        }
        at += length;
    }
    names
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[derive(Default)]
    struct Map(HashMap<String, Option<i64>>);

    impl Variables for Map {
        fn get(&mut self, name: &str, _index: Option<&str>) -> Option<String> {
            match self.0.get(name) {
                None => Some(String::new()),
                Some(value) => value.map(|value| value.to_string()),
            }
        }

        fn set(&mut self, name: &str, _index: Option<&str>, value: Option<i64>) {
            self.0.insert(name.to_owned(), value);
        }
    }

    #[test]
    fn expressions_have_the_values_that_bash_gives_them() {
        for (text, expected) in [
            ("", 0),
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("2 ** 3 ** 2", 512),
            ("-7 / 2", -3),
            ("0x1f + 010 + 2#101", 44),
            ("1 < 2 && 3 >= 3", 1),
            ("0 || 0", 0),
            ("1 ? 10 : 20", 10),
            ("x = 5, x += 2, x", 7),
            ("y++ + ++y", 2),
            ("~0 & 0xff", 255),
            ("1 << 4 | 1", 17),
            ("!0", 1),
            ("5 != 5", 0),
        ] {
            assert_eq!(evaluate(text, &mut Map::default()), Some(expected), "{text}");
        }
    }

    #[test]
    fn an_unknown_operand_makes_the_result_unknown_unless_it_does_not_matter() {
        let mut map = Map::default();
        map.set("u", None, None);
        assert_eq!(evaluate("u + 1", &mut map), None);
        assert_eq!(evaluate("0 && u", &mut map), Some(0));
        assert_eq!(evaluate("u ? (z = 1) : 2", &mut map), None);
        assert_eq!(map.get("z", None), None);
    }

    #[test]
    fn assignments_are_found_in_text_that_is_not_evaluated() {
        assert_eq!(assigned_names("i = @ + 1, j++, k == 2"), ["i", "j"]);
    }
}
