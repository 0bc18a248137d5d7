//! Was it there before the session?

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Objects that are looked at; what has more counts as older.
const LOOKED_AT: usize = 4_000;

/// Whether all that lies below `path` was made after `began`. Unlike other times, an inode's birth (`stx_btime` of statx(2))
/// cannot be set, and a move keeps it. What does not tell it is older.
///
/// The last component may be a pattern: then its directory is looked at.
pub(super) fn is_younger(path: &Path, began: SystemTime) -> bool {
    let path = if path.symlink_metadata().is_err() { path.parent().unwrap_or(path) } else { path };
    let mut todo: Vec<PathBuf> = vec![path.to_owned()];
    let mut looked = 0;
    while let Some(path) = todo.pop() {
        looked += 1;
        let Ok(meta) = path.symlink_metadata() else { return false };
        if looked > LOOKED_AT || !was_born_after(&meta, began) {
            return false;
        }
        if meta.is_dir() {
            let Ok(entries) = fs::read_dir(&path) else { return false };
            todo.extend(entries.flatten().map(|entry| entry.path()));
        }
    }
    true
}

fn was_born_after(meta: &Metadata, began: SystemTime) -> bool {
    meta.created().is_ok_and(|born| born > began)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_into_a_younger_directory_is_as_old_as_it_was() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        // The clock of the file system ticks more slowly than ours.
        let pause = || std::thread::sleep(std::time::Duration::from_millis(30));
        fs::write(at("old"), "").expect("written");
        pause();
        let began = SystemTime::now();
        pause();
        fs::create_dir(at("new")).expect("made");
        fs::write(at("new/file"), "").expect("written");
        assert!(is_younger(&at("new"), began) && is_younger(&at("new/*"), began));
        assert!(!is_younger(&at("old"), began) && !is_younger(&at("*"), began));
        fs::rename(at("old"), at("new/old")).expect("moved");
        assert!(!is_younger(&at("new"), began));
        assert!(!is_younger(&at("missing/missing"), began));
    }
}
