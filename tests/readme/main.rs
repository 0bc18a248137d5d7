//! What the pages show is what happens.
//!
//! An example with output is run, and prints that. A command of the program's is held against its own help. A command of
//! another program stands in a table that says which test runs it, or that it is for another system.

mod accounted;
mod exits;
mod page;
mod picture;

use std::collections::BTreeMap;
use std::process::Command;

use accounted::{ACCOUNTED, By};
use page::{Page, root};

/// Pages whose examples change files and name what is made up as they run: what they show is done by tests of its own.
const STATEFUL: &[&str] = &["docs/undo.md"];

#[test]
fn each_example_prints_what_the_page_shows() {
    let mut pages = Page::all();
    pages.retain(|page| !STATEFUL.contains(&page.name.as_str()));
    let examples: Vec<_> =
        pages.iter().flat_map(|page| page.examples().into_iter().map(|one| (&page.name, one))).collect();
    assert!(!examples.is_empty(), "the pages have no example");
    let binary = blastradius_tests::binary();
    let directory = binary.parent().expect("a directory");
    for (page, (command, shown)) in examples {
        let path = format!("{}:/usr/bin:/bin", directory.display());
        let done = Command::new("/bin/sh")
            .args(["-c", &command])
            .env_clear()
            .envs([("PATH", path.as_str()), ("HOME", "/nonexistent")])
            .current_dir("/")
            .output()
            .expect("a shell");
        let printed = String::from_utf8_lossy(&[done.stderr, done.stdout].concat()).into_owned();
        assert_eq!(printed, shown, "{page}: {command}");
    }
}

/// What `blastradius WORD --help` prints, or `blastradius --help`.
struct Helps(BTreeMap<String, String>);

impl Helps {
    fn of(&mut self, subcommand: &str) -> &str {
        self.0.entry(subcommand.to_owned()).or_insert_with(|| {
            let mut command = Command::new(blastradius_tests::binary());
            if !subcommand.is_empty() {
                command.arg(subcommand);
            }
            let output = command.arg("--help").output().expect("the program");
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    }
}

/// The word in a help text, not as a part of another.
fn tells_of(help: &str, word: &str) -> bool {
    help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|found| found == word)
}

/// What follows our name, whoever calls us.
fn own(code: &str) -> Option<&str> {
    let code = code.strip_prefix("sudo ").unwrap_or(code);
    let code = code.strip_prefix("-E ").unwrap_or(code);
    // Where it lies in a clone, and when it is installed.
    code.strip_prefix("./target/release/").unwrap_or(code).strip_prefix("blastradius ")
}

#[test]
fn each_command_of_ours_that_a_page_shows_is_in_the_help() {
    let mut helps = Helps(BTreeMap::new());
    let mut seen = 0;
    for page in Page::all() {
        for code in page.code() {
            let Some(rest) = own(code) else {
                continue;
            };
            seen += 1;
            let ours = rest.split(" -- ").next().unwrap_or(rest);
            let mut words =
                ours.split([' ', '[', ']', '|', '=', '(', ')']).filter(|word| !word.is_empty()).peekable();
            let subcommand = words.next_if(|word| !word.starts_with('-')).unwrap_or_default();
            if !subcommand.is_empty() {
                assert!(tells_of(helps.of(""), subcommand), "{}: `{code}`: no such subcommand", page.name);
            }
            for flag in words.filter(|word| word.starts_with("--") && word.len() > 2) {
                let help = helps.of(subcommand);
                assert!(tells_of(help, flag), "{}: `{code}`: the help knows no {flag}\n{help}", page.name);
            }
        }
    }
    assert!(seen > 20, "only {seen} commands were found");
}

/// Programs of others that pages speak of.
const OTHERS: &[&str] = &[
    "apt", "cargo", "curl", "docker", "git", "kubectl", "make", "npm", "npx", "pip", "pipx", "podman",
    "sudo", "uvx",
];

#[test]
fn each_command_of_others_that_a_page_shows_is_accounted_for() {
    let mut seen = 0;
    for page in Page::all() {
        for code in page.code() {
            let mut words = code.split(' ');
            let first = words.next().unwrap_or_default();
            // A name alone speaks of the program; one behind `docs/` or in a rule's example is data for our own.
            if !OTHERS.contains(&first) || words.next().is_none() || page.name == "docs/rules.md" {
                continue;
            }
            let known = ACCOUNTED.iter().find(|(start, _)| code.starts_with(start));
            assert!(
                known.is_some(),
                "{}: `{code}`: which test runs this? See tests/readme/accounted.rs",
                page.name
            );
            seen += 1;
        }
    }
    assert!(seen > 5, "only {seen} commands were found");
}

#[test]
fn the_tests_that_account_for_commands_are_there() {
    for (start, by) in ACCOUNTED {
        if let By::Test(file, name) = by {
            let text =
                std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(text.contains(name), "`{start}` is accounted for by {name}, which is not in {file}");
        }
    }
}
