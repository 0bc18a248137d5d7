//! Reading and writing variables, positional and special parameters.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Evaluator;
use super::replay::Choice;
use crate::policy::effect::Base;
use crate::shell::arith;
use crate::shell::join::many_values;
use crate::shell::limits::Eval;
use crate::shell::state::{Convert, Fact, Facts, Positional, Shape, Val, Var};
use crate::shell::syntax::{AssignedValue, Assignment, Word};
use crate::shell::trace::What;
use crate::shell::value::{Abstract, Cause, Hole, Piece};
use crate::shell::world::World;

/// What reading a variable gives.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    Set(Val),
    Unset,
    /// Unset or not, nobody knows.
    Maybe(Val),
}

impl Read {
    /// The value; an unset variable gives nothing, and says so.
    pub(crate) fn value(self, name: &str) -> Val {
        match self {
            Self::Set(value) | Self::Maybe(value) => value,
            Self::Unset => Val::nothing(Cause::Unset(name.into())),
        }
    }
}

/// Variables that are numbers of the moment.
const RUN_TIME_NUMBERS: &[&str] = &[
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "LINENO",
    "PPID",
    "BASHPID",
    "SHLVL",
    "COLUMNS",
];

impl Evaluator<'_> {
    /// The variable as it is bound outside the text: the environment.
    pub(crate) fn unbound(&self, name: &str) -> Option<Val> {
        if self.state.env_cleared {
            return None;
        }
        self.world.env(name).map(|text| Val::plain(environment_value(name, &text)))
    }

    /// The binding of a name, the environment included.
    pub(crate) fn binding(&self, name: &str) -> Option<Var> {
        if let Some(var) = self.state.vars.get(name) {
            return Some(var.clone());
        }
        if let Some(cause) = &self.state.tainted {
            return Some(Var::scalar(Val::unknown((**cause).clone())));
        }
        let mut var = Var::scalar(self.unbound(name)?);
        var.exported = true;
        Some(var)
    }

    /// Whether a variable is set, and to what.
    pub(crate) fn read(&mut self, name: &str) -> Eval<Read> {
        let read = self.read_quietly(name)?;
        if self.traces() {
            let value = describe(&read, name);
            self.step(What::Variable { name: name.into(), value });
        }
        Ok(read)
    }

    fn read_quietly(&mut self, name: &str) -> Eval<Read> {
        if let Some(special) = self.special(name) {
            return Ok(special);
        }
        let resolved = self.state.resolve(name).into_owned();
        let name = resolved.as_str();
        let Some(var) = self.state.vars.get(name) else {
            return Ok(self.read_outside(name));
        };
        if var.excluded {
            self.vacuous = true;
        }
        Ok(match &var.shape {
            Shape::Unset | Shape::Reference(_) => Read::Unset,
            Shape::Scalar(value) => Read::Set(value.clone()),
            Shape::Alternatives(values) => {
                let values = values.clone();
                return self.pick(name, &values);
            }
            Shape::Indexed(items) => items.get(&0).cloned().map_or(Read::Unset, Read::Set),
            Shape::Assoc(items) => items.get("0").cloned().map_or(Read::Unset, Read::Set),
            Shape::UnknownArray(cause) => Read::Maybe(Val::unknown((**cause).clone())),
        })
    }

    /// A name that the text has not bound.
    fn read_outside(&self, name: &str) -> Read {
        if let Some(cause) = &self.state.tainted {
            return Read::Maybe(Val::unknown((**cause).clone()));
        }
        match self.unbound(name) {
            Some(value) => Read::Set(value),
            None => match name {
                "IFS" => Read::Set(Val::known(" \t\n")),
                "UID" | "EUID" => Read::Set(Val::known(&self.world.uid().to_string())),
                "BASH" => Read::Set(Val::known("/bin/bash")),
                "OSTYPE" | "HOSTTYPE" | "MACHTYPE" | "BASH_VERSION" | "HOSTNAME" | "OPTIND" => {
                    Read::Set(Val::number(Cause::NotModelled(format!("${name}").into())))
                }
                "BASH_SOURCE" => Read::Set(self.state.zero.clone()),
                "OLDPWD" => match &self.state.previous {
                    Some(base) => Read::Set(Val::plain(base_text(base))),
                    None => Read::Unset,
                },
                _ if RUN_TIME_NUMBERS.contains(&name) => {
                    Read::Set(Val::number(Cause::NotModelled(format!("${name}").into())))
                }
                _ => Read::Unset,
            },
        }
    }

    /// One of a few values: the command is evaluated once for each of them.
    fn pick(&mut self, name: &str, values: &Rc<[Option<Val>]>) -> Eval<Read> {
        let value = match self.choose(values.len()) {
            Choice::Pick(index) => values[index].clone(),
            Choice::TooMany => {
                let unset = values.iter().any(Option::is_none);
                let value = Val::plain(many_values(&name.into(), values));
                return Ok(if unset { Read::Maybe(value) } else { Read::Set(value) });
            }
        };
        let mut var = self.state.vars.get(name).cloned().unwrap_or_else(|| Var::new(Shape::Unset));
        var.shape = value.clone().map_or(Shape::Unset, Shape::Scalar);
        self.state.bind(name, var);
        Ok(value.map_or(Read::Unset, Read::Set))
    }

    /// Special and positional parameters, and variables that the shell keeps.
    fn special(&mut self, name: &str) -> Option<Read> {
        let number = |what: &str| Some(Read::Set(Val::number(Cause::NotModelled(what.into()))));
        match name {
            "?" => match self.state.status {
                Some(status) => Some(Read::Set(Val::known(&status.to_string()))),
                None => number("$?"),
            },
            "$" => number("$$"),
            "!" => number("$!"),
            "-" => Some(Read::Set(Val::plain(self.not_modelled("$-")))),
            "#" => match &self.state.positional {
                Positional::Known(args) => Some(Read::Set(Val::known(&args.len().to_string()))),
                Positional::Unknown => number("$#"),
            },
            "0" => Some(Read::Set(self.state.zero.clone())),
            "PWD" if !self.state.vars.contains_key("PWD") => {
                Some(Read::Set(Val::plain(base_text(&self.state.cwd))))
            }
            _ if name.as_bytes().first().is_some_and(u8::is_ascii_digit) => Some(self.positional(name)),
            _ => None,
        }
    }

    fn positional(&mut self, name: &str) -> Read {
        if let Some(var) = self.state.vars.get(name) {
            if var.excluded {
                self.vacuous = true;
            }
            if let Shape::Scalar(value) = &var.shape {
                return Read::Set(value.clone());
            }
            return Read::Unset;
        }
        match &self.state.positional {
            Positional::Unknown => Read::Maybe(Val::unknown(Cause::Positional(name.into()))),
            Positional::Known(args) => {
                let index = name.parse::<usize>().ok().and_then(|index| index.checked_sub(1));
                index.and_then(|index| args.get(index)).cloned().map_or(Read::Unset, Read::Set)
            }
        }
    }

    /// Replaces the positional parameters.
    pub(crate) fn set_positional(&mut self, positional: Positional) {
        self.state.positional = positional;
        if self.state.vars.keys().any(|name| is_positional(name)) {
            let vars = Rc::make_mut(&mut self.state.vars);
            vars.retain(|name, _| !is_positional(name));
        }
    }

    /// Sets a variable, keeping its attributes.
    pub(crate) fn assign(&mut self, name: &str, value: Val) -> Eval<()> {
        self.assign_shape(name, Shape::Scalar(value))
    }

    pub(crate) fn assign_shape(&mut self, name: &str, shape: Shape) -> Eval<()> {
        self.charge_vars()?;
        let name = self.state.resolve(name).into_owned();
        let mut var = match self.binding(&name) {
            Some(var) => var,
            None => Var::new(Shape::Unset),
        };
        if var.readonly {
            return Ok(());
        }
        var.excluded = std::mem::take(&mut self.vacuous);
        var.shape = match (shape, var.convert) {
            (Shape::Scalar(value), Convert::Keep) => Shape::Scalar(value),
            (Shape::Scalar(value), convert) => Shape::Scalar(self.convert(value, convert)),
            (shape, _) => shape,
        };
        if self.traces() {
            let value = describe_shape(&var.shape);
            self.step(What::Assigned { name: name.as_str().into(), value });
        }
        self.state.bind(&name, var);
        Ok(())
    }

    /// Writing to variables that a branch shares copies them: that is work.
    fn charge_vars(&mut self) -> Eval<()> {
        let shared = Rc::strong_count(&self.state.vars) > 1;
        let units = if shared { 1 + self.state.vars.len() as u64 / 8 } else { 1 };
        self.tick(units)
    }

    fn convert(&mut self, value: Val, convert: Convert) -> Val {
        let Some(text) = value.as_known() else {
            return match convert {
                Convert::Integer => Val::number(Cause::NotModelled("an integer variable".into())),
                _ => value,
            };
        };
        match convert {
            Convert::Keep => value,
            Convert::Lower => Val::known(&text.to_lowercase()),
            Convert::Upper => Val::known(&text.to_uppercase()),
            Convert::Integer => {
                let text = text.into_owned();
                match arith::evaluate(&text, self) {
                    Some(number) => Val::known(&number.to_string()),
                    None => Val::number(Cause::NotModelled(text.into())),
                }
            }
        }
    }

    pub(crate) fn unset(&mut self, name: &str) -> Eval<()> {
        self.charge_vars()?;
        let name = self.state.resolve(name).into_owned();
        if self.state.vars.get(&*name).is_some_and(|var| var.readonly) {
            return Ok(());
        }
        self.state.bind(&name, Var::new(Shape::Unset));
        Ok(())
    }

    /// The variables that nobody can follow any more: what unknown code may have set.
    pub(crate) fn taint(&mut self, cause: Cause) {
        self.state.tainted = Some(Rc::new(cause));
        let kept = |var: &Var| var.readonly;
        let vars = Rc::make_mut(&mut self.state.vars);
        vars.retain(|_, var| kept(var));
        if self.state.positional != Positional::Unknown {
            self.state.positional = Positional::Unknown;
        }
        self.state.status = None;
        self.state.cwd = Base::Unknown("code that is not known may have changed the directory".into());
    }

    /// Applies facts to the present state.
    pub(crate) fn learn(&mut self, facts: &Facts) {
        for fact in facts {
            let name = match fact {
                Fact::NotEmpty(name) | Fact::Empty(name) | Fact::Set(name) => Some(name),
                Fact::Is(name, _) | Fact::IsNot(name, _) => Some(name),
                Fact::Cwd(_) | Fact::All(_) => None,
            };
            let current = name.and_then(|name| self.present(name));
            if let Some(name) = name
                && matches!(self.state.vars.get(name), Some(Var { shape: Shape::Reference(_), .. }))
            {
                continue;
            }
            self.state.learn(fact, current);
        }
    }

    /// The binding of a name, positional parameters included.
    fn present(&mut self, name: &str) -> Option<Var> {
        if let Some(var) =
            self.binding(name).filter(|_| self.state.tainted.is_none() || self.state.vars.contains_key(name))
        {
            return Some(var);
        }
        match self.special(name).unwrap_or_else(|| self.read_outside(name)) {
            Read::Set(value) | Read::Maybe(value) => Some(Var::scalar(value)),
            Read::Unset => None,
        }
    }

    /// Performs an assignment.
    pub(crate) fn perform(&mut self, assignment: &Assignment) -> Eval<()> {
        let value = match &assignment.value {
            AssignedValue::Array(_) => None,
            AssignedValue::Scalar(word) => Some(self.expand_assigned(word)?),
        };
        self.perform_with(assignment, value)
    }

    /// Performs an assignment whose value, unless it is an array, has been expanded.
    pub(crate) fn perform_with(&mut self, assignment: &Assignment, value: Option<Val>) -> Eval<()> {
        let name = &*assignment.name;
        match (&assignment.value, value) {
            (AssignedValue::Array(items), _) => self.assign_array(name, items, assignment.append),
            (AssignedValue::Scalar(_), None) => Ok(()),
            (AssignedValue::Scalar(_), Some(value)) => match &assignment.subscript {
                Some(subscript) => self.assign_element(name, subscript, value, assignment.append),
                None if assignment.append => {
                    let value = self.appended(name, value)?;
                    self.assign(name, value)
                }
                None => match self.binding(name).map(|var| var.shape) {
                    Some(Shape::Indexed(mut items)) => {
                        Rc::make_mut(&mut items).insert(0, value);
                        self.assign_shape(name, Shape::Indexed(items))
                    }
                    _ => self.assign(name, value),
                },
            },
        }
    }

    /// `name+=value`
    fn appended(&mut self, name: &str, value: Val) -> Eval<Val> {
        let integer = self.binding(name).is_some_and(|var| var.convert == Convert::Integer);
        let mut text = self.read(name)?.value(name).text;
        if integer {
            text.push_text("+");
        }
        text.push(&value.text);
        self.work.expand(text_length(&text))?;
        Ok(Val { text, kind: value.kind })
    }

    fn assign_array(&mut self, name: &str, items: &[(Option<Word>, Word)], append: bool) -> Eval<()> {
        // The parser reads such a statement twice.
        self.tick(2)?;
        let shape = self.binding(name).map(|var| var.shape);
        if let Some(Shape::Assoc(old)) = &shape {
            self.tick(if append { old.len() as u64 / 4 } else { 0 })?;
            let mut map = if append { (**old).clone() } else { BTreeMap::new() };
            for (key, word) in items {
                let value = self.expand_assigned(word)?;
                let key = match key {
                    Some(key) => self.expand_text(key)?.as_known().map(|key| Rc::from(&*key)),
                    None => Some(Rc::from("0")),
                };
                let Some(key) = key else {
                    return self
                        .assign_shape(name, Shape::UnknownArray(Rc::new(Cause::ManyValues(name.into()))));
                };
                map.insert(key, value);
            }
            return self.assign_shape(name, Shape::Assoc(Rc::new(map)));
        }
        let old = match shape {
            Some(Shape::Indexed(old)) if append => old,
            Some(Shape::Scalar(value)) if append => Rc::new(BTreeMap::from([(0, value)])),
            Some(Shape::UnknownArray(_)) if append => return Ok(()),
            _ => Rc::default(),
        };
        let mut next = old.keys().next_back().map_or(0, |last| last + 1);
        // What is added, apart: it may read the array that it is added to.
        let mut added = Vec::with_capacity(items.len());
        for (key, word) in items {
            if let Some(key) = key {
                let text = self.expand_text(key)?;
                let Some(index) = text.as_known().and_then(|text| arith::evaluate(&text, self)) else {
                    return self
                        .assign_shape(name, Shape::UnknownArray(Rc::new(Cause::ManyValues(name.into()))));
                };
                next = index;
                let value = self.expand_assigned(word)?;
                added.push((next, value));
                next += 1;
                continue;
            }
            for value in self.expand_values(word)? {
                added.push((next, value));
                next += 1;
                self.tick(1)?;
            }
        }
        let count = old.len();
        let mut map = self.taken(name, old, count)?;
        Rc::make_mut(&mut map).extend(added);
        self.assign_shape(name, Shape::Indexed(map))
    }

    /// An array that is about to be assigned again, to be changed in its place: one that grows by an element at a time
    /// must not be copied each time. Where a branch shares it, it is, and that is work.
    fn taken<T>(&mut self, name: &str, items: Rc<T>, count: usize) -> Eval<Rc<T>> {
        let name = self.state.resolve(name).into_owned();
        if Rc::strong_count(&self.state.vars) == 1
            && let Some(var) = Rc::make_mut(&mut self.state.vars).get_mut(name.as_str())
            && !var.readonly
        {
            var.shape = Shape::Unset;
        }
        if Rc::strong_count(&items) > 1 {
            self.tick(count as u64 / 4)?;
        }
        Ok(items)
    }

    fn assign_element(&mut self, name: &str, subscript: &Word, value: Val, append: bool) -> Eval<()> {
        let key = self.expand_text(subscript)?;
        let unknown = |evaluator: &mut Self| {
            evaluator.assign_shape(name, Shape::UnknownArray(Rc::new(Cause::ManyValues(name.into()))))
        };
        let Some(key) = key.as_known() else { return unknown(self) };
        let shape = self.binding(name).map(|var| var.shape);
        if let Some(Shape::Assoc(mut items)) = shape {
            let count = items.len();
            items = self.taken(name, items, count)?;
            let items_now = Rc::make_mut(&mut items);
            let value = match items_now.get(&*key) {
                Some(old) if append => concat(old, &value),
                _ => value,
            };
            items_now.insert(Rc::from(&*key), value);
            return self.assign_shape(name, Shape::Assoc(items));
        }
        let mut items = match shape {
            Some(Shape::Indexed(items)) => items,
            Some(Shape::Scalar(value)) => Rc::new(BTreeMap::from([(0, value)])),
            Some(Shape::UnknownArray(_) | Shape::Alternatives(_)) => return unknown(self),
            _ => Rc::default(),
        };
        let key = key.into_owned();
        let Some(mut index) = arith::evaluate(&key, self) else { return unknown(self) };
        let count = items.len();
        items = self.taken(name, items, count)?;
        let items_now = Rc::make_mut(&mut items);
        if index < 0 {
            index += items_now.keys().next_back().map_or(0, |last| last + 1);
        }
        let value = match items_now.get(&index) {
            Some(old) if append => concat(old, &value),
            _ => value,
        };
        items_now.insert(index, value);
        self.assign_shape(name, Shape::Indexed(items))
    }

    /// Makes a name local to the function that is being followed.
    pub(crate) fn make_local(&mut self, name: &str) {
        let previous = self.state.vars.get(name).cloned();
        if let Some(frame) = self.frames.iter_mut().rev().find(|frame| frame.is_function)
            && !frame.locals.iter().any(|(local, _)| &**local == name)
        {
            frame.locals.push((name.into(), previous));
        }
    }
}

