//! How sessions begin and end, and what becomes of those that end badly.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    process::{Child, Stdio},
};

use super::{
    Test,
    stage::{Ended, Stage, end_of, eventually},
};

pub(super) const TESTS: &[Test] = &[
    Test { name: "the start line names the rung that this kernel has", body: start_line },
    Test { name: "the agent's exit code is the program's", body: code },
    Test { name: "the agent's death by a signal is the program's", body: death },
    Test { name: "a signal to the program reaches the agent", body: signal },
    Test { name: "a program that is not there is 127", body: missing },
    Test { name: "without the kernel's types nothing starts, and it is said", body: no_types },
    Test { name: "a missing bpf file system is mounted", body: no_bpffs },
    Test { name: "what the agent leaves running stays guarded", body: left_behind },
    Test { name: "a session whose supervisor was killed stays guarded, and nobody else is", body: orphaned },
    Test { name: "a session starts beside one whose supervisor was killed", body: successor },
    Test { name: "nothing of a session stays on the machine", body: clean },
];

fn start_line(stage: &Stage) {
    let modules = fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    let rung = if modules.trim().split(',').any(|module| module == "bpf") { "bpf-lsm" } else { "fmod_ret" };
    let ended = stage.agent("true").with(0);
    let expected = format!("kernel rung ({rung}, ");
    assert!(
        ended.complained().lines().next().is_some_and(|line| line.contains(&expected)),
        "{}",
        ended.complained()
    );
    assert!(stage.logged(&[r#""event":"start""#, &format!(r#""rung":"{rung}""#)]), "{}", stage.log());
    assert!(stage.logged(&[r#""event":"end""#, r#""refused":0"#]), "{}", stage.log());
}

fn code(stage: &Stage) {
    stage.agent("exit 7").with(7);
    stage.agent("exit 0").with(0);
}

fn death(stage: &Stage) {
    let ended = stage.agent("kill -SEGV $$");
    assert_eq!(ended.output.status.signal(), Some(libc::SIGSEGV), "{}", ended.complained());
}

fn signal(stage: &Stage) {
    let script = "trap 'echo caught; exit 9' TERM; touch here; while :; do sleep 0.1; done";
    let session = stage.guarded(&["sh", "-c", script]).spawn().expect("it starts");
    stage.await_file("project/here");
    kill(session.id(), libc::SIGTERM);
    let ended = end_of(session).with(9);
    assert_eq!(ended.said(), "caught\n");
}

fn missing(stage: &Stage) {
    let ended = stage.guarded(&["no-such-program"]).output().expect("it starts");
    assert_eq!(ended.status.code(), Some(127));
}

/// Runs the program in a mount namespace that `prepare` has changed.
fn elsewhere(stage: &Stage, prepare: &str) -> Ended {
    let program = stage.program(&[]).get_program().display().to_string();
    let inner = format!("{prepare} && exec {program} run --require kernel -- echo started");
    stage.unguarded(&format!("unshare -m sh -c '{inner}'"))
}

fn no_types(stage: &Stage) {
    // What is loaded needs no types to be used, and a session that died a moment ago leaves it to the next one.
    clean(stage);
    let ended = elsewhere(stage, "mount -t tmpfs tmpfs /sys/kernel/btf").with(125);
    assert!(ended.complained().contains("CONFIG_DEBUG_INFO_BTF"), "{}", ended.complained());
    assert_eq!(ended.said(), "");
}

fn no_bpffs(stage: &Stage) {
    let ended = elsewhere(stage, "mount -t tmpfs tmpfs /sys/fs/bpf").with(0);
    assert_eq!(ended.said(), "started\n");
}

fn left_behind(stage: &Stage) {
    stage.agent(&format!("{WAITING} </dev/null >/dev/null 2>&1 &")).with(0);
    assert_refused_when_signed(stage);
}

fn orphaned(stage: &Stage) {
    let (session, supervisor) = waiting_session(stage);
    kill(supervisor, libc::SIGKILL);
    eventually("the supervisor ends", || !is_running(supervisor));
    assert_refused_when_signed(stage);
    assert_eq!(end_of(session).output.status.code(), Some(125));
    stage.unguarded("rm \"$KEPT/file\"").with(0);
    assert!(!stage.has("kept/file"));
}

fn successor(stage: &Stage) {
    let (session, supervisor) = waiting_session(stage);
    kill(supervisor, libc::SIGKILL);
    eventually("the supervisor ends", || !is_running(supervisor));
    stage.agent("rm \"$KEPT/file\"").with(1);
    assert_refused_when_signed(stage);
    end_of(session);
    stage.agent("rm \"$KEPT/file\"").with(1);
    assert!(stage.has("kept/file"));
}

fn clean(stage: &Stage) {
    stage.agent("true").with(0);
    let pins = || fs::read_dir("/sys/fs/bpf/blastradius").into_iter().flatten().count();
    eventually("the pins go", || pins() == 0);
}

/// A program that waits for `go`, tries to remove what it may not, and reports. It executes nothing: without a supervisor it could not.
const WAITING: &str = "\"$ACT\" act unlink-when go \"$KEPT/file\" report";

/// A session that waits for `go`, and its supervisor.
fn waiting_session(stage: &Stage) -> (Child, u32) {
    let script = format!("touch here; exec {WAITING}");
    let mut command = stage.guarded(&["sh", "-c", &script]);
    let session = command.stdout(Stdio::null()).spawn().expect("it starts");
    stage.await_file("project/here");
    let supervisor = only_child(session.id());
    // The shell's own command line holds the script: the exec must be over, for it needs the supervisor.
    let waits = |line: &str| line.contains("unlink-when") && !line.contains("touch");
    eventually("the agent waits", || waits(&command_line(only_child(supervisor))));
    (session, supervisor)
}

#[track_caller]
fn assert_refused_when_signed(stage: &Stage) {
    fs::write(stage.path("project/go"), "").expect("a free name");
    stage.await_file("project/report");
    assert_eq!(stage.read("project/report"), libc::EPERM.to_string());
    assert!(stage.has("kept/file"));
}

fn kill(pid: u32, signal: i32) {
    // SAFETY: takes numbers; the process is a child of this one or of a child, and was not reaped.
    let result = unsafe { libc::kill(pid as libc::pid_t, signal) };
    assert_eq!(result, 0);
}

#[track_caller]
fn only_child(pid: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().next().and_then(|child| child.parse().ok()).expect("it has a child")
}

fn command_line(pid: u32) -> String {
    fs::read(format!("/proc/{pid}/cmdline"))
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .unwrap_or_default()
}

/// Whether it is there and no zombie.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
