//! Who may answer, and what was answered?
//!
//! A question goes to the terminal if a person sits there whom the session cannot imitate ([`super::terminal`]). Otherwise
//! the act is refused with a number, and a person outside the session may approve that number ([`super::door`]): then
//! exactly this command passes once, soon. What is approved covers what the approved program starts.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::bench::lock;
use super::caller::{self, ExecRequest};
use super::question::{Matter, Object, Question};
use super::secrets;
use super::terminal::{Spoken, Terminal};
use crate::report::human;

/// A question can be answered for so long.
pub const OPEN: Duration = Duration::from_secs(30 * 60);
/// An approved command may come for so long.
pub const APPROVED: Duration = Duration::from_secs(10 * 60);
/// Questions may be paused for so long.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(8 * 60 * 60);
/// So many open questions are kept; the oldest goes first.
const KEPT: usize = 64;

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A person said yes.
    Yes,
    /// What it asks is part of something that the program above was approved for.
    Covered,
    /// A person said no, or nothing in time.
    No(Spoken),
    /// Nobody could be asked; this number can be approved.
    Nobody(String),
}

/// The questions of one session.
#[derive(Debug)]
pub struct Desk {
    terminal: Option<Terminal>,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    open: VecDeque<Entry>,
    running: VecDeque<Running>,
    paused_until: Option<Instant>,
    /// Someone is being asked at the terminal.
    busy: bool,
}

#[derive(Debug)]
struct Entry {
    number: String,
    matter: Matter,
    /// For people.
    text: String,
    command: String,
    asked: Instant,
    approved: Option<Instant>,
}

impl Entry {
    fn is_alive(&self, now: Instant) -> bool {
        match self.approved {
            Some(at) => now.duration_since(at) < APPROVED,
            None => now.duration_since(self.asked) < OPEN,
        }
    }
}

/// A program that was approved, and may still run. Its start time tells it from one that took over its pid.
#[derive(Debug)]
struct Running {
    process: libc::pid_t,
    started: u64,
    matter: Matter,
}

impl Desk {
    /// A desk; with a terminal, questions are asked there first.
    pub fn new(terminal: Option<Terminal>) -> Self {
        Self { terminal, book: Mutex::default() }
    }

    /// Asks, or remembers what was asked.
    pub fn ask(&self, request: &ExecRequest, question: &Question) -> Reply {
        let matter = Matter::new(request, question);
        let now = Instant::now();
        {
            let mut book = lock(&self.book);
            book.open.retain(|entry| entry.is_alive(now));
            if is_covered(&mut book.running, request.tid, &matter) {
                return Reply::Covered;
            }
            if book.paused_until.is_some_and(|until| now < until) || book.take_approved(&matter) {
                return Reply::Yes;
            }
        }
        if question.futile.is_none()
            && let Some(said) = self.ask_at_terminal(question)
        {
            return match said {
                Spoken::Yes => Reply::Yes,
                other => Reply::No(other),
            };
        }
        Reply::Nobody(lock(&self.book).note(matter, question, now))
    }

    /// `None`: nobody can be asked there now.
    fn ask_at_terminal(&self, question: &Question) -> Option<Spoken> {
        let terminal = self.terminal.as_ref()?;
        // A second question would wait behind the first, and with it an exec that has nothing to do with either.
        if std::mem::replace(&mut lock(&self.book).busy, true) {
            return None;
        }
        let said = terminal.ask(&text(question));
        lock(&self.book).busy = false;
        said
    }

    /// The program that `request` starts was approved: what it starts in turn is not asked about again.
    pub fn is_started(&self, request: &ExecRequest, question: &Question) {
        let Some((process, started)) =
            caller::process_of(request.tid).and_then(|process| Some((process, caller::start_time(process)?)))
        else {
            return;
        };
        let mut book = lock(&self.book);
        if book.running.len() >= KEPT {
            book.running.pop_front();
        }
        book.running.push_back(Running { process, started, matter: Matter::new(request, question) });
    }

    /// The open questions, for a person outside.
    pub fn list(&self) -> Value {
        let now = Instant::now();
        let book = lock(&self.book);
        let open = book.open.iter().filter(|entry| entry.is_alive(now) && entry.approved.is_none());
        open.map(|entry| {
            json!({
                "id": entry.number,
                "command": entry.command,
                "text": entry.text,
                "age_seconds": now.duration_since(entry.asked).as_secs(),
                "paths": entry.matter.objects.iter().map(|object| object.path.to_string_lossy().into_owned()).collect::<Vec<_>>(),
            })
        })
        .collect()
    }

    /// A person outside said yes to this number. `false`: there is no such question.
    pub fn approve(&self, number: &str) -> bool {
        let now = Instant::now();
        let mut book = lock(&self.book);
        let entry = book
            .open
            .iter_mut()
            .find(|entry| entry.number == number && entry.approved.is_none() && entry.is_alive(now));
        entry.map(|entry| entry.approved = Some(now)).is_some()
    }

    /// A person outside answers all questions with yes for a time; nothing ends it.
    pub fn pause(&self, time: Duration) {
        let until = (!time.is_zero()).then(|| Instant::now() + time.min(LONGEST_PAUSE));
        lock(&self.book).paused_until = until;
    }
}

impl Book {
    /// Uses up an approval of exactly this.
    fn take_approved(&mut self, matter: &Matter) -> bool {
        let found = self.open.iter().position(|entry| entry.approved.is_some() && entry.matter == *matter);
        found.and_then(|at| self.open.remove(at)).is_some()
    }

