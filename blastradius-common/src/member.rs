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
    pub const INHERITED: u32 =
        Self::CANARY | Self::PACKAGES | ((Self::LAST_GRANT | Self::LENT) << Self::GRANT);
    /// Where the grant begins.
    const GRANT: u32 = 16;
    /// The largest number of a grant, but for [`Member::LENT`].
    pub const LAST_GRANT: u32 = 0x7fff;
    /// In the number of a grant: nobody has said yes, it is lent to git for its own work. It sleeps while a task runs anything
    /// else.
    pub const LENT: u32 = 1 << 15;

    /// The grant that holds for what the task does now, 0 for none. Without a branch, which the verifier would follow both ways.
    #[inline(always)]
    pub const fn grant(self) -> u32 {
        let grant = self.traits >> Self::GRANT;
        let is_lent = grant / Self::LENT;
        let is_git = (self.traits / Self::GIT) & 1;
        let sleeps = is_lent & !is_git;
        grant & sleeps.wrapping_sub(1)
    }

    /// Whether the task carries a person's yes.
    #[inline(always)]
    pub const fn is_approved(self) -> bool {
        let grant = self.traits >> Self::GRANT;
        grant != 0 && grant & Self::LENT == 0
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

/// A guarded task, and what the hooks of one call leave for those of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Guarded {
    /// Whose it is and what it may.
    pub member: Member,
    /// The address of the dentry whose removal has passed already: the second line need not judge it again.
    pub passed: u64,
    /// The address of the last directory of the system whose mode or owner it changed: what lies below is part of a
    /// recursion.
    pub changed: u64,
    /// How many objects of the system it has changed since it began.
    pub changes: u64,
}

impl Guarded {
    /// A task of which nothing is known yet.
    #[inline(always)]
    pub const fn new(member: Member) -> Self {
        Self { member, passed: 0, changed: 0, changes: 0 }
    }
}

/// What a session's tasks have in common beyond its marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Common {
    /// The address of the mount namespace that the session started in; 0: not known, and every one is taken for it.
    pub namespace: u64,
    /// The supervisor's pid namespace, in whose numbers it is told of tasks.
    pub pids: PidNamespace,
    /// [`Common::POWER`].
    pub rules: u64,
    /// When the session last changed mode or owner of something of the system, in nanoseconds since boot.
    pub burst_last: u64,
    /// How many such changes there were without a pause.
    pub burst: u64,
}

/// A pid namespace, as the kernel side finds it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PidNamespace {
    /// Its address; 0: not known.
    pub address: u64,
    /// How many lie around it.
    pub level: u64,
}

impl Common {
    /// Tasks may not stop the machine, nor load code into its kernel.
    pub const POWER: u64 = 1;
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
    /// The calling process is a supervisor, of the session whose number is the word (0: of none): no guarded task may kill it or look into it, its mount namespace is the session's,
    /// and it is told of tasks in the numbers of its pid namespace.
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
const _: () = assert!(size_of::<Guarded>() == 32);
const _: () = assert!(size_of::<Common>() == 48);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_to_git_sleeps_in_other_programs_and_is_no_yes() {
        let other = Member { session: 1, traits: 0 };
        let git = Member { traits: Member::GIT, ..other };
        let lent = Member::LENT | 7;
        assert_eq!((git.with_grant(lent).grant(), other.with_grant(lent).grant()), (lent, 0));
        assert!(!git.with_grant(lent).is_approved() && !other.is_approved());
        assert_eq!((git.with_grant(7).grant(), other.with_grant(7).grant()), (7, 7));
        assert!(other.with_grant(7).is_approved());
        let kept = git.with_grant(lent).traits & Member::INHERITED;
        assert_eq!(
            Member { traits: kept | Member::GIT, ..other }.grant(),
            lent,
            "a git that a hook of git starts"
        );
    }
}
