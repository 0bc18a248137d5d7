//! The steps of an evaluation, for `explain`. Off by default, and then nothing here is built.

use std::fmt;
use std::rc::Rc;

/// One step, in the order of the evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How deep in functions, substitutions and nested texts it happens.
    pub depth: u32,
    /// The command as written.
    pub segment: Rc<str>,
    /// What happened.
    pub what: What,
}

/// The kinds of step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A word gave these arguments.
    Word {
        /// As written.
        before: Rc<str>,
        /// The arguments that it gave.
        after: Vec<String>,
    },
    /// A variable was read.
    Variable {
        /// Its name.
        name: Rc<str>,
        /// What it is, and why.
        value: String,
    },
    /// A variable was assigned.
    Assigned {
        /// Its name.
        name: Rc<str>,
        /// Its new value.
        value: String,
    },
    /// A program was asked what it would do.
    Program {
        /// Its name, and whether it is a function, a builtin, a known program or not known.
        name: Rc<str>,
        /// The same.
        kind: &'static str,
    },
    /// A program said that it would do this.
    Effect(String),
    /// A target was left out, with the reason.
    LeftOut(String),
    /// A condition was decided, or could not be.
    Condition(Option<bool>),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { depth, segment: _, what } = self;
        write!(f, "{:1$}", "", 2 * *depth as usize)?;
        match what {
            What::Word { before, after } => write!(f, "word      {before} → {}", after.join(" ")),
            What::Variable { name, value } => write!(f, "variable  {name}: {value}"),
            What::Assigned { name, value } => write!(f, "assigned  {name}={value}"),
            What::Program { name, kind } => write!(f, "{kind:9} {name}"),
            What::Effect(effect) => write!(f, "effect    {effect}"),
            What::LeftOut(reason) => write!(f, "left out  {reason}"),
            What::Condition(Some(true)) => write!(f, "condition holds"),
            What::Condition(Some(false)) => write!(f, "condition does not hold"),
            What::Condition(None) => write!(f, "condition known only at run time: both ways are followed"),
        }
    }
}
