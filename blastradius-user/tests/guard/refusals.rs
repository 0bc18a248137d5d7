//! Execs that are refused, and who hears of it.

use std::io::Write as _;
use std::process::{Output, Stdio};

use crate::ground::{Ground, stderr, stdout};

/// Feeds a script to a guarded bash by its standard input, so that only the execs that follow can be judged.
pub(crate) fn feed(ground: &Ground, flags: &[&str], script: &str) -> Output {
    let mut command = ground.run(flags, &["bash"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// A ground whose project is a real work tree with a commit.
pub(crate) fn work_tree() -> Ground {
    let ground = Ground::new();
    std::fs::remove_dir_all(ground.at("home/project/.git")).unwrap();
    for args in [
        &["init", "-q"][..],
        &["-c", "user.name=x", "-c", "user.email=x@y", "add", "."],
        &["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "one"],
    ] {
        assert!(ground.command("git").args(args).status().unwrap().success());
    }
    ground
}

#[test]
fn a_refused_command_says_why_on_its_own_standard_error_and_the_shell_goes_on() {
    let ground = work_tree();
    let output = feed(&ground, &[], "rm -rf .git 2>told\necho after=$?\ngit log --oneline | wc -l\n");
    assert_eq!(stdout(&output), "after=126\n1\n", "{}", stderr(&output));
    let told = std::fs::read_to_string(ground.at("home/project/told")).unwrap();
    assert!(told.starts_with("blastradius  BLOCKED"), "{told}");
    for part in ["rm -rf .git", "git-history", "Permission denied"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(stderr(&output).contains("blastradius: 1 refused (landlock rung)"), "{}", stderr(&output));
}

#[test]
fn the_log_and_why_tell_who_did_it() {
    let ground = work_tree();
    feed(&ground, &[], "python3 -c 'import subprocess; subprocess.run([\"rm\", \"-rf\", \".git\"])'\n");
    let refused: Vec<_> = ground.log().into_iter().filter(|record| record["event"] == "refused").collect();
    // One for each directory of PATH that holds an rm: python tries them all.
    assert!(!refused.is_empty());
    let record = &refused[0];
    assert_eq!(
        (record["layer"].as_str(), record["rule"].as_str()),
        (Some("exec"), Some("git-history")),
        "{record}"
    );
    let exes: Vec<_> =
        record["chain"].as_array().unwrap().iter().map(|link| link["exe"].to_string()).collect();
    assert!(exes.len() >= 2 && exes.last().unwrap().contains("bash"), "{record}");
    let why = ground.command(env!("CARGO_BIN_EXE_blastradius")).arg("why").output().unwrap();
    assert!(why.status.success(), "{}", stderr(&why));
    assert!(stdout(&why).contains("git-history") && stdout(&why).contains("started by"), "{}", stdout(&why));
}

#[test]
fn the_agent_itself_can_be_refused() {
    let ground = Ground::new();
    let output = ground.run(&[], &["rm", "-rf", ground.at("home").to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("BLOCKED") && stderr(&output).contains("floor-path"),
        "{}",
        stderr(&output)
    );
    ground.assert_whole();
}

#[test]
fn shell_text_with_an_empty_variable_is_refused_before_it_starts() {
    let ground = Ground::new();
    let output = feed(&ground, &[], "sh -c 'rm -rf \"$AGENT_TMP\"/*'\necho after=$?\n");
    assert_eq!(stdout(&output), "after=126\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("empty-variable-expansion"), "{}", stderr(&output));
}

#[test]
fn a_refusal_can_be_asked_to_fail_the_session() {
    let ground = work_tree();
    assert_eq!(feed(&ground, &["--fail-on-refusal"], "rm -rf .git\ntrue\n").status.code(), Some(3));
    let ground = work_tree();
    assert_eq!(feed(&ground, &["--fail-on-refusal"], "true\n").status.code(), Some(0));
    let ground = work_tree();
    assert_eq!(feed(&ground, &["--fail-on-refusal"], "rm -rf .git\nexit 9\n").status.code(), Some(9));
}

#[test]
fn an_audit_refuses_nothing_and_writes_it_down() {
    let ground = work_tree();
    let output = feed(&ground, &["--audit"], "rm -rf .git\nrm ~/photos/a.jpg\n");
    assert!(stderr(&output).contains("NOTHING is refused"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("BLOCKED"), "{}", stderr(&output));
    assert!(!ground.at("home/project/.git").exists() && !ground.keeps("home/photos/a.jpg"));
    let audited = ground.log().iter().filter(|record| record["event"] == "audited").count();
    assert_eq!(audited, 2);
}

#[test]
fn secrets_in_arguments_are_kept_out_of_the_log_and_the_text() {
    let ground = work_tree();
    let output = feed(&ground, &[], "env API_TOKEN=hunter2 rm -rf .git\n");
    let log = ground.log().iter().map(ToString::to_string).collect::<String>();
    assert!(log.contains("[masked]") && !log.contains("hunter2"), "{log}");
    assert!(!stderr(&output).contains("hunter2"), "{}", stderr(&output));
}

#[test]
fn a_burst_of_refusals_is_folded() {
    let ground = work_tree();
    let output = feed(&ground, &[], "for i in $(seq 40); do rm -rf .git 2>>told; done; sleep 2\n");
    let told = std::fs::read_to_string(ground.at("home/project/told")).unwrap();
    assert_eq!(told.matches("BLOCKED").count(), 3, "{told}");
    assert!(told.contains("and 37 more"), "{told}");
    assert!(stderr(&output).contains("blastradius: 40 refused"), "{}", stderr(&output));
}

#[test]
fn ordinary_work_is_not_refused() {
    let ground = work_tree();
    let output = feed(
        &ground,
        &["--fail-on-refusal"],
        "set -e; mkdir -p build; touch build/a; rm -rf build; git status -s; git checkout -q -b x; d=$(mktemp -d); rm -rf \"$d\"; sed -i s/x/y/ README; sed -i s/y/x/ README; git checkout -q README; \
         printf 'all:\\n\\ttouch o\\nclean:\\n\\trm -f o *.tmp\\n' > Makefile; make -s all clean 2>/dev/null || true; rm Makefile\n",
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
