//! The GitHub action's script, run as a runner runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A runner's directories and files.
struct Runner {
    place: tempfile::TempDir,
}

/// What came of a step.
struct Step {
    output: Output,
    summary: String,
    outputs: String,
}

impl Step {
    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

impl Runner {
    fn new() -> Self {
        let place = tempfile::Builder::new()
            .prefix("runner-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a directory");
        for directory in ["workspace/build", "temp", "home/keep"] {
            fs::create_dir_all(place.path().join(directory)).expect("made");
        }
        for file in ["workspace/build/object", "home/keep/thesis"] {
            fs::write(place.path().join(file), "x").expect("written");
        }
        // As a checkout leaves it: of a work tree around both, the home would be a part.
        let init = Command::new("git").args(["init", "-q"]).arg(place.path().join("workspace")).status();
        assert!(init.is_ok_and(|status| status.success()), "git");
        Self { place }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    fn step(&self, run: &str, fail_on_refusal: bool) -> Step {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/github-action/guarded.sh");
        let output = Command::new("bash")
            .arg(script)
            .current_dir(self.at("workspace"))
            .env_clear()
            .envs([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("CI", "true"), ("GITHUB_ACTIONS", "true")])
            .envs([("GUARD_RUN", run), ("GUARD_REQUIRE", "any")])
            .env("GUARD_FAIL_ON_REFUSAL", fail_on_refusal.to_string())
            .env("GUARD_PROGRAM", blastradius_tests::binary())
            .env("HOME", self.at("home"))
            .env("RUNNER_TEMP", self.at("temp"))
            .env("GITHUB_WORKSPACE", self.at("workspace"))
            .env("GITHUB_STEP_SUMMARY", self.at("summary.md"))
            .env("GITHUB_OUTPUT", self.at("outputs"))
            .output()
            .expect("bash");
        let read = |name: &str| fs::read_to_string(self.at(name)).unwrap_or_default();
        Step { summary: read("summary.md"), outputs: read("outputs"), output }
    }
}

#[test]
fn a_step_that_is_refused_nothing_leaves_no_summary() {
    let runner = Runner::new();
    let step = runner.step("rm -r build\necho done > result", true);
    assert_eq!(step.code(), Some(0), "{}", step.said());
    assert!(!runner.at("workspace/build").exists() && runner.at("workspace/result").exists());
    assert_eq!((step.summary.as_str(), step.outputs.as_str()), ("", "refusals=0\n"));
}

#[test]
fn refusals_are_in_the_summary_and_the_files_are_still_there() {
    let runner = Runner::new();
    let step = runner.step("rm -r \"$HOME/keep\" || echo 'and on it goes'", false);
    assert_eq!(step.code(), Some(0), "{}", step.said());
    assert!(runner.at("home/keep/thesis").exists());
    assert!(step.summary.starts_with("### blastradius refused "), "{}", step.summary);
    assert!(step.summary.contains("home/keep"), "{}", step.summary);
    assert!(step.outputs.starts_with("refusals=") && step.outputs != "refusals=0\n", "{}", step.outputs);
}

#[test]
fn a_step_fails_for_a_refusal_when_it_is_asked_to() {
    let runner = Runner::new();
    let step = runner.step("rm -r \"$HOME/keep\" || true", true);
    assert_eq!(step.code(), Some(3), "{}", step.said());
    assert!(runner.at("home/keep/thesis").exists());
}

#[test]
fn the_status_of_the_commands_is_that_of_the_step() {
    assert_eq!(Runner::new().step("exit 7", true).code(), Some(7));
    // As in a runner's own steps, the first failure ends it.
    let runner = Runner::new();
    assert_eq!(runner.step("false | true\necho on > result", false).code(), Some(1));
    assert!(!runner.at("workspace/result").exists());
}

#[test]
fn a_name_cannot_write_markup_into_the_summary() {
    let runner = Runner::new();
    fs::create_dir(runner.at("home/a | <b> `c`")).expect("made");
    let step = runner.step("rm -r \"$HOME/a | <b> \\`c\\`\" || true", false);
    let rows: Vec<&str> = step.summary.lines().skip(4).collect();
    assert!(!rows.is_empty(), "{}{}", step.summary, step.said());
    for row in rows {
        assert_eq!(row.matches('|').count(), 5, "{row}");
        assert!(!row.contains('<') && !row.contains('`'), "{row}");
    }
}
