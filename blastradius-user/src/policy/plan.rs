//! The policy as the enforcing back ends see it: a list of marks.
//!
//! The policy compiler makes one [`Plan`]; the kernel rung turns it into identity marks, the Landlock rung into a
//! ruleset. What a back end cannot express it reports by name.

use std::ffi::OsString;
use std::path::PathBuf;

use blastradius_common::Zone;

/// A mark on one existing object. An object may carry several facts, so a directory that is a floor object can say
/// what lies below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Canonical absolute path: no link in it, nothing to expand. Opened with `O_PATH | O_NOFOLLOW`.
    pub path: PathBuf,
    /// The zone of the object itself. `None`: what its own nearest marked ancestor says.
    pub own: Option<Zone>,
    /// The zone of everything below it that has no nearer mark. `None` for files and where nothing changes.
    pub below: Option<Zone>,
    /// The zone of entries of this directory whose name begins with a dot, and of what is below them. Homes use it
    /// for [`Zone::Config`].
    pub dots: Option<Zone>,
    /// The line of policy that put it there, for people: `default scope`, `.blastradius:3: deny ./secrets/**`.
    pub origin: String,
}

/// A mark on a name in a directory, whatever object bears that name now or later.
///
/// git, editors and package managers replace single files by rename, and the new inode carries no mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameMark {
    /// Canonical absolute path of the directory.
    pub parent: PathBuf,
    /// One component, at most 255 bytes.
    pub name: OsString,
    /// The zone of what bears the name, and of everything below it.
    pub zone: Zone,
    /// As in [`Mark::origin`].
    pub origin: String,
}

/// Everything that a back end must enforce for one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Identity marks. Where two name one path, the later adds to the earlier.
    pub marks: Vec<Mark>,
    /// Name marks.
    pub names: Vec<NameMark>,
    /// The session may stop the machine and load code into its kernel: someone has lowered `power-state`.
    pub spares_power: bool,
}
