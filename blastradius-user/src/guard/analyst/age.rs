//! Was it there before the session?

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

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

/// Whether the object itself is as it was at `began`: neither written, renamed, linked to nor otherwise changed since. Unlike
/// other times, that of the last change of an inode (`st_ctime`) cannot be set.
pub(super) fn is_untouched(path: &Path, began: SystemTime) -> bool {
    let Ok(since) = began.duration_since(UNIX_EPOCH) else { return false };
    path.symlink_metadata().is_ok_and(|meta| {
        let changed = (meta.ctime(), meta.ctime_nsec());
        changed < (since.as_secs() as i64, i64::from(since.subsec_nanos()))
    })
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

    #[test]
    fn what_is_written_or_gets_another_name_is_touched_whatever_its_times_say() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        let pause = || std::thread::sleep(std::time::Duration::from_millis(30));
        let names = ["still", "written", "linked", "renamed"];
        names.iter().for_each(|name| fs::write(at(name), "old").expect("written"));
        pause();
        let began = SystemTime::now();
        pause();
        assert!(names.iter().all(|name| is_untouched(&at(name), began)));
        let long_ago = began - std::time::Duration::from_secs(1_000);
        fs::write(at("written"), "new").expect("written");
        let file = fs::File::options().write(true).open(at("written")).expect("there");
        file.set_modified(long_ago).expect("ours");
        fs::hard_link(at("linked"), at("other")).expect("linked");
        fs::rename(at("renamed"), at("other-name")).expect("renamed");
        assert!(is_untouched(&at("still"), began));
        assert!(
            ["written", "linked", "other", "other-name", "missing"]
                .iter()
                .all(|name| !is_untouched(&at(name), began))
        );
    }
}
