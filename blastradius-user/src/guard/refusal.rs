//! How does the offender hear of it?
//!
//! A refusal is written where the offending program writes its own errors, before the call fails, so that an agent reads
//! it in its tool's output. It must cost that program nothing: the write is bounded and never waits, and a burst of
//! refusals about one place is folded into a count.

use std::collections::HashMap;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use blastradius_common::RuleId;
use serde_json::{Map, Value, json};

use super::caller::{self, Ancestor};
use super::secrets;
use crate::analysis::Report;
use crate::policy::finding::Finding;
use crate::report::human;

/// Which layer refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The exec was refused before it started.
    Exec,
    /// A system call was refused by the kernel.
    Kernel,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The call failed.
    Refused,
    /// It would have failed, but this session only watches (`--audit`).
    Audited,
    /// It passed with a warning.
    Warned,
    /// A person let it pass.
    Approved,
}

/// One refusal, joined with who caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which layer.
    pub layer: Layer,
    /// What became of it.
    pub outcome: Outcome,
    /// What was attempted, for the kernel layer: `unlink`, `rename`, ….
    pub operation: Option<&'static str>,
    /// The judgement.
    pub report: Report,
    /// The offender and its ancestors, up to the agent.
    pub chain: Vec<Ancestor>,
    /// The offender's working directory.
    pub cwd: Option<PathBuf>,
    /// The number under which a person may allow it.
    pub offer: Option<String>,
}

/// Longest text that is written to someone else's standard error: what a pipe takes in one piece (PIPE_BUF, pipe(7)).
const LONGEST: usize = 4096;

impl Refusal {
    /// The text for people and agents, without colours: it goes to another program's output.
    pub fn text(&self) -> String {
        let rendered = human::render(&self.report);
        let mut text = anstream::adapter::strip_str(&rendered).to_string();
        if let Some(offer) = &self.offer {
            text.push_str(&format!(
                "  approve   a person may allow exactly this once, outside this session: blastradius approve {offer}\n"
            ));
        }
        cut(secrets::mask(&text))
    }

    /// The fields of its log record.
    pub fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert(
            "layer".into(),
            json!(match self.layer {
                Layer::Exec => "exec",
                Layer::Kernel => "kernel",
            }),
        );
        fields.insert("verdict".into(), json!(self.report.verdict.name()));
        if let Some(operation) = self.operation {
            fields.insert("operation".into(), json!(operation));
        }
        if let Some(finding) = self.report.findings.first() {
            fields.insert("rule".into(), json!(finding.rule.id()));
            fields.insert("target".into(), json!(finding.target));
            fields.insert("resolved".into(), json!(finding.resolved.as_deref().map(lossy)));
            fields.insert("reasons".into(), json!(finding.reasons));
            fields.insert("advice".into(), json!(finding.advice));
        }
        let others = self.report.findings.iter().skip(1);
        let others: Vec<Value> = others.take(OTHERS).map(other).collect();
        if !others.is_empty() {
            fields.insert("others".into(), Value::Array(others));
        }
        let offender = self.chain.first();
        fields.insert("pid".into(), json!(offender.map(|offender| offender.pid)));
        fields.insert("exe".into(), json!(offender.and_then(|offender| offender.exe.as_deref()).map(lossy)));
        fields.insert("command".into(), json!(secrets::mask(&self.report.command)));
        fields.insert("cwd".into(), json!(self.cwd.as_deref().map(lossy)));
        fields.insert("offer".into(), json!(self.offer));
        fields.insert("chain".into(), self.chain.iter().map(ancestor).collect());
        fields
    }

    /// The event's name in the log.
    pub const fn event(&self) -> &'static str {
        match self.outcome {
            Outcome::Refused => "refused",
            Outcome::Audited => "audited",
            Outcome::Warned => "warned",
            Outcome::Approved => "approved",
        }
    }

    /// One line for the end report.
    pub fn line(&self) -> String {
        let finding = self.report.findings.first();
        let rule = finding.map_or("-", |finding| finding.rule.id());
        let command = human::clean(&secrets::mask(&self.report.command));
        let path = finding.and_then(|finding| finding.resolved.as_deref()).map(lossy);
        // A program whose words do not name it (a script's own act, a fork without an exec): which object was it?
        let path = path.filter(|path| !self.report.command.contains(path.as_str()));
        let path = path.map_or_else(String::new, |path| format!("  → {}", human::clean(&path)));
        format!("{}{path}  [{rule}]", cut_to(&command, 100))
    }

    /// The rule, and the directory of the object.
    pub fn place(&self) -> (Option<RuleId>, Option<PathBuf>) {
        let finding = self.report.findings.first();
        let resolved = finding.and_then(|finding| finding.resolved.as_deref());
        (finding.map(|finding| finding.rule), resolved.and_then(Path::parent).map(Path::to_owned))
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// So many further findings of one command are kept.
const OTHERS: usize = 64;

fn other(finding: &Finding) -> Value {
    json!({
        "verdict": finding.verdict.name(),
        "rule": finding.rule.id(),
        "target": finding.target,
        "resolved": finding.resolved.as_deref().map(lossy),
    })
}

fn ancestor(ancestor: &Ancestor) -> Value {
    let argv = secrets::mask_all(ancestor.argv.iter().map(|word| word.to_string_lossy()));
    json!({ "pid": ancestor.pid, "exe": ancestor.exe.as_deref().map(lossy), "argv": argv })
}

fn cut_to(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST - 1).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push('\n');
    }
    text
}

