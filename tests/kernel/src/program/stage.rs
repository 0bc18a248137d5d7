//! A directory to work in, one to leave alone, and the program that keeps them apart.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What a test plays on.
pub(crate) struct Stage {
    binary: PathBuf,
    root: PathBuf,
}

/// How a run ended.
pub(crate) struct Ended {
    /// The whole of it.
    pub(crate) output: Output,
}

impl Ended {
    /// Standard output.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Standard error.
    pub(crate) fn complained(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Panics with what was written if the exit code is not `code`.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Self {
        let status = self.output.status;
        assert_eq!(status.code(), Some(code), "{status}\n{}\n{}", self.said(), self.complained());
        self
    }
}

impl Stage {
    /// Sets the stage anew.
    pub(crate) fn set(binary: &Path, name: &str) -> Self {
        let scratch = env::var_os("BLASTRADIUS_SCRATCH").map_or_else(|| "/scratch".into(), PathBuf::from);
        let root = scratch.join(format!("program-{name}"));
        let _ = fs::remove_dir_all(&root);
        for directory in ["kept/directory", "project/build"] {
            fs::create_dir_all(root.join(directory)).expect("the scratch directory is writable");
        }
        for file in ["kept/file", "kept/directory/file", "project/file", "project/build/file"] {
            fs::write(root.join(file), "precious\n").expect("its directory was made");
        }
        let root = root.canonicalize().expect("it was just made");
        Self { binary: binary.to_owned(), root }
    }

    /// A path on the stage. The agent starts in `project`.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Whether it is still there.
    pub(crate) fn has(&self, relative: &str) -> bool {
        self.path(relative).symlink_metadata().is_ok()
    }

    /// What the file holds, nothing if it is not there.
    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap_or_default()
    }

    /// `blastradius run --require kernel -- WORDS`, ready to be started. The state of each stage is its own.
    pub(crate) fn guarded(&self, words: &[&str]) -> Command {
        self.guarded_with(&[], words)
    }

    /// The same with more options.
    pub(crate) fn guarded_with(&self, options: &[&str], words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(["run", "--require", "kernel"]).args(options).arg("--").args(words);
        self.prepare(&mut command);
        command
    }

    /// `blastradius WORDS`, ready to be started.
    pub(crate) fn program(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words);
        self.prepare(&mut command);
        command
    }

    fn prepare(&self, command: &mut Command) {
        command
            .current_dir(self.path("project"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("KEPT", self.path("kept"))
            .env("ACT", env::current_exe().expect("/proc is there"))
            .env_remove("UNSET")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// Runs a shell script as the agent. In it `$KEPT` is out of scope, and `$ACT act` is a compiled program.
    pub(crate) fn agent(&self, script: &str) -> Ended {
        let output = self.guarded(&["sh", "-c", script]).output().expect("the program starts");
        Ended { output }
    }

    /// Runs the same script without a guard.
    pub(crate) fn unguarded(&self, script: &str) -> Ended {
        Ended { output: self.unguarded_command(script).output().expect("there is a shell") }
    }

    /// The same, ready to be started.
    pub(crate) fn unguarded_command(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        self.prepare(&mut command);
        command
    }

    /// All lines of all logs.
    pub(crate) fn log(&self) -> String {
        let entries = fs::read_dir(self.path("state/blastradius")).into_iter().flatten().flatten();
        let is_log = |path: &PathBuf| path.is_file();
        entries
            .map(|entry| entry.path())
            .filter(is_log)
            .filter_map(|path| fs::read_to_string(path).ok())
            .collect()
    }

    /// Whether a record of the log holds all of `parts`.
    pub(crate) fn logged(&self, parts: &[&str]) -> bool {
        self.log().lines().any(|line| parts.iter().all(|part| line.contains(part)))
    }

    /// Waits until the file is there.
    #[track_caller]
    pub(crate) fn await_file(&self, relative: &str) {
        eventually(relative, || self.has(relative));
    }
}

/// Waits until it is so.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for the end of a run that was started.
pub(crate) fn end_of(child: Child) -> Ended {
    Ended { output: child.wait_with_output().expect("it is our child") }
}
