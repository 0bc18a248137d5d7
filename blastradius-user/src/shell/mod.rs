//! Text → abstract evaluation → calls of programs → effects. No I/O: the machine is behind [`world::World`].
//!
//! | file | question |
//! |---|---|
//! | `parse`, `pieces`, `lower`, `syntax` | what commands is the text made of? |
//! | `lexical`, `word`, `brace` | what parts is a word made of? |
//! | `value`, `state`, `places`, `join` | what is known at this point? |
//! | `expand`, `parameter`, `pattern`, `glob`, `arith` | what arguments does a word give? |
//! | `eval`, `builtins`, `fold` | what does a command do, and what is known after it? |
//! | `limits` | when is it too much? |

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod arith;
mod brace;
mod builtins;
mod eval;
mod expand;
mod fold;
mod glob;
mod join;
mod lexical;
pub mod limits;
mod lower;
mod parameter;
mod parse;
mod pattern;
mod pieces;
mod places;
mod roomy;
mod state;
mod syntax;
#[cfg(test)]
mod tests;
pub mod trace;
pub mod value;
mod word;
pub mod world;

use std::borrow::Cow;
use std::rc::Rc;

use blastradius_common::RuleId;

use self::limits::{Limit, Work};
use self::trace::Step;
use self::value::Field;
use self::world::World;
use crate::policy::effect::Located;
use crate::programs::Dialect;

/// What the caller wants to know, and knows.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep the steps.
    pub trace: bool,
    /// Keep the simple commands that are called, unwrapped.
    pub commands: bool,
    /// `$0`, `$1`, … of the text, where the caller knows them (`sh -c TEXT a b`). Empty: unknown.
    pub positional: Vec<String>,
    /// Fewer steps than [`limits::STEPS`], where the answer is worth no more.
    pub most_steps: Option<u64>,
    /// The text runs now: a directory that is not there, and that nothing before could have made, is not entered.
    pub runs_now: bool,
    /// Script files that the text starts are not looked into: each is asked about when it is executed.
    pub leaves_scripts: bool,
}

/// Something about the text itself that stands in the way of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// [`RuleId::UnparseableCommand`] or [`RuleId::UnparseableLimit`].
    pub rule: RuleId,
    /// What the parser said, or the name of the limit.
    pub what: Cow<'static, str>,
    /// The stretch of text that is concerned.
    pub segment: Rc<str>,
    /// For text that does not parse: the destructive verb that it holds.
    pub verb: Option<Rc<str>>,
}

/// A simple command after unwrapping: what a wrapper hands over counts by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The program without its directory and its arguments after expansion, separated by single spaces. An argument that
    /// is not known stands as written.
    pub command: String,
    /// The part of the text that calls it.
    pub segment: Rc<str>,
}

/// What a text would do.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// The simple commands that are called, if they were asked for.
    pub commands: Vec<Called>,
    /// In the order of the evaluation, each once.
    pub effects: Vec<Located>,
    /// What keeps the text from being understood. None of them lets it pass.
    pub problems: Vec<Problem>,
    /// The steps, if they were asked for.
    pub trace: Vec<Step>,
    /// What the evaluation cost.
    pub work: Work,
}

/// Evaluates text that a shell of this dialect would read.
pub fn evaluate_text(text: &[u8], dialect: Dialect, world: &dyn World, options: &Options) -> Evaluation {
    if text.len() > limits::TEXT_BYTES {
        let problem = Problem {
            rule: RuleId::UnparseableLimit,
            what: Limit::TextBytes.name().into(),
            segment: "".into(),
            verb: None,
        };
        return Evaluation { problems: vec![problem], ..Evaluation::default() };
    }
    let text = String::from_utf8_lossy(text);
    roomy::evaluate(&text, world, options, |evaluator| evaluator.run_submitted(&text, dialect))
}

/// Evaluates an argv that is executed as it is: nothing in it is expanded.
pub fn evaluate_argv(argv: &[Field], world: &dyn World, options: &Options) -> Evaluation {
    let text: usize = argv.iter().map(|field| field.source.len()).sum();
    if text > limits::TEXT_BYTES {
        let problem = Problem {
            rule: RuleId::UnparseableLimit,
            what: Limit::TextBytes.name().into(),
            segment: "".into(),
            verb: None,
        };
        return Evaluation { problems: vec![problem], ..Evaluation::default() };
    }
    let joined = argv.iter().map(|field| &*field.source).collect::<Vec<_>>().join(" ");
    roomy::evaluate(&joined, world, options, |evaluator| evaluator.run_exact(argv, &joined))
}
