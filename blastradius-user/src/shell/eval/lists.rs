//! Sequences, `&&` and `||`, and what every statement has in common.

use super::{Evaluator, Segment};
use crate::shell::limits::Eval;
use crate::shell::state::{Fact, Facts, Outcome, Reach, Snapshot, State};
use crate::shell::syntax::{Command, Link, Statement};

impl Evaluator<'_> {
    /// Statements one after another.
    pub(crate) fn list(&mut self, list: &[Statement]) -> Eval<Outcome> {
        let mut last = Outcome::ok();
        for statement in list {
            last = self.statement(statement)?;
        }
        Ok(last)
    }

    /// One statement, with its redirections, its `!` and its `&`.
    pub(crate) fn statement(&mut self, statement: &Statement) -> Eval<Outcome> {
        if self.state.flags.noexec {
            return Ok(Outcome::ok());
        }
        self.enter()?;
        let outer = self.segment.clone();
        self.segment = Segment::Span(statement.span);
        let outcome = if statement.background {
            self.forks += 1;
            let done = self.in_subshell(|evaluator| evaluator.plain_statement(statement));
            self.forks -= 1;
            done.map(|_| Outcome::ok())
        } else {
            self.plain_statement(statement)
        };
        let outcome = outcome?;
        self.segment = outer;
        self.leave();
        let outcome = if statement.negated { outcome.negated() } else { outcome };
        self.state.status = outcome.status;
        if !statement.negated {
            self.errexit(&outcome, &statement.command);
        }
        Ok(outcome)
    }

    fn plain_statement(&mut self, statement: &Statement) -> Eval<Outcome> {
        match &statement.command {
            Command::Simple(simple) => self.simple(simple, &statement.redirections),
            command if statement.redirections.is_empty() => self.command(command),
            command => {
                self.with_redirections(&statement.redirections, |evaluator| evaluator.command(command))
            }
        }
    }

    /// `set -e`: behind a command that may fail, it has not failed.
    fn errexit(&mut self, outcome: &Outcome, command: &Command) {
        if !self.state.flags.errexit || self.in_condition > 0 || matches!(command, Command::AndOr(..)) {
            return;
        }
        match outcome.succeeds() {
            Some(true) => {}
            Some(false) => self.end_shell(),
            None => {
                let facts = outcome.if_ok.clone();
                self.learn(&facts);
            }
        }
    }

    /// The shell ends here; what follows is evaluated as something that is not reached.
    pub(crate) fn end_shell(&mut self) {
        if self.state.reach == Reach::Live {
            let state = self.state.clone();
            self.exits.push(state);
        }
        if self.state.reach != Reach::Folded {
            self.state.reach = Reach::Ended;
        }
    }

    /// A chain of `&&` and `||`: the state in which it has succeeded so far and the one in which it has failed are
    /// followed apart, so that what an early link sets holds in the later ones.
    pub(crate) fn and_or(&mut self, first: &Statement, rest: &[(Link, Statement)]) -> Eval<Outcome> {
        self.in_condition += 1;
        // In a branch that is not taken, what is known is known as well as elsewhere.
        let entered = self.state.reach;
        let as_entered = |state: &State| entered != Reach::Ended && state.reach == entered;
        let left = self.statement(first)?;
        let (mut ok, mut fail) = self.both_ways(&left);
        let mut last = left.status;
        for (index, (link, next)) in rest.iter().enumerate() {
            if index + 1 == rest.len() {
                self.in_condition -= 1;
            }
            let (runs, waits) = if *link == Link::And { (ok, fail) } else { (fail, ok) };
            let maybe = u32::from(as_entered(&waits) || !as_entered(&runs));
            self.state = runs;
            self.uncertain += maybe;
            let right = self.statement(next);
            self.uncertain -= maybe;
            let right = right?;
            last = right.status;
            let (right_ok, right_fail) = self.both_ways(&right);
            (ok, fail) = match link {
                Link::And => (right_ok, self.join_two(waits, right_fail)),
                Link::Or => (self.join_two(waits, right_ok), right_fail),
            };
        }
        let status = match (as_entered(&ok), as_entered(&fail)) {
            (true, false) => Some(0),
            (false, true) => last.filter(|&status| status != 0).or(Some(1)),
            _ => None,
        };
        let outcome = Outcome {
            status,
            if_ok: Facts::from_iter([Fact::All(Snapshot::of(&ok))]),
            if_fail: Facts::from_iter([Fact::All(Snapshot::of(&fail))]),
        };
        self.state = self.join_two(ok, fail);
        Ok(outcome)
    }

    /// The present state if the command has succeeded, and if it has failed.
    fn both_ways(&mut self, outcome: &Outcome) -> (State, State) {
        let present = self.state.clone();
        let succeeded = outcome.succeeds();
        let ok = self.branch_state(present.clone(), &outcome.if_ok, succeeded);
        let fail = self.branch_state(present, &outcome.if_fail, succeeded.map(|ok| !ok));
        (ok, fail)
    }

    /// A copy of the present state in which `facts` hold. `reached`: as far as is known.
    pub(crate) fn branch_state(&mut self, state: State, facts: &Facts, reached: Option<bool>) -> State {
        let present = std::mem::replace(&mut self.state, state);
        self.learn(facts);
        if reached == Some(false) {
            self.state.reach = self.state.reach.not_taken();
        }
        std::mem::replace(&mut self.state, present)
    }

    /// Runs what is reached for sure, perhaps, or as far as is known not at all.
    pub(crate) fn guarded<T>(
        &mut self,
        runs: Option<bool>,
        work: impl FnOnce(&mut Self) -> Eval<T>,
    ) -> Eval<T> {
        match runs {
            Some(true) => work(self),
            Some(false) => {
                self.state.reach = self.state.reach.not_taken();
                self.uncertain += 1;
                let done = work(self);
                self.uncertain -= 1;
                done
            }
            None => {
                self.uncertain += 1;
                let done = work(self);
                self.uncertain -= 1;
                done
            }
        }
    }
}