/// What a burst has in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    rule: Option<RuleId>,
    directory: Option<PathBuf>,
}

/// A run of refusals about one place.
#[derive(Debug)]
struct Burst {
    last: Instant,
    spoken: usize,
    folded: u64,
    ear: Option<OwnedFd>,
}

/// Folds bursts. Refusals about one place that follow each other within a second are one burst; the first few are
/// spoken, the rest is counted, and the count is spoken when the burst is over.
#[derive(Debug, Default)]
pub struct Folder {
    bursts: HashMap<Place, Burst>,
}

/// A burst is over when so long nothing was added.
const QUIET: Duration = Duration::from_secs(1);
/// So many of a burst are spoken in full.
const SPOKEN: usize = 3;
/// So many bursts are followed at once; beyond, each refusal is spoken.
const BURSTS: usize = 1024;

impl Folder {
    /// Says it to the first of these tasks that still lives (the offender, then its ancestors), or counts it.
    pub fn tell(&mut self, tids: &[libc::pid_t], refusal: &Refusal, now: Instant) {
        let (rule, directory) = refusal.place();
        let place = Place { rule, directory };
        let ear = tids.iter().find_map(|&tid| caller::stderr_of(tid));
        if !self.bursts.contains_key(&place) && self.bursts.len() >= BURSTS {
            speak(ear.as_ref(), &refusal.text());
            return;
        }
        let burst = self.bursts.entry(place).or_insert(Burst { last: now, spoken: 0, folded: 0, ear: None });
        burst.last = now;
        if burst.spoken < SPOKEN {
            burst.spoken += 1;
            speak(ear.as_ref(), &refusal.text());
        } else {
            burst.folded += 1;
        }
        burst.ear = ear.or(burst.ear.take());
    }

    /// Speaks the counts of the bursts that are over; of all of them if `end`.
    pub fn settle(&mut self, now: Instant, end: bool) {
        self.bursts.retain(|place, burst| {
            if !end && now.duration_since(burst.last) < QUIET {
                return true;
            }
            if burst.folded > 0 {
                let rule = place.rule.map_or("-", RuleId::id);
                let below = place
                    .directory
                    .as_deref()
                    .map_or(String::new(), |dir| format!(" below {}", dir.display()));
                speak(
                    burst.ear.as_ref(),
                    &format!("blastradius  and {} more{below} ({rule})\n", thousands(burst.folded)),
                );
            }
            false
        });
    }

