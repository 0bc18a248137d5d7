//! A throwaway home with a project in it, sessions there, and what this machine does not allow to try.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::OnceLock,
};

use serde_json::Value;

/// The rung that sessions here must reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rung {
    Landlock,
    Kernel,
}

impl Rung {
    fn here() -> Self {
        let kernel = std::env::var("BLASTRADIUS_RUNG").is_ok_and(|rung| rung == "kernel");
        if kernel { Self::Kernel } else { Self::Landlock }
    }

    /// What `--require` calls it.
    fn name(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Kernel => "kernel",
        }
    }
}

/// What a test needs beyond a session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    /// A program, on the PATH of sessions.
    Program(&'static str),
    /// What the Landlock rung says at each start that it cannot give.
    KernelRung(&'static str),
    /// A system that may be changed.
    Guest,
}

impl Need {
    /// Why the test cannot be made here, if so. In a guest everything is there.
    fn lacking(self) -> Option<String> {
        match self {
            Self::Program(name) => {
                let here = std::env::split_paths(&path()).any(|directory| directory.join(name).is_file());
                (!here).then(|| format!("there is no {name} on this machine"))
            }
            Self::KernelRung(what) => {
                (Rung::here() != Rung::Kernel).then(|| format!("{what}: on the Landlock rung it is refused"))
            }
            Self::Guest => {
                let guest = Rung::here() == Rung::Kernel;
                (!guest).then(|| "it changes the system, and this is no guest".to_owned())
            }
        }
    }
}

/// Whether sessions here are on the Landlock rung, where some work is refused that passes on the kernel's.
pub(crate) fn on_landlock() -> bool {
    Rung::here() == Rung::Landlock
}

/// Whether the calling test can be made here. If not, this is told past the test runner, which would keep it to itself.
#[track_caller]
pub(crate) fn can(needs: &[Need]) -> bool {
    let lacking: Vec<String> = needs.iter().filter_map(|need| need.lacking()).collect();
    if lacking.is_empty() {
        return true;
    }
    let (thread, why) = (std::thread::current(), lacking.join("; "));
    let test = thread.name().unwrap_or_default();
    assert_eq!(Rung::here(), Rung::Landlock, "{test}: a guest has everything, but: {why}");
    writeln!(std::io::stderr(), "not tried here: {test}: {why}").expect("standard error");
    false
}

/// The programs of the system; of a Rust toolchain that lies in a home, the real ones, which ask for no settings there.
fn path() -> String {
    let system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    // cargo tells its tests where it lies.
    let cargo = std::env::var_os("CARGO").map(PathBuf::from);
    match cargo.as_deref().and_then(Path::parent) {
        Some(toolchain) => format!("{system}:{}", toolchain.display()),
        None => system.to_owned(),
    }
}

/// What people keep, and no work of the project needs to lose.
const LETTER: &str = "Dear Ada,\n";

/// The files of a home that is lived in.
const HOME: &[(&str, &str)] = &[
    (".bashrc", "alias ll='ls -l'\n"),
    (".bash_history", "make\ngit status\n"),
    (".gitconfig", "[user]\n\tname = t\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n"),
    ("Documents/letter", LETTER),
    ("Documents/2019/letter", LETTER),
    ("project/README", "A project.\n"),
    ("project/.gitignore", "build/\nnode_modules/\ntarget/\n.venv/\ndist/\n"),
];

/// A home, a project in it, which is a git work tree, and a place for temporary files.
pub(crate) struct Ground {
    dir: tempfile::TempDir,
}

impl Ground {
    /// Where cargo has tests write: in no place that is scope.
    pub(crate) fn new() -> Self {
        keep_loaded();
        let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
        fs::create_dir_all(place).expect("a directory");
        let dir = tempfile::Builder::new().prefix("everyday-").tempdir_in(place).expect("a directory");
        fs::create_dir(dir.path().join("tmp")).expect("a directory");
        let ground = Self { dir };
        for (name, content) in HOME {
            ground.write(name, content);
        }
        ground.before("git init -q . && git add . && git commit -qm 'Begin'");
        ground
    }

    /// A path of the home.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join("home").join(name)
    }

    /// Writes a file of the home.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let file = self.at(name);
        fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        fs::write(file, content).expect("a file");
    }

    /// What a file of the home holds.
    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The letters are as they were written.
    pub(crate) fn keeps_the_letters(&self) -> bool {
        ["Documents/letter", "Documents/2019/letter"]
            .iter()
            .all(|letter| fs::read(self.at(letter)).is_ok_and(|content| content == LETTER.as_bytes()))
    }

    /// Runs shell text in the project without a guard: what was there before the session.
    #[track_caller]
    pub(crate) fn before(&self, text: &str) {
        let output = self.command("bash").args(["-ec", text]).output().expect("bash runs");
        assert!(output.status.success(), "without a guard: {text}\n{}", said(&output));
    }

    /// Runs shell text in a session in the project: it succeeds, and nothing is refused.
    #[track_caller]
    pub(crate) fn undisturbed(&self, text: &str) {
        self.undisturbed_with(None, text);
    }

    /// The same with a variable that names a place of the home from the beginning.
    #[track_caller]
    pub(crate) fn undisturbed_with(&self, place: Option<(&str, &str)>, text: &str) {
        let Ended { code, refused, said } = self.session(place, text);
        assert_eq!((code, refused), (Some(0), 0), "exit code and refusals of: {text}\n{said}");
    }

    /// Runs shell text in a session in the project: it is refused something, the letters stay, and the program notices.
    #[track_caller]
    pub(crate) fn refused(&self, text: &str) {
        let Ended { code, refused, said } = self.session(None, text);
        assert!(self.keeps_the_letters(), "lost by: {text}\n{said}");
        assert_ne!(code, Some(0), "the program has not noticed: {text}\n{said}");
        // What Landlock refuses, nobody is told of but the program.
        assert!(refused > 0 || Rung::here() == Rung::Landlock, "not told: {text}\n{said}");
    }

    fn session(&self, place: Option<(&str, &str)>, text: &str) -> Ended {
        let logs = |ground: &Self| -> Vec<PathBuf> {
            let entries = fs::read_dir(ground.at(".local/state/blastradius")).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
                .collect()
        };
        let before = logs(self);
        let mut command = self.command(blastradius_tests::binary());
        command.args(["run", "--require", Rung::here().name(), "--report", "--", "bash", "-ec", text]);
        command.envs(place.map(|(variable, place)| (variable, self.at(place))));
        let output = command.output().expect("the program runs");
        let mut said = said(&output);
        let mut new = logs(self).into_iter().filter(|log| !before.contains(log));
        let log = new.next().unwrap_or_else(|| panic!("the session has no log: {said}"));
        let log = fs::read_to_string(log).expect("a log");
        let records = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let mut refused = None;
        for record in records {
            match record["event"].as_str() {
                Some("refused") => said.push_str(&format!("\n{record:#}")),
                Some("end") => refused = record["refused"].as_u64(),
                _ => {}
            }
        }
        Ended {
            code: output.status.code(),
            refused: refused.unwrap_or_else(|| panic!("no end in the log of: {text}\n{said}")),
            said,
        }
    }

    /// A program in the project, with the home and nothing else of who runs the test.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.at("project")).stdin(Stdio::null()).env_clear().env("HOME", self.at(""));
        command.env("PATH", path()).env("LANG", "C.UTF-8").env("TERM", "dumb").env("SHELL", "/bin/bash");
        if Rung::here() == Rung::Landlock {
            // A mount anywhere below /tmp freezes it on this rung, and on a machine where others work there may be one.
            command.env("TMPDIR", self.dir.path().join("tmp"));
        }
        // How full the disk of the machine is matters to no test.
        command.env("BLASTRADIUS_UNDO", "free=0");
        // There is no network to ask whether there is something newer.
        command.env("npm_config_update_notifier", "false").env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        command
    }
}

/// What came of a session.
struct Ended {
    code: Option<i32>,
    refused: u64,
    said: String,
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// On the kernel rung a session that lasts as long as this program, so that the others find the machine's programs loaded: the
/// verifier takes longer over them than most work takes.
fn keep_loaded() {
    static KEEPER: OnceLock<Option<Child>> = OnceLock::new();
    KEEPER.get_or_init(|| {
        if Rung::here() != Rung::Kernel {
            return None;
        }
        let mut command = Command::new(blastradius_tests::binary());
        // It ends when its input does, and its input is ours.
        command.args(["run", "--require", "kernel", "--", "sh", "-c", "echo ready; exec cat"]);
        command.current_dir("/tmp").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let mut ready = [0; 6];
        // If it has nothing to say, the first session will say why.
        let _ = child.stdout.as_mut().expect("it was asked for").read_exact(&mut ready);
        Some(child)
    });
}
