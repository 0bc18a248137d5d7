//! Whose homes are floor objects.

use std::fs;
use std::path::PathBuf;

use super::users::{Database, User, Whom};
use crate::shell::world::Platform;

/// login.defs(5): accounts from this uid on are people, where the file does not say otherwise.
const DEFAULT_UID_MIN: u32 = 1000;

/// nobody and its kin: beyond the range of people on every distribution.
const NOBODY: u32 = 65534;

/// Shells that admit nobody.
const NO_LOGIN: [&str; 4] = ["nologin", "false", "sync", "true"];

/// The user database, and the homes of the people in it.
pub(super) struct Accounts {
    users: Database,
    homes: Vec<PathBuf>,
}

impl Accounts {
    pub(super) fn read(platform: Platform) -> Self {
        let users = Database::read();
        let homes = match platform {
            Platform::Linux => {
                let uid_min = fs::read_to_string("/etc/login.defs").ok().and_then(|text| uid_min(&text));
                people(users.users(), uid_min.unwrap_or(DEFAULT_UID_MIN))
            }
            // Open Directory holds the accounts; their homes are the entries of /Users.
            Platform::MacOs => fs::read_dir("/Users")
                .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
                .unwrap_or_default(),
        };
        Self { users, homes }
    }

    /// The homes of root, of the user, of the sudo caller and of the people of this machine.
    pub(super) fn homes(&self, uid: u32, sudo_caller: Option<&str>) -> Vec<PathBuf> {
        let named = [
            self.home(Some("root"), uid),
            self.home(None, uid),
            sudo_caller.and_then(|user| self.home(Some(user), uid)),
        ];
        let mut homes: Vec<PathBuf> = named.into_iter().flatten().chain(self.homes.iter().cloned()).collect();
        homes.sort();
        homes.dedup();
        homes
    }

    /// The home that the user database names for `user`, or for `uid`.
    pub(super) fn home(&self, user: Option<&str>, uid: u32) -> Option<PathBuf> {
        let whom = user.map_or(Whom::Uid(uid), Whom::Name);
        self.users.find(whom).map(|user| user.home)
    }
}

/// The homes of those who have a login shell and a uid of people.
fn people(users: impl Iterator<Item = User>, uid_min: u32) -> Vec<PathBuf> {
    let is_person = |user: &User| {
        let shell = user.shell.file_name().and_then(|name| name.to_str());
        let logs_in = shell.is_some_and(|shell| !NO_LOGIN.contains(&shell));
        user.uid >= uid_min && user.uid < NOBODY && logs_in && user.home.is_absolute()
    };
    users.filter(is_person).map(|user| user.home).collect()
}

/// `UID_MIN` of a login.defs(5) text.
fn uid_min(text: &str) -> Option<u32> {
    text.lines().find_map(|line| line.strip_prefix("UID_MIN")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_accounts_that_people_log_in_to_have_homes_to_protect() {
        let user = |name: &str, uid, home: &str, shell: &str| User {
            name: name.into(),
            uid,
            gid: uid,
            home: home.into(),
            shell: shell.into(),
        };
        let users = [
            user("root", 0, "/root", "/bin/bash"),
            user("www-data", 33, "/var/www", "/usr/sbin/nologin"),
            user("ada", 1000, "/home/ada", "/bin/bash"),
            user("svc", 1001, "/srv/svc", "/bin/false"),
            user("nowhere", 1002, "", "/bin/sh"),
            user("nobody", 65534, "/nonexistent", "/bin/sh"),
        ];
        assert_eq!(people(users.clone().into_iter(), 1000), [PathBuf::from("/home/ada")]);
        assert_eq!(people(users.into_iter(), 2000), Vec::<PathBuf>::new());
    }

    #[test]
    fn uid_min_is_read_from_login_defs() {
        assert_eq!(uid_min("# x\nUID_MIN\t\t  500\nUID_MAX 60000\n"), Some(500));
        assert_eq!(uid_min("# UID_MIN 500\n"), None);
    }
}
