//! The four answers.

/// What is to happen to an effect. Ordered: the worst finding of a command wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// It runs and nothing is said.
    Allow = 0,
    /// It runs; the wrapper shows the finding, a hook logs it, strict mode refuses it.
    Warn = 1,
    /// A human is asked; where none can answer, it is refused.
    Confirm = 2,
    /// It is refused.
    Deny = 3,
}

impl Verdict {
    /// All verdicts, mildest first.
    pub const ALL: [Self; 4] = [Self::Allow, Self::Warn, Self::Confirm, Self::Deny];

    /// The word used in JSON, in configuration and in the documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Confirm => "confirm",
            Self::Deny => "deny",
        }
    }

    /// The verdict that `name` spells, if any.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.name() == name)
    }
}
