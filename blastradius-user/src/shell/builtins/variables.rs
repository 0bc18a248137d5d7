//! Builtins that make, change and drop variables.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::shell::arith;
use crate::shell::eval::Evaluator;
use crate::shell::limits::Eval;
use crate::shell::state::{Convert, Outcome, Positional, Shape, Val, Var};
use crate::shell::syntax::{AssignedValue, Assignment};
use crate::shell::value::{Abstract, Cause, Field, Hole};

/// `export`, `declare` and their kin, called with words alone.
pub(super) fn declaration(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) -> Eval<Outcome> {
    evaluator.declare(name, args, &[])
}

/// What the options of a declaration ask for.
#[derive(Default)]
struct Asked {
    export: Option<bool>,
    readonly: bool,
    convert: Option<Convert>,
    reference: bool,
    indexed: bool,
    associative: bool,
    global: bool,
    /// `-p`, `-f`, `-F`: it only prints.
    prints: bool,
}

impl Evaluator<'_> {
    /// A declaration: options and names as words, assignments as the parser saw them.
    pub(crate) fn declare(&mut self, name: &str, words: &[Field], declared: &[&Assignment]) -> Eval<Outcome> {
        let mut asked = Asked { export: (name == "export").then_some(true), ..Asked::default() };
        asked.readonly = name == "readonly";
        let mut names: Vec<&Field> = Vec::new();
        for word in words {
            let known = word.as_known();
            match known.as_deref() {
                Some("--") => {}
                Some(option) if option.len() > 1 && option.starts_with(['-', '+']) => {
                    asked.read(option, name)
                }
                _ => names.push(word),
            }
        }
        if asked.prints {
            self.print_unknown()?;
            return Ok(Outcome::unknown());
        }
        let local = matches!(name, "local" | "declare" | "typeset") && !asked.global;
        for field in names {
            let Some(text) = field.text.pieces.first() else { continue };
            let crate::shell::value::Piece::Text(text) = text else { continue };
            let length = crate::shell::word::name_length(text.as_bytes());
            if length == 0 {
                continue;
            }
            let variable: Rc<str> = text[..length].into();
            if local {
                self.make_local(&variable);
            }
            match text[length..].strip_prefix('=') {
                Some(rest) => {
                    let mut value = Abstract::known(rest);
                    for piece in &field.text.pieces[1..] {
                        value.pieces.push(piece.clone());
                    }
                    self.prepare(&variable, &asked, local);
                    self.assign(&variable, Val::plain(value))?;
                    self.finish_declaration(&variable, &asked);
                }
                None if text.len() == length => {
                    if local && !asked.reference && self.in_function() {
                        self.state.bind(&variable, Var::new(Shape::Unset));
                    }
                    self.prepare(&variable, &asked, false);
                    self.finish_declaration(&variable, &asked);
                }
                None => {}
            }
        }
        // A declaration is a command: all its words are expanded before any of them is assigned.
        let mut values = Vec::with_capacity(declared.len());
        for assignment in declared {
            values.push(match &assignment.value {
                AssignedValue::Scalar(word) => Some(self.expand_assigned(word)?),
                AssignedValue::Array(_) => None,
            });
        }
        for (assignment, value) in declared.iter().zip(values) {
            let variable = assignment.name.clone();
            if local {
                self.make_local(&variable);
            }
            if asked.reference {
                let target = value.map_or_else(Abstract::default, |value| value.text);
                let shape = match target.as_known() {
                    Some(target) if *target != *variable => Shape::Reference(Rc::from(&*target)),
                    _ => Shape::UnknownArray(Rc::new(Cause::ManyValues(variable.clone()))),
                };
                self.state.bind(&variable, Var::new(shape));
                continue;
            }
            let fresh = local && self.in_function() && assignment.subscript.is_none() && !assignment.append;
            if fresh && (asked.indexed || asked.associative) {
                self.state.bind(&variable, Var::new(Shape::Unset));
            }
            self.prepare(&variable, &asked, false);
            self.perform_with(assignment, value)?;
            self.finish_declaration(&variable, &asked);
        }
        Ok(Outcome::ok())
    }

    /// Attributes that change how the value is read.
    fn prepare(&mut self, name: &Rc<str>, asked: &Asked, fresh: bool) {
        let mut var = match self.binding(name) {
            Some(var) if !fresh => var,
            _ => Var::new(Shape::Unset),
        };
        if let Some(convert) = asked.convert {
            var.convert = convert;
        }
        if asked.associative && !matches!(var.shape, Shape::Assoc(_)) {
            var.shape = Shape::Assoc(Rc::new(BTreeMap::new()));
        }
        if asked.indexed && !matches!(var.shape, Shape::Indexed(_) | Shape::UnknownArray(_)) {
            var.shape = match var.shape {
                Shape::Scalar(value) => Shape::Indexed(Rc::new(BTreeMap::from([(0, value)]))),
                _ => Shape::Indexed(Rc::default()),
            };
        }
        if asked.convert.is_some() || asked.associative || asked.indexed || fresh {
            self.state.bind(name, var);
        }
    }

    fn finish_declaration(&mut self, name: &Rc<str>, asked: &Asked) {
        if asked.export.is_none() && !asked.readonly {
            return;
        }
        let Some(mut var) = self.binding(name) else {
            if asked.export == Some(true) {
                let mut var = Var::new(Shape::Unset);
                var.exported = true;
                self.state.bind(name, var);
            }
            return;
        };
        var.exported = asked.export.unwrap_or(var.exported);
        var.readonly |= asked.readonly;
        self.state.bind(name, var);
    }

    /// Something that is not followed prints.
    pub(crate) fn print_unknown(&mut self) -> Eval<()> {
        let from = self.segment_text();
        self.print(crate::programs::Input::Unknown { from, network: false, decoded: false })
    }
}

