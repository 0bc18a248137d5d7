//! The script of the DaemonSet, run on this machine's own processes with a stand-in for the program: what does it attach?
//!
//! That what is attached is guarded, `tests/containers` shows on the kernel rung.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::formats::packaging;

/// A node: the script runs on it, and the stand-in writes down what it is asked for.
struct Node {
    place: tempfile::TempDir,
    mark: String,
    script: Child,
}

/// Notes the call; fails as often as there are lines in `fail`; otherwise watches until it is told to end, which it notes.
const STAND_IN: &str = r#"#!/bin/bash
echo "$*" >>"$PLACE/calls"
if [ -s "$PLACE/fail" ]; then sed -i 1d "$PLACE/fail"; exit 125; fi
trap 'echo "$*" >>"$PLACE/ended"; exit 0' TERM
sleep 600 & wait $!
"#;

impl Node {
    fn new(name: &str, failures: usize) -> Self {
        let place = tempfile::Builder::new()
            .prefix("node-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a directory");
        let program = place.path().join("blastradius");
        fs::write(&program, STAND_IN).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
        fs::write(place.path().join("fail"), "once\n".repeat(failures)).expect("written");
        let mark = format!("GUARDED_{name}_{}=yes", std::process::id());
        let script = Command::new("bash")
            .arg(packaging().join("kubernetes/attach-pods.sh"))
            .env_clear()
            .envs([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("GUARD_EVERY", "0.05"), ("GUARD_AGAIN", "1")])
            .env("GUARD_MARK", &mark)
            .env("GUARD_PROGRAM", program)
            .env("PLACE", place.path())
            // What it leaves is ended with it.
            .process_group(0)
            .spawn()
            .expect("bash");
        Self { place, mark, script }
    }

    /// A container's process, as the mark makes it.
    fn start(&self, script: &str, marked: bool) -> Child {
        let (name, value) = self.mark.split_once('=').expect("a variable");
        let mut command = Command::new("bash");
        command.args(["-c", script]).stdin(Stdio::piped());
        if marked {
            command.env(name, value);
        }
        command.spawn().expect("bash")
    }

    fn read(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.at(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    #[track_caller]
    fn eventually(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}: {:?}", self.read("calls"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Some rounds of the script.
    fn rounds() {
        std::thread::sleep(Duration::from_millis(1500));
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let group = nix::unistd::Pid::from_raw(self.script.id().try_into().expect("a number of a process"));
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        let _ = self.script.wait();
    }
}

/// It ends when nobody holds its input any longer.
const WAITS: &str = "read -r line";

fn call(child: &Child) -> String {
    format!("attach --pid {}", child.id())
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    child.wait().expect("ours");
}

#[test]
fn each_marked_tree_is_attached_once_by_its_top_and_no_other() {
    let node = Node::new("once", 0);
    // Its child carries the mark, too; so does what an unmarked process of it starts.
    let tree = node.start(&format!("bash -c '{WAITS}; :'; :"), true);
    let cleared = node.start(&format!("env -i bash -c '{} bash -c \"{WAITS}; :\"; :'; :", node.mark), true);
    let other = node.start(WAITS, false);
    node.eventually("attached", |node| node.read("calls").len() >= 2);
    Node::rounds();
    let mut wanted = vec![call(&tree), call(&cleared)];
    let mut calls = node.read("calls");
    wanted.sort();
    calls.sort();
    assert_eq!(calls, wanted);
    // As `kubectl exec` starts one.
    let second = node.start(WAITS, true);
    node.eventually("the second", |node| node.read("calls").contains(&call(&second)));
    [tree, cleared, other, second].into_iter().for_each(end);
}

#[test]
fn processes_that_are_gone_when_they_are_looked_at_end_nothing() {
    let mut node = Node::new("gone", 0);
    for _ in 0..400 {
        end(node.start("", true));
    }
    let tree = node.start(WAITS, true);
    node.eventually("attached", |node| node.read("calls").contains(&call(&tree)));
    assert!(node.script.try_wait().expect("ours").is_none(), "the script ended");
    end(tree);
}

#[test]
fn a_tree_that_could_not_be_attached_is_tried_again() {
    let node = Node::new("again", 2);
    let tree = node.start(WAITS, true);
    node.eventually("attached", |node| node.read("calls").len() == 3);
    Node::rounds();
    assert_eq!(node.read("calls"), vec![call(&tree); 3], "it is watched now");
    end(tree);
}

#[test]
fn the_watchers_are_told_to_end_before_the_script_does() {
    let mut node = Node::new("ends", 0);
    let trees = [node.start(WAITS, true), node.start(WAITS, true)];
    node.eventually("attached", |node| node.read("calls").len() == 2);
    Node::rounds();
    let pid = nix::unistd::Pid::from_raw(node.script.id().try_into().expect("a number of a process"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("ours");
    assert_eq!(node.script.wait().expect("ours").code(), Some(0));
    assert_eq!(node.read("ended").len(), 2);
    trees.into_iter().for_each(end);
}
