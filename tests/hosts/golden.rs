//! Payload in, bytes out, exit status: for every host, every verdict and every way of being broken.
//!
//! The expected bytes are in `golden/HOST.txt`. `BLESS=1 cargo test --test hosts` writes them anew; read the diff.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use blastradius::analysis::Report;
use blastradius::hosts::answer::Answer;
use blastradius::hosts::examples::{self, EXAMPLES, Example};
use blastradius::hosts::judge::{FileAct, Judge, Question};
use blastradius::hosts::table::{self, HOSTS};
use blastradius::hosts::{document, hook, reason, tell};
use blastradius::policy::finding::Finding;
use blastradius::policy::mode::{Asker, Mode, Surface};
use blastradius_common::{RuleId, Verdict};
use serde_json::Value;

/// Says what the question itself names.
#[derive(Default)]
struct Script {
    refusals: Vec<String>,
}

impl Judge for Script {
    fn judge(&self, question: &Question, cwd: &Path, asker: Asker) -> Report {
        let (command, target) = match question {
            Question::Text(text) => (text.clone(), "~".to_owned()),
            Question::Argv(argv) => (argv.join(" "), "~".to_owned()),
            Question::File(act, path) => (format!("{act:?}"), path.display().to_string()),
        };
        let protected = target.contains("protected");
        let verdict = match () {
            () if command.contains("rm -rf ~") || protected => Verdict::Deny,
            () if command.contains("git reset --hard") && asker.mode == Mode::Interactive => Verdict::Confirm,
            () if command.contains("git reset --hard") && asker.surface != Surface::Human => Verdict::Deny,
            () => Verdict::Allow,
        };
        let finding = Finding {
            rule: RuleId::FloorPath,
            verdict,
            target,
            resolved: Some(PathBuf::from("/home/dev")),
            segment: command.clone(),
            reasons: vec![format!("asked in {}", cwd.display())],
            advice: Some("rm -rf ./build".into()),
        };
        let findings = if verdict == Verdict::Allow { vec![] } else { vec![finding] };
        Report { command, verdict, findings }
    }

    fn refusals(&self) -> Vec<String> {
        self.refusals.clone()
    }
}

fn answer(payload: &[u8], name: Option<&str>) -> Answer {
    hook::answer(payload, name, Path::new("/here"), &Script::default())
}

fn with_command(payload: &str, command: &str) -> String {
    payload.replace("COMMAND", command)
}

/// A payload that is broken in one way.
type Break = fn(&str) -> Vec<u8>;

const BROKEN: &[(&str, Break)] = &[
    ("garbage", |_| b"Welcome to bash!\n".to_vec()),
    ("truncated", |payload| payload.as_bytes()[..payload.len() - 2].to_vec()),
    ("empty", |_| Vec::new()),
    ("oversized", |payload| {
        let padding = "x".repeat(document::SIZE_LIMIT);
        payload.replacen('{', &format!("{{\"padding\":\"{padding}\","), 1).into_bytes()
    }),
    ("duplicate key", |payload| payload.replacen('{', "{\"cwd\":\"/q\",\"cwd\":\"/r\",", 1).into_bytes()),
    ("byte order mark", |payload| format!("\u{FEFF}{payload}").into_bytes()),
    ("lone surrogate", |payload| payload.replace("ls", "ls \\ud800").into_bytes()),
    ("not utf-8", |payload| [payload.as_bytes(), b"\xFF"].concat()),
    ("two documents", |payload| format!("{payload}{payload}").into_bytes()),
    ("command is a number", |payload| payload.replace("\"ls\"", "7").into_bytes()),
    ("command is an object", |payload| payload.replace("\"ls\"", "{\"a\":1}").into_bytes()),
];

fn show(title: &str, answer: &Answer, text: &mut String) {
    // Infallible: a String takes everything.
    let _ = write!(
        text,
        "== {title}: exit {}\n-- stdout\n{}-- stderr\n{}",
        answer.status, answer.stdout, answer.stderr
    );
}

fn golden(host: &str, payload: &str, after: &str) -> String {
    let mut text = String::new();
    for (title, command) in
        [("allow", "ls"), ("confirm", "git reset --hard"), ("deny", "rm -rf ~"), ("a bare shell", "bash -i")]
    {
        show(title, &answer(with_command(payload, command).as_bytes(), Some(host)), &mut text);
    }
    for (title, broken) in BROKEN {
        show(title, &answer(&broken(&with_command(payload, "ls")), Some(host)), &mut text);
    }
    if !after.is_empty() {
        let judge = Script { refusals: vec!["/home/dev [floor-path]: unlink refused".into()] };
        let after = with_command(after, "make");
        show(
            "after a refusal",
            &hook::answer(after.as_bytes(), Some(host), Path::new("/here"), &judge),
            &mut text,
        );
        show("after nothing", &answer(after.as_bytes(), Some(host)), &mut text);
    }
    text
}

#[test]
fn every_host_gets_the_bytes_that_it_understands() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/golden");
    for Example { host, before: payload, after } in EXAMPLES {
        let found = golden(host, payload, after);
        let path = directory.join(format!("{host}.txt"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &found).expect("written");
        }
        let expected = std::fs::read_to_string(&path).expect("a golden file");
        assert_eq!(found, expected, "{host}: see golden/{host}.txt");
    }
}

