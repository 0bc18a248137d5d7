//! Who answers, when several programs start at once?
//!
//! A few threads receive from one listener. Each has a judge of its own, so a question that takes long delays nobody
//! else until all are busy. A judge that panics costs the exec that it was asked about: it is refused, and the thread
//! goes on with a new judge.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nix::errno::Errno;
use tokio::sync::mpsc;

use super::caller::{self, ExecRequest};
use super::denied::{Memory, Started};
use super::judge::{self, Answer, ExecJudge, MakeJudge};
use super::notify::{Listener, Silence, Trapped};
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
}

struct Shared {
    listener: Listener,
    make: Arc<MakeJudge>,
    folder: Arc<Mutex<Folder>>,
    /// What was started, where someone wants to know it later.
    memory: Option<Arc<Mutex<Memory>>>,
    news: mpsc::Sender<News>,
    audit: bool,
    execs: AtomicU64,
}

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
        let Order { make, folder, memory, news, audit } = order;
        let shared = Shared { listener, make, folder, memory, news, audit, execs: AtomicU64::new(0) };
        let shared = Arc::new(shared);
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

    /// How many execs were asked about.
    pub fn execs(&self) -> u64 {
        self.shared.execs.load(Ordering::Relaxed)
    }
}

/// What is locked here is only counts and names: what a panic left of them is still good.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
                None => self.refuse(trapped, None, judge::unreadable(error)),
            },
            Ok(request) => match request.is_missing() {
                Some(errno) => self.listener.fail(trapped, errno),
                None => self.decide(trapped, &request, judge),
            },
        }
    }

    fn decide(&self, trapped: &Trapped, request: &ExecRequest, judge: &mut Box<dyn ExecJudge>) {
        if let Some(memory) = &self.memory {
            let parent = caller::parent_of(trapped.tid).unwrap_or(0);
            let started = Started { parent, argv: request.argv.clone(), cwd: request.cwd.clone() };
            lock(memory).add(trapped.tid, started);
        }
        match self.ask(request, judge) {
            Answer::Allow(None) => self.listener.allow(trapped),
            Answer::Allow(Some(report)) => {
                self.tell_guard(self.refusal(trapped, Some(request), report, Outcome::Warned));
                self.listener.allow(trapped);
            }
            Answer::Refuse(report) => self.refuse(trapped, Some(request), report),
        }
    }

    fn ask(&self, request: &ExecRequest, judge: &mut Box<dyn ExecJudge>) -> Answer {
        // A judge that panicked is thrown away, so nothing half changed is seen again.
        catch_unwind(AssertUnwindSafe(|| judge.judge(request))).unwrap_or_else(|_| {
            *judge = (self.make)();
            Answer::Refuse(judge::broken(request))
        })
    }

    /// Tells the offender first, so that the text stands above its own "Permission denied", and the guard, so that a
    /// session that ends with this very exec has it counted; then answers.
    fn refuse(&self, trapped: &Trapped, request: Option<&ExecRequest>, report: Report) {
        let outcome = if self.audit { Outcome::Audited } else { Outcome::Refused };
        let refusal = self.refusal(trapped, request, report, outcome);
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
        }
    }

    fn tell_guard(&self, refusal: Refusal) {
        // The guard ends only after the session, so a closed channel loses nothing that anyone could still read.
        let _ = self.news.blocking_send(News::Spoken(Box::new(refusal)));
    }
}
