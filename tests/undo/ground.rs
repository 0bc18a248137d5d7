//! A work tree, a home with a store, and what can be seen of both.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A throwaway tree below /var/tmp: a file system with extended attributes, and scope by default.
pub(crate) struct Ground {
    dir: tempfile::TempDir,
}

/// How full the disk of the machine is matters to no test.
const ANY_DISK: &str = "free=0";

/// What a session or an undo said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

impl Said {
    fn of(output: &Output) -> Self {
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        Self { code: output.status.code(), text: String::from_utf8_lossy(&text).into_owned() }
    }
}

impl Ground {
    /// An empty tree and an empty home.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a temporary directory");
        for name in ["w", "home"] {
            std::fs::create_dir(dir.path().join(name)).expect("made");
        }
        Self { dir }
    }

    /// A git work tree with a commit, uncommitted work, untracked and ignored files.
    pub(crate) fn with_git() -> Self {
        let ground = Self::new();
        ground.sh(
            "git init -q -b main .; git config user.name t; git config user.email t@example.invalid
             mkdir src notes build
             echo committed > src/clean.c; echo committed > src/dirty.c; printf 'build/\\n.env\\n' > .gitignore
             git add .; git commit -qm one; echo more >> src/clean.c; git commit -qam two
             echo uncommitted >> src/dirty.c; echo staged > staged.c; git add staged.c
             echo todo > notes/todo; echo SECRET=1 > .env; echo object > build/x.o",
        );
        ground
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.dir.path().join("w")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.dir.path().join("home/.local/state/blastradius/undo")
    }

    /// A program in the tree, with the home.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.tree())
            .env("HOME", self.dir.path().join("home"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env_remove("XDG_STATE_HOME")
            .env("BLASTRADIUS_UNDO", ANY_DISK)
            .stdin(Stdio::null());
        command
    }

    /// Runs shell text without a guard.
    pub(crate) fn sh(&self, text: &str) -> Said {
        let output = self.command("bash").args(["-ec", text]).output().expect("bash runs");
        let said = Said::of(&output);
        assert_eq!(said.code, Some(0), "{text}\n{}", said.text);
        said
    }

    pub(crate) fn blastradius(&self, args: &[&str]) -> Command {
        let mut command = self.command(blastradius_tests::binary());
        command.args(args);
        command
    }

    /// Runs shell text in a session.
    pub(crate) fn session(&self, text: &str) -> Said {
        self.session_with("", text)
    }

    /// Runs shell text in a session with these limits.
    pub(crate) fn session_with(&self, limits: &str, text: &str) -> Said {
        let mut command =
            self.blastradius(&["run", "--require", "landlock", "--report", "--", "bash", "-c", text]);
        let limits = format!("{ANY_DISK},{limits}");
        Said::of(&command.env("BLASTRADIUS_UNDO", limits).output().expect("it runs"))
    }

    /// `blastradius undo` with these arguments.
    pub(crate) fn undo(&self, args: &[&str]) -> Said {
        let args = [&["undo"], args].concat();
        Said::of(&self.blastradius(&args).output().expect("it runs"))
    }

    /// Everything in the tree but git's directory: kind, mode, size, time and content of each object by its path.
    pub(crate) fn picture(&self) -> BTreeMap<PathBuf, String> {
        picture(&self.tree())
    }
}

fn picture(top: &Path) -> BTreeMap<PathBuf, String> {
    let mut seen = BTreeMap::new();
    let mut todo = vec![top.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).expect("readable").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            let meta = std::fs::symlink_metadata(&path).expect("there");
            if entry.file_name() == ".git" {
                continue;
            }
            let mode = meta.permissions().mode();
            let what = if meta.is_dir() {
                todo.push(path.clone());
                format!("directory {mode:o}")
            } else if meta.is_symlink() {
                format!("link to {}", std::fs::read_link(&path).expect("readable").display())
            } else if meta.is_file() {
                let content = std::fs::read(&path).unwrap_or_default();
                let hash =
                    content.iter().fold(5381_u64, |hash, byte| hash.wrapping_mul(33) ^ u64::from(*byte));
                format!(
                    "file {mode:o} {} {}.{} {hash:x} links {}",
                    meta.len(),
                    meta.mtime(),
                    meta.mtime_nsec(),
                    meta.nlink()
                )
            } else {
                format!("special {mode:o}")
            };
            seen.insert(path.strip_prefix(top).expect("below").to_path_buf(), what);
        }
    }
    seen
}

/// What of `before` is not so in `after`.
pub(crate) fn lost(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let differs = |(path, what): (&PathBuf, &String)| {
        let now = after.get(path);
        (now != Some(what)).then(|| format!("{}: {what}, now {now:?}", path.display()))
    };
    before.iter().filter_map(differs).collect()
}

/// A name that is no text.
pub(crate) fn odd_name() -> &'static OsStr {
    OsStr::from_bytes(b"odd \xff\n'name")
}
