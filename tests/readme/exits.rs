//! The exit codes of the README, each by an act that ends with it.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

use crate::page::Page;

/// A work tree beside a home, as a person has them.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let place = tempfile::Builder::new()
            .prefix("exits-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("a directory");
        for directory in ["home/Documents", "project", "broken"] {
            fs::create_dir_all(place.path().join(directory)).expect("made");
        }
        fs::write(place.path().join("home/Documents/thesis"), "x").expect("written");
        fs::write(place.path().join("broken/.blastradius"), "alow ./build\n").expect("written");
        for tree in ["project", "broken"] {
            let init = Command::new("git").args(["init", "-q"]).arg(place.path().join(tree)).status();
            assert!(init.is_ok_and(|status| status.success()), "git");
        }
        Self(place)
    }

    fn ends(&self, directory: &str, arguments: &[&str]) -> Output {
        Command::new(blastradius_tests::binary())
            .args(arguments)
            .current_dir(self.0.path().join(directory))
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", self.0.path().join("home"))
            .env("XDG_STATE_HOME", self.0.path().join("state"))
            .output()
            .expect("the program")
    }
}

/// The code, where the act happens, and what it is.
const ACTS: &[(&str, &str, &[&str])] = &[
    ("0", "project", &["check", "ls"]),
    ("1", "project", &["check", "rm -rf /"]),
    ("2", "project", &["check", "rm -rf ../home/Documents"]),
    ("3", "project", &["run", "--fail-on-refusal", "--", "sh", "-c", "rm -r ../home/Documents || true"]),
    ("64", "project", &["check", "--nonsense", "ls"]),
    ("65", "broken", &["scope"]),
    ("125", "broken", &["run", "--", "true"]),
    ("126", "project", &["--", "rm", "-rf", "/"]),
    ("127", "project", &["--", "there-is-no-such-command"]),
    // Not in the table: the sentence below it.
    ("7", "project", &["run", "--", "sh", "-c", "exit 7"]),
    ("signal 15", "project", &["run", "--", "sh", "-c", "kill -TERM $$"]),
];

#[test]
fn each_exit_code_of_the_readme_is_what_the_program_ends_with() {
    let ground = Ground::new();
    for (code, directory, arguments) in ACTS {
        let Output { status, stderr, .. } = ground.ends(directory, arguments);
        let said = String::from_utf8_lossy(&stderr);
        let ended = match status.code() {
            Some(code) => code.to_string(),
            None => format!("signal {}", status.signal().unwrap_or_default()),
        };
        assert_eq!(ended, *code, "{arguments:?}: {said}");
    }
    assert!(ground.0.path().join("home/Documents/thesis").exists());
}

#[test]
fn readme_and_manual_tell_the_same_exit_codes_and_each_is_tried() {
    let page = Page::read("README.md");
    let table = page.table("it exits with");
    assert!(table.len() >= 9, "{table:?}");
    let manual = Ground::new().ends("project", &["man"]).stdout;
    let manual = String::from_utf8_lossy(&manual).replace("\\-", "-");
    for row in table {
        let [code, when] = row[..] else { panic!("two cells: {row:?}") };
        assert!(ACTS.iter().any(|(tried, ..)| *tried == code), "nothing tries {code}");
        let (_, told) =
            manual.split_once(&format!(".TP\n{code}\n")).unwrap_or_else(|| panic!("the manual lacks {code}"));
        let told = told.lines().next().unwrap_or_default().to_lowercase();
        let last = when.replace('`', "").to_lowercase();
        let last = last.rsplit(": ").next().unwrap_or_default();
        assert!(told.contains(last.trim_end_matches('.')), "{code}: {when}: {told}");
    }
}
