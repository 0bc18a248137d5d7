//! The program alone, in a root that holds nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::{done, package, said, scratch};

/// The program, as npm would lay it out.
fn unpacked(place: &Path) {
    done(
        Command::new("tar").arg("--extract").arg("--file").arg(package(".tgz")).arg("--directory").arg(place),
    );
}

/// Runs a program that lies in `root` with `root` as its root.
fn alone(root: &Path, argv: &[&str]) -> (bool, String) {
    let mut command = Command::new("unshare");
    command
        .arg("--map-root-user")
        .arg("--root")
        .arg(root)
        .args(argv)
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    said(&mut command)
}

#[test]
fn the_program_runs_where_there_is_no_library_at_all() {
    let place = scratch();
    unpacked(place.path());
    let root = place.path().join("root");
    fs::create_dir_all(root.join("home/ada")).expect("made");
    fs::copy(place.path().join("package/bin/blastradius"), root.join("blastradius")).expect("copied");
    fs::copy("/bin/true", root.join("true")).expect("copied");
    fs::set_permissions(root.join("blastradius"), fs::Permissions::from_mode(0o755))
        .expect("made executable");

    let (runs, said) = alone(&root, &["/true"]);
    assert!(!runs && said.contains("No such file"), "this test would not notice: {said}");
    let (allowed, said) = alone(&root, &["/blastradius", "check", "ls -l"]);
    assert!(allowed, "{said}");
    let (allowed, said) = alone(&root, &["/blastradius", "check", "rm -rf /home"]);
    assert!(!allowed && said.contains("floor-path"), "{said}");
    // There is no user database either: nobody knows where that is.
    let (allowed, said) = alone(&root, &["/blastradius", "check", "rm -rf ~ada"]);
    assert!(!allowed, "{said}");
}
