//! What is refused, how it is told, and what passes.

use super::{
    Test,
    stage::{Ended, Stage, end_of},
};

pub(super) const TESTS: &[Test] = &[
    Test { name: "a script removes nothing out of scope, and is told why", body: script },
    Test { name: "a compiled program removes nothing out of scope, and the log knows it", body: compiled },
    Test { name: "a tree out of scope survives rm -rf", body: tree },
    Test { name: "nothing out of scope is renamed away, replaced or truncated", body: other_acts },
    Test { name: "of a directory that is not empty, and so would have stayed, nothing is told", body: vain },
    Test { name: "what lies in scope may go", body: in_scope },
    Test { name: "what is mounted in the work tree is its own, unless it is elsewhere too", body: mounted },
    Test { name: "what the session made may go, wherever it is", body: born },
    Test { name: "a command with an unset variable is refused and explained before it starts", body: unset },
    Test { name: "a process beside the session is free", body: beside },
    Test { name: "sessions that start at one moment all start, on one rung", body: at_once },
    Test { name: "an audit refuses nothing", body: audit },
];

fn script(stage: &Stage) {
    // The refusal is told when its record has been read, so the agent stays until it is: thirty seconds at most.
    let waits = "i=0; until grep -q BLOCKED told || [ $i = 300 ]; do sleep 0.1; i=$((i+1)); done";
    let ended = stage.agent(&format!("exec 2>told; rm \"$KEPT/file\"; code=$?; {waits}; exit $code")).with(1);
    assert!(stage.has("kept/file"));
    let told = stage.read("project/told");
    let path = stage.path("kept/file").display().to_string();
    assert!(told.contains("not permitted"), "EPERM is what rm saw: {told}");
    assert!(told.contains("BLOCKED") && told.contains(&path), "{told}\nelsewhere: {}", ended.complained());
    assert!(told.contains("out-of-scope"), "{told}");
}

fn compiled(stage: &Stage) {
    stage.agent("\"$ACT\" act unlink \"$KEPT/file\"").with(1);
    assert!(stage.has("kept/file"));
    let path = stage.path("kept/file").display().to_string();
    let record = [r#""event":"refused""#, r#""layer":"kernel""#, r#""operation":"remove""#, &path];
    assert!(stage.logged(&record), "{}", stage.log());
    assert!(stage.logged(&[r#""event":"end""#, r#""refused":1"#]), "{}", stage.log());
    stage.unguarded("\"$ACT\" act unlink \"$KEPT/file\"").with(0);
    assert!(!stage.has("kept/file"));
}

fn tree(stage: &Stage) {
    stage.agent("rm -rf \"$KEPT\"").with(1);
    assert!(stage.has("kept/file") && stage.has("kept/directory/file"));
    stage.unguarded("rm -rf \"$KEPT\"").with(0);
    assert!(!stage.has("kept"));
}

fn other_acts(stage: &Stage) {
    let ended = stage.agent(
        "mv \"$KEPT/file\" . ; mv -f file \"$KEPT/file\"; (: > \"$KEPT/file\"); rmdir \"$KEPT/directory\"; true",
    );
    ended.with(0);
    assert_eq!(stage.read("kept/file"), "precious\n");
    assert!(stage.has("kept/directory/file"));
}

fn vain(stage: &Stage) {
    let ended = stage.agent("\"$ACT\" act rmdir \"$KEPT/directory\"").with(1);
    assert!(stage.has("kept/directory/file"));
    assert!(!ended.complained().contains("BLOCKED"), "{}", ended.complained());
    assert!(stage.logged(&[r#""event":"end""#, r#""refused":0"#]), "{}", stage.log());
    stage.unguarded("rm \"$KEPT/directory/file\"").with(0);
    stage.agent("\"$ACT\" act rmdir \"$KEPT/directory\"").with(1);
    assert!(
        stage.has("kept/directory") && stage.logged(&[r#""event":"end""#, r#""refused":1"#]),
        "{}",
        stage.log()
    );
}

fn in_scope(stage: &Stage) {
    let ended = stage.agent("rm file && rm -rf build && echo done").with(0);
    assert_eq!(ended.said(), "done\n");
    assert!(!stage.has("project/file") && !stage.has("project/build"));
}

fn mounted(stage: &Stage) {
    let prepare = "mkdir own shared \"$KEPT/tmp\" && mount -t tmpfs tmpfs own && mount -t tmpfs tmpfs \"$KEPT/tmp\" && \
                   mount --bind \"$KEPT/tmp\" shared && mkdir own/deep && touch own/deep/file shared/file";
    stage.unguarded(prepare).with(0);
    let outcome = std::panic::catch_unwind(|| {
        stage.agent("rm -r own/deep").with(0);
        stage.agent("\"$ACT\" act unlink shared/file").with(1);
        assert!(!stage.has("project/own/deep") && stage.has("project/shared/file"));
    });
    stage.unguarded("umount shared \"$KEPT/tmp\" own").with(0);
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

fn born(stage: &Stage) {
    let script = "echo new > \"$KEPT/new\" && mkdir -p \"$KEPT/made/deep\" && echo new > \"$KEPT/made/deep/new\" && \
                  rm \"$KEPT/new\" && rm -r \"$KEPT/made\" && echo done";
    let ended = stage.agent(script).with(0);
    assert_eq!(ended.said(), "done\n");
    assert!(!stage.has("kept/new") && !stage.has("kept/made"));
}

fn unset(stage: &Stage) {
    let ended = stage.agent("echo begun; rm -rf \"$UNSET/usr\"").with(126);
    assert_eq!(ended.said(), "", "{}", ended.complained());
    let told = ended.complained();
    assert!(told.contains("empty-variable-expansion") && told.contains("UNSET is unset"), "{told}");
    assert!(stage.logged(&[r#""event":"refused""#, r#""layer":"exec""#]), "{}", stage.log());
}

fn beside(stage: &Stage) {
    let session = stage
        .guarded(&["sh", "-c", "touch here; while [ ! -e go ]; do sleep 0.1; done"])
        .spawn()
        .expect("it starts");
    stage.await_file("project/here");
    stage.unguarded("rm \"$KEPT/file\" && touch go").with(0);
    assert!(!stage.has("kept/file"));
    end_of(session).with(0);
}

fn audit(stage: &Stage) {
    let output = stage.guarded_with(&["--audit"], &["sh", "-c", "rm \"$KEPT/file\""]).output();
    Ended { output: output.expect("the program starts") }.with(0);
    assert!(!stage.has("kept/file"));
}

fn at_once(stage: &Stage) {
    let start = |_| stage.guarded(&["sh", "-c", "rm file; : > file"]).spawn().expect("it starts");
    let sessions: Vec<_> = (0..8).map(start).collect();
    let started: Vec<String> = sessions.into_iter().map(|session| end_of(session).complained()).collect();
    let rung = |told: &String| told.split("rung (").nth(1)?.split(',').next().map(str::to_owned);
    let first = rung(&started[0]);
    assert!(first.is_some(), "{}", started[0]);
    for told in &started {
        assert_eq!(rung(told), first, "{told}");
    }
}
