//! The corpus against a real file system: the made-up world and the machine's own must lead to the same answers.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use blastradius_common::Verdict;
use blastradius_tests::cases::{Answer, Case, Facts};
use serde_json::{Value, json};

use super::cases_of;

/// What every case starts from.
const ENVIRONMENT: &[(&str, &str)] =
    &[("HOME", "/home/dev"), ("USER", "dev"), ("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8")];

/// One line for `check --batch`.
fn request(case: &Case) -> String {
    let mut environment: BTreeMap<&str, Option<&str>> =
        ENVIRONMENT.iter().map(|(name, value)| (*name, Some(*value))).collect();
    environment.extend(case.env.iter().map(|(name, value)| (name.as_str(), value.as_deref())));
    let mut request = json!({
        "id": case.id, "command": case.command, "cwd": case.cwd, "env": environment, "clear_env": true,
    });
    if let Some(platform) = &case.platform {
        request["platform"] = json!(platform);
    }
    request.to_string()
}

/// The facts of a case as text for bash, in the project.
fn facts(facts: &Facts) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut text = String::new();
    for entry in &facts.entries {
        let make = if entry.ends_with('/') { "mkdir -p" } else { "touch" };
        text.push_str(&format!("{make} -- ./{}\n", quoted(entry)));
    }
    for (name, target) in &facts.symlinks {
        text.push_str(&format!("ln -s -- {} ./{}\n", quoted(target), quoted(name)));
    }
    text
}

/// Cases that one process can answer: the same reader, the same tree.
fn batches(cases: Vec<Case>) -> BTreeMap<(String, String), Vec<Case>> {
    let mut batches: BTreeMap<_, Vec<Case>> = BTreeMap::new();
    for case in cases {
        let shell = case.shell.clone().unwrap_or_else(|| "bash".into());
        let facts = case.fs.as_ref().map(facts).unwrap_or_default();
        batches.entry((shell, facts)).or_default().push(case);
    }
    batches
}

fn answers(
    shell: &str,
    facts: &str,
    cases: &[Case],
) -> Result<BTreeMap<String, (String, Vec<String>)>, String> {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/fixture.sh");
    let mut child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "bash"])
        .arg(fixture)
        .args(["blastradius", "check", "--batch", "--shell", shell])
        .env("BLASTRADIUS", blastradius_tests::binary())
        .env("FACTS", facts)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("unshare: {error}"))?;
    let lines: String = cases.iter().map(|case| request(case) + "\n").collect();
    let mut stdin = child.stdin.take().expect("it was asked for");
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let written = writer.join().expect("the writer does not panic");
    if !output.status.success() || written.is_err() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let answer = |line: &str| -> Option<(String, (String, Vec<String>))> {
        let answer: Value = serde_json::from_str(line).ok()?;
        let rules = answer["findings"].as_array()?.iter().filter_map(|finding| finding["rule"].as_str());
        let rules = rules.map(str::to_owned).collect();
        Some((answer["id"].as_str()?.to_owned(), (answer["verdict"].as_str()?.to_owned(), rules)))
    };
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(answer).collect())
}

#[test]
fn the_real_world_leads_to_the_same_answers() {
    if !nix::unistd::geteuid().is_root() {
        println!("not run here: needs root for a private root directory");
        return;
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for ((shell, facts), cases) in
        batches(["text.jsonl", "more.jsonl"].into_iter().flat_map(cases_of).collect())
    {
        let answers = match answers(&shell, &facts, &cases) {
            Ok(answers) => answers,
            Err(why) if why.contains("unshare") || why.contains("mount") => {
                println!("not run here: no private root can be made: {why}");
                return;
            }
            Err(why) => panic!("check --batch failed: {why}"),
        };
        for case in &cases {
            count += 1;
            let (verdict, rules) = answers.get(&case.id).unwrap_or_else(|| panic!("{}: no answer", case.id));
            let got = Answer::of(Verdict::from_name(verdict).expect("a verdict"));
            if !case.accepts(got) {
                let Case { id, expect, command, why, .. } = case;
                wrong.push(format!("{id} wants {expect} got {verdict} {rules:?}: {command:?}  ({why})"));
            }
        }
    }
    println!("{count} cases in a real file system, {} wrong\n  {}", wrong.len(), wrong.join("\n  "));
    assert!(
        wrong.is_empty(),
        "{} answered otherwise in a real file system:\n  {}",
        wrong.len(),
        wrong.join("\n  ")
    );
}
