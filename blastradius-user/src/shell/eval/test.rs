//! `[[ … ]]` and `test`: what is decided, and what either answer shows.

use std::borrow::Cow;
use std::path::PathBuf;
use std::rc::Rc;

use super::{Evaluator, look_through};
use crate::shell::arith;
use crate::shell::limits::Eval;
use crate::shell::pattern::Pattern;
use crate::shell::state::{Fact, Facts, Outcome, Shape};
use crate::shell::syntax::{Test, Word};
use crate::shell::value::{Abstract, Field, Piece};
use crate::shell::world::{Kind, Look, World};

/// The variable that a word is nothing but: `$X`, `"$X"`, `"${X:-}"`.
pub(crate) fn variable_of(source: &str) -> Option<Rc<str>> {
    let inner = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(source);
    let name = inner.strip_prefix('$')?;
    let name = match name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(braced) => braced.strip_suffix(":-").or_else(|| braced.strip_suffix('-')).unwrap_or(braced),
        None => name,
    };
    let bytes = name.as_bytes();
    let whole = crate::shell::word::name_length(bytes) == bytes.len() || bytes.iter().all(u8::is_ascii_digit);
    (!bytes.is_empty() && whole).then(|| name.into())
}

/// `"x$DIR" = "x"` asks what `"$DIR" = ""` asks: the letter in front only keeps old shells from taking the value for an
/// operator. Gives the text, how it is written, and the literal, all without that letter.
fn without_common_lead<'a>(
    text: &Abstract,
    source: &'a str,
    literal: &'a str,
) -> (Abstract, Cow<'a, str>, &'a str) {
    let inner = source.strip_prefix('"').unwrap_or(source);
    let lead = inner.chars().next().filter(|lead| lead.is_ascii_alphanumeric() || matches!(lead, '_' | '.'));
    let Some(lead) = lead else { return (text.clone(), source.into(), literal) };
    let behind = inner.get(1..).unwrap_or_default();
    let Some(rest) = literal.strip_prefix(lead).filter(|_| behind.starts_with('$')) else {
        return (text.clone(), source.into(), literal);
    };
    let mut text = text.clone();
    if let Some(Piece::Text(first)) = text.pieces.first_mut()
        && let Some(shorter) = first.strip_prefix(lead)
    {
        *first = shorter.into();
    }
    text.pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    let quote = if source.starts_with('"') { "\"" } else { "" };
    (text, format!("{quote}{behind}").into(), rest)
}

