use std::rc::Rc;

use super::git;
use crate::policy::effect::{Base, Discard, Effect};
use crate::programs::testing::Recorder;
use crate::programs::{Input, Program};
use crate::shell::value::Abstract;

fn told(line: &str) -> Vec<String> {
    repository().call(git, line).told()
}

fn repository() -> Recorder {
    Recorder::default()
        .directory(".git")
        .file("file.txt", "")
        .file(".git/refs/heads/main", "")
        .file("main", "")
}

#[track_caller]
fn discards(lines: &[&str]) {
    for line in lines {
        assert!(!told(line).is_empty(), "{line} tells nothing");
    }
}

#[track_caller]
fn keeps(lines: &[&str]) {
    for line in lines {
        let recorder = repository().call(git, line);
        assert!(recorder.is_harmless(), "{line} tells {:?}", recorder.told());
    }
}

#[test]
fn a_hard_reset_is_found_however_it_is_spelled() {
    discards(&[
        "git reset --hard",
        "git reset --h",
        "git reset -q --hard HEAD~5",
        "git reset HEAD --hard",
        "git -C repo reset --hard",
        "git --no-pager -c a.b=c reset --hard",
        "git --git-dir=x/.git --work-tree x reset --hard",
        "git reset --merge",
        "git read-tree --reset -u HEAD",
    ]);
}

#[test]
fn a_reset_that_moves_only_branch_or_index_is_harmless() {
    keeps(&[
        "git reset",
        "git reset HEAD",
        "git reset --soft HEAD~1",
        "git reset --hard --soft HEAD",
        "git reset --keep x",
        "git reset --mixed",
        "git reset -- --hard",
        "git reset --hard --help",
        "git reset -h --hard",
        "git help reset --hard",
        "git --version reset --hard",
    ]);
}

#[test]
fn clean_needs_force_and_no_dry_run() {
    discards(&[
        "git clean -fd",
        "git clean -dffx -- x",
        "git clean --force -d -x",
        "git clean -f -e *.keep .",
        "git -c clean.requireForce=false clean",
        "git -C / clean -fdx",
    ]);
    keeps(&[
        "git clean",
        "git clean -d",
        "git clean -nf",
        "git clean -ndx",
        "git clean -f --dry-run",
        "git clean -i",
    ]);
    let answered = repository().stdin(Input::Text(Abstract::known("1\n"))).call(git, "git clean -i");
    assert_eq!(answered.told().len(), 1);
}

#[test]
fn clean_says_what_it_takes() {
    let told = told("git clean -fdX build");
    assert!(told[0].contains("only_ignored: true") && told[0].contains("directories: true"), "{told:?}");
    assert!(told[0].contains("ignored: false"), "{told:?}");
}

#[test]
fn force_may_be_unnecessary_by_configuration() {
    let configured =
        repository().file(".git/config", "[clean]\n requireForce = false\n").call(git, "git clean");
    assert_eq!(configured.told().len(), 1);
}

#[test]
fn a_checkout_of_paths_discards_and_a_switch_does_not() {
    discards(&[
        "git checkout .",
        "git checkout -- file.txt",
        "git checkout HEAD -- file.txt",
        "git checkout HEAD file.txt",
        "git checkout file.txt",
        "git checkout *.rs",
        "git checkout -f main",
        "git checkout -qf",
        "git checkout -f -b new",
        "git checkout :/",
    ]);
    keeps(&[
        "git checkout main",
        "git checkout main --",
        "git checkout -",
        "git checkout -b new",
        "git checkout -B main origin/main",
        "git checkout --orphan new",
        "git checkout -t origin/x",
        "git checkout v1.0",
        "git checkout -p .",
        "git checkout --detach HEAD~1",
    ]);
}

#[test]
fn switch_and_restore_lose_only_when_they_say_so() {
    discards(&[
        "git switch -f main",
        "git switch --discard-changes main",
        "git switch --disc main",
        "git restore file.txt",
        "git restore .",
        "git restore -SW .",
        "git restore --source=HEAD~1 file.txt",
        "git restore -s HEAD file.txt",
    ]);
    keeps(&[
        "git switch main",
        "git switch -c x",
        "git switch -",
        "git restore --staged .",
        "git restore -S x",
        "git restore",
    ]);
}

#[test]
fn saved_work_is_dropped_only_by_drop_and_clear() {
    discards(&["git stash drop", "git stash clear", "git stash drop stash@{1}"]);
    keeps(&[
        "git stash",
        "git stash pop",
        "git stash list",
        "git stash push -m drop",
        "git stash -u",
        "git stash apply",
    ]);
}

