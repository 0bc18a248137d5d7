//! The judge: the zone table, asked about one act of one guarded task.

use blastradius_common::{Member, Operation, Zone};

use crate::{
    born, emit, grant,
    kernel::{Dentry, Inode},
    walk::Place,
};

/// The act is refused. `-EPERM`, what every LSM hook returns for no.
pub const REFUSED: i32 = -1;
/// The act passes, as far as this guard is concerned.
pub const PASSED: i32 = 0;

/// May `member` do `operation` to the object `inode` under the name `dentry`, which lies at `place`?
#[inline(always)]
pub fn judge(member: Member, dentry: Dentry, inode: Inode, operation: Operation, place: Place) -> i32 {
    if permitted(place.zone, operation, member.traits) {
        return PASSED;
    }
    if yields_to_born(place.zone)
        && (born::is_born(member.session, inode) || is_own_name(member, dentry, inode, operation))
    {
        return PASSED;
    }
    if !place.unreadable && grant::lifts(member, dentry, inode, operation as u32, place.zone) {
        return PASSED;
    }
    emit::refusal(member, dentry, operation, place);
    REFUSED
}

/// Losing a name that the session itself made costs nobody anything while the object has another.
#[inline(always)]
fn is_own_name(member: Member, dentry: Dentry, inode: Inode, operation: Operation) -> bool {
    !matches!(operation, Operation::Truncate) && born::is_born_name(member.session, dentry, inode)
}

/// The zone table and the roles.
#[inline(always)]
pub fn permitted(zone: u32, operation: Operation, traits: u32) -> bool {
    let mut zones = operation.permitting();
    if traits & Member::GIT != 0 {
        zones |= 1 << Zone::History as u32;
    }
    if traits & Member::PACKAGES != 0 {
        zones |= 1 << Zone::System as u32;
    }
    zones >> (zone & 31) & 1 != 0
}

/// [`Zone::yields_to_born`] as one mask.
#[inline(always)]
fn yields_to_born(zone: u32) -> bool {
    const ZONES: u32 = {
        let mut zones = 0;
        let mut index = 0;
        while index < Zone::ALL.len() {
            if Zone::ALL[index].yields_to_born() {
                zones |= 1 << Zone::ALL[index] as u32;
            }
            index += 1;
        }
        zones
    };
    ZONES >> (zone & 31) & 1 != 0
}
