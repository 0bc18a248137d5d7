//! What does the delete-only ruleset enforce, and what not?
//!
//! Landlock needs no privilege and exists where LSM programs cannot be loaded. This ruleset handles only the rights that
//! destroy (removing, reparenting, truncating); reading, writing and creating are not its business. [`compile`] turns
//! the plan into rules, [`unenforced`] names what they cannot say, and this file hands them to the kernel.

pub mod compile;
pub mod rights;
pub mod unenforced;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _,
};
use nix::errno::Errno;

use compile::Compiled;
use rights::Rights;
use unenforced::Unenforced;

/// The version of Landlock that a kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Abi(u32);

impl Abi {
    /// Asks the kernel.
    ///
    /// # Errors
    /// [`LandlockError::NotBuilt`] or [`LandlockError::Disabled`].
    pub fn probe() -> Result<Self, LandlockError> {
        const VERSION: libc::c_uint = 1;
        let null = std::ptr::null::<libc::c_void>();
        // SAFETY: with LANDLOCK_CREATE_RULESET_VERSION the attribute must be NULL and nothing is created.
        let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, null, 0usize, VERSION) };
        if version > 0 { Ok(Self(version as u32)) } else { Err(LandlockError::from_probe(Errno::last())) }
    }

    /// The number, for people.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// REFER came with ABI 2; before, every rename across directories is refused.
    pub const fn has_refer(self) -> bool {
        self.0 >= 2
    }

    /// TRUNCATE came with ABI 3.
    pub const fn has_truncate(self) -> bool {
        self.0 >= 3
    }

    /// Refusals are audited from ABI 7.
    pub const fn has_audit(self) -> bool {
        self.0 >= 7
    }

    /// The rights that this kernel knows.
    pub const fn rights(self) -> Rights {
        let mut rights = Rights::REMOVE_FILE.union(Rights::REMOVE_DIR);
        if self.has_refer() {
            rights = rights.union(Rights::REFER);
        }
        if self.has_truncate() {
            rights = rights.union(Rights::TRUNCATE);
        }
        rights
    }
}

/// Why there is no ruleset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LandlockError {
    /// ENOSYS: the kernel was built without it (before 5.13, or CONFIG_SECURITY_LANDLOCK unset), or a container's filter
    /// hides it.
    #[error(
        "Landlock is not there (ENOSYS): it needs Linux 5.13 with CONFIG_SECURITY_LANDLOCK, and a container's seccomp profile that lets it through"
    )]
    NotBuilt,
    /// EOPNOTSUPP: built, but not in the list of active security modules.
    #[error(
        "Landlock is built but not enabled (EOPNOTSUPP): add `landlock` to `lsm=` on the kernel command line"
    )]
    Disabled,
    /// EPERM from a container's filter.
    #[error("Landlock is refused (EPERM): a container's seccomp profile blocks landlock_create_ruleset")]
    Refused,
    /// Anything else the kernel said when asked for its version.
    #[error("asking for Landlock failed: {0}")]
    Probe(Errno),
    /// The ruleset could not be made.
    #[error("making the Landlock ruleset: {0}")]
    Create(#[source] landlock::RulesetError),
    /// A rule could not be added.
    #[error("adding a Landlock rule for {}: {source}", path.display())]
    Rule {
        /// The place.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: landlock::RulesetError,
    },
    /// The crate made no ruleset although the kernel has Landlock.
    #[error("the kernel offers Landlock but no ruleset was made")]
    NoRuleset,
}

impl LandlockError {
    fn from_probe(errno: Errno) -> Self {
        match errno {
            Errno::ENOSYS => Self::NotBuilt,
            Errno::EOPNOTSUPP => Self::Disabled,
            Errno::EPERM => Self::Refused,
            other => Self::Probe(other),
        }
    }
}

/// What landlock_restrict_self(2) says in the child, for people.
pub fn explain_restrict(errno: Errno) -> &'static str {
    match errno {
        Errno::E2BIG => {
            "16 Landlock rulesets are already stacked on this process, which is the kernel's limit"
        }
        Errno::EPERM => "entering a Landlock ruleset needs no_new_privs or CAP_SYS_ADMIN",
        Errno::EOPNOTSUPP => "Landlock is built but not enabled",
        _ => errno.desc(),
    }
}

