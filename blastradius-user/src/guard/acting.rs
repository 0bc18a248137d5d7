//! With whose rights are files made and read?
//!
//! A guard that was started as root for somebody else reads and writes as that somebody: the log and the store are theirs,
//! a link that they planted leads nowhere that they could not go, and nothing is kept that they could not have read. Only
//! the calling thread changes, and only for the file system.

use std::marker::PhantomData;

use nix::unistd::{Gid, Uid, setfsgid, setfsuid};

use super::child::Identity;

/// The calling thread acts as somebody else until this is dropped.
pub struct Acting {
    before: Option<Before>,
    /// Bound to the thread that was changed.
    _thread: PhantomData<*const ()>,
}

struct Before {
    uid: Uid,
    gid: Gid,
    groups: Vec<libc::gid_t>,
}

impl Acting {
    /// Acts as `identity`; `None`: as we are.
    pub fn as_agent(identity: Option<&Identity>) -> Self {
        let before = identity.map(|identity| {
            let groups = nix::unistd::getgroups().unwrap_or_default();
            let before = Before {
                uid: Uid::effective(),
                gid: Gid::effective(),
                groups: groups.into_iter().map(Gid::as_raw).collect(),
            };
            set_groups(&identity.groups);
            // The user last: leaving root takes the right to change groups' access away.
            setfsgid(Gid::from_raw(identity.gid));
            setfsuid(Uid::from_raw(identity.uid));
            before
        });
        Self { before, _thread: PhantomData }
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            setfsuid(before.uid);
            setfsgid(before.gid);
            set_groups(&before.groups);
        }
    }
}

/// setgroups(2) of this thread alone; the C library's would change all threads.
fn set_groups(groups: &[libc::gid_t]) {
    // SAFETY: the pointer and the count describe the slice. A refusal (no CAP_SETGID) leaves fewer rights than asked for
    // nowhere: only root gets here.
    unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
}
