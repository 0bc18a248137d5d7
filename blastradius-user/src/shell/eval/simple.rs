//! Simple commands: assignments, words, redirections, and what is called.

use std::rc::Rc;

use super::Evaluator;
use crate::policy::effect::Base;
use crate::programs::{Each, Input, Surroundings};
use crate::shell::expand::Argument;
use crate::shell::limits::Eval;
use crate::shell::state::{Fact, Facts, Outcome, Reach, Var};
use crate::shell::syntax::{
    Arg, AssignedValue, Assignment, Part, Redirection, RedirectionKind, Simple, Word,
};
use crate::shell::value::Field;

/// Builtins whose arguments of the form `name=value` are assignments.
pub(super) const DECLARATIONS: &[&str] = &["declare", "typeset", "local", "export", "readonly"];

impl Evaluator<'_> {
    /// A simple command, once for each combination of the values that its variables may have.
    pub(super) fn simple(&mut self, simple: &Simple, redirections: &[Redirection]) -> Eval<Outcome> {
        self.tick(2)?;
        let wanders = matches!(self.state.cwd, Base::OneOf(_));
        if !wanders && !may_choose(simple, redirections) {
            return self.simple_once(simple, redirections);
        }
        self.for_every_choice(&mut |evaluator| evaluator.simple_once(simple, redirections))
    }

    fn simple_once(&mut self, simple: &Simple, redirections: &[Redirection]) -> Eval<Outcome> {
        self.vacuous = false;
        self.aborted_by = None;
        self.state.status = Some(0);
        let processes = self.processes.len();
        let outcome = self.simple_guarded(simple, redirections);
        self.processes.truncate(processes);
        outcome
    }

    fn simple_guarded(&mut self, simple: &Simple, redirections: &[Redirection]) -> Eval<Outcome> {
        let mut arguments: Vec<Argument> = Vec::with_capacity(simple.args.len());
        let mut declared: Vec<&Assignment> = Vec::new();
        for arg in &simple.args {
            match arg {
                Arg::Word(word) => self.expand_arguments(word, &mut arguments)?,
                Arg::Assignment(assignment) => declared.push(assignment),
            }
        }
        drop_elided_names(&mut arguments);
        if self.vacuous {
            return Ok(self.never_runs());
        }
        if arguments.is_empty() && declared.is_empty() {
            return self.only_assignments(simple, redirections);
        }
        self.with_redirections(redirections, |evaluator| {
            if evaluator.vacuous {
                return Ok(evaluator.never_runs());
            }
            if !declared.is_empty() {
                return evaluator.declaration(arguments, &declared);
            }
            evaluator.with_assignments(&simple.assignments, |evaluator| evaluator.call(arguments))
        })
    }

    /// The command reads what a guard has ruled out: where it would run, the values are others.
    fn never_runs(&mut self) -> Outcome {
        self.vacuous = false;
        if let Some(name) = self.aborted_by.take() {
            let fact = if self.state.flags.nounset && !self.is_set_and_empty(&name) {
                Fact::Set(name)
            } else {
                Fact::NotEmpty(name)
            };
            self.learn(&Facts::from_iter([fact]));
            if self.state.reach == Reach::Live {
                self.state.reach = Reach::Folded;
            }
        }
        Outcome::unknown()
    }

    fn is_set_and_empty(&self, name: &str) -> bool {
        self.binding(name).is_some_and(|var| var.shape != crate::shell::state::Shape::Unset)
    }

    /// Assignments without a command: the shell's own variables change.
    fn only_assignments(&mut self, simple: &Simple, redirections: &[Redirection]) -> Eval<Outcome> {
        for assignment in &simple.assignments {
            self.perform(assignment)?;
        }
        if self.aborted_by.is_some() {
            return Ok(self.never_runs());
        }
        self.vacuous = false;
        // `$(< file)`, `> file`
        let substituted = simple.assignments.iter().any(|assignment| match &assignment.value {
            AssignedValue::Scalar(word) => word.parts.iter().any(|part| matches!(part, Part::Command { .. })),
            AssignedValue::Array(_) => false,
        });
        let reads = redirections.iter().any(|redirection| redirection.kind == RedirectionKind::Input);
        self.with_redirections(redirections, |evaluator| {
            if reads && simple.assignments.is_empty() && evaluator.is_captured() {
                let input = evaluator.standard_input();
                evaluator.print(input)?;
            }
            Ok(())
        })?;
        if substituted {
            return Ok(Outcome { status: self.state.status.filter(|_| false), ..Outcome::default() });
        }
        Ok(Outcome::ok())
    }

    /// `export X=…`, `local X=…`: options and bare names are words, the rest assignments.
    fn declaration(&mut self, arguments: Vec<Argument>, declared: &[&Assignment]) -> Eval<Outcome> {
        let fields: Vec<Field> = arguments.into_iter().map(|argument| argument.field).collect();
        let Some(name) = fields.first().and_then(Field::as_known) else { return Ok(Outcome::unknown()) };
        if !DECLARATIONS.contains(&&*name) {
            return self.call_fields(fields);
        }
        let name = name.into_owned();
        self.declare(&name, &fields[1..], declared)
    }

    /// `X=… command`: the assignments hold for the command alone.
    fn with_assignments(
        &mut self,
        assignments: &[Assignment],
        work: impl FnOnce(&mut Self) -> Eval<Outcome>,
    ) -> Eval<Outcome> {
        if assignments.is_empty() {
            return work(self);
        }
        let mut covered: Vec<(Rc<str>, Option<Var>)> = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let name = assignment.name.clone();
            covered.push((name.clone(), self.state.vars.get(&name).cloned()));
            self.perform(assignment)?;
            if let Some(mut var) = self.state.vars.get(&name).cloned() {
                var.exported = true;
                self.state.bind(&name, var);
            }
        }
        let outcome = work(self)?;
        for (name, var) in covered.into_iter().rev() {
            match var {
                Some(var) => self.state.bind(&name, var),
                None => {
                    Rc::make_mut(&mut self.state.vars).remove(&name);
                }
            }
        }
        Ok(outcome)
    }

    /// Calls what the arguments name. Operands that stand for the names of a listing are handed over as such.
    fn call(&mut self, arguments: Vec<Argument>) -> Eval<Outcome> {
        let selected = arguments.iter().position(|argument| argument.selected.is_some());
        let Some(at) = selected.filter(|&at| at > 0) else {
            return self.call_fields(arguments.into_iter().map(|argument| argument.field).collect());
        };
        let names: Vec<_> = arguments
            .iter()
            .filter_map(|argument| argument.selected.as_ref())
            .map(|selected| (**selected).clone())
            .collect();
        // The first of them marks the place; programs see its root as their operand.
        let mut fields: Vec<Field> = Vec::with_capacity(arguments.len());
        let mark = "\u{1}names";
        for (index, argument) in arguments.into_iter().enumerate() {
            if argument.selected.is_none() {
                fields.push(argument.field);
            } else if index == at {
                fields.push(Field::literal(mark));
            }
        }
        let each = Each { placeholder: Some(mark.into()), names: Input::Names(names) };
        self.run_each(fields, each, &Surroundings::default())
    }
}

