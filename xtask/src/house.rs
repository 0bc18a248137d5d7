//! Where things lie: the clone, and the cache outside of it.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

/// The root of the clone that this xtask was built from.
pub(crate) fn root() -> PathBuf {
    // cargo says where the package is now; the compiled-in path serves when the binary is started by hand.
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Where downloads are kept: `$XDG_CACHE_HOME/blastradius`, or `~/.cache/blastradius`. It is made if it is missing.
pub(crate) fn cache(room: &str) -> Result<PathBuf> {
    let base = match env::var_os("XDG_CACHE_HOME").filter(|value| Path::new(value).is_absolute()) {
        Some(value) => PathBuf::from(value),
        None => {
            let home = env::var_os("HOME")
                .filter(|home| !home.is_empty())
                .context("neither XDG_CACHE_HOME nor HOME is set: there is no place for downloads")?;
            PathBuf::from(home).join(".cache")
        }
    };
    let dir = base.join("blastradius").join(room);
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make the cache {}", dir.display()))?;
    Ok(dir)
}

/// Where cargo puts what it builds for this clone.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}
