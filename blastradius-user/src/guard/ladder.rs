//! Which rung is proved here?
//!
//! From the top down: the first rung whose canary sees every refusal and every permission carries the session. A rung
//! that could not be proved is named with its reason; below the last one that was asked for, the session does not start.

use std::fmt::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::canary::{self, CanaryError, Places};
use super::kernel_rung::KernelRung;
use super::landlock::compile::{Compiled, compile};
use super::landlock::rights::Rights;
use super::landlock::unenforced::{Errs, Unenforced};
use super::landlock::{self, Abi, LandlockError};
use crate::policy::plan::Plan;
use crate::shell::world::World;

/// How much the caller insists on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Require {
    /// Kernel or Landlock, whichever is proved first.
    #[default]
    Any,
    /// eBPF programs in the kernel, nothing less.
    Kernel,
    /// The Landlock ruleset, even where the kernel rung is there.
    Landlock,
}

/// What the caller asks of the ladder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// The least rung.
    pub require: Require,
    /// Start with the text layer alone if nothing is proved.
    pub allow_text_only: bool,
    /// Start although a `deny` line is not enforced.
    pub accept_unenforced: bool,
}

/// How the syscall layer is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// eBPF programs: `bpf-lsm` or `fmod_ret`.
    Kernel(&'static str),
    /// The delete-only ruleset.
    Landlock(Abi),
    /// Nothing in the kernel.
    TextOnly,
}

impl Rung {
    /// The word used in output and log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel(name) => name,
            Self::Landlock(_) => "landlock",
            Self::TextOnly => "text-only",
        }
    }
}

/// A rung that was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// Its name.
    pub rung: &'static str,
    /// Why.
    pub why: String,
}

/// Where the session stands.
#[derive(Debug)]
pub struct Foothold {
    /// The rung.
    pub rung: Rung,
    /// The session in the kernel that the agent is born into.
    pub kernel: Option<KernelRung>,
    /// The ruleset that the agent enters.
    pub ruleset: Option<OwnedFd>,
    /// Whether entering it (and the exec filter) needs no_new_privs.
    pub no_new_privs: bool,
    /// What the canary tried.
    pub proved: Vec<&'static str>,
    /// What this rung does not do.
    pub unenforced: Vec<Unenforced>,
    /// Higher rungs, and why not.
    pub passed_over: Vec<PassedOver>,
}

impl Foothold {
    /// The one line at start.
    pub fn line(&self) -> String {
        let mut line = match self.rung {
            Rung::Kernel(name) => format!(
                "blastradius: kernel rung ({name}, {} acts proved): what was there before can be removed, replaced or \
                 truncated only in scope",
                self.proved.len()
            ),
            Rung::Landlock(abi) => format!(
                "blastradius: landlock rung (ABI {}, {} operations proved): nothing outside scope can be removed, renamed \
                 or truncated",
                abi.number(),
                self.proved.len()
            ),
            Rung::TextOnly => {
                "blastradius: text only: NOTHING is enforced by the kernel; commands are judged before they start".to_owned()
            }
        };
        for (errs, label) in [(Errs::Looser, "Not covered"), (Errs::Stricter, "Limits")] {
            let gaps = self.unenforced.iter().filter(|gap| gap.errs() == errs).map(Unenforced::short);
            // One kind of gap is one item, however many places it concerns.
            let mut gaps: Vec<_> = gaps.collect();
            gaps.dedup();
            if !gaps.is_empty() {
                // Writing to a String does not fail.
                let _ = write!(line, ". {label}: {}", gaps.join(", "));
            }
        }
        line
    }
}

/// Why the session does not start.
#[derive(Debug, thiserror::Error)]
pub enum LadderError {
    /// No rung that was asked for is proved.
    #[error("no rung that was asked for could be proved here, so nothing was started{}", reasons(.0))]
    Nothing(Vec<PassedOver>),
    /// A `deny` line would not be enforced.
    #[error("{0}. To start all the same: --accept-unenforced")]
    DenyLine(String),
}

fn reasons(passed_over: &[PassedOver]) -> String {
    passed_over.iter().map(|rung| format!("\n  {}: {}", rung.rung, rung.why)).collect()
}

/// Climbs down from the best rung to the first that is proved.
///
/// Must be called while this process has one thread: the canary is a fork.
///
/// # Errors
/// See [`LadderError`].
pub fn choose(
    wanted: &Wanted,
    plan: &Plan,
    world: &dyn World,
    state: &Path,
) -> Result<Foothold, LadderError> {
    let mut passed_over = Vec::new();
    if wanted.require != Require::Landlock {
        match stand_on_kernel(plan) {
            Ok(foothold) => return Ok(foothold),
            Err(why) => passed_over.push(why),
        }
    }
    if wanted.require != Require::Kernel {
        match stand_on_landlock(plan, world, state) {
            Ok(foothold) => return accept(wanted, Foothold { passed_over, ..foothold }),
            Err(error) => passed_over.push(PassedOver { rung: "landlock", why: error.to_string() }),
        }
    }
    if wanted.allow_text_only {
        return Ok(text_only(passed_over));
    }
    Err(LadderError::Nothing(passed_over))
}

