//! The maps, and the few ways in which the programs touch them.
//!
//! One set serves every session of the machine: each policy key starts with the session's number. Sizes are what a full
//! map costs at most: about 20 MB of kernel memory together.

use core::{arch::asm, cell::UnsafeCell};

use aya_ebpf::{
    btf_maps::{HashMap, HashOfMaps, LruHashMap, RingBuf},
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
/// What numbers are sorted into, and how much is said of each slot. It is data of the programs themselves (`.bss`), which
/// they share as they share the maps: its address is part of the instructions, where a map's value would have to be looked up.
#[repr(transparent)]
struct Slots<T, const COUNT: usize>(UnsafeCell<[T; COUNT]>);

// SAFETY: programs have pointers to what is said, never references, and access it whole.
unsafe impl<T, const COUNT: usize> Sync for Slots<T, COUNT> {}

impl<T: Copy, const COUNT: usize> Slots<T, COUNT> {
    const fn filled(value: T) -> Self {
        assert!(COUNT.is_power_of_two());
        Self(UnsafeCell::new([value; COUNT]))
    }

    /// What is said of the slot that `number` falls into: neighbouring ones end up far apart (Fibonacci hashing).
    #[inline(always)]
    fn of(&self, number: u64) -> *mut T {
        /// 2^64 divided by the golden ratio, made odd.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let slot = number.wrapping_mul(SPREAD) >> (u64::BITS - COUNT.trailing_zeros());
        // SAFETY: the upper bits of a number, as many as the slots' numbers have.
        unsafe { self.0.get().cast::<T>().add(slot as usize) }
    }
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
/// For each slot of objects: 0 where none of them was ever identified, so that none has a mark. Set before the mark is made,
/// and never cleared.
static IDENTIFIED: Slots<u8, 65_536> = Slots::filled(0);
/// For each slot of tasks: how many entries they have in [`TASKS`], [`ARMED`], [`ASKED`] and [`PROBES`](crate::grant::PROBES).
/// Most tasks of a machine need nothing but a 0 to pass. It goes back to 0: the kernel gives the memory of the last task that
/// went to the next one that comes, so that those that were never guarded would soon all be taken for one that was.
///
/// [`PENDING`] and [`EXPECTED`](crate::grant::EXPECTED) are for guarded tasks only, and need no count of their own.
static KNOWN: Slots<u64, 16_384> = Slots::filled(0);
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
    if is_known(task) { entry(task) } else { None }
}

/// The same for a task that [`is_known`].
#[inline(always)]
pub fn entry(task: u64) -> Option<*mut Guarded> {
    TASKS.get_ptr_mut(&task)
}

/// The task is guarded from now on.
#[inline(always)]
pub fn enrol(task: u64, member: Member) -> Result<(), i32> {
    list(&TASKS, task, &Guarded::new(member))
}

/// The task is not guarded, whatever had its address before.
#[inline(always)]
pub fn dismiss(task: u64) {
    if is_known(task) {
        unlist(&TASKS, task);
    }
}

/// What the tasks of a session have in common.
#[inline(always)]
pub fn common(session: u32) -> Option<*mut Common> {
    SESSIONS.get_ptr_mut(&session)
}

/// Whether the task may have an entry in [`TASKS`] or in one of the maps that threads are served by. `false` is certain.
#[inline(always)]
pub fn is_known(task: u64) -> bool {
    // SAFETY: data of the programs, always there; volatile, since other CPUs write to it.
    unsafe { KNOWN.of(task).read_volatile() != 0 }
}

/// Counts one entry of the task's slot more or less.
#[inline(always)]
fn count(task: u64, change: i64) {
    // SAFETY: data of the programs, always there and aligned. The one atomic addition that there is before 5.12; Rust's own
    // has a result, which it has not.
    unsafe { asm!("lock *(u64 *)({0} + 0) += {1}", in(reg) KNOWN.of(task), in(reg) change) };
}

/// Makes an entry for `task` in one of the maps that [`KNOWN`] counts.
#[inline(always)]
pub fn list<V, const N: usize>(map: &HashMap<u64, V, N>, task: u64, value: &V) -> Result<(), i32> {
    /// `BPF_NOEXIST` (include/uapi/linux/bpf.h), and what it is answered with.
    const NEW: u64 = 1;
    const EXISTS: i32 = -17;
    // Before the entry is there, so that nobody finds a slot at 0 that has one.
    count(task, 1);
    let listed = map.insert(&task, value, NEW);
    if listed.is_err() {
        count(task, -1);
    }
    if listed == Err(EXISTS) { map.insert(&task, value, 0) } else { listed }
}

/// Takes the entry away, if there is one.
#[inline(always)]
pub fn unlist<V, const N: usize>(map: &HashMap<u64, V, N>, task: u64) {
    if map.remove(&task).is_ok() {
        count(task, -1);
    }
}

/// Whether the object with this number on this device may have a mark in some session. `false` is certain.
#[inline(always)]
pub fn is_identified(ino: u64, dev: u32) -> bool {
    // SAFETY: as in [`is_known`].
    unsafe { IDENTIFIED.of(object(ino, dev)).read_volatile() != 0 }
}

/// The object may have one from now on.
#[inline(always)]
pub fn identify(id: Id) {
    // SAFETY: as in [`is_known`]; of two that write at once, each writes a 1.
    unsafe { IDENTIFIED.of(object(id.ino, id.dev)).write_volatile(1) };
}

#[inline(always)]
const fn object(ino: u64, dev: u32) -> u64 {
    ino ^ (dev as u64) << 32
}

/// The membership that the next fork of `task` is armed with.
#[inline(always)]
pub fn armed(task: u64) -> Option<Member> {
    if is_known(task) { copied!(ARMED, &task) } else { None }
}

/// The token under which `task` asked for the identity of what it stats.
#[inline(always)]
pub fn asked(task: u64) -> Option<u64> {
    if is_known(task) { copied!(ASKED, &task) } else { None }
}

/// The dentry that `task` announced.
#[inline(always)]
pub fn pending(task: u64) -> Option<u64> {
    if is_known(task) { copied!(PENDING, &task) } else { None }
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
