//! Parameter expansion: `$x`, `${x:-d}`, `${x%p}`, `${x[@]}` and the rest.

use std::rc::Rc;

use super::arith;
use super::eval::{Choice, Evaluator, Read};
use super::expand::{Frag, Frags, Purpose};
use super::limits::{Eval, PATTERN_WORK, VALUE_BYTES};
use super::pattern::Pattern;
use super::state::{Fact, Facts, Kind, Positional, Shape, Val};
use super::syntax::{Param, ParamOp, Part, ReplaceHow, Subscript, Word};
use super::value::{Abstract, Builder, Cause, Hole, Piece};
use super::world::World;
use crate::programs::Dialect;

/// What a parameter names.
enum Source {
    One(Read),
    Many(Vec<Val>),
    /// Several values of which nothing is known.
    UnknownMany(Rc<Cause>),
}

impl Evaluator<'_> {
    /// Expands a parameter into the fragments of a word.
    pub(crate) fn expand_param(
        &mut self,
        param: &Param,
        quoted: bool,
        purpose: Purpose,
        out: &mut Frags,
    ) -> Eval<()> {
        self.tick(1)?;
        if param.source.starts_with("${=") && !self.splits_once {
            self.splits_once = true;
            let done = self.expand_param(param, quoted, purpose, out);
            self.splits_once = false;
            return done;
        }
        let name = self.named(param)?;
        let Some(name) = name else {
            let value = Val::plain(self.not_modelled(&param.source));
            return self.push_value(&value, quoted, purpose, out);
        };
        let source = self.find(&name, param.subscript.as_ref())?;
        let star = name.as_ref() == "*" || matches!(param.subscript, Some(Subscript::Star));
        match source {
            Source::One(read) => self.expand_scalar(&name, read, param, quoted, purpose, out),
            Source::Many(values) => {
                let place = Place { star, quoted, purpose };
                self.expand_list(&name, values, param, place, out)
            }
            Source::UnknownMany(cause) => {
                let value = match &param.op {
                    ParamOp::Length => Val::number((*cause).clone()),
                    _ => Val::unknown((*cause).clone()),
                };
                if let ParamOp::Default { word, .. } = &param.op
                    && let Choice::Pick(1) = self.choose(2)
                {
                    return self.push_operand(word, quoted, purpose, out);
                }
                self.push_value(&value, quoted, purpose, out)
            }
        }
    }

    /// The name that is meant: for `${!x}` the value of `x`. `None`: known only at run time.
    fn named(&mut self, param: &Param) -> Eval<Option<Rc<str>>> {
        if !param.indirect {
            return Ok(Some(param.name.clone()));
        }
        let value = self.read(&param.name)?.value(&param.name);
        let name = value.as_known().map(std::borrow::Cow::into_owned);
        Ok(name.filter(|name| is_parameter_name(name)).map(Rc::from))
    }

    /// In zsh `$array` is every element.
    fn whole_array(&mut self, name: &Rc<str>) -> Option<&'static Subscript> {
        if self.dialect != Dialect::Zsh {
            return None;
        }
        let resolved = self.state.resolve(name).into_owned();
        let shape = self.binding(&resolved).map(|var| var.shape);
        matches!(shape, Some(Shape::Indexed(_) | Shape::Assoc(_) | Shape::UnknownArray(_)))
            .then_some(&Subscript::At)
    }

    fn find(&mut self, name: &Rc<str>, subscript: Option<&Subscript>) -> Eval<Source> {
        if matches!(&**name, "@" | "*") {
            return Ok(match &self.state.positional {
                Positional::Known(args) => Source::Many(args.to_vec()),
                Positional::Unknown => Source::UnknownMany(Rc::new(Cause::Positional(name.clone()))),
            });
        }
        let Some(subscript) = subscript.or_else(|| self.whole_array(name)) else {
            return Ok(Source::One(self.read(name)?));
        };
        let resolved: Rc<str> = self.state.resolve(name).into_owned().into();
        if matches!(&*resolved, "PIPESTATUS" | "BASH_SOURCE" | "FUNCNAME" | "BASH_ARGV" | "DIRSTACK") {
            return Ok(Source::One(match (&*resolved, subscript) {
                ("BASH_SOURCE", _) => Read::Set(self.state.zero.clone()),
                _ => Read::Set(Val::unknown(Cause::NotModelled(resolved.clone()))),
            }));
        }
        let binding = self.binding(&resolved);
        if binding.as_ref().is_some_and(|var| var.excluded) {
            let _ = self.read(&resolved)?;
        }
        let shape = binding.map(|var| var.shape);
        let many = matches!(subscript, Subscript::At | Subscript::Star);
        match (shape, subscript) {
            (None | Some(Shape::Unset), _) if many => Ok(Source::Many(Vec::new())),
            (None | Some(Shape::Unset), Subscript::Index(index)) => {
                // What the subscript runs, it runs.
                self.expand_arithmetic(index)?;
                Ok(Source::One(Read::Unset))
            }
            (None | Some(Shape::Unset), _) => Ok(Source::One(Read::Unset)),
            (Some(Shape::Indexed(items)), _) if many => Ok(Source::Many(items.values().cloned().collect())),
            (Some(Shape::Assoc(items)), _) if many => Ok(Source::Many(items.values().cloned().collect())),
            (Some(Shape::UnknownArray(cause)), _) if many => Ok(Source::UnknownMany(cause)),
            (Some(Shape::UnknownArray(cause)), _) => {
                Ok(Source::One(Read::Maybe(Val::unknown((*cause).clone()))))
            }
            (Some(Shape::Assoc(items)), Subscript::Index(index)) => {
                let key = self.expand_text(index)?;
                Ok(Source::One(match key.as_known() {
                    Some(key) => items.get(&*key).cloned().map_or(Read::Unset, Read::Set),
                    None => Read::Maybe(Val::unknown(Cause::ManyValues(resolved))),
                }))
            }
            (Some(Shape::Indexed(items)), Subscript::Index(index)) => Ok(Source::One(
                match self.expand_arithmetic(index)?.as_known().and_then(|text| text.parse().ok()) {
                    Some(index) => {
                        let last = items.keys().next_back().copied().unwrap_or(-1);
                        let index = if index < 0 { last + 1 + index } else { index };
                        items.get(&index).cloned().map_or(Read::Unset, Read::Set)
                    }
                    None => Read::Maybe(Val::unknown(Cause::ManyValues(resolved))),
                },
            )),
            (Some(_), Subscript::Index(index)) => {
                let index = self.expand_arithmetic(index)?;
                Ok(Source::One(match index.as_known().as_deref() {
                    Some("0" | "-1") => self.read(&resolved)?,
                    Some(_) => Read::Unset,
                    None => Read::Maybe(Val::unknown(Cause::ManyValues(resolved))),
                }))
            }
            (Some(_), _) => Ok(match self.read(&resolved)? {
                Read::Set(value) => Source::Many(vec![value]),
                Read::Unset => Source::Many(Vec::new()),
                Read::Maybe(_) => Source::UnknownMany(Rc::new(Cause::ManyValues(resolved))),
            }),
        }
    }

    /// The value of a plain `$name`, with `set -u` applied.
    pub(crate) fn parameter_value(&mut self, name: &Rc<str>, _source: &str) -> Eval<Val> {
        let read = self.read(name)?;
        Ok(self.plain_value(name, read))
    }

    /// A value as it stands; an empty one names the variable that is empty.
    fn plain_value(&mut self, name: &Rc<str>, read: Read) -> Val {
        match read {
            Read::Unset => {
                if self.state.flags.nounset {
                    self.abort(name);
                }
                Val::nothing(Cause::Unset(name.clone()))
            }
            Read::Set(value) if value.text.pieces.is_empty() => Val::nothing(Cause::Empty(name.clone())),
            Read::Set(value) => value,
            Read::Maybe(value) => {
                if self.state.flags.nounset {
                    self.learn(&Facts::from_iter([Fact::Set(name.clone())]));
                }
                value
            }
        }
    }

    /// The shell ends here, because of this variable: what reads it is never run.
    fn abort(&mut self, name: &Rc<str>) {
        self.vacuous_read();
        self.set_aborted(name.clone());
    }

    fn expand_scalar(
        &mut self,
        name: &Rc<str>,
        read: Read,
        param: &Param,
        quoted: bool,
        purpose: Purpose,
        out: &mut Frags,
    ) -> Eval<()> {
        match &param.op {
            ParamOp::Plain => {
                let value = self.plain_value(name, read);
                self.push_value(&value, quoted, purpose, out)
            }
            ParamOp::Default { colon, word } => {
                match self.presence(&read, *colon, name, !word.parts.is_empty() || word.plain.is_some())? {
                    Presence::There(value) => self.push_value(&value, quoted, purpose, out),
                    Presence::Missing if word.parts.is_empty() && word.plain.is_none() => {
                        let value = self.missing_value(name, read);
                        self.push_value(&value, quoted, purpose, out)
                    }
                    Presence::Missing => self.push_operand(word, quoted, purpose, out),
                }
            }
            ParamOp::Assign { colon, word } => match self.presence(&read, *colon, name, true)? {
                Presence::There(value) => self.push_value(&value, quoted, purpose, out),
                Presence::Missing => {
                    let text = self.expand_text(word)?;
                    self.assign(name, Val::plain(text.clone()))?;
                    let value = if text.pieces.is_empty() {
                        self.missing_value(name, read)
                    } else {
                        Val::plain(text)
                    };
                    self.push_value(&value, quoted, purpose, out)
                }
            },
            ParamOp::Require { colon } => {
                let fact = if *colon { Fact::NotEmpty(name.clone()) } else { Fact::Set(name.clone()) };
                let missing = match &read {
                    Read::Unset => true,
                    Read::Set(value) => *colon && value.text.is_known_empty(),
                    Read::Maybe(_) => false,
                };
                if missing {
                    self.abort(name);
                    return Ok(());
                }
                let mut value = read.value(name);
                if param.subscript.is_none() && !param.indirect {
                    self.learn(&Facts::from_iter([fact]));
                    if self.state.vars.contains_key(&**name) {
                        value = self.read(name)?.value(name);
                    }
                }
                self.push_value(&value, quoted, purpose, out)
            }
            ParamOp::Alternative { colon, word } => match self.presence(&read, *colon, name, true)? {
                Presence::There(_) => self.push_operand(word, quoted, purpose, out),
                Presence::Missing => Ok(()),
            },
            ParamOp::Length => {
                let value = self.plain_value(name, read);
                let value = match value.as_known() {
                    Some(text) => Val::known(&text.chars().count().to_string()),
                    None => Val::number(Cause::NotModelled(param.source.clone())),
                };
                self.push_value(&value, quoted, purpose, out)
            }
            ParamOp::Keys => {
                let set = !matches!(read, Read::Unset);
                let value = if set { Val::known("0") } else { Val::nothing(Cause::Unset(name.clone())) };
                self.push_value(&value, quoted, purpose, out)
            }
            ParamOp::Names => {
                let mut names: Vec<String> = self.state.vars.keys().map(|name| name.to_string()).collect();
                names.extend(self.world.env_names());
                names.retain(|other| other.starts_with(&**name));
                names.sort_unstable();
                names.dedup();
                let values = names.iter().map(|name| Val::known(name)).collect();
                self.push_list(values, false, quoted, purpose, out)
            }
            ParamOp::NotModelled => {
                let value = Val::plain(self.not_modelled(&param.source));
                self.push_value(&value, quoted, purpose, out)
            }
            op => {
                let value = self.plain_value(name, read);
                let value = self.transform(&value, op, name)?;
                self.push_value(&value, quoted, purpose, out)
            }
        }
    }

    /// A missing value that is not replaced by anything keeps its blame.
    fn missing_value(&self, name: &Rc<str>, read: Read) -> Val {
        match read {
            Read::Set(value) if !value.text.pieces.is_empty() => value,
            Read::Set(_) => Val::nothing(Cause::Empty(name.clone())),
            Read::Unset | Read::Maybe(_) => Val::nothing(Cause::Unset(name.clone())),
        }
    }

    /// Whether a parameter is there (with a colon: and not empty). Where nobody knows, both are tried, if it `matters`.
    fn presence(&mut self, read: &Read, colon: bool, name: &Rc<str>, matters: bool) -> Eval<Presence> {
        let (value, open) = match read {
            Read::Unset => return Ok(Presence::Missing),
            Read::Set(value) if colon && value.text.is_known_empty() => return Ok(Presence::Missing),
            Read::Set(value) => (value, colon && value.text.may_be_empty()),
            Read::Maybe(value) => (value, true),
        };
        if !open || !matters {
            return Ok(Presence::There(value.clone()));
        }
        match self.choose(2) {
            Choice::Pick(0) => {
                let mut value = value.clone();
                if colon && let [Piece::Hole(hole)] = value.text.pieces.as_mut_slice() {
                    hole.maybe_empty = false;
                }
                Ok(Presence::There(value))
            }
            Choice::Pick(_) => Ok(Presence::Missing),
            Choice::TooMany => Ok(Presence::There(Val::unknown(Cause::ManyValues(name.clone())))),
        }
    }

    /// The operand of `:-` and its kin: expanded as a word where it stands.
    fn push_operand(&mut self, word: &Word, quoted: bool, purpose: Purpose, out: &mut Frags) -> Eval<()> {
        if let Some(plain) = &word.plain {
            out.push(Frag::Text { text: plain.clone(), active: !quoted });
            return Ok(());
        }
        if word.parts.is_empty() && quoted {
            out.push(Frag::Quotes);
        }
        for part in &word.parts {
            match part {
                // Unquoted text of an operand is split like an expansion.
                Part::Text { text, quoted: false } if purpose == Purpose::Arguments && !quoted => {
                    let value = Val::known(text);
                    self.push_value(&value, false, purpose, out)?;
                }
                _ => self.push_part(part, purpose, out)?,
            }
        }
        Ok(())
    }

    fn expand_list(
        &mut self,
        name: &Rc<str>,
        values: Vec<Val>,
        param: &Param,
        place: Place,
        out: &mut Frags,
    ) -> Eval<()> {
        let Place { star, quoted, purpose } = place;
        self.tick(1 + values.len() as u64 / 4)?;
        match &param.op {
            ParamOp::Plain => self.push_list(values, star, quoted, purpose, out),
            ParamOp::Length => {
                let value = Val::known(&values.len().to_string());
                self.push_value(&value, quoted, purpose, out)
            }
            ParamOp::Keys => {
                let keys: Vec<Val> = match self.binding(name).map(|var| var.shape) {
                    Some(Shape::Indexed(items)) => {
                        items.keys().map(|key| Val::known(&key.to_string())).collect()
                    }
                    Some(Shape::Assoc(items)) => items.keys().map(|key| Val::known(key)).collect(),
                    _ => (0..values.len()).map(|key| Val::known(&key.to_string())).collect(),
                };
                self.push_list(keys, star, quoted, purpose, out)
            }
            ParamOp::Default { word, .. } | ParamOp::Assign { word, .. } => {
                if values.is_empty() {
                    return self.push_operand(word, quoted, purpose, out);
                }
                self.push_list(values, star, quoted, purpose, out)
            }
            ParamOp::Alternative { word, .. } => {
                if values.is_empty() {
                    return Ok(());
                }
                self.push_operand(word, quoted, purpose, out)
            }
            ParamOp::Require { .. } => {
                if values.is_empty() {
                    self.abort(name);
                }
                self.push_list(values, star, quoted, purpose, out)
            }
            ParamOp::Slice { offset, length } => {
                let offset = self.number(offset)?;
                let length = match length {
                    Some(length) => self.number(length)?.map(Some),
                    None => Some(None),
                };
                let (Some(offset), Some(length)) = (offset, length) else {
                    let value = Val::plain(self.not_modelled(&param.source));
                    return self.push_value(&value, quoted, purpose, out);
                };
                let positional = matches!(&**name, "@" | "*");
                let values = slice_list(values, offset, length, positional, &self.state.zero);
                self.push_list(values, star, quoted, purpose, out)
            }
            ParamOp::Names | ParamOp::NotModelled => {
                let value = Val::plain(self.not_modelled(&param.source));
                self.push_value(&value, quoted, purpose, out)
            }
            op => {
                let mut changed = Vec::with_capacity(values.len());
                for value in &values {
                    changed.push(self.transform(value, op, name)?);
                }
                self.push_list(changed, star, quoted, purpose, out)
            }
        }
    }

    fn push_list(
        &mut self,
        values: Vec<Val>,
        star: bool,
        quoted: bool,
        purpose: Purpose,
        out: &mut Frags,
    ) -> Eval<()> {
        if star && quoted {
            let separator = match self.read("IFS")? {
                Read::Unset => " ".to_owned(),
                read => read.value("IFS").as_known().map_or_else(
                    || " ".to_owned(),
                    |ifs| ifs.chars().next().map(String::from).unwrap_or_default(),
                ),
            };
            for (index, value) in values.iter().enumerate() {
                if index > 0 && !separator.is_empty() {
                    out.push(Frag::Text { text: separator.as_str().into(), active: false });
                }
                self.push_value(value, true, purpose, out)?;
            }
            if values.is_empty() {
                out.push(Frag::Quotes);
            }
            return Ok(());
        }
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                out.push(Frag::Split);
            }
            self.push_value(value, quoted, purpose, out)?;
        }
        Ok(())
    }

    fn number(&mut self, word: &Word) -> Eval<Option<i64>> {
        let text = self.expand_text(word)?;
        Ok(text.as_known().map(std::borrow::Cow::into_owned).and_then(|text| arith::evaluate(&text, self)))
    }

    /// Applies an operator that makes another text of a value.
    fn transform(&mut self, value: &Val, op: &ParamOp, name: &Rc<str>) -> Eval<Val> {
        match op {
            ParamOp::Trim { suffix, longest, pattern } => {
                let pattern = self.expand_pattern(pattern)?;
                Ok(pattern.map_or_else(|| derived(value, name), |p| trim(value, &p, *suffix, *longest, name)))
            }
            ParamOp::Replace { how, pattern, with } => {
                let pattern = self.expand_pattern(pattern)?;
                let with = self.expand_text(with)?;
                self.replace(value, *how, pattern, with, name)
            }
            ParamOp::Case { upper, all, pattern } => {
                let pattern = match pattern {
                    Some(pattern) => match self.expand_pattern(pattern)? {
                        Some(pattern) => Some(Pattern::new(&pattern, true)),
                        None => return Ok(derived(value, name)),
                    },
                    None => None,
                };
                Ok(match value.as_known() {
                    Some(text) => Val::known(&change_case(&text, *upper, *all, pattern.as_ref())),
                    None => derived(value, name),
                })
            }
            ParamOp::Slice { offset, length } => {
                let offset = self.number(offset)?;
                let length = match length {
                    Some(length) => self.number(length)?.map(Some),
                    None => Some(None),
                };
                Ok(match (value.as_known(), offset, length) {
                    (Some(text), Some(offset), Some(length)) => {
                        remainder(&slice_text(&text, offset, length), value, name)
                    }
                    _ => derived(value, name),
                })
            }
            ParamOp::Transform(letter) => Ok(match (value.as_known(), letter) {
                (Some(text), 'U') => Val::known(&text.to_uppercase()),
                (Some(text), 'L') => Val::known(&text.to_lowercase()),
                (Some(text), 'u') => Val::known(&change_case(&text, true, false, None)),
                (Some(text), 'Q') => Val::known(&quote(&text)),
                (Some(text), 'E') => Val::known(&super::word::decode_ansi(&text)),
                (Some(text), 'P' | 'K' | 'k') if !text.contains(['\\', '$', '`', '!']) => Val::known(&text),
                _ => derived(value, name),
            }),
            _ => Ok(derived(value, name)),
        }
    }

    fn replace(
        &mut self,
        value: &Val,
        how: ReplaceHow,
        pattern: Option<String>,
        with: Abstract,
        name: &Rc<str>,
    ) -> Eval<Val> {
        let (Some(text), Some(pattern)) = (value.as_known(), pattern) else {
            return Ok(derived(value, name));
        };
        if pattern.is_empty() && matches!(how, ReplaceHow::First | ReplaceHow::All) {
            return Ok(value.clone());
        }
        if text.len().saturating_mul(pattern.len()) > PATTERN_WORK / 16 {
            return Ok(derived(value, name));
        }
        self.tick(1 + (text.len() * pattern.len()) as u64 / 8)?;
        let length = pattern.len();
        let pattern = Pattern::new(&pattern, true);
        let chars: Vec<char> = text.chars().collect();
        // What may match any number of characters is tried on the whole rest, at every place.
        let square = chars.len().saturating_mul(chars.len()).saturating_mul(length);
        if pattern.longest().is_none() && square > 4 * PATTERN_WORK {
            return Ok(derived(value, name));
        }
        let mut out = Builder::default();
        let mut at = 0;
        let mut done = false;
        while at <= chars.len() {
            let may = match how {
                ReplaceHow::First => !done,
                ReplaceHow::All => true,
                ReplaceHow::Prefix => at == 0 && !done,
                ReplaceHow::Suffix => !done,
            };
            let mut end =
                if may { pattern.prefix(&chars[at..], true).map(|length| at + length) } else { None };
            if how == ReplaceHow::Suffix && end != Some(chars.len()) {
                end = None;
            }
            if how != ReplaceHow::Prefix && how != ReplaceHow::Suffix && end == Some(at) {
                end = None;
            }
            match end {
                Some(end) => {
                    out.push(&with);
                    done = true;
                    if end == at && at < chars.len() {
                        out.push_letter(chars[at]);
                    }
                    at = end.max(at + usize::from(end == at));
                }
                None => {
                    if let Some(letter) = chars.get(at) {
                        out.push_letter(*letter);
                    }
                    at += 1;
                }
            }
            if out.length() > VALUE_BYTES {
                break;
            }
        }
        self.work.expand(out.length())?;
        let out = out.finish();
        if out.pieces.is_empty() {
            return Ok(remainder("", value, name));
        }
        Ok(Val::plain(out))
    }
}

