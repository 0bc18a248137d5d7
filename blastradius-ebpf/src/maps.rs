//! The maps, and the few ways in which the programs touch them.
//!
//! One set serves every session of the machine: each policy key starts with the session's number. Sizes are what a full
//! map costs at most: about 20 MB of kernel memory together.

use aya_ebpf::{
    btf_maps::{Array, HashMap, HashOfMaps, LruHashMap, RingBuf},
    macros::btf_map,
};
use blastradius_common::{Below, Common, Guarded, Id, Member, NameKey, ObjectKey, Tally};

use crate::emit::Record;

/// Tasks alive at once in all sessions; the next fork is refused with EAGAIN.
const TASK_LIMIT: usize = 65_536;
/// Marked objects of all sessions.
const MARK_LIMIT: usize = 65_536;
/// Created objects that are remembered; the oldest is forgotten first, which is stricter and never looser.
const BORN_LIMIT: usize = 65_536;
/// Slots of a filter.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 16;

/// The slot that a number falls into: neighbouring ones end up far apart (Fibonacci hashing).
#[inline(always)]
const fn slot(number: u64) -> u64 {
    /// 2^64 divided by the golden ratio, made odd.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    number.wrapping_mul(SPREAD) >> (u64::BITS - SLOT_BITS)
}
/// Bytes of each session's ring buffer: about 240 refusals that nobody has read yet.
pub const RING_BYTES: usize = 1 << 20;

/// Guarded tasks, by address of their `task_struct`.
#[btf_map]
pub static TASKS: HashMap<u64, Guarded, TASK_LIMIT> = HashMap::new();
/// Threads whose next fork is born guarded.
#[btf_map]
pub static ARMED: HashMap<u64, Member, 1024> = HashMap::new();
/// Threads whose next stat is answered under a token.
#[btf_map]
pub static ASKED: HashMap<u64, u64, 1024> = HashMap::new();
/// Identities, by token.
#[btf_map]
pub static ANSWERS: HashMap<u64, Id, 1024> = HashMap::new();
/// A byte for each slot of an object: 0 where none of that slot was ever identified, so that none has a mark. Written by
/// plain stores of 1, which no two writers can lose, before the mark is; never cleared.
#[btf_map]
pub static IDENTIFIED: Array<[u8; SLOTS], 1> = Array::new();
/// A byte for each slot of a task: 0 where no task of that slot was ever guarded, armed or served, so that none is in a map
/// that is keyed by tasks. Most tasks of a machine need nothing else to pass. Written as [`IDENTIFIED`] is.
#[btf_map]
pub static KNOWN: Array<[u8; SLOTS], 1> = Array::new();
/// What each session's tasks have in common.
#[btf_map]
pub static SESSIONS: HashMap<u32, Common, 1024> = HashMap::new();
/// What the sessions say about objects themselves: a zone each.
#[btf_map]
pub static OWN: HashMap<ObjectKey, u32, MARK_LIMIT> = HashMap::new();
/// What the sessions say about everything below directories.
#[btf_map]
pub static BELOW: HashMap<ObjectKey, Below, MARK_LIMIT> = HashMap::new();
/// What the sessions deny, with everything below it.
#[btf_map]
pub static DENIED: HashMap<ObjectKey, u32, 8192> = HashMap::new();
/// What the sessions say about names: a zone each.
#[btf_map]
pub static NAMES: HashMap<NameKey, u32, 8192> = HashMap::new();
/// The binaries that have a role in a session: bits of [`Member`].
#[btf_map]
pub static ROLES: HashMap<ObjectKey, u32, 4096> = HashMap::new();
/// Objects that a session created.
#[btf_map]
pub static BORN: LruHashMap<ObjectKey, u32, BORN_LIMIT> = LruHashMap::new();
/// Names that a session linked to objects that were there before.
#[btf_map]
pub static BORN_NAMES: LruHashMap<NameKey, Id, 4096> = LruHashMap::new();
/// The dentry at which a task is about to create something.
#[btf_map]
pub static PENDING: HashMap<u64, u64, 16_384> = HashMap::new();
/// Supervisors' processes, as the initial pid namespace numbers them.
#[btf_map]
pub static SUPERVISORS: HashMap<u32, u32, 1024> = HashMap::new();
/// The numbers of our own maps and programs, which guarded tasks may not open; a program's has [`blastradius_common::member::PROGRAM_NUMBER`] added.
#[btf_map]
pub static TABOO: HashMap<u64, u32, 1024> = HashMap::new();
/// Counters, by session.
#[btf_map]
pub static TALLIES: HashMap<u32, Tally, 1024> = HashMap::new();
/// Where refusals are reported, by session. A session without a reader has none.
#[btf_map]
pub static RINGS: HashOfMaps<u32, RingBuf<Record, RING_BYTES>, 1024> = HashOfMaps::new();

macro_rules! copied {
    ($map:ident, $key:expr) => {
        match $map.get_ptr($key) {
            // SAFETY: the map's own memory, valid until the program returns. A concurrent update of the same entry may
            // be seen half done only in values wider than a word, and those are written once, before the key is used.
            Some(value) => Some(unsafe { *value }),
            None => None,
        }
    };
}

