//! What git is told to forget comes back.

use std::collections::BTreeSet;

use crate::ground::{Ground, lost};

/// Refs, stashes, index, and the objects that they need.
fn state(ground: &Ground) -> BTreeSet<String> {
    let text = "git for-each-ref; git stash list; git ls-files -s; git symbolic-ref HEAD; git log --all --oneline; git fsck --connectivity-only 2>&1 | grep -c missing || true";
    ground.sh(text).text.lines().map(str::to_owned).collect()
}

fn with_history() -> Ground {
    let ground = Ground::with_git();
    ground.sh(
        "git stash -q; git checkout -qb side; echo s > side.txt; git add side.txt; git commit -qm side; git checkout -q main
         echo two >> src/clean.c; git stash -q; git stash pop -q stash@{1}",
    );
    ground.sh("git stash list | grep -q . || { echo x >> src/clean.c; git stash -q; }");
    ground
}

#[test]
fn work_branches_stashes_and_reflogs_come_back() {
    const LOSSES: &[&str] = &[
        "git reset -q --hard",
        "git checkout -q -- .; git clean -fdxq",
        "git stash drop -q",
        "git stash clear",
        "git branch -qD side",
        "git reset -q --hard HEAD~1",
        "git branch -qD side; git stash clear; git reflog expire --expire=now --all; git gc -q --prune=now",
        "git checkout -q --orphan docs && git rm -rfq . && git clean -fdq",
    ];
    for loss in LOSSES {
        let ground = with_history();
        let (before, refs) = (ground.picture(), state(&ground));
        let said = ground.session(loss);
        assert!(
            !lost(&before, &ground.picture()).is_empty() || state(&ground) != refs,
            "{loss}: the loss must be real\n{}",
            said.text
        );
        let given = ground.undo(&["--last", "--yes"]);
        assert_eq!(given.code, Some(0), "{loss}\n{}", given.text);
        let mut wanted = before;
        wanted.retain(|path, _| !path.starts_with("build") && path.extension().is_none_or(|ext| ext != "c"));
        assert_eq!(lost(&wanted, &ground.picture()), Vec::<String>::new(), "{loss}\n{}", given.text);
        let after = state(&ground);
        assert_eq!(
            refs.difference(&after).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "{loss}\n{}",
            given.text
        );
        let text = std::fs::read_to_string(ground.tree().join("src/dirty.c")).expect("there");
        assert_eq!(text, "committed\nuncommitted\n", "{loss}");
    }
}

#[test]
fn a_branch_that_moved_on_is_left_where_it_is() {
    let ground = Ground::with_git();
    ground.session("git commit -qm three; git clean -fdq");
    let tip = ground.sh("git rev-parse main").text;
    assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
    assert_eq!(ground.sh("git rev-parse main").text, tip);
    assert!(ground.tree().join("notes/todo").exists());
}

#[test]
fn a_repository_inside_the_tree_comes_back_whole() {
    let ground = Ground::new();
    ground.sh("git init -q .; git init -q lib; cd lib; git config user.name t; git config user.email t@example.invalid; echo a > a; git add a; git commit -qm one; echo b > b");
    ground.session(
        "python3 -c 'import shutil; shutil.rmtree(\"lib/b\", ignore_errors=True)'; rm -f lib/a lib/b",
    );
    assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
    assert_eq!(ground.sh("cd lib; git status --short; cat a b").text, "?? b\na\nb\n");
}