/// Puts the plan in force in the kernel and proves it.
///
/// # Errors
/// Why the rung is not there.
pub fn stand_on_kernel(plan: &Plan) -> Result<Foothold, PassedOver> {
    let (kernel, proved) = KernelRung::stand(plan).map_err(|why| PassedOver { rung: "kernel", why })?;
    Ok(Foothold {
        rung: Rung::Kernel(kernel.name()),
        unenforced: kernel.departures(),
        kernel: Some(kernel),
        ruleset: None,
        no_new_privs: !may_administer(),
        proved,
        passed_over: Vec::new(),
    })
}

fn accept(wanted: &Wanted, foothold: Foothold) -> Result<Foothold, LadderError> {
    match foothold.unenforced.iter().find(|gap| gap.breaks_a_deny_line()) {
        Some(gap) if !wanted.accept_unenforced => Err(LadderError::DenyLine(gap.sentence())),
        _ => Ok(foothold),
    }
}

fn text_only(passed_over: Vec<PassedOver>) -> Foothold {
    Foothold {
        rung: Rung::TextOnly,
        kernel: None,
        ruleset: None,
        no_new_privs: !may_administer(),
        proved: Vec::new(),
        unenforced: Vec::new(),
        passed_over,
    }
}

/// Why the Landlock rung is not there.
#[derive(Debug, thiserror::Error)]
pub enum LandlockRungError {
    /// No ruleset.
    #[error(transparent)]
    Ruleset(#[from] LandlockError),
    /// Not proved.
    #[error(transparent)]
    Canary(#[from] CanaryError),
}

/// Makes the ruleset and proves it.
///
/// # Errors
/// See [`LandlockRungError`].
pub fn stand_on_landlock(
    plan: &Plan,
    world: &dyn World,
    state: &Path,
) -> Result<Foothold, LandlockRungError> {
    let compiled = compile(plan, world);
    let no_new_privs = !may_administer();
    let prepared = landlock::prepare(&compiled, no_new_privs)?;
    let places = canary_places(&compiled, world, state);
    let proof = canary::prove(&prepared.ruleset, prepared.abi, no_new_privs, &places)?;
    Ok(Foothold {
        rung: Rung::Landlock(prepared.abi),
        kernel: None,
        ruleset: Some(prepared.ruleset),
        no_new_privs,
        proved: proof.operations,
        unenforced: prepared.unenforced,
        passed_over: Vec::new(),
    })
}

/// Where canaries can sing: scratch and the granted directories on one side, our own state and runtime directories on
/// the other.
fn canary_places(compiled: &Compiled, world: &dyn World, state: &Path) -> Places {
    let variable =
        |name: &str| world.env(name).map(|value| PathBuf::from(&*value)).filter(|path| path.is_absolute());
    let scratch = [variable("TMPDIR"), Some("/tmp".into()), Some("/var/tmp".into()), Some("/dev/shm".into())];
    let granted = compiled.grants.iter().map(|grant| grant.path.clone());
    let inside = scratch.into_iter().flatten().chain(granted);
    let outside =
        [Some(state.to_owned()), variable("XDG_RUNTIME_DIR"), Some("/run".into()), variable("HOME")];
    let may_destroy = |path: &PathBuf| {
        canonical(path).is_some_and(|path| compiled.rights_in(&path).contains(Rights::DESTROY))
    };
    let may_not = |path: &PathBuf| canonical(path).is_some_and(|path| compiled.rights_in(&path).is_empty());
    Places {
        inside: inside.filter(may_destroy).collect(),
        outside: outside.into_iter().flatten().filter(may_not).collect(),
    }
}

fn canonical(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// Whether we hold CAP_SYS_ADMIN, with which neither Landlock nor seccomp needs no_new_privs: capabilities(7), bit 21 of
/// the effective set in `/proc/self/status`.
pub fn may_administer() -> bool {
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective
        .and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
        .is_some_and(|bits| bits & CAP_SYS_ADMIN != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_that_is_not_there_is_named_with_its_reason() {
        let error =
            LadderError::Nothing(vec![PassedOver { rung: "landlock", why: "not enabled".to_owned() }]);
        assert!(error.to_string().ends_with("\n  landlock: not enabled"));
    }

    #[test]
    fn a_deny_line_that_is_not_enforced_stops_the_start_unless_accepted() {
        let gap = || Unenforced::LaterName { place: "/w/later".into(), origin: ".blastradius:1".to_owned() };
        let foothold = || Foothold { unenforced: vec![gap()], ..text_only(Vec::new()) };
        assert!(matches!(accept(&Wanted::default(), foothold()), Err(LadderError::DenyLine(_))));
        let accepting = Wanted { accept_unenforced: true, ..Wanted::default() };
        assert!(accept(&accepting, foothold()).is_ok());
    }
}
