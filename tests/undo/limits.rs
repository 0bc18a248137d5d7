//! Where something cannot be kept, the session goes on and says so.

use std::os::unix::fs::MetadataExt as _;

use crate::ground::Ground;

/// Bytes that do not shrink.
fn noise(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..length).map(|_| random.u8(..)).collect()
}

fn is_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        println!("not run here: needs root to mount in a private namespace");
    }
    root
}

/// Runs a session whose store lies on a tmpfs that was mounted so.
fn session_on_tmpfs(ground: &Ground, options: &str, text: &str) -> String {
    std::fs::create_dir_all(ground.store()).expect("made");
    let script = "mount -t tmpfs -o \"$1\" tmpfs \"$2\" && shift 2 && exec \"$@\"";
    let mut command = ground.command("unshare");
    command
        .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh", options])
        .arg(ground.store());
    command.arg(blastradius_tests::binary());
    command.args(["run", "--require", "landlock", "--report", "--", "bash", "-c", text]);
    let output = command.env("BLASTRADIUS_UNDO", "free=0").output().expect("unshare runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn on_a_full_disk_the_session_goes_on_and_names_what_is_not_covered() {
    if !is_root() {
        return;
    }
    let ground = Ground::new();
    ground.sh("echo small > small");
    std::fs::write(ground.tree().join("big"), noise(3 << 20)).expect("written");
    let text = session_on_tmpfs(&ground, "size=1m", "rm small big");
    assert!(text.contains("undo does not cover") && text.contains("big"), "{text}");
    assert!(!ground.tree().join("small").exists(), "the session went on");
}

#[test]
fn with_a_store_that_cannot_be_written_the_session_goes_on_and_says_that_nothing_is_kept() {
    if !is_root() {
        return;
    }
    let ground = Ground::new();
    ground.sh("echo small > small");
    let text = session_on_tmpfs(&ground, "ro,size=1m", "rm small");
    assert!(text.contains("nothing is kept"), "{text}");
    assert!(!ground.tree().join("small").exists());
}

#[test]
fn a_store_at_its_limit_keeps_small_files_first_and_names_the_rest() {
    let ground = Ground::new();
    for number in 0..40 {
        std::fs::write(ground.tree().join(format!("f{number}")), noise(10_000)).expect("written");
    }
    std::fs::write(ground.tree().join("large"), noise(600_000)).expect("written");
    let said = ground.session_with("store=500K", "rm *");
    assert!(said.text.contains("undo does not cover") && said.text.contains("large"), "{}", said.text);
    assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
    assert!(ground.tree().join("f0").exists() && ground.tree().join("f39").exists());
    assert!(!ground.tree().join("large").exists());
    // Later sessions push out earlier ones, and the store stays within its limit.
    for round in 0..4 {
        ground.sh("rm -f *");
        std::fs::write(ground.tree().join(format!("round{round}")), noise(200_000 + round)).expect("written");
        ground.session_with("store=500K", "true");
    }
    let size: u64 = walk(&ground.store());
    assert!(size <= 700_000, "{size}");
}

fn walk(dir: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(dir).expect("readable").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            let meta = entry.metadata().expect("there");
            if meta.is_dir() { walk(&entry.path()) } else { meta.len() }
        })
        .sum()
}

#[test]
fn a_file_over_the_limit_is_named_at_the_start_and_in_the_report() {
    let ground = Ground::new();
    std::fs::write(ground.tree().join("over"), noise(200_000)).expect("written");
    std::fs::write(ground.tree().join("under"), noise(20_000)).expect("written");
    let said = ground.session_with("file=100K", "rm over under");
    let named = said.text.matches("over: ").count();
    assert!(named >= 2 && said.text.contains("are more than 100.0 KiB"), "{}", said.text);
    assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
    assert!(ground.tree().join("under").exists() && !ground.tree().join("over").exists());
}

#[test]
fn a_sparse_file_of_100_gb_is_kept_by_what_it_holds() {
    let ground = Ground::new();
    ground.sh("truncate -s 100G disk; printf data | dd of=disk bs=1 seek=50G conv=notrunc status=none");
    let said = ground.session("rm disk");
    assert_eq!(said.code, Some(0), "{}", said.text);
    assert!(!ground.tree().join("disk").exists());
    assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
    let meta = std::fs::metadata(ground.tree().join("disk")).expect("it is back");
    assert_eq!(meta.len(), 100 << 30);
    assert!(meta.blocks() * 512 < 16 << 20, "it is sparse again");
    assert_eq!(ground.sh("dd if=disk bs=1 skip=50G count=4 status=none").text, "data");
}

