//! Losses of files, and what comes back.

use crate::ground::{Ground, lost, odd_name};

/// Removes or overwrites everything without a program that anybody could predict.
const WIPE: &str = r#"python3 -c '
import os, shutil
for name in os.listdir(b"."):
    if name in (b".git", b"build"): continue
    shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.remove(name)
'"#;

/// A tree with everything that an object can have.
fn rich(ground: &Ground) {
    ground.sh(
        "mkdir -p notes empty; chmod 700 empty; chmod 640 notes/todo 2>/dev/null || echo todo > notes/todo
         ln -s notes/todo link; ln notes/todo hard; mkfifo pipe; touch -d '2001-02-03 04:05:06.789' notes/todo
         printf '#!/bin/sh\\n' > tool; chmod 4755 tool; : > nothing; setfattr -n user.note -v kept tool 2>/dev/null || true",
    );
    std::fs::write(ground.tree().join(odd_name()), "odd").expect("written");
    let large: Vec<u8> = (0..9_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(ground.tree().join("large"), large).expect("written");
}

#[test]
fn everything_that_an_object_has_comes_back_with_git_and_without() {
    for ground in [Ground::with_git(), Ground::new()] {
        rich(&ground);
        let mut before = ground.picture();
        // What a tool rebuilds is nobody's loss.
        before.retain(|path, _| !path.starts_with("build"));
        let said = ground.session(WIPE);
        assert_eq!(said.code, Some(0), "{}", said.text);
        assert!(lost(&before, &ground.picture()).len() > 8, "the loss must be real");
        let said = ground.undo(&["--last", "--yes"]);
        assert_eq!(said.code, Some(0), "{}", said.text);
        assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new(), "{}", said.text);
    }
}

#[test]
fn what_only_bears_the_name_of_something_built_comes_back() {
    for ground in [Ground::with_git(), Ground::new()] {
        ground.sh("mkdir -p papers/build papers/dist papers/tmp app/build && touch app/package.json
            echo words >papers/build/thesis.txt; echo rows >papers/dist/data.db; echo idea >papers/tmp/note; echo 0.93 >papers/run.log
            echo made >app/build/bundle.js");
        let before = ground.picture();
        let said = ground.session("rm -rf papers/build papers/dist papers/tmp papers/run.log app/build");
        assert_eq!(said.code, Some(0), "{}", said.text);
        assert!(lost(&before, &ground.picture()).len() > 4, "the loss must be real");
        assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
        let gone = lost(&before, &ground.picture());
        assert!(!gone.is_empty() && gone.iter().all(|path| path.starts_with("app/build")), "{gone:?}");
    }
}

#[test]
fn a_file_that_was_overwritten_comes_back_and_the_undo_can_be_undone() {
    let ground = Ground::with_git();
    let before = ground.picture();
    ground.session("python3 -c 'open(\"notes/todo\",\"w\").write(\"garbage\")'");
    let damaged = ground.picture();
    assert_eq!(lost(&before, &damaged).len(), 1);
    assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
    assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new());
    assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
    assert_eq!(lost(&damaged, &ground.picture()), Vec::<String>::new());
}

#[test]
fn what_was_written_after_the_start_is_kept_before_the_command_that_destroys_it() {
    let ground = Ground::with_git();
    let said = ground.session("echo hours of work >> src/dirty.c; echo new > new.md; git add new.md; git reset -q --hard; git clean -fdq");
    assert!(
        !ground.tree().join("notes/todo").exists() && !ground.tree().join("new.md").exists(),
        "{}",
        said.text
    );
    let line =
        said.text.lines().find(|line| line.contains("before `git reset -q --hard`")).expect("a line for it");
    assert!(line.contains("kept ") && line.contains(" files ("), "{line}");
    let id = line.rsplit(' ').next().expect("an id");
    let given = ground.undo(&[id, "--yes"]);
    assert_eq!(given.code, Some(0), "{}", given.text);
    let text = std::fs::read_to_string(ground.tree().join("src/dirty.c")).expect("there");
    assert!(text.ends_with("uncommitted\nhours of work\n"), "{text}");
    assert_eq!(std::fs::read_to_string(ground.tree().join("new.md")).expect("there"), "new\n");
}

