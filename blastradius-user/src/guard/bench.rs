//! Who answers, when several programs start at once?
//!
//! A few threads receive from one listener. Each has a judge of its own, so a question that takes long delays nobody
//! else until all are busy. A judge that panics costs the exec that it was asked about: it is refused, and the thread
//! goes on with a new judge.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blastradius_common::{Id, grant::Cover};
use nix::errno::Errno;
use tokio::sync::mpsc;

use super::caller::{self, ExecRequest};
use super::denied::{Memory, Started};
use super::desk::{Desk, Reply};
use super::judge::{self, Answer, ExecJudge, MakeJudge};
use super::kernel_rung::Grants;
use super::notify::{Listener, Silence, Trapped};
use super::question::{Object, Question};
use super::refusal::{Folder, Layer, Outcome, Refusal};
use crate::analysis::Report;

/// What the threads tell the guard.
#[derive(Debug)]
pub enum News {
    /// Something was refused (or would have been), and the offender has been told.
    Spoken(Box<Refusal>),
    /// The kernel does not hand out the execs: the session cannot go on.
    Broken(Errno),
}

/// Judges at work.
pub struct Bench {
    shared: Arc<Shared>,
}

/// What the threads need besides the listener.
pub struct Order {
    /// Makes a judge for each thread.
    pub make: Arc<MakeJudge>,
    /// Folds bursts.
    pub folder: Arc<Mutex<Folder>>,
    /// Where programs are remembered, if they are.
    pub memory: Option<Arc<Mutex<Memory>>>,
    /// Where the guard hears.
    pub news: mpsc::Sender<News>,
    /// Refuse nothing.
    pub audit: bool,
    /// Where questions go; without one they are refused.
    pub desk: Option<Arc<Desk>>,
    /// What puts a yes into the kernel.
    pub grants: Option<Grants>,
}

struct Shared {
    listener: Listener,
    make: Arc<MakeJudge>,
    folder: Arc<Mutex<Folder>>,
    /// What was started, where someone wants to know it later.
    memory: Option<Arc<Mutex<Memory>>>,
    news: mpsc::Sender<News>,
    audit: bool,
    desk: Option<Arc<Desk>>,
    grants: Option<Grants>,
    execs: AtomicU64,
    /// How long the judges took for the last execs.
    times: Mutex<VecDeque<Duration>>,
}

/// So many times are kept for the median.
const TIMED: usize = 1024;
/// Enough that one slow question (git counting a large work tree) does not stop a parallel build.
const JUDGES: usize = 4;
/// The analyzer descends into nested text; the limit of its depth is its own, and fits in here.
const STACK: usize = 16 << 20;

impl Bench {
    /// Starts the threads.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn open(listener: Listener, order: Order) -> io::Result<Self> {
        let Order { make, folder, memory, news, audit, desk, grants } = order;
        let execs = AtomicU64::new(0);
        let shared = Arc::new(Shared {
            listener,
            make,
            folder,
            memory,
            news,
            audit,
            desk,
            grants,
            execs,
            times: Mutex::default(),
        });
        for index in 0..JUDGES {
            let shared = shared.clone();
            let builder = std::thread::Builder::new().name(format!("judge-{index}")).stack_size(STACK);
            builder.spawn(move || shared.serve())?;
        }
        Ok(Self { shared })
    }

    /// Whether no task with the filter is left.
    pub fn is_over(&self) -> bool {
        self.shared.listener.is_over()
    }

    /// The median time that the judges took, in microseconds; of the last execs, where there were many.
    pub fn judging_micros(&self) -> Option<u64> {
        let mut times: Vec<_> = lock(&self.shared.times).iter().copied().collect();
        times.sort_unstable();
        times.get(times.len() / 2).map(|time| time.as_micros() as u64)
    }

    /// How many execs were asked about.
    pub fn execs(&self) -> u64 {
        self.shared.execs.load(Ordering::Relaxed)
    }
}

/// What is locked here is only counts and names: what a panic left of them is still good.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn covers(objects: &[Object]) -> Vec<(Id, Cover)> {
    objects.iter().map(|object| (object.id, object.cover)).collect()
}

fn process_of(trapped: &Trapped) -> io::Result<libc::pid_t> {
    caller::process_of(trapped.tid).ok_or_else(|| io::Error::other("it has ended"))
}

