//! Every road to a loss, outside scope and inside.

use nix::errno::Errno;

use crate::ground::{Ground, roads, stderr};

/// Road, and whether its target is a directory.
const ROADS: &[(&str, bool)] = &[
    ("unlink", false),
    ("unlinkat", false),
    ("rmdir", true),
    ("unlinkat-dir", true),
    ("rename", false),
    ("rename-over", false),
    ("exchange", false),
    ("truncate", false),
    ("ftruncate", false),
    ("open-truncate", false),
    ("thread", false),
    ("grandchild", false),
    ("daemon", false),
    ("ring", false),
    ("ring-worker", false),
];

/// io_uring is not there, or not allowed.
const NO_RING: i32 = 254;

/// The exec layer refused.
const BEFORE_IT_STARTED: i32 = 126;

/// Prepares target and other in `dir` and takes the road under guard.
fn take(ground: &Ground, road: &str, is_dir: bool, dir: &str) -> i32 {
    let (target, other) = (format!("{dir}/target"), format!("{dir}/other"));
    match is_dir {
        true => std::fs::create_dir(ground.at(&target)).unwrap(),
        false => ground.write(&target),
    }
    if road != "rename" {
        ground.write(&other);
    }
    let [roads, target, other] = [roads().to_path_buf(), ground.at(&target), ground.at(&other)];
    let argv = [roads.to_str().unwrap(), road, target.to_str().unwrap(), other.to_str().unwrap()];
    let output = ground.run(&[], &argv).output().unwrap();
    let code = output.status.code().unwrap();
    // 126 with a text: the exec layer knew the words and refused before the program started.
    assert!(
        code < 125 || code == NO_RING || stderr(&output).contains("BLOCKED"),
        "{road}: {}",
        stderr(&output)
    );
    code
}

#[test]
fn no_road_leads_to_a_loss_outside_scope() {
    for &(road, is_dir) in ROADS {
        let ground = Ground::new();
        let errno = take(&ground, road, is_dir, "home/photos");
        if errno == NO_RING {
            continue;
        }
        let refused = [Errno::EACCES as i32, Errno::EPERM as i32, Errno::EXDEV as i32, BEFORE_IT_STARTED];
        assert!(refused.contains(&errno), "{road}: {errno}");
        assert!(is_dir || ground.keeps("home/photos/target"), "{road}: the target is lost");
        assert!(!is_dir || ground.at("home/photos/target").is_dir(), "{road}: the directory is lost");
        assert!(road == "rename" || ground.keeps("home/photos/other"), "{road}: the neighbour is lost");
        ground.assert_whole();
    }
}

#[test]
fn every_road_is_open_inside_scope() {
    for dir in ["home/project/src", "tmp"] {
        for &(road, is_dir) in ROADS {
            let ground = Ground::new();
            let errno = take(&ground, road, is_dir, dir);
            assert!(errno == 0 || errno == NO_RING, "{road} in {dir}: {errno}");
        }
    }
}

#[test]
fn a_rename_out_of_scope_or_into_it_cannot_carry_anything_off() {
    let ground = Ground::new();
    let output =
        ground.shell("mv ../photos/a.jpg . ; mv README ../photos/a.jpg; ln ../photos/a.jpg stolen; true");
    assert!(output.status.success());
    ground.assert_whole();
    assert!(!ground.at("home/project/stolen").exists());
}