#[test]
fn branches_are_deleted_by_force_only() {
    discards(&[
        "git branch -D x",
        "git branch -d -f x",
        "git branch -df x",
        "git branch --delete --force x",
        "git branch -M y main",
    ]);
    keeps(&[
        "git branch",
        "git branch -d x",
        "git branch --format -d",
        "git branch --merged -D feature",
        "git branch --end-of-options -D",
        "git branch -Dh feature",
        "git branch -M trunk",
        "git branch -Dr origin/x",
        "git branch -f x HEAD",
        "git branch --list -v",
        "git tag v1",
        "git tag -l x*",
        "git tag -m -d v1",
    ]);
}

#[test]
fn a_deleted_tag_is_mentioned() {
    assert_eq!(told("git tag -d v1"), ["[git-discard warn] v1"]);
}

#[test]
fn the_means_of_recovery_are_history() {
    discards(&[
        "git gc --prune=now",
        "git gc --aggressive --prune=all",
        "git -c gc.pruneExpire=now gc",
        "git prune",
        "git prune --expire=now",
        "git reflog expire --expire=now --all",
        "git reflog expire --expire-unreachable=0 --all",
        "git reflog delete HEAD@{1}",
        "git update-ref -d refs/heads/x",
        "git filter-branch --tree-filter x HEAD",
        "git filter-repo --path x",
    ]);
    keeps(&[
        "git gc",
        "git gc --aggressive",
        "git gc --prune=2.weeks.ago",
        "git gc --prune=30.days.ago",
        "git prune -n",
        "git prune --expire=3.months.ago",
        "git reflog",
        "git reflog show",
        "git reflog expire --all",
        "git reflog expire --dry-run --expire=now --all",
        "git update-ref refs/heads/x HEAD",
        "git filter-repo --analyze",
    ]);
}

#[test]
fn update_ref_takes_instructions_from_stdin() {
    let with = |text: &str| {
        let input = Input::Text(Abstract::known(text));
        repository().stdin(input).call(git, "git update-ref --stdin").told().len()
    };
    assert_eq!(with("delete refs/heads/x\n"), 1);
    assert_eq!(with("update refs/heads/x HEAD\n"), 0);
}

#[test]
fn a_push_that_overwrites_or_deletes_is_the_remotes_loss() {
    discards(&[
        "git push --force",
        "git push -f origin main",
        "git push -uf origin main",
        "git push origin +main",
        "git push origin main --force",
        "git push --force-with-lease",
        "git push --force-with-lease=main:x origin",
        "git push --delete origin x",
        "git push -d origin x",
        "git push origin :x",
        "git push --mirror x",
        "git push --prune origin",
        "git push --forc",
    ]);
    keeps(&[
        "git push",
        "git push origin main",
        "git push -u origin HEAD:refs/heads/x",
        "git push --tags",
        "git push origin :",
        "git push --dry-run --force origin main",
        "git push -nf origin",
        "git push -o force origin main",
    ]);
}

#[test]
fn worktrees_and_submodules_are_guarded_by_git_until_forced() {
    discards(&[
        "git worktree remove --force ../x",
        "git worktree remove -f ../x",
        "git submodule deinit -f x",
        "git submodule --quiet deinit --all --force",
        "git submodule update --init --force",
        "git rm -rf .",
        "git checkout-index -f -a",
        "git mv -f a b",
    ]);
    keeps(&[
        "git worktree prune",
        "git worktree list",
        "git submodule update --init --recursive",
        "git submodule deinit x",
        "git rm x",
        "git rm -r --cached x",
        "git rm -rf --cached x",
        "git rm -nrf x",
        "git mv a b",
    ]);
}

#[test]
fn what_git_keeps_safe_by_itself_is_told_as_that() {
    let told = |line: &str| {
        let mut effects = repository().call(git, line).effects;
        match effects.pop() {
            Some(Effect::Git { discard: Discard::Worktree { forced, .. }, base, .. }) => Some((forced, base)),
            _ => None,
        }
    };
    let at = |path: &str| Base::Known(Rc::new(path.into()));
    assert_eq!(told("git worktree remove ../x"), Some((false, at("/w"))));
    assert_eq!(told("git --work-tree=/elsewhere worktree remove -f -f ../x"), Some((true, at("/w"))));
    assert_eq!(told("git -C sub worktree remove ../x"), Some((false, at("/w/sub"))));
    assert_eq!(told("git worktree remove -h ../x"), None);
}

