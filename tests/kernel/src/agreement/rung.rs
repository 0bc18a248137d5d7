//! The syscall layer that is compared, and the guarded child that performs what it is told.

use std::{
    fs,
    io::{PipeReader, PipeWriter, Read as _, Write as _},
    path::{Path, PathBuf},
};

use blastradius::{
    guard::landlock::{self, compile::compile, unenforced::Unenforced},
    policy::plan::Plan,
    system::System,
};

use super::arena::{Act, Deed};
use crate::{
    calls::{self, DONE, Outcome},
    world::Machine,
};

/// Which syscall layer.
pub(super) enum Rung {
    Kernel(Box<Machine>),
    Landlock(PathBuf),
}

/// What became of an act.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Done,
    Refused,
    /// It would fail without any guard.
    Impossible,
}

impl Rung {
    pub(super) fn kernel() -> Result<Self, String> {
        Machine::start().map(|machine| Self::Kernel(Box::new(machine)))
    }

    pub(super) fn landlock() -> Result<Self, String> {
        // Not among temporary files: those are scope, and nothing would be refused.
        let place = std::env::current_dir().map_err(|error| error.to_string())?.join("target/agreement");
        fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        place.canonicalize().map(Self::Landlock).map_err(|error| error.to_string())
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Kernel(_) => "kernel",
            Self::Landlock(_) => "Landlock",
        }
    }

    pub(super) fn scratch(&self) -> PathBuf {
        match self {
            Self::Kernel(machine) => machine.directory("agreement"),
            Self::Landlock(place) => place.clone(),
        }
    }

    /// Starts a guarded child that waits for the numbers of acts.
    pub(super) fn begin(
        &self,
        plan: &Plan,
        system: &System,
        acts: &[Act],
        cwd: &Path,
    ) -> Result<Performer, String> {
        let shown = |error: &dyn std::fmt::Display| error.to_string();
        let (orders, order) = std::io::pipe().map_err(|error| shown(&error))?;
        let (answers, answer) = std::io::pipe().map_err(|error| shown(&error))?;
        let (session, ruleset, gaps) = match self {
            Self::Kernel(machine) => {
                let session = machine.session(plan);
                session.arm_next_fork().map_err(|error| shown(&error))?;
                (Some(session), None, Vec::new())
            }
            Self::Landlock(_) => {
                let prepared =
                    landlock::prepare(&compile(plan, system), false).map_err(|error| shown(&error))?;
                (None, Some(prepared.ruleset), prepared.unenforced)
            }
        };
        // SAFETY: the test program has one thread when it forks.
        match unsafe { libc::fork() } {
            -1 => Err("fork".into()),
            0 => {
                drop((order, answers));
                calls::run_and_exit(|| {
                    if let Some(ruleset) = &ruleset {
                        calls::restrict(ruleset);
                    }
                    calls::chdir(cwd);
                    serve(orders, answer, acts)
                })
            }
            child => Ok(Performer { child, orders: Some(order), answers, gaps, _session: session }),
        }
    }
}

fn serve(mut orders: PipeReader, mut answers: PipeWriter, acts: &[Act]) -> Outcome {
    let mut number = [0; 4];
    while orders.read_exact(&mut number).is_ok() {
        let outcome = perform(&acts[u32::from_ne_bytes(number) as usize]);
        if answers.write_all(&outcome.errno().to_ne_bytes()).is_err() {
            break;
        }
    }
    DONE
}

fn perform(act: &Act) -> Outcome {
    match act.deed {
        Deed::Remove => remove(&act.path),
        Deed::Move => calls::rename(&act.path, &act.other),
        Deed::Truncate => calls::truncate(&act.path),
        Deed::Replace => calls::rename(&act.other, &act.path),
    }
}

/// As `rm -rf` does it: what can go goes, and the first refusal is told.
fn remove(path: &Path) -> Outcome {
    let mut first = DONE;
    let mut keep = |outcome: Outcome| {
        if first == DONE {
            first = outcome;
        }
    };
    if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            keep(remove(&entry.path()));
        }
        keep(calls::rmdir(path));
    } else {
        keep(calls::unlink(path));
    }
    first
}

/// The guarded child.
pub(super) struct Performer {
    child: libc::pid_t,
    orders: Option<PipeWriter>,
    answers: PipeReader,
    gaps: Vec<Unenforced>,
    _session: Option<blastradius::guard::kernel::Session>,
}

impl Performer {
    /// Has the act with this number performed.
    pub(super) fn perform(&mut self, index: usize) -> Answer {
        let number = u32::try_from(index).expect("few acts").to_ne_bytes();
        let mut errno = [0; 4];
        let sent = self.orders.as_mut().is_some_and(|orders| orders.write_all(&number).is_ok());
        assert!(sent && self.answers.read_exact(&mut errno).is_ok(), "the guarded child answers");
        match i32::from_ne_bytes(errno) {
            0 => Answer::Done,
            libc::EPERM | libc::EACCES | libc::EXDEV => Answer::Refused,
            _ => Answer::Impossible,
        }
    }

    /// Whether the rung said that it does not protect this place.
    pub(super) fn is_gap(&self, path: &Path) -> bool {
        self.gaps.iter().any(|gap| match gap {
            Unenforced::History { places }
            | Unenforced::ConfigRemoval { places }
            | Unenforced::OwnFiles { places }
            | Unenforced::NestedRoots { places } => places.iter().any(|place| path.starts_with(place)),
            Unenforced::LaterName { place, .. } | Unenforced::NotCarved { place, .. } => {
                path.starts_with(place)
            }
            _ => false,
        })
    }

    /// Why the rung may refuse what the policy permits.
    pub(super) fn excuse(&self, act: &Act) -> Option<&'static str> {
        if self._session.is_some() {
            return None;
        }
        // Landlock gives a right on a directory or not at all.
        let path = act.canonical();
        let frozen = self.gaps.iter().any(|gap| match gap {
            Unenforced::Siblings { directory, .. } => path.starts_with(directory),
            _ => false,
        });
        match act.deed {
            _ if frozen => Some("beside a denied place nothing comes and goes"),
            Deed::Replace => Some("a save by rename needs the right to remove"),
            Deed::Remove | Deed::Move => Some("the name of what is allowed alone is an entry of its parent"),
            Deed::Truncate => None,
        }
    }
}

impl Drop for Performer {
    fn drop(&mut self) {
        self.orders = None;
        calls::wait(self.child);
    }
}
