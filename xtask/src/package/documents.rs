//! What comes with the program: the manual page, completions, the licences.

use std::fs;

use anyhow::{Context as _, Result};

use super::{
    Release, notices,
    tree::{PLAIN, Tree},
};
use crate::house;

/// A shell, and where a Debian system looks for its completions.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/blastradius"),
    ("zsh", "usr/share/zsh/vendor-completions/_blastradius"),
    ("fish", "usr/share/fish/vendor_completions.d/blastradius.fish"),
];

/// The completions of every shell that systems have a place for.
pub(super) fn add_completions(tree: &mut Tree, release: &Release) -> Result<()> {
    for (shell, path) in COMPLETIONS {
        tree.add(*path, PLAIN, release.binary.prints(&["completions", shell])?);
    }
    Ok(())
}

/// The manual page, in troff.
pub(super) fn manual(release: &Release) -> Result<Vec<u8>> {
    release.binary.prints(&["man"])
}

/// A file of the clone.
pub(super) fn ours(name: &str) -> Result<Vec<u8>> {
    fs::read(house::root().join(name)).with_context(|| format!("cannot read {name}"))
}

/// Our licences and what others ask to be said of theirs.
pub(super) fn add_licences(tree: &mut Tree, prefix: &str) -> Result<()> {
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        tree.add(format!("{prefix}{name}"), PLAIN, ours(name)?);
    }
    tree.add(format!("{prefix}THIRD-PARTY"), PLAIN, notices::text()?);
    Ok(())
}
