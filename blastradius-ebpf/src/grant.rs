//! Grants: what a human has approved passes, for the approved program and what it starts.
//!
//! The supervisor cannot name a task to the kernel side by a number: pids repeat and differ by namespace. It names it by
//! sending it signal 0, which does nothing but call a hook with both tasks.

use aya_ebpf::{btf_maps::HashMap, helpers::generated::bpf_ktime_get_ns, macros::btf_map};
use blastradius_common::{
    Id, Member,
    grant::{Cover, GrantKey, LIFTED, Order},
};

use crate::{
    climb::{End, climb},
    kernel::{self, Access, Dentry, Inode, Task},
    maps,
};

/// What grants cover.
#[btf_map]
pub static GRANTS: HashMap<GrantKey, u32, 8192> = HashMap::new();
/// What supervisors want of the task that they signal next, by token.
#[btf_map]
pub static ORDERS: HashMap<u64, Order, 1024> = HashMap::new();
/// The tokens of the threads that are about to signal.
#[btf_map]
pub static PROBES: HashMap<u64, u64, 1024> = HashMap::new();
/// The memberships that were asked for, by token; session 0 is no member.
#[btf_map]
pub static MEMBERSHIPS: HashMap<u64, Member, 1024> = HashMap::new();
/// Tasks whose next program carries a grant.
#[btf_map]
pub static EXPECTED: HashMap<u64, Order, 4096> = HashMap::new();

/// A supervisor's thread will signal the task that the order with this token is about.
#[inline(always)]
pub fn prepare(thread: u64, token: u64) -> Result<(), i32> {
    maps::list(&PROBES, thread, &token)
}

/// The current task signals `target`: if it is a supervisor's that has prepared for it, answers and carries out its order.
#[inline(always)]
pub fn serve(target: Task) {
    let thread = kernel::current();
    if !maps::is_known(thread) {
        return;
    }
    let Some(token) = PROBES.get_ptr(&thread) else { return };
    // SAFETY: the map's own memory, valid until the program returns.
    let token = unsafe { *token };
    maps::unlist(&PROBES, thread);
    let target = target.address();
    let member = maps::member(target).unwrap_or_default();
    let _ = MEMBERSHIPS.insert(&token, &member, 0);
    let Some(order) = ORDERS.get_ptr(&token) else { return };
    // SAFETY: as above.
    let order = unsafe { *order };
    if order.grant == Order::ENROL {
        if member.session == 0 {
            let joined = Member { session: order.session, traits: 0 };
            let _ = maps::enrol(target, joined);
        }
    } else if order.grant != 0 && order.session == member.session {
        let _ = EXPECTED.insert(&target, &order, 0);
    }
}

/// The grant that `task` takes up by executing `binary`, 0 for none. An order is for one exec, whatever becomes of it.
#[inline(always)]
pub fn taken_up(task: u64, session: u32, binary: Id) -> u32 {
    let Some(order) = EXPECTED.get_ptr(&task) else { return 0 };
    // SAFETY: the map's own memory, valid until the program returns.
    let order = unsafe { *order };
    let _ = EXPECTED.remove(&task);
    // SAFETY: no arguments.
    let now = unsafe { bpf_ktime_get_ns() };
    let same = order.binary.ino == binary.ino
        && order.binary.dev == binary.dev
        && order.binary.generation == binary.generation;
    if same && order.session == session && now < order.until { order.grant } else { 0 }
}

/// The task `gone` is gone.
#[inline(always)]
pub fn forget(gone: u64) {
    let _ = EXPECTED.remove(&gone);
    maps::unlist(&PROBES, gone);
}

/// Whether a grant of `member` lets `operation` on `inode`, which bears the name `dentry` in `zone`, pass.
#[inline(always)]
pub fn lifts<A: Access>(
    member: Member,
    dentry: Dentry<A>,
    inode: Inode<A>,
    operation: u32,
    zone: u32,
) -> bool {
    let grant = member.grant();
    grant != 0
        && LIFTED >> (zone & 31) & 1 != 0
        && covers(u64::from(member.session) | u64::from(grant) << 32, dentry, inode, operation)
}

/// Walks from the object upwards until something covers the operation. A function of its own, so that rename stays small.
#[inline(never)]
fn covers<A: Access>(grant: u64, dentry: Dentry<A>, inode: Inode<A>, operation: u32) -> bool {
    let key = move |id: Id| GrantKey { id, session: grant as u32, grant: (grant >> 32) as u32 };
    if Cover::covers(cover(&key(inode.id())), operation) {
        return true;
    }
    let end = climb(dentry, A::STEPS, move |parent: Dentry<A>| {
        u32::from(Cover::covers_below(cover(&key(parent.directory().id())), operation))
    });
    matches!(end, End::Answer(..))
}

#[inline(always)]
fn cover(key: &GrantKey) -> u32 {
    match GRANTS.get_ptr(key) {
        // SAFETY: the map's own memory, valid until the program returns.
        Some(cover) => unsafe { *cover },
        None => 0,
    }
}