/// Where a list is expanded.
#[derive(Clone, Copy)]
struct Place {
    /// `*` rather than `@`.
    star: bool,
    quoted: bool,
    purpose: Purpose,
}

/// Whether a parameter is there.
enum Presence {
    There(Val),
    Missing,
}

fn is_parameter_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    !bytes.is_empty()
        && (super::word::name_length(bytes) == bytes.len()
            || bytes.iter().all(u8::is_ascii_digit)
            || matches!(name, "@" | "*" | "#" | "?" | "-" | "$" | "!"))
}

/// Some text made of a value that is not wholly known, or of names that a pattern stands for.
fn derived(value: &Val, name: &Rc<str>) -> Val {
    let cause = match value.text.pieces.iter().find_map(|piece| match piece {
        Piece::Hole(hole) => Some(hole.cause.clone()),
        _ => None,
    }) {
        Some(cause) => cause,
        None if value.text.is_known_empty() => return value.clone(),
        None => Rc::new(Cause::ManyValues(name.clone())),
    };
    let slashes = value.text.pieces.iter().any(|piece| match piece {
        Piece::Text(text) => text.contains('/'),
        Piece::Nothing(_) => false,
        Piece::Hole(hole) => !hole.component,
    });
    Val::plain(Abstract::hole(Hole { cause, maybe_empty: true, component: !slashes, born: false }))
}

