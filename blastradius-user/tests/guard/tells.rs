//! What the other commands tell about sessions and about the machine.

use serde_json::Value;

use crate::ground::{Ground, stderr, stdout};

fn blastradius(ground: &Ground, args: &[&str]) -> std::process::Output {
    ground.command(env!("CARGO_BIN_EXE_blastradius")).args(args).output().unwrap()
}

#[test]
fn doctor_proves_the_landlock_rung_and_the_exec_layer_and_says_what_would_bring_more() {
    let ground = Ground::new();
    let output = blastradius(&ground, &["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let check = |name: &str| {
        let checks = document["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap().clone()
    };
    for there in ["policy", "log", "landlock rung", "exec layer"] {
        assert_eq!(check(there)["ok"], true, "{document}");
    }
    assert!(check("landlock rung")["detail"].as_str().unwrap().contains("rename-over"), "{document}");
    let kernel = check("kernel rung");
    assert!(kernel["ok"] == true || kernel["change"].is_string(), "{document}");
    assert!(!document["unenforced"].as_array().unwrap().is_empty(), "{document}");
    assert!(
        std::fs::read_dir(ground.at("state/blastradius")).unwrap().next().is_none(),
        "doctor left something behind"
    );
}

#[test]
fn doctor_fires_each_installed_hook_and_finds_one_that_is_dead() {
    let ground = Ground::new();
    let installed = blastradius(&ground, &["install", "claude-code", "--global"]);
    assert!(installed.status.success(), "{}", stderr(&installed));
    let text = stdout(&blastradius(&ground, &["doctor"]));
    assert!(text.contains("yes  hook claude-code (global)"), "{text}");
    let settings = ground.at("home/.claude/settings.json");
    let document = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, document.replace(env!("CARGO_BIN_EXE_blastradius"), "/gone/blastradius"))
        .unwrap();
    let text = stdout(&blastradius(&ground, &["doctor"]));
    assert!(text.contains("no   hook claude-code (global)"), "{text}");
    assert!(text.contains("blastradius install claude-code --global"), "{text}");
}

#[test]
fn doctor_fails_when_the_rung_that_is_required_is_not_there() {
    let ground = Ground::new();
    let output = blastradius(&ground, &["doctor", "--require", "kernel"]);
    let there = stdout(&output).lines().any(|line| line.starts_with("yes  kernel rung"));
    assert_eq!(output.status.success(), there, "{}", stdout(&output));
}

#[test]
fn the_log_shows_the_latest_session_and_filters() {
    let ground = Ground::new();
    ground.shell("true");
    ground.shell("exit 4");
    let output = blastradius(&ground, &["log"]);
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("start") && text.contains("landlock") && text.contains("status 4"), "{text}");
    let all = stdout(&blastradius(&ground, &["log", "--all", "--json"]));
    assert_eq!(all.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count(), 4, "{all}");
    assert_eq!(stdout(&blastradius(&ground, &["log", "--rule", "out-of-scope"])), "");
    assert_eq!(stdout(&blastradius(&ground, &["log", "--follow"])), text);
}

#[test]
fn every_field_of_the_log_is_documented() {
    let documentation = include_str!("../../../docs/log.md");
    let ground = crate::refusals::work_tree();
    crate::refusals::feed(&ground, &[], "rm -rf .git; rm -rf ~\n");
    let log = ground.log();
    assert!(log.len() >= 4, "{log:?}");
    for record in log {
        for (name, _) in record.as_object().unwrap() {
            assert!(documentation.contains(&format!("`{name}`")), "docs/log.md does not say what {name} is");
        }
    }
}

#[test]
fn why_says_that_nothing_was_refused_and_that_landlock_is_silent() {
    let ground = Ground::new();
    // Spelled so that no reader of the text could know: the rung alone refuses it, without a word.
    let script = "import os\nnext(getattr(os, name) for name in dir(os) if name.startswith('unl'))(os.environ['HO' + 'ME'] + '/photos/a.jpg')\n";
    ground.run(&[], &["python3", "-c", script]).output().unwrap();
    let output = blastradius(&ground, &["why"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nothing was refused"), "{}", stderr(&output));
    assert!(stderr(&output).contains("without telling us"), "{}", stderr(&output));
    let output = blastradius(&Ground::new(), &["why"]);
    assert!(stderr(&output).contains("no log in"), "{}", stderr(&output));
}
