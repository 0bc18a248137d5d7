//! Membership: which tasks are guarded, from before they first run until they are gone.

use aya_ebpf::programs::RawTracePointContext;
use blastradius_common::{Guarded, Id, Member, ObjectKey, Request};

use crate::{
    grant,
    judge::{PASSED, REFUSED},
    kernel::{self, Dentry, Exec, Task},
    maps::{self, ANSWERS, ARMED, ASKED, PENDING, SUPERVISORS, TASKS},
};

/// `-EAGAIN`: what fork(2) says when a limit on tasks is reached.
const TRY_AGAIN: i32 = -11;

/// `child` is being made by the current task: it shares the parent's membership, or takes up what the parent is armed
/// with. A full table refuses the fork.
#[inline(always)]
pub fn settle(child: Task) -> i32 {
    let (parent, child) = (kernel::current(), child.address());
    let member = match maps::member(parent) {
        Some(member) => member,
        None => match maps::armed(parent) {
            Some(member) => {
                maps::unlist(&ARMED, parent);
                member
            }
            None => {
                // Task structures are reused: a stale entry would guard a stranger.
                maps::dismiss(child);
                return PASSED;
            }
        },
    };
    if maps::enrol(child, member).is_err() { TRY_AGAIN } else { PASSED }
}

/// `gone` is gone.
#[inline(always)]
pub fn forget(gone: Task) {
    let task = gone.address();
    if maps::is_known(task) {
        let _ = PENDING.remove(&task);
        grant::forget(task);
        maps::unlist(&ARMED, task);
        maps::unlist(&ASKED, task);
        maps::unlist(&TASKS, task);
    }
    if maps::is_supervisor(gone.process()) && gone.leads() {
        let _ = SUPERVISORS.remove(&gone.process());
    }
}

/// The current task is becoming another program: roles belong to the binary, and only some outlive it.
#[inline(always)]
pub fn change_role(exec: Exec) {
    let Some(guarded) = maps::guarded(kernel::current()) else { return };
    // SAFETY: the map's own memory, valid until the program returns, and only this task writes there.
    let member = unsafe { (*guarded).member };
    let role = maps::role(&ObjectKey::new(member.session, exec.binary().id())).unwrap_or(0);
    let mut next = Member { traits: member.traits & Member::INHERITED | role, ..member };
    let granted = grant::taken_up(kernel::current(), member.session, exec.binary().id());
    if granted != 0 {
        next = next.with_grant(granted);
    }
    // SAFETY: as above.
    unsafe { guarded.write(Guarded::new(next)) };
}

/// Answers a thread that asked for the identity of what it stats.
#[inline(always)]
pub fn identify(dentry: Dentry) {
    let task = kernel::current();
    let Some(token) = maps::asked(task) else { return };
    maps::unlist(&ASKED, task);
    if let Some(inode) = dentry.inode() {
        let id: Id = inode.id();
        // Who asks is about to mark it.
        maps::identify(id);
        let _ = ANSWERS.insert(&token, &id, 0);
    }
}

/// Does what the calling task asks: run by `BPF_PROG_TEST_RUN`, it executes in the caller's own context. Guarded tasks
/// are refused.
#[inline(always)]
pub fn enrol(ctx: &RawTracePointContext) -> i32 {
    let task = kernel::current();
    if maps::member(task).is_some() {
        return REFUSED;
    }
    let (request, word): (u64, u64) = (ctx.arg(0), ctx.arg(1));
    let done = if request == Request::Arm as u64 {
        maps::list(&ARMED, task, &Member::from_word(word))
    } else if request == Request::Identify as u64 {
        maps::list(&ASKED, task, &word)
    } else if request == Request::Protect as u64 {
        if let Some(common) = maps::common(word as u32) {
            // SAFETY: the map's own memory, valid until the program returns; no task of the session runs yet.
            unsafe {
                (*common).namespace = kernel::current_mount_namespace();
                (*common).pids = kernel::current_pid_namespace();
            }
        }
        SUPERVISORS.insert(&kernel::current_process(), &1u32, 0)
    } else if request == Request::Probe as u64 {
        grant::prepare(task, word)
    } else if request == Request::Disarm as u64 {
        maps::unlist(&ARMED, task);
        Ok(())
    } else {
        Err(REFUSED)
    };
    if done.is_ok() { PASSED } else { REFUSED }
}
