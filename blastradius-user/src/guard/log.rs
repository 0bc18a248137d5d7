//! What is kept?
//!
//! One file a session, one JSON object a line, in `$XDG_STATE_HOME/blastradius/` (`~/.local/state/blastradius/`): the
//! directory has mode 0700, the files 0600. Where root started the session for somebody else, it lies in that user's home
//! and is theirs, unless they have no home that can be written. The first line of each file says which version of the schema it follows.
//!
//! | field | in | meaning |
//! |---|---|---|
//! | `v` | all | version of the schema, [`SCHEMA`] |
//! | `time` | all | UTC, RFC 3339 with milliseconds |
//! | `session` | all | name of the session, also the file's |
//! | `event` | all | `start`, `refused`, `audited`, `warned`, `approved`, `changed`, `end` |
//! | `rung`, `unenforced`, `command`, `cwd`, `exec_layer` | start | what is enforced, for whom |
//! | `layer` | refused, audited, warned | `exec` or `kernel` |
//! | `verdict`, `rule`, `target`, `resolved`, `reasons`, `advice` | refused, audited, warned | the worst finding |
//! | `others` | refused, audited, warned | further findings of the same command: `verdict`, `rule`, `target`, `resolved` |
//! | `operation` | refused, of the kernel layer | what was attempted |
//! | `offer` | refused | the number that `blastradius approve` takes |
//! | `pid`, `exe`, `command`, `cwd`, `chain` | refused, audited, warned | who, and by whom started |
//! | `resolved`, `reasons` | changed | a policy file, the approvals or a hook that changed during the session, and how |
//! | `status`, `refused`, `execs`, `dropped` | end | exit status or `signal N`, and counts |
//! | `judging_micros` | end | the median time that the analyzer took for an exec |
//!
//! Fields may be added within a version; none changes its meaning.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::acting::Acting;
use super::child::Identity;

/// Version of the schema.
pub const SCHEMA: u32 = 1;

/// A file is closed and a next part begun when it has grown to this size.
const ROTATE_AT: u64 = 16 << 20;
/// So many parts of one session are kept; the oldest goes first.
const PARTS: u32 = 4;

/// Why the log cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// There is no state directory: neither variable is set to an absolute path.
    #[error("no place for the log: set XDG_STATE_HOME or HOME to an absolute path")]
    NoPlace,
    /// The directory or the file cannot be made.
    #[error("{}: {source}", path.display())]
    Unwritable {
        /// What could not be made.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The directory of the logs, by the environment.
///
/// # Errors
/// [`LogError::NoPlace`].
pub fn directory() -> Result<PathBuf, LogError> {
    crate::system::state::directory().ok_or(LogError::NoPlace)
}

/// An open log.
#[derive(Debug)]
pub struct Log {
    session: String,
    directory: PathBuf,
    /// Whose it is; `None`: ours.
    owner: Option<Identity>,
    part: u32,
    file: File,
    size: u64,
    /// Records that could not be written (disk full).
    dropped: u64,
}

impl Log {
    /// Begins the log of a new session in `directory`, which is made if it is not there. Both are the `owner`'s.
    ///
    /// # Errors
    /// [`LogError::Unwritable`].
    pub fn begin(directory: &Path, session: &str, owner: Option<&Identity>) -> Result<Self, LogError> {
        let _acting = Acting::as_agent(owner);
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |source| LogError::Unwritable { path, source }
        };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(unwritable(directory))?;
        let path = part_path(directory, session, 0);
        let file = create(&path).map_err(unwritable(&path))?;
        Ok(Self {
            session: session.to_owned(),
            directory: directory.to_owned(),
            owner: owner.cloned(),
            part: 0,
            file,
            size: 0,
            dropped: 0,
        })
    }

    /// The file that is written now.
    pub fn path(&self) -> PathBuf {
        part_path(&self.directory, &self.session, self.part)
    }

    /// The session's name.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Records that were lost.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Adds a record, and returns it. A disk that is full costs the record, never the session; the loss is counted.
    pub fn write(&mut self, event: &str, fields: Map<String, Value>) -> Value {
        let mut record = Map::new();
        record.insert("v".into(), json!(SCHEMA));
        record.insert("time".into(), json!(timestamp(SystemTime::now())));
        record.insert("session".into(), json!(self.session));
        record.insert("event".into(), json!(event));
        record.extend(fields);
        let record = Value::Object(record);
        let mut line = record.to_string();
        line.push('\n');
        if self.size >= ROTATE_AT && self.rotate().is_err() {
            self.dropped += 1;
            return record;
        }
        // One write a line: a reader that follows never sees half of one.
        match self.file.write_all(line.as_bytes()) {
            Ok(()) => self.size += line.len() as u64,
            Err(_) => self.dropped += 1,
        }
        record
    }

    fn rotate(&mut self) -> io::Result<()> {
        let _acting = Acting::as_agent(self.owner.as_ref());
        let next = self.part + 1;
        self.file = create(&part_path(&self.directory, &self.session, next))?;
        self.part = next;
        self.size = 0;
        if let Some(oldest) = next.checked_sub(PARTS) {
            // Part 0 holds the start record and is kept; what cannot be removed stays.
            let _ = std::fs::remove_file(part_path(&self.directory, &self.session, oldest.max(1)));
        }
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}

fn part_path(directory: &Path, session: &str, part: u32) -> PathBuf {
    match part {
        0 => directory.join(format!("{session}.jsonl")),
        part => directory.join(format!("{session}.{part}.jsonl")),
    }
}

/// A name for a session: when and by which process it was started, so that names sort by time.
pub fn session_name(now: SystemTime, pid: u32) -> String {
    let time: String = timestamp(now).chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{time}-{pid}")
}

/// RFC 3339 in UTC with milliseconds.
pub fn timestamp(now: SystemTime) -> String {
    // Cut to milliseconds, so that the formatter prints three digits.
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let whole = Duration::from_millis(since.as_millis() as u64);
    humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + whole).to_string()
}