#[test]
fn every_row_of_the_table_has_a_payload_and_is_told_by_it_alone() {
    let rows: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
    let tested: Vec<&str> = EXAMPLES.iter().map(|example| example.host).collect();
    assert_eq!(rows, tested);
    for Example { host, before: payload, after } in EXAMPLES {
        for payload in [payload, after].into_iter().filter(|payload| !payload.is_empty()) {
            let document = document::read(payload.as_bytes()).expect("a document");
            assert_eq!(tell::by_shape(&document).map(|host| host.name), Some(*host), "{payload}");
        }
    }
}

#[test]
fn a_host_that_runs_anothers_file_is_answered_in_its_own_shape() {
    let claude = table::find("claude-code").expect("a row");
    for guest in claude.guests {
        let payload = examples::of(guest).expect("a payload").with("rm -rf ~");
        assert_eq!(
            answer(payload.as_bytes(), Some("claude-code")),
            answer(payload.as_bytes(), Some(guest)),
            "{guest}"
        );
    }
}

#[test]
fn a_refusal_holds_in_three_ways_and_is_the_same_in_each() {
    for Example { host, before: payload, .. } in EXAMPLES {
        let row = table::find(host).expect("a row");
        let refused = answer(with_command(payload, "rm -rf ~").as_bytes(), Some(host));
        assert_eq!(refused.status, row.answer.refusal_exit, "{host}");
        assert!(refused.stderr.contains("/home/dev") && refused.stderr.contains("floor-path"), "{host}");
        if row.answer.deny.is_some() {
            let document: Value = serde_json::from_str(&refused.stdout).expect("one document");
            assert!(texts(&document).contains(&refused.stderr.trim_end().to_owned()), "{host}: {document}");
        } else {
            assert_eq!(refused.stdout, "", "{host}");
            assert_eq!(refused.status, 2, "{host}: a status is all that it has");
        }
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Object(map) => map.values().flat_map(texts).collect(),
        _ => vec![],
    }
}

#[test]
fn nothing_is_printed_for_allow_unless_the_payload_wants_a_word() {
    for Example { host, before: payload, .. } in EXAMPLES {
        let explicit = payload.contains("\"explicit\":true");
        let allowed = answer(with_command(payload, "ls").as_bytes(), Some(host));
        assert_eq!(allowed.stdout.is_empty(), !explicit, "{host}");
        assert_eq!((allowed.stderr.as_str(), allowed.status), ("", 0), "{host}");
    }
}

#[test]
fn what_no_host_can_be_told_of_is_refused_by_status_and_reason_alone() {
    for (title, broken) in BROKEN.iter().take(8) {
        let payload = EXAMPLES[0].before;
        let refused = answer(&broken(&with_command(payload, "ls")), None);
        assert_eq!((refused.stdout.as_str(), refused.status), ("", 2), "{title}");
        assert!(refused.stderr.contains("could not judge"), "{title}");
    }
    let nobody = answer(br#"{"hello":"world"}"#, None);
    assert_eq!((nobody.stdout.as_str(), nobody.status), ("", 2));
    let unknown = answer(br#"{"command":"ls"}"#, Some("emacs"));
    assert_eq!((unknown.stdout.as_str(), unknown.status), ("", 2));
}

#[test]
fn a_file_tool_is_judged_by_its_path() {
    let write = |tool: &str, key: &str, path: &str| {
        format!(
            r#"{{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"{tool}","tool_input":{{"{key}":"{path}","content":"rm -rf ~"}},"tool_use_id":"u"}}"#
        )
    };
    let refused = answer(write("Write", "file_path", "/home/dev/protected").as_bytes(), Some("claude-code"));
    assert_eq!(refused.status, 2);
    let allowed = answer(write("Write", "file_path", "/p/a.txt").as_bytes(), Some("claude-code"));
    assert_eq!(allowed, Answer::default());
    let read = answer(write("Read", "file_path", "/home/dev/protected").as_bytes(), Some("claude-code"));
    assert_eq!(read, Answer::default(), "reading destroys nothing");
    let report = Script::default().judge(
        &Question::File(FileAct::Delete, "/protected".into()),
        Path::new("/"),
        Asker { mode: Mode::Interactive, surface: Surface::Text },
    );
    assert_eq!(report.verdict, Verdict::Deny);
}

#[test]
fn a_humans_own_command_is_stopped_only_by_a_denial() {
    let typed = |command: &str| {
        format!(
            r#"{{"agent":"pi","event":"user_bash","human":true,"explicit":true,"ask":true,"cwd":"/p","tool_name":"bash","tool_input":{{"command":"{command}"}}}}"#
        )
    };
    let verdict = |command: &str| {
        let document: Value =
            serde_json::from_str(&answer(typed(command).as_bytes(), Some("pi")).stdout).expect("a document");
        document["verdict"].as_str().map(str::to_owned)
    };
    assert_eq!(verdict("git reset --hard").as_deref(), Some("allow"));
    assert_eq!(verdict("rm -rf ~").as_deref(), Some("deny"));
}

#[test]
fn a_document_that_cannot_be_delivered_becomes_the_blocking_status() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let copilot = table::find("copilot").expect("a row");
    let refused = Answer::deny(Some(copilot), &reason::of_failure("No."));
    assert_eq!(refused.status, 0);
    assert_eq!(refused.write(Closed, Vec::new()), 2);
}
