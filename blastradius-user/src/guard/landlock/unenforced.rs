//! What can this rung not express?
//!
//! Each gap is a value with a sentence, so that the start line, the end report and `doctor` say the same, and so that a
//! `deny` line that is not enforced can stop the start.

use std::path::PathBuf;

/// In which direction a gap errs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errs {
    /// Something passes that the policy refuses.
    Looser,
    /// Something is refused that the policy permits.
    Stricter,
}

/// One thing that the policy says and this rung does not do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unenforced {
    /// git itself must write there, and Landlock does not know who asks.
    History {
        /// Git directories (or the names in them) whose history is not protected.
        places: Vec<PathBuf>,
    },
    /// A directory of settings where saving a file needs the same right as removing one.
    ConfigRemoval {
        /// Those directories.
        places: Vec<PathBuf>,
    },
    /// Our own files, or a policy file, inside scope.
    OwnFiles {
        /// Those places.
        places: Vec<PathBuf>,
    },
    /// The root of a scope, or an ancestor of something protected, that lies inside another scope.
    NestedRoots {
        /// Those directories.
        places: Vec<PathBuf>,
    },
    /// A `deny` line for a name that does not exist yet: if it appears, it will be as removable as its neighbours.
    LaterName {
        /// Directory and name.
        place: PathBuf,
        /// The line of policy.
        origin: String,
    },
    /// A protected place inside scope that could not be carved out.
    NotCarved {
        /// The place.
        place: PathBuf,
        /// The line of policy.
        origin: String,
        /// Why not.
        why: String,
    },
    /// The file system ignores Landlock.
    FileSystem {
        /// Where it is mounted.
        mount: PathBuf,
        /// Its type.
        fs_type: String,
    },
    /// The kernel's Landlock has no right for cutting files (before ABI 3, Linux 6.2).
    Truncation,
    /// Mode, owner and attributes.
    Metadata,
    /// Block devices opened for writing.
    BlockDevices,
    /// What the session made outside scope, it may not remove.
    Born,
    /// A human's yes cannot be carried into the ruleset.
    Grants,
    /// Package managers and git get no role.
    Roles,
    /// Guarded tasks may not mount.
    Mounting,
    /// Renames and links across directories are refused everywhere (before ABI 2, Linux 5.19).
    Reparenting,
    /// Without CAP_SYS_ADMIN the ruleset needs no_new_privs, so sudo and other set-uid programs do not gain rights.
    NoNewPrivs,
    /// Only the entries that exist now were granted, because something beside them is protected.
    Siblings {
        /// The directory whose own entries can no longer come and go.
        directory: PathBuf,
        /// The line of policy that protects something below it.
        origin: String,
    },
    /// What the kernel rung refuses beyond the policy on this kernel.
    Kernel(String),
    /// What the policy refuses and the kernel rung cannot, on this kernel.
    KernelLacks(String),
    /// An `allow D` lets D itself go, which needs a right on D's parent. A file cannot be replaced either, then.
    ScopeItself {
        /// Each D.
        places: Vec<PathBuf>,
    },
}

impl Unenforced {
    /// Whether it lets something pass or refuses too much.
    pub const fn errs(&self) -> Errs {
        match self {
            Self::History { .. }
            | Self::ConfigRemoval { .. }
            | Self::OwnFiles { .. }
            | Self::NestedRoots { .. }
            | Self::LaterName { .. }
            | Self::NotCarved { .. }
            | Self::FileSystem { .. }
            | Self::Truncation
            | Self::Metadata
            | Self::BlockDevices
            | Self::KernelLacks(_) => Errs::Looser,
            Self::Born
            | Self::Grants
            | Self::Roles
            | Self::Mounting
            | Self::Reparenting
            | Self::NoNewPrivs
            | Self::Siblings { .. }
            | Self::Kernel(_)
            | Self::ScopeItself { .. } => Errs::Stricter,
        }
    }

    /// Whether a line that someone wrote is not enforced: without `--accept-unenforced` the session does not start.
    pub const fn breaks_a_deny_line(&self) -> bool {
        matches!(self, Self::LaterName { .. } | Self::NotCarved { .. })
    }

    /// One of each that Landlock knows, for the documentation: places are made up.
    pub fn examples() -> Vec<Self> {
        let places = || vec![PathBuf::from("/work/place")];
        let place = || PathBuf::from("/work/place");
        let origin = || ".blastradius:1: deny ./place".to_owned();
        vec![
            Self::History { places: places() },
            Self::ConfigRemoval { places: places() },
            Self::OwnFiles { places: places() },
            Self::NestedRoots { places: places() },
            Self::LaterName { place: place(), origin: origin() },
            Self::NotCarved { place: place(), origin: origin(), why: "it is a mount point".to_owned() },
            Self::FileSystem { mount: place(), fs_type: "9p".to_owned() },
            Self::Truncation,
            Self::Metadata,
            Self::BlockDevices,
            Self::Born,
            Self::Grants,
            Self::Roles,
            Self::Mounting,
            Self::Reparenting,
            Self::NoNewPrivs,
            Self::Siblings { directory: place(), origin: origin() },
            Self::ScopeItself { places: places() },
        ]
    }