#[test]
fn paths_dry_run_diff_gone_and_to_do_what_they_say() {
    let ground = Ground::with_git();
    ground.session("rm notes/todo; python3 -c 'open(\".env\",\"w\").write(\"SECRET=2\\n\")'");
    let after = ground.picture();
    let dry = ground.undo(&["--last", "--dry-run"]);
    assert!(dry.text.contains("notes/todo") && dry.text.contains(".env"), "{}", dry.text);
    let diff = ground.undo(&["--last", "--diff"]);
    assert!(diff.text.contains("-SECRET=2\n+SECRET=1") && diff.text.contains("+todo"), "{}", diff.text);
    assert_ne!(ground.undo(&["--last"]).code, Some(0), "without --yes and a terminal nothing is done");
    assert_eq!(ground.picture(), after, "so far nothing was written");
    assert_eq!(ground.undo(&["--last", "--to", "elsewhere"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(ground.tree().join("elsewhere/.env")).expect("there"), "SECRET=1\n");
    assert_eq!(lost(&after, &ground.picture()), Vec::<String>::new(), "what is in place stays");
    ground.undo(&["--last", "--gone", "--yes"]);
    assert!(ground.tree().join("notes/todo").exists());
    assert_eq!(std::fs::read_to_string(ground.tree().join(".env")).expect("there"), "SECRET=2\n");
    let id = first_session(&ground);
    let said = ground.undo(&[&id, ".env", "--yes"]);
    assert_eq!(
        std::fs::read_to_string(ground.tree().join(".env")).expect("there"),
        "SECRET=1\n",
        "{}",
        said.text
    );
}

fn first_session(ground: &Ground) -> String {
    let list = ground.undo(&[]).text;
    let mut sessions = list.lines().filter(|line| !line.starts_with(' '));
    sessions.next_back().and_then(|line| line.split_whitespace().next()).expect("a session").to_owned()
}

#[test]
fn a_link_that_stands_where_a_directory_was_is_not_followed() {
    let ground = Ground::new();
    ground.sh("mkdir notes; echo mine > notes/todo; mkdir ../elsewhere");
    ground.session("rm -rf notes; ln -s ../elsewhere notes");
    let said = ground.undo(&["--last", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    assert_eq!(std::fs::read_to_string(ground.tree().join("notes/todo")).expect("there"), "mine\n");
    assert!(!ground.tree().join("../elsewhere/todo").exists(), "nothing is written through the link");
}

#[test]
fn what_is_to_be_wiped_is_not_kept_and_what_is_forgotten_is_gone_from_the_store() {
    let ground = Ground::new();
    ground.sh("echo wiped-content-0123456789 > secret; echo other-content-0123456789 > other");
    let said = ground.session("shred -u secret; rm other");
    let dry = ground.undo(&["--last", "--dry-run"]);
    assert!(!dry.text.contains("secret") && dry.text.contains("other"), "{}\n{}", said.text, dry.text);
    let in_store = |text: &str| {
        let found =
            ground.command("grep").args(["-rqa", text]).arg(ground.store()).status().expect("grep runs");
        found.success()
    };
    assert!(!in_store("wiped-content"));
    assert!(in_store("other-content"));
    assert_eq!(ground.undo(&["--forget", "other"]).code, Some(0));
    assert!(!in_store("other-content"));
}

#[test]
fn deleting_what_needs_no_keeping_keeps_nothing() {
    let ground = Ground::with_git();
    ground.session("true");
    let sets = || ground.undo(&[]).text.lines().filter(|line| line.contains("before `")).count();
    ground.session("rm -rf build; rm src/clean.c; touch scratch; rm scratch; mkdir -p d/e; rm -r d");
    assert_eq!(sets(), 0, "{}", ground.undo(&[]).text);
    ground.session("rm notes/todo");
    assert!(sets() > 0);
}

#[test]
fn the_wrapper_keeps_too_and_says_so() {
    let ground = Ground::with_git();
    let before = ground.picture();
    let output = ground.blastradius(&["--", "git", "clean", "-fdq"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("kept ") && text.contains("blastradius undo "),
        "{text}"
    );
    assert!(!ground.tree().join("notes/todo").exists());
    assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
    assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new());
    let off =
        ground.blastradius(&["--", "git", "reset", "--hard", "-q"]).env("BLASTRADIUS_UNDO", "off").output();
    assert_eq!(off.expect("it runs").status.code(), Some(126), "what is not kept is asked about as before");
}

#[test]
fn what_went_elsewhere_and_is_linked_from_its_old_place_comes_back_there() {
    let ground = Ground::new();
    ground.sh("mkdir notes; echo mine > notes/todo");
    let elsewhere = tempfile::tempdir_in("/var/tmp").expect("a temporary directory");
    let there = elsewhere.path().join("n");
    ground.session(&format!("mv notes {0} && ln -s {0} notes", there.display()));
    let said = ground.undo(&["--last", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    assert!(ground.tree().join("notes").symlink_metadata().expect("there").is_dir());
    assert_eq!(std::fs::read_to_string(ground.tree().join("notes/todo")).expect("there"), "mine\n");
    assert_eq!(std::fs::read_to_string(there.join("todo")).expect("there"), "mine\n", "{}", said.text);
}

#[test]
fn nothing_is_made_or_changed_behind_a_link_that_stands_where_the_tree_was() {
    use std::os::unix::fs::PermissionsExt as _;
    let ground = Ground::new();
    ground
        .sh("mkdir sub; chmod 751 sub; echo mine > sub/f; mkdir -m 700 ../other ../other/sub; mkdir ../bare");
    ground.session("rm -rf sub");
    for (elsewhere, what) in [("other", "a directory of the same name"), ("bare", "nothing")] {
        ground.sh(&format!("mv ../w ../was; ln -s {elsewhere} ../w"));
        let said = ground.undo(&["--last", "--yes"]);
        assert_eq!(said.code, Some(1), "{what}: {}", said.text);
        assert!(said.text.contains("/w is a link now"), "{what}: {}", said.text);
        ground.sh("rm ../w; mv ../was ../w");
    }
    let beside = |name: &str| ground.tree().join("..").join(name);
    assert_eq!(beside("other/sub").metadata().expect("there").permissions().mode() & 0o7777, 0o700);
    for empty in ["other/sub", "bare"] {
        assert_eq!(std::fs::read_dir(beside(empty)).expect("there").count(), 0, "{empty}");
    }
    let said = ground.undo(&["--last", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    assert!(ground.tree().join("sub/f").exists());
}

#[test]
fn a_difference_to_what_would_wait_for_a_writer_is_shown_and_it_is_given_back() {
    let ground = Ground::new();
    ground.sh("echo mine > f; mkfifo -m 620 p; touch -d 2020-01-02 p");
    let before = ground.picture();
    ground.session("rm f p; mkfifo f");
    let session = first_session(&ground);
    let said = ground.undo(&[&session, "--diff"]);
    assert!(said.code == Some(0) && said.text.contains("+mine"), "{}", said.text);
    ground.undo(&[&session, "--yes"]);
    assert_eq!(ground.picture(), before);
    let said = ground.undo(&[&session, "--dry-run"]);
    assert!(said.text.contains("as it was"), "it is not given back for ever: {}", said.text);
}

#[test]
fn a_name_outside_the_tree_that_shares_a_file_has_its_content_again_too() {
    let ground = Ground::new();
    ground.sh("echo mine > f; ln f ../outside; echo other > g; ln g ../apart");
    ground.session(": > f; rm g; echo new > g");
    let said = ground.undo(&["--last", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    let content = |name: &str| std::fs::read_to_string(ground.tree().join(name)).expect("there");
    for (name, expected) in
        [("f", "mine\n"), ("../outside", "mine\n"), ("g", "other\n"), ("../apart", "other\n")]
    {
        assert_eq!(content(name), expected, "{name}");
    }
}

#[test]
fn a_path_of_which_nothing_was_kept_is_said_to_be_none() {
    let ground = Ground::new();
    ground.sh("echo mine > f");
    ground.session("rm f");
    let said = ground.undo(&["--last", "--dry-run", "other"]);
    assert!(said.text.contains("nothing was kept"), "{}", said.text);
}
