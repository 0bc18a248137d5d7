//! Compound commands: groups, conditions, functions.

use std::rc::Rc;

use super::Evaluator;
use super::replay::both;
use crate::shell::limits::Eval;
use crate::shell::state::{Function, Outcome, Reach};
use crate::shell::syntax::{Command, List};
use crate::shell::trace::What;

impl Evaluator<'_> {
    /// A command without its redirections.
    pub(super) fn command(&mut self, command: &Command) -> Eval<Outcome> {
        match command {
            Command::Simple(simple) => self.simple(simple, &[]),
            Command::AndOr(first, rest) => self.and_or(first, rest),
            Command::Pipeline(stages) => self.pipeline(stages),
            Command::Group(list) => self.list(list),
            Command::Subshell(list) => {
                let outcome = self.in_subshell(|evaluator| evaluator.list(list))?;
                Ok(Outcome { status: outcome.status, ..Outcome::default() })
            }
            Command::If { arms, otherwise } => self.if_arms(arms, otherwise.as_ref()),
            Command::For { names, words, body } => self.for_loop(names, words.as_deref(), body),
            Command::ArithFor(parts) => self.arith_for(
                parts.init.as_ref(),
                parts.condition.as_ref(),
                parts.step.as_ref(),
                &parts.body,
            ),
            Command::While { until, condition, body } => self.while_loop(*until, condition, body),
            Command::Case { word, arms } => {
                self.for_every_choice(&mut |evaluator| evaluator.case(word, arms))
            }
            Command::Select { name, words, body } => self.select(name, words, body),
            Command::Arith(word) => {
                let value = self.expand_arithmetic(word)?;
                let known = value.as_known().and_then(|text| text.parse::<i64>().ok());
                Ok(Outcome::truth(known.map(|number| number != 0)))
            }
            Command::Test(test) => self.for_every_choice(&mut |evaluator| evaluator.test_command(test)),
            Command::Function { names, body } => {
                for name in names {
                    let function =
                        Function { body: body.clone(), source: self.source.clone(), name: name.clone() };
                    Rc::make_mut(&mut self.state.functions).insert(name.clone(), Rc::new(function));
                }
                self.tick(1 + self.state.functions.len() as u64 / 16)?;
                Ok(Outcome::ok())
            }
            Command::Wrapped(statement) => self.statement(statement),
            Command::Always(body, always) => {
                let outcome = self.list(body)?;
                self.list(always)?;
                Ok(outcome)
            }
            Command::Repeat(body) => self.repeat_unknown(&mut |evaluator| evaluator.list(body).map(|_| ())),
            Command::Nothing => Ok(Outcome::ok()),
        }
    }

    /// Evaluates statements as a condition.
    pub(super) fn condition(&mut self, list: &List) -> Eval<Outcome> {
        self.in_condition += 1;
        let outcome = self.list(list);
        self.in_condition -= 1;
        let outcome = outcome?;
        if self.traces() {
            self.step(What::Condition(outcome.succeeds()));
        }
        Ok(outcome)
    }

    fn if_arms(&mut self, arms: &[(List, List)], otherwise: Option<&List>) -> Eval<Outcome> {
        let Some(((condition, then), rest)) = arms.split_first() else {
            return match otherwise {
                Some(list) => self.list(list),
                None => Ok(Outcome::ok()),
            };
        };
        let decided = self.condition(condition)?;
        let runs = decided.succeeds();
        let before = self.state.clone();
        self.learn(&decided.if_ok);
        let yes = self.guarded(runs, |evaluator| evaluator.list(then))?;
        let after_then = std::mem::replace(&mut self.state, before);
        self.learn(&decided.if_fail);
        self.enter()?;
        let no = self.guarded(runs.map(|runs| !runs), |evaluator| evaluator.if_arms(rest, otherwise))?;
        self.leave();
        let after_else = self.state.clone();
        self.state = self.join_two(after_then, after_else);
        Ok(match runs {
            Some(true) => yes,
            Some(false) => no,
            None => both(yes, no),
        })
    }

    /// Whether the present place is reached as far as is known.
    pub(super) fn is_live(&self) -> bool {
        self.state.reach == Reach::Live
    }
}
