//! How is a file replaced in one step?

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Writes a new file beside the old one and renames it over it: whoever reads sees the old one or the new one. A link
/// stays a link; the mode stays as it was.
pub(super) fn write(path: &Path, content: &str, executable: bool) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(directory)?;
    let mode = fs::metadata(&path).map(|meta| meta.permissions().mode() & 0o7777).ok();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = directory.join(format!(".{name}.blastradius-{}", std::process::id()));
    let default = if executable { 0o755 } else { 0o644 };
    let written =
        OpenOptions::new().write(true).create_new(true).mode(default).open(&beside).and_then(|mut file| {
            file.write_all(content.as_bytes())?;
            if let Some(mode) = mode {
                file.set_permissions(fs::Permissions::from_mode(mode))?;
            }
            file.sync_all()?;
            fs::rename(&beside, &path)
        });
    if written.is_err() {
        // What could not be finished is not left behind; there is nothing to do about a second failure.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// The directories that would have to be made for `path`, the innermost first.
pub(super) fn missing_directories(path: &Path) -> Vec<PathBuf> {
    path.ancestors().skip(1).take_while(|directory| !directory.exists()).map(Path::to_path_buf).collect()
}

/// Removes the directories that are empty, the innermost first.
pub(super) fn remove_empty(directories: &[PathBuf]) {
    for directory in directories {
        // One that others have put something into stays, and so do those above it.
        if fs::remove_dir(directory).is_err() {
            return;
        }
    }
}
