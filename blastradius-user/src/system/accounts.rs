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

/// The local accounts that people log in to.
pub(super) struct Accounts {
    homes: Vec<PathBuf>,
}

impl Accounts {
    pub(super) fn read(platform: Platform) -> Self {
        let homes = match platform {
            Platform::Linux => {
                let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
                let uid_min = fs::read_to_string("/etc/login.defs").ok().and_then(|text| uid_min(&text));
                people(&passwd, uid_min.unwrap_or(DEFAULT_UID_MIN))
            }
            // Open Directory holds the accounts; their homes are the entries of /Users.
            Platform::MacOs => fs::read_dir("/Users")
                .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
                .unwrap_or_default(),
        };
        Self { homes }
    }

    /// The homes of root, of the user, of the sudo caller and of the people of this machine.
    pub(super) fn homes(&self, uid: u32, sudo_caller: Option<&str>) -> Vec<PathBuf> {
        let named =
            [home(Some("root"), uid), home(None, uid), sudo_caller.and_then(|user| home(Some(user), uid))];
        let mut homes: Vec<PathBuf> = named.into_iter().flatten().chain(self.homes.iter().cloned()).collect();
        homes.sort();
        homes.dedup();
        homes
    }
}

/// The home that the user database names for `user`, or for `uid`.
pub(super) fn home(user: Option<&str>, uid: u32) -> Option<PathBuf> {
    let account = match user {
        Some(name) => User::from_name(name),
        None => User::from_uid(Uid::from_raw(uid)),
    };
    Some(account.ok()??.dir)
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
    fn uid_min_is_read_from_login_defs() {
        assert_eq!(uid_min("# x\nUID_MIN\t\t  500\nUID_MAX 60000\n"), Some(500));
        assert_eq!(uid_min("# UID_MIN 500\n"), None);
    }
}
