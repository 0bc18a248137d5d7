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

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;

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

impl User {
    /// Reads a line. What has not the form is nobody.
    fn of_line(line: &[u8]) -> Option<Self> {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        let [name, _, uid, gid, _, home, shell] = fields.as_slice() else { return None };
        let text = |field: &[u8]| std::str::from_utf8(field).ok().map(str::to_owned);
        let path = |field: &[u8]| PathBuf::from(OsString::from_vec(field.to_vec()));
        Some(Self {
            name: text(name)?,
            uid: text(uid)?.parse().ok()?,
            gid: text(gid)?.parse().ok()?,
            home: path(home),
            shell: path(shell),
        })
    }

    fn is(&self, whom: Whom<'_>) -> bool {
        match whom {
            Whom::Name(name) => self.name == name,
            Whom::Uid(uid) => self.uid == uid,
        }
    }
}

/// Everybody in a passwd(5) text.
fn users(passwd: &[u8]) -> impl Iterator<Item = User> {
    passwd.split(|byte| *byte == b'\n').filter_map(User::of_line)
}

/// Why nobody knows whether there is such a user.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    /// A file of the database cannot be read.
    #[error("{0}: {1}")]
    File(&'static str, std::io::Error),
    /// Whom the files do not have another service may have, and only getent can tell.
    #[error("asking getent for {0}, whom /etc/passwd does not have: {1}")]
    NotAsked(String, std::io::Error),
    /// It failed, or said what cannot be read.
    #[error("getent was asked for {0} and gave no answer ({1})")]
    NoAnswer(String, ExitStatus),
    /// The C library cannot tell.
    #[error("the user database: {0}")]
    Library(#[from] nix::errno::Errno),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_of_the_file_is_found_by_name_and_by_number_and_the_first_line_counts() {
        let passwd =
            b"root:x:0:0:root:/root:/bin/bash\nshort:x\n+::::::\nada:x:1000:100:Ad\xe8le:/home/ada:/bin/sh\n\
                       toor:x:0:0::/elsewhere:/bin/sh\n";
        let find = |whom| users(passwd).find(|user| user.is(whom));
        let ada = find(Whom::Name("ada")).expect("a comment in Latin-1 hides nobody");
        assert_eq!((ada.uid, ada.gid), (1000, 100));
        assert_eq!((ada.home, ada.shell), ("/home/ada".into(), "/bin/sh".into()));
        assert_eq!(find(Whom::Uid(0)).map(|user| user.home), Some("/root".into()));
        assert_eq!(find(Whom::Name("short")), None);
        assert_eq!(find(Whom::Name("+")), None);
        assert_eq!(find(Whom::Uid(7)), None);
    }
}
