//! Zones: where an object lies decides what may be done to it.

/// The zone of an object. The nearest marked ancestor decides; a [`Zone::Denied`] anywhere above wins.
///
/// The discriminants cross the kernel boundary inside marks and events; 0 means "no mark".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Zone {
    /// `/`, the system roots, homes, mount points: never, by nobody.
    Floor = 1,
    /// A root of scope, or an ancestor of scope or of something protected.
    Root = 2,
    /// What git needs to give the past back: `objects`, `refs`, `logs`, `HEAD`, `packed-refs`, `config`.
    History = 3,
    /// The guard's own state, logs, pins, trust store and `.blastradius` files.
    Own = 4,
    /// What a `deny` line names.
    Denied = 5,
    /// Where an agent may destroy: the work tree, scratch, and what an `allow` line names.
    Scope = 6,
    /// Created by this session.
    Born = 7,
    /// Owned and rebuilt by a tool that is present (`~/.npm`, `~/.cargo/registry`, …).
    State = 8,
    /// Other dotfiles and dot-directories of a home.
    Config = 9,
    /// The rest of a home, and other work trees.
    Personal = 10,
    /// Below the system roots.
    System = 11,
    /// Everything else: `/srv`, `/mnt`, other mounts.
    Other = 12,
}

/// What is done to one object, as the zone table distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Operation {
    /// unlink, rmdir, the loss of a name by any road.
    Remove = 0,
    /// A rename that takes the object out of the marked directory that protects it.
    MoveOut = 1,
    /// Content cut to a length, usually zero.
    Truncate = 2,
    /// Another object takes over this one's name (rename over, EXCHANGE, `cp` over).
    Replace = 3,
    /// Mode, owner, ACL or flags of this one object.
    Metadata = 4,
    /// The same, of a whole tree.
    MetadataRecursive = 5,
    /// Something is mounted over it, or what is mounted there is detached or mounted anew.
    Mount = 6,
    /// The machine is stopped, or code loaded into its kernel: no object of any zone.
    Machine = 7,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 8] = [
        Self::Remove,
        Self::MoveOut,
        Self::Truncate,
        Self::Replace,
        Self::Metadata,
        Self::MetadataRecursive,
        Self::Mount,
        Self::Machine,
    ];

    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::MoveOut => "move out",
            Self::Truncate => "truncate",
            Self::Replace => "replace",
            Self::Metadata => "change metadata of",
            Self::MetadataRecursive => "change metadata below",
            Self::Mount => "mount over or detach",
            Self::Machine => "stop or change",
        }
    }

    /// The operation with this discriminant, if there is one.
    pub const fn from_u8(value: u8) -> Option<Self> {
        if (value as usize) < Self::ALL.len() { Some(Self::ALL[value as usize]) } else { None }
    }

    /// The zones that permit this operation, bit n for discriminant n: [`Zone::permits`] as the kernel side asks it.
    pub const fn permitting(self) -> u32 {
        let mut zones = 0;
        let mut index = 0;
        while index < Zone::ALL.len() {
            if Zone::ALL[index].permits(self) {
                zones |= 1 << Zone::ALL[index] as u32;
            }
            index += 1;
        }
        zones
    }
}

impl Zone {
    /// All zones, in the order of the table in the documentation.
    pub const ALL: [Self; 12] = [
        Self::Floor,
        Self::Root,
        Self::History,
        Self::Own,
        Self::Denied,
        Self::Scope,
        Self::Born,
        Self::State,
        Self::Config,
        Self::Personal,
        Self::System,
        Self::Other,
    ];

    /// The word used in output and documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Root => "root",
            Self::History => "history",
            Self::Own => "self",
            Self::Denied => "denied",
            Self::Scope => "scope",
            Self::Born => "born",
            Self::State => "state",
            Self::Config => "config",
            Self::Personal => "personal",
            Self::System => "system",
            Self::Other => "other",
        }
    }

    /// The zone with this discriminant, if there is one.
    pub const fn from_u8(value: u8) -> Option<Self> {
        if value >= 1 && value as usize <= Self::ALL.len() {
            Some(Self::ALL[value as usize - 1])
        } else {
            None
        }
    }

    /// The syscall layer's word on `operation` in this zone, before roles and grants.
    ///
    /// This is the zone table of the documentation. `true` means the kernel lets it pass.
    pub const fn permits(self, operation: Operation) -> bool {
        use Operation::{Machine, Metadata, MetadataRecursive, Mount, MoveOut, Remove, Replace, Truncate};
        if matches!(operation, Machine) {
            return false;
        }
        match self {
            Self::Floor | Self::Own | Self::Denied => false,
            // Scope roots and ancestors of marks keep their name; what lies in them has its own zone.
            Self::Root => !matches!(operation, Remove | MoveOut | MetadataRecursive | Mount),
            Self::History => false,
            Self::Scope | Self::Born | Self::State => true,
            // An edit (atomic save, O_TRUNC rewrite) is what editors and package managers do all day.
            Self::Config => matches!(operation, Truncate | Replace | Metadata),
            Self::Personal | Self::System => matches!(operation, Metadata),
            // Backup disks, and what sandboxes and containers are put together from.
            Self::Other => matches!(operation, Metadata | Mount),
        }
    }

    /// The rule that a refusal in this zone names.
    pub const fn rule(self) -> crate::RuleId {
        use crate::RuleId;
        match self {
            Self::Floor => RuleId::FloorPath,
            Self::Root => RuleId::ScopeRoot,
            Self::History => RuleId::GitHistory,
            Self::Own => RuleId::OwnFiles,
            Self::Denied => RuleId::DeniedPath,
            Self::Scope
            | Self::Born
            | Self::State
            | Self::Config
            | Self::Personal
            | Self::System
            | Self::Other => RuleId::OutOfScope,
        }
    }

    /// Whether what lies here stays also where the kernel itself would remove it, doing something else for a task: an
    /// overlay's work directory, for one. Not where the storage of containers lies.
    pub const fn holds_against_the_kernel(self) -> bool {
        matches!(self, Self::Floor | Self::Root | Self::History | Self::Own | Self::Denied | Self::Personal)
    }

    /// Whether having been created by the session lifts the zone's word: not where someone said no by name, and not in
    /// a history that was there before: `git gc` moves it whole into packs that are new.
    pub const fn yields_to_born(self) -> bool {
        !matches!(self, Self::Floor | Self::Root | Self::Own | Self::Denied | Self::History)
    }
}
