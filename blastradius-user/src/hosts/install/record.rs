//! What was there before?
//!
//! For each hook file that we change, a record and a plain copy of the file as it was, in our own state directory: a
//! backup beside the file would be one more thing in the user's repository.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::InstallError;

/// The changes that we made to one file.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Record {
    /// The file.
    pub path: PathBuf,
    /// The host whose file it is.
    pub host: String,
    /// Its text before; `None` if it was not there.
    pub before: Option<String>,
    /// Its text as we left it.
    pub after: String,
    /// The directories that were made for it, the innermost first.
    pub made: Vec<PathBuf>,
}

impl Record {
    /// The record of `path`, if there is one that can be read.
    pub(super) fn read(state: &Path, path: &Path) -> Option<Self> {
        let record: Self = serde_json::from_slice(&fs::read(record_path(state, path)).ok()?).ok()?;
        (record.path == path).then_some(record)
    }

    /// Writes the record and the copy, and gives the copy's path.
    pub(super) fn write(&self, state: &Path) -> Result<Option<PathBuf>, InstallError> {
        let path = record_path(state, &self.path);
        let written = DirBuilder::new().recursive(true).mode(0o700).create(state).and_then(|()| {
            private(&path, serde_json::to_string_pretty(self)?.as_bytes())?;
            let Some(before) = &self.before else { return Ok(None) };
            let copy = copy_path(state, &self.path);
            private(&copy, before.as_bytes())?;
            Ok(Some(copy))
        });
        written.map_err(|source| InstallError::File { path, source })
    }

    /// Removes the record and the copy.
    pub(super) fn forget(state: &Path, path: &Path) {
        for path in [record_path(state, path), copy_path(state, path)] {
            // A record that stays is ignored once the file differs from it.
            let _ = fs::remove_file(path);
        }
    }
}

/// Hook files may hold secrets.
fn private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content)
}

fn record_path(state: &Path, path: &Path) -> PathBuf {
    state.join(format!("{:016x}.json", hash(path)))
}

fn copy_path(state: &Path, path: &Path) -> PathBuf {
    state.join(format!("{:016x}.before", hash(path)))
}

/// FNV-1a: a short name for a long path, the same in every version of this program.
fn hash(path: &Path) -> u64 {
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
