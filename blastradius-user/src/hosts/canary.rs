//! Does the installed hook fire, and would its refusal be honoured?
//!
//! The hook's file is read as the host reads it, the command in it is run as the host runs it, and it is handed a
//! payload with a command that is never executed by anyone. The answer must be the host's refusal, byte for byte what
//! was measured to hold.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::install::entry::Entry;
use super::install::site::{Scope, Site};
use super::install::{self, InstallError};
use super::table::{HOSTS, Host};
use super::{codex, examples};

/// The command of the canary. It is judged and never run.
pub const COMMAND: &str = "rm -rf / # blastradius canary";

/// A hook that hosts give this long at most is given no longer by us.
const PATIENCE: Duration = Duration::from_secs(10);

/// What one hook did.
#[derive(Debug)]
pub struct Canary {
    /// The host.
    pub host: &'static Host,
    /// Whose hook file.
    pub scope: Scope,
    /// The file.
    pub path: PathBuf,
    /// What is wrong; `Ok` if it refused as the host needs it.
    pub outcome: Result<(), String>,
}

/// Fires every hook that is installed for this user and in this project.
pub fn fire_all(site: &Site) -> Vec<Canary> {
    let both = |host: &'static Host| [Scope::Project, Scope::Global].map(|scope| (host, scope));
    HOSTS.iter().flat_map(both).filter_map(|(host, scope)| fire(host, scope, site)).collect()
}

/// Fires one hook; `None` if it is not installed.
pub fn fire(host: &'static Host, scope: Scope, site: &Site) -> Option<Canary> {
    let (path, config) = install::file(host, scope, site).ok()?;
    let outcome = match install::is_installed(host, scope, site) {
        Ok(true) => {
            let entry = Entry::new(host.name, config, &site.program);
            examples::of(host.name).ok_or_else(|| "there is no example of its payload".to_owned()).and_then(
                |example| {
                    let output =
                        run(&entry.command(), &example.with(COMMAND)).map_err(|error| error.to_string())?;
                    refusal(host, &output)
                },
            )
        }
        Ok(false) if install::is_foreign(host, scope, site) => {
            Err(format!("the file names another program than {}; install it again", site.program.display()))
        }
        Ok(false) => return None,
        Err(InstallError::File { .. }) => return None,
        Err(error) => Err(error.to_string()),
    };
    Some(Canary { host, scope, path, outcome })
}

/// Why a hook that refuses its canary may still not run: Codex skips what its user has not trusted.
pub fn doubt(host: &'static Host, site: &Site, codex: &Path) -> Option<&'static str> {
    let config = host.config.as_ref().filter(|_| host.name == "codex")?;
    let entry = Entry::new(host.name, config, &site.program);
    match codex::trust(codex, &entry, &site.project)? {
        codex::Trust::Trusted => None,
        codex::Trust::Untrusted => Some("Codex skips it until you trust it: type /hooks there"),
        codex::Trust::Unknown => {
            Some("Codex does not read it: its hooks are switched off, or the project is not trusted")
        }
    }
}

/// Runs the command as hosts do, through a shell.
fn run(command: &str, payload: &str) -> std::io::Result<Output> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that is gone before it has read everything gives no answer, which is what counts.
        let _ = stdin.write_all(payload.as_bytes());
    }
    let until = Instant::now() + PATIENCE;
    while child.try_wait()?.is_none() {
        if Instant::now() > until {
            child.kill()?;
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output()
}

/// Whether this is what makes the host hold.
fn refusal(host: &Host, output: &Output) -> Result<(), String> {
    let status = output.status.code();
    if status != Some(i32::from(host.answer.refusal_exit)) {
        return Err(format!("it ended with {}, not with {}", output.status, host.answer.refusal_exit));
    }
    if output.stderr.is_empty() {
        return Err("it gave no reason on stderr".into());
    }
    let document: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    match (host.answer.deny, document) {
        (None, _) if output.stdout.is_empty() => Ok(()),
        (Some(template), Some(Value::Object(found))) => {
            let expected: Value =
                serde_json::from_str(&super::table::fill(template, &[("%REASON", ""), ("%RULE", "")]))
                    .map_err(|error| error.to_string())?;
            let keys =
                expected.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
            let same = keys.iter().eq(found.keys());
            if same { Ok(()) } else { Err("its answer has not the host's shape".into()) }
        }
        _ => Err("something else than its answer reached stdout".into()),
    }
}
