//! The user database: whose homes are floor objects.

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User};

use crate::shell::world::Platform;

/// login.defs(5): accounts from this uid on are people, where the file does not say otherwise.
const DEFAULT_UID_MIN: u32 = 1000;

/// nobody and its kin: beyond the range of people on every distribution.
const NOBODY: u32 = 65534;

/// Shells that admit nobody.
const NO_LOGIN: [&str; 4] = ["nologin", "false", "sync", "true"];

/// The user database as far as it is a file, and the homes of the people in it.
pub(super) struct Accounts {
    passwd: String,
    homes: Vec<PathBuf>,
}

impl Accounts {
    pub(super) fn read(platform: Platform) -> Self {
        match platform {
            Platform::Linux => {
                let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
                let uid_min = fs::read_to_string("/etc/login.defs").ok().and_then(|text| uid_min(&text));
                let homes = people(&passwd, uid_min.unwrap_or(DEFAULT_UID_MIN));
                Self { passwd, homes }
            }
            // Open Directory holds the accounts; their homes are the entries of /Users.
            Platform::MacOs => {
                let homes = fs::read_dir("/Users")
                    .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
                    .unwrap_or_default();
                Self { passwd: String::new(), homes }
            }
        }
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

    /// The home that the user database names for `user`, or for `uid`. Whom the file does not have, another service may
    /// (LDAP, systemd-homed); loading those services costs more than a verdict.
    pub(super) fn home(&self, user: Option<&str>, uid: u32) -> Option<PathBuf> {
        home_in(&self.passwd, user, uid).or_else(|| {
            let account = match user {
                Some(name) => User::from_name(name),
                None => User::from_uid(Uid::from_raw(uid)),
            };
            Some(account.ok()??.dir)
        })
    }
}

/// The home that a passwd(5) text names for `user`, or for `uid`: the first line counts.
fn home_in(passwd: &str, user: Option<&str>, uid: u32) -> Option<PathBuf> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, id, _, _, home, _] = fields.as_slice() else { return None };
        let is_meant = match user {
            Some(user) => *name == user,
            None => id.parse() == Ok(uid),
        };
        is_meant.then(|| PathBuf::from(home))
    })
}

/// The homes in a passwd(5) text whose accounts have a login shell and a uid of people.
fn people(passwd: &str, uid_min: u32) -> Vec<PathBuf> {
    let home = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, uid, _, _, home, shell] = fields.as_slice() else { return None };
        let uid: u32 = uid.parse().ok()?;
        let shell = Path::new(shell).file_name()?.to_str()?;
        let person = uid >= uid_min && uid < NOBODY && !NO_LOGIN.contains(&shell) && home.starts_with('/');
        person.then(|| PathBuf::from(home))
    };
    passwd.lines().filter_map(home).collect()
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
        let passwd = "root:x:0:0:root:/root:/bin/bash\n\
                      www-data:x:33:33::/var/www:/usr/sbin/nologin\n\
                      ada:x:1000:1000:Ada:/home/ada:/bin/bash\n\
                      svc:x:1001:1001::/srv/svc:/bin/false\n\
                      nobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n\
                      broken line\n";
        assert_eq!(people(passwd, 1000), [PathBuf::from("/home/ada")]);
        assert_eq!(people(passwd, 2000), Vec::<PathBuf>::new());
    }

    #[test]
    fn an_account_of_the_file_is_found_by_name_and_by_number_and_the_first_line_counts() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\nshort:x\nada:x:1000:1000::/home/ada:/bin/sh\n\
                      toor:x:0:0::/elsewhere:/bin/sh\n";
        assert_eq!(home_in(passwd, Some("ada"), 0), Some("/home/ada".into()));
        assert_eq!(home_in(passwd, None, 0), Some("/root".into()));
        assert_eq!(home_in(passwd, Some("short"), 0), None);
        assert_eq!(home_in(passwd, None, 7), None);
    }

    #[test]
    fn uid_min_is_read_from_login_defs() {
        assert_eq!(uid_min("# x\nUID_MIN\t\t  500\nUID_MAX 60000\n"), Some(500));
        assert_eq!(uid_min("# UID_MIN 500\n"), None);
    }
}
