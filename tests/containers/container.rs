//! Containers that runc makes of this machine's own root, in a mount namespace of the test. Whatever they write is dropped.

use std::{
    fs, io,
    os::unix::fs::chown,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, unshare},
};
use serde_json::{Value, json};

/// What every file holds.
const CONTENT: &str = "worth keeping\n";

/// What lies in a container before anything runs there: the work tree /srv/app, and data beside it.
const FILES: &[&str] = &[
    "srv/data/photo",
    "srv/data/2019/photo",
    "srv/app/README",
    "srv/app/build/object",
    "srv/app/dist/bundle",
    "srv/app/.git/HEAD",
];

/// What the page on containers asks for beyond what an engine gives.
const CAPABILITIES: &[&str] = &["CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN"];

/// A first process that does what it finds written down, as often as it finds something. What the guard has to say when a
/// program has ended already comes to `told`.
pub(crate) const AGENT: &str = "exec 2>>told; while sleep 0.1; do
    [ ! -e do ] || { mv do doing; sh ./doing >said 2>&1; echo $? >code; mv code done; }
done";

/// Where the containers of a test are made.
pub(crate) struct Ground {
    stage: tempfile::TempDir,
}

impl Ground {
    /// The thread leaves the machine's mounts: nobody else sees these.
    pub(crate) fn new() -> Self {
        unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace");
        let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).expect("mounts of our own");
        let stage = tempfile::Builder::new().prefix("containers-").tempdir().expect("a directory");
        let size = Some("mode=0755,size=128m");
        mount(Some("tmpfs"), stage.path(), Some("tmpfs"), MsFlags::empty(), size).expect("a tmpfs");
        Self { stage }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.stage.path().join(name)
    }

    /// A container that is unprivileged, as runc makes it, with the program under test in it. Nothing runs in it yet.
    pub(crate) fn container(&self, name: &str) -> Container<'_> {
        let place = self.path(name);
        for directory in ["upper", "work", "root"] {
            fs::create_dir_all(place.join(directory)).expect("a directory");
        }
        // xino: numbers of inodes of two file systems stay apart. An engine's layers lie on one.
        let layers = format!(
            "lowerdir=/,upperdir={0}/upper,workdir={0}/work,xino=on",
            place.to_str().expect("a plain name")
        );
        let root = place.join("root");
        mount(Some("overlay"), &root, Some("overlay"), MsFlags::empty(), Some(&*layers))
            .expect("an overlay of the root");
        fs::create_dir_all(root.join("usr/local/bin")).expect("a directory");
        fs::copy(blastradius_tests::binary(), root.join("usr/local/bin/blastradius")).expect("the program");
        let mut spec = Command::new("runc");
        done(spec.arg("spec").arg("--bundle").arg(&place));
        let name = format!("blastradius-{}-{name}", std::process::id());
        let container = Container { ground: self, name, place };
        FILES.iter().for_each(|file| container.write(file));
        fs::write(container.at("srv/app/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        container.edit(|config| {
            config["root"] = json!({ "path": root, "readonly": false });
            config["process"]["terminal"] = false.into();
            config["process"]["cwd"] = "/srv/app".into();
            push(&mut config["process"]["env"], "HOME=/root");
        });
        container
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // With all that is mounted below it; the directory itself goes after us.
        let _ = umount2(self.stage.path(), MntFlags::MNT_DETACH);
    }
}

/// How a process in a container ended, and all that it said.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) said: String,
}

/// A bundle, and what runs of it. It ends when dropped.
pub(crate) struct Container<'ground> {
    ground: &'ground Ground,
    name: String,
    place: PathBuf,
}

