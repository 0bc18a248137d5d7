//! Content: truncation by any road, and block devices.

use blastradius_common::{Member, Operation, RuleId, Zone};

use crate::{
    emit,
    judge::{PASSED, REFUSED, judge},
    kernel::{Dentry, File, Inode},
    walk::Place,
};

/// File systems without stored data: tools and containers write there with O_TRUNC. Numbers: include/uapi/linux/magic.h.
#[inline(always)]
fn stores_nothing(magic: u64) -> bool {
    matches!(
        magic,
        0x9fa0                  // proc
            | 0x6265_6572       // sysfs
            | 0x6367_7270       // cgroup2
            | 0x0027_e0eb       // cgroup
            | 0x7472_6163       // tracefs
            | 0x6462_6720       // debugfs
            | 0x7363_6673       // securityfs
            | 0x6265_6570       // configfs
            | 0x1cd1            // devpts
            | 0x4249_4e4d       // binfmt_misc
            | 0x6573_5543       // fusectl
            | 0xf97c_ff8c       // selinuxfs
            | 0x4341_5d53       // smackfs
            | 0x6e73_6673       // nsfs
            | 0x5049_5045       // pipes
            | 0x534f_434b       // sockets
            | 0x0904_1934 // anonymous inodes
    )
}

/// tmpfs and hugetlbfs: where memfd_create(2) and shared memory without a name live, as roots of their own.
#[inline(always)]
fn is_memory(magic: u64) -> bool {
    matches!(magic, 0x0102_1994 | 0x9584_58f6)
}

/// May `member` cut the content of the object?
#[inline(always)]
pub fn judge_truncation(member: Member, dentry: Dentry, inode: Inode) -> i32 {
    let magic = inode.magic();
    if stores_nothing(magic) || is_memory(magic) && dentry.parent() == dentry {
        return PASSED;
    }
    judge(member, dentry, inode, Operation::Truncate, Place::of(member.session, dentry, inode))
}

/// May `member` have this open file? Not a block device for writing: whole file systems lie there, of which no other hook is
/// told.
#[inline(always)]
pub fn judge_open(member: Member, file: File) -> i32 {
    if !(file.inode().is_block_device() && file.is_writable()) {
        return PASSED;
    }
    let place = Place { zone: Zone::Other as u32, decider: 0, unreadable: false };
    emit::refusal_by(member, file.dentry(), Operation::Truncate, place, RuleId::BlockDevice as u16);
    REFUSED
}
