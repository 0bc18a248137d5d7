//! Starting cargo once more, from inside a program that cargo started.

use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    process::{Command, Stdio},
};

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

/// How the last step of a build is done: with variables, and with flags for the compiler that are for the program alone
/// and neither for the crates that it is made of nor for build scripts and macros.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    pub(crate) env: Vec<(&'static str, OsString)>,
    pub(crate) flags: &'static [&'static str],
}

/// Builds a program of the workspace as it is released, and returns its path.
pub(crate) fn release(package: &str, binary: &str, linked: &Linked) -> Result<PathBuf> {
    let Linked { env, flags } = linked;
    let mut command = cargo(&["rustc", "--release", "--locked", "--package", package, "--bin", binary, "--"]);
    proc::run(command.args(*flags).envs(env.iter().map(|(name, value)| (name, value))))?;
    Ok(house::target().join("release").join(binary))
}

/// Builds a test target without running it, and returns its path.
pub(crate) fn test_program(package: &str, test: &str) -> Result<PathBuf> {
    let mut command = cargo(&["test", "--no-run", "--locked", "--message-format=json-render-diagnostics"]);
    command.args(["--package", package, "--test", test]).stderr(Stdio::inherit());
    let messages = proc::capture(&mut command)?;
    let found = messages.lines().find_map(|line| executable(line, test));
    found.with_context(|| format!("cargo built no test {test} of {package}"))
}

/// The path in cargo's message that it has built the target, if this is that message.
fn executable(message: &str, target: &str) -> Option<PathBuf> {
    let message: Message = serde_json::from_str(message).ok()?;
    (message.target?.name == target).then_some(message.executable?)
}

#[derive(Debug, Deserialize)]
struct Message {
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_in_what_cargo_says() {
        let built = r#"{"reason":"compiler-artifact","target":{"name":"battery","kind":["test"]},"executable":"/t/battery-1"}"#;
        assert_eq!(executable(built, "battery"), Some("/t/battery-1".into()));
        assert_eq!(executable(built, "corpus"), None);
        let library =
            r#"{"reason":"compiler-artifact","target":{"name":"battery","kind":["lib"]},"executable":null}"#;
        assert_eq!(executable(library, "battery"), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#, "battery"), None);
    }
}
