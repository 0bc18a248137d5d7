//! Tampering: a guarded task leaves the guard alone.

use crate::{
    judge::{PASSED, REFUSED},
    kernel::{self, Mount, Task},
    maps,
};

/// `PTRACE_MODE_ATTACH` (include/linux/ptrace.h): more than reading what `ps` shows.
const ATTACH: u32 = 2;

#[inline(always)]
fn current_is_guarded() -> bool {
    maps::member(kernel::current()).is_some()
}

/// May the current task send `signal` to `target`? Signal 0 only asks whether it is there.
#[inline(always)]
pub fn judge_signal(target: Task, signal: i32) -> i32 {
    if signal != 0 && current_is_guarded() && maps::is_supervisor(target.process()) {
        REFUSED
    } else {
        PASSED
    }
}

/// May the current task trace `target`, or read and write its memory?
#[inline(always)]
pub fn judge_trace(target: Task, mode: u32) -> i32 {
    let attaches = mode & ATTACH != 0;
    if attaches && current_is_guarded() && maps::is_supervisor(target.process()) { REFUSED } else { PASSED }
}

/// May the current task have a descriptor of the bpf object with this number?
#[inline(always)]
pub fn judge_descriptor(number: u64) -> i32 {
    if current_is_guarded() && maps::is_ours(number) { REFUSED } else { PASSED }
}

/// Whether the mount keeps the guard alive: a bpf file system by its pins, the sysfs that carries it.
#[inline(always)]
pub fn carries_pins(mount: Mount) -> bool {
    // BPF_FS_MAGIC and SYSFS_MAGIC (include/uapi/linux/magic.h).
    const BPF: u64 = 0xcafe_4a11;
    const SYSFS: u64 = 0x6265_6572;
    let magic = mount.magic();
    magic == BPF || magic == SYSFS
}
