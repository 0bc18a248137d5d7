//! The wheel, in a fresh environment.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::{done, exercise, package, scratch};

/// Reads a wheel and holds each file against RECORD.
const RECORDED: &str = r#"
import base64, csv, hashlib, io, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
names = archive.namelist()
record = next(name for name in names if name.endswith(".dist-info/RECORD"))
rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(record).decode()))}
assert sorted(rows) == sorted(names), (rows.keys(), names)
for name, (digest, size) in rows.items():
    content = archive.read(name)
    if name == record:
        assert (digest, size) == ("", "")
        continue
    made = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert digest == "sha256=" + made and int(size) == len(content), name
print("recorded", len(rows))
"#;

#[test]
fn every_file_of_the_wheel_is_recorded() {
    let said = done(Command::new("/usr/bin/python3").args(["-c", RECORDED]).arg(package(".whl")));
    assert!(said.contains("recorded"), "{said}");
}

#[test]
fn the_wheel_says_that_it_needs_no_certain_c_library() {
    let name = package(".whl").file_name().expect("a name").to_string_lossy().into_owned();
    assert!(name.ends_with("-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl"), "{name}");
}

#[test]
fn the_wheel_works_in_a_fresh_environment() {
    let place = scratch();
    let environment = place.path().join("environment");
    done(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(&environment));
    let bin = environment.join("bin");
    done(Command::new(bin.join("pip")).args(["install", "--quiet", "--no-index"]).arg(package(".whl")));
    done(Command::new(bin.join("pip")).arg("check"));
    exercise(&bin.join("blastradius"));
    exercise(&bin.join("blastradius-guard"));

    // Tool managers link to the commands from a directory of their own.
    let link = place.path().join("linked");
    symlink(bin.join("blastradius-guard"), &link).expect("a link");
    let said = done(Command::new(&link).args(["--", "echo", "judged, then run"]));
    assert_eq!(said, "judged, then run\n");

    done(Command::new(bin.join("pip")).args(["uninstall", "--quiet", "--yes", "blastradius-guard"]));
    assert!(!bin.join("blastradius").exists() && !bin.join("blastradius-guard").exists());
}
