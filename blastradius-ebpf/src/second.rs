//! The second line: what the kernel removes on a task's behalf, of which no `path_*` hook is told.
//!
//! overlayfs empties its work directory and removes what its upper directory holds; mqueue and others unlink directly. Where
//! nothing is marked, and in the storage of containers, that is nobody's concern; what is protected by name or by
//! place stays.

use blastradius_common::{Guarded, Member, ObjectKey, Operation, Zone};

use crate::{
    climb::{End, climb},
    judge::{PASSED, judge, yields_to_born},
    kernel::{self, Access, Dentry},
    maps,
    walk::Place,
};

/// The zones that hold against the kernel itself, bit n for discriminant n.
const HELD: u32 = {
    let mut zones = 0;
    let mut index = 0;
    while index < Zone::ALL.len() {
        if Zone::ALL[index].holds_against_the_kernel() {
            zones |= 1 << Zone::ALL[index] as u32;
        }
        index += 1;
    }
    zones
};

/// Whether the zone holds against the kernel itself.
#[inline(always)]
pub fn is_held(zone: u32) -> bool {
    HELD >> (zone & 31) & 1 != 0
}

/// Directories above the object that are asked whether they were born.
const STEPS: u32 = 128;

/// The removal of `dentry` by the current task, whose entry is `guarded`, has passed the first line.
#[inline(always)]
pub fn pass(guarded: *mut Guarded, dentry: Dentry) {
    // SAFETY: the map's own memory, valid until the program returns, and only this task writes there.
    unsafe { (*guarded).passed = dentry.address() };
}

/// May the name be removed, by whatever the current task does?
#[inline(always)]
pub fn judge_removal(dentry: Dentry) -> i32 {
    let Some(guarded) = maps::entry(kernel::current()) else { return PASSED };
    // SAFETY: as above.
    let (member, passed) = unsafe { ((*guarded).member, (*guarded).passed) };
    if passed == dentry.address() {
        // SAFETY: as above.
        unsafe { (*guarded).passed = 0 };
        return PASSED;
    }
    judge_unannounced(member, dentry)
}

#[inline(always)]
fn judge_unannounced(member: Member, dentry: Dentry) -> i32 {
    let Some(inode) = dentry.inode() else { return PASSED };
    let place = Place::of(member.session, dentry, inode);
    if !is_held(place.zone) || yields_to_born(place.zone) && lies_in_born(member.session, dentry) {
        return PASSED;
    }
    judge(member, dentry, inode, Operation::Remove, place)
}

/// Whether a directory above was made by the session: what was there before cannot be moved into it.
#[inline(never)]
pub fn lies_in_born<A: Access>(session: u32, dentry: Dentry<A>) -> bool {
    let end = climb(dentry, STEPS, move |parent: Dentry<A>| {
        u32::from(maps::is_born(&ObjectKey::new(session, parent.directory().id())))
    });
    matches!(end, End::Answer(..))
}
