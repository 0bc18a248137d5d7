//! Loops: over finite lists one by one, the others until nothing new is learnt.

use std::rc::Rc;

use super::{Evaluator, LoopFrame, Stdin};
use crate::programs::Input;
use crate::shell::join::many_values;
use crate::shell::limits::{Eval, UNROLLED};
use crate::shell::state::{Outcome, Reach, Shape, State, Val, Var};
use crate::shell::syntax::{List, Word};
use crate::shell::value::{Abstract, Cause, Hole};

impl Evaluator<'_> {
    /// `for name in words`
    pub(super) fn for_loop(
        &mut self,
        names: &[Rc<str>],
        words: Option<&[Word]>,
        body: &List,
    ) -> Eval<Outcome> {
        self.for_every_choice(&mut |evaluator| {
            let values = match words {
                Some(words) => {
                    let mut values = Vec::new();
                    for word in words {
                        values.extend(evaluator.expand_values(word)?);
                    }
                    values
                }
                None => match &evaluator.state.positional {
                    crate::shell::state::Positional::Known(args) => args.to_vec(),
                    crate::shell::state::Positional::Unknown => {
                        vec![Val::unknown(Cause::Positional("@".into()))]
                    }
                },
            };
            if std::mem::take(&mut evaluator.vacuous) {
                return Ok(Outcome::unknown());
            }
            evaluator.each_value(names, values, body, true)
        })
    }

    /// Runs the body for each value. `certain`: each of them comes up.
    pub(super) fn each_value(
        &mut self,
        names: &[Rc<str>],
        values: Vec<Val>,
        body: &List,
        certain: bool,
    ) -> Eval<Outcome> {
        let Some(name) = names.first() else { return Ok(Outcome::unknown()) };
        let values = merge_beyond(name, values);
        self.loops.push(LoopFrame::default());
        let count = values.len();
        for (index, value) in values.into_iter().enumerate() {
            self.tick(1)?;
            let open = value.text.has_hole() || !certain;
            // What a pattern or an unknown word stands for may be nothing, or much.
            let level = u32::from(open && count == 1);
            self.assign(name, value)?;
            for other in &names[1..] {
                self.assign(other, Val::unknown(Cause::ManyValues(other.clone())))?;
            }
            self.uncertain += level;
            let done = self.list(body);
            self.uncertain -= level;
            done?;
            self.end_iteration();
            if self.state.reach == Reach::Ended && index + 1 < count {
                // Left for sure; what follows is still looked at.
                self.state.reach = Reach::Folded;
            }
        }
        self.end_loop();
        Ok(Outcome::unknown())
    }

    /// Joins the states from which `continue` went on.
    fn end_iteration(&mut self) {
        let Some(frame) = self.loops.last_mut() else { return };
        let continued = std::mem::take(&mut frame.continued);
        for state in continued {
            let present = self.state.clone();
            self.state = self.join_two(present, state);
        }
    }

    /// Joins the states from which `break` left.
    fn end_loop(&mut self) {
        let Some(frame) = self.loops.pop() else { return };
        for state in frame.left {
            let present = self.state.clone();
            self.state = self.join_two(present, state);
        }
    }

    /// `break N` and `continue N`.
    pub(crate) fn leave_loop(&mut self, levels: usize, again: bool) {
        let floor = self.frames.last().map_or(0, |frame| frame.loops);
        let inside = self.loops.len().saturating_sub(floor);
        if inside == 0 {
            return;
        }
        if self.state.reach == Reach::Live {
            let state = self.state.clone();
            let index = self.loops.len() - levels.clamp(1, inside);
            let frame = &mut self.loops[index];
            if again { frame.continued.push(state) } else { frame.left.push(state) }
        }
        if self.state.reach != Reach::Folded {
            self.state.reach = Reach::Ended;
        }
    }

    pub(super) fn while_loop(&mut self, until: bool, condition: &List, body: &List) -> Eval<Outcome> {
        self.loops.push(LoopFrame::default());
        let mut exhausted = true;
        for round in 0..UNROLLED {
            self.tick(2)?;
            let before = self.state.clone();
            let decided = self.condition(condition)?;
            let decided = if until { decided.negated() } else { decided };
            match decided.succeeds() {
                Some(false) => {
                    self.learn(&decided.if_fail);
                    if round == 0 && self.is_live() {
                        // Never entered from here: looked at all the same, for what it would do.
                        let after = self.state.clone();
                        self.guarded(Some(false), |evaluator| evaluator.list(body).map(|_| ()))?;
                        self.end_iteration();
                        let files = self.state.files.clone();
                        self.state = after;
                        self.state.files = files;
                    }
                    exhausted = false;
                    break;
                }
                Some(true) => {
                    self.learn(&decided.if_ok);
                    self.list(body)?;
                    self.end_iteration();
                    if self.state.reach != Reach::Live {
                        exhausted = false;
                        break;
                    }
                    if Rc::ptr_eq(&before.vars, &self.state.vars) && before.cwd == self.state.cwd {
                        // Nothing changes any more.
                        exhausted = false;
                        break;
                    }
                }
                None => {
                    self.state = before;
                    break;
                }
            }
        }
        if exhausted {
            self.forget_input();
            self.repeat_unknown(&mut |evaluator| {
                let decided = evaluator.condition(condition)?;
                let decided = if until { decided.negated() } else { decided };
                evaluator.learn(&decided.if_ok);
                evaluator.list(body)?;
                evaluator.end_iteration();
                Ok(())
            })?;
        }
        self.end_loop();
        Ok(Outcome::unknown())
    }

    /// Of known input that a loop reads line by line, what is left is more than is followed.
    fn forget_input(&mut self) {
        if let Stdin::Input(Input::Text(text)) = &self.stdin
            && !text.pieces.is_empty()
            && text.as_known().is_some_and(|known| known.lines().count() > 1)
        {
            let from = self.segment_text();
            self.stdin = Stdin::Input(Input::Unknown { from, network: false, decoded: false });
        }
    }

    /// Runs something an unknown number of times: once as things stand, and once more with everything unknown that a
    /// run changes.
    pub(super) fn repeat_unknown(&mut self, run: &mut dyn FnMut(&mut Self) -> Eval<()>) -> Eval<Outcome> {
        let before = self.state.clone();
        self.uncertain += 1;
        run(self)?;
        let after = self.state.clone();
        if Rc::ptr_eq(&before.vars, &after.vars) && before.cwd == after.cwd {
            self.uncertain -= 1;
            self.state = self.join_two(before, after);
            return Ok(Outcome::unknown());
        }
        self.state = self.widen(before.clone(), after);
        let widened = self.state.clone();
        run(self)?;
        self.uncertain -= 1;
        let again = self.state.clone();
        let again = self.join_two(widened, again);
        self.state = self.join_two(before, again);
        Ok(Outcome::unknown())
    }

    /// What holds at the head of a loop: where a run changes a variable, it may be anything of the kind.
    fn widen(&mut self, before: State, after: State) -> State {
        let changed: Vec<Rc<str>> = after
            .vars
            .iter()
            .filter(|(name, var)| before.vars.get(*name) != Some(var))
            .map(|(name, _)| name.clone())
            .collect();
        let mut joined = self.join_two(before.clone(), after);
        for name in changed {
            let var = joined.vars.get(&name).cloned();
            let Some(var) = var else { continue };
            let shape = match &var.shape {
                Shape::Scalar(value) => {
                    Shape::Scalar(widened_value(&name, std::slice::from_ref(&Some(value.clone()))))
                }
                Shape::Alternatives(values) => {
                    // `for`-like variables that only ever take these values keep them; text that grows does not.
                    let numbers = |value: &Option<Val>| {
                        value.as_ref().and_then(Val::as_known).is_some_and(|text| text.parse::<i64>().is_ok())
                    };
                    if values.iter().all(numbers) {
                        Shape::Scalar(Val::number(Cause::ManyValues(name.clone())))
                    } else {
                        let mut all: Vec<Option<Val>> = values.to_vec();
                        all.push(Some(widened_value(&name, values)));
                        Shape::Alternatives(all.into())
                    }
                }
                Shape::Indexed(_) | Shape::Assoc(_) => {
                    Shape::UnknownArray(Rc::new(Cause::ManyValues(name.clone())))
                }
                other => other.clone(),
            };
            joined.bind(&name, Var { shape, ..var });
        }
        joined
    }

    /// `for ((…; …; …))`
    pub(super) fn arith_for(
        &mut self,
        init: Option<&Word>,
        condition: Option<&Word>,
        step: Option<&Word>,
        body: &List,
    ) -> Eval<Outcome> {
        if let Some(init) = init {
            self.expand_arithmetic(init)?;
        }
        self.loops.push(LoopFrame::default());
        let mut exhausted = true;
        for _ in 0..UNROLLED {
            self.tick(2)?;
            let before = self.state.clone();
            let truth = self.arithmetic_truth(condition)?;
            match truth {
                Some(false) => {
                    exhausted = false;
                    break;
                }
                Some(true) => {
                    self.list(body)?;
                    self.end_iteration();
                    if self.state.reach != Reach::Live {
                        exhausted = false;
                        break;
                    }
                    if let Some(step) = step {
                        self.expand_arithmetic(step)?;
                    }
                }
                None => {
                    self.state = before;
                    break;
                }
            }
        }
        if exhausted {
            self.repeat_unknown(&mut |evaluator| {
                evaluator.arithmetic_truth(condition)?;
                evaluator.list(body)?;
                evaluator.end_iteration();
                if let Some(step) = step {
                    evaluator.expand_arithmetic(step)?;
                }
                Ok(())
            })?;
        }
        self.end_loop();
        Ok(Outcome::unknown())
    }

    fn arithmetic_truth(&mut self, condition: Option<&Word>) -> Eval<Option<bool>> {
        let Some(condition) = condition else { return Ok(Some(true)) };
        let value = self.expand_arithmetic(condition)?;
        Ok(value.as_known().and_then(|text| text.parse::<i64>().ok()).map(|number| number != 0))
    }
}

/// More values than are followed one by one: the rest as one that is not known.
fn merge_beyond(name: &Rc<str>, mut values: Vec<Val>) -> Vec<Val> {
    if values.len() <= UNROLLED {
        return values;
    }
    let rest: Vec<Option<Val>> = values.split_off(UNROLLED - 1).into_iter().map(Some).collect();
    values.push(Val::plain(many_values(name, &rest)));
    values
}

/// A value that a loop changes each time.
fn widened_value(name: &Rc<str>, values: &[Option<Val>]) -> Val {
    let numbers = |value: &Option<Val>| {
        value.as_ref().and_then(Val::as_known).is_some_and(|text| text.parse::<i64>().is_ok())
    };
    if values.iter().all(numbers) {
        return Val::number(Cause::ManyValues(name.clone()));
    }
    let maybe_empty = values.iter().any(|value| value.as_ref().is_none_or(|value| value.text.may_be_empty()));
    Val::plain(Abstract::hole(Hole {
        cause: Rc::new(Cause::ManyValues(name.clone())),
        maybe_empty,
        component: false,
        born: false,
    }))
}
