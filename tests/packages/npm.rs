//! The npm package, in a fresh prefix, and the extension that pi finds in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::agents::cache::{self, Programs};
use crate::agents::table::AGENTS;
use crate::{done, exercise, package, scratch};

/// Installs it below a directory, and returns where it lies.
fn installed(prefix: &Path) -> PathBuf {
    let mut npm = Command::new("npm");
    npm.args(["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]);
    done(npm.arg(prefix).arg(package(".tgz")).env("npm_config_cache", prefix.join("cache")));
    prefix.join("node_modules/blastradius-guard")
}

#[test]
fn the_npm_package_works_in_a_fresh_prefix() {
    let place = scratch();
    installed(place.path());
    let bin = place.path().join("node_modules/.bin");
    exercise(&bin.join("blastradius"));
    exercise(&bin.join("blastradius-guard"));
}

/// Plays pi: loads what the manifest names, and hands it calls.
const PLAY: &str = r#"
import { pathToFileURL } from "node:url";
const [file, home] = process.argv.slice(2);
const handlers = {};
const pi = { on: (event, handler) => { handlers[event] = handler; }, registerCommand: () => {} };
(await import(pathToFileURL(file).href)).default(pi);
const call = (command) => handlers.tool_call({ toolName: "bash", input: { command } }, { cwd: home, hasUI: false });
console.log(JSON.stringify([await call("ls -l"), await call("rm -rf " + home)]));
"#;

/// pi and a Node that reads its language, as the tests of the real agents use them.
fn pi() -> Programs {
    let agent = AGENTS.iter().find(|agent| agent.name == "pi").expect("pi is in the table");
    cache::fetch(agent).unwrap_or_else(|error| panic!("{error}"))
}

/// The package as npm lays it out, but not below `node_modules`, where Node does not take types off.
fn unpacked(place: &Path) -> PathBuf {
    done(
        Command::new("tar").arg("--extract").arg("--file").arg(package(".tgz")).arg("--directory").arg(place),
    );
    place.join("package")
}

#[test]
fn the_extension_in_the_npm_package_guards_with_the_program_beside_it() {
    let place = scratch();
    let package = unpacked(place.path());
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(package.join("package.json")).expect("a manifest"))
            .expect("JSON");
    let keywords = manifest["keywords"].as_array().expect("keywords");
    assert!(keywords.contains(&"pi-package".into()), "pi's gallery looks for it: {keywords:?}");
    let extension = package.join(manifest["pi"]["extensions"][0].as_str().expect("an extension"));

    let play = place.path().join("play.mjs");
    fs::write(&play, PLAY).expect("written");
    let home = place.path().join("home");
    fs::create_dir(&home).expect("made");
    let Programs { cache, node, .. } = pi();
    let mut node = Command::new(cache.join(node).join("node"));
    node.args(["--no-warnings", "--experimental-strip-types"])
        .arg(&play)
        .arg(&extension)
        .arg(&home)
        .env("HOME", &home)
        .env("PI_CODING_AGENT_DIR", &home);
    let said = done(&mut node);
    let answers: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(answers[0], Value::Null, "ls is nobody's business");
    assert_eq!(answers[1]["block"], Value::Bool(true), "{answers}");
    let reason = answers[1]["reason"].as_str().expect("a reason");
    assert!(!reason.contains("gave no verdict"), "the program was not found: {reason}");
    assert!(reason.contains("floor"), "{reason}");
}

#[test]
fn pi_takes_the_package_for_one_of_its_own() {
    let place = scratch();
    let package = unpacked(place.path());
    let Programs { cache, agent, node } = pi();
    let pi = |arguments: &[&str]| {
        let path = format!("{}:/usr/bin:/bin", cache.join(&node).display());
        let mut command = Command::new(cache.join(&agent));
        command.args(arguments).env_clear().env("PATH", path).current_dir(place.path());
        command.envs([("HOME", place.path()), ("PI_CODING_AGENT_DIR", &place.path().join("agent"))]);
        done(command.envs([("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0"), ("PI_SKIP_VERSION_CHECK", "1")]))
    };
    pi(&["install", &package.display().to_string()]);
    let said = pi(&["list"]);
    assert!(said.contains("package"), "{said}");
}
