//! Which programs may do more than the zone table says?
//!
//! git writes what gives the past back, and a distribution's package managers write below the system roots. The kernel
//! side knows them by the identity of the binary, so here is only where such binaries lie. Interpreted managers (pip, npm)
//! have no role: what they own is zone *state*.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::kernel::Role;
use crate::system::regular;

/// A program with a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The binary, without links.
    pub binary: PathBuf,
    /// What it may do.
    pub role: Role,
}

/// Where a system keeps the programs that its administrator installed. Nothing else makes a package manager: a program of
/// that name in a work tree is the work of whoever wrote the work tree.
const SYSTEM_DIRECTORIES: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Package managers, their front ends, and what those start beside their descendants.
const PACKAGE_MANAGERS: &[&str] = &[
    // Debian
    "dpkg",
    "dpkg-deb",
    "dpkg-divert",
    "dpkg-statoverride",
    "dpkg-trigger",
    "apt",
    "apt-get",
    "aptitude",
    "aptitude-curses",
    "update-alternatives",
    // Fedora, openSUSE
    "rpm",
    "rpm-ostree",
    "dnf5",
    "microdnf",
    "zypper",
    // Alpine, Arch, Void
    "apk",
    "pacman",
    "xbps-install",
    "xbps-remove",
];

/// Where git keeps its own programs, seen from the directory of `git`.
const GIT_PROGRAMS: &[&str] = &["../lib/git-core", "../libexec/git-core"];

/// The programs that have a role here. `path` is the session's PATH, on which git is looked for too: where there is no
/// administrator's git, there may be a user's.
pub fn holders(path: Option<&OsStr>) -> Vec<Holder> {
    let mut roll = Roll::default();
    let system = SYSTEM_DIRECTORIES.iter().map(PathBuf::from);
    let searched = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    for directory in system.clone().chain(searched.into_iter().filter(|directory| directory.is_absolute())) {
        roll.add_git(&directory);
    }
    for directory in system {
        for name in PACKAGE_MANAGERS {
            roll.add(&directory.join(name), PACKAGE_MANAGERS, Role::Packages);
        }
    }
    roll.holders
}

/// Holders, each object once: git's programs are mostly links to one.
#[derive(Default)]
struct Roll {
    holders: Vec<Holder>,
    seen: HashSet<(u64, u64)>,
}

impl Roll {
    /// The git of a directory of programs, and the programs that it starts as parts of itself.
    fn add_git(&mut self, directory: &Path) {
        let git = directory.join("git");
        let Some(binary) = self.add(&git, &["git"], Role::Git) else { return };
        let Some(home) = binary.parent() else { return };
        for programs in GIT_PROGRAMS {
            for entry in fs::read_dir(home.join(programs)).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if name.as_encoded_bytes().starts_with(b"git") {
                    self.add(&entry.path(), &["git", &name.to_string_lossy()], Role::Git);
                }
            }
        }
    }

    /// Adds the binary that `place` leads to, if it is one and bears one of `names`; returns it.
    ///
    /// The name is asked for because one binary may be many programs: where dpkg is a link to busybox, so is rm.
    fn add(&mut self, place: &Path, names: &[&str], role: Role) -> Option<PathBuf> {
        let binary = place.canonicalize().ok()?;
        let name = binary.file_name()?.to_str()?;
        if !names.contains(&name) || !is_executable_image(&binary) {
            return None;
        }
        let meta = fs::metadata(&binary).ok()?;
        if self.seen.insert((meta.dev(), meta.ino())) {
            self.holders.push(Holder { binary: binary.clone(), role });
        }
        Some(binary)
    }
}

/// Whether the file is executed itself. Who executes a script is its interpreter, which runs everybody's scripts.
fn is_executable_image(path: &Path) -> bool {
    let mut magic = [0; 4];
    regular::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A made-up prefix with programs of the given kinds in it.
    fn prefix(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("blastradius-roles-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for directory in ["bin", "lib/git-core"] {
            fs::create_dir_all(root.join(directory)).expect("the scratch directory is writable");
        }
        root.canonicalize().expect("it was just made")
    }

    fn image(path: &Path) {
        fs::write(path, b"\x7fELF and so on").expect("its directory was made");
    }

    fn names(roll: &Roll) -> Vec<String> {
        let name =
            |holder: &Holder| holder.binary.file_name().map(|name| name.to_string_lossy().into_owned());
        roll.holders.iter().filter_map(name).collect()
    }

    #[test]
    fn git_and_its_own_programs_hold_the_role_and_its_scripts_do_not() {
        let root = prefix("git");
        image(&root.join("bin/git"));
        image(&root.join("lib/git-core/git-remote-http"));
        image(&root.join("lib/git-core/helper"));
        fs::write(root.join("lib/git-core/git-submodule"), "#!/bin/sh\n").expect("its directory was made");
        fs::hard_link(root.join("bin/git"), root.join("lib/git-core/git-gc")).expect("one file system");
        symlink("../../bin/git", root.join("lib/git-core/git-add")).expect("a free name");
        let mut roll = Roll::default();
        roll.add_git(&root.join("bin"));
        assert_eq!(names(&roll), ["git", "git-remote-http"]);
        assert!(roll.holders.iter().all(|holder| holder.role == Role::Git));
        let _ = fs::remove_dir_all(root);
    }

    #[test]
    fn a_link_to_a_binary_of_many_programs_holds_none() {
        let root = prefix("busybox");
        image(&root.join("bin/busybox"));
        symlink("busybox", root.join("bin/dpkg")).expect("a free name");
        symlink("busybox", root.join("bin/git")).expect("a free name");
        let mut roll = Roll::default();
        roll.add_git(&root.join("bin"));
        roll.add(&root.join("bin/dpkg"), PACKAGE_MANAGERS, Role::Packages);
        assert!(roll.holders.is_empty());
        let _ = fs::remove_dir_all(root);
    }
}