/// What is left of a known text; nothing is blamed on the variable.
fn remainder(text: &str, value: &Val, name: &Rc<str>) -> Val {
    if !text.is_empty() {
        return Val::known(text);
    }
    if value.text.is_known_empty() && !value.text.pieces.is_empty() {
        return value.clone();
    }
    Val::nothing(Cause::Empty(name.clone()))
}

fn trim(value: &Val, pattern: &str, suffix: bool, longest: bool, name: &Rc<str>) -> Val {
    let Some(text) = value.as_known() else {
        return trim_partly_known(value, pattern, suffix, longest, name);
    };
    if text.len().saturating_mul(pattern.len()) > PATTERN_WORK {
        return derived(value, name);
    }
    match trim_text(&text, pattern, suffix, longest) {
        Some(rest) => remainder(&rest, value, name),
        None => value.clone(),
    }
}

/// What is left of a text from which a matching prefix or suffix is cut; `None`: nothing matches.
fn trim_text(text: &str, pattern: &str, suffix: bool, longest: bool) -> Option<String> {
    let pattern = Pattern::new(pattern, true);
    if let Some(literal) = pattern.literal() {
        let rest = if suffix { text.strip_suffix(&*literal) } else { text.strip_prefix(&*literal) };
        return rest.map(str::to_owned);
    }
    let mut chars: Vec<char> = text.chars().collect();
    if !suffix {
        return pattern.prefix(&chars, longest).map(|cut| chars[cut..].iter().collect());
    }
    chars.reverse();
    let cut = pattern.reversed().prefix(&chars, longest)?;
    Some(chars[cut..].iter().rev().collect())
}

