//! What a work tree holds that git cannot give back: asked of git itself.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::shell::world::{GitState, Tracking};

/// More entries than this are not read; the state says that it is truncated.
const ENTRY_LIMIT: usize = 4096;

/// Asks git about the part of the work tree at `root` that lies below `below` (relative; empty: all of it).
///
/// `None` if git is not there, refuses (another owner), or fails: the caller takes that as "there is something to lose".
pub(super) fn state(root: &Path, below: &Path) -> Option<GitState> {
    let status = git(root)
        .args([
            "status",
            "--porcelain=v1",
            "-z",
            "--ignored=traditional",
            "--untracked-files=normal",
            "--no-renames",
        ])
        .arg("--")
        .args((!below.as_os_str().is_empty()).then_some(below))
        .output()
        .ok()?;
    if !status.status.success() {
        return None;
    }
    let stash = git(root).args(["rev-list", "--walk-reflogs", "--count", "refs/stash"]).output().ok();
    // Without a stash the ref does not exist and git fails: no entries.
    let stashes = stash.and_then(|out| String::from_utf8(out.stdout).ok()?.trim().parse().ok()).unwrap_or(0);
    let mut state = parse(&status.stdout);
    state.stashes = stashes;
    Some(state)
}

/// A git that takes no lock, runs no hook and no file-system monitor, asks nothing and speaks no other language.
fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .arg("-C")
        .arg(root)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    // The variables that point git elsewhere than at `root`.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    command
}

/// Reads `git status --porcelain=v1 -z` without renames: `XY path NUL` for each entry.
fn parse(output: &[u8]) -> GitState {
    let entries = output.split(|byte| *byte == 0).filter_map(entry);
    let mut state = GitState::default();
    for entry in entries {
        if state.dirty.len() == ENTRY_LIMIT {
            state.truncated = true;
            break;
        }
        state.dirty.push(entry);
    }
    state
}

fn entry(line: &[u8]) -> Option<(String, Tracking)> {
    let (code, path) = (line.get(..2)?, line.get(3..)?);
    let tracking = match code {
        b"??" => Tracking::Untracked,
        b"!!" => Tracking::Ignored,
        _ => Tracking::Modified,
    };
    Some((String::from_utf8_lossy(path).into_owned(), tracking))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_are_told_apart() {
        let state = parse(b" M src/lib.rs\0?? notes.txt\0!! build/\0A  new.rs\0");
        assert_eq!(
            state.dirty,
            [
                ("src/lib.rs".into(), Tracking::Modified),
                ("notes.txt".into(), Tracking::Untracked),
                ("build/".into(), Tracking::Ignored),
                ("new.rs".into(), Tracking::Modified),
            ]
        );
    }

    #[test]
    fn a_real_work_tree_tells_what_git_cannot_give_back_and_a_plain_directory_tells_nothing() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(state(dir.path(), Path::new("")), None);
        let run = |args: &[&str]| {
            let done = git(dir.path())
                .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"])
                .args(args)
                .status();
            assert!(done.is_ok_and(|status| status.success()), "git {args:?}");
        };
        run(&["init", "-q"]);
        std::fs::write(dir.path().join("a"), "1").expect("written");
        run(&["add", "a"]);
        run(&["commit", "-q", "-m", "one"]);
        assert_eq!(state(dir.path(), Path::new("")), Some(GitState::default()));
        std::fs::write(dir.path().join("b"), "2").expect("written");
        let dirty = state(dir.path(), Path::new("b")).expect("a work tree").dirty;
        assert_eq!(dirty, [("b".into(), Tracking::Untracked)]);
    }
}
