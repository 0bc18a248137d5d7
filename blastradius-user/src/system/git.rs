//! What a work tree holds that git cannot give back: asked of git itself.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::ask::{Answer, OUTPUT_LIMIT, ask};
use crate::shell::world::{GitState, Tracking};

/// More entries than this are not read; the state says that it is truncated.
const ENTRY_LIMIT: usize = 4096;

/// How long git may take. Well below what a hook may take as a whole.
const DEADLINE: Duration = Duration::from_millis(1500);

/// Asks git about the part of the work tree at `root` that lies below `below` (relative; empty: all of it).
///
/// `None` if git is not there, refuses (another owner), fails, or takes too long: the caller takes that as "there is
/// something to lose".
pub(super) fn state(root: &Path, below: &Path) -> Option<GitState> {
    let mut status = git(root);
    status
        .args(["status", "--porcelain=v1", "-z", "--ignored=traditional", "--untracked-files=normal"])
        .args(["--no-renames", "--"])
        .args((!below.as_os_str().is_empty()).then_some(below));
    let output = output(&mut status, DEADLINE)?;
    let mut state = parse(&output);
    state.truncated |= output.len() == OUTPUT_LIMIT;
    Some(state)
}

/// What a command prints, up to [`OUTPUT_LIMIT`]; `None` if it fails or is not done in time.
fn output(command: &mut Command, deadline: Duration) -> Option<Vec<u8>> {
    let Answer { ended, output } = ask(command, deadline).ok()?;
    (ended.success() || output.len() == OUTPUT_LIMIT).then_some(output)
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
        .arg(root);
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
    fn a_git_that_fails_tells_nothing_and_one_that_prints_without_end_tells_what_was_read() {
        let sh = |text: &str| output(Command::new("/bin/sh").args(["-c", text]), Duration::from_secs(60));
        assert_eq!(sh("printf abc").as_deref(), Some(&b"abc"[..]));
        assert_eq!(sh("printf abc; exit 1"), None);
        assert_eq!(sh("exec yes").map(|printed| printed.len()), Some(OUTPUT_LIMIT));
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
