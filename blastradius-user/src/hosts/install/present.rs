//! Which agents are on this machine, and which versions?

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::super::table::{FailClosed, HOSTS, Host};
use super::site::Site;

/// The hosts that seem to be installed: their program is on PATH, or their directory is in the home.
pub fn hosts(site: &Site, path: &[PathBuf]) -> Vec<&'static Host> {
    let here = |host: &&Host| {
        let (programs, directory) = host.present;
        let found = programs.iter().any(|program| path.iter().any(|dir| dir.join(program).is_file()));
        host.config.is_some() && (found || !directory.is_empty() && site.home.join(directory).is_dir())
    };
    HOSTS.iter().filter(here).collect()
}

/// Says so if the installed version of `host` does not heed its fail-closed option.
pub fn too_old(host: &Host) -> Option<String> {
    let FailClosed { key, since: Some((since, command)) } = host.config.as_ref()?.fail_closed.as_ref()?
    else {
        return None;
    };
    let version = version(command)?;
    (version.as_slice() < *since).then(|| {
        format!(
            "{} {} does not heed \"{key}\" (needs {}): if the hook is killed or missing, the command runs",
            host.title,
            dotted(&version),
            dotted(since)
        )
    })
}

fn dotted(version: &[u32]) -> String {
    version.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

/// The first dotted number that the command prints within a few seconds.
fn version(command: &[&str]) -> Option<Vec<u32>> {
    let (program, args) = command.split_first()?;
    let mut child = Command::new(program)
        .args(args)
        .current_dir(Path::new("/"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let patience = Instant::now() + Duration::from_secs(5);
    while child.try_wait().ok()?.is_none() {
        if Instant::now() > patience {
            child.kill().ok()?;
            child.wait().ok()?;
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut text = String::new();
    child.stdout.take()?.take(4096).read_to_string(&mut text).ok()?;
    parse_version(&text)
}

fn parse_version(text: &str) -> Option<Vec<u32>> {
    let word = text
        .split_whitespace()
        .find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))?;
    word.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_first_dotted_number() {
        assert_eq!(parse_version("2.1.332 (Claude Code)\n"), Some(vec![2, 1, 332]));
        assert_eq!(parse_version("tool version 10.0\n"), Some(vec![10, 0]));
        assert_eq!(parse_version("no version"), None);
        assert!([2, 1, 197].as_slice() < [2, 1, 295].as_slice());
    }
}
