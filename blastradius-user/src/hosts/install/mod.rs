//! Where does a host read its hooks from, and how are they put there and taken away?
//!
//! | file | question |
//! |---|---|
//! | [`site`] | Where are the home, the project, our state and our program? |
//! | [`entry`] | Which command is ours? |
//! | `json`, `toml`, `yaml`, `own` | How is a file of this format changed without changing anything else? |
//! | `record` | What was there before? |
//! | `place` | How is a file replaced in one step? |
//! | [`present`] | Which agents are on this machine, and which versions? |

pub mod entry;
mod json;
mod own;
mod place;
pub mod present;
mod record;
pub mod site;
mod toml;
mod yaml;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use entry::Entry;
use record::Record;
use site::{Scope, Site};

use super::table::{Config, Format, Host};

/// Why a hook file was left as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The host has no hook file there.
    #[error("{title} has no {scope} hook file")]
    NoFile {
        /// The host, for people.
        title: &'static str,
        /// `project` or `global`.
        scope: Scope,
    },
    /// It cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It has not the form that it should have, so a change might destroy something in it.
    #[error("{path}: {problem}; it was left as it is", path = path.display())]
    NotUnderstood {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file of that name is there and is not ours.
    #[error("{path}: a file of that name is there and is not ours; it was left as it is", path = path.display())]
    NotOurs {
        /// Which file.
        path: PathBuf,
    },
}

/// What a call of [`install`] or [`uninstall`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file was there already as it should be; or there was nothing to remove.
    None,
    /// It was made, or changed.
    Written,
    /// It was given back byte for byte, or removed because it was not there before.
    Restored,
    /// It was changed by others since, so only our part was taken out.
    Removed,
}

/// What was done to which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The hook file.
    pub path: PathBuf,
    /// What was done to it.
    pub change: Change,
    /// A copy of the file as it was.
    pub backup: Option<PathBuf>,
}

/// A format's two operations on the text of a file.
struct Editor {
    /// The text with our part in it. `None`: there is no file.
    add: fn(Option<&str>, &Entry) -> Result<String, Refusal>,
    /// The text without our part; `None` if it holds none.
    remove: fn(&str, &Entry) -> Result<Option<String>, Refusal>,
}

/// Why a text is not changed.
enum Refusal {
    NotUnderstood(String),
    NotOurs,
}

impl Refusal {
    fn at(self, path: &Path) -> InstallError {
        let path = path.to_path_buf();
        match self {
            Self::NotUnderstood(problem) => InstallError::NotUnderstood { path, problem },
            Self::NotOurs => InstallError::NotOurs { path },
        }
    }
}

fn editor(format: Format) -> Editor {
    match format {
        Format::Json => Editor { add: json::add, remove: json::remove },
        Format::Toml => Editor { add: toml::add, remove: toml::remove },
        Format::Yaml => Editor { add: yaml::add, remove: yaml::remove },
        Format::Own { .. } => Editor { add: own::add, remove: own::remove },
    }
}

/// The hook file of `host` in `scope`.
///
/// # Errors
/// If the host has none.
pub fn file(host: &Host, scope: Scope, site: &Site) -> Result<(PathBuf, &'static Config), InstallError> {
    let missing = InstallError::NoFile { title: host.title, scope };
    let Some(config) = &super::table::find(host.name).and_then(|host| host.config.as_ref()) else {
        return Err(missing);
    };
    let place = match scope {
        Scope::Project => config.project,
        Scope::Global => config.global,
    };
    let Some(place) = place else { return Err(missing) };
    Ok((site.resolve(scope, place), config))
}

