//! What does the guard do until the session is over?
//!
//! It starts the agent, answers its execs (on threads of [`super::bench`]), writes down what was refused, passes signals
//! on, reaps, and tells the front process how the agent ended. If something of the session still runs then, it stays in
//! the background until that has ended too.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::unistd::{ForkResult, Pid, fork};
use serde_json::{Map, Value, json};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use super::bench::{Bench, News, Order, lock};
use super::child::{
    self, CStrings, ChildError, ExecTrap, Identity, ListenerNeed, OWN_FAILURE, Recipe, Stage,
};
use super::denied::{Denied, Memory};
use super::desk::Desk;
use super::door;
use super::front::{self, Birth};
use super::judge::MakeJudge;
use super::kernel_rung::KernelRung;
use super::ladder::{Foothold, Rung};
use super::landlock::explain_restrict;
use super::link::{Heard, Link, Message};
use super::log::Log;
use super::notify::{self, ArchGuarded, Handover, Listener};
use super::refusal::{Folder, Outcome, Refusal, thousands};
use super::secrets;
use super::signals::SignalFd;
use super::summary::Summary;
use super::terminal::Terminal;
use super::tty;
use super::watch::{Change, Watch};
use crate::analysis;
use crate::report::human;
use crate::undo::keep::Keeper;

/// What is to be run, and how.
pub struct Session {
    /// The file to execute.
    pub program: PathBuf,
    /// Its argv, `argv[0]` first.
    pub argv: Vec<OsString>,
    /// Its environment.
    pub env: Vec<(OsString, OsString)>,
    /// The user to become.
    pub identity: Option<Identity>,
    /// The rung.
    pub foothold: Foothold,
    /// The log.
    pub log: Log,
    /// What the policy was read from.
    pub watch: Watch,
    /// Makes judges; `None`: no exec layer.
    pub make_judge: Option<Arc<MakeJudge>>,
    /// Keeps what would be lost.
    pub keeper: Option<Arc<Keeper>>,
    /// Refuse nothing, write down what would have been refused.
    pub audit: bool,
    /// Print the end report even if nothing was refused.
    pub report: bool,
    /// End with 3 instead of 0 if something was refused.
    pub fail_on_refusal: bool,
    /// How long a question at the terminal waits; zero: nobody is asked there.
    pub patience: Duration,
}

/// Exit status of `--fail-on-refusal`.
const REFUSED: i32 = 3;

