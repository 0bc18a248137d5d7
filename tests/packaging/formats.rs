//! Is every file what its ending says?

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

pub(crate) fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
        let path = entry.expect("readable").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

pub(crate) fn yaml(path: &str) -> Yaml {
    let text = fs::read_to_string(packaging().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}")).remove(0)
}

#[test]
fn every_json_and_yaml_file_can_be_read() {
    let mut read = 0;
    for file in files(&packaging()) {
        let text = || fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("json") => drop(
                serde_json::from_str::<Value>(&text())
                    .unwrap_or_else(|error| panic!("{}: {error}", file.display())),
            ),
            Some("yml" | "yaml") => {
                drop(
                    YamlLoader::load_from_str(&text())
                        .unwrap_or_else(|error| panic!("{}: {error}", file.display())),
                );
            }
            _ => continue,
        }
        read += 1;
    }
    assert!(read >= 3, "only {read} files were read");
}

/// An input that the script does not read has no effect; one that it reads and nobody passes is never set.
#[test]
fn the_action_hands_each_input_to_its_script() {
    let action = yaml("github-action/action.yml");
    let step = &action["runs"]["steps"][0];
    let script = fs::read_to_string(packaging().join("github-action/guarded.sh")).expect("readable");
    let inputs: Vec<&str> =
        action["inputs"].as_hash().expect("inputs").keys().filter_map(Yaml::as_str).collect();
    assert!(inputs.len() >= 4, "{inputs:?}");
    for input in inputs {
        let passed = format!("${{{{ inputs.{input} }}}}");
        if step["working-directory"].as_str() == Some(&passed) {
            continue;
        }
        let environment = step["env"].as_hash().expect("variables");
        let variable = environment.iter().find(|(_, value)| value.as_str() == Some(&passed));
        let variable =
            variable.and_then(|(name, _)| name.as_str()).unwrap_or_else(|| panic!("{input} is not passed"));
        assert!(script.contains(variable), "the script does not read {variable}");
    }
    // Text of the user's must never become part of a script: it is passed as a variable.
    assert!(!step["run"].as_str().expect("a script").contains("inputs."));
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    assert_eq!(step["shell"].as_str(), Some("bash"));
}

#[test]
fn the_dev_container_feature_knows_only_agents_that_can_be_installed() {
    let path = packaging().join("devcontainer/src/blastradius/devcontainer-feature.json");
    let feature: Value = serde_json::from_str(&fs::read_to_string(path).expect("readable")).expect("JSON");
    assert_eq!(feature["version"], env!("CARGO_PKG_VERSION"));
    let known: Vec<&str> = blastradius::hosts::table::HOSTS.iter().map(|host| host.name).collect();
    for agent in feature["options"]["agent"]["proposals"].as_array().expect("a list") {
        let agent = agent.as_str().expect("a name");
        assert!(agent.is_empty() || known.contains(&agent), "{agent}");
    }
}

#[test]
fn the_image_installs_the_version_that_this_is() {
    let text = fs::read_to_string(packaging().join("oci/Dockerfile")).expect("readable");
    assert!(text.contains(&format!("ARG VERSION={}\n", env!("CARGO_PKG_VERSION"))), "{text}");
    // A start by a shell would hide the guard's exit status and signals.
    let entry = text.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).expect("an entry point");
    let words: Vec<String> = serde_json::from_str(entry).expect("in exec form");
    assert_eq!(words[..2], ["/usr/bin/blastradius", "run"]);
}