/// Trims a text with holes where what is cut lies in its known end or beginning for sure.
fn trim_partly_known(value: &Val, pattern: &str, suffix: bool, longest: bool, name: &Rc<str>) -> Val {
    let mut text = match value.kind {
        Kind::Plain => value.text.clone(),
        Kind::Active => match one_match(&value.text, name) {
            Some(text) => text,
            None => return derived(value, name),
        },
        Kind::Selected(_) => return derived(value, name),
    };
    let edge = if suffix { text.pieces.last_mut() } else { text.pieces.first_mut() };
    if let Some(Piece::Text(known)) = edge
        && !longest
        && let Some(rest) = trim_text(known, pattern, suffix, false)
    {
        *known = rest.as_str().into();
        text.pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        return Val::plain(text);
    }
    if let (false, true, "*/") = (suffix, longest, pattern)
        && let Some(last) = last_component(&text)
    {
        return if last.is_known_empty() { remainder("", value, name) } else { Val::plain(last) };
    }
    derived(value, name)
}

/// What is behind the last slash, if that slash is known.
fn last_component(text: &Abstract) -> Option<Abstract> {
    let at = text.pieces.iter().rposition(|piece| match piece {
        Piece::Text(known) => known.contains('/'),
        Piece::Nothing(_) => false,
        Piece::Hole(hole) => !hole.component,
    })?;
    let Piece::Text(known) = &text.pieces[at] else { return None };
    let mut last = Abstract::known(known.rsplit('/').next().unwrap_or_default());
    last.pieces.extend(text.pieces[at + 1..].iter().cloned());
    Some(last)
}

