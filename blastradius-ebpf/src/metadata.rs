//! Metadata: mode, owner, flags.
//!
//! Of one object of the system they may change, of a tree not. No hook is told that a call is one of many, so a tree is told
//! by what its changes look like: something below a directory that the same program has just changed, or tried to (what
//! `chmod -R` does, from the top down); many objects by one program (`chown -R`, from the bottom up); or many in a
//! short time by the whole session (`find -exec`).

use blastradius_common::{Common, Guarded, Member, Operation, RuleId, Zone};

use crate::{
    born,
    climb::{End, climb},
    emit, grant,
    judge::{PASSED, REFUSED, judge},
    kernel::{self, Dentry},
    maps,
    walk::Place,
};

/// Objects of the system that one program may change.
const BY_PROGRAM: u64 = 8;
/// Objects of the system that a session may change without a pause of [`PAUSE`].
const BY_SESSION: u64 = 32;
/// In nanoseconds.
const PAUSE: u64 = 10_000_000_000;
/// Directories above an object that are compared with the one that was changed.
const STEPS: u32 = 64;

/// May the current task change mode, owner or flags of the object?
#[inline(always)]
pub fn judge_change(dentry: Dentry) -> i32 {
    let Some(guarded) = maps::guarded(kernel::current()) else { return PASSED };
    let Some(inode) = dentry.inode() else { return PASSED };
    // SAFETY: the map's own memory, valid until the program returns, and only this task writes there.
    let Guarded { member, changed, changes, .. } = unsafe { guarded.read() };
    let place = Place::of(member.session, dentry, inode);
    let is_system = place.zone == Zone::System as u32;
    if !is_system || member.traits & Member::PACKAGES != 0 {
        let verdict = judge(member, dentry, inode, Operation::Metadata, place);
        if verdict != PASSED {
            // A recursion goes on below what it was refused.
            // SAFETY: as above.
            unsafe { (*guarded).changed = dentry.address() };
        }
        return verdict;
    }
    if born::is_born(member.session, inode) {
        return PASSED;
    }
    let below = changed != 0 && lies_below(dentry, changed);
    // SAFETY: as above.
    unsafe {
        (*guarded).changes = changes + 1;
        if !below {
            (*guarded).changed = dentry.address();
        }
    }
    if !below && changes < BY_PROGRAM && !is_burst(member.session) {
        return PASSED;
    }
    let lifts = |operation: Operation| grant::lifts(member, dentry, inode, operation as u32, place.zone);
    if lifts(Operation::MetadataRecursive) || lifts(Operation::Metadata) {
        return PASSED;
    }
    emit::refusal_by(member, dentry, Operation::MetadataRecursive, place, RuleId::RecursiveMetadata as u16);
    REFUSED
}

/// Counts one more change by the session: are there too many?
#[inline(always)]
fn is_burst(session: u32) -> bool {
    let Some(common) = maps::common(session) else { return true };
    let now = kernel::now();
    // SAFETY: the map's own memory, valid until the program returns, and words are written whole; of two changes at the
    // same instant one may go uncounted.
    let Common { burst_last, burst, .. } = unsafe { common.read() };
    let burst = if now - burst_last > PAUSE { 1 } else { burst + 1 };
    // SAFETY: as above.
    unsafe {
        (*common).burst_last = now;
        (*common).burst = burst;
    }
    burst > BY_SESSION
}

/// Whether the dentry with the address `top` is above `dentry`.
#[inline(never)]
fn lies_below(dentry: Dentry, top: u64) -> bool {
    let end = climb(dentry, STEPS, move |parent: Dentry| u32::from(parent.address() == top));
    matches!(end, End::Answer(..))
}
