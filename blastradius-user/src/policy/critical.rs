//! Files and directories without which the system does not start, or admits nobody.
//!
//! They lie below floor objects and are not floor objects themselves; where a human could answer, they are refused all
//! the same.

use std::path::{Component, Path};

use crate::shell::world::Platform;

use super::paths::{depth, starts_with};

/// The fatal files and directories of Linux. A trailing `/*` means every entry of the directory.
const LINUX: &[&str] = &[
    "/boot/*",
    "/dev/*",
    "/etc/crypttab",
    "/etc/fstab",
    "/etc/group",
    "/etc/gshadow",
    "/etc/hosts",
    "/etc/init.d",
    "/etc/inittab",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/login.defs",
    "/etc/nsswitch.conf",
    "/etc/pam.conf",
    "/etc/pam.d",
    "/etc/passwd",
    "/etc/security",
    "/etc/shadow",
    "/etc/ssh",
    "/etc/ssh/sshd_config",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/systemd",
    "/etc/systemd/system",
    "/lib/modules",
    "/lib/systemd",
    "/usr/lib/modules",
    "/usr/lib/systemd",
    "/usr/local/bin",
    "/usr/local/lib",
    "/var/lib/apt",
    "/var/lib/dpkg",
    "/var/lib/dpkg/info",
    "/var/lib/dpkg/status",
    "/var/lib/pacman",
    "/var/lib/rpm",
    "/usr/lib/sysimage/rpm",
];

/// The fatal files and directories of macOS.
const MACOS: &[&str] = &[
    "/Library/Keychains",
    "/Library/LaunchDaemons",
    "/Library/Preferences",
    "/System/*",
    "/dev/*",
    "/etc/fstab",
    "/etc/group",
    "/etc/hosts",
    "/etc/master.passwd",
    "/etc/pam.d",
    "/etc/passwd",
    "/etc/ssh",
    "/etc/ssh/sshd_config",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/opt/homebrew",
    "/usr/local/bin",
    "/usr/local/lib",
    "/var/db/dslocal",
];

/// Directories of a macOS home without which its account is lost.
const MACOS_HOME: &[&str] = &["Library", "Library/Keychains"];

/// Single programs without which nobody can repair anything: the dynamic loader and the first shells.
const PROGRAM_DIRECTORIES: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin"];
const PROGRAMS: &[&str] = &["bash", "dash", "init", "login", "mount", "sh", "su", "sudo", "systemd", "zsh"];

/// Directories whose entries a glob may take, if a human says so: caches, logs and scratch.
const ENTRIES_BY_CONSENT: &[&str] = &["/dev/shm", "/tmp", "/var/cache", "/var/log", "/var/tmp"];

/// Whether `path` (canonical) is in the table of fatal objects.
pub fn is_critical(platform: Platform, homes: &[impl AsRef<Path>], path: &Path) -> bool {
    if is_harmless_device_entry(path) {
        return false;
    }
    let table = match platform {
        Platform::Linux => LINUX,
        Platform::MacOs => MACOS,
    };
    table.iter().any(|entry| matches(platform, entry, path))
        || is_library_directory(platform, path)
        || is_first_program(path)
        || platform == Platform::MacOs && is_in_home(platform, homes, path)
}

/// Whether the entries of this floor object may be taken by a glob if a human says so.
pub fn gives_entries_by_consent(platform: Platform, path: &Path) -> bool {
    ENTRIES_BY_CONSENT.iter().any(|dir| super::paths::same(platform, path, Path::new(dir)))
}

fn matches(platform: Platform, entry: &str, path: &Path) -> bool {
    match entry.strip_suffix("/*") {
        Some(dir) => {
            let dir = Path::new(dir);
            starts_with(platform, path, dir) && depth(path) == depth(dir) + 1
        }
        None => super::paths::same(platform, path, Path::new(entry)),
    }
}

/// `/dev/shm` is scratch and what lies in it belongs to programs, not to the machine.
fn is_harmless_device_entry(path: &Path) -> bool {
    path.starts_with("/dev/shm")
}

/// `/usr/lib/x86_64-linux-gnu` and its like: libc lies there.
fn is_library_directory(platform: Platform, path: &Path) -> bool {
    let (Platform::Linux, Some(parent), Some(name)) = (platform, path.parent(), path.file_name()) else {
        return false;
    };
    let in_lib = parent == Path::new("/usr/lib") || parent == Path::new("/lib");
    let name = name.to_string_lossy();
    in_lib && (name.contains("-linux-") || name.starts_with("ld-linux") || name.starts_with("libc.so"))
}

fn is_first_program(path: &Path) -> bool {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
    PROGRAM_DIRECTORIES.iter().any(|dir| parent == Path::new(dir))
        && PROGRAMS.iter().any(|program| name == *program)
}

fn is_in_home(platform: Platform, homes: &[impl AsRef<Path>], path: &Path) -> bool {
    let of_account = homes.iter().any(|home| {
        MACOS_HOME.iter().any(|name| super::paths::same(platform, path, &home.as_ref().join(name)))
    });
    // Homes that no account names: `/Users/NAME/Library`.
    let mut names = path.components().filter(|component| matches!(component, Component::Normal(_)));
    let by_place = names.next().is_some_and(|name| name.as_os_str().eq_ignore_ascii_case("users"))
        && names.next().is_some()
        && names.next().is_some_and(|name| name.as_os_str().eq_ignore_ascii_case("library"))
        && names.next().is_none();
    of_account || by_place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn critical(path: &str) -> bool {
        is_critical(Platform::Linux, &["/home/dev"], Path::new(path))
    }

    #[test]
    fn what_starts_the_system_or_admits_people_is_critical() {
        for path in [
            "/boot/vmlinuz",
            "/etc/passwd",
            "/etc/ssh",
            "/usr/lib/x86_64-linux-gnu",
            "/lib/modules",
            "/var/lib/dpkg",
            "/dev/null",
            "/bin/sh",
        ] {
            assert!(critical(path), "{path}");
        }
    }

    #[test]
    fn other_files_below_system_roots_are_not() {
        for path in [
            "/etc/hosts.old",
            "/etc/nginx",
            "/boot/grub/x",
            "/var/lib/postgresql",
            "/usr/lib/python3",
            "/dev/shm/job",
            "/var/lib/dpkg/lock",
            "/usr/bin/jq",
        ] {
            assert!(!critical(path), "{path}");
        }
    }

    #[test]
    fn the_library_of_a_macos_home_is_critical_on_macos_only() {
        let homes = ["/Users/tim"];
        assert!(is_critical(Platform::MacOs, &homes, Path::new("/users/tim/library")));
        assert!(is_critical(Platform::MacOs, &homes, Path::new("/Users/ann/Library")));
        assert!(!is_critical(Platform::MacOs, &homes, Path::new("/Users/tim/Library/Caches")));
        assert!(!is_critical(Platform::Linux, &homes, Path::new("/Users/tim/Library")));
    }

    #[test]
    fn scratch_and_logs_give_their_entries_by_consent_and_usr_does_not() {
        assert!(gives_entries_by_consent(Platform::Linux, Path::new("/var/log")));
        assert!(!gives_entries_by_consent(Platform::Linux, Path::new("/usr")));
    }
}
