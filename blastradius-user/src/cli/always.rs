//! "Always for this path": the line goes into the work tree's `.blastradius` once a person trusts what the file then says.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::{scope, trust};
use crate::system::System;

/// The default scope, as lines: a file with an `allow` line of its own replaces it.
const DEFAULT: &str = "allow <repo>/**\nallow /tmp/**\nallow /var/tmp/**\nallow /dev/shm/**\n";

/// Has a person approve the work tree's policy file with an `allow` line more for each path, and writes it. Without the
/// approval nothing is written.
pub(super) fn allow(paths: &[PathBuf]) -> Result<()> {
    ensure!(!paths.is_empty(), "this question is not about a path, so no line of policy would answer it");
    let system = System::current().context("the working directory cannot be read")?;
    let file = scope::policy_file(&system);
    let before = match std::fs::read_to_string(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read.with_context(|| file.display().to_string())?,
    };
    let lines = paths.iter().map(|path| line(path)).collect::<Result<String>>()?;
    let content = with_lines(&before, &lines);
    ensure!(
        trust::approve(&system, &file, content.as_bytes())?,
        "the lines are not approved, so nothing was written"
    );
    let unfinished = file.with_extension("unfinished");
    std::fs::write(&unfinished, content)
        .and_then(|()| std::fs::rename(&unfinished, &file))
        .with_context(|| file.display().to_string())?;
    anstream::eprintln!("{}: sessions that start from now on read it", file.display());
    Ok(())
}

fn line(path: &Path) -> Result<String> {
    let plain = |text: &&str| !text.contains(['\n', '\r', '*', '?', '[', '\\', '$', '#', ' ']);
    let text = path.to_str().filter(plain);
    let text =
        text.with_context(|| format!("{}: such a name cannot be written as a pattern", path.display()))?;
    Ok(format!("allow {text}\n"))
}

fn with_lines(before: &str, lines: &str) -> String {
    let mut content = before.to_owned();
    if !content.is_empty() && !content.ends_with('\n') {
        content.push('\n');
    }
    if !content.lines().any(|line| line.trim_start().starts_with("allow ")) {
        content.push_str(DEFAULT);
    }
    content.push_str(lines);
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_scope_is_kept_and_nothing_is_written_twice() {
        let first = with_lines("deny *.key", "allow /srv/x\n");
        assert_eq!(first, format!("deny *.key\n{DEFAULT}allow /srv/x\n"));
        assert_eq!(with_lines(&first, "allow /srv/y\n"), format!("{first}allow /srv/y\n"));
    }

    #[test]
    fn a_name_that_would_be_read_as_a_pattern_is_refused() {
        assert!(line(Path::new("/srv/x")).is_ok());
        for name in ["/srv/*", "/srv/a b", "/srv/$HOME", "/srv/x\nallow /"] {
            assert!(line(Path::new(name)).is_err(), "{name}");
        }
    }
}
