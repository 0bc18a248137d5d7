//! `case` and `select`.

use std::rc::Rc;

use super::{Evaluator, variable_of};
use crate::shell::limits::{Eval, PATTERN_WORK};
use crate::shell::pattern::Pattern;
use crate::shell::state::{Fact, Facts, Outcome, State};
use crate::shell::syntax::{CaseArm, CaseEnd, List, Word};

impl Evaluator<'_> {
    pub(super) fn case(&mut self, word: &Word, arms: &[CaseArm]) -> Eval<Outcome> {
        self.vacuous = false;
        let value = self.expand_assigned(word)?;
        self.vacuous = false;
        let text = value.as_known().map(std::borrow::Cow::into_owned);
        let name = variable_of(&word.source);
        // The state in which no arm so far has matched, and the states behind the arms.
        let mut ends: Vec<State> = Vec::new();
        let mut decided = false;
        let mut falls = false;
        for arm in arms {
            self.tick(1 + arm.patterns.len() as u64)?;
            let (matches, only) = self.arm_matches(text.as_deref(), arm)?;
            let runs = match (decided, falls, matches) {
                (_, true, _) => None,
                (true, ..) => Some(false),
                (false, false, matches) => matches,
            };
            let before = self.state.clone();
            if let (Some(name), Some(only)) = (&name, &only)
                && text.is_none()
            {
                let fact = if only.is_empty() {
                    Fact::Empty(name.clone())
                } else {
                    Fact::Is(name.clone(), only.as_str().into())
                };
                self.learn(&Facts::from_iter([fact]));
            }
            self.guarded(runs, |evaluator| evaluator.list(&arm.body).map(|_| ()))?;
            let after = std::mem::replace(&mut self.state, before);
            ends.push(after);
            if let (Some(name), Some(only)) = (&name, &only)
                && text.is_none()
            {
                let fact = if only.is_empty() {
                    Fact::NotEmpty(name.clone())
                } else {
                    Fact::IsNot(name.clone(), only.as_str().into())
                };
                self.learn(&Facts::from_iter([fact]));
            }
            falls = arm.end == CaseEnd::FallThrough && runs != Some(false);
            if runs == Some(true) && arm.end == CaseEnd::Break {
                decided = true;
                // Nothing behind the arm that is taken is reached by its own right.
                self.state.reach = self.state.reach.not_taken();
            }
        }
        for end in ends {
            let present = self.state.clone();
            self.state = self.join_two(end, present);
        }
        Ok(Outcome::unknown())
    }

    /// Whether an arm matches, and the one text that it matches if it is just one.
    fn arm_matches(&mut self, text: Option<&str>, arm: &CaseArm) -> Eval<(Option<bool>, Option<String>)> {
        let mut any_unknown = false;
        let mut only = None;
        for word in &arm.patterns {
            let Some(source) = self.expand_pattern(word)? else {
                any_unknown = true;
                continue;
            };
            if text.is_some_and(|text| text.len().saturating_mul(source.len()) > PATTERN_WORK / 64) {
                any_unknown = true;
                continue;
            }
            let matcher = Pattern::new(&source, true).fold_case(self.state.flags.nocasematch);
            if arm.patterns.len() == 1 {
                only = matcher.literal();
            }
            match text {
                Some(text) if matcher.matches(text) => return Ok((Some(true), only)),
                Some(_) => {}
                None if source == "*" => return Ok((Some(true), None)),
                None => any_unknown = true,
            }
        }
        Ok((if any_unknown { None } else { Some(false) }, only))
    }

    /// `select`: one of the words, again and again.
    pub(super) fn select(&mut self, name: &Rc<str>, words: &[Word], body: &List) -> Eval<Outcome> {
        let mut values = Vec::new();
        for word in words {
            values.extend(self.expand_values(word)?);
        }
        self.each_value(std::slice::from_ref(name), values, body, false)
    }
}
