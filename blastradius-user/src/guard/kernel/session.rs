//! A session: one plan in force for one tree of tasks.

use std::{
    fs, io,
    os::fd::BorrowedFd,
    path::{Path, PathBuf},
    sync::Arc,
};

use blastradius_common::{Common, Member, ObjectKey, Request, Tally};

use super::{
    grants::Grants,
    marks::{self, MarkError, Marked},
    place::{self, Lock, Want},
    set::Set,
};
use crate::policy::plan::Plan;

/// Why a session could not be started. Nothing of it is left behind.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The plan could not be put into the kernel.
    #[error(transparent)]
    Mark(#[from] MarkError),
    /// Anything else that the system refused.
    #[error("cannot start a session: {0}")]
    Io(#[from] io::Error),
}

/// What a binary may do beyond the zone table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// git: writes what gives the past back. What it executes may not.
    Git,
    /// A distribution's package manager: writes below the system roots, and so may what it executes, until that ends.
    Packages,
}

impl Role {
    const fn traits(self) -> u32 {
        match self {
            Self::Git => Member::GIT,
            Self::Packages => Member::PACKAGES,
        }
    }
}

/// A started session. Its tasks are those that descend from an armed fork.
///
/// What it marked stays in force while a task of it lives, also when the supervisor is killed: programs and maps are
/// pinned. Dropping it ends the session if no task is left, and else leaves it guarded; the next start reaps it then.
#[derive(Debug)]
pub struct Session {
    number: u32,
    set: Arc<Set>,
    marked: Marked,
    grants: Grants,
    _lock: Lock,
    ended: bool,
}

impl Session {
    /// Starts a session. The caller holds the machine's lock.
    pub(super) fn start(set: &Arc<Set>, ring: BorrowedFd<'_>, plan: &Plan) -> Result<Self, SessionError> {
        let (number, directory) = claim_number(set)?;
        let lock = Lock::take(&directory, Want::AloneNow)?;
        let started = Self::put_in_force(set, number, ring, plan);
        if started.is_err() {
            let _ = set.forget(number);
            let _ = fs::remove_dir(directory);
        }
        let grants = Grants::new(set, number);
        Ok(Self { number, set: Arc::clone(set), marked: started?, grants, _lock: lock, ended: false })
    }

    fn put_in_force(
        set: &Set,
        number: u32,
        ring: BorrowedFd<'_>,
        plan: &Plan,
    ) -> Result<Marked, SessionError> {
        // The tally is what makes the session known to reapers, so it comes first and goes last.
        set.tallies.insert(&number, &Tally::default())?;
        let rules = if plan.spares_power { 0 } else { Common::POWER };
        set.sessions.insert(&number, &Common { rules, ..Common::default() })?;
        // No guarded task may kill this process, or look into it.
        set.request(Request::Protect, u64::from(number))?;
        set.connect_ring(number, ring)?;
        Ok(marks::write(set, number, plan)?)
    }

    /// The session's number: never 0, and in every event of it.
    pub const fn id(&self) -> u32 {
        self.number
    }

    /// The next task that the **calling thread** forks, by any road, is born guarded, and so are all its descendants.
    /// Neither the caller nor what it forks after that is.
    ///
    /// # Errors
    /// bpf(2) is refused, or more than 1,000 threads of the machine are armed.
    pub fn arm_next_fork(&self) -> io::Result<()> {
        self.arm(0)
    }

    /// Takes [`Session::arm_next_fork`] back, where the fork failed.
    ///
    /// # Errors
    /// bpf(2) is refused.
    pub fn disarm(&self) -> io::Result<()> {
        self.set.request(Request::Disarm, 0)
    }

    /// As [`Session::arm_next_fork`], with traits.
    pub(super) fn arm(&self, traits: u32) -> io::Result<()> {
        self.set.request(Request::Arm, Member { session: self.number, traits }.to_word())
    }

    /// Gives `role` to every task of the session that executes `binary`, by identity: a copy of it has none.
    ///
    /// # Errors
    /// The binary cannot be opened or identified, or the map is full.
    pub fn give_role(&self, binary: &Path, role: Role) -> io::Result<()> {
        let _answering = self.set.attach_identify()?;
        // Links are followed, as exec(2) follows them.
        let id = marks::identify(&self.set, &fs::File::open(binary)?)?;
        self.set.roles.insert(&ObjectKey::new(self.number, id), &role.traits())
    }

    /// What judges use to put a person's yes into the kernel.
    pub fn grants(&self) -> Grants {
        self.grants.clone()
    }

    /// The rules of the session: bits of [`Common`].
    pub(super) fn rules(&self) -> io::Result<u64> {
        Ok(self.set.sessions.get(&self.number)?.unwrap_or_default().rules)
    }

    pub(super) fn set(&self) -> &Set {
        &self.set
    }

    /// The number of live tasks (threads count). It reaches 0 some tens of milliseconds after the last one has ended: the
    /// kernel forgets tasks after a grace period.
    ///
    /// # Errors
    /// bpf(2) is refused.
    pub fn live_tasks(&self) -> io::Result<usize> {
        self.set.live_tasks(self.number)
    }

    /// What was counted for the session: refusals, and those whose record found no room.
    ///
    /// # Errors
    /// bpf(2) is refused.
    pub fn tally(&self) -> io::Result<Tally> {
        Ok(self.set.tallies.get(&self.number)?.unwrap_or_default())
    }

    /// Entries that the plan took in the kernel's maps.
    pub const fn entries(&self) -> usize {
        self.marked.entries
    }

    /// Places of the plan that were gone when they were to be marked.
    pub fn gone(&self) -> &[PathBuf] {
        &self.marked.gone
    }
}

impl Session {
    /// Ends the session under a lock that the caller holds.
    pub(super) fn end(mut self, _machine: &Lock) {
        self.forget();
        self.ended = true;
    }

    fn forget(&mut self) {
        if self.live_tasks().is_ok_and(|live| live == 0) && self.set.forget(self.number).is_ok() {
            let _ = fs::remove_dir(place::session_directory(&self.set.name, self.number));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A session with tasks stays, whatever happens here; a reaper ends it when they are gone.
        if !self.ended
            && let Ok(_machine) = Lock::machine()
        {
            self.forget();
        }
    }
}

/// A number that no session of the set has, and none that was started from here has had since boot, and its directory. The
/// caller holds the machine's lock.
fn claim_number(set: &Set) -> io::Result<(u32, PathBuf)> {
    let file = place::run_directory().join("last-session");
    let last = fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or(0);
    let known = set.tallies.keys()?.into_iter().max().unwrap_or(0);
    let mut number = last.max(known);
    loop {
        number = number.checked_add(1).ok_or_else(|| io::Error::other("out of session numbers"))?;
        let directory = place::session_directory(&set.name, number);
        match fs::create_dir(&directory) {
            // Left by a start that was killed before the session was known.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => {
                fs::write(file, number.to_string())?;
                return Ok((number, directory));
            }
        }
    }
}
