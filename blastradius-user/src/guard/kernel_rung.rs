//! The kernel rung, as the ladder and the supervisor use it.
//!
//! [`super::kernel`] knows programs, maps and marks; here is what one session needs of it.

use std::io;

use super::denied::Denied;
pub use super::kernel::Grants;
use super::kernel::{Caveats, EventStream, Kernel, Session, canary};
use super::landlock::unenforced::Unenforced;
use super::roles;
use crate::policy::plan::Plan;

/// A session's hold on the kernel: its plan in force, its refusals to hear.
#[derive(Debug)]
pub struct KernelRung {
    // Dropped in this order: the session before the programs that it needs.
    session: Session,
    events: EventStream,
    kernel: Kernel,
}

impl KernelRung {
    /// Loads or opens the programs, puts the plan in force for a session without tasks, and proves it. The second part
    /// names the acts that the canary tried.
    ///
    /// # Errors
    /// Why the rung is not there, for people.
    pub fn stand(plan: &Plan) -> Result<(Self, Vec<&'static str>), String> {
        let mut kernel = Kernel::load().map_err(|error| error.to_string())?;
        let session = kernel.start_session(plan).map_err(|error| error.to_string())?;
        assign_roles(&session);
        let proof = canary(&session).map_err(|error| error.to_string())?;
        let events = kernel.take_events();
        Ok((Self { session, events, kernel }, proof.refused))
    }

    /// `bpf-lsm` or `fmod_ret`.
    pub fn name(&self) -> &'static str {
        self.kernel.rung().name()
    }

    /// In what the rung departs from the policy on this kernel.
    pub fn departures(&self) -> Vec<Unenforced> {
        let Caveats { stricter, unenforced } = self.kernel.caveats();
        let lacks = unenforced.iter().cloned().map(Unenforced::KernelLacks);
        lacks.chain(stricter.iter().cloned().map(Unenforced::Kernel)).collect()
    }

    /// The next fork of the calling thread is born guarded.
    ///
    /// # Errors
    /// bpf(2) is refused.
    pub fn arm(&self) -> io::Result<()> {
        self.session.arm_next_fork()
    }

    /// Takes [`Self::arm`] back where the fork failed.
    pub fn disarm(&self) {
        // The thread stays armed then, and guards one fork too many: stricter, and only for ourselves.
        let _ = self.session.disarm();
    }

    /// Waits for the next refusal. Cancel safe.
    ///
    /// # Errors
    /// A record could not be read; the next call goes on.
    pub async fn next(&mut self) -> io::Result<Denied> {
        self.events.next().await.map(Denied::from)
    }

    /// The next refusal that is already there.
    pub fn try_next(&mut self) -> Option<Denied> {
        // A record that cannot be read is counted by the kernel all the same.
        std::iter::from_fn(|| self.events.try_next().transpose()).find_map(Result::ok).map(Denied::from)
    }

    /// Refusals, and those whose record found no room.
    pub fn totals(&self) -> (u64, u64) {
        self.session.tally().map_or((0, 0), |tally| (tally.refused, tally.dropped))
    }

    /// What judges use to put a person's yes into the kernel.
    pub fn grants(&self) -> Grants {
        self.session.grants()
    }

    /// Whether a task of the session is left.
    pub fn has_tasks(&self) -> bool {
        self.session.live_tasks().is_ok_and(|tasks| tasks > 0)
    }
}

/// Gives their roles to the programs that have one here. A program that cannot be identified has none, which is the
/// stricter side.
fn assign_roles(session: &Session) {
    for holder in roles::holders(std::env::var_os("PATH").as_deref()) {
        let _ = session.give_role(&holder.binary, holder.role);
    }
}
