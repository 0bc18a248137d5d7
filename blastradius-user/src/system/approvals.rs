//! Which widening lines a human has approved, on disk.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::System;
use crate::policy::trust::Approvals;
use crate::policy::{Policy, Start};
use crate::shell::world::World as _;

/// The file lies in the home that the user database names: a process that re-points `HOME` or `XDG_STATE_HOME` must not
/// bring approvals of its own along.
const PLACE: &str = ".local/state/blastradius/trust";

/// More approvals than a person gives in a lifetime.
const LIMIT: usize = 1 << 20;

impl System {
    /// Where approvals are kept; `None`: the user has no home.
    pub fn approvals_file(&self) -> Option<PathBuf> {
        self.home_of(None).map(|home| home.join(PLACE))
    }

    /// What a human has approved. A file that is not there or cannot be read approves nothing.
    pub fn approvals(&self) -> Approvals {
        let content = self.approvals_file().and_then(|file| self.read_file(&file, LIMIT));
        Approvals::parse(&content.unwrap_or_default())
    }

    /// The policy that applies in the working directory, with the user's approvals.
    pub fn policy(&self) -> Policy {
        Policy::load(self, Start { trust: Some(&self.approvals()), ..Start::default() })
    }

    /// The same for a session that begins here; `own` are further places of the guard's own.
    pub fn session_policy(&self, own: &[PathBuf]) -> Policy {
        Policy::load(self, Start { session: true, own, trust: Some(&self.approvals()) })
    }
}

/// Writes the approvals anew: beside the file, then in its place, so that a reader sees the old or the new ones.
///
/// # Errors
/// If the directory (made with mode 0700) or the file (0600) cannot be written.
pub fn write(file: &Path, approvals: &Approvals) -> io::Result<()> {
    let directory = file.parent().ok_or(io::ErrorKind::InvalidInput)?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let draft = file.with_extension(format!("new-{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&draft).and_then(|mut opened| {
        io::Write::write_all(&mut opened, approvals.to_text().as_bytes())?;
        opened.sync_all()
    });
    written.and_then(|()| std::fs::rename(&draft, file)).inspect_err(|_| {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&draft);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::trust::TrustStore as _;

    #[test]
    fn approvals_are_read_back_and_another_content_is_not_approved() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("state/trust");
        let mut approvals = Approvals::default();
        assert!(approvals.approve(Path::new("/repo/.blastradius"), b"allow ~/x/**\n"));
        write(&file, &approvals).expect("written");
        write(&file, &approvals).expect("written over");
        let read = Approvals::parse(&std::fs::read(&file).expect("readable"));
        assert!(read.is_trusted(Path::new("/repo/.blastradius"), b"allow ~/x/**\n"));
        assert!(!read.is_trusted(Path::new("/repo/.blastradius"), b"allow ~/**\n"));
        assert_eq!(
            std::fs::read_dir(dir.path().join("state")).expect("a directory").count(),
            1,
            "no draft is left"
        );
    }
}
