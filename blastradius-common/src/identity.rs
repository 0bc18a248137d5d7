//! Identity: what an object *is*, whatever path leads to it.
//!
//! The layouts are map keys: hashed as bytes, so they have no padding and every reserved field is zero.

/// Identifies one inode on this machine for as long as it exists.
///
/// Computed by the kernel side alone. `stat(2)` will not do: overlayfs and btrfs report another device and inode
/// number there than the inode carries.
///
/// Limits: btrfs snapshots repeat device, number and generation of what they were taken from, so a mark covers the
/// snapshot too; file systems without stable inode numbers (FUSE, 9p, NFS, vfat) keep an identity only while the
/// inode is in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Id {
    /// `inode.i_ino`.
    pub ino: u64,
    /// `inode.i_sb->s_dev`, in the kernel's own encoding (12 bits major, 20 bits minor).
    pub dev: u32,
    /// `inode.i_generation`: tells a new file from a deleted one whose number it took over.
    pub generation: u32,
}

/// Key of everything that one session says about one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct ObjectKey {
    /// The object.
    pub id: Id,
    /// The session that says it. One set of maps serves every session of the machine.
    pub session: u32,
    /// Always zero.
    pub reserved: u32,
}

impl ObjectKey {
    /// The key of `id` in `session`.
    #[inline(always)]
    pub const fn new(session: u32, id: Id) -> Self {
        Self { id, session, reserved: 0 }
    }
}

/// Bytes of a name in a [`NameKey`]: `NAME_MAX` is 255, and the rest is zero.
pub const NAME_BYTES: usize = 256;

/// Key of everything that one session says about one name in one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct NameKey {
    /// The directory and the session.
    pub parent: ObjectKey,
    /// The component, followed by zeros. Words, so that the kernel side clears it with few instructions.
    pub name: [u64; NAME_BYTES / 8],
}

impl NameKey {
    /// The key of `name` in the directory `parent`. `None` where the name is empty, longer than 255 bytes, or holds
    /// a byte that no name may hold.
    pub fn new(parent: ObjectKey, name: &[u8]) -> Option<Self> {
        if name.is_empty() || name.len() >= NAME_BYTES || name.contains(&0) || name.contains(&b'/') {
            return None;
        }
        let mut words = [0u64; NAME_BYTES / 8];
        for (word, bytes) in words.iter_mut().zip(name.chunks(8)) {
            let mut padded = [0u8; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(padded);
        }
        Some(Self { parent, name: words })
    }
}

const _: () = assert!(size_of::<Id>() == 16);
const _: () = assert!(size_of::<ObjectKey>() == 24);
const _: () = assert!(size_of::<NameKey>() == 24 + NAME_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: ObjectKey = ObjectKey::new(3, Id { ino: 7, dev: 8, generation: 9 });

    #[test]
    fn a_name_is_followed_by_zeros() {
        let key = NameKey::new(PARENT, b"packed-refs").expect("a plain name");
        let bytes: [[u8; 8]; 32] = key.name.map(u64::to_ne_bytes);
        assert_eq!(&bytes.as_flattened()[..12], b"packed-refs\0");
        assert!(bytes.as_flattened()[11..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn what_cannot_be_a_name_has_no_key() {
        assert!(NameKey::new(PARENT, b"").is_none());
        assert!(NameKey::new(PARENT, b"a/b").is_none());
        assert!(NameKey::new(PARENT, b"a\0b").is_none());
        assert!(NameKey::new(PARENT, &[b'n'; 256]).is_none());
        assert!(NameKey::new(PARENT, &[b'n'; 255]).is_some());
    }
}
