//! Work on a tree: a clone by git, a build and a clean.
//!
//! The build starts a program for each file that reads it and writes another. A compiler would do far more between its calls,
//! so that less of its time would be the guard's.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use super::{Table, places};

const DIRECTORIES: usize = 50;
const FILES: usize = 5_000;

const CLONE: &str = "git clone -q --template= --no-hardlinks -u 'git upload-pack' \"$SOURCE\" tree";
const BUILD: &str = "cd tree && mkdir build && \
    for file in src*/*; do busybox sed 's/number/word/' <$file >build/${file#*/}.o; done";
const CLEAN: &str = "cd tree && git clean -qfdx";

/// Prints the table.
pub(super) fn run() -> Result<(), String> {
    let (scratch, scope) = places();
    let source = scratch.join("source");
    plant(&source);
    println!("a tree of {FILES} files");
    let table = Table::measure(|| work(&source, &scope), |_| ())?;
    table.print(["clone", "build", "clean", "in all"]);
    println!("in all to be at most 1.01 unguarded");
    Ok(())
}

/// A repository, as it comes from elsewhere: in one pack.
fn plant(source: &Path) {
    for number in 0..FILES {
        let directory = source.join(format!("src{}", number % DIRECTORIES));
        std::fs::create_dir_all(&directory).expect("made");
        let text = format!("file number {number} holds this line\n").repeat(20);
        std::fs::write(directory.join(format!("file{number}")), text).expect("made");
    }
    let script = "git init -q --template= && git add . && \
        git -c user.name=b -c user.email=b@example.invalid commit -qm all && git repack -adq";
    shell(script, source, source);
}

/// Nanoseconds of each step, and of all together.
fn work(source: &Path, scope: &Path) -> [f64; 4] {
    let [clone, build, clean] = [CLONE, BUILD, CLEAN].map(|script| {
        let begun = Instant::now();
        shell(script, scope, source);
        begun.elapsed().as_nanos() as f64
    });
    let tree = scope.join("tree");
    assert!(
        !tree.join("build").exists() && tree.join("src0").exists(),
        "the build is gone, the rest is there"
    );
    std::fs::remove_dir_all(tree).expect("removable");
    [clone, build, clean, clone + build + clean]
}

fn shell(script: &str, directory: &Path, source: &Path) {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(directory).env("SOURCE", source).stdin(Stdio::null());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let status = command.status().expect("there is a shell");
    assert!(status.success(), "{script}: {status}");
}