impl arith::Variables for Evaluator<'_> {
    fn get(&mut self, name: &str, index: Option<&str>) -> Option<String> {
        let read = match index {
            None => self.read(name).ok()?,
            Some(index) => {
                let index = index.to_owned();
                let shape = self.binding(name).map(|var| var.shape);
                match shape {
                    None | Some(Shape::Unset) => Read::Unset,
                    Some(Shape::Indexed(items)) => {
                        let index = arith::evaluate(&index, self)?;
                        items.get(&index).cloned().map_or(Read::Unset, Read::Set)
                    }
                    Some(Shape::Assoc(items)) => items.get(&*index).cloned().map_or(Read::Unset, Read::Set),
                    Some(_) => return None,
                }
            }
        };
        match read {
            Read::Set(value) => value.as_known().map(std::borrow::Cow::into_owned),
            Read::Unset => Some(String::new()),
            Read::Maybe(_) => None,
        }
    }

    fn set(&mut self, name: &str, index: Option<&str>, value: Option<i64>) {
        let value = match value {
            Some(number) => Val::known(&number.to_string()),
            None => Val::number(Cause::ManyValues(name.into())),
        };
        // A bound that is reached here is reached again at the next step.
        let _ = match index {
            None => self.assign(name, value),
            Some(index) => {
                let word = crate::shell::word::parse(index, crate::shell::word::Context::Arithmetic);
                self.assign_element(name, &word, value, false)
            }
        };
    }
}

