//! Which file will be executed?
//!
//! The search of execvp(3), done before the fork, so that a missing program is told apart from one that may not run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// Why there is nothing to execute.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProgramError {
    /// No such file, here or on PATH: exit status 127.
    #[error("{}: no such program", .0.display())]
    NotFound(PathBuf),
    /// It exists and may not be executed: exit status 126.
    #[error("{}: not executable", .0.display())]
    NotExecutable(PathBuf),
}

impl ProgramError {
    /// The exit status that a shell would give.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound(_) => 127,
            Self::NotExecutable(_) => 126,
        }
    }
}

/// Finds the file for `name`: itself if it holds a slash, else the first executable one on `path`.
///
/// # Errors
/// See [`ProgramError`].
pub fn find(name: &OsStr, path: Option<OsString>) -> Result<PathBuf, ProgramError> {
    if name.as_bytes().contains(&b'/') {
        return check(Path::new(name));
    }
    // The default of glibc's execvp(3) where PATH is unset.
    let path = path.unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut blocked = None;
    for directory in std::env::split_paths(&path) {
        let candidate =
            if directory.as_os_str().is_empty() { Path::new(".").join(name) } else { directory.join(name) };
        match check(&candidate) {
            Ok(found) => return Ok(found),
            Err(error @ ProgramError::NotExecutable(_)) => blocked = blocked.or(Some(error)),
            Err(ProgramError::NotFound(_)) => {}
        }
    }
    Err(blocked.unwrap_or_else(|| ProgramError::NotFound(name.into())))
}

fn check(candidate: &Path) -> Result<PathBuf, ProgramError> {
    match std::fs::metadata(candidate) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(ProgramError::NotExecutable(candidate.to_owned()))
        }
        Err(_) => Err(ProgramError::NotFound(candidate.to_owned())),
        Ok(meta) if meta.is_file() && access(candidate, AccessFlags::X_OK).is_ok() => {
            Ok(candidate.to_owned())
        }
        Ok(_) => Err(ProgramError::NotExecutable(candidate.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_directory_and_a_plain_file_are_not_executable_and_a_later_directory_may_help() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        for (parent, mode) in [(&first, 0o644), (&second, 0o755)] {
            std::fs::create_dir(parent).expect("made");
            std::fs::write(parent.join("tool"), "").expect("written");
            std::fs::set_permissions(parent.join("tool"), std::fs::Permissions::from_mode(mode))
                .expect("set");
        }
        let both = std::env::join_paths([&first, &second]).expect("a PATH");
        assert_eq!(find("tool".as_ref(), Some(both)), Ok(second.join("tool")));
        let only = Some(first.clone().into_os_string());
        assert_eq!(find("tool".as_ref(), only.clone()), Err(ProgramError::NotExecutable(first.join("tool"))));
        assert_eq!(find("none".as_ref(), only).map_err(|error| error.exit_code()), Err(127));
        assert_eq!(find(first.as_os_str(), None).map_err(|error| error.exit_code()), Err(126));
    }
}
