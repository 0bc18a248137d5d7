//! The Debian package, on a Debian that has nothing but what every Debian has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{EXERCISE, done, named, package, scratch};

const ENTER: &str = include_str!("enter.sh");

/// A copy of the fresh Debian.
fn machine(place: &Path) -> PathBuf {
    let root = place.join("root");
    done(Command::new("cp").args(["-a", "--reflink=auto"]).arg(named("BLASTRADIUS_DEBIAN")).arg(&root));
    root
}

fn copy(file: &Path, root: &Path) -> String {
    let name = file.file_name().expect("a name").to_string_lossy().into_owned();
    fs::copy(file, root.join("root").join(&name))
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    name
}

/// Runs commands on it, cut off from every network.
fn on(root: &Path, commands: &str) -> String {
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--ipc",
        "--uts",
        "--net",
        "--propagation",
        "private",
    ]);
    done(command.args(["sh", "-c", ENTER, "enter"]).arg(root).arg(commands))
}

#[test]
fn the_debian_package_works_on_a_fresh_debian_and_leaves_nothing() {
    let place = scratch();
    let root = machine(place.path());
    let package = copy(&package(".deb"), &root);
    fs::write(root.join("root/exercise.sh"), EXERCISE).expect("written");
    let said = on(
        &root,
        &format!(
            "dpkg --install /root/{package}
             sh /root/exercise.sh /usr/bin/blastradius
             sh /root/exercise.sh blastradius
             gzip -dc /usr/share/man/man1/blastradius.1.gz | grep -q '^.TH blastradius'
             bash -n /usr/share/bash-completion/completions/blastradius
             grep -q '#compdef blastradius' /usr/share/zsh/vendor-completions/_blastradius
             grep -q 'complete -c blastradius' /usr/share/fish/vendor_completions.d/blastradius.fish
             grep -q LGPL /usr/share/doc/blastradius/copyright
             dpkg --verify blastradius
             test -z \"$(find $(dpkg --listfiles blastradius) -maxdepth 0 ! -user root)\"
             dpkg --purge blastradius
             test ! -e /usr/bin/blastradius
             echo nothing left"
        ),
    );
    assert_eq!(said.matches("check, hook, run and doctor work").count(), 2, "{said}");
    assert!(said.ends_with("nothing left\n"), "{said}");
}

#[test]
fn the_dev_container_feature_installs_the_wheel() {
    let place = scratch();
    let root = machine(place.path());
    copy(&package(".whl"), &root);
    let feature =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/devcontainer/src/blastradius/install.sh");
    copy(&feature, &root);
    fs::write(root.join("root/exercise.sh"), EXERCISE).expect("written");
    let said = on(
        &root,
        "export VERSION=latest AGENT=claude-code PIP_OPTIONS='--no-index --find-links /root'
         sh /root/install.sh
         sh /root/exercise.sh blastradius
         /usr/local/share/blastradius/post-create.sh
         grep -q 'hook --agent claude-code' /root/.claude/settings.json
         echo installed",
    );
    assert!(said.contains("check, hook, run and doctor work") && said.ends_with("installed\n"), "{said}");
}