/// Whether expansion can meet a choice, so that the state before has to be kept.
fn may_choose(simple: &Simple, redirections: &[Redirection]) -> bool {
    let expands = |word: &Word| {
        word.plain.is_none()
            && (!word.siblings.is_empty() || word.parts.iter().any(|part| !matches!(part, Part::Text { .. })))
    };
    let assigns = |assignment: &Assignment| match &assignment.value {
        AssignedValue::Scalar(word) => expands(word),
        AssignedValue::Array(items) => items.iter().any(|(_, word)| expands(word)),
    };
    simple.args.iter().any(|arg| match arg {
        Arg::Word(word) => expands(word),
        Arg::Assignment(assignment) => assigns(assignment),
    }) || simple.assignments.iter().any(assigns)
        || redirections.iter().any(|redirection| expands(&redirection.target))
}

/// Drops arguments that bash would not pass, up to the last word that names a program: behind it, a missing operand
/// is worth a word.
fn drop_elided_names(arguments: &mut Vec<Argument>) {
    if !arguments.iter().any(|argument| argument.elided) {
        return;
    }
    let names_program = |argument: &Argument| {
        argument.field.as_known().is_some_and(|name| crate::programs::table::is_destructive(&name))
    };
    let last = arguments.iter().rposition(names_program).unwrap_or(arguments.len());
    let mut index = 0;
    arguments.retain(|argument| {
        index += 1;
        !(argument.elided && index - 1 < last)
    });
}
