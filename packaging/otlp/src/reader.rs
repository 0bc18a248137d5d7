//! What is new in the logs?

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

/// As many records are sent at once.
const BATCH: usize = 512;
/// A line that is longer is none of blastradius's.
const LONGEST: u64 = 1 << 20;

/// Some lines, and where the next begins.
pub(crate) struct Batch {
    pub(crate) lines: Vec<String>,
    pub(crate) end: u64,
}

/// The logs in a directory by name, which is the order of time. A directory that is not there yet has none.
pub(crate) fn files(directory: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", directory.display())),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|name| name.ends_with(".jsonl")) {
            found.push((name.to_owned(), path.clone()));
        }
    }
    found.sort();
    Ok(found)
}

/// The next lines that are complete, if there are any.
pub(crate) fn batch(path: &Path, from: u64) -> Result<Option<Batch>> {
    let shown = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(shown)?;
    // A file that has shrunk is another one of the same name.
    let from = if file.metadata().with_context(shown)?.len() < from { 0 } else { from };
    file.seek(SeekFrom::Start(from)).with_context(shown)?;
    let mut reader = BufReader::new(file);
    let mut batch = Batch { lines: Vec::new(), end: from };
    while batch.lines.len() < BATCH {
        let mut line = Vec::new();
        let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line).with_context(shown)?;
        let complete = line.ends_with(b"\n");
        // The rest of it is still being written; or it is so long that it is passed over in pieces.
        if !complete && (read as u64) < LONGEST {
            break;
        }
        batch.end += read as u64;
        batch.lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
    }
    Ok((!batch.lines.is_empty()).then_some(batch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_being_written_is_left_for_later() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s.jsonl");
        fs::write(&path, "{\"a\":1}\n{\"b\"").unwrap();
        let first = batch(&path, 0).unwrap().unwrap();
        assert_eq!((first.lines, first.end), (vec!["{\"a\":1}".to_owned()], 8));
        assert!(batch(&path, 8).unwrap().is_none());
        fs::write(&path, "{\"a\":1}\n{\"b\":2}\n").unwrap();
        assert_eq!(batch(&path, 8).unwrap().unwrap().lines, ["{\"b\":2}"]);
    }

    #[test]
    fn only_logs_are_read_and_a_missing_directory_has_none() {
        let place = tempfile::tempdir().unwrap();
        for name in ["b.jsonl", "a.jsonl", "trust.json"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        let names: Vec<_> = files(place.path()).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a.jsonl", "b.jsonl"]);
        assert!(files(&place.path().join("missing")).unwrap().is_empty());
    }
}
