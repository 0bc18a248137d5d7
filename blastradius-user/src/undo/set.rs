//! A set: what one keeping holds.
//!
//! A text file: the header on the first line, then one object a line, all JSON. Written beside its name and renamed, it is
//! there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::blob::Digest;
use super::name::Name;
use super::object::Entry;

/// Version of the format.
pub const VERSION: u32 = 1;

/// What a set's file is called.
pub const EXTENSION: &str = "set";

/// Why something was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Occasion {
    /// A session began.
    Start,
    /// A command was about to run.
    Command,
    /// An undo was about to replace it.
    Undo,
}

/// An object that should have been kept and was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Which.
    pub path: Name,
    /// Why not, for people.
    pub why: String,
}

/// A repository of which a set holds the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The root of its work tree.
    pub root: Name,
    /// Where HEAD and the index lie.
    pub git_dir: Name,
    /// Where refs and objects lie.
    pub common_dir: Name,
    /// The directory of the store that holds its object files, if they were linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<String>,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`].
    pub v: u32,
    /// What `undo` calls it.
    pub id: String,
    /// The session's name.
    pub session: String,
    /// Seconds since 1970.
    pub time: u64,
    /// Why it was kept.
    pub occasion: Occasion,
    /// The command, secrets masked.
    pub command: String,
    /// Where scope begins.
    pub roots: Vec<Name>,
    /// Files in it that people see.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Repositories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<Repository>,
    /// What was not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
}

/// The id of a set or, without a number, of a session: eight hexadecimal digits.
pub fn id_of(session: &str, number: Option<u32>) -> String {
    let text = match number {
        Some(number) => format!("{session}/{number}"),
        None => session.to_owned(),
    };
    Digest::of(text.as_bytes()).hex()[..8].to_owned()
}

/// A set, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The header.
    pub header: Header,
    /// The objects.
    pub entries: Vec<Entry>,
}

impl Set {
    /// Writes the set as `path`, by way of `draft`.
    ///
    /// # Errors
    /// If it cannot be written; then there is no such set.
    pub fn write(&self, path: &Path, draft: &Path, sync: bool) -> io::Result<()> {
        let written = self.write_draft(draft, sync).and_then(|()| fs::rename(draft, path));
        if written.is_err() {
            let _ = fs::remove_file(draft);
        }
        written
    }

    fn write_draft(&self, draft: &Path, sync: bool) -> io::Result<()> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
        let mut file = BufWriter::with_capacity(64 << 10, file);
        serde_json::to_writer(&mut file, &self.header)?;
        file.write_all(b"\n")?;
        for entry in &self.entries {
            serde_json::to_writer(&mut file, entry)?;
            file.write_all(b"\n")?;
        }
        file.flush()?;
        if sync {
            file.get_ref().sync_data()?;
        }
        Ok(())
    }

    /// Reads a set.
    ///
    /// # Errors
    /// If it cannot be read, or a line is not what it should be.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut lines = BufReader::new(File::open(path)?).lines();
        let header = header(path, lines.next())?;
        let mut entries = Vec::new();
        for (number, line) in lines.enumerate() {
            entries.push(parse(path, number + 2, &line?)?);
        }
        Ok(Self { header, entries })
    }

    /// Reads the header alone.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_header(path: &Path) -> io::Result<Header> {
        header(path, BufReader::new(File::open(path)?).lines().next())
    }
}

fn header(path: &Path, line: Option<io::Result<String>>) -> io::Result<Header> {
    let header: Header = parse(path, 1, &line.transpose()?.unwrap_or_default())?;
    match header.v {
        VERSION => Ok(header),
        other => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{}:1: v: expected {VERSION}, found {other}", path.display()),
        )),
    }
}

fn parse<'a, T: Deserialize<'a>>(path: &Path, number: usize, line: &'a str) -> io::Result<T> {
    serde_json::from_str(line).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}:{number}: {error}", path.display()))
    })
}

/// The sets of one session, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFiles {
    /// The session's name.
    pub name: String,
    /// Its directory.
    pub directory: PathBuf,
    /// Its sets.
    pub sets: Vec<PathBuf>,
}

impl SessionFiles {
    /// The session in this directory; `None` if it has no set.
    pub fn read(directory: PathBuf) -> Option<Self> {
        let name = directory.file_name()?.to_str()?.to_owned();
        let entries = fs::read_dir(&directory).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let mut sets: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|ext| ext == EXTENSION)).collect();
        sets.sort();
        (!sets.is_empty()).then_some(Self { name, directory, sets })
    }

    /// The file of a set by its number. Names sort as numbers do.
    pub fn set_path(directory: &Path, number: u32) -> PathBuf {
        directory.join(format!("{number:08}.{EXTENSION}"))
    }
}
