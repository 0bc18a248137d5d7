//! Where are the home, the project, our state and our program?

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::super::table::Place;

/// Whose hook file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The project's, in its directory.
    Project,
    /// The user's, for all projects.
    Global,
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Project => "project",
            Self::Global => "global",
        })
    }
}

/// The places that an installation depends on.
#[derive(Clone, Debug)]
pub struct Site {
    /// The user's home.
    pub home: PathBuf,
    /// The project.
    pub project: PathBuf,
    /// Where we keep what was there before.
    pub state: PathBuf,
    /// This program, absolute.
    pub program: PathBuf,
    /// The variables that move a host's files.
    pub env: HashMap<String, OsString>,
}

impl Site {
    /// The file that `place` names.
    pub fn resolve(&self, scope: Scope, place: Place) -> PathBuf {
        let moved = place.moved_by.and_then(|(variable, below)| {
            let directory =
                self.env.get(variable).map(Path::new).filter(|directory| directory.is_absolute())?;
            Some(directory.join(below))
        });
        match scope {
            Scope::Project => self.project.join(place.path),
            Scope::Global => moved.unwrap_or_else(|| self.home.join(place.path)),
        }
    }
}
