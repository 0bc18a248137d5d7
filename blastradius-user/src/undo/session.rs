//! How does keeping begin?

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::keep::{Keeper, not_covered};
use super::limits::Limits;
use crate::guard::child::Identity;
use crate::guard::identity::Account;
use crate::policy::Policy;
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
