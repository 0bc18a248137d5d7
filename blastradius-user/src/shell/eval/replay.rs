//! One command, evaluated once for each combination of the few values that it may meet.

use super::Evaluator;
use crate::shell::join::join;
use crate::shell::limits::{COMBINATIONS, Eval};
use crate::shell::state::{Outcome, State};

/// The decisions of the present run of a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    /// (taken, of how many), in the order in which they came up.
    made: Vec<(usize, usize)>,
    at: usize,
    /// There were too many combinations: whatever comes up counts as unknown.
    exhausted: bool,
}

/// What to take where one of a few is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Pick(usize),
    /// Take none of them: the value counts as unknown.
    TooMany,
}

impl Choices {
    /// Moves on to the next combination; `false`: there is none.
    fn advance(&mut self) -> bool {
        self.at = 0;
        while let Some((taken, of)) = self.made.pop() {
            if taken + 1 < of {
                self.made.push((taken + 1, of));
                return true;
            }
        }
        false
    }
}

impl Evaluator<'_> {
    /// One of `count` possibilities.
    pub(crate) fn choose(&mut self, count: usize) -> Choice {
        let choices = &mut self.choices;
        if choices.exhausted || count == 0 {
            return Choice::TooMany;
        }
        if choices.at == choices.made.len() {
            choices.made.push((0, count));
        }
        let (taken, _) = choices.made[choices.at];
        choices.at += 1;
        Choice::Pick(taken)
    }

    /// Runs `once` for every combination of choices that it makes, and joins what comes of them.
    pub(crate) fn for_every_choice(
        &mut self,
        once: &mut dyn FnMut(&mut Self) -> Eval<Outcome>,
    ) -> Eval<Outcome> {
        let outer = std::mem::take(&mut self.choices);
        let before = self.state.clone();
        let level = self.uncertain;
        let mut outcome = once(self)?;
        if !self.choices.made.is_empty() {
            let mut joined: State = std::mem::replace(&mut self.state, before.clone());
            // The runs so far were evaluated as if their choice were certain; which one it is, is not.
            self.uncertain = level + 1;
            let mut runs = 1;
            loop {
                if !self.choices.advance() {
                    break;
                }
                runs += 1;
                if runs > COMBINATIONS {
                    self.choices = Choices { exhausted: true, ..Choices::default() };
                }
                let next = once(self)?;
                let done = self.choices.exhausted;
                outcome = both(outcome, next);
                joined = self.join_states(joined, before.clone());
                if done {
                    break;
                }
            }
            self.uncertain = level;
            self.state = joined;
        }
        self.choices = outer;
        Ok(outcome)
    }

    /// Joins a state with the present one, which is replaced by `next`.
    fn join_states(&mut self, other: State, next: State) -> State {
        let present = std::mem::replace(&mut self.state, next);
        self.join_two(other, present)
    }

    /// Joins two states of the present shell.
    pub(crate) fn join_two(&mut self, left: State, right: State) -> State {
        // A join looks at every name that differs; the count bounds it before it is made.
        if !std::rc::Rc::ptr_eq(&left.vars, &right.vars) {
            self.work.steps += (left.vars.len() + right.vars.len()) as u64 / 8;
        }
        if !std::rc::Rc::ptr_eq(&left.files, &right.files) {
            self.work.steps += (left.files.len() + right.files.len()) as u64 / 2;
        }
        join(left, right, &|name| self.unbound(name))
    }
}

/// What holds whichever of two outcomes it is.
pub(crate) fn both(left: Outcome, right: Outcome) -> Outcome {
    let keep = |mut facts: crate::shell::state::Facts, other: &crate::shell::state::Facts| {
        facts.retain(|fact| other.contains(fact));
        facts
    };
    Outcome {
        status: if left.status == right.status { left.status } else { None },
        if_ok: keep(left.if_ok, &right.if_ok),
        if_fail: keep(left.if_fail, &right.if_fail),
    }
}
