//! Where are the home, the project, our state and our program?

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
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
    /// The places of this process, for a project in its directory.
    ///
    /// # Errors
    /// If one of them cannot be told.
    pub fn current() -> io::Result<Self> {
        let missing = |what: &str| io::Error::new(io::ErrorKind::NotFound, what.to_owned());
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let program = std::env::current_exe()?;
        Ok(Self {
            home: home.ok_or_else(|| missing("HOME is not set to an absolute path"))?,
            project: std::env::current_dir()?,
            state: crate::system::state::directory()
                .ok_or_else(|| missing("HOME is not set to an absolute path"))?
                .join("hosts"),
            program,
            env: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
                .collect(),
        })
    }

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
