//! The walk: from an object up to the root of its file system, asking each directory for a mark.
//!
//! The nearest mark decides, and a denied place anywhere above wins. The path that a process sees never matters: chroot,
//! bind mounts, mount namespaces and symlinks change names, not parents.

use blastradius_common::{Below, Id, ObjectKey, Zone};

use crate::{
    born::with_name_key,
    climb::{End, climb, climb_with},
    kernel::{self, Access, Dentry, Inode},
    maps,
};

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
    pub fn of<A: Access>(session: u32, dentry: Dentry<A>, inode: Inode<A>) -> Self {
        Self::around(session, dentry).with_own(session, inode)
    }

    /// Where the name lies, whatever bears it.
    #[inline(always)]
    pub fn around<A: Access>(session: u32, dentry: Dentry<A>) -> Self {
        Self::find(session, dentry, &mut [0; 2])
    }

    /// Where two names lie: in one directory, of which no mark tells the one from the other, at the same place.
    #[inline(always)]
    pub fn around_both(session: u32, first: Dentry, second: Dentry) -> (Self, Self) {
        let mut found = [0; 2];
        let place = Self::find(session, first, &mut found);
        let parent = first.parent();
        let same_directory = second.parent() == parent && first != parent;
        if same_directory && place.decider != parent.directory().address() {
            return (place, place);
        }
        (place, Self::find(session, second, &mut found))
    }

    /// A walk, which writes to `found`.
    #[inline(always)]
    fn find<A: Access>(session: u32, dentry: Dentry<A>, found: &mut [u64; 2]) -> Self {
        *found = [0; 2];
        walk(session, dentry, found);
        kernel::forget(found);
        let [answer, decider] = *found;
        let answer = answer as u32;
        Self { zone: answer & ZONE, decider, unreadable: answer & UNREADABLE != 0 }
    }

    /// Where an entry of `directory` lies that nobody has marked.
    #[inline(always)]
    pub fn within(session: u32, directory: Dentry) -> Self {
        let inode = directory.directory();
        match below(session, inode, inode.device()) {
            Some(below) if !is_inherited(below) => {
                Self { zone: u32::from(below.zone), decider: inode.address(), unreadable: false }
            }
            _ => Self::around(session, directory),
        }
    }

    /// Where nothing around it says anything.
    #[inline(always)]
    pub const fn nowhere() -> Self {
        Self { zone: OTHER, decider: 0, unreadable: false }
    }

    /// Where what everybody stands on lies.
    #[inline(always)]
    pub const fn of_floor() -> Self {
        Self { zone: Zone::Floor as u32, decider: 0, unreadable: false }
    }

    /// The same for the object `inode` that bears the name: its own mark is nearer than anything around it.
    #[inline(always)]
    pub fn with_own<A: Access>(self, session: u32, inode: Inode<A>) -> Self {
        if self.zone == DENIED {
            return self;
        }
        let suspect = suspect(inode, inode.device());
        match suspect.and_then(|id| maps::own(&ObjectKey::new(session, id))) {
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
/// No answer yet: what is said further up holds. No zone has this number.
const INHERITED: u32 = 0;

/// Finds the zone of the name `dentry`, as an answer, and the address of the inode whose mark decided.
///
/// A function of its own, so that a program with two walks stays small. The frames of a call chain may take 512 bytes
/// together, each rounded up to 32: 128 for the program, 64 for this, 320 for [`name_zone`].
#[inline(never)]
fn walk<A: Access>(session: u32, dentry: Dentry<A>, found: &mut [u64; 2]) {
    // A file system has one device: what is above a name lies on it too.
    let dev = dentry.parent().directory().device();
    let end = climb(dentry, A::STEPS, move |parent: Dentry<A>| {
        below(session, parent.directory(), dev).map_or(0, Below::to_word)
    });
    found[0] = u64::from(match end {
        End::Root => OTHER,
        End::CutShort => CUT_SHORT,
        End::Answer(word, child) => {
            let below = Below::from_word(word);
            let directory = child.parent().directory();
            found[1] = directory.address();
            let zone = zone_below(session, below, directory, child);
            if zone != DENIED && below.flags & Below::FINAL == 0 {
                overrule(session, child, zone)
            } else {
                zone
            }
        }
    });
}

/// The mark on `directory`, which lies on `dev`. Most have none, and most of those are known not to without a look-up.
#[inline(always)]
fn below<A: Access>(session: u32, directory: Inode<A>, dev: u32) -> Option<Below> {
    maps::below(&ObjectKey::new(session, suspect(directory, dev)?))
}

/// What identifies `inode`, which lies on `dev`. `None`: it has no mark, for certain.
#[inline(always)]
fn suspect<A: Access>(inode: Inode<A>, dev: u32) -> Option<Id> {
    let ino = inode.number();
    if maps::is_identified(ino, dev) { Some(inode.id_of(ino, dev)) } else { None }
}

/// What `below` says about the entry `child` of its directory.
#[inline(always)]
fn zone_below<A: Access>(session: u32, below: Below, directory: Inode<A>, child: Dentry<A>) -> u32 {
    if below.flags & Below::NAMES != 0 {
        let zone = name_zone(session, directory, child);
        if zone != 0 {
            return zone;
        }
    }
    spoken(below, child)
}

/// `zone`, or for [`INHERITED`] what the next mark says that speaks for itself; unless a directory above `start` is denied
/// as a whole.
///
/// Names need no second look: the user side has resolved them for every marked directory.
#[inline(never)]
fn overrule<A: Access>(session: u32, start: Dentry<A>, zone: u32) -> u32 {
    let dev = start.parent().directory().device();
    let key = move |directory: Inode<A>| Some(ObjectKey::new(session, suspect(directory, dev)?));
    let (end, zone) = if kernel::has_loop() {
        // Turns change it: the verifier is to know nothing of it before the first.
        let mut known = [u64::from(zone)];
        kernel::forget(&mut known);
        climb_with(start, A::STEPS, known[0] as u32, move |here: Dentry<A>, parent, zone: &mut u32| {
            let Some(key) = key(parent.directory()) else { return 0 };
            if *zone == INHERITED {
                *zone = maps::below(&key).map_or(INHERITED, |below| spoken(below, here));
            }
            u32::from(maps::is_denied(&key))
        })
    } else {
        let is_denied =
            move |parent: Dentry<A>| key(parent.directory()).is_some_and(|key| maps::is_denied(&key));
        (climb(start, A::STEPS, move |parent| u32::from(is_denied(parent))), zone)
    };
    match end {
        End::Root if zone == INHERITED => OTHER,
        End::Root => zone,
        End::Answer(..) => DENIED,
        End::CutShort => CUT_SHORT,
    }
}

/// Whether what lies further up is to be asked. Where turns are counted (before 5.17), the verifier would have to follow
/// what each of them found: there a directory takes along what it lay in.
#[inline(always)]
fn is_inherited(below: Below) -> bool {
    kernel::has_loop() && below.flags & Below::INHERITED != 0
}

/// What `below` says by itself of the entry `child` of its directory, whatever it says of names.
#[inline(always)]
fn spoken<A: Access>(below: Below, child: Dentry<A>) -> u32 {
    if is_inherited(below) {
        return INHERITED;
    }
    if below.dots == 0 {
        return u32::from(below.zone);
    }
    match child.is_dot_name() {
        Some(true) => u32::from(below.dots),
        Some(false) => u32::from(below.zone),
        None => CUT_SHORT,
    }
}

/// The zone that the session gives to this name in this directory; 0: none.
///
/// A function of its own: the key takes more than half of what the frames of a call chain may take together.
#[inline(never)]
fn name_zone<A: Access>(session: u32, directory: Inode<A>, child: Dentry<A>) -> u32 {
    let parent = ObjectKey::new(session, directory.id());
    with_name_key(parent, child, |key| Some(maps::name_zone(key).unwrap_or(0) & ZONE)).unwrap_or(CUT_SHORT)
}
