//! The source archive: unpacked, built and installed where there is no network and no crate but those in it.

use std::fs;
use std::process::Command;

use crate::{done, exercise, package, scratch};

/// It builds the whole program, the kernel side too: that takes minutes.
#[test]
#[ignore = "a step of its own: cargo xtask test --only 'source archive'"]
fn the_source_archive_installs_offline() {
    let place = scratch();
    done(
        Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(package("-vendored.tar.gz"))
            .current_dir(place.path()),
    );
    let entries = fs::read_dir(place.path()).expect("readable").map(|entry| entry.expect("readable").path());
    let sources = entries.collect::<Vec<_>>().pop().expect("one directory");
    let home = place.path().join("cargo-home");
    fs::create_dir(&home).expect("made");
    let mut build = Command::new("unshare");
    build.args([
        "--net",
        "cargo",
        "install",
        "--debug",
        "--offline",
        "--locked",
        "--path",
        "blastradius-user",
        "--root",
    ]);
    build.arg(place.path().join("installed"));
    build.current_dir(&sources).env("CARGO_HOME", &home);
    // What cargo and its tests set is for this workspace.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_") && name != "CARGO_HOME" {
            build.env_remove(&name);
        }
    }
    done(&mut build);
    let registry = home.join("registry");
    assert!(!registry.join("cache").exists(), "something was fetched");
    exercise(&place.path().join("installed/bin/blastradius"));
}
