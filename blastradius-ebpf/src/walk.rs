//! The walk: from an object up to the root of its file system, asking each directory for a mark.
//!
//! The nearest mark decides, and a denied place anywhere above wins. The path that a process sees never matters: chroot,
//! bind mounts, mount namespaces and symlinks change names, not parents.

use blastradius_common::{Below, ObjectKey, Zone};

use crate::{
    born::with_name_key,
    kernel::{self, Dentry, Inode},
    maps,
};

/// Directories that a walk visits at most; deeper is refused. Verifies on every kernel of the table (vm/kernels.toml).
pub const STEPS: u32 = 320;

/// Where something lies.
#[derive(Clone, Copy)]
pub struct Place {
    /// A [`Zone`] discriminant.
    pub zone: u32,
    /// The address of the inode whose mark decided, 0 where none did. Only ever compared.
    pub decider: u64,
    /// The walk did not come to an end: `zone` is [`Zone::Other`] for want of an answer.
    pub unreadable: bool,
}

impl Place {
    /// Where `dentry` lies: its own mark, else where its name lies.
    #[inline(always)]
    pub fn of(session: u32, dentry: Dentry, inode: Inode) -> Self {
        Self::around(session, dentry).with_own(session, inode)
    }

    /// Where the name lies, whatever bears it.
    #[inline(always)]
    pub fn around(session: u32, dentry: Dentry) -> Self {
        let mut found = [0u64; 2];
        walk(session, dentry, &mut found);
        kernel::forget(&mut found);
        let [answer, decider] = found;
        let answer = answer as u32;
        Self { zone: answer & ZONE, decider, unreadable: answer & UNREADABLE != 0 }
    }

    /// The same for the object `inode` that bears the name: its own mark is nearer than anything around it.
    #[inline(always)]
    pub fn with_own(self, session: u32, inode: Inode) -> Self {
        if self.zone == DENIED {
            return self;
        }
        match maps::own(&ObjectKey::new(session, inode.id())) {
            Some(zone) => Self { zone: zone & ZONE, decider: inode.address(), unreadable: false },
            None => self,
        }
    }

    /// Whether going from here to `other` stays in the same marked directory.
    #[inline(always)]
    pub fn is_beside(self, other: Self) -> bool {
        self.decider != 0 && self.decider == other.decider && self.zone == other.zone
    }
}

/// The part of an answer that is a zone.
const ZONE: u32 = 0xff;
/// The bit of an answer that says the walk was cut short.
const UNREADABLE: u32 = 0x100;
const DENIED: u32 = Zone::Denied as u32;
/// The answer where no mark is found at all.
const OTHER: u32 = Zone::Other as u32;
/// The answer where none could be had.
const CUT_SHORT: u32 = OTHER | UNREADABLE;

/// Finds the zone of the name `dentry`, as an answer, and the address of the inode whose mark decided.
///
/// A function of its own, so that a program with two walks stays small. The frames of a call chain may take 512 bytes
/// together, each rounded up to 32: 128 for the program, 64 for this, 320 for [`name_zone`].
#[inline(never)]
fn walk(session: u32, dentry: Dentry, found: &mut [u64; 2]) {
    let mut child = dentry;
    for _ in 0..STEPS {
        let parent = child.parent();
        if parent == child {
            found[0] = u64::from(OTHER);
            return;
        }
        let directory = parent.directory();
        if let Some(below) = maps::below(&ObjectKey::new(session, directory.id())) {
            found[1] = directory.address();
            let mut zone = zone_below(session, below, directory, child);
            if zone != DENIED && below.flags & Below::FINAL == 0 {
                zone = overrule(session, child, zone);
            }
            found[0] = u64::from(zone);
            return;
        }
        child = parent;
    }
    found[0] = u64::from(CUT_SHORT);
}

/// What `below` says about the entry `child` of its directory.
#[inline(always)]
fn zone_below(session: u32, below: Below, directory: Inode, child: Dentry) -> u32 {
    if below.flags & Below::NAMES != 0 {
        let zone = name_zone(session, directory, child);
        if zone != 0 {
            return zone;
        }
    }
    if below.dots != 0 {
        return match child.is_dot_name() {
            Some(true) => u32::from(below.dots),
            Some(false) => u32::from(below.zone),
            None => CUT_SHORT,
        };
    }
    u32::from(below.zone)
}

/// `zone`, unless a directory above `start` is denied as a whole.
///
/// Denied names need no second look: the user side has resolved them for every marked directory.
#[inline(never)]
fn overrule(session: u32, start: Dentry, zone: u32) -> u32 {
    let mut child = start;
    for _ in 0..STEPS {
        let parent = child.parent();
        if parent == child {
            return zone;
        }
        if maps::is_denied(&ObjectKey::new(session, parent.directory().id())) {
            return DENIED;
        }
        child = parent;
    }
    CUT_SHORT
}

/// The zone that the session gives to this name in this directory; 0: none.
///
/// A function of its own: the key takes more than half of what the frames of a call chain may take together.
#[inline(never)]
fn name_zone(session: u32, directory: Inode, child: Dentry) -> u32 {
    let parent = ObjectKey::new(session, directory.id());
    with_name_key(parent, child, |key| Some(maps::name_zone(key).unwrap_or(0) & ZONE)).unwrap_or(CUT_SHORT)
}