/// The membership of the task `task`, if it is guarded.
#[inline(always)]
pub fn member(task: u64) -> Option<Member> {
    // SAFETY: the map's own memory, valid until the program returns; the two words are written once, before the entry is
    // there, but for the traits, which the task itself changes.
    guarded(task).map(|guarded| unsafe { (*guarded).member })
}

/// The entry of the task `task`, if it is guarded. Only the task itself writes to it.
#[inline(always)]
pub fn guarded(task: u64) -> Option<*mut Guarded> {
    if Known::all().may_hold(task) { TASKS.get_ptr_mut(&task) } else { None }
}

/// The task is guarded from now on.
#[inline(always)]
pub fn enrol(task: u64, member: Member) -> Result<(), i32> {
    Known::all().add(task);
    TASKS.insert(&task, &Guarded::new(member), 0)
}

/// The task is not guarded, whatever had its address before.
#[inline(always)]
pub fn dismiss(task: u64) {
    if Known::all().may_hold(task) {
        let _ = TASKS.remove(&task);
    }
}

/// What the tasks of a session have in common.
#[inline(always)]
pub fn common(session: u32) -> Option<*mut Common> {
    SESSIONS.get_ptr_mut(&session)
}

/// A byte for each slot. One that is set stays set, so that a `false` is certain whoever else writes.
#[derive(Clone, Copy)]
struct Filter(Option<*mut [u8; SLOTS]>);

impl Filter {
    #[inline(always)]
    fn holds(self, slot: u64) -> bool {
        let Some(slots) = self.0 else { return true };
        // SAFETY: the map's own memory, and a slot is less than their number.
        unsafe { *slots.cast::<u8>().add(slot as usize) != 0 }
    }

    #[inline(always)]
    fn add(self, slot: u64) {
        let Some(slots) = self.0 else { return };
        // SAFETY: as above.
        unsafe { slots.cast::<u8>().add(slot as usize).write(1) }
    }
}

/// Which tasks may be in one of the maps that are keyed by tasks.
#[derive(Clone, Copy)]
pub struct Known(Filter);

impl Known {
    /// On the whole machine.
    #[inline(always)]
    pub fn all() -> Self {
        Self(Filter(KNOWN.get_ptr_mut(0)))
    }

    /// Whether the task may be in one. `false` is certain.
    #[inline(always)]
    pub fn may_hold(self, task: u64) -> bool {
        self.0.holds(slot(task))
    }

    /// The task may be in one from now on.
    #[inline(always)]
    pub fn add(self, task: u64) {
        self.0.add(slot(task));
    }
}

/// Which objects may have a mark at all.
#[derive(Clone, Copy)]
pub struct Marked(Filter);

impl Marked {
    /// In all sessions.
    #[inline(always)]
    pub fn all() -> Self {
        Self(Filter(IDENTIFIED.get_ptr_mut(0)))
    }

    /// Whether the object with this number on this device may have a mark in some session. `false` is certain.
    #[inline(always)]
    pub fn may_hold(self, ino: u64, dev: u32) -> bool {
        self.0.holds(slot(ino ^ u64::from(dev) << 32))
    }

    /// The object may have one from now on.
    #[inline(always)]
    pub fn add(self, id: Id) {
        self.0.add(slot(id.ino ^ u64::from(id.dev) << 32));
    }
}

/// The membership that the next fork of `task` is armed with.
#[inline(always)]
pub fn armed(task: u64) -> Option<Member> {
    if Known::all().may_hold(task) { copied!(ARMED, &task) } else { None }
}

/// The token under which `task` asked for the identity of what it stats.
#[inline(always)]
pub fn asked(task: u64) -> Option<u64> {
    copied!(ASKED, &task)
}

/// The dentry that `task` announced.
#[inline(always)]
pub fn pending(task: u64) -> Option<u64> {
    if Known::all().may_hold(task) { copied!(PENDING, &task) } else { None }
}

/// The zone of the object itself.
#[inline(always)]
pub fn own(key: &ObjectKey) -> Option<u32> {
    copied!(OWN, key)
}

/// What lies below the directory.
#[inline(always)]
pub fn below(key: &ObjectKey) -> Option<Below> {
    copied!(BELOW, key)
}

/// Whether the session denies the object and everything below it.
#[inline(always)]
pub fn is_denied(key: &ObjectKey) -> bool {
    DENIED.get_ptr(key).is_some()
}

/// The zone that the session gives to the name.
#[inline(always)]
pub fn name_zone(key: &NameKey) -> Option<u32> {
    copied!(NAMES, key)
}

/// The role of the binary.
#[inline(always)]
pub fn role(key: &ObjectKey) -> Option<u32> {
    copied!(ROLES, key)
}

/// Whether the process is a supervisor.
#[inline(always)]
pub fn is_supervisor(process: u32) -> bool {
    SUPERVISORS.get_ptr(&process).is_some()
}

/// Whether the bpf object is one of ours.
#[inline(always)]
pub fn is_ours(number: u64) -> bool {
    TABOO.get_ptr(&number).is_some()
}

/// Whether the session created the object.
#[inline(always)]
pub fn is_born(key: &ObjectKey) -> bool {
    BORN.get_ptr(key).is_some()
}

/// The object that the session linked under the name.
#[inline(always)]
pub fn born_name(key: &NameKey) -> Option<Id> {
    copied!(BORN_NAMES, key)
}
