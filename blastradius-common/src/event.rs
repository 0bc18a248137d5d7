//! Events: the record of one refusal, as it crosses the ring buffer.

/// The fixed part of a record. The names of the path follow: leaf first, each with its terminating zero.
///
/// Layout, native byte order: it is written and read on one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EventHeader {
    /// The session whose task was refused.
    pub session: u32,
    /// The thread, as the supervisor's pid namespace numbers it. 0: it does not know it.
    pub pid: u32,
    /// Its process, numbered alike.
    pub tgid: u32,
    /// `s_dev` of the file system that the names are relative to, in the kernel's own encoding.
    pub dev: u32,
    /// An [`crate::Operation`] discriminant.
    pub operation: u8,
    /// A [`crate::Zone`] discriminant.
    pub zone: u8,
    /// [`EventHeader::CUT`], [`EventHeader::UNREADABLE`], [`EventHeader::CANARY`].
    pub flags: u8,
    /// Always zero.
    pub reserved: u8,
    /// A [`crate::RuleId`] discriminant, or [`EventHeader::RULE_OF_ZONE`].
    pub rule: u16,
    /// Bytes of names that follow.
    pub names: u16,
    /// `task_struct.comm`, up to the first zero.
    pub comm: [u8; 16],
}

impl EventHeader {
    /// The path has more components than were recorded: the topmost are missing.
    pub const CUT: u8 = 1;
    /// No zone was found because the walk to the root ran out of steps or met something unreadable.
    pub const UNREADABLE: u8 = 2;
    /// The refusal was provoked by a canary.
    pub const CANARY: u8 = 4;
    /// The rule is the one that the zone names ([`crate::Zone::rule`]).
    pub const RULE_OF_ZONE: u16 = u16::MAX;
}

/// Components that are recorded at most.
pub const EVENT_NAMES: usize = 64;
/// Bytes of names that are recorded at most; recording stops where another full name might not fit.
pub const EVENT_NAME_BYTES: usize = 4096;

const _: () = assert!(size_of::<EventHeader>() == 40);
