//! Rename in all its meanings: moving away, taking over a name, changing places, leaving a whiteout.

use blastradius_common::{Member, Operation};

use crate::{
    born,
    judge::{PASSED, judge},
    kernel::Dentry,
    walk::Place,
};

/// `RENAME_EXCHANGE` (include/uapi/linux/fs.h).
const EXCHANGE: u32 = 1 << 1;

/// May `member` rename `old` to `new`?
///
/// The source first (it is moved away, replaced by a whiteout, or one half of an exchange), then what bears the new name
/// (it is clobbered, or the other half).
#[inline(always)]
pub fn judge_rename(member: Member, old: Dentry, new: Dentry, flags: u32) -> i32 {
    let session = member.session;
    let Some(source) = old.inode() else { return PASSED };
    let exchange = flags & EXCHANGE != 0;
    let target = new.inode();
    if target == Some(source) && !exchange {
        // Two names of one object: the kernel does nothing (rename(2)).
        return PASSED;
    }
    let (old_place, new_place) = Place::around_both(session, old, new);
    let source_place = old_place.with_own(session, source);
    let verdict = judge(member, old, source, leaving(source_place, new_place), source_place);
    if verdict != PASSED {
        return verdict;
    }
    let Some(target) = target else { return PASSED };
    let target_place = new_place.with_own(session, target);
    let operation = if exchange { leaving(target_place, old_place) } else { Operation::Replace };
    let verdict = judge(member, new, target, operation, target_place);
    if verdict != PASSED {
        return verdict;
    }
    // Before the rename happens: one that fails afterwards costs the session a mark, which is stricter.
    if !born::is_born(session, target) {
        born::disown(session, source);
    } else if exchange && !born::is_born(session, source) {
        born::disown(session, target);
    }
    PASSED
}

/// A rename that stays below the same marked directory is an edit; one that leaves it takes the object away.
#[inline(always)]
fn leaving(from: Place, to: Place) -> Operation {
    if from.is_beside(to) { Operation::Replace } else { Operation::MoveOut }
}
