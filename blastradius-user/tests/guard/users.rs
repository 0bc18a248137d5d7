//! Users whom no file has, but a service of the machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use crate::ground::{Ground, stderr, stdout};

/// A machine whose directory service knows grace.
const GETENT: &str = "#!/bin/sh
case $1:$2 in
passwd:grace | passwd:5000) echo 'grace:*:5000:5001:Grace:/net/grace:/bin/sh' ;;
initgroups:grace) echo 'grace  7 5001 8' ;;
*) exit 2 ;;
esac
";

/// A ground, and its directory of programs with that service's getent in it.
fn ground() -> Ground {
    let ground = Ground::new();
    let getent = ground.at("bin/getent");
    fs::create_dir(ground.at("bin")).unwrap();
    fs::write(&getent, GETENT).unwrap();
    fs::set_permissions(&getent, fs::Permissions::from_mode(0o755)).unwrap();
    ground
}

#[test]
fn the_agent_runs_as_a_user_of_a_service_with_the_groups_that_it_says() {
    let ground = ground();
    let path = format!("{}:/usr/bin:/bin", ground.at("bin").display());
    let as_grace = ["sh", "-c", "id -u; id -G | tr ' ' '\\n' | sort -n | xargs; echo $LOGNAME $HOME"];
    let output = ground.run(&["--user", "grace"], &as_grace).env("PATH", path).output().unwrap();
    if nix::unistd::Uid::effective().is_root() {
        assert_eq!(stdout(&output), "5000\n7 8 5001\ngrace /net/grace\n", "{}", stderr(&output));
    } else {
        assert_eq!(output.status.code(), Some(125));
        assert!(stderr(&output).contains("only root"), "{}", stderr(&output));
    }
}

#[test]
fn nothing_starts_for_a_user_whom_nobody_can_be_asked_for() {
    let ground = ground();
    let nowhere = ground.at("no-programs");
    let output = ground.run(&["--user", "grace"], &["/bin/true"]).env("PATH", &nowhere).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("asking getent for grace, whom /etc/passwd does not have"), "{said}");
    // One of the file needs nobody's word.
    let output = ground.run(&["--user", "root"], &["/bin/true"]).env("PATH", &nowhere).output().unwrap();
    let code = if nix::unistd::Uid::effective().is_root() { 0 } else { 125 };
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    assert!(!stderr(&output).contains("getent"), "{}", stderr(&output));
}

#[test]
fn the_home_of_a_user_of_a_service_is_known_and_without_the_service_it_may_be_anything() {
    let ground = ground();
    let check = |path: &str, text: &str| -> Output {
        let mut command = ground.command(env!("CARGO_BIN_EXE_blastradius"));
        command.args(["check", text]).env("PATH", ground.at(path)).output().unwrap()
    };
    let output = check("bin", "rm -rf ~grace/photos");
    assert!(!output.status.success() && stderr(&output).contains("/net/grace/photos"), "{}", stderr(&output));
    let output = check("no-programs", "rm -rf ~grace/photos");
    assert!(!output.status.success() && !stderr(&output).contains("/net/grace"), "{}", stderr(&output));
    for path in ["bin", "no-programs"] {
        assert!(check(path, "ls ~grace/photos").status.success());
    }
}
