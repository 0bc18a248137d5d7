//! What does the analyzer say of that?

use std::path::{Path, PathBuf};

use crate::analysis::Report;
use crate::policy::mode::Asker;

/// What a tool does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAct {
    /// Its content is replaced, in part or whole.
    Write,
    /// It goes.
    Delete,
    /// Its name goes, the content lives on elsewhere.
    Move,
}

/// One thing that an agent is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A shell will read this.
    Text(String),
    /// This will be executed as it is.
    Argv(Vec<String>),
    /// A file tool acts on this path.
    File(FileAct, PathBuf),
}

/// Whoever answers questions: the analyzer, or a test.
pub trait Judge {
    /// What there is to object to `question`, asked in the directory `cwd`.
    fn judge(&self, question: &Question, cwd: &Path, asker: Asker) -> Report;

    /// What the session that this process belongs to refused since the last call of this method, for the model to read.
    fn refusals(&self) -> Vec<String> {
        Vec::new()
    }
}