/// Why the agent was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An argument or variable holds a NUL byte.
    #[error("an argument or a variable holds a NUL byte")]
    Nul,
    /// Pipes, sockets, processes.
    #[error("starting the agent: {0}")]
    System(#[from] io::Error),
    /// The exec filter.
    #[error(transparent)]
    Notify(#[from] notify::NotifyError),
    /// The child failed on its way.
    #[error("starting the agent: {}", explain(.0))]
    Child(ChildError),
    /// The child ended without a word.
    #[error("the agent's process ended before it was guarded")]
    Vanished,
}

impl StartError {
    const fn exit_code(&self) -> u8 {
        match self {
            Self::Child(ChildError { stage: Stage::Exec, errno }) => exec_code(*errno),
            _ => OWN_FAILURE as u8,
        }
    }
}

/// The status that a shell gives for a failed exec.
const fn exec_code(errno: Errno) -> u8 {
    match errno {
        Errno::ENOENT => 127,
        _ => 126,
    }
}

fn explain(error: &ChildError) -> String {
    match error.stage {
        Stage::Landlock => explain_restrict(error.errno).to_owned(),
        Stage::Seccomp if error.errno == Errno::EBUSY => {
            "another program already listens to this tree's execs".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Runs the session in the guard process, and returns the guard's own exit status, which nobody but the front process
/// sees.
pub fn supervise(birth: Birth, session: Session) -> u8 {
    front::adopt_orphans();
    let Birth { link, group, mask } = birth;
    let started = match start(&session, group, &mask) {
        Ok(started) => started,
        Err(error) => {
            eprintln!("blastradius: {error}");
            link.say(Message::Failed(i32::from(error.exit_code())));
            return error.exit_code();
        }
    };
    link.say(Message::Started(started.agent.as_raw()));
    tty::leave_input_and_output();
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime
            .block_on(async { Guard::new(link, session, started)?.watch().await })
            .unwrap_or_else(|error| {
                eprintln!("blastradius: the supervisor failed: {error}");
                OWN_FAILURE as u8
            }),
        Err(error) => {
            // Without a runtime nobody answers: execs fail, and the front process says what happened.
            eprintln!("blastradius: the supervisor failed: {error}");
            OWN_FAILURE as u8
        }
    }
}

/// A running agent.
struct Started {
    agent: Pid,
    /// Where its exec failure would be.
    report: io::PipeReader,
    listener: Option<Listener>,
    signals: SignalFd,
    /// The process group of the job.
    job: Pid,
}

fn start(session: &Session, group: Pid, mask: &nix::sys::signal::SigSet) -> Result<Started, StartError> {
    let signals = SignalFd::new().map_err(io::Error::from)?;
    let (report, report_writer) = io::pipe()?;
    let (ours, theirs) = nix::sys::socket::socketpair(
        nix::sys::socket::AddressFamily::Unix,
        nix::sys::socket::SockType::SeqPacket,
        None,
        nix::sys::socket::SockFlag::SOCK_CLOEXEC,
    )
    .map_err(io::Error::from)?;
    let recipe = recipe(session, group, mask, report_writer.into(), theirs)?;
    let kernel = session.foothold.kernel.as_ref().filter(|_| !session.audit);
    // The last thing before the fork: whatever this thread forks next is born into the session.
    kernel.map_or(Ok(()), KernelRung::arm)?;
    // SAFETY: one thread; the child calls only `become_agent`, which allocates nothing.
    let agent = match unsafe { fork() } {
        Ok(ForkResult::Child) => child::become_agent(&recipe),
        Ok(ForkResult::Parent { child }) => child,
        Err(errno) => {
            kernel.inspect(|kernel| kernel.disarm());
            return Err(StartError::System(errno.into()));
        }
    };
    let trapped = recipe.trap.is_some();
    // The child's ends must be closed here, or its end would not be seen.
    drop(recipe);
    let listener = if trapped { take_listener(&ours, session, &report)? } else { None };
    Ok(Started { agent, report, listener, signals, job: group })
}

fn take_listener(
    ours: &OwnedFd,
    session: &Session,
    report: &io::PipeReader,
) -> Result<Option<Listener>, StartError> {
    match notify::receive_listener(ours)? {
        Handover::Listener(listener) => Ok(Some(listener)),
        Handover::Without(errno) => {
            eprintln!(
                "blastradius: no exec layer ({}): commands are not judged before they start; the {} rung holds",
                explain(&ChildError { stage: Stage::Seccomp, errno }),
                session.foothold.rung.name()
            );
            Ok(None)
        }
        Handover::Ended => Err(child_error(report).map_or(StartError::Vanished, StartError::Child)),
    }
}

/// What the child wrote before it gave up, if it did. Call it when the child has ended.
fn child_error(mut report: &io::PipeReader) -> Option<ChildError> {
    let mut bytes = [0; ChildError::WIRE];
    report.read_exact(&mut bytes).ok()?;
    ChildError::from_wire(&bytes)
}

fn recipe(
    session: &Session,
    group: Pid,
    mask: &nix::sys::signal::SigSet,
    report: OwnedFd,
    socket: OwnedFd,
) -> Result<Recipe, StartError> {
    let path = c_string(session.program.as_os_str())?;
    let argv = c_strings(session.argv.iter().map(OsString::as_os_str))?;
    let script = [OsStr::new("/bin/sh"), session.program.as_os_str()];
    let shell_argv =
        c_strings(script.into_iter().chain(session.argv.iter().skip(1).map(OsString::as_os_str)))?;
    let envp = session.env.iter().map(|(name, value)| {
        let mut entry = name.clone();
        entry.push("=");
        entry.push(value);
        c_string(&entry)
    });
    let trap = match &session.make_judge {
        Some(_) => Some(ExecTrap {
            program: ArchGuarded::exec_filter()?.into_program(),
            socket,
            need: match session.foothold.rung {
                Rung::TextOnly => ListenerNeed::Required,
                Rung::Kernel(_) | Rung::Landlock(_) => ListenerNeed::Wanted,
            },
        }),
        None => None,
    };
    let landlock = match &session.foothold.ruleset {
        Some(ruleset) if !session.audit => Some(ruleset.try_clone()?),
        _ => None,
    };
    Ok(Recipe {
        group: Some(group.as_raw()),
        no_new_privs: session.foothold.no_new_privs && (trap.is_some() || landlock.is_some()),
        landlock,
        trap,
        identity: session.identity.clone(),
        mask: *mask.as_ref(),
        path,
        argv,
        shell_argv,
        envp: CStrings::new(envp.collect::<Result<_, _>>()?),
        report,
    })
}

fn c_string(text: &OsStr) -> Result<CString, StartError> {
    CString::new(text.as_bytes()).map_err(|_| StartError::Nul)
}

fn c_strings<'a>(texts: impl Iterator<Item = &'a OsStr>) -> Result<CStrings, StartError> {
    Ok(CStrings::new(texts.map(c_string).collect::<Result<_, _>>()?))
}

/// The watch over a running session.
struct Guard {
    link: AsyncFd<Link>,
    signals: AsyncFd<SignalFd>,
    front_is_there: bool,
    agent: Pid,
    /// The wait status, once it has ended.
    ended: Option<i32>,
    report: io::PipeReader,
    bench: Option<Bench>,
    news: mpsc::Receiver<News>,
    kernel: Option<KernelRung>,
    folder: Arc<Mutex<Folder>>,
    memory: Arc<Mutex<Memory>>,
    session: Session,
    /// The record of the last refusal, for who asks at the door.
    last: Arc<Mutex<Option<Value>>>,
    summary: Summary,
    /// The exec layer failed and the session must end.
    failed: bool,
}

/// Only children of the main thread: the agent, which it forked, and orphans, which the kernel gives to the first thread.
/// What a judge starts (git, to ask for its state) is waited for by that judge.
const OF_THIS_THREAD: libc::c_int = libc::__WNOTHREAD;
/// How long until a lingering guard looks again whether anything is left.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

impl Guard {
    fn new(link: Link, mut session: Session, started: Started) -> io::Result<Self> {
        let Started { agent, report, listener, signals, job } = started;
        let (sender, news) = mpsc::channel(1024);
        let (folder, memory) = (Arc::<Mutex<Folder>>::default(), Arc::<Mutex<Memory>>::default());
        let kernel = session.foothold.kernel.take();
        let grants = kernel.as_ref().filter(|_| !session.audit).map(KernelRung::grants);
        let terminal = (!session.patience.is_zero()).then(|| Terminal::new(job, session.patience));
        let desk = Arc::new(Desk::new(terminal));
        let last = Arc::default();
        let house = door::House {
            desk: desk.clone(),
            last: Arc::clone(&last),
            owner: session.identity.as_ref().map(|identity| identity.uid),
            grants: grants.clone(),
        };
        if let Err(error) = door::open(session.log.session(), house) {
            eprintln!("blastradius: questions cannot be answered from outside ({error}): they are refused");
        }
        let bench = match (listener, &session.make_judge) {
            (Some(listener), Some(make)) => {
                let order = Order {
                    make: make.clone(),
                    folder: folder.clone(),
                    // Only the kernel's records come when the program may have ended.
                    memory: kernel.is_some().then(|| memory.clone()),
                    news: sender,
                    audit: session.audit,
                    desk: (!session.audit).then_some(desk),
                    grants,
                };
                Some(Bench::open(listener, order)?)
            }
            _ => None,
        };
        let exec_layer = bench.is_some();
        let fields = start_fields(&session, exec_layer);
        session.log.write("start", fields);
        Ok(Self {
            link: readable(link)?,
            signals: readable(signals)?,
            front_is_there: true,
            agent,
            ended: None,
            report,
            bench,
            news,
            kernel,
            folder,
            memory,
            session,
            last,
            summary: Summary::default(),
            failed: false,
        })
    }

    async fn watch(mut self) -> io::Result<u8> {
        // A child that ended before the signal descriptor was watched.
        self.reap();
        while self.ended.is_none() {
            self.wait_for_something().await?;
        }
        self.say_how_it_ended();
        self.linger().await?;
        Ok(0)
    }

    async fn wait_for_something(&mut self) -> io::Result<()> {
        let settling = lock(&self.folder).next_settling();
        tokio::select! {
            ready = self.signals.readable() => {
                ready?.clear_ready();
                self.take_signals();
            }
            ready = self.link.readable(), if self.front_is_there => {
                ready?.clear_ready();
                self.listen_to_front();
            }
            Some(news) = self.news.recv() => self.take(news),
            denied = next_denied(&mut self.kernel) => self.hear_kernel(denied),
            () = sleep_until(settling) => self.settle(false),
        }
        Ok(())
    }

    fn take_signals(&mut self) {
        while let Some(received) = self.signals.get_ref().next() {
            match received.signal {
                libc::SIGCHLD => self.reap(),
                // Sent to the guard itself: what the sender wants to end is the session.
                libc::SIGTERM | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT => {
                    self.signal_agent(received.signal)
                }
                _ => {}
            }
        }
    }

    fn listen_to_front(&mut self) {
        loop {
            match self.link.get_ref().hear() {
                Heard::Message(Message::Signal(signal)) => self.signal_agent(signal),
                Heard::Message(_) => {}
                Heard::Nothing => break,
                Heard::Gone => {
                    // Whoever kills the front process wants the session to end; it stays guarded while it does.
                    self.front_is_there = false;
                    self.signal_agent(libc::SIGTERM);
                    // Or it would stay pending in an agent that is stopped.
                    self.signal_agent(libc::SIGCONT);
                    break;
                }
            }
        }
    }

    fn signal_agent(&self, signal: i32) {
        if self.ended.is_none() {
            // SAFETY: takes numbers. The agent has not been reaped, so its pid is still its own.
            unsafe { libc::kill(self.agent.as_raw(), signal) };
        }
    }

    /// Takes the states of all children that changed. By waitpid(2) itself, because a death by a real-time signal has no
    /// name in the wrapper.
    fn reap(&mut self) {
        loop {
            let mut status = 0;
            let flags = libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED | OF_THIS_THREAD;
            // SAFETY: `status` is valid for the call.
            let pid = unsafe { libc::waitpid(-1, &raw mut status, flags) };
            match pid {
                -1 if Errno::last() == Errno::EINTR => {}
                -1 | 0 => break,
                pid if pid == self.agent.as_raw() => self.agent_changed(status),
                _ => {}
            }
        }
    }

    fn agent_changed(&mut self, status: i32) {
        if libc::WIFSTOPPED(status) {
            self.link.get_ref().say(Message::Stopped(libc::WSTOPSIG(status)));
        } else if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            self.ended = Some(status);
        }
    }

    fn take(&mut self, news: News) {
        match news {
            News::Spoken(refusal) => self.write_down(&refusal),
            News::Broken(errno) => {
                eprintln!(
                    "blastradius: execs cannot be received ({errno}), so the session is ended; a security module of this \
                     container (AppArmor, SELinux) may forbid it"
                );
                self.failed = true;
                self.signal_agent(libc::SIGKILL);
            }
        }
    }

    fn write_down(&mut self, refusal: &Refusal) {
        let record = self.session.log.write(refusal.event(), refusal.fields());
        if refusal.outcome == Outcome::Refused || refusal.outcome == Outcome::Audited {
            *lock(&self.last) = Some(record);
            self.summary.add(refusal);
        }
    }

    fn hear_kernel(&mut self, denied: io::Result<Denied>) {
        let Some(denied) = Denied::to_tell(denied) else { return };
        let refusal = denied.refusal(&lock(&self.memory));
        let mut ears: Vec<_> = refusal.chain.iter().map(|ancestor| ancestor.pid).collect();
        if self.ended.is_none() {
            // An offender that has ended, and of a fork that executed nothing nobody knows the parent: the agent is an
            // ancestor all the same. Who comes first and still listens is told.
            ears.push(self.agent.as_raw());
        }
        lock(&self.folder).tell(&ears, &refusal, Instant::now());
        self.write_down(&refusal);
    }

    fn settle(&self, end: bool) {
        lock(&self.folder).settle(Instant::now(), end);
    }

    fn say_how_it_ended(&mut self) {
        while let Ok(news) = self.news.try_recv() {
            self.take(news);
        }
        while let Some(denied) = self.kernel.as_mut().and_then(KernelRung::try_next) {
            self.hear_kernel(Ok(denied));
        }
        self.settle(true);
        let status = self.ended.unwrap_or_default();
        let changes = self.session.watch.changes();
        for change in &changes {
            self.session.log.write("changed", change.fields());
        }
        let message = match self.start_failure(status) {
            Some(code) => Message::Failed(code),
            None if self.failed => Message::Failed(OWN_FAILURE),
            None if status == 0 && changes.iter().any(|change| change.fails) => Message::Failed(OWN_FAILURE),
            None if self.session.fail_on_refusal && status == 0 && self.summary.count() > 0 => {
                Message::Ended(REFUSED << 8)
            }
            None => Message::Ended(status),
        };
        self.session.log.write("end", self.end_fields(status));
        let kept = self.session.keeper.as_ref().is_some_and(|keeper| !keeper.report().is_empty());
        if self.session.report || self.summary.count() > 0 || kept || !changes.is_empty() {
            eprint!("{}", self.end_report(&changes));
        }
        self.link.get_ref().say(message);
    }

    /// The agent's program did not start: says why, and gives the status that a shell would.
    fn start_failure(&self, status: i32) -> Option<i32> {
        if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != OWN_FAILURE {
            return None;
        }
        let error = StartError::Child(child_error(&self.report)?);
        // A refused start has been explained already, and EACCES would only confuse.
        if self.summary.count() == 0 {
            eprintln!("blastradius: {}: {error}", self.session.program.display());
        }
        Some(i32::from(error.exit_code()))
    }

    fn end_fields(&self, status: i32) -> Map<String, Value> {
        let status = match libc::WIFSIGNALED(status) {
            true => json!(format!("signal {}", libc::WTERMSIG(status))),
            false => json!(libc::WEXITSTATUS(status)),
        };
        let fields = [
            ("status", status),
            ("refused", json!(self.summary.count())),
            ("execs", json!(self.bench.as_ref().map_or(0, Bench::execs))),
            ("judging_micros", json!(self.bench.as_ref().and_then(Bench::judging_micros))),
            ("dropped", json!(self.session.log.dropped())),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn end_report(&self, changes: &[Change]) -> String {
        let what = if self.session.audit { "would have been refused" } else { "refused" };
        let rung = self.session.foothold.rung;
        let mut text =
            format!("blastradius: {} {what} ({} rung)\n", thousands(self.summary.count()), rung.name());
        text.push_str(&self.summary.lines());
        for change in changes {
            text.push_str(&format!("  {}\n", human::clean(&change.line())));
        }
        if matches!(rung, Rung::Landlock(_)) && !self.session.audit {
            text.push_str(
                "  what the kernel refused by itself is not counted: the program saw \"Permission denied\" or a cross-device error\n",
            );
        }
        if self.session.report {
            for gap in &self.session.foothold.unenforced {
                text.push_str(&format!("  not enforced: {}\n", gap.sentence()));
            }
        }
        if let Some((_, lost @ 1..)) = self.kernel.as_ref().map(KernelRung::totals) {
            text.push_str(&format!(
                "  {} more were refused by the kernel and found no room in its record\n",
                thousands(lost)
            ));
        }
        for line in self.session.keeper.iter().flat_map(|keeper| keeper.report()) {
            text.push_str(&format!("  {line}\n"));
        }
        if self.session.log.dropped() > 0 {
            text.push_str(&format!(
                "  {} log records could not be written\n",
                thousands(self.session.log.dropped())
            ));
        }
        text.push_str(&format!("  log: {}\n", self.session.log.path().display()));
        text
    }

    /// Stays until nothing of the session is left: what the agent left running may start programs too, and is judged as
    /// before.
    async fn linger(mut self) -> io::Result<()> {
        if !self.anything_left() {
            return Ok(());
        }
        tty::leave_all_streams();
        while self.anything_left() {
            let again = tokio::time::sleep(LOOK_AGAIN);
            tokio::select! {
                ready = self.signals.readable() => {
                    ready?.clear_ready();
                    self.take_signals();
                }
                Some(news) = self.news.recv() => self.take(news),
                denied = next_denied(&mut self.kernel) => self.hear_kernel(denied),
                () = again => self.settle(false),
            }
        }
        Ok(())
    }

    /// A child of ours, or a task with our filter that has another parent (a container's own init).
    fn anything_left(&mut self) -> bool {
        self.reap();
        // SAFETY: no status is asked for.
        let child = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG | OF_THIS_THREAD) } >= 0;
        child
            || self.kernel.as_ref().is_some_and(KernelRung::has_tasks)
            || self.bench.as_ref().is_some_and(|bench| !bench.is_over())
    }
}

fn start_fields(session: &Session, exec_layer: bool) -> Map<String, Value> {
    let unenforced: Vec<_> = session.foothold.unenforced.iter().map(|gap| json!(gap.sentence())).collect();
    let command = secrets::mask(&analysis::quote_all(&session.argv));
    let fields = [
        ("rung", json!(session.foothold.rung.name())),
        ("audit", json!(session.audit)),
        ("exec_layer", json!(exec_layer)),
        ("unenforced", Value::Array(unenforced)),
        ("command", json!(command)),
        ("cwd", json!(std::env::current_dir().ok().map(|cwd| cwd.to_string_lossy().into_owned()))),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// # Safety of registering
/// tokio keeps the descriptor's number, so it must not be closed while registered: neither a link nor a signal
/// descriptor gives its own away, and both are dropped with the registration.
fn readable<T: std::os::fd::AsRawFd>(inner: T) -> io::Result<AsyncFd<T>> {
    // SAFETY: see above.
    Ok(unsafe { AsyncFd::register_with_interest(inner, Interest::READABLE) }?)
}

async fn next_denied(kernel: &mut Option<KernelRung>) -> io::Result<Denied> {
    match kernel {
        Some(kernel) => kernel.next().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when.into()).await,
        None => std::future::pending().await,
    }
}