#[test]
fn what_receives_a_push_tells_which_repository_it_was() {
    for (program, line) in [
        (git as Program, "git receive-pack ../remote.git"),
        (super::remote::receives, "git-receive-pack --quiet ../remote.git"),
    ] {
        let effects = repository().call(program, line).effects;
        let [Effect::Git { discard: Discard::Pushed(field), .. }] = effects.as_slice() else {
            panic!("{line}: {effects:?}")
        };
        assert_eq!(field.as_known().as_deref(), Some("../remote.git"));
    }
    keeps(&["git receive-pack", "git receive-pack -h", "git upload-pack ../remote.git"]);
}

#[test]
fn aliases_are_followed() {
    discards(&["git -c alias.wipe='reset --hard' wipe", "git -c 'alias.wipe=reset --hard' wipe"]);
    let from_file = repository().file(".git/config", "[alias]\n nuke = clean -fdx\n a = b\n b = a\n");
    assert_eq!(from_file.call(git, "git nuke").told().len(), 1);
    let looping = repository().file(".git/config", "[alias]\n a = b\n b = a\n");
    assert!(looping.call(git, "git a").is_harmless());
    // A builtin cannot be an alias.
    keeps(&["git -c 'alias.status=reset --hard' status"]);
}

#[test]
fn text_that_git_runs_is_handed_to_a_shell() {
    let sourced = |line: &str| repository().call(git, line).sourced().join("|");
    assert_eq!(sourced("git -c 'alias.wipe=!rm -rf /' wipe x"), "rm -rf / \"$@\" [git x]");
    assert_eq!(sourced("git rebase --exec 'make test' main"), "make test");
    assert_eq!(sourced("git rebase -x 'rm -rf ~' main"), "rm -rf ~");
    assert_eq!(sourced("git submodule foreach --recursive 'git reset --hard'"), "git reset --hard");
    assert_eq!(sourced("git -c core.fsmonitor=/tmp/f status"), "/tmp/f");
    assert_eq!(sourced("git -c core.fsmonitor=true status"), "");
    assert_eq!(sourced("git -c credential.helper=store fetch"), "");
    let exported = repository().env("GIT_EXTERNAL_DIFF", "rm -rf x #").call(git, "git diff");
    assert_eq!(exported.sourced(), ["rm -rf x #"]);
    let argv = repository().call(git, "git bisect run sh -c 'rm -rf ~'");
    assert_eq!(argv.ran(), ["sh -c rm -rf ~"]);
    let each = repository().call(git, "git submodule foreach git clean -fd");
    assert_eq!(each.ran(), ["git clean -fd"]);
}

#[test]
fn everyday_commands_say_nothing() {
    keeps(&[
        "git",
        "git status --short --branch",
        "git log --grep='rm -rf'",
        "git add .",
        "git commit -m 'reset --hard'",
        "git pull origin main",
        "git merge feature",
        "git rebase main",
        "git rebase --abort",
        "git cherry-pick x",
        "git fetch --prune",
        "git show HEAD",
        "git diff",
        "git config --global user.name x",
        "git remote remove x",
        "git lfs prune",
        "git unknown-verb --hard",
    ]);
}

#[test]
fn the_toplevel_is_known_and_a_hash_is_one_component() {
    let top = repository().directory("src").call(git, "git -C src rev-parse --show-toplevel");
    assert_eq!(top.printed, Some(Input::Text(Abstract::known("/w\n"))));
    let hash = repository().call(git, "git rev-parse --short HEAD");
    let Some(Input::Text(text)) = hash.printed else { panic!("a hash is text") };
    assert!(text.has_hole());
}

#[test]
fn listed_files_lie_below_their_operands() {
    let listed = repository().call(git, "git ls-files -z --others build");
    let Some(Input::Names(names)) = listed.printed else { panic!("names are listed") };
    assert_eq!(names[0].root.as_known().as_deref(), Some("build"));
    let listed = repository().call(git, "git ls-files 'src/*.pyc'");
    let Some(Input::Names(names)) = listed.printed else { panic!("names are listed") };
    assert_eq!(names[0].root.as_known().as_deref(), Some("src"));
    assert_eq!(names[0].selection.names, ["*.pyc"]);
}

#[test]
fn what_clone_and_worktree_make_is_told() {
    assert_eq!(repository().call(git, "git clone https://x.example/a/b.git").created, ["b"]);
    assert_eq!(repository().call(git, "git clone --depth 1 git@x:a/b dir").created, ["dir"]);
    assert_eq!(repository().call(git, "git worktree add ../wt main").created, ["../wt"]);
    assert!(repository().directory("b").call(git, "git clone x/b").created.is_empty());
}
