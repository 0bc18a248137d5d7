//! A throwaway machine, as far as a directory can be one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// What every file of a ground holds.
pub(crate) const CONTENT: &str = "worth keeping\n";

/// A home with photos and settings, a project in it, scratch beside it. Removed when dropped.
pub(crate) struct Ground {
    root: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// One that other users can enter, as the one beside what was built cannot be where that lies in somebody's private home.
    pub(crate) fn for_others() -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let open = |dir: &Path| dir.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0);
        let root = nix::unistd::Uid::effective().is_root();
        Self::below(if root && !built.ancestors().all(open) { Path::new("/opt") } else { built })
    }

    fn below(place: &Path) -> Self {
        let root = tempfile::Builder::new().prefix("ground-").tempdir_in(place).unwrap();
        let ground = Self { root };
        for dir in [
            "home/photos/2019",
            "home/.ssh",
            "home/.claude",
            "home/project/src",
            "home/project/.git",
            "tmp",
            "state",
        ] {
            fs::create_dir_all(ground.at(dir)).unwrap();
        }
        for file in [
            "home/photos/a.jpg",
            "home/photos/2019/b.jpg",
            "home/.ssh/id",
            "home/.bashrc",
            "home/.claude/settings",
        ] {
            ground.write(file);
        }
        for file in ["home/project/README", "home/project/src/main", "home/project/.git/HEAD", "tmp/scratch"]
        {
            ground.write(file);
        }
        ground
    }

    /// Our program, where other users can start it, too.
    pub(crate) fn program_for_others(&self) -> PathBuf {
        let copy = self.at("blastradius");
        fs::copy(env!("CARGO_BIN_EXE_blastradius"), &copy).unwrap();
        copy
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(crate) fn write(&self, path: &str) {
        fs::write(self.at(path), CONTENT).unwrap();
    }

    /// Whether the file is there with its content.
    pub(crate) fn keeps(&self, path: &str) -> bool {
        fs::read(self.at(path)).is_ok_and(|content| content == CONTENT.as_bytes())
    }

    /// Nothing outside the project and scratch is lost.
    pub(crate) fn assert_whole(&self) {
        for file in ["home/photos/a.jpg", "home/photos/2019/b.jpg", "home/.ssh/id", "home/.bashrc"] {
            assert!(self.keeps(file), "{file} is lost");
        }
    }

    /// `PROGRAM ARGS…` in the project, with this ground's home, scratch and state.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.at("home/project"));
        command
            .env("HOME", self.at("home"))
            .env("TMPDIR", self.at("tmp"))
            .env("XDG_STATE_HOME", self.at("state"))
            // What is kept here is little, however full the disk is.
            .env("BLASTRADIUS_UNDO", "free=0");
        command.stdin(Stdio::null());
        command
    }

    /// `blastradius run FLAGS… -- ARGV…`.
    pub(crate) fn run(&self, flags: &[&str], argv: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_blastradius"));
        command.arg("run").args(flags).arg("--").args(argv);
        command
    }

    /// Runs shell text under guard.
    pub(crate) fn shell(&self, text: &str) -> Output {
        self.run(&[], &["bash", "-c", text]).output().unwrap()
    }

    /// The records of the only session's log.
    pub(crate) fn log(&self) -> Vec<serde_json::Value> {
        // What is kept for undo lies beside the logs.
        let entries = fs::read_dir(self.at("state/blastradius")).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        fs::read_to_string(&files[0])
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The compiled `roads.c`.
pub(crate) fn roads() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guard/roads.c");
        let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("roads-{}", std::process::id()));
        let status = Command::new("cc")
            .arg("-O1")
            .arg("-pthread")
            .arg("-o")
            .arg(&binary)
            .arg(source)
            .status()
            .unwrap();
        assert!(status.success(), "cc: {status}");
        binary
    })
}
