//! git under the guard.

use super::{Test, stage::Stage};

pub(super) const TESTS: &[Test] = &[
    Test { name: "git works in a work tree that was there before", body: works },
    Test { name: "git begins a work tree, and the session may remove it", body: begins },
    Test { name: "only git changes what git needs to give the past back", body: history },
    Test { name: "what git starts is not git", body: hooks },
];

const SETTINGS: &str =
    "git config user.name Dev; git config user.email dev@example.org; git config gc.auto 0";

/// A work tree with two commits.
fn repository(stage: &Stage) {
    let script = format!(
        "git init -q . && {{ {SETTINGS}; }} && git add . && git commit -qm first && echo more >> file && git commit -qam second"
    );
    stage.unguarded(&script).with(0);
}

fn works(stage: &Stage) {
    repository(stage);
    // What would drop commits is for the exec layer to refuse, so nothing here does.
    let script = "set -e; echo more >> file; git commit -qam third; git branch topic; git checkout -q topic; \
                  git checkout -q -; git branch -qm topic renamed; git stash list; git gc -q; \
                  git log --format=%s; git fsck";
    let ended = stage.agent(script).with(0);
    assert!(ended.said().starts_with("third\nsecond\nfirst\n"), "{}", ended.said());
    assert!(stage.logged(&[r#""event":"end""#, r#""refused":0"#]), "{}", stage.log());
}

fn begins(stage: &Stage) {
    let script = format!(
        "set -e; mkdir new; cd new; git init -q .; {SETTINGS}; echo a > a; git add a; git commit -qm first; git gc -q; \
         cd ..; rm -rf new"
    );
    stage.agent(&script).with(0);
    assert!(!stage.has("project/new"));
}

fn history(stage: &Stage) {
    repository(stage);
    stage.agent("rm -rf .git/objects").with(1);
    stage.agent("rm -rf .git").with(1);
    stage.agent("rm .git/HEAD").with(1);
    stage.agent(": > .git/HEAD").with(1);
    stage.agent("\"$ACT\" act unlink .git/refs/heads/$(git branch --show-current)").with(1);
    let ended = stage.unguarded("git fsck --full && git log --format=%s").with(0);
    assert_eq!(ended.said(), "second\nfirst\n");
}

fn hooks(stage: &Stage) {
    repository(stage);
    let hook = "printf '#!/bin/sh\\nrm .git/HEAD && echo removed\\nexit 0\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit";
    let ended =
        stage.agent(&format!("mkdir -p .git/hooks && {hook} && echo more >> file && git commit -qam third"));
    let ended = ended.with(0);
    assert!(stage.has("project/.git/HEAD") && !ended.said().contains("removed"), "{}", ended.complained());
}
