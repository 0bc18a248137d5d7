//! The kernel rung: one set of eBPF programs that judges what guarded tasks destroy.
//!
//! ```text
//! let mut kernel = Kernel::load()?;                 // loads, attaches, pins; or opens what another run pinned
//! let events = kernel.take_events();                // refusals of the sessions of this `Kernel`
//! let session = kernel.start_session(&plan)?;       // writes the plan's marks
//! canary(&session)?;                                // every guarded act is tried and refused, every free one passes
//! session.arm_next_fork()?;                         // the calling thread's next fork is born guarded
//! let child = Command::new(agent).spawn()?;         // … in this very thread
//! ```
//!
//! | file | what is there |
//! |---|---|
//! | [`btf`] | a reader of the kernel's types |
//! | [`error`] | why the rung cannot be had, and what would bring it |
//! | [`effort`] | what loading costs |
//! | [`caveats`] | what is otherwise on this kernel |
//! | `programs` | which programs there are, and how each is loaded on either rung |
//! | `functions` | what the kernel is told of a program's functions |
//! | `set` | the loaded or opened programs and maps |
//! | `place` | pins and locks |
//! | [`marks`] | plan → identities |
//! | [`session`] | one plan in force for one tree of tasks |
//! | [`mod@canary`] | the proof |
//! | [`events`] | refusals |
//! | [`grants`] | a person's yes, put into the kernel |
//! | `mounts` | file system → path, for people |
//! | `tables`, `sys` | typed maps, bpf(2) |

pub mod btf;
pub mod canary;
pub mod caveats;
pub mod effort;
pub mod error;
pub mod events;
mod functions;
pub mod grants;
pub mod marks;
mod mounts;
mod object;
mod place;
mod programs;
pub mod session;
mod set;
mod sys;
mod tables;

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    sync::Arc,
};

pub use canary::{CanaryError, Proof, canary};
pub use caveats::Caveats;
pub use effort::Effort;
pub use error::LoadError;
pub use events::{EventStream, KernelRefusal};
pub use grants::Grants;
pub use programs::{Rung, lacking};
pub use session::{Role, Session, SessionError};

use self::{place::Lock, set::Set};
use crate::policy::plan::Plan;

/// The machine's set of programs and maps, proved to fire.
///
/// Dropping it takes programs and maps off the machine if no session and no other process needs them.
#[derive(Debug)]
pub struct Kernel {
    /// `None` only while dropping.
    set: Option<Arc<Set>>,
    ring: OwnedFd,
    events: Option<EventStream>,
}

impl Kernel {
    /// Opens the machine's set of programs, or loads, attaches and pins it, on the first rung where a canary sees its
    /// acts refused. Leftovers of supervisors that died are reaped. Needs root.
    ///
    /// # Errors
    /// One variant per cause, which says what would bring the rung. Nothing is left behind then.
    pub fn load() -> Result<Self, LoadError> {
        Self::load_on(&preferred_rungs())
    }

    /// As [`Kernel::load`], on the given rungs only, in order.
    ///
    /// # Errors
    /// As [`Kernel::load`]; of several rungs, what the first said.
    pub fn load_on(rungs: &[Rung]) -> Result<Self, LoadError> {
        place::prepare()?;
        let machine = Lock::machine()?;
        reap_leftovers();
        let mut failure = None;
        for rung in rungs {
            match Self::prove_on(*rung, &machine) {
                Ok(kernel) => return Ok(kernel),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or(LoadError::NoObject))
    }

    fn prove_on(rung: Rung, machine: &Lock) -> Result<Self, LoadError> {
        let name = set::name(object::fingerprint(), rung);
        let set = match Set::open(&name, rung)? {
            Some(set) => set,
            None => Set::load(&object::unpack()?, &name, rung)?,
        };
        let kernel = Self::with_set(set)?;
        match kernel.probe(machine) {
            Ok(()) => Ok(kernel),
            Err(error) => {
                kernel.take_off(machine);
                Err(error)
            }
        }
    }

    fn with_set(set: Set) -> Result<Self, LoadError> {
        let ring = Set::new_ring()?;
        let events = Some(EventStream::new(&ring)?);
        Ok(Self { set: Some(Arc::new(set)), ring, events })
    }

    /// Proves that the programs fire, with a session of its own.
    fn probe(&self, machine: &Lock) -> Result<(), LoadError> {
        let inactive = |why: String| LoadError::Inactive { why, list: lsm_list() };
        let session = Session::start(self.set(), self.ring.as_fd(), &Plan::default())
            .map_err(|error| inactive(error.to_string()))?;
        let proof = canary(&session);
        session.end(machine);
        proof.map(drop).map_err(|error| inactive(error.to_string()))
    }

    fn set(&self) -> &Arc<Set> {
        self.set.as_ref().expect("only dropping takes it")
    }

    /// Puts `plan` in force for a new session, which has no task yet.
    ///
    /// # Errors
    /// A marked object cannot be opened or identified, or the maps are full. Nothing is left behind then.
    pub fn start_session(&mut self, plan: &Plan) -> Result<Session, SessionError> {
        let _machine = Lock::machine().map_err(io::Error::other)?;
        Session::start(self.set(), self.ring.as_fd(), plan)
    }

    /// The refusals of all sessions that this `Kernel` starts.
    ///
    /// # Panics
    /// When called twice: a record is read once.
    pub fn take_events(&mut self) -> EventStream {
        self.events.take().expect("events are taken once")
    }

    /// The rung that was reached.
    pub fn rung(&self) -> Rung {
        self.set().rung
    }

    /// In what this kernel departs from the policy, for people.
    pub fn caveats(&self) -> &Caveats {
        &self.set().caveats
    }

    fn take_off(mut self, _machine: &Lock) {
        self.release();
    }

    /// The caller holds the machine's lock.
    fn release(&mut self) {
        // Sessions that outlive this hold the set too; then the last of them leaves it to the next start to reap.
        if let Some(set) = self.set.take().and_then(Arc::into_inner) {
            let _ = set.release();
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if self.set.is_some()
            && let Ok(_machine) = Lock::machine()
        {
            self.release();
        }
    }
}

/// What loading takes on `rung`, program by program. Nothing stays loaded; nothing need fire. `object` stands for the
/// embedded one, to compare.
///
/// # Errors
/// As [`Kernel::load`].
pub fn weigh(rung: Rung, object: Option<&[u8]>) -> Result<Vec<Effort>, LoadError> {
    match object {
        Some(object) => Set::weigh(object, rung),
        None => Set::weigh(&object::unpack()?, rung),
    }
}

/// Ends what dead supervisors left. What cannot be reaped stays guarded and is tried again by the next start.
fn reap_leftovers() {
    for rung in [Rung::BpfLsm, Rung::ModifyReturn] {
        if let Ok(Some(set)) = Set::open(&set::name(object::fingerprint(), rung), rung) {
            let _ = set.release();
        }
    }
}

/// The kernel's lsm list, as far as it can be read. It explains a failure and orders the tries; nothing trusts it.
fn lsm_list() -> String {
    std::fs::read_to_string("/sys/kernel/security/lsm")
        .map_or_else(|_| "unknown".to_owned(), |list| list.trim().to_owned())
}

fn preferred_rungs() -> [Rung; 2] {
    let list = lsm_list();
    if list == "unknown" || list.split(',').any(|lsm| lsm == "bpf") {
        [Rung::BpfLsm, Rung::ModifyReturn]
    } else {
        [Rung::ModifyReturn, Rung::BpfLsm]
    }
}
