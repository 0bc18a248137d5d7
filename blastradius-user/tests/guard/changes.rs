//! What a session leaves for the next one: a changed policy, a hook that has gone, lines that would have helped.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::ground::{Ground, stderr, stdout};
use crate::refusals::feed;

fn lines(ground: &Ground) -> String {
    let output = ground.command(env!("CARGO_BIN_EXE_blastradius")).arg("suggest").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

/// The statements of a piece of a policy file.
fn statements(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn an_edited_policy_has_no_effect_until_the_next_session_and_is_reported() {
    let ground = Ground::new();
    fs::write(ground.at("home/project/.blastradius"), "allow ./build/**\n").unwrap();
    let script = "echo 'allow ./**' >> .blastradius\nrm -f src/main\ntest -e src/main && echo kept\n";
    let output = feed(&ground, &[], script);
    assert_eq!(stdout(&output), "kept\n", "{}", stderr(&output));
    let report = stderr(&output);
    assert!(report.contains(".blastradius: was changed during the session"), "{report}");
    let log = ground.log();
    assert!(log.iter().any(|record| record["event"] == "changed"), "{log:?}");
    let next = ground.shell("rm -f src/main; test -e src/main || echo gone");
    assert_eq!(stdout(&next), "gone\n", "the next session reads it: {}", stderr(&next));
    assert!(!stderr(&next).contains("during the session"), "{}", stderr(&next));
}

#[test]
fn a_policy_that_is_made_during_the_session_is_reported_in_every_place_where_it_would_be_read() {
    let ground = Ground::new();
    let mut command = ground.run(&[], &["sh", "-c", "echo '# none' > .blastradius; mkdir -p \"$XDG_CONFIG_HOME/blastradius\"; echo '# none' > \"$XDG_CONFIG_HOME/blastradius/config\""]);
    let output = command.env("XDG_CONFIG_HOME", ground.at("home/.config")).output().unwrap();
    let report = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{report}");
    assert!(report.contains("project/.blastradius: was made"), "{report}");
    // On a rung that governs writes the user's own file cannot be made at all.
    let made = ground.at("home/.config/blastradius/config").exists();
    assert_eq!(report.contains("blastradius/config: was made"), made, "{report}");
    let silent = ground.run(&[], &["true"]).output().unwrap();
    assert_eq!(stderr(&silent).matches("during the session").count(), 0, "{}", stderr(&silent));
}

#[test]
fn a_hook_that_the_agent_removes_is_put_back_and_reported_and_a_host_may_edit_its_file() {
    let ground = Ground::new();
    let installed =
        ground.command(env!("CARGO_BIN_EXE_blastradius")).args(["install", "claude-code"]).output().unwrap();
    assert!(installed.status.success(), "{}", stderr(&installed));
    let file = ground.at("home/project/.claude/settings.json");
    let whole = fs::read_to_string(&file).unwrap();
    let edit = "sed -i 's/^{/{\"model\": \"fast\",/' .claude/settings.json";
    let edited = ground.shell(edit);
    assert!(!stderr(&edited).contains("hook"), "an edit of the host's own: {}", stderr(&edited));
    assert!(fs::read_to_string(&file).unwrap().contains("fast"));
    let removed = ground.shell("echo '{\"model\": \"slow\"}' > .claude/settings.json");
    let report = stderr(&removed);
    assert!(report.contains("has gone from it during the session, and was put back"), "{report}");
    let now = fs::read_to_string(&file).unwrap();
    let program = env!("CARGO_BIN_EXE_blastradius");
    assert!(whole.contains(program) && now.contains(program) && now.contains("slow"), "{now}");
    let broken = ground.shell("echo '{ broken' > .claude/settings.json");
    assert_eq!(broken.status.code(), Some(125), "{}", stderr(&broken));
    assert!(stderr(&broken).contains("cannot be put back"), "{}", stderr(&broken));
}

/// A project that allows its build directory alone, and its policy file.
fn project_that_allows_its_build() -> (Ground, PathBuf) {
    let ground = Ground::new();
    let policy = ground.at("home/project/.blastradius");
    for dir in ["build", "dist", "data"] {
        fs::create_dir_all(ground.at("home/project").join(dir)).unwrap();
    }
    ground.write("home/project/data/kept");
    fs::write(&policy, "allow ./build/**\n").unwrap();
    (ground, policy)
}

#[test]
fn lines_from_an_audit_let_the_act_pass_and_nothing_else() {
    let (ground, _) = project_that_allows_its_build();
    let audited = ground.run(&["--audit"], &["sh", "-c", "rm -rf dist; rmdir ~"]).output().unwrap();
    assert!(stderr(&audited).contains("would have been refused"), "{}", stderr(&audited));
    let suggested = lines(&ground);
    assert_eq!(statements(&suggested), ["allow ./dist"], "{suggested}");
    assert!(suggested.contains("rm -rf dist") && suggested.contains("floor-path"), "{suggested}");
}

#[test]
fn a_suggested_line_taken_over_lets_the_real_act_pass_on_this_machines_rung() {
    let (ground, policy) = project_that_allows_its_build();
    ground.write("home/project/dist/made");
    let before = ground.shell("rm -rf dist");
    assert!(ground.keeps("home/project/dist/made"), "{}", stderr(&before));
    let audited = ground.run(&["--audit"], &["sh", "-c", "rm -rf dist; true"]).output().unwrap();
    assert!(!ground.at("home/project/dist").exists(), "{}", stderr(&audited));
    let suggested = lines(&ground);
    fs::write(&policy, format!("allow ./build/**\n{suggested}")).unwrap();
    fs::create_dir(ground.at("home/project/dist")).unwrap();
    ground.write("home/project/dist/made");
    let after = ground.shell("rm -rf dist; rm -rf data");
    // The directory's own name is an entry of its parent, which Landlock cannot give away alone.
    assert!(!ground.at("home/project/dist/made").exists(), "{suggested}: {}", stderr(&after));
    assert!(ground.keeps("home/project/data/kept"), "{}", stderr(&after));
}

#[test]
fn suggestions_for_a_default_scope_keep_it_and_reach_beyond_only_what_was_touched() {
    let ground = Ground::for_others();
    let photos = ground.at("home/photos/2019");
    let audited = ground.run(&["--audit"], &["rm", "-rf", photos.to_str().unwrap(), "src"]).output().unwrap();
    assert!(stderr(&audited).contains("1 would have been refused"), "{}", stderr(&audited));
    fs::create_dir_all(&photos).unwrap();
    ground.write("home/photos/2019/b.jpg");
    let suggested = lines(&ground);
    let said = statements(&suggested);
    assert!(said.contains(&"allow ./**"), "{suggested}");
    let wider: Vec<_> = said.iter().filter(|line| line.contains("photos")).collect();
    assert_eq!(wider, [&&*format!("allow {}", photos.display())], "{suggested}");
    assert!(suggested.contains("blastradius trust"), "{suggested}");
    // A repository's file would have to be approved; the user's own needs no approval.
    let config = ground.at("home/.config/blastradius/config");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, wider[0].to_string() + "\n").unwrap();
    let script = format!("rm -rf {}; rm -f ~/photos/a.jpg", photos.display());
    let mut command = ground.run(&[], &["sh", "-c", &script]);
    let after = command.env("XDG_CONFIG_HOME", ground.at("home/.config")).output().unwrap();
    // Where the ground lies outside the home that the user database names, a variable alone makes no file the user's.
    let is_theirs = std::env::home_dir().is_some_and(|home| config.starts_with(home));
    assert_eq!(photos.join("b.jpg").exists(), !is_theirs, "{}", stderr(&after));
    assert!(ground.keeps("home/photos/a.jpg"), "{}", stderr(&after));
    // Somebody without an account has the home that they say, and nothing but root's word against it.
    if fs::metadata(&photos).is_ok_and(|photos| photos.uid() == 0) {
        let program = ground.program_for_others();
        let given = Command::new("chown").arg("-R").arg("54321:54321").arg(ground.at("")).status().unwrap();
        let mut command = ground.command("setpriv");
        command.args(["--reuid", "54321", "--regid", "54321", "--clear-groups"]);
        command.arg(program).args(["run", "--", "sh", "-c", &script]);
        let after = command.output().unwrap();
        assert!(given.success() && !photos.join("b.jpg").exists(), "{}", stderr(&after));
        assert!(ground.keeps("home/photos/a.jpg"), "{}", stderr(&after));
    }
}
