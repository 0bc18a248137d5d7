//! Members: what the kernel side knows about a task of a session.

/// A guarded task. Keyed by the address of its `task_struct`: pids repeat, differ by namespace and change on exec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Member {
    /// The session that the task and all its descendants belong to. Never 0.
    pub session: u32,
    /// [`Member::CANARY`] and the roles; the upper half is the grant that the task carries, 0 for none.
    pub traits: u32,
}

impl Member {
    /// Part of a proof before the agent starts: its refusals are wanted and are not reported to people.
    pub const CANARY: u32 = 1;
    /// Runs the git binary: may write what git needs to give the past back.
    pub const GIT: u32 = 1 << 1;
    /// Runs a distribution's package manager, or descends from one: may write below the system roots.
    pub const PACKAGES: u32 = 1 << 2;
    /// Traits that survive the exec of another binary. A grant is for everything that the approved program starts.
    pub const INHERITED: u32 = Self::CANARY | Self::PACKAGES | (Self::LAST_GRANT << Self::GRANT);
    /// Where the grant begins.
    const GRANT: u32 = 16;
    /// The largest number of a grant.
    pub const LAST_GRANT: u32 = 0xffff;

    /// The grant that the task carries, 0 for none.
    #[inline(always)]
    pub const fn grant(self) -> u32 {
        self.traits >> Self::GRANT
    }

    /// The same with another grant.
    #[must_use]
    #[inline(always)]
    pub const fn with_grant(self, grant: u32) -> Self {
        let kept = self.traits & ((1 << Self::GRANT) - 1);
        Self { session: self.session, traits: kept | (grant << Self::GRANT) }
    }

    /// Both words as one argument of the enrol program.
    pub const fn to_word(self) -> u64 {
        (self.traits as u64) << 32 | self.session as u64
    }

    /// The inverse of [`Member::to_word`].
    #[inline(always)]
    pub const fn from_word(word: u64) -> Self {
        Self { session: word as u32, traits: (word >> 32) as u32 }
    }
}

/// What the calling task asks of the enrol program, which runs in the caller's own context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Request {
    /// The next task that this one forks is born as the given [`Member`].
    Arm = 1,
    /// The next object that this task stats is identified under the given token.
    Identify = 2,
    /// Takes back an [`Request::Arm`] that no fork consumed.
    Disarm = 3,
    /// The calling process is a supervisor: no guarded task may kill it or look into it.
    Protect = 4,
    /// The next task that this one signals is what the order with the given token is about.
    Probe = 5,
}

/// Added to the number of a bpf program, to tell it from a map of the same number.
pub const PROGRAM_NUMBER: u64 = 1 << 32;

/// What is counted for a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Tally {
    /// Acts refused, reported or not.
    pub refused: u64,
    /// Refusals whose record found no room in the ring buffer.
    pub dropped: u64,
}

const _: () = assert!(size_of::<Member>() == 8);
const _: () = assert!(size_of::<Tally>() == 16);
