//! A person outside the session says yes, and the kernel lets exactly that pass.

use std::{fs, process::Child};

use blastradius::guard::door::{self, Request, Response};

use super::{
    Test,
    stage::{Stage, end_of, eventually},
};

pub(super) const TESTS: &[Test] = &[
    Test { name: "what a person approves passes once, and nothing else does", body: once },
    Test { name: "nobody in the session approves for a person", body: inside },
    Test { name: "a pause lets what was asked pass, and no floor", body: pause },
];

/// An agent that does what stands in `step-N` when it appears, and writes the exit code to `done-N`. What is removed is
/// removed by a program: a shell that has one built in starts none, and nobody is asked.
fn agent(stage: &Stage) -> Child {
    let script = "n=1; while :; do while [ ! -e step-$n ]; do sleep 0.1; done; . ./step-$n; echo $? > new; \
                  mv new done-$n; n=$((n+1)); done";
    let child = stage.guarded(&["sh", "-c", script]).spawn().expect("it starts");
    eventually("the session starts", || !stage.log().is_empty());
    child
}

#[track_caller]
fn step(stage: &Stage, number: u32, script: &str) -> i32 {
    fs::write(stage.path("project/next"), script).expect("a free name");
    fs::rename(stage.path("project/next"), stage.path(&format!("project/step-{number}")))
        .expect("a free name");
    stage.await_file(&format!("project/done-{number}"));
    stage.read(&format!("project/done-{number}")).trim().parse().expect("an exit code")
}

fn field(record: &str, name: &str) -> Option<String> {
    let start = record.find(&format!("\"{name}\":\""))? + name.len() + 4;
    record[start..].split('"').next().map(str::to_owned)
}

fn session(stage: &Stage) -> String {
    stage.log().lines().find_map(|line| field(line, "session")).expect("the log has begun")
}

/// The number that the last refusal in the log offers. A record follows its refusal.
fn offered(stage: &Stage, path: &str) -> String {
    let path = stage.path(path).display().to_string();
    let find = || {
        let log = stage.log();
        log.lines().rev().filter(|line| line.contains(&path)).find_map(|line| field(line, "offer"))
    };
    eventually("an offer is in the log", || find().is_some());
    find().expect("just seen")
}

fn once(stage: &Stage) {
    let child = agent(stage);
    let remove = "/bin/rm -f \"$KEPT/file\"";
    assert_ne!(step(stage, 1, remove), 0);
    assert!(stage.has("kept/file"));
    let id = offered(stage, "kept/file");
    let response = door::visit(&session(stage), &Request::Approve { id }).expect("the door is open");
    assert!(matches!(response, Response::Done(_)), "{response:?}");
    assert_ne!(step(stage, 2, "/bin/rm -rf \"$KEPT/directory\""), 0, "another command");
    assert!(stage.has("kept/directory/file"));
    assert_eq!(step(stage, 3, remove), 0, "{}", stage.log());
    assert!(!stage.has("kept/file"));
    fs::write(stage.path("kept/file"), "precious\n").expect("a free name");
    assert_ne!(step(stage, 4, remove), 0, "the next one asks again");
    assert!(stage.has("kept/file"));
    let id = offered(stage, "kept/directory");
    door::visit(&session(stage), &Request::Approve { id }).expect("the door is open");
    assert_eq!(step(stage, 5, "/bin/rm -rf \"$KEPT/directory\""), 0, "{}", stage.log());
    assert!(!stage.has("kept/directory"));
    fs::write(stage.path("project/step-6"), "kill $$").expect("a free name");
    end_of(child);
}

fn inside(stage: &Stage) {
    let child = agent(stage);
    let remove = "/bin/rm -f \"$KEPT/file\"";
    assert_ne!(step(stage, 1, remove), 0);
    let id = offered(stage, "kept/file");
    let script = format!("setsid \"$ACT\" act approve {} {id} > said 2>&1", session(stage));
    assert_ne!(step(stage, 2, &script), 0);
    assert!(stage.read("project/said").contains("inside"), "{}", stage.read("project/said"));
    assert_ne!(step(stage, 3, remove), 0);
    assert!(stage.has("kept/file"));
    fs::write(stage.path("project/step-4"), "kill $$").expect("a free name");
    end_of(child);
}

fn pause(stage: &Stage) {
    let child = agent(stage);
    door::visit(&session(stage), &Request::Pause { seconds: 600 }).expect("the door is open");
    assert_eq!(step(stage, 1, "/bin/rm -f \"$KEPT/file\""), 0, "{}", stage.log());
    assert!(!stage.has("kept/file"));
    assert_ne!(step(stage, 2, "/bin/rm -rf /usr"), 0);
    assert!(std::path::Path::new("/usr/bin").exists());
    fs::write(stage.path("project/step-3"), "kill $$").expect("a free name");
    end_of(child);
}
