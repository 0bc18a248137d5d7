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
    /// An execve inside a `run`.
    Exec {
        /// What stands behind the exec layer.
        backing: Backing,
    },
    /// A human's own command in an agent's prompt: deny tier only.
    Human,
}

/// The syscall layer behind the exec layer, proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// None: the exec layer judges everything.
    Nothing,
    /// It refuses, and nobody hears of it (Landlock): what it is certain to refuse is refused here, with the reason.
    /// It knows nothing of what the session made, so nothing is lost by that.
    Mute,
    /// It judges each object, knows what the session made, and tells of each refusal (the kernel's own rungs).
    Telling,
}

/// What the judge must know about the asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Whether a human can answer.
    pub mode: Mode,
    /// The door.
    pub surface: Surface,
}
