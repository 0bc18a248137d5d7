//! Mounts: nothing protected is covered, detached or remounted where the session started.
//!
//! In mount namespaces that the session made mounts are free, or no sandbox would start there; but for those whose
//! changes propagate to where they came from.

use blastradius_common::{Member, Operation, Zone};

use crate::{
    born, emit,
    judge::{PASSED, REFUSED, judge, permitted},
    kernel::{self, Mount, Path, SuperBlock},
    maps, second,
    walk::Place,
};

/// Flags of mount(2) (include/uapi/linux/mount.h).
const REMOUNT: u64 = 1 << 5;
const BIND: u64 = 1 << 12;
const MOVE: u64 = 1 << 13;
/// `MS_UNBINDABLE | MS_PRIVATE | MS_SLAVE | MS_SHARED`.
const PROPAGATION: u64 = 0b1111 << 17;

/// Whether mounts on `below` concern nobody but the session: its namespace is one that the session made, and what happens
/// there stays there.
#[inline(always)]
fn is_private(member: Member, below: Mount<impl kernel::Access>) -> bool {
    let Some(common) = maps::common(member.session) else { return false };
    // SAFETY: the map's own memory, valid until the program returns; the word is written before the session has a task.
    let home = unsafe { (*common).namespace };
    home != 0 && kernel::current_mount_namespace() != home && below.peer_group() == 0
}

/// May `member` do what mount(2) was asked for, with these flags, at `point`?
#[inline(always)]
pub fn judge_mount(member: Member, point: Path, flags: u64) -> i32 {
    // In the order in which the kernel looks at them.
    let changes_propagation = flags & (REMOUNT | BIND) == 0 && flags & PROPAGATION != 0;
    if changes_propagation || is_private(member, point.mount()) {
        return PASSED;
    }
    if flags & (REMOUNT | BIND | MOVE) == MOVE {
        // Where it is moved from is a string that nobody here can follow; move_mount(2) can be judged.
        let place = Place::around(member.session, point.dentry());
        emit::refusal(member, point.dentry(), Operation::Mount, place);
        return REFUSED;
    }
    judge_cover(member, point)
}

/// May something be mounted over `point`, or what is mounted there be mounted anew?
#[inline(always)]
fn judge_cover(member: Member, point: Path) -> i32 {
    let dentry = point.dentry();
    let Some(inode) = dentry.inode() else { return PASSED };
    judge(member, dentry, inode, Operation::Mount, Place::of(member.session, dentry, inode))
}

/// May `member` attach the mount of `from` at `to`? It may be attached elsewhere already.
#[inline(always)]
pub fn judge_move(member: Member, from: Path, to: Path) -> i32 {
    if from.mount().is_attached() {
        let verdict = judge_detach(member, from.mount());
        if verdict != PASSED {
            return verdict;
        }
    }
    if is_private(member, to.mount()) { PASSED } else { judge_cover(member, to) }
}

/// May this mount go?
///
/// Where it is mounted decides: in scope, on what is born, in no marked place it goes, unless what is mounted is marked itself.
#[inline(always)]
pub fn judge_detach(member: Member, mount: Mount) -> i32 {
    if is_private(member, mount.parent()) {
        return PASSED;
    }
    let point = mount.point();
    let place = Place::around(member.session, point);
    let gives_way =
        place.zone != Zone::Other as u32 && permitted(place.zone, Operation::Mount, member.traits);
    if gives_way || point.inode().is_some_and(|inode| born::is_born(member.session, inode)) {
        return PASSED;
    }
    let root = mount.root();
    let shown = place.with_own(member.session, root.directory());
    if permitted(shown.zone, Operation::Mount, member.traits) {
        return PASSED;
    }
    emit::refusal(member, point, Operation::Mount, shown);
    REFUSED
}

/// May the options of this file system change, for everybody who sees it? Not where its root is protected.
#[inline(always)]
pub fn judge_remount(member: Member, file_system: SuperBlock) -> i32 {
    let root = file_system.root();
    // The root of a file system lies nowhere: only its own mark counts.
    let place = Place::nowhere().with_own(member.session, root.directory());
    if permitted(place.zone, Operation::Mount, member.traits) {
        return PASSED;
    }
    emit::refusal(member, root, Operation::Mount, place);
    REFUSED
}

/// May the root of the namespace change? Not where everybody lives.
#[inline(always)]
pub fn judge_pivot(member: Member, new: Path) -> i32 {
    if is_private(member, new.mount()) {
        return PASSED;
    }
    let place = Place::of_floor();
    emit::refusal(member, new.dentry(), Operation::Mount, place);
    REFUSED
}

/// May this new file system be used? An overlay not, whose upper directory lies where the kernel itself may not remove:
/// what is done to the overlay is done there.
#[inline(always)]
pub fn judge_new(member: Member, file_system: SuperBlock) -> i32 {
    let Some(upper) = file_system.upper_directory() else { return PASSED };
    let Some(inode) = upper.inode() else { return PASSED };
    let place = Place::of(member.session, upper, inode);
    let lifted = crate::judge::yields_to_born(place.zone)
        && (born::is_born(member.session, inode) || second::lies_in_born(member.session, upper));
    if !second::is_held(place.zone) || place.zone == Zone::Root as u32 || lifted {
        return PASSED;
    }
    emit::refusal(member, upper, Operation::Mount, place);
    REFUSED
}