    /// Two or three words for the start line.
    pub const fn short(&self) -> &'static str {
        match self {
            Self::History { .. } => "git history",
            Self::ConfigRemoval { .. } => "files in settings of agents",
            Self::OwnFiles { .. } => "policy files in scope",
            Self::NestedRoots { .. } => "nested work trees' roots",
            Self::LaterName { .. } => "denied names that appear later",
            Self::NotCarved { .. } => "denied places that could not be carved out",
            Self::FileSystem { .. } => "file systems without Landlock",
            Self::Truncation => "truncation",
            Self::Metadata => "chmod and chown",
            Self::BlockDevices => "block devices",
            Self::Born => "no born files",
            Self::Grants => "no grants",
            Self::Roles => "no package managers on the system",
            Self::Mounting => "no mounts",
            Self::Reparenting => "no renames across directories",
            Self::NoNewPrivs => "no sudo",
            Self::Siblings { .. } => "directories with a denied place are frozen",
            Self::Kernel(_) => "stricter than the policy on this kernel",
            Self::KernelLacks(_) => "hooks that this kernel lacks",
            Self::ScopeItself { .. } => "allowed files and directories themselves stay",
        }
    }

    /// The whole truth, for `doctor` and the end report.
    pub fn sentence(&self) -> String {
        match self {
            Self::History { places } => format!(
                "git must be able to write its own directory, and Landlock cannot tell git from other programs: removing \
                 history below {} is left to the exec layer",
                list(places)
            ),
            Self::ConfigRemoval { places } => format!(
                "saving a file by rename needs the right to remove one: files in {} can be removed",
                list(places)
            ),
            Self::OwnFiles { places } => {
                format!(
                    "{} lies inside scope and can be removed; the policy read at start stays in force",
                    list(places)
                )
            }
            Self::NestedRoots { places } => {
                format!(
                    "{} lies inside another scope: once empty, the directory itself can be removed",
                    list(places)
                )
            }
            Self::LaterName { place, origin } => format!(
                "{} does not exist yet: if it appears during the session it is not protected ({origin})",
                place.display()
            ),
            Self::NotCarved { place, origin, why } => {
                format!("{} is not protected: {why} ({origin})", place.display())
            }
            Self::FileSystem { mount, fs_type } => {
                format!("{} is {fs_type}, on which the kernel does not enforce Landlock", mount.display())
            }
            Self::Truncation => {
                "this kernel's Landlock cannot refuse truncation (it came with Linux 6.2)".to_owned()
            }
            Self::Metadata => "chmod, chown and attributes are not refused by the kernel".to_owned(),
            Self::BlockDevices => "writing to block devices is not refused by the kernel".to_owned(),
            Self::Born => "what the session makes outside scope it cannot remove again".to_owned(),
            Self::Grants => {
                "a human's yes cannot be carried into the kernel: what it would refuse stays refused"
                    .to_owned()
            }
            Self::Roles => {
                "package managers cannot replace files of the system, nor git those of other repositories and of linked work \
                 trees beside the project: `git worktree remove` of one is refused before it starts"
                    .to_owned()
            }
            Self::Mounting => {
                "guarded programs cannot mount, so bubblewrap and containers do not start inside".to_owned()
            }
            Self::Reparenting => {
                "this kernel's Landlock refuses every rename and link across directories (until Linux 5.19)"
                    .to_owned()
            }
            Self::NoNewPrivs => {
                "sudo and other set-uid programs gain no rights inside the session".to_owned()
            }
            Self::Siblings { directory, origin } => format!(
                "files directly in {} cannot be removed or renamed, nor what is made there later, because something below it is \
                 protected ({origin})",
                directory.display()
            ),
            Self::Kernel(sentence) | Self::KernelLacks(sentence) => sentence.clone(),
            Self::ScopeItself { places } => format!(
                "the right to remove something is one on the directory that holds it: {} itself cannot be removed, renamed or \
                 replaced, only written and what is in it removed",
                list(places)
            ),
        }
    }
}

/// At most three, then a count.
fn list(places: &[PathBuf]) -> String {
    const SHOWN: usize = 3;
    let mut text =
        places.iter().take(SHOWN).map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ");
    if places.len() > SHOWN {
        text.push_str(&format!(" and {} more", places.len() - SHOWN));
    }
    text
}