#[test]
fn worktrees_submodules_and_sparse_checkouts_are_seen() {
    let ground = Ground::with_git();
    ground.sh(
        "git -C . -c protocol.file.allow=always submodule add -q ./ sub 2>/dev/null || git clone -q . sub
         echo inside > sub/inside; git worktree add -q ../linked 2>/dev/null; rm -rf ../linked",
    );
    ground.sh("mkdir deep; echo 1 > deep/a; git add deep; git commit -qm deep; git sparse-checkout set --no-cone src notes 2>/dev/null");
    let before = ground.picture();
    assert!(!ground.tree().join("deep").exists(), "it is outside the cone");
    ground.session("python3 -c 'import os; os.remove(\"sub/inside\"); os.remove(\"notes/todo\"); os.remove(\"src/clean.c\")'");
    let said = ground.undo(&["--last", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    assert!(!ground.tree().join("deep").exists(), "what was not checked out is not given back");
    for name in ["sub/inside", "notes/todo", "src/clean.c"] {
        assert!(
            ground.tree().join(name).exists() && before.contains_key(std::path::Path::new(name)),
            "{name}"
        );
    }
}

#[test]
fn gits_locks_are_never_taken_and_its_index_never_written_by_keeping() {
    let ground = Ground::with_git();
    // A lock that somebody holds stops neither a session nor keeping.
    ground.sh("touch .git/index.lock .git/HEAD.lock; touch src/clean.c");
    let index = std::fs::read(ground.tree().join(".git/index")).expect("an index");
    let said = ground.session("rm notes/todo");
    assert_eq!(said.code, Some(0), "{}", said.text);
    assert_eq!(std::fs::read(ground.tree().join(".git/index")).expect("an index"), index);
    assert_eq!(ground.undo(&["--last", "notes", "--yes"]).code, Some(0));
    assert!(ground.tree().join("notes/todo").exists());
}

/// Everything that git says of a repository.
fn all(ground: &Ground) -> String {
    ground
        .sh("git for-each-ref; git stash list; git ls-files -s; cat .git/HEAD; git reflog --all; git status --short; git fsck 2>&1 | grep -v ^dangling || true")
        .text
}

#[test]
fn a_git_directory_that_a_hidden_command_removed_comes_back_with_its_commits() {
    let ground = with_history();
    ground.sh("git tag -a v1 -m v1; git gc -q; echo later > later; git add later; git commit -qm later; git pack-refs --all; git branch other HEAD~1; git update-ref refs/remotes/o/main HEAD; git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main; echo staged > staged2; git add staged2");
    let before = all(&ground);
    // The text layer cannot read its target, and Landlock lets git's directory be written.
    let script = ground.tree().join("../wipe.py");
    std::fs::write(&script, "import shutil,base64\nshutil.rmtree(base64.b64decode(b'LmdpdA=='))\n")
        .expect("written");
    let said = ground.session("python3 ../wipe.py");
    assert!(!ground.tree().join(".git").exists(), "the loss must be real: {}", said.text);
    let given = ground.undo(&["--last", "--yes"]);
    assert_eq!(given.code, Some(0), "{}", given.text);
    assert_eq!(all(&ground), before, "{}", given.text);
}

#[test]
fn commits_that_cannot_be_held_are_named_and_no_ref_is_given_back_that_leads_to_nothing() {
    let ground = Ground::with_git();
    // git's own estimate: one directory of 256.
    ground.sh("mkdir -p .git/objects/17; for i in $(seq 10 50); do echo > .git/objects/17/$(printf '%038d' $i); done");
    let script = ground.tree().join("../wipe.py");
    std::fs::write(&script, "import shutil,base64\nshutil.rmtree(base64.b64decode(b'LmdpdA=='))\n")
        .expect("written");
    let said = ground.session("python3 ../wipe.py");
    assert!(said.text.contains(".git: its commits are not"), "{}", said.text);
    let given = ground.undo(&["--last", "--yes"]);
    assert_ne!(given.code, Some(0), "{}", given.text);
    assert!(given.text.contains("is neither in git nor in the store"), "{}", given.text);
    assert!(!ground.tree().join(".git/refs/heads/main").exists());
    assert!(ground.tree().join("notes/todo").exists());
}

#[test]
fn a_linked_work_tree_that_was_removed_comes_back_with_what_was_staged_in_it() {
    let ground = Ground::with_git();
    ground.sh("git worktree add -q linked -b side; cd linked; echo more >> src/clean.c; echo new > new; git add new; echo loose > loose");
    let state =
        "git -C linked status --short; git worktree list; cat linked/new linked/loose linked/src/clean.c";
    let before = ground.sh(state).text;
    let said = ground.session("git worktree remove --force linked");
    assert!(!ground.tree().join("linked").exists(), "{}", said.text);
    let given = ground.undo(&["--last", "--yes"]);
    assert_eq!(given.code, Some(0), "{}", given.text);
    assert_eq!(ground.sh(state).text, before, "{}", given.text);
}

#[test]
fn a_submodule_that_was_emptied_comes_back_with_what_was_changed_in_it() {
    let ground = Ground::with_git();
    ground.sh(
        "git init -q -b main ../lib; cd ../lib; git config user.name t; git config user.email t@example.invalid
         echo l > l; git add .; git commit -qm l; cd ../w
         git -c protocol.file.allow=always submodule add -q ../lib sub; git commit -qm sub; echo changed >> sub/l; echo u > sub/u",
    );
    let state = "git -C sub status --short; cat sub/l sub/u; git status --short";
    let before = ground.sh(state).text;
    let said = ground.session("git submodule deinit -q -f sub");
    assert!(!ground.tree().join("sub/u").exists(), "{}", said.text);
    let given = ground.undo(&["--last", "--yes"]);
    assert_eq!(given.code, Some(0), "{}", given.text);
    assert_eq!(ground.sh(state).text, before, "{}", given.text);
}

#[test]
fn settings_that_were_emptied_come_back_and_those_that_were_changed_stay() {
    let ground = Ground::with_git();
    ground.sh("echo '*.tmp' > .git/info/exclude");
    assert_eq!(ground.session("true").code, Some(0));
    ground.sh(": > .git/config; echo '*.bak' > .git/info/exclude");
    assert_eq!(ground.undo(&["--last", "--yes"]).code, Some(0));
    assert_eq!(ground.sh("git config user.name; cat .git/info/exclude").text, "t\n*.bak\n");
}

#[test]
fn commits_are_held_within_the_time_that_a_start_may_take() {
    let ground = Ground::with_git();
    let said = ground.session_with("start=0s", "true");
    assert_eq!(said.code, Some(0), "{}", said.text);
    assert!(said.text.contains(".git/objects") && said.text.contains("timed out"), "{}", said.text);
    assert!(!ground.session("true").text.contains(".git/objects"), "the next start has the time");
}