#[test]
fn a_file_that_changes_while_it_is_read_and_one_that_cannot_be_read_are_named() {
    let ground = Ground::new();
    ground.sh("echo fine > fine; mkfifo pipe; ln -s nowhere dangling");
    // Only its times change, but without a pause: no reading can be trusted.
    std::fs::write(ground.tree().join("restless"), noise(64 << 20)).expect("written");
    let stop = ground.tree().join("../stop");
    let toucher = ground
        .command("python3")
        .args(["-c", "import os,sys\nwhile not os.path.exists(sys.argv[1]): os.utime('restless')"])
        .arg(&stop)
        .spawn();
    let mut toucher = toucher.expect("python3 runs");
    let changed = || std::fs::metadata(ground.tree().join("restless")).and_then(|meta| meta.modified());
    let before = changed().expect("it is there");
    while changed().expect("it is there") == before {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let said = ground.session("rm fine");
    std::fs::write(&stop, "").expect("written");
    toucher.wait().expect("it ends");
    assert_eq!(said.code, Some(0), "{}", said.text);
    assert!(said.text.contains("restless: it changed each time it was read"), "{}", said.text);
    assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
    assert!(ground.tree().join("fine").exists());
}

#[test]
fn what_the_agent_may_not_read_is_named_and_the_store_is_the_agents() {
    if !is_root() {
        return;
    }
    let ground = Ground::new();
    ground.sh("echo fine > fine; echo closed > closed; chmod 000 closed; chmod 755 .. . ; chown -R 54321:54321 . ../home; chown 0 closed");
    let mut command = ground.command("setpriv");
    command.args(["--reuid", "54321", "--regid", "54321", "--clear-groups"]).arg(blastradius_tests::binary());
    command.args(["run", "--require", "landlock", "--report", "--", "bash", "-c", "rm -f fine closed"]);
    let output = command.output().expect("setpriv runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("closed: it cannot be read"), "{text}");
    let meta = std::fs::metadata(ground.store()).expect("a store");
    assert_eq!((meta.uid(), meta.mode() & 0o777), (54321, 0o700));
}

#[test]
fn where_files_can_share_blocks_a_file_over_the_limit_is_cloned() {
    if !is_root() {
        return;
    }
    for (system, make) in [("xfs", "mkfs.xfs -q"), ("btrfs", "mkfs.btrfs -q")] {
        let ground = Ground::new();
        let script = format!(
            "cd ..; truncate -s 400M image; {make} image >/dev/null 2>&1 && mkdir at && mount -o loop image at || exit 77
             mkdir at/w at/home; export HOME=$PWD/at/home; cd at/w; git init -q .
             head -c 20000000 /dev/urandom > large; sum=$(sha256sum < large)
             \"$0\" run --require landlock -- bash -c 'rm large; ln -s nowhere large' || exit 1
             test \"$(ls -s --block-size=1 $HOME/.local/state/blastradius/undo/packs | head -1 | tr -dc 0-9)\" -lt 1000000 || exit 2
             test -n \"$(ls $HOME/.local/state/blastradius/undo/clones)\" || exit 3
             \"$0\" undo --last --yes && test \"$(sha256sum < large)\" = \"$sum\" || exit 4
             sync; test $(df --output=used -B1 . | tail -1) -lt 55000000 || exit 5"
        );
        let mut command = ground.command("unshare");
        command.args(["--mount", "--propagation", "private", "bash", "-c", &script]);
        command.arg(blastradius_tests::binary()).env("BLASTRADIUS_UNDO", "free=0,file=1M");
        let output = command.output().expect("unshare runs");
        let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned();
        match output.status.code() {
            Some(77) => println!("not run here: {system} cannot be made or mounted"),
            code => assert_eq!(code, Some(0), "{system}: {text}"),
        }
    }
}

#[test]
fn when_time_is_short_some_is_kept_and_the_number_of_the_rest_is_named() {
    let ground = Ground::new();
    ground.sh("for d in $(seq 40); do mkdir d$d; (cd d$d; seq 500 | xargs touch; echo x > x); done");
    let said = ground.session_with("start=0s", "true");
    assert!(said.text.contains("no time was left"), "{}", said.text);
    let said = ground.session_with("count=300", "true");
    assert!(
        said.text.contains("undo does not cover everything: ") && said.text.contains("more objects"),
        "{}",
        said.text
    );
}

/// How many files make a tree large; a long run asks for more.
fn many() -> usize {
    let asked = std::env::var("BLASTRADIUS_TEST_FILES").ok();
    asked.map_or(20_000, |count| count.parse().expect("BLASTRADIUS_TEST_FILES is a number"))
}

#[test]
fn a_tree_of_many_files_is_guarded_and_what_is_lost_of_it_comes_back() {
    const IN_A_DIRECTORY: usize = 1_000;
    let ground = Ground::new();
    for directory in 0..many().div_ceil(IN_A_DIRECTORY) {
        let directory = ground.tree().join(format!("d{directory}"));
        std::fs::create_dir(&directory).expect("made");
        for file in 0..IN_A_DIRECTORY {
            std::fs::write(directory.join(file.to_string()), "the same\n").expect("written");
        }
    }
    ground.sh("git init -q .; git config user.name t; git config user.email t@example.invalid
               git add .; git commit -qm all; echo mine > d0/mine; echo more >> d0/1");
    // What the start does not get to, the removal itself sees.
    let said = ground.session("rm d0/mine d0/1; rm -r d1");
    assert_eq!(said.code, Some(0), "{}", said.text);
    assert!(!ground.tree().join("d0/mine").exists() && !ground.tree().join("d1").exists());
    let given = ground.undo(&["--last", "--yes"]);
    assert_eq!(given.code, Some(0), "{}", given.text);
    assert_eq!(
        ground.sh("cat d0/mine d0/1; ls d1 | wc -l; git status --short").text,
        "mine\nthe same\nmore\n1000\n M d0/1\n?? d0/mine\n",
        "{}",
        given.text
    );
}
