//! The maps of the kernel side, typed.

use std::{
    io,
    marker::PhantomData,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use aya::maps::MapData;
use blastradius_common::{
    Below, Id, Member, NameKey, ObjectKey, Tally,
    grant::{GrantKey, Order},
};

use super::sys;

/// A layout that both sides of the kernel boundary share.
///
/// # Safety
/// `#[repr(C)]` or a primitive, without padding, valid in every bit pattern.
pub(super) unsafe trait Plain: Copy {}

// SAFETY: primitives.
unsafe impl Plain for u32 {}
// SAFETY: primitives.
unsafe impl Plain for u64 {}
// SAFETY: `#[repr(C)]` structures of integers; their sizes are asserted beside their definitions.
unsafe impl Plain for Id {}
// SAFETY: as above.
unsafe impl Plain for ObjectKey {}
// SAFETY: as above.
unsafe impl Plain for NameKey {}
// SAFETY: as above.
unsafe impl Plain for Below {}
// SAFETY: as above.
unsafe impl Plain for Member {}
// SAFETY: as above.
unsafe impl Plain for Tally {}
// SAFETY: as above.
unsafe impl Plain for GrantKey {}
// SAFETY: as above.
unsafe impl Plain for Order {}

/// A hash map of the kernel side. Descriptors are what is shared, so any process that opens the pin sees the same table.
#[derive(Debug)]
pub(super) struct Table<K, V> {
    fd: OwnedFd,
    layout: PhantomData<fn(K) -> V>,
}

impl<K: Plain, V: Plain> Table<K, V> {
    /// Takes a map whose key and value are as large as `K` and `V`.
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        let info = MapData::from_fd(fd.try_clone()?).and_then(|map| map.info()).map_err(io::Error::other)?;
        if info.key_size() as usize != size_of::<K>() || info.value_size() as usize != size_of::<V>() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a map of another layout"));
        }
        Ok(Self { fd, layout: PhantomData })
    }

    pub(super) fn get(&self, key: &K) -> io::Result<Option<V>>
    where
        V: Default,
    {
        // SAFETY: sizes checked in `new`; both types are `Plain`.
        match unsafe { sys::map_lookup(self.fd.as_fd(), key) } {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn insert(&self, key: &K, value: &V) -> io::Result<()> {
        // SAFETY: as in `get`.
        unsafe { sys::map_update(self.fd.as_fd(), key, value) }
    }

    /// Removes `key`, if it is there.
    pub(super) fn remove(&self, key: &K) -> io::Result<()> {
        // SAFETY: as in `get`.
        match unsafe { sys::map_delete(self.fd.as_fd(), key) } {
            Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
            _ => Ok(()),
        }
    }

    /// The keys, as far as they hold still: entries that others add or remove meanwhile may be missed, and a removed one
    /// makes the kernel start over, so duplicates are possible and the number is bounded.
    pub(super) fn keys(&self) -> io::Result<Vec<K>> {
        /// More than any of the maps holds.
        const LIMIT: usize = 1 << 18;
        let mut keys = Vec::new();
        while keys.len() < LIMIT {
            // SAFETY: as in `get`.
            match unsafe { sys::map_next_key(self.fd.as_fd(), keys.last()) }? {
                Some(key) => keys.push(key),
                None => break,
            }
        }
        Ok(keys)
    }

    /// Removes the keys that `select` picks.
    pub(super) fn retain(&self, keep: impl Fn(&K) -> bool) -> io::Result<()> {
        self.keys()?.iter().filter(|key| !keep(key)).try_for_each(|key| self.remove(key))
    }
}

impl<K, V> AsFd for Table<K, V> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
