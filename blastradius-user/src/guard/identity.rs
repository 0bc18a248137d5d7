//! As whom does the agent run?
//!
//! Started as root for somebody (`--user`, or by sudo), the guard keeps root and the agent gets that somebody's rights.

use std::ffi::OsString;

use nix::unistd::Uid;

use super::child::Identity;
use crate::system::users::{self, User, UsersError, Whom};

/// Why the agent cannot run as that user.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// Nobody is called so.
    #[error("--user {0}: no such user")]
    Unknown(String),
    /// Only root may become another user.
    #[error("--user {0}: only root can start the agent as another user")]
    NotRoot(String),
    /// The user database does not tell.
    #[error(transparent)]
    Database(#[from] UsersError),
}

/// A user, and the variables that login(1) would set.
#[derive(Clone, Debug)]
pub struct Account {
    /// Ids for the kernel.
    pub identity: Identity,
    /// HOME, USER, LOGNAME, SHELL.
    pub variables: Vec<(OsString, OsString)>,
}

/// The user to become: the one asked for, else the one who called sudo, else `None`: stay as we are.
///
/// # Errors
/// See [`IdentityError`].
pub fn resolve(asked: Option<&str>, sudo_uid: Option<&str>) -> Result<Option<Account>, IdentityError> {
    let ours = Uid::effective();
    let user = match (asked, sudo_uid) {
        (Some(name), _) => by_name(name)?,
        // The variable only ever takes rights away: it is looked at by root alone, and root's own id is ignored.
        (None, Some(uid)) if ours.is_root() => match uid.parse() {
            Ok(uid) if uid != 0 => users::find(Whom::Uid(uid))?,
            _ => None,
        },
        (None, _) => None,
    };
    let Some(user) = user else { return Ok(None) };
    if user.uid == ours.as_raw() {
        return Ok(None);
    }
    if !ours.is_root() {
        return Err(IdentityError::NotRoot(user.name));
    }
    account(user).map(Some)
}

fn by_name(name: &str) -> Result<Option<User>, IdentityError> {
    let whom = name.parse().map_or(Whom::Name(name), Whom::Uid);
    users::find(whom)?.map(Some).ok_or_else(|| IdentityError::Unknown(name.to_owned()))
}

fn account(user: User) -> Result<Account, IdentityError> {
    let groups = users::groups_of(&user)?;
    let login = OsString::from(user.name);
    let variables = vec![
        ("HOME".into(), user.home.into_os_string()),
        ("USER".into(), login.clone()),
        ("LOGNAME".into(), login),
        ("SHELL".into(), user.shell.into_os_string()),
    ];
    let identity = Identity { uid: user.uid, gid: user.gid, groups };
    Ok(Account { identity, variables })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_asked_means_nobody_else() {
        assert!(resolve(None, None).expect("readable").is_none());
        assert!(resolve(None, Some("0")).expect("readable").is_none());
        assert!(matches!(resolve(Some("no such user"), None), Err(IdentityError::Unknown(_))));
    }

    #[test]
    fn root_can_become_nobody_and_others_cannot() {
        match resolve(Some("nobody"), None) {
            Ok(Some(account)) => assert!(Uid::effective().is_root() && account.identity.uid != 0),
            Ok(None) => panic!("this test does not run as nobody"),
            Err(error) => assert!(!Uid::effective().is_root() && matches!(error, IdentityError::NotRoot(_))),
        }
    }
}
