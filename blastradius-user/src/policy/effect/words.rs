//! Effects in words: what `blastradius explain` says of each step.

use std::fmt;

use super::{Act, Base, Effect, PathTarget};

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { act, target } => write!(f, "{act} {target}"),
            Self::Git { base, what, .. } => write!(f, "{what}, {base}"),
            Self::Thing { rule, what, object, .. } if object.is_empty() => {
                write!(f, "{what} ({})", rule.id())
            }
            Self::Thing { rule, what, object, .. } => write!(f, "{what}: {object} ({})", rule.id()),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Remove { recursive: false } => "remove",
            Self::Remove { recursive: true } => "remove, with all that lies below:",
            Self::Truncate => "empty or overwrite",
            Self::Append => "append to",
            Self::Replace => "put another object in the place of",
            Self::Move => "move away",
            Self::Metadata { recursive: false } => "change mode or owner of",
            Self::Metadata { recursive: true } => "change mode or owner of the tree",
            Self::Device => "write as a device",
        })
    }
}

impl fmt::Display for PathTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.operand.source)?;
        if !self.selection.filter.is_empty() {
            write!(f, ", only {}", self.selection.filter)?;
        }
        // An absolute operand means the same everywhere.
        if self.operand.source.starts_with(['/', '~']) { Ok(()) } else { write!(f, ", {}", self.base) }
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(directory) => write!(f, "in {}", directory.display()),
            Self::OneOf(directories) => {
                let names: Vec<_> =
                    directories.iter().map(|directory| directory.display().to_string()).collect();
                write!(f, "in {}", names.join(" or "))
            }
            Self::Unknown(why) => write!(f, "in a directory that is known only at run time: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::rc::Rc;

    use blastradius_common::RuleId;

    use super::*;
    use crate::policy::effect::{Follow, Selection};
    use crate::shell::value::Field;

    fn removes(operand: &str, filter: &str) -> String {
        let target = PathTarget {
            operand: Field::literal(operand),
            base: Base::Known(Rc::new(PathBuf::from("/home/dev"))),
            follow: Follow::Never,
            selection: Selection { filter: filter.into(), ..Selection::default() },
        };
        Effect::Path { act: Act::Remove { recursive: true }, target }.to_string()
    }

    #[test]
    fn an_effect_says_what_is_done_to_what_and_where() {
        assert_eq!(removes("build", ""), "remove, with all that lies below: build, in /home/dev");
        assert_eq!(
            removes("/srv", "-name '*.pyc'"),
            "remove, with all that lies below: /srv, only -name '*.pyc'"
        );
        let thing = Effect::Thing {
            rule: RuleId::PowerState,
            verdict: None,
            what: "stops the machine".into(),
            object: "".into(),
        };
        assert_eq!(thing.to_string(), "stops the machine (power-state)");
    }
}
