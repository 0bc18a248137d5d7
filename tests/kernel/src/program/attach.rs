//! A tree that runs already is put under guard.

use std::{
    fs,
    process::{Command, Stdio},
};

use super::{
    Test,
    stage::{Stage, end_of, eventually},
};

pub(super) const TESTS: &[Test] = &[
    Test { name: "an attached tree removes nothing out of scope, and its neighbours do", body: attached },
    Test { name: "what cannot be attached is named, and nothing is changed", body: refused },
];

fn attach(stage: &Stage, pid: u32) -> Command {
    stage.program(&["attach", "--pid", &pid.to_string()])
}

fn attached(stage: &Stage) {
    // The tree: a shell, a child that runs already, and what both start later.
    let act = "\"$ACT\" act unlink";
    let script = format!(
        "(while [ ! -e go ]; do sleep 0.1; done; {act} \"$KEPT/directory/file\"; echo $? > child) & \
         while [ ! -e go ]; do sleep 0.1; done; {act} \"$KEPT/file\"; echo $? > new; {act} file; echo $? > scope; wait; mv new done"
    );
    let mut tree = stage.unguarded_command(&script).spawn().expect("there is a shell");
    let watch = attach(stage, tree.id()).spawn().expect("it starts");
    eventually("the tree is attached", || stage.log().contains("attached to"));
    fs::write(stage.path("project/go"), "").expect("a free name");
    stage.await_file("project/done");
    assert_eq!((stage.read("project/done").trim(), stage.read("project/child").trim()), ("1", "1"));
    assert_eq!(stage.read("project/scope").trim(), "0", "what lies in scope may go");
    assert!(stage.has("kept/file") && stage.has("kept/directory/file") && !stage.has("project/file"));
    tree.wait().expect("it is our child");
    let ended = end_of(watch).with(0);
    assert!(ended.complained().contains("kernel rung"), "{}", ended.complained());
    assert!(stage.logged(&[r#""event":"refused""#, r#""layer":"kernel""#]), "{}", stage.log());
    assert!(stage.logged(&[r#""event":"end""#, r#""refused":2"#]), "{}", stage.log());
    stage.unguarded("rm \"$KEPT/file\"").with(0);
    assert!(!stage.has("kept/file"));
}

fn refused(stage: &Stage) {
    let ended = |pid| {
        let output = attach(stage, pid).stdin(Stdio::null()).output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = ended(4_000_000);
    assert!(code == Some(125) && said.contains("4000000"), "{said}");
    let (code, said) = ended(std::process::id());
    assert!(code == Some(125) && said.contains("outside of the tree"), "{said}");
    stage.unguarded("rm \"$KEPT/file\"").with(0);
}