/// Puts our hook into the host's hook file.
///
/// # Errors
/// If the file cannot be read, understood or written. It is then as it was.
pub fn install(host: &Host, scope: Scope, site: &Site) -> Result<Outcome, InstallError> {
    let (path, config) = file(host, scope, site)?;
    let entry = Entry::new(host.name, config, &site.program);
    let editor = editor(config.format);
    let current = read(&path)?;
    let record = Record::read(&site.state, &path);
    let before = match (&current, &record) {
        (Some(current), Some(record)) if *current == record.after => record.before.clone(),
        // Changed since, or put there by an installer that kept no record: what is ours is taken out first.
        (Some(current), _) => match (editor.remove)(current, &entry) {
            Ok(Some(without)) => Some(without),
            Ok(None) => Some(current.clone()),
            Err(refusal) => return Err(refusal.at(&path)),
        },
        (None, _) => None,
    };
    let after = (editor.add)(before.as_deref(), &entry).map_err(|refusal| refusal.at(&path))?;
    if current.as_deref() == Some(after.as_str()) {
        return Ok(Outcome { path, change: Change::None, backup: None });
    }
    let made = match (&before, record) {
        (None, None) => place::missing_directories(&path),
        (_, record) => record.map(|record| record.made).unwrap_or_default(),
    };
    let record = Record { path: path.clone(), host: host.name.to_owned(), before, after, made };
    let backup = record.write(&site.state)?;
    let executable = config.format == Format::Own { executable: true };
    place::write(&path, &record.after, executable)
        .map_err(|source| InstallError::File { path: path.clone(), source })?;
    Ok(Outcome { path, change: Change::Written, backup })
}

/// Takes our hook out of the host's hook file: byte for byte if nobody changed the file since.
///
/// # Errors
/// If the file cannot be read, understood or written. It is then as it was.
pub fn uninstall(host: &Host, scope: Scope, site: &Site) -> Result<Outcome, InstallError> {
    let (path, config) = file(host, scope, site)?;
    let entry = Entry::new(host.name, config, &site.program);
    let Some(current) = read(&path)? else { return Ok(Outcome { path, change: Change::None, backup: None }) };
    let record = Record::read(&site.state, &path).filter(|record| record.after == current);
    let io = |source| InstallError::File { path: path.clone(), source };
    let change = match record {
        Some(Record { before: Some(before), .. }) => {
            place::write(&path, &before, false).map_err(io)?;
            Change::Restored
        }
        Some(Record { before: None, made, .. }) => {
            fs::remove_file(&path).map_err(io)?;
            place::remove_empty(&made);
            Change::Restored
        }
        None => {
            match (editor(config.format).remove)(&current, &entry).map_err(|refusal| refusal.at(&path))? {
                None => Change::None,
                Some(_) if matches!(config.format, Format::Own { .. }) => {
                    fs::remove_file(&path).map_err(io)?;
                    Change::Removed
                }
                Some(without) => {
                    place::write(&path, &without, false).map_err(io)?;
                    Change::Removed
                }
            }
        }
    };
    if change != Change::None {
        Record::forget(&site.state, &path);
    }
    Ok(Outcome { path, change, backup: None })
}

/// Whether the hook file of `host` in `scope` names `site`'s program as its hook, for the canary.
///
/// # Errors
/// If the file cannot be read or understood.
pub fn is_installed(host: &Host, scope: Scope, site: &Site) -> Result<bool, InstallError> {
    let (path, config) = file(host, scope, site)?;
    let entry = Entry::new(host.name, config, &site.program);
    let Some(current) = read(&path)? else { return Ok(false) };
    let without = (editor(config.format).remove)(&current, &entry).map_err(|refusal| refusal.at(&path))?;
    Ok(without.is_some() && current.contains(&entry.program_in_file()))
}

/// Whether the hook file holds a hook of ours that names another program: an older copy, or one that was moved.
pub fn is_foreign(host: &Host, scope: Scope, site: &Site) -> bool {
    let Ok((path, config)) = file(host, scope, site) else { return false };
    let entry = Entry::new(host.name, config, &site.program);
    let Ok(Some(current)) = read(&path) else { return false };
    let ours = (editor(config.format).remove)(&current, &entry);
    matches!(ours, Ok(Some(_))) && !current.contains(&entry.program_in_file())
}

fn read(path: &Path) -> Result<Option<String>, InstallError> {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| InstallError::NotUnderstood {
            path: path.to_path_buf(),
            problem: "it is not UTF-8".into(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(InstallError::File { path: path.to_path_buf(), source }),
    }
}
