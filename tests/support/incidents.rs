//! The cases of `incidents/incidents.jsonl`, and what came of one that was run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// What kind of case it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Something that happened to somebody.
    Incident,
    /// A spelling that gets past guards.
    Bypass,
    /// Harmless work that guards have refused.
    FalsePositive,
}

/// One case. The README of the tests says what the fields mean.
#[derive(Clone, Debug, Deserialize)]
pub struct Incident {
    /// Stable name.
    pub id: String,
    /// What kind of case.
    pub kind: Kind,
    /// Shell text that prepares the root, run as root.
    pub setup_cmds: String,
    /// `dev` or `root`.
    pub run_as: String,
    /// Where it runs.
    pub cwd: String,
    /// What runs.
    pub command_or_script: String,
    /// The verdict on the text.
    pub text_expect: String,
    /// What must be unchanged afterwards.
    pub survive: Vec<String>,
    /// What must have happened.
    pub must_happen: Vec<String>,
    /// It ran as described without a guard.
    pub verified: bool,
    /// Right to refuse when nobody can answer.
    #[serde(default)]
    pub needs_human: bool,
    /// Why.
    pub why: String,
}

/// What came of a case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The verdict on the text, or why there is none.
    pub text: Result<String, String>,
    /// Entries of `survive` that did not.
    pub lost: Vec<String>,
    /// Entries of `survive` that `blastradius undo` did not give back either.
    pub unrestored: Vec<String>,
    /// Entries of `must_happen` that did not.
    pub missing: Vec<String>,
    /// Standard output and error of the case, and of the undo after it.
    pub output: String,
}

/// Reads the cases.
///
/// # Panics
/// If a line is not a case: the data is part of the tests.
pub fn read(path: &Path) -> Vec<Incident> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let parse = |(index, line): (usize, &str)| -> Incident {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{}:{}: {error}", path.display(), index + 1))
    };
    text.lines().enumerate().map(parse).collect()
}

impl Incident {
    /// Runs the case in a private root with `guard` in front of its shell; `["text-only"]` judges the text and stops.
    ///
    /// # Panics
    /// If the private root cannot be made.
    pub fn run(&self, tests: &Path, binary: &Path, guard: &[&str]) -> Outcome {
        let dir = self.lay_out(tests);
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--net", "--propagation", "private", "bash"]);
        command.arg(tests.join("battery/case.sh")).arg(&dir).args(guard).env("BLASTRADIUS", binary);
        let done = command.stdin(Stdio::null()).output().expect("unshare runs");
        assert!(
            done.status.success(),
            "{}: the private root could not be made: {}\n{}\n{}",
            self.id,
            done.status,
            String::from_utf8_lossy(&done.stderr),
            fs::read_to_string(dir.join("base.log")).unwrap_or_default()
        );
        let outcome = self.outcome(&dir);
        fs::remove_dir_all(&dir).expect("our own directory can be removed");
        outcome
    }

    /// The directory that `case.sh` reads.
    fn lay_out(&self, tests: &Path) -> PathBuf {
        // Several tests may run the same case at once.
        let prefix = format!("blastradius-battery-{}-", self.id);
        let dir =
            tempfile::Builder::new().prefix(&prefix).tempdir().expect("a directory for the case").keep();
        fs::create_dir(dir.join("fixtures")).expect("a directory for the case");
        let write = |name: &str, text: &str| fs::write(dir.join(name), text).expect("a file of the case");
        let incidents = tests.join("incidents");
        fs::copy(incidents.join("base.sh"), dir.join("base")).expect("base.sh");
        for entry in fs::read_dir(incidents.join("fixtures")).expect("fixtures") {
            let entry = entry.expect("an entry");
            fs::copy(entry.path(), dir.join("fixtures").join(entry.file_name())).expect("a fixture");
        }
        write("setup", &self.setup_cmds);
        write("command", &self.command_or_script);
        write("uid", if self.run_as == "root" { "0" } else { "1000" });
        write("cwd", &self.cwd);
        let counted = |entry: &str| entry.starts_with("count:") || entry.starts_with("glob:");
        let happened =
            self.must_happen.iter().filter_map(|entry| entry.split_once(':')).map(|(_, path)| path);
        let watched: Vec<&str> =
            self.survive.iter().map(String::as_str).filter(|entry| !counted(entry)).chain(happened).collect();
        let counts: Vec<&str> =
            self.survive.iter().filter(|entry| counted(entry)).map(|entry| directory(entry).0).collect();
        write("watch", &(watched.join("\n") + "\n"));
        write("count", &(counts.join("\n") + "\n"));
        dir
    }

    fn outcome(&self, dir: &Path) -> Outcome {
        let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_default();
        let table = |name: &str| -> BTreeMap<String, String> {
            read(name)
                .lines()
                .filter_map(|line| line.split_once(' '))
                .map(|(k, v)| (k.into(), v.into()))
                .collect()
        };
        let (before, after, counts) = (table("before"), table("after"), table("after.count"));
        let (undone, undone_counts) = (table("undone"), table("undone.count"));
        let survived =
            |entry: &String, after: &BTreeMap<String, String>, counts: &BTreeMap<String, String>| {
                if entry.starts_with("count:") || entry.starts_with("glob:") {
                    let (path, least) = directory(entry);
                    return counts
                        .get(path)
                        .and_then(|count| count.parse::<usize>().ok())
                        .is_some_and(|count| count >= least);
                }
                before.get(entry) == after.get(entry)
            };
        let happened = |entry: &String| {
            let (what, path) = entry.split_once(':').unwrap_or(("", entry));
            let now = after.get(path).map(String::as_str);
            match what {
                "gone" => now == Some("absent"),
                "changed" => now != before.get(path).map(String::as_str),
                other => panic!("{}: must_happen: expected gone or changed, found {other:?}", self.id),
            }
        };
        let ran = dir.join("status").exists();
        let lost = |after: &BTreeMap<String, String>, counts: &BTreeMap<String, String>| {
            self.survive.iter().filter(|entry| ran && !survived(entry, after, counts)).cloned().collect()
        };
        Outcome {
            text: verdict(&read("text.json")).ok_or_else(|| read("text.err")),
            lost: lost(&after, &counts),
            unrestored: lost(&undone, &undone_counts),
            missing: self.must_happen.iter().filter(|entry| ran && !happened(entry)).cloned().collect(),
            output: read("output") + &read("undo.output"),
        }
    }
}

/// `count:DIR:N` and `glob:DIR:N`.
fn directory(entry: &str) -> (&str, usize) {
    let parts: Vec<&str> = entry.splitn(3, ':').collect();
    match parts.as_slice() {
        [_, dir, least] => {
            (dir, least.parse().unwrap_or_else(|_| panic!("{entry}: expected a number at the end")))
        }
        _ => panic!("{entry}: expected count:DIR:N"),
    }
}

fn verdict(json: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    value.get("verdict")?.as_str().map(str::to_owned)
}