/// One of the names that a pattern stands for: known up to its first wildcard and behind its last.
fn one_match(pattern: &Abstract, name: &Rc<str>) -> Option<Abstract> {
    let [Piece::Text(pattern)] = pattern.pieces.as_slice() else { return None };
    if pattern.contains(['[', '(', '{', '\\']) {
        return None;
    }
    let first = pattern.find(['*', '?'])?;
    let last = pattern.rfind(['*', '?'])?;
    let mut text = Abstract::known(&pattern[..first]);
    // A name that begins with the wildcard has something in front of its first dot.
    text.push(&Abstract::hole(Hole {
        cause: Rc::new(Cause::ManyValues(name.clone())),
        maybe_empty: pattern[first..=last].chars().all(|wild| wild == '*')
            && first > 0
            && !pattern[..first].ends_with('/'),
        component: !pattern[first..=last].contains('/'),
        born: false,
    }));
    text.push_text(&pattern[last + 1..]);
    Some(text)
}

fn change_case(text: &str, upper: bool, all: bool, pattern: Option<&Pattern>) -> String {
    let change = |c: char| -> String {
        if pattern.is_some_and(|pattern| !pattern.matches(c.encode_utf8(&mut [0; 4]))) {
            return c.to_string();
        }
        if upper { c.to_uppercase().collect() } else { c.to_lowercase().collect() }
    };
    text.chars().enumerate().map(|(at, c)| if all || at == 0 { change(c) } else { c.to_string() }).collect()
}