impl Evaluator<'_> {
    pub(super) fn test_command(&mut self, test: &Test) -> Eval<Outcome> {
        self.tick(2)?;
        let outcome = self.test_expression(test);
        // A condition that reads what a guard has ruled out is simply not decided.
        let vacuous = std::mem::take(&mut self.vacuous);
        let aborted = self.aborted_by.take();
        let outcome = outcome?;
        if let Some(name) = aborted {
            self.learn(&Facts::from_iter([Fact::Set(name)]));
        }
        Ok(if vacuous { Outcome { status: None, ..outcome } } else { outcome })
    }

    fn test_expression(&mut self, test: &Test) -> Eval<Outcome> {
        self.enter()?;
        let outcome = match test {
            Test::Not(inner) => self.test_expression(inner)?.negated(),
            Test::And(left, right) => {
                let left = self.test_expression(left)?;
                if left.succeeds() == Some(false) {
                    // Evaluated no further, as bash does it; what it shows is that the left side failed.
                    left
                } else {
                    let right = self.test_expression(right)?;
                    conjunction(left, right)
                }
            }
            Test::Or(left, right) => {
                let left = self.test_expression(left)?;
                if left.succeeds() == Some(true) {
                    left
                } else {
                    let right = self.test_expression(right)?;
                    conjunction(left.negated(), right.negated()).negated()
                }
            }
            Test::Word(word) => {
                let text = self.expand_text(word)?;
                self.emptiness(&text, &word.source, false)
            }
            Test::Unary(op, word) => {
                let text = self.expand_text(word)?;
                self.unary(op, &text, &word.source)?
            }
            Test::Binary(left, op, right) => self.binary_words(left, op, right)?,
        };
        self.leave();
        Ok(outcome)
    }

    fn binary_words(&mut self, left: &Word, op: &'static str, right: &Word) -> Eval<Outcome> {
        let text = self.expand_text(left)?;
        match op {
            "==" | "=" | "!=" => {
                let Some(pattern) = self.expand_pattern(right)? else { return Ok(Outcome::unknown()) };
                let matcher = Pattern::new(&pattern, true).fold_case(self.state.flags.nocasematch);
                let outcome = match matcher.literal() {
                    Some(literal) => self.equality(&text, &left.source, &literal),
                    None => {
                        let truth = match text.as_known() {
                            Some(text) if text.len().saturating_mul(pattern.len()) < 1 << 20 => {
                                Some(matcher.matches(&text))
                            }
                            Some(_) => None,
                            None => (pattern == "*").then_some(true),
                        };
                        let mut outcome = Outcome::truth(truth);
                        // A pattern that the empty text does not match shows that there is something.
                        if !matcher.matches("") {
                            outcome.if_ok.extend(variable_of(&left.source).map(Fact::NotEmpty));
                        }
                        outcome
                    }
                };
                Ok(if op == "!=" { outcome.negated() } else { outcome })
            }
            "=~" => {
                self.expand_text(right)?;
                let mut outcome = Outcome::unknown();
                // `^.+$`, `^/tmp/`: what demands a character shows that there is one.
                let demands = right.source.trim_matches(['"', '\'']).trim_start_matches('^');
                if demands.starts_with(|c: char| c == '/' || c.is_ascii_alphanumeric())
                    && !demands.contains('|')
                    && !demands[1..].starts_with(['*', '?', '{'])
                {
                    outcome.if_ok.extend(variable_of(&left.source).map(Fact::NotEmpty));
                }
                self.assign_shape(
                    "BASH_REMATCH",
                    Shape::UnknownArray(Rc::new(crate::shell::value::Cause::NotModelled(
                        "a regular expression".into(),
                    ))),
                )?;
                Ok(outcome)
            }
            _ => {
                let other = self.expand_text(right)?;
                self.binary(&text, op, &other, &left.source)
            }
        }
    }

    /// `-n` and `-z`, or a word alone.
    fn emptiness(&mut self, text: &Abstract, source: &str, wants_empty: bool) -> Outcome {
        let empty = if text.is_known_empty() {
            Some(true)
        } else if text.may_be_empty() {
            None
        } else {
            Some(false)
        };
        let mut outcome = Outcome::truth(empty.map(|empty| !empty));
        if let Some(name) = variable_of(source) {
            outcome.if_ok.push(Fact::NotEmpty(name.clone()));
            outcome.if_fail.push(Fact::Empty(name));
        }
        if wants_empty { outcome.negated() } else { outcome }
    }

    fn equality(&mut self, text: &Abstract, source: &str, literal: &str) -> Outcome {
        let (stripped, source, literal) = without_common_lead(text, source, literal);
        let text = &stripped;
        let truth = match text.as_known() {
            Some(text) => Some(text == literal),
            None if literal.is_empty() && !text.may_be_empty() => Some(false),
            None => None,
        };
        let mut outcome = Outcome::truth(truth);
        if let Some(name) = variable_of(&source) {
            if literal.is_empty() {
                outcome.if_ok.push(Fact::Empty(name.clone()));
                outcome.if_fail.push(Fact::NotEmpty(name));
            } else {
                outcome.if_ok.push(Fact::Is(name.clone(), literal.into()));
                outcome.if_fail.push(Fact::IsNot(name, literal.into()));
            }
        }
        outcome
    }

    fn unary(&mut self, op: &str, text: &Abstract, source: &str) -> Eval<Outcome> {
        match op {
            "-n" => return Ok(self.emptiness(text, source, false)),
            "-z" => return Ok(self.emptiness(text, source, true)),
            "-v" => {
                let Some(name) = text.as_known() else { return Ok(Outcome::unknown()) };
                let set = match self.binding(&name).map(|var| var.shape) {
                    None | Some(Shape::Unset) => Some(false),
                    Some(Shape::Alternatives(_)) => None,
                    Some(_) if self.state.tainted.is_some() && !self.state.vars.contains_key(&*name) => None,
                    Some(_) => Some(true),
                };
                let mut outcome = Outcome::truth(set);
                outcome.if_ok.push(Fact::Set(Rc::from(&*name)));
                return Ok(outcome);
            }
            "-o" | "-R" | "-t" => return Ok(Outcome::unknown()),
            _ => {}
        }
        let mut outcome = Outcome::truth(self.file_test(op, text)?);
        // Whatever file test holds, it holds of a name that is not empty.
        outcome.if_ok.extend(variable_of(source).map(Fact::NotEmpty));
        Ok(outcome)
    }

    /// A test of a file. Only what is sure is decided: files come and go.
    fn file_test(&mut self, op: &str, text: &Abstract) -> Eval<Option<bool>> {
        if text.is_known_empty() {
            return Ok(Some(false));
        }
        let field = Field { text: text.clone(), glob: None, source: "".into(), tilde: false };
        let base = self.state.cwd.clone();
        let Some(path) = self.path_of(&field, &base) else { return Ok(None) };
        if self.state.files.is_born(&path) || self.state.files.contents.contains_key(&path) {
            return Ok(None);
        }
        self.tick(2)?;
        let (_, look) = if matches!(op, "-L" | "-h") {
            (PathBuf::new(), self.world.look(&path))
        } else {
            look_through(&self.world, &path)
        };
        let kind = match look {
            Look::Found(meta) => meta.kind,
            // It may be made before the text gets here by something that is not followed.
            Look::Absent | Look::Unreadable => return Ok(None),
        };
        Ok(match op {
            "-e" | "-a" => Some(true),
            "-d" => Some(kind == Kind::Directory),
            "-f" => Some(kind == Kind::File),
            "-L" | "-h" => Some(kind == Kind::Link),
            "-b" => Some(kind == Kind::BlockDevice),
            _ => None,
        })
    }

    fn binary(&mut self, left: &Abstract, op: &str, right: &Abstract, source: &str) -> Eval<Outcome> {
        match op {
            "=" | "==" | "!=" => {
                let outcome = match right.as_known() {
                    Some(literal) => self.equality(left, source, &literal),
                    None => Outcome::unknown(),
                };
                return Ok(if op == "!=" { outcome.negated() } else { outcome });
            }
            "<" | ">" => {
                let (Some(left), Some(right)) = (left.as_known(), right.as_known()) else {
                    return Ok(Outcome::unknown());
                };
                return Ok(Outcome::truth(Some(if op == "<" { left < right } else { left > right })));
            }
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {}
            _ => return Ok(Outcome::unknown()),
        }
        let (Some(left), Some(right)) = (left.as_known(), right.as_known()) else {
            return Ok(Outcome::unknown());
        };
        let (left, right) = (left.into_owned(), right.into_owned());
        let numbers = (arith::evaluate(&left, self), arith::evaluate(&right, self));
        let (Some(left), Some(right)) = numbers else { return Ok(Outcome::unknown()) };
        Ok(Outcome::truth(Some(match op {
            "-eq" => left == right,
            "-ne" => left != right,
            "-lt" => left < right,
            "-le" => left <= right,
            "-gt" => left > right,
            _ => left >= right,
        })))
    }

    /// `test` and `[`: the words without the brackets.
    pub(crate) fn test_fields(&mut self, fields: &[Field]) -> Eval<Outcome> {
        self.tick(2)?;
        let known: Vec<Option<String>> =
            fields.iter().map(|field| field.as_known().map(std::borrow::Cow::into_owned)).collect();
        let word = |index: usize| known.get(index).and_then(Option::as_deref);
        match fields {
            [] => Ok(Outcome::status(1)),
            [only] => Ok(self.emptiness(&only.text.clone(), &only.source.clone(), false)),
            _ if word(0) == Some("!") => Ok(self.test_fields(&fields[1..])?.negated()),
            [_, operand] if word(0).is_some_and(is_unary) => {
                let op = word(0).unwrap_or_default().to_owned();
                self.unary(&op, &operand.text.clone(), &operand.source.clone())
            }
            [left, _, right] if word(1).is_some_and(is_binary) => {
                let op = word(1).unwrap_or_default().to_owned();
                self.binary(&left.text, &op, &right.text, &left.source)
            }
            _ => {
                // `-o` binds looser than `-a`.
                for (joint, and) in [("-o", false), ("-a", true)] {
                    if let Some(at) = known.iter().rposition(|word| word.as_deref() == Some(joint))
                        && at > 0
                        && at + 1 < fields.len()
                    {
                        self.enter()?;
                        let left = self.test_fields(&fields[..at])?;
                        let right = self.test_fields(&fields[at + 1..])?;
                        self.leave();
                        return Ok(if and {
                            conjunction(left, right)
                        } else {
                            conjunction(left.negated(), right.negated()).negated()
                        });
                    }
                }
                Ok(Outcome::unknown())
            }
        }
    }
}

/// Both hold.
fn conjunction(left: Outcome, right: Outcome) -> Outcome {
    let status = match (left.succeeds(), right.succeeds()) {
        (Some(false), _) | (_, Some(false)) => Some(1),
        (Some(true), Some(true)) => Some(0),
        _ => None,
    };
    let mut if_ok = left.if_ok;
    if_ok.extend(right.if_ok);
    // If they do not both hold, it is not known which does not, unless one does for sure.
    let if_fail = match (left.status, right.status) {
        (Some(0), _) => right.if_fail,
        (_, Some(0)) => left.if_fail,
        _ => Facts::new(),
    };
    Outcome { status, if_ok, if_fail }
}

fn is_unary(op: &str) -> bool {
    op.len() == 2 && op.starts_with('-') && "abcdefghknoprstuvwxzGLNORS".contains(&op[1..])
}

fn is_binary(op: &str) -> bool {
    matches!(
        op,
        "=" | "==" | "!=" | "<" | ">" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-nt" | "-ot" | "-ef"
    )
}
