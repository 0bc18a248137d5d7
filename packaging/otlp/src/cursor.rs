//! How far did we come?

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

/// The number of bytes of each file that the collector has.
pub(crate) struct Cursor {
    path: PathBuf,
    offsets: BTreeMap<String, u64>,
}

impl Cursor {
    /// Reads it. Where there is none, everything is new.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let shown = || format!("{}: this is to say how far we came; remove it to send everything again", path.display());
        let offsets = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(shown)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error).with_context(shown),
        };
        Ok(Self { path: path.to_owned(), offsets })
    }

    pub(crate) fn of(&self, name: &str) -> u64 {
        self.offsets.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn advance(&mut self, name: &str, to: u64) -> Result<()> {
        self.offsets.insert(name.to_owned(), to);
        self.write()
    }

    /// Forgets files that are gone: a log is rotated.
    pub(crate) fn forget_all_but(&mut self, files: &[(String, PathBuf)]) -> Result<()> {
        let before = self.offsets.len();
        self.offsets.retain(|name, _| files.iter().any(|(file, _)| file == name));
        if self.offsets.len() == before { Ok(()) } else { self.write() }
    }

    /// By way of another file: whoever stops us in the middle leaves the old one.
    fn write(&self) -> Result<()> {
        let shown = || format!("cannot write {}", self.path.display());
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).with_context(shown)?;
        }
        let next = self.path.with_extension("new");
        fs::write(&next, serde_json::to_vec(&self.offsets)?).with_context(shown)?;
        fs::rename(&next, &self.path).with_context(shown)
    }
}