/// The sessions whose logs are in `directory`, oldest first: the files of each, in the order in which they were written.
///
/// # Errors
/// If the directory cannot be read.
pub fn sessions(directory: &Path) -> io::Result<Vec<(String, Vec<PathBuf>)>> {
    let mut parts: Vec<(String, u32, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else { continue };
        let (session, part) = match stem.rsplit_once('.') {
            Some((session, part)) => (session, part.parse().unwrap_or(0)),
            None => (stem, 0),
        };
        parts.push((session.to_owned(), part, entry.path()));
    }
    parts.sort();
    let mut sessions: Vec<(String, Vec<PathBuf>)> = Vec::new();
    for (session, _, path) in parts {
        match sessions.last_mut() {
            Some((last, paths)) if *last == session => paths.push(path),
            _ => sessions.push((session, vec![path])),
        }
    }
    Ok(sessions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn fields(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_log_is_private_and_each_line_is_a_record() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let place = dir.path().join("state/blastradius");
        let mut log = Log::begin(&place, "s1", None).expect("a log");
        log.write("start", fields(json!({"rung": "landlock"})));
        log.write("end", fields(json!({"status": 0})));
        let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&place), mode(&log.path())), (0o700, 0o600));
        let text = std::fs::read_to_string(log.path()).expect("readable");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (&lines[0]["v"], &lines[0]["event"], &lines[0]["rung"]),
            (&json!(1), &json!("start"), &json!("landlock"))
        );
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("file");
        std::fs::write(&file, "").expect("written");
        let error = Log::begin(&file.join("below"), "s1", None).expect_err("a file is no directory");
        assert!(error.to_string().contains("file/below"), "{error}");
    }

    #[test]
    fn a_large_log_goes_on_in_a_next_part_and_the_first_is_kept() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut log = Log::begin(dir.path(), "s1", None).expect("a log");
        for _ in 0..8 {
            log.size = ROTATE_AT;
            log.write("refused", Map::new());
        }
        let sessions = sessions(dir.path()).expect("readable");
        let names: Vec<_> = sessions[0].1.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["s1.jsonl", "s1.5.jsonl", "s1.6.jsonl", "s1.7.jsonl", "s1.8.jsonl"]);
    }

    #[test]
    fn names_of_sessions_sort_by_time() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(session_name(at(0), 7), "19700101T000000000Z-7");
        assert!(session_name(at(5), 1) < session_name(at(60), 0));
    }
}