/// The exec that was asked about carries the grant.
fn hand_over(grants: &Grants, trapped: &Trapped, request: &ExecRequest, grant: u32) -> io::Result<()> {
    let root = request.root.as_deref().unwrap_or(Path::new("/"));
    let binary = grants.identify_program(root, &request.cwd.join(&request.path))?;
    grants.expect(grant, process_of(trapped)?, trapped.tid, binary)
}

impl Shared {
    fn folder(&self) -> MutexGuard<'_, Folder> {
        lock(&self.folder)
    }

    fn serve(&self) {
        let mut judge = (self.make)();
        loop {
            match self.listener.receive() {
                Ok(trapped) => {
                    self.execs.fetch_add(1, Ordering::Relaxed);
                    self.answer(&trapped, &mut judge);
                }
                Err(Silence::Again) => {}
                Err(Silence::Over) => return,
                Err(Silence::Broken(errno)) => {
                    // Nobody listens only when the guard is ending anyway.
                    let _ = self.news.blocking_send(News::Broken(errno));
                    return;
                }
            }
        }
    }

    fn answer(&self, trapped: &Trapped, judge: &mut Box<dyn ExecJudge>) {
        let request = ExecRequest::read(trapped);
        if !self.listener.is_waiting(trapped) {
            return;
        }
        match request {
            Err(error) => match error.natural() {
                Some(errno) => self.listener.fail(trapped, errno),
                None => self.refuse(trapped, None, judge::unreadable(error), None),
            },
            Ok(request) => match request.is_missing() {
                Some(errno) => self.listener.fail(trapped, errno),
                None => self.decide(trapped, &request, judge),
            },
        }
    }

    fn decide(&self, trapped: &Trapped, request: &ExecRequest, judge: &mut Box<dyn ExecJudge>) {
        match self.ask(request, judge) {
            Answer::Allow(report, lent) => {
                if let Some(report) = report {
                    self.tell_guard(self.refusal(trapped, Some(request), report, Outcome::Warned));
                }
                self.lend(trapped, request, &lent);
                self.allow(trapped, request, None);
            }
            Answer::Refuse(report) => self.refuse(trapped, Some(request), report, None),
            Answer::Ask(question) => self.put(trapped, request, *question, judge),
        }
    }

    fn allow(&self, trapped: &Trapped, request: &ExecRequest, offer: Option<String>) {
        if let Some(memory) = &self.memory {
            let parent = caller::parent_of(trapped.tid).unwrap_or(0);
            let started = Started { parent, argv: request.argv.clone(), cwd: request.cwd.clone(), offer };
            lock(memory).add(trapped.tid, started);
        }
        self.listener.allow(trapped);
    }

    /// Puts a question to whoever can answer it.
    fn put(
        &self,
        trapped: &Trapped,
        request: &ExecRequest,
        mut question: Question,
        judge: &mut Box<dyn ExecJudge>,
    ) {
        let reply = self.desk.as_ref().filter(|_| !self.audit).map(|desk| desk.ask(request, &question));
        match reply {
            Some(Reply::Covered) => {
                self.prepare(request, judge);
                self.allow(trapped, request, None);
            }
            Some(Reply::Yes) => {
                // It may have waited long: whoever has its number now is asked about nothing.
                if self.listener.is_waiting(trapped) {
                    self.prepare(request, judge);
                    self.carry_out(trapped, request, question);
                }
            }
            Some(Reply::No(said)) => {
                if let Some(finding) = question.report.findings.first_mut() {
                    finding.reasons.insert(0, said.reason().to_owned());
                }
                self.refuse(trapped, Some(request), question.refused(), None);
            }
            // The kernel refuses what it would refuse anyway, and what of it is the session's own passes.
            Some(Reply::Nobody(number)) if !question.binding => self.allow(trapped, request, Some(number)),
            None if !question.binding => self.allow(trapped, request, None),
            Some(Reply::Nobody(number)) => {
                let offer = question.futile.is_none().then_some(number);
                self.refuse(trapped, Some(request), question.refused(), offer);
            }
            None => self.refuse(trapped, Some(request), question.refused(), None),
        }
    }

    /// A person said yes to what would be lost: it is kept first. What fails here does not take the yes back.
    fn prepare(&self, request: &ExecRequest, judge: &mut Box<dyn ExecJudge>) {
        if catch_unwind(AssertUnwindSafe(|| judge.approved(request))).is_err() {
            *judge = (self.make)();
        }
    }

    /// A person said yes: what the kernel must know of it comes first.
    fn carry_out(&self, trapped: &Trapped, request: &ExecRequest, mut question: Question) {
        // Keeping takes time, and the caller may have been killed meanwhile.
        if !self.listener.is_waiting(trapped) {
            return;
        }
        if let Err(error) = self.carry(trapped, request, &question) {
            if let Some(finding) = question.report.findings.first_mut() {
                finding.reasons.insert(
                    0,
                    format!("a person said yes, and it could not be put into the kernel: {error}"),
                );
            }
            self.refuse(trapped, Some(request), question.refused(), None);
            return;
        }
        if let Some(desk) = &self.desk {
            desk.is_started(request, &question);
        }
        self.tell_guard(self.refusal(trapped, Some(request), question.report, Outcome::Approved));
        self.allow(trapped, request, None);
    }

    fn carry(&self, trapped: &Trapped, request: &ExecRequest, question: &Question) -> io::Result<()> {
        let Some(grants) = self.grants.as_ref().filter(|_| !question.objects.is_empty()) else {
            return Ok(());
        };
        let grant = grants.list(&covers(&question.objects))?;
        hand_over(grants, trapped, request, grant)
    }

    /// Lends git what it needs for its own work. Where that fails, the kernel refuses it and says so.
    fn lend(&self, trapped: &Trapped, request: &ExecRequest, lent: &[Object]) {
        let Some(grants) = self.grants.as_ref().filter(|_| !lent.is_empty()) else { return };
        let lend = || -> io::Result<()> {
            let process = process_of(trapped)?;
            // A task carries one grant, and what a person said yes to is not to be lost.
            if grants.member(process, trapped.tid)?.is_some_and(blastradius_common::Member::is_approved) {
                return Ok(());
            }
            hand_over(grants, trapped, request, grants.lend(&covers(lent))?)
        };
        let _ = lend();
    }

    fn ask(&self, request: &ExecRequest, judge: &mut Box<dyn ExecJudge>) -> Answer {
        // A judge that panicked is thrown away, so nothing half changed is seen again.
        let started = Instant::now();
        let answer = catch_unwind(AssertUnwindSafe(|| judge.judge(request))).unwrap_or_else(|_| {
            *judge = (self.make)();
            Answer::Refuse(judge::broken(request))
        });
        let mut times = lock(&self.times);
        if times.len() >= TIMED {
            times.pop_front();
        }
        times.push_back(started.elapsed());
        answer
    }

    /// Tells the offender first, so that the text stands above its own "Permission denied", and the guard, so that a
    /// session that ends with this very exec has it counted; then answers.
    fn refuse(
        &self,
        trapped: &Trapped,
        request: Option<&ExecRequest>,
        report: Report,
        offer: Option<String>,
    ) {
        let outcome = if self.audit { Outcome::Audited } else { Outcome::Refused };
        let refusal = Refusal { offer, ..self.refusal(trapped, request, report, outcome) };
        if self.audit {
            self.tell_guard(refusal);
            self.listener.allow(trapped);
        } else {
            self.folder().tell(&[trapped.tid], &refusal, Instant::now());
            self.tell_guard(refusal);
            self.listener.fail(trapped, Errno::EACCES);
        }
    }

    fn refusal(
        &self,
        trapped: &Trapped,
        request: Option<&ExecRequest>,
        report: Report,
        outcome: Outcome,
    ) -> Refusal {
        Refusal {
            layer: Layer::Exec,
            outcome,
            operation: None,
            report,
            chain: caller::chain(trapped.tid, std::process::id() as libc::pid_t),
            cwd: request.map(|request| request.cwd.clone()),
            offer: None,
        }
    }

    fn tell_guard(&self, refusal: Refusal) {
        // The guard ends only after the session, so a closed channel loses nothing that anyone could still read.
        let _ = self.news.blocking_send(News::Spoken(Box::new(refusal)));
    }
}
