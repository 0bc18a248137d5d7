//! Requests to file systems (`ioctl`) that destroy, and of which no other hook is told.

use blastradius_common::{Member, Operation, RuleId, Zone};

use crate::{
    emit,
    judge::{PASSED, REFUSED, permitted},
    kernel::File,
    metadata,
    walk::Place,
};

/// `BTRFS_IOC_SNAP_DESTROY` and its second version (include/uapi/linux/btrfs.h): a subvolume goes with all that is in it.
const DESTROY_SUBVOLUME: [u32; 2] = [0x5000_940f, 0x5000_943f];
/// `FS_IOC_SHUTDOWN`, as ext4, xfs and others have it: the file system stops, and what was not written is lost.
const SHUTDOWN: u32 = 0x8004_587d;
/// `FS_IOC_SETFLAGS`, its 32-bit form, and `FS_IOC_FSSETXATTR` (include/uapi/linux/fs.h): attributes of a file.
const SET_FLAGS: [u32; 3] = [0x4008_6602, 0x4004_6602, 0x401c_5820];

/// Whether the request is one of those that are judged.
#[inline(always)]
pub fn concerns(request: u32) -> bool {
    request == SHUTDOWN || DESTROY_SUBVOLUME.contains(&request) || SET_FLAGS.contains(&request)
}

/// May `member` make the request to `file`?
#[inline(always)]
pub fn judge_request(member: Member, file: File, request: u32) -> i32 {
    if SET_FLAGS.contains(&request) {
        return metadata::judge_change(file.dentry());
    }
    let directory = file.dentry();
    if request == SHUTDOWN {
        emit::refusal_by(
            member,
            directory,
            Operation::Machine,
            Place::of_floor(),
            RuleId::StorageStack as u16,
        );
        return REFUSED;
    }
    // The request names an entry of the directory that is open.
    let place = Place::within(member.session, directory);
    if place.zone == Zone::Other as u32 || !permitted(place.zone, Operation::Remove, member.traits) {
        emit::refusal(member, directory, Operation::Remove, place);
        return REFUSED;
    }
    PASSED
}