    /// When [`Self::settle`] has something to do, if ever.
    pub fn next_settling(&self) -> Option<Instant> {
        self.bursts.values().map(|burst| burst.last + QUIET).min()
    }
}

/// `2,228`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(group.iter().map(|&digit| char::from(digit)));
    }
    text
}

/// Writes to a descriptor that another process gave its errors to. Never waits; what does not fit is lost there, and is
/// in the log.
fn speak(ear: Option<&OwnedFd>, text: &str) {
    let Some(ear) = ear else { return };
    let here = format!("/proc/self/fd/{}", ear.as_raw_fd());
    let Ok(meta) = std::fs::metadata(&here) else { return };
    let kind = meta.file_type();
    if kind.is_socket() {
        let flags = nix::sys::socket::MsgFlags::MSG_DONTWAIT | nix::sys::socket::MsgFlags::MSG_NOSIGNAL;
        let _ = nix::sys::socket::send(ear.as_raw_fd(), text.as_bytes(), flags);
    } else if kind.is_file() {
        // The shared offset puts it where the program writes next; a regular file does not make a writer wait.
        let _ = nix::unistd::write(ear, text.as_bytes());
    } else {
        // A second opening of the pipe or terminal: O_NONBLOCK on the shared one would be seen by the program.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
        if let Ok(mut file) = std::fs::OpenOptions::new().write(true).custom_flags(flags).open(&here) {
            let _ = file.write(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::finding::Finding;
    use blastradius_common::Verdict;
    use std::io::Read as _;

    fn refusal(command: &str, resolved: &str) -> Refusal {
        let finding = Finding {
            rule: RuleId::OutOfScope,
            verdict: Verdict::Deny,
            target: resolved.to_owned(),
            resolved: Some(resolved.into()),
            segment: command.to_owned(),
            reasons: vec!["it lies outside scope".to_owned()],
            advice: Some("rm -rf build".to_owned()),
        };
        let report = Report { command: command.to_owned(), verdict: Verdict::Deny, findings: vec![finding] };
        Refusal {
            layer: Layer::Exec,
            outcome: Outcome::Refused,
            operation: None,
            report,
            chain: Vec::new(),
            cwd: None,
            offer: None,
        }
    }

    #[test]
    fn the_text_names_command_path_reason_rule_and_a_way_out() {
        let text = refusal("rm -rf /srv/x --token=abc", "/srv/x").text();
        for part in
            ["BLOCKED", "/srv/x --token=[masked]", "it lies outside scope", "out-of-scope", "rm -rf build"]
        {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_name_cannot_write_to_the_terminal_and_a_long_one_cannot_fill_a_pipe() {
        let text = refusal("rm \u{1b}[2J", "/srv/x").text();
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(refusal(&"x".repeat(100_000), &"/y".repeat(50_000)).text().len() <= LONGEST + 1);
    }

    #[test]
    fn a_burst_is_folded_into_a_count() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let out = dir.path().join("out");
        let file = std::fs::File::create(&out).expect("made");
        let mut folder = Folder::default();
        let now = Instant::now();
        // A tid that does not exist: nothing is spoken, but the burst is counted; its ear is set by hand.
        for index in 0..2231 {
            folder.tell(&[], &refusal("x", &format!("/srv/data/{index}")), now);
        }
        for burst in folder.bursts.values_mut() {
            burst.ear = Some(file.try_clone().expect("a copy").into());
        }
        folder.settle(now, false);
        assert!(folder.next_settling().is_some());
        folder.settle(now + 2 * QUIET, false);
        assert_eq!(folder.next_settling(), None);
        let mut text = String::new();
        std::fs::File::open(&out).expect("there").read_to_string(&mut text).expect("text");
        assert_eq!(text, "blastradius  and 2,228 more below /srv/data (out-of-scope)\n");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 12, 999, 1000, 1_234_567].map(thousands), ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