/// Whether a variable stands for what guards have shown about a positional parameter.
pub(super) fn is_positional(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_digit())
}

fn concat(left: &Val, right: &Val) -> Val {
    let mut text = left.text.clone();
    text.push(&right.text);
    Val::plain(text)
}

/// The length of the known part of a text.
pub(crate) fn text_length(text: &Abstract) -> usize {
    text.pieces.iter().map(|piece| if let Piece::Text(text) = piece { text.len() } else { 1 }).sum()
}

/// An environment variable's value: one that is set and empty says so.
fn environment_value(name: &str, text: &str) -> Abstract {
    if text.is_empty() { Abstract::nothing(Cause::Empty(name.into())) } else { Abstract::known(text) }
}

/// A working directory as text.
pub(crate) fn base_text(base: &Base) -> Abstract {
    match base {
        Base::Known(path) => Abstract::known(&path.to_string_lossy()),
        Base::OneOf(_) => Abstract::hole(Hole {
            cause: Rc::new(Cause::ManyValues("PWD".into())),
            maybe_empty: false,
            component: false,
            born: false,
        }),
        Base::Unknown(why) => Abstract::hole(Hole {
            cause: Rc::new(Cause::NotModelled(why.clone())),
            maybe_empty: false,
            component: false,
            born: false,
        }),
    }
}

