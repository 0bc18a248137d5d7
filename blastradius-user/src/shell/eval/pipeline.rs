//! Pipelines: what one command prints is what the next one reads.

use super::{Evaluator, Stdin};
use crate::shell::limits::Eval;
use crate::shell::state::Outcome;
use crate::shell::syntax::Statement;

impl Evaluator<'_> {
    pub(super) fn pipeline(&mut self, stages: &[Statement]) -> Eval<Outcome> {
        let outer = self.stdin.clone();
        let mut outcome = Outcome::unknown();
        let mut certain = true;
        self.forks += 1;
        for (index, stage) in stages.iter().enumerate() {
            let last = index + 1 == stages.len();
            if last {
                let here = self.state.flags.lastpipe || self.dialect == crate::programs::Dialect::Zsh;
                outcome =
                    if here { self.statement(stage)? } else { self.in_subshell(|e| e.statement(stage))? };
                break;
            }
            self.capture();
            let done = self.in_subshell(|evaluator| evaluator.statement(stage))?;
            certain &= done.succeeds() == Some(true);
            let output = self.captured();
            self.stdin = Stdin::Input(output);
        }
        self.forks -= 1;
        self.stdin = outer;
        let status = if self.state.flags.pipefail && !certain { None } else { outcome.status };
        // What a guard at the end of a pipe shows is shown in a subshell, but it is true all the same.
        Ok(Outcome { status, ..outcome.seen_from_outside() })
    }
}