impl Container<'_> {
    /// Its processes are this user's, and what lies in it is, too.
    pub(crate) fn of(self, uid: u32) -> Self {
        if uid == 0 {
            return self;
        }
        self.edit(|config| {
            config["process"]["user"] = json!({ "uid": uid, "gid": uid });
            push(&mut config["process"]["env"], "HOME=/srv/home");
        });
        fs::create_dir(self.at("srv/home")).expect("a home");
        for path in ["srv/home", "srv/data", "srv/app"] {
            give(&self.at(path), uid);
        }
        self
    }

    /// What the page on containers says that the kernel rung takes.
    pub(crate) fn with_the_kernel(self) -> Self {
        self.edit(|config| {
            let sets = config["process"]["capabilities"].as_object_mut().expect("sets of capabilities");
            for set in sets.values_mut() {
                CAPABILITIES.iter().for_each(|capability| push(set, capability));
            }
            let mounts = config["mounts"].as_array_mut().expect("mounts");
            mounts.push(json!({
                "destination": "/sys/fs/bpf", "type": "bind", "source": "/sys/fs/bpf", "options": ["rbind", "rw"],
            }));
        });
        self
    }

    /// A path of the container, as it is seen from here.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.place.join("root").join(path)
    }

    pub(crate) fn write(&self, path: &str) {
        let file = self.at(path);
        fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        fs::write(file, CONTENT).expect("a file");
    }

    pub(crate) fn keeps(&self, path: &str) -> bool {
        fs::read(self.at(path)).is_ok_and(|content| content == CONTENT.as_bytes())
    }

    /// Runs a first process to its end.
    pub(crate) fn run(&self, argv: &[&str]) -> Ended {
        self.first_process(argv);
        ended(self.runc("run").arg("--bundle").arg(&self.place).arg(&self.name).stdin(Stdio::null()))
    }

    /// Leaves a first process running.
    pub(crate) fn start(&self, argv: &[&str]) {
        self.first_process(argv);
        let mut command = self.runc("run");
        // What it says has no reader: it would hold the pipe open as long as it lives.
        command.args(["--detach", "--bundle"]).arg(&self.place).arg(&self.name);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().expect("runc runs");
        assert!(status.success(), "runc run: {status}");
    }

    /// Runs one more process to its end.
    pub(crate) fn exec(&self, argv: &[&str]) -> Ended {
        ended(self.runc("exec").arg(&self.name).args(argv).stdin(Stdio::null()))
    }

    /// The same at a terminal, where a person answers with these lines.
    pub(crate) fn exec_at_terminal(&self, command: &str, answers: &str) -> Ended {
        let typed = self.place.join("typed");
        fs::write(&typed, answers).expect("a file");
        let mut exec = self.runc("exec");
        exec.arg(&self.name).args(["script", "--quiet", "--return", "--command", command, "/dev/null"]);
        ended(exec.stdin(fs::File::open(typed).expect("a file")))
    }

    /// Has a first process that runs [`AGENT`] do something.
    pub(crate) fn has_done(&self, script: &str) -> Ended {
        let at = |name: &str| self.at("srv/app").join(name);
        let _ = fs::remove_file(at("done"));
        fs::write(at("unwritten"), script)
            .and_then(|()| fs::rename(at("unwritten"), at("do")))
            .expect("a file");
        eventually(script, || Ok(at("done").exists()));
        let code = fs::read_to_string(at("done")).expect("what was written");
        Ended { code: code.trim().parse().expect("a number"), said: self.said() }
    }

    /// What was said while that was done, and what the guard has told the first process.
    pub(crate) fn said(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.at("srv/app").join(name)).expect("what was written");
        read("said") + &read("told")
    }

    /// The first process, by its number on the host.
    pub(crate) fn pid(&self) -> u32 {
        let state: Value = serde_json::from_str(&done(self.runc("state").arg(&self.name))).expect("JSON");
        state["pid"].as_u64().and_then(|pid| pid.try_into().ok()).expect("a process")
    }

    pub(crate) fn stop(&self) {
        let _ = self.runc("delete").arg("--force").arg(&self.name).output();
    }

    fn runc(&self, verb: &str) -> Command {
        let mut command = Command::new("runc");
        command.arg("--root").arg(self.ground.path("runc")).arg(verb);
        command
    }

    fn first_process(&self, argv: &[&str]) {
        self.edit(|config| config["process"]["args"] = json!(argv));
    }

    /// Changes what runc is told.
    pub(crate) fn edit(&self, change: impl FnOnce(&mut Value)) {
        let file = self.place.join("config.json");
        let mut config =
            serde_json::from_slice(&fs::read(&file).expect("a configuration")).expect("runc writes JSON");
        change(&mut config);
        fs::write(file, config.to_string()).expect("a configuration");
    }
}

impl Drop for Container<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn push(list: &mut Value, item: &str) {
    list.as_array_mut().expect("a list").push(item.into());
}

fn give(path: &Path, uid: u32) {
    chown(path, Some(uid), Some(uid)).expect("another owner");
    let Ok(entries) = fs::read_dir(path) else { return };
    entries.for_each(|entry| give(&entry.expect("readable").path(), uid));
}

fn ended(command: &mut Command) -> Ended {
    let output = command.output().expect("runc runs");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let code = output.status.code().unwrap_or_else(|| panic!("runc itself was ended: {said}"));
    Ended { code, said }
}

/// Runs a command that must succeed.
fn done(command: &mut Command) -> String {
    let ended = ended(command);
    assert_eq!(ended.code, 0, "{command:?}: {}", ended.said);
    ended.said
}

/// Waits for something that comes by itself, on a machine that may be slow.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> io::Result<bool>) {
    let start = Instant::now();
    while !holds().unwrap_or_else(|error| panic!("{what}: {error}")) {
        assert!(start.elapsed() < Duration::from_secs(600), "it never came to be: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
