//! Killed at any moment, the store opens and the tree holds no half of anything.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::ground::{Ground, lost};

/// So many moments are tried of each.
const MOMENTS: u32 = 200;

fn laid_out() -> Ground {
    let ground = Ground::new();
    let mut random = fastrand::Rng::with_seed(3);
    std::fs::create_dir(ground.tree().join("data")).expect("made");
    for number in 0..60 {
        let content: Vec<u8> = (0..random.usize(100..60_000)).map(|_| random.u8(b'a'..b'f')).collect();
        std::fs::write(ground.tree().join(format!("data/{number}")), content).expect("written");
    }
    ground
}

/// How long the command takes when nobody stops it.
fn undisturbed(ground: &Ground, args: &[&str]) -> Duration {
    let started = Instant::now();
    ground.blastradius(args).output().expect("it runs");
    started.elapsed()
}

/// Starts the command and kills it after a part of its time.
fn killed(ground: &Ground, args: &[&str], after: Duration) {
    let mut command = ground.blastradius(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    std::thread::sleep(after);
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().expect("it ends");
}

fn litter(ground: &Ground) -> usize {
    ground.picture().keys().filter(|path| path.to_string_lossy().contains(".blastradius-")).count()
}

#[test]
fn killed_while_it_keeps_the_store_opens_and_gives_back_whole_files_only() {
    let ground = laid_out();
    let mut random = fastrand::Rng::with_seed(11);
    ground.sh("cp -a data ../laid-out");
    let keeping = ["--", "rm", "-r", "data"];
    let whole = undisturbed(&ground, &keeping);
    for round in 0..MOMENTS {
        ground.sh("rm -rf data; cp -a ../laid-out data; echo $RANDOM$RANDOM >> data/0; cp data/0 data/1");
        killed(&ground, &keeping, whole.mul_f64(random.f64()));
        let list = ground.undo(&[]);
        assert_eq!(list.code, Some(0), "round {round}: {}", list.text);
        assert!(
            !list.text.contains("error") && !list.text.contains("expected"),
            "round {round}: {}",
            list.text
        );
    }
    // Every set that has a name can be given back whole.
    let ids: Vec<String> = ground
        .undo(&[])
        .text
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    assert!(ids.len() > 10, "some were killed after they had kept: {}", ids.len());
    for id in ids.iter().step_by(5) {
        let to = format!("../out-{id}");
        let said = ground.undo(&[id, "--to", &to]);
        assert_eq!(said.code, Some(0), "{id}: {}", said.text);
    }
    let cleaned = ground.undo(&["--gc"]);
    assert_eq!(cleaned.code, Some(0), "{}", cleaned.text);
    let drafts = std::fs::read_dir(ground.store().join("drafts")).expect("there").count();
    assert_eq!(drafts, 0, "what was left half written is cleaned up");
}

#[test]
fn killed_while_it_restores_the_tree_holds_old_or_new_and_never_half() {
    let ground = laid_out();
    let before = ground.picture();
    let said = ground.session("rm -r data");
    assert!(!ground.tree().join("data").exists(), "{}", said.text);
    let restore = ["undo", "--last", "--yes"];
    let whole = undisturbed(&ground, &restore);
    assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new());
    let mut random = fastrand::Rng::with_seed(12);
    for round in 0..MOMENTS {
        ground.sh("rm -rf data");
        killed(&ground, &restore, whole.mul_f64(random.f64()));
        for (path, what) in ground.picture() {
            let is_directory = what.starts_with("directory");
            assert!(
                is_directory || before.get(&path) == Some(&what),
                "round {round}: {} is {what}, was {:?}",
                path.display(),
                before.get(&path)
            );
        }
        assert_eq!(litter(&ground), 0, "round {round}");
    }
    ground.undo(&restore[1..]);
    assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new());
}
