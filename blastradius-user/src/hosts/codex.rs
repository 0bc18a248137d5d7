//! Does Codex run the hook that is in its file? Only if the user trusts its definition; otherwise it is skipped without
//! a word, and every command runs. Codex itself is asked: its app-server lists the hooks with their trust.
//!
//! Trust is the user's to give (`/hooks`); nothing here gives it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::install::entry::Entry;

/// The app-server answers within a second; a program of that name that is no app-server never does.
const PATIENCE: Duration = Duration::from_secs(10);

/// What Codex says of our hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It runs.
    Trusted,
    /// It is skipped until the user trusts it.
    Untrusted,
    /// Codex does not know of it: the file is not read, or hooks are switched off.
    Unknown,
}

/// Asks the Codex called `program` about our hook, for a session in `project`. `None`: it cannot be asked.
pub fn trust(program: &Path, entry: &Entry, project: &Path) -> Option<Trust> {
    let mut child = Command::new(program)
        .arg("app-server")
        .current_dir(project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let answer = ask(&mut child, project);
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
    Some(of_answer(&answer?, entry))
}

fn ask(child: &mut Child, project: &Path) -> Option<Value> {
    let mut stdin = child.stdin.take()?;
    let stdout = child.stdout.take()?;
    let version = env!("CARGO_PKG_VERSION");
    let messages = [
        json!({"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "blastradius", "title": "blastradius", "version": version}}}),
        json!({"method": "initialized"}),
        json!({"id": 1, "method": "hooks/list", "params": {"cwds": [project.to_string_lossy()]}}),
    ];
    for message in messages {
        writeln!(stdin, "{message}").ok()?;
    }
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let until = Instant::now() + PATIENCE;
    loop {
        let line = receive.recv_timeout(until.saturating_duration_since(Instant::now())).ok()?;
        let message: Value = serde_json::from_str(&line).ok()?;
        if message["id"] == 1 {
            return message.get("result").cloned();
        }
    }
}

fn of_answer(answer: &Value, entry: &Entry) -> Trust {
    let hooks = answer["data"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|place| place["hooks"].as_array().into_iter().flatten());
    let mut ours = hooks.filter(|hook| {
        hook["eventName"] == "preToolUse"
            && hook["command"].as_str().is_some_and(|command| entry.is_ours(command))
    });
    match ours.next() {
        None => Trust::Unknown,
        // A managed hook is trusted by whoever manages it.
        Some(hook)
            if hook["enabled"] == true && (hook["trustStatus"] == "trusted" || hook["isManaged"] == true) =>
        {
            Trust::Trusted
        }
        Some(_) => Trust::Untrusted,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::table;
    use super::*;

    fn entry() -> Entry {
        let codex = table::find("codex").expect("a row");
        let config = codex.config.as_ref().expect("a config");
        Entry::new(codex.name, config, Path::new("/usr/bin/blastradius"))
    }

    fn listed(more: &str) -> String {
        format!(
            r#"{{"id":1,"result":{{"data":[{{"cwd":"/p","hooks":[{{"eventName":"preToolUse","command":"/usr/bin/blastradius hook --agent codex","isManaged":false,{more}}}]}}]}}}}"#
        )
    }

    #[test]
    fn codex_is_believed_about_its_hooks() {
        let cases = [
            (listed(r#""enabled":true,"trustStatus":"trusted""#), Some(Trust::Trusted)),
            (listed(r#""enabled":true,"trustStatus":"untrusted""#), Some(Trust::Untrusted)),
            (listed(r#""enabled":false,"trustStatus":"trusted""#), Some(Trust::Untrusted)),
            (r#"{"id":1,"result":{"data":[]}}"#.to_owned(), Some(Trust::Unknown)),
            (r#"{"id":1,"error":{"code":-32601}}"#.to_owned(), None),
            ("hello".to_owned(), None),
        ];
        let directory = tempfile::tempdir().expect("a temporary directory");
        let program = directory.path().join("codex");
        for (answer, expected) in cases {
            let script = format!(
                "#!/bin/sh\nread a; read b; read c\necho '{{\"id\":0,\"result\":{{}}}}'\necho '{answer}'\n"
            );
            fs::write(&program, script).expect("written");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
            assert_eq!(trust(&program, &entry(), directory.path()), expected, "{answer}");
        }
        assert_eq!(trust(Path::new("/no/such/codex"), &entry(), directory.path()), None);
    }
}
