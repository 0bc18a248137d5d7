//! Links: a second name must not give rights that the first one does not.

use blastradius_common::{Member, Operation};

use crate::{
    born,
    judge::{PASSED, REFUSED, permitted},
    kernel::Dentry,
    walk::Place,
};

/// May `member` give the object `old` the further name `new`?
///
/// Through the new name the object would be truncated and lose its last name by the rules of that place. Where the two
/// places permit the same, or the object is the session's own, nothing is gained: package stores link all day.
#[inline(always)]
pub fn judge_link(member: Member, old: Dentry, new: Dentry) -> i32 {
    let Some(inode) = old.inode() else { return PASSED };
    let old_place = Place::around(member.session, old).with_own(member.session, inode);
    let new_place = Place::around(member.session, new);
    let gains = |operation| {
        permitted(new_place.zone, operation, member.traits)
            && !permitted(old_place.zone, operation, member.traits)
    };
    let gained = gains(Operation::Remove) || gains(Operation::Truncate) || gains(Operation::Replace);
    if !gained || born::is_born(member.session, inode) {
        return PASSED;
    }
    crate::emit::refusal(member, old, Operation::MoveOut, old_place);
    REFUSED
}
