//! Copies a directory's content into another that may hold things already.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
    path::Path,
};

use anyhow::{Context as _, Result};

/// Copies everything below `from` to `to`. Directories that are there stay as they are; files are replaced.
pub(crate) fn tree(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let source = entry?.path();
        let Some(name) = source.file_name() else { continue };
        one(&source, &to.join(name)).with_context(|| format!("cannot copy {}", source.display()))?;
    }
    Ok(())
}

fn one(source: &Path, target: &Path) -> Result<()> {
    let meta = fs::symlink_metadata(source)?;
    if meta.is_dir() {
        if !target.is_dir() {
            fs::create_dir(target)?;
            attributes(target, &meta)?;
        }
        return tree(source, target);
    }
    if target.symlink_metadata().is_ok() {
        fs::remove_file(target)?;
    }
    if meta.is_symlink() {
        symlink(fs::read_link(source)?, target)?;
        return Ok(());
    }
    fs::copy(source, target)?;
    attributes(target, &meta)
}

fn attributes(target: &Path, meta: &fs::Metadata) -> Result<()> {
    // In this order: a change of owner drops set-user-id bits.
    chown(target, Some(meta.uid()), Some(meta.gid()))?;
    fs::set_permissions(target, fs::Permissions::from_mode(meta.mode() & 0o7777))?;
    Ok(())
}
