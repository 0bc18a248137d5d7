//! Sequences, `&&` and `||`, and what every statement has in common.

use std::rc::Rc;

use super::{Evaluator, Segment};
use crate::shell::limits::Eval;
use crate::shell::state::{Fact, Facts, Outcome, Reach, State};
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

    /// A chain of `&&` and `||`.
    pub(crate) fn and_or(&mut self, first: &Statement, rest: &[(Link, Statement)]) -> Eval<Outcome> {
        self.in_condition += 1;
        let mut left = self.statement(first)?;
        for (index, (link, next)) in rest.iter().enumerate() {
            let last = index + 1 == rest.len();
            if last {
                self.in_condition -= 1;
            }
            left = self.linked(left, *link, next)?;
        }
        Ok(left)
    }

    /// The right side of a link, given how the left side ended.
    fn linked(&mut self, left: Outcome, link: Link, next: &Statement) -> Eval<Outcome> {
        let runs = left.succeeds().map(|ok| ok == (link == Link::And));
        let (runs_if, skips_if) = match link {
            Link::And => (&left.if_ok, &left.if_fail),
            Link::Or => (&left.if_fail, &left.if_ok),
        };
        let (runs_if, skips_if) = (runs_if.clone(), skips_if.clone());
        let before = self.state.clone();
        let mut skipped = self.branch_state(before, &skips_if, runs.map(|runs| !runs));
        self.learn(&runs_if);
        let right = self.guarded(runs, |evaluator| evaluator.statement(next))?;
        let facts_still_hold = self.still_hold(&runs_if);
        if runs == Some(true) {
            // Whatever the other side would have been, it is not.
            skipped.reach = if skipped.reach == Reach::Live { Reach::Folded } else { skipped.reach };
        }
        let present = self.state.clone();
        self.state = self.join_two(present, skipped);
        let mut through: Facts = facts_still_hold;
        Ok(match link {
            Link::And => {
                through.extend(right.if_ok);
                let status = match runs {
                    Some(true) => right.status,
                    Some(false) => left.status,
                    None => right.status.filter(|&status| status != 0 && left.status == Some(status)),
                };
                let if_fail = if runs == Some(true) { right.if_fail } else { Facts::new() };
                Outcome { status, if_ok: through, if_fail }
            }
            Link::Or => {
                through.extend(right.if_fail);
                let status = match runs {
                    Some(true) => right.status,
                    Some(false) => left.status,
                    // `… || true` always succeeds.
                    None => right.status.filter(|&status| status == 0),
                };
                let if_ok = if runs == Some(true) { right.if_ok } else { Facts::new() };
                Outcome { status, if_ok, if_fail: through }
            }
        })
    }

    /// A copy of the present state in which `facts` hold. `reached`: as far as is known.
    pub(crate) fn branch_state(&mut self, state: State, facts: &Facts, reached: Option<bool>) -> State {
        let present = std::mem::replace(&mut self.state, state);
        self.learn(facts);
        if reached == Some(false) && self.state.reach == Reach::Live {
            self.state.reach = Reach::Folded;
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
                if self.state.reach == Reach::Live {
                    self.state.reach = Reach::Folded;
                }
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

    /// Those of the facts that the present state still bears out.
    fn still_hold(&mut self, facts: &Facts) -> Facts {
        let mut kept = Facts::new();
        for fact in facts {
            let holds = match fact {
                Fact::Cwd(base) => self.state.cwd == *base,
                Fact::NotEmpty(name) | Fact::Empty(name) | Fact::Set(name) => self.unchanged_by(name, fact),
                Fact::Is(name, _) | Fact::IsNot(name, _) => self.unchanged_by(name, fact),
            };
            if holds {
                kept.push(fact.clone());
            }
        }
        kept
    }

    /// Whether learning the fact again would change nothing.
    fn unchanged_by(&mut self, name: &Rc<str>, fact: &Fact) -> bool {
        let before = self.state.clone();
        let old = self.state.vars.get(name).cloned();
        self.learn(&Facts::from_iter([fact.clone()]));
        let same = self.state.vars.get(name).cloned() == old;
        self.state = before;
        same
    }
}