fn slice_text(text: &str, offset: i64, length: Option<i64>) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (start, end) = slice_bounds(chars.len(), offset, length);
    chars[start..end].iter().collect()
}

/// Start and end of a slice; an impossible one is empty.
fn slice_bounds(count: usize, offset: i64, length: Option<i64>) -> (usize, usize) {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let start = if offset < 0 { count.saturating_add(offset) } else { offset };
    if start < 0 || start > count {
        return (0, 0);
    }
    let end = match length {
        None => count,
        Some(length) if length < 0 => count.saturating_add(length),
        Some(length) => start.saturating_add(length).min(count),
    };
    let end = end.max(start);
    // Both lie between 0 and the count.
    (start as usize, end as usize)
}

fn slice_list(
    mut values: Vec<Val>,
    offset: i64,
    length: Option<i64>,
    positional: bool,
    zero: &Val,
) -> Vec<Val> {
    if positional {
        values.insert(0, zero.clone());
        let offset = if offset < 0 { offset.saturating_add(values.len() as i64) } else { offset };
        let (start, end) = slice_bounds(values.len(), offset, length);
        return values[start..end].to_vec();
    }
    let (start, end) = slice_bounds(values.len(), offset, length.filter(|length| *length >= 0));
    values[start..end].to_vec()
}

/// `${x@Q}`
pub(crate) fn quote(text: &str) -> String {
    if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        let escaped: String = text
            .chars()
            .map(|c| match c {
                '\n' => "\\n".into(),
                '\t' => "\\t".into(),
                '\r' => "\\r".into(),
                '\'' => "\\'".into(),
                '\\' => "\\\\".into(),
                c if (c as u32) < 0x20 => format!("\\{:03o}", c as u32),
                c => c.to_string(),
            })
            .collect();
        return format!("$'{escaped}'");
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
