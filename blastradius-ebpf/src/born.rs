//! Born: what a session created is its own to remove.
//!
//! `path_*` hooks run before the permission check and, in `open(O_CREAT)`, before the look-up, so they only announce a
//! dentry; the mark is set when `vfs_*` returns success for that very dentry. That also keeps the copies that overlayfs
//! makes inside those calls from being taken for the session's.

use blastradius_common::{NameKey, ObjectKey, identity::NAME_BYTES};

use core::mem::MaybeUninit;

use crate::{
    kernel::{self, Access, Dentry, Inode},
    maps::{self, BORN, BORN_NAMES, PENDING},
};

/// A guarded task is about to create something at `dentry`.
#[inline(always)]
pub fn announce(dentry: Dentry) {
    let task = kernel::current();
    if maps::member(task).is_some() {
        // A full map: not born, which is stricter.
        let _ = PENDING.insert(&task, &dentry.address(), 0);
    }
}

/// Whether the current task announced `dentry`, once; and its session.
#[inline(always)]
fn announced(dentry: Dentry) -> Option<u32> {
    let task = kernel::current();
    if maps::pending(task)? != dentry.address() {
        return None;
    }
    let _ = PENDING.remove(&task);
    maps::member(task).map(|member| member.session)
}

/// A creation at `dentry` returned.
#[inline(always)]
pub fn created(dentry: Dentry, succeeded: bool) {
    if let (Some(session), true) = (announced(dentry), succeeded)
        && let Some(inode) = dentry.inode()
    {
        give_birth(session, inode);
    }
}

/// `link(2)` returned: the *name* is born, not the object, which may have been there before.
#[inline(always)]
pub fn linked(dentry: Dentry, succeeded: bool) {
    if let (Some(session), true) = (announced(dentry), succeeded)
        && let Some(inode) = dentry.inode()
        && let Some(directory) = dentry.parent().inode()
    {
        let id = inode.id();
        with_name_key(ObjectKey::new(session, directory.id()), dentry, |key| {
            BORN_NAMES.insert(key, &id, 0).ok()
        });
    }
}

/// The session created `inode`.
#[inline(always)]
pub fn give_birth(session: u32, inode: Inode) {
    let _ = BORN.insert(&ObjectKey::new(session, inode.id()), &1u32, 0);
}

/// What takes over the place of something that was there before is no longer born.
#[inline(always)]
pub fn disown(session: u32, inode: Inode) {
    let _ = BORN.remove(&ObjectKey::new(session, inode.id()));
}

/// Whether the session created the object.
#[inline(always)]
pub fn is_born<A: Access>(session: u32, inode: Inode<A>) -> bool {
    maps::is_born(&ObjectKey::new(session, inode.id()))
}

/// Whether the session made this name for an object that has another name still.
#[inline(always)]
pub fn is_born_name<A: Access>(session: u32, dentry: Dentry<A>, inode: Inode<A>) -> bool {
    inode.links() >= 2 && is_linked_object(session, dentry, inode)
}

/// Whether the session linked `inode` under this name. A function of its own: the key is most of a stack frame.
#[inline(never)]
fn is_linked_object<A: Access>(session: u32, dentry: Dentry<A>, inode: Inode<A>) -> bool {
    let Some(directory) = dentry.parent().inode() else { return false };
    let linked = with_name_key(ObjectKey::new(session, directory.id()), dentry, maps::born_name);
    linked == Some(inode.id())
}

/// Calls `use_key` with the key of the name of `dentry` in `parent`; `None` where the name is unreadable. The key is half
/// of what a program's stack may hold, so it is built in place and lent, never returned.
#[inline(always)]
pub fn with_name_key<T, A: Access>(
    parent: ObjectKey,
    dentry: Dentry<A>,
    use_key: impl FnOnce(&NameKey) -> Option<T>,
) -> Option<T> {
    let mut key = MaybeUninit::<NameKey>::uninit();
    let place = key.as_mut_ptr();
    // SAFETY: in bounds of the key, which is whole when it is lent. Volatile word by word, because the compiler would call
    // memset, which costs a frame of the chain and a loop over bytes.
    let key = unsafe {
        (&raw mut (*place).parent).write(parent);
        let words = (&raw mut (*place).name).cast::<u64>();
        for index in 0..NAME_BYTES / 8 {
            words.add(index).write_volatile(0);
        }
        key.assume_init_mut()
    };
    dentry.copy_name(&mut key.name)?;
    use_key(key)
}
