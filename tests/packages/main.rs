//! Packages, installed where nothing else of ours is, do what they are for.
//!
//! `cargo xtask test --only package` makes them and says where they are: `BLASTRADIUS_PACKAGES` is their directory,
//! `BLASTRADIUS_DEBIAN` a fresh Debian with Python in a directory, from which copies are made.

/// How the tests of the real agents get them.
#[path = "../agents"]
#[allow(dead_code, reason = "they use more of it")]
mod agents {
    pub(crate) mod cache;
    pub(crate) mod table;
}
mod bare;
mod debian;
mod npm;
mod source;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXERCISE: &str = include_str!("exercise.sh");

/// A variable that names a path. A test of nothing must not pass.
fn named(variable: &str) -> PathBuf {
    let value = std::env::var_os(variable);
    value.unwrap_or_else(|| panic!("{variable} is not set: see the top of tests/packages/main.rs")).into()
}

/// The one package with this ending.
fn package(ending: &str) -> PathBuf {
    let directory = named("BLASTRADIUS_PACKAGES");
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    let [package] = found.as_slice() else {
        panic!("not one package *{ending} in {}: {found:?}", directory.display())
    };
    package.clone()
}

fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("packages-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}

/// Runs a command, and returns whether it succeeded and all that it says.
fn said(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// Runs a command that must succeed, and returns all that it says.
fn done(command: &mut Command) -> String {
    let (ok, said) = said(command);
    assert!(ok, "{command:?} failed:\n{said}");
    said
}

/// Has an installed program do its four jobs on this machine.
fn exercise(program: &Path) {
    let said = done(Command::new("sh").args(["-c", EXERCISE, "exercise"]).arg(program));
    assert!(said.contains("check, hook, run and doctor work"), "{said}");
}

#[test]
fn the_checksums_are_those_of_the_packages() {
    let directory = named("BLASTRADIUS_PACKAGES");
    let said =
        done(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&directory));
    for ending in [".deb: OK", ".whl: OK", ".tgz: OK", ".cdx.json: OK"] {
        assert!(said.contains(ending), "{said}");
    }
}

#[test]
fn the_bill_of_materials_names_every_crate_with_its_licence() {
    let text = fs::read_to_string(package(".cdx.json")).expect("readable");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&document["bomFormat"], &document["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = document["components"].as_array().expect("a list");
    for component in components {
        let licences = component["licenses"].as_array().expect("a list");
        assert_eq!(licences.len(), 1, "{component}");
    }
    for name in ["shuck-parser", "aya", "aya-ebpf", "libseccomp", "landlock"] {
        assert!(components.iter().any(|one| one["name"] == name), "{name} is missing");
    }
    assert!(
        !components.iter().any(|one| one["name"] == "tempfile"),
        "what only tests need is not in the binary"
    );
}