fn describe(read: &Read, name: &str) -> String {
    match read {
        Read::Unset => format!("{name} is unset"),
        Read::Set(value) => describe_text(&value.text),
        Read::Maybe(value) => format!("{} (or unset)", describe_text(&value.text)),
    }
}

fn describe_shape(shape: &Shape) -> String {
    match shape {
        Shape::Unset => "unset".into(),
        Shape::Scalar(value) => describe_text(&value.text),
        Shape::Alternatives(values) => {
            let all =
                values.iter().map(|value| value.as_ref().map_or("unset".into(), |v| describe_text(&v.text)));
            all.collect::<Vec<_>>().join(" or ")
        }
        Shape::Indexed(items) => format!("an array of {}", items.len()),
        Shape::Assoc(items) => format!("an associative array of {}", items.len()),
        Shape::UnknownArray(_) => "an array that is known only at run time".into(),
        Shape::Reference(name) => format!("another name of {name}"),
    }
}

/// A text for people: what is not known stands in angle brackets.
pub(crate) fn describe_text(text: &Abstract) -> String {
    let mut out = String::new();
    for piece in &text.pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Nothing(cause) => {
                out.push_str(&format!("<nothing: {}>", describe_cause(cause)));
            }
            Piece::Hole(hole) => out.push_str(&format!("<{}>", describe_cause(&hole.cause))),
        }
    }
    out
}

fn describe_cause(cause: &Cause) -> String {
    match cause {
        Cause::Unset(name) => format!("{name} is unset"),
        Cause::Empty(name) => format!("{name} is empty"),
        Cause::Positional(name) => format!("parameter {name}"),
        Cause::CommandOutput(command) => format!("output of {command}"),
        Cause::Input(what) => format!("input: {what}"),
        Cause::ManyValues(name) => format!("{name} has several values"),
        Cause::NotModelled(what) => format!("not known: {what}"),
    }
}