impl Asked {
    fn read(&mut self, option: &str, command: &str) {
        let on = option.starts_with('-');
        for letter in option[1..].chars() {
            match letter {
                'x' => self.export = Some(on),
                'n' if command == "export" => self.export = Some(false),
                'n' => self.reference = on,
                'r' => self.readonly = on,
                'i' => self.convert = Some(if on { Convert::Integer } else { Convert::Keep }),
                'l' => self.convert = Some(if on { Convert::Lower } else { Convert::Keep }),
                'u' => self.convert = Some(if on { Convert::Upper } else { Convert::Keep }),
                'a' => self.indexed = on,
                'A' => self.associative = on,
                'g' => self.global = on,
                'p' | 'f' | 'F' => self.prints = true,
                _ => {}
            }
        }
    }
}

pub(super) fn unset(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let mut functions = false;
    for field in args {
        let Some(word) = field.as_known() else {
            // Any variable may be gone.
            let cwd = evaluator.state.cwd.clone();
            evaluator.taint(Cause::NotModelled(field.source.clone()));
            evaluator.state.cwd = cwd;
            continue;
        };
        match &*word {
            "-f" => functions = true,
            "-v" | "-n" | "--" => functions = false,
            name if functions => {
                Rc::make_mut(&mut evaluator.state.functions).remove(name);
            }
            name => match name.split_once('[') {
                Some((array, index)) if unset_element(evaluator, array, index)? => {}
                Some((array, _)) => {
                    let cause = Rc::new(Cause::ManyValues(array.into()));
                    evaluator.assign_shape(array, Shape::UnknownArray(cause))?;
                }
                None => evaluator.unset(name)?,
            },
        }
    }
    Ok(Outcome::ok())
}

/// `unset 'a[1]'`, where array and subscript are known.
fn unset_element(evaluator: &mut Evaluator<'_>, array: &str, index: &str) -> Eval<bool> {
    let Some(index) = index.strip_suffix(']') else { return Ok(false) };
    let shape = match (evaluator.binding(array).map(|var| var.shape), index.parse::<i64>()) {
        (Some(Shape::Indexed(mut items)), Ok(index)) if index >= 0 => {
            Rc::make_mut(&mut items).remove(&index);
            Shape::Indexed(items)
        }
        (Some(Shape::Assoc(mut items)), _) if !index.contains(['$', '`', '"', '\'', '\\']) => {
            Rc::make_mut(&mut items).remove(index);
            Shape::Assoc(items)
        }
        _ => return Ok(false),
    };
    evaluator.assign_shape(array, shape)?;
    Ok(true)
}

pub(super) fn shift(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let count = match args.first() {
        None => Some(1),
        Some(field) => field.as_known().and_then(|text| text.parse::<usize>().ok()),
    };
    let positional = match (&evaluator.state.positional, count) {
        (Positional::Known(values), Some(count)) if count > values.len() => return Ok(Outcome::status(1)),
        (Positional::Known(values), Some(count)) => Positional::Known(values[count..].into()),
        _ => Positional::Unknown,
    };
    let known = positional != Positional::Unknown;
    evaluator.set_positional(positional);
    Ok(if known { Outcome::ok() } else { Outcome::unknown() })
}

pub(super) fn let_(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let mut last = None;
    for field in args {
        match field.as_known().map(std::borrow::Cow::into_owned) {
            Some(expression) => last = arith::evaluate(&expression, evaluator),
            None => {
                evaluator.forget_assigned(&field.source)?;
                last = None;
            }
        }
    }
    Ok(Outcome::truth(last.map(|number| number != 0)))
}

pub(super) fn getopts(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let Some(name) = args.get(1).and_then(Field::as_known).map(std::borrow::Cow::into_owned) else {
        return Ok(Outcome::unknown());
    };
    let letter = Hole {
        cause: Rc::new(Cause::Positional("an option".into())),
        maybe_empty: false,
        component: true,
        born: false,
    };
    evaluator.assign(&name, Val::plain(Abstract::hole(letter)))?;
    evaluator.assign("OPTARG", Val::unknown(Cause::Positional("the argument of an option".into())))?;
    evaluator.assign("OPTIND", Val::number(Cause::Positional("OPTIND".into())))?;
    Ok(Outcome::unknown())
}
