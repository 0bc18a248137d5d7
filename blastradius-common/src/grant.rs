//! Grants: a human's yes, as the kernel side stores it, and what is lent to git for its own work.
//!
//! A grant is a number of its session. The task that was approved carries it in its [`crate::Member`], and so do its
//! descendants; what it covers is listed object by object. What is lent holds only in those of them that run git.

use crate::{Id, Operation, Zone};

/// Key of what one grant says about one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct GrantKey {
    /// The object.
    pub id: Id,
    /// The session.
    pub session: u32,
    /// The grant, never 0.
    pub grant: u32,
}

/// What a grant covers of one object: bit n for the [`Operation`] n on the object itself, bit n + 16 on what lies below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cover(pub u32);

impl Cover {
    const BELOW: u32 = 16;

    /// Adds an operation on the object itself.
    #[must_use]
    pub const fn with(self, operation: Operation) -> Self {
        Self(self.0 | 1 << operation as u32)
    }

    /// Adds an operation on everything below the object.
    #[must_use]
    pub const fn with_below(self, operation: Operation) -> Self {
        Self(self.0 | 1 << (operation as u32 + Self::BELOW))
    }

    /// Whether it covers everything that `other` does.
    pub const fn includes(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the word `cover` covers `operation` (a discriminant) on the object itself.
    #[inline(always)]
    pub const fn covers(cover: u32, operation: u32) -> bool {
        cover >> (operation & 15) & 1 != 0
    }

    /// Whether the word `cover` covers `operation` on what lies below.
    #[inline(always)]
    pub const fn covers_below(cover: u32, operation: u32) -> bool {
        cover >> ((operation & 15) + Self::BELOW) & 1 != 0
    }
}

/// The zones in which a human may say yes, bit n for discriminant n. Floor, self and denied stay what they are.
pub const LIFTED: u32 = {
    let zones = [Zone::Root, Zone::History, Zone::Config, Zone::Personal, Zone::System, Zone::Other];
    let mut mask = 0;
    let mut index = 0;
    while index < zones.len() {
        mask |= 1 << zones[index] as u32;
        index += 1;
    }
    mask
};

/// What the supervisor wants of one task: to know its membership and, with a grant, that its next program carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Order {
    /// The program that was approved: an exec of another one does not take the grant up.
    pub binary: Id,
    /// The grant is not taken up after this: nanoseconds of CLOCK_MONOTONIC.
    pub until: u64,
    /// The session.
    pub session: u32,
    /// The grant; 0: only the membership is asked for; [`Order::ENROL`].
    pub grant: u32,
}

impl Order {
    /// Instead of a grant: the task becomes a member of the session, if it is a member of none.
    pub const ENROL: u32 = u32::MAX;
}

const _: () = assert!(size_of::<GrantKey>() == 24);
const _: () = assert!(size_of::<Order>() == 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn itself_and_below_are_told_apart() {
        let file = Cover::default().with(Operation::Remove);
        let tree = file.with_below(Operation::Remove);
        let remove = Operation::Remove as u32;
        assert!(Cover::covers(file.0, remove) && !Cover::covers_below(file.0, remove));
        assert!(Cover::covers(tree.0, remove) && Cover::covers_below(tree.0, remove));
        assert!(!Cover::covers(tree.0, Operation::Truncate as u32));
        assert!(tree.includes(file) && !file.includes(tree));
    }

    #[test]
    fn no_grant_lifts_floor_self_or_denied() {
        for zone in Zone::ALL {
            let never = matches!(zone, Zone::Floor | Zone::Own | Zone::Denied);
            let open = matches!(zone, Zone::Scope | Zone::Born | Zone::State);
            assert_eq!(LIFTED >> zone as u32 & 1 != 0, !never && !open, "{}", zone.name());
        }
    }
}