    /// Writes the question down, once, and returns its number.
    fn note(&mut self, matter: Matter, question: &Question, now: Instant) -> String {
        let same = |entry: &&mut Entry| entry.approved.is_none() && entry.matter == matter;
        if let Some(entry) = self.open.iter_mut().find(same) {
            entry.asked = now;
            return entry.number.clone();
        }
        if self.open.len() >= KEPT {
            self.open.pop_front();
        }
        let number = number();
        self.open.push_back(Entry {
            number: number.clone(),
            matter,
            text: text(question),
            command: secrets::mask(&question.report.command),
            asked: now,
            approved: None,
        });
        number
    }
}

/// Six digits: it is to be typed by a person. Nothing depends on it being a secret.
fn number() -> String {
    let mut bytes = [0u8; 3];
    // SAFETY: the pointer and the length describe `bytes`. Should it fail, a number repeats, and the older question of
    // that number is found first.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether an ancestor of the thread, or its own process before this exec, was approved for it.
fn is_covered(running: &mut VecDeque<Running>, thread: libc::pid_t, matter: &Matter) -> bool {
    running.retain(|entry| caller::start_time(entry.process) == Some(entry.started));
    if running.is_empty() {
        return false;
    }
    let guard = std::process::id() as libc::pid_t;
    let ancestors = caller::chain(thread, guard);
    ancestors.iter().any(|ancestor| {
        running.iter().any(|entry| entry.process == ancestor.pid && entry.matter.covers(matter))
    })
}

/// The question, for people.
fn text(question: &Question) -> String {
    let rendered = anstream::adapter::strip_str(&human::render(&question.report)).to_string();
    let mut text = secrets::mask(&rendered);
    let covers = |object: &Object| if object.cover.0 >> 16 == 0 { "" } else { ", and everything below it" };
    for object in &question.objects {
        let path = human::clean(&object.path.to_string_lossy());
        text.push_str(&format!("  a yes     covers {path}{}\n", covers(object)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Report;
    use crate::policy::finding::Finding;
    use blastradius_common::{RuleId, Verdict};

    fn request(argv: &[&str]) -> ExecRequest {
        ExecRequest {
            tid: nix::unistd::gettid().as_raw(),
            path: argv[0].into(),
            argv: argv.iter().map(Into::into).collect(),
            env: Vec::new(),
            cwd: "/w".into(),
            root: None,
            uid: 1000,
        }
    }

    fn question(target: &str) -> Question {
        let finding = Finding {
            rule: RuleId::GitDiscard,
            verdict: Verdict::Confirm,
            target: target.to_owned(),
            resolved: None,
            segment: target.to_owned(),
            reasons: vec!["uncommitted work would go".to_owned()],
            advice: None,
        };
        let report =
            Report { command: target.to_owned(), verdict: Verdict::Confirm, findings: vec![finding] };
        Question { report, objects: Vec::new(), binding: true, futile: None }
    }

    #[test]
    fn an_approval_is_for_one_exact_command_and_for_once() {
        let desk = Desk::new(None);
        let reset = request(&["git", "reset", "--hard"]);
        let asked = question("git reset --hard");
        let Reply::Nobody(number) = desk.ask(&reset, &asked) else { panic!("nobody is there") };
        assert_eq!(desk.ask(&reset, &asked), Reply::Nobody(number.clone()), "asked again, the number stays");
        assert!(!desk.approve("000000x"));
        assert!(desk.approve(&number));
        assert!(!desk.approve(&number), "a number is approved once");
        let other = request(&["git", "reset", "--hard", "HEAD~3"]);
        assert!(matches!(desk.ask(&other, &question("git reset --hard HEAD~3")), Reply::Nobody(_)));
        assert_eq!(desk.ask(&reset, &asked), Reply::Yes);
        assert!(matches!(desk.ask(&reset, &asked), Reply::Nobody(next) if next != number));
    }

    #[test]
    fn what_the_approved_program_starts_is_not_asked_again() {
        let desk = Desk::new(None);
        let mut program = std::process::Command::new("sleep").arg("30").spawn().expect("started");
        let tid = program.id() as libc::pid_t;
        let request = |argv: &[&str]| ExecRequest { tid, ..request(argv) };
        let (shell, asked) = (request(&["sh", "-c", "git reset --hard"]), question("git reset --hard"));
        desk.is_started(&shell, &asked);
        assert_eq!(desk.ask(&request(&["git", "reset", "--hard"]), &asked), Reply::Covered);
        assert!(matches!(desk.ask(&shell, &question("git clean -fdx")), Reply::Nobody(_)));
        program.kill().expect("ours");
        program.wait().expect("ours");
        assert!(
            matches!(desk.ask(&shell, &asked), Reply::Nobody(_)),
            "the program has ended, and its pid is free"
        );
    }

    #[test]
    fn a_pause_ends() {
        let desk = Desk::new(None);
        let (reset, asked) = (request(&["git", "reset", "--hard"]), question("git reset --hard"));
        desk.pause(Duration::from_secs(60));
        assert_eq!(desk.ask(&reset, &asked), Reply::Yes);
        desk.pause(Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(5));
        assert!(matches!(desk.ask(&reset, &asked), Reply::Nobody(_)));
    }

    #[test]
    fn open_questions_are_bounded_and_listed() {
        let desk = Desk::new(None);
        for index in 0..2 * KEPT {
            desk.ask(&request(&["git", &index.to_string()]), &question("git reset --hard"));
        }
        assert_eq!(desk.list().as_array().map(Vec::len), Some(KEPT));
    }
}
