//! Starting other programs, with errors that name what was run.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use nix::unistd::{AccessFlags, access};

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Runs a command with our own output and no input, and fails when it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs a command and returns what it wrote to its standard output.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed: {}\n{}", shown(command), output.status, complaint.trim_end());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` wrote something that is not UTF-8", shown(command)))
}

/// Finds a program on PATH and, as root's PATH may lack them, in the usual sbin directories.
pub(crate) fn which(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let sbin = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(sbin).map(|dir| dir.join(name)).find(|candidate| is_program(candidate))
}

/// Whether a path is a regular file that may be executed.
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_typed() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'a b'", ""]);
        assert_eq!(shown(&command), r"sh -c 'echo '\''a b'\''' ''");
    }

    #[test]
    fn programs_are_found() {
        assert!(which("sh").is_some());
        assert!(which("no-such-program-anywhere").is_none());
    }
}
