//! A file that is ours alone.

use super::super::table::Edit;
use super::Refusal;
use super::entry::Entry;

/// Every file that we write says so.
const MARK: &str = "blastradius install";

pub(super) fn add(text: Option<&str>, entry: &Entry) -> Result<String, Refusal> {
    match text {
        Some(text) if !text.is_empty() && !text.contains(MARK) => Err(Refusal::NotOurs),
        _ => Ok(content(entry)),
    }
}

/// Nothing remains of it: the caller removes the file.
pub(super) fn remove(text: &str, _entry: &Entry) -> Result<Option<String>, Refusal> {
    Ok(text.contains(MARK).then(String::new))
}

fn content(entry: &Entry) -> String {
    let contents = entry.edits.iter().filter_map(|edit| match edit {
        Edit::Content(template) => Some(entry.fill(template)),
        Edit::Append(..) | Edit::Default(..) => None,
    });
    contents.collect()
}
