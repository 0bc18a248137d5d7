//! Who asks, and whether anyone can answer a question.

/// Whether a human can answer a confirm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Confirm is asked.
    #[default]
    Interactive,
    /// Confirm is refused; the tilde and glob rules bind.
    Unattended,
    /// Unattended, and warnings are refused.
    Strict,
}

/// Through which door the command came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// `check`: text that a shell will run later, in this environment.
    Text,
    /// An agent's hook: text that a shell will run later, in an environment that is not the hook's.
    Hook,
    /// `blastradius -- CMD`: judged, then executed by us.
    Wrapper,
    /// An execve inside a `run`. With a proved rung the kernel judges removals, and the exec layer only what the
    /// kernel cannot see.
    Exec {
        /// The session's syscall layer is enforced and proved.
        rung_proved: bool,
    },
    /// A human's own command in an agent's prompt: deny tier only.
    Human,
}

/// What the judge must know about the asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Whether a human can answer.
    pub mode: Mode,
    /// The door.
    pub surface: Surface,
}
