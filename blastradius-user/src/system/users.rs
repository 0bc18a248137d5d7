//! The user database: who is who on this machine.
//!
//! A release is linked statically, and a static C library must not look users up itself: it would load the services of
//! whatever machine it was carried to. So the files are read here, and whom they do not have, getent(1) is asked for:
//! it belongs to the machine and knows its services (LDAP, sssd, systemd-userdb). On macOS nothing is static and there
//! is no getent: there the C library is asked.

#[cfg(target_os = "linux")]
mod files;
#[cfg(not(target_os = "linux"))]
mod library;

use std::path::PathBuf;

#[cfg(target_os = "linux")]
pub(crate) use files::{Database, find, groups_of};
#[cfg(not(target_os = "linux"))]
pub(crate) use library::{Database, find};

/// Whom to look for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whom<'a> {
    Name(&'a str),
    Uid(u32),
}

/// What passwd(5) says of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) home: PathBuf,
    pub(crate) shell: PathBuf,
}

/// Why nobody knows whether there is such a user.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    /// A file of the database cannot be read.
    #[cfg(target_os = "linux")]
    #[error("{0}: {1}")]
    File(&'static str, std::io::Error),
    /// Whom the files do not have another service may have, and only getent can tell.
    #[cfg(target_os = "linux")]
    #[error("asking getent for {0}, whom /etc/passwd does not have: {1}")]
    NotAsked(String, std::io::Error),
    /// It failed, or said what cannot be read.
    #[cfg(target_os = "linux")]
    #[error("getent was asked for {0} and gave no answer ({1})")]
    NoAnswer(String, std::process::ExitStatus),
    /// The C library cannot tell.
    #[cfg(not(target_os = "linux"))]
    #[error("the user database: {0}")]
    Library(#[from] nix::errno::Errno),
}
