//! The record of a refusal, for the supervisor of the session.

use aya_ebpf::btf_maps::RingBuf;
use blastradius_common::{
    EventHeader, Member, Operation, Tally,
    event::{EVENT_NAME_BYTES, EVENT_NAMES},
    identity::NAME_BYTES,
};
use core::hint::black_box;

use crate::{
    climb::{End, climb_with},
    kernel::{self, Access, Copied, Dentry},
    maps::{self, RING_BYTES, RINGS, TALLIES},
    walk::Place,
};

/// A record in the ring buffer. Reserved whole: a scratch buffer per CPU could be overwritten by a task that preempts.
#[repr(C)]
pub struct Record {
    header: EventHeader,
    /// Recording starts a name only below EVENT_NAME_BYTES, so the last one needs room behind it.
    names: [u8; EVENT_NAME_BYTES + NAME_BYTES],
}

/// Reports that `operation` on `dentry` was refused because of `place`.
#[inline(always)]
pub fn refusal<A: Access>(member: Member, dentry: Dentry<A>, operation: Operation, place: Place) {
    refusal_by(member, dentry, operation, place, EventHeader::RULE_OF_ZONE);
}

/// The same, by a rule that the zone does not name.
#[inline(always)]
pub fn refusal_by<A: Access>(
    member: Member,
    dentry: Dentry<A>,
    operation: Operation,
    place: Place,
    rule: u16,
) {
    let unreadable = if place.unreadable { EventHeader::UNREADABLE } else { 0 };
    let canary = if member.traits & Member::CANARY != 0 { EventHeader::CANARY } else { 0 };
    let verdict = (operation as u32) | place.zone << 8 | u32::from(unreadable | canary) << 16;
    record(dentry, member.session, u64::from(verdict) | u64::from(rule) << 32);
}

/// Reports that `operation`, which is on no object, was refused by `rule`.
#[inline(always)]
pub fn refusal_of_no_object(member: Member, operation: Operation, rule: u16) {
    refusal_by(member, Dentry::<Copied>::none(), operation, Place::of_floor(), rule);
}

/// Writes the record. `verdict` is operation, zone and flags, a byte each from the lowest, and the rule from bit 32.
///
/// A function of its own, so that rename with its several refusals stays small.
#[inline(never)]
fn record<A: Access>(dentry: Dentry<A>, session: u32, verdict: u64) {
    let tally = TALLIES.get_ptr_mut(&session);
    count(tally, |tally| &mut tally.refused);
    // SAFETY: the map's own memory, valid until the program returns; it is written before a task of the session runs.
    let namespace = maps::common(session).map(|common| unsafe { (*common).pids });
    // Before the climb, of which an old verifier sees many ends and follows each one to the end of the program.
    let (pid, tgid) = kernel::current_pids_in(namespace.unwrap_or_default());
    // SAFETY: the inner map is only handed to helpers, and stays alive until the program returns (RCU).
    let Some(ring) = (unsafe { RINGS.get(&session) }) else { return };
    let ring: &RingBuf<Record, RING_BYTES> = ring;
    let Some(mut entry) = ring.reserve(0) else {
        count(tally, |tally| &mut tally.dropped);
        return;
    };
    let start = entry.as_mut_ptr();
    // SAFETY: inside the reserved record.
    let names = unsafe { (&raw mut (*start).names).cast::<u8>() };
    let (length, cut) = copy_names(dentry, names);
    let header = EventHeader {
        session,
        pid,
        tgid,
        dev: dentry.parent().inode().map_or(0, |inode| inode.device()),
        operation: verdict as u8,
        zone: (verdict >> 8) as u8,
        flags: (verdict >> 16) as u8 | if cut { EventHeader::CUT } else { 0 },
        reserved: 0,
        rule: (verdict >> 32) as u16,
        names: length as u16,
        comm: kernel::current_comm(),
    };
    // SAFETY: inside the reserved record, which nobody else sees before it is submitted.
    unsafe { (&raw mut (*start).header).write(header) };
    entry.submit(0);
}

/// The names from `dentry` upwards, each with its zero; the bytes written, and whether the path goes on.
#[inline(always)]
fn copy_names<A: Access>(dentry: Dentry<A>, names: *mut u8) -> (u32, bool) {
    const FULL: u32 = 1;
    let mut length = [0u64];
    // What changes from turn to turn, the verifier may not know before the first.
    kernel::forget(&mut length);
    let (end, length) =
        climb_with(dentry, EVENT_NAMES as u32, length[0], move |here: Dentry<A>, _, length: &mut u64| {
            if *length > (EVENT_NAME_BYTES - NAME_BYTES) as u64 {
                return FULL;
            }
            // The mask says to the verifier what the comparison above says to the reader; black_box keeps it.
            let at = black_box(*length) as usize & (EVENT_NAME_BYTES - 1);
            // SAFETY: NAME_BYTES bytes lie behind EVENT_NAME_BYTES.
            let copied = unsafe { here.copy_name_to(names.add(at)) };
            if copied <= 0 {
                return FULL;
            }
            *length += copied as u64 & (2 * NAME_BYTES as u64 - 1);
            0
        });
    (length as u32, !matches!(end, End::Root))
}

/// Adds one. Not atomic (no such instruction before 5.12): two at the same instant may count as one, never as none.
#[inline(always)]
fn count(tally: Option<*mut Tally>, counter: impl FnOnce(&mut Tally) -> &mut u64) {
    if let Some(tally) = tally {
        // SAFETY: the map's own memory, valid until the program returns, and words are written whole.
        unsafe { *counter(&mut *tally) += 1 }
    }
}
