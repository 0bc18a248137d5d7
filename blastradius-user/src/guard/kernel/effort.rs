//! What the programs cost when they are loaded: the verifier walks every path of each, and a session's start waits for it.

/// Whether the verifier is asked for its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weigh {
    No,
    Yes,
}

/// What the verifier did to accept a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// The program.
    pub program: String,
    /// Instructions that it has.
    pub instructions: usize,
    /// Instructions that the verifier looked at; more than once, where several paths lead over one.
    pub visited: u64,
    /// States that it kept to compare with.
    pub states: u64,
    /// How long it took.
    pub micros: u64,
}

impl Effort {
    /// From what the verifier says in the end (`print_verification_stats`, kernel/bpf/verifier.c).
    pub(super) fn from_log(program: &str, instructions: usize, log: &str) -> Self {
        let number = |before: &str| {
            let digits = log.split_once(before)?.1.split(|other: char| !other.is_ascii_digit()).next()?;
            digits.parse().ok()
        };
        Self {
            program: program.to_owned(),
            instructions,
            visited: number("processed ").unwrap_or(u64::MAX),
            states: number("total_states ").unwrap_or_default(),
            micros: number("verification time ").unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verifiers_last_lines_are_read() {
        let log = "verification time 1873 usec\nstack depth 128+64\n\
            processed 13817 insns (limit 1000000) max_states_per_insn 8 total_states 901 peak_states 900 mark_read 4\n";
        let effort = Effort::from_log("path_unlink", 213, log);
        assert_eq!(
            effort,
            Effort {
                program: "path_unlink".into(),
                instructions: 213,
                visited: 13_817,
                states: 901,
                micros: 1_873
            }
        );
        // A kernel that says nothing is not taken for one that did nothing.
        assert_eq!(Effort::from_log("path_unlink", 213, "").visited, u64::MAX);
    }
}
