//! The C library.

use nix::unistd;

use super::{User, UsersError, Whom};

/// There is no file to read.
pub(crate) struct Database;

impl Database {
    pub(crate) fn read() -> Self {
        Self
    }

    /// Nobody is in a file.
    pub(crate) fn users(&self) -> impl Iterator<Item = User> {
        std::iter::empty()
    }

    /// The user, `None` also if nobody can tell.
    pub(crate) fn find(&self, whom: Whom<'_>) -> Option<User> {
        find(whom).ok()?
    }
}

/// The user, `None` if there is none.
///
/// # Errors
/// If that cannot be told.
pub(crate) fn find(whom: Whom<'_>) -> Result<Option<User>, UsersError> {
    let found = match whom {
        Whom::Name(name) => unistd::User::from_name(name)?,
        Whom::Uid(uid) => unistd::User::from_uid(unistd::Uid::from_raw(uid))?,
    };
    Ok(found.map(|user| User {
        name: user.name,
        uid: user.uid.as_raw(),
        gid: user.gid.as_raw(),
        home: user.dir,
        shell: user.shell,
    }))
}
