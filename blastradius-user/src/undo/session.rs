//! How does keeping begin?

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::advise::{self, Answered};
use super::keep::{Keeper, Kept, not_covered};
use super::limits::Limits;
use super::predict;
use crate::analysis::Report;
use crate::guard::child::Identity;
use crate::guard::identity::Account;
use crate::guard::log;
use crate::policy::Policy;
use crate::policy::effect::Located;
use crate::policy::mode::Mode;
use crate::system::System;

/// The state directory of whoever the agent runs as: the store is theirs.
pub fn state_of(account: Option<&Account>, ours: &Path) -> PathBuf {
    let home = account.and_then(|account| account.variables.iter().find(|(name, _)| name == "HOME"));
    match home {
        Some((_, home)) => Path::new(home).join(".local/state/blastradius"),
        None => ours.to_owned(),
    }
}

/// Keeps what a session could lose. What cannot be kept is said, and never stops the session.
pub fn begin(
    state: &Path,
    name: &str,
    policy: Arc<Policy>,
    identity: Option<Identity>,
    limits: Limits,
    system: &System,
) -> Option<Arc<Keeper>> {
    match Keeper::open(state, name, policy, identity, limits) {
        Ok(keeper) => {
            let outcome = keeper.start(system);
            for line in not_covered(&outcome.gaps) {
                anstream::eprintln!("blastradius: {line}");
            }
            Some(Arc::new(keeper))
        }
        Err(error) => {
            anstream::eprintln!(
                "blastradius: undo: nothing is kept, what is destroyed in scope stays destroyed: {}: {error}",
                state.join(super::store::NAME).display()
            );
            None
        }
    }
}

/// Keeps what one command would destroy, outside a session: for the wrapper and the hooks.
///
/// Returns the report as it is then, and what was kept as people read it. Where nothing can be kept, the report stays as it is.
pub fn once(
    surface: &str,
    report: Report,
    effects: &[Located],
    system: &System,
    policy: Arc<Policy>,
    mode: Mode,
    patience: Duration,
) -> (Report, Option<String>) {
    let Some(limits) = Limits::of_environment().ok().flatten() else { return (report, None) };
    let Ok(state) = log::directory() else { return (report, None) };
    if advise::is_refused(&report, &policy, mode) || predict::touches(effects, &policy, system).is_empty() {
        return (report, None);
    }
    let name = format!("{}-{surface}", log::session_name(SystemTime::now(), std::process::id()));
    let limits = Limits { exec: patience, ..limits };
    let Ok(keeper) = Keeper::open(&state, &name, policy.clone(), None, limits) else { return (report, None) };
    let Answered { report, kept } = advise::answer(&keeper, report, effects, system, &policy, mode);
    let line = |kept: &Kept| keeper.line(kept);
    (report, kept.as_ref().map(line))
}