/// A ruleset that a child can enter, and what it leaves out.
#[derive(Debug)]
pub struct Prepared {
    /// The ruleset.
    pub ruleset: OwnedFd,
    /// The version that made it.
    pub abi: Abi,
    /// What the plan says and this ruleset does not, those that hold for every plan included.
    pub unenforced: Vec<Unenforced>,
}

/// Makes the ruleset. Places that have gone since the plan was made are left out, which is stricter.
///
/// # Errors
/// See [`LandlockError`].
pub fn prepare(compiled: &Compiled, no_new_privs: bool) -> Result<Prepared, LandlockError> {
    let abi = Abi::probe()?;
    let handled = access(abi.rights());
    let mut created = Ruleset::default()
        // What the kernel does not know was left out by the ABI; what is left must be taken as it is.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(handled)
        .and_then(Ruleset::create)
        .map_err(LandlockError::Create)?;
    for grant in &compiled.grants {
        let rights = grant.rights & abi.rights();
        if !rights.is_empty() {
            created = add(created, &grant.path, rights)?;
        }
    }
    let ruleset = Option::<OwnedFd>::from(created).ok_or(LandlockError::NoRuleset)?;
    Ok(Prepared { ruleset, abi, unenforced: all_gaps(compiled, abi, no_new_privs) })
}

fn add(created: RulesetCreated, path: &Path, rights: Rights) -> Result<RulesetCreated, LandlockError> {
    // O_NOFOLLOW: the plan's paths are canonical, so a link here was put there since, to widen the grant.
    let opened =
        File::options().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC).open(path);
    let Ok(place) = opened else { return Ok(created) };
    let Ok(meta) = place.metadata() else { return Ok(created) };
    let rights = if meta.is_dir() { rights } else { rights & Rights::ON_FILE };
    if rights.is_empty() || meta.is_symlink() {
        return Ok(created);
    }
    created
        .add_rule(PathBeneath::new(place, access(rights)))
        .map_err(|source| LandlockError::Rule { path: path.to_owned(), source })
}

fn access(rights: Rights) -> BitFlags<AccessFs> {
    const TABLE: [(Rights, AccessFs); 4] = [
        (Rights::REMOVE_FILE, AccessFs::RemoveFile),
        (Rights::REMOVE_DIR, AccessFs::RemoveDir),
        (Rights::REFER, AccessFs::Refer),
        (Rights::TRUNCATE, AccessFs::Truncate),
    ];
    TABLE.into_iter().filter(|(right, _)| rights.contains(*right)).map(|(_, access)| access).collect()
}

/// The gaps of this plan, then those that every Landlock ruleset of this kernel has.
fn all_gaps(compiled: &Compiled, abi: Abi, no_new_privs: bool) -> Vec<Unenforced> {
    let mut gaps = compiled.unenforced.clone();
    let always = [
        (true, Unenforced::Metadata),
        (true, Unenforced::BlockDevices),
        (!abi.has_truncate(), Unenforced::Truncation),
        (!abi.has_refer(), Unenforced::Reparenting),
        (true, Unenforced::Born),
        (true, Unenforced::Grants),
        (true, Unenforced::Roles),
        (true, Unenforced::Mounting),
        (no_new_privs, Unenforced::NoNewPrivs),
    ];
    gaps.extend(always.into_iter().filter(|(applies, _)| *applies).map(|(_, gap)| gap));
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_of_the_probe_has_its_own_words() {
        assert!(matches!(LandlockError::from_probe(Errno::ENOSYS), LandlockError::NotBuilt));
        assert!(matches!(LandlockError::from_probe(Errno::EOPNOTSUPP), LandlockError::Disabled));
        assert!(matches!(LandlockError::from_probe(Errno::EPERM), LandlockError::Refused));
        assert!(explain_restrict(Errno::E2BIG).contains("16"));
    }

    #[test]
    fn an_old_kernel_handles_fewer_rights() {
        assert_eq!(Abi(1).rights(), Rights::REMOVE_FILE | Rights::REMOVE_DIR);
        assert_eq!(Abi(2).rights(), Abi(1).rights() | Rights::REFER);
        assert_eq!(Abi(3).rights(), Rights::all());
    }
}
