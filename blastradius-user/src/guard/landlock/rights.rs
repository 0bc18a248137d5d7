//! Which Landlock rights stand for "may be destroyed", and what each zone gets of them.

use blastradius_common::{Operation, Zone};

bitflags::bitflags! {
    /// The rights of a delete-only ruleset: <https://docs.kernel.org/userspace-api/landlock.html>.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Rights: u8 {
        /// A file in the directory may lose its name: unlink, rename away, rename over.
        const REMOVE_FILE = 1;
        /// The same for a directory in it.
        const REMOVE_DIR = 2;
        /// Links and renames may cross into and out of the directory.
        const REFER = 4;
        /// Files may be cut (ABI 3).
        const TRUNCATE = 8;
    }
}

impl Rights {
    /// What scope gets.
    pub const DESTROY: Self = Self::all();
    /// What an atomic save needs: a temporary file takes over the name of its neighbour, often while a directory serves as
    /// the lock (proper-lockfile, which pi and others use), so that directories must be removable, too.
    pub const SAVE: Self = Self::all();
    /// What makes sense for a rule on a single file.
    pub const ON_FILE: Self = Self::TRUNCATE;

    /// What the zone table permits, as far as one right does not carry along something that it forbids.
    ///
    /// Landlock has one right for losing a name and for having it taken over. Where the table permits only the second
    /// (config), the right is withheld here; [`super::compile`] adds it where tools cannot work without.
    pub fn of(zone: Zone) -> Self {
        let mut rights = Self::empty();
        if zone.permits(Operation::Remove) && zone.permits(Operation::Replace) {
            rights |= Self::REMOVE_FILE | Self::REMOVE_DIR;
        }
        if zone.permits(Operation::MoveOut) {
            rights |= Self::REFER;
        }
        if zone.permits(Operation::Truncate) {
            rights |= Self::TRUNCATE;
        }
        // A scope root keeps its own name, which no right on itself could take; it says nothing of what lies below.
        if zone == Zone::Root { Self::empty() } else { rights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_born_and_state_may_go_and_config_may_be_edited() {
        for zone in [Zone::Scope, Zone::Born, Zone::State] {
            assert_eq!(Rights::of(zone), Rights::DESTROY, "{}", zone.name());
        }
        assert_eq!(Rights::of(Zone::Config), Rights::TRUNCATE);
    }

    #[test]
    fn every_other_zone_gets_nothing() {
        let nothing =
            [Zone::Floor, Zone::Root, Zone::History, Zone::Own, Zone::Denied, Zone::Personal, Zone::System];
        for zone in nothing.into_iter().chain([Zone::Other]) {
            assert_eq!(Rights::of(zone), Rights::empty(), "{}", zone.name());
        }
    }
}
