//! Starting cargo once more, from inside a program that cargo started.

use std::{env, path::PathBuf, process::Command, sync::OnceLock};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::{house, proc};

/// A cargo command in the clone.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(house::root());
    // What cargo tells the program that it starts is not for the next cargo.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "CARGO_BIN_NAME" {
            command.env_remove(&name);
        }
    }
    command
}

/// Builds a program of the workspace as it is released, and returns its path.
pub(crate) fn release(package: &str, binary: &str) -> Result<PathBuf> {
    proc::run(&mut cargo(&["build", "--release", "--locked", "--package", package, "--bin", binary]))?;
    Ok(house::target().join("release").join(binary))
}

/// Whether the workspace has a package, and in it a test target if one is named.
pub(crate) fn has(package: &str, test: Option<&str>) -> Result<bool> {
    let found = workspace()?.packages.iter().find(|candidate| candidate.name == package);
    let has_test = |package: &Package, name: &str| {
        package.targets.iter().any(|target| target.name == name && target.kind.iter().any(|k| k == "test"))
    };
    Ok(found.is_some_and(|package| test.is_none_or(|name| has_test(package, name))))
}

#[derive(Debug, Deserialize)]
struct Workspace {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

fn workspace() -> Result<&'static Workspace> {
    static WORKSPACE: OnceLock<Workspace> = OnceLock::new();
    if let Some(known) = WORKSPACE.get() {
        return Ok(known);
    }
    let text = proc::capture(&mut cargo(&["metadata", "--no-deps", "--format-version=1", "--locked"]))?;
    let read = serde_json::from_str(&text).context("cannot read what cargo says of the workspace")?;
    Ok(WORKSPACE.get_or_init(|| read))
}
