//! Floor objects: what nobody removes, moves, truncates or replaces, whatever any configuration says.

use std::path::{Path, PathBuf};

use crate::shell::world::{Platform, World};

use super::paths::{depth, one_name, starts_with};

/// The system roots of Linux that are floor objects.
const LINUX_ROOTS: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/dev/shm",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/libx32",
    "/usr/local",
    "/usr/sbin",
    "/usr/share",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/spool",
    "/var/tmp",
];

/// The system roots of macOS that are floor objects.
const MACOS_ROOTS: &[&str] = &[
    "/Applications",
    "/Library",
    "/System",
    "/bin",
    "/cores",
    "/dev",
    "/dev/shm",
    "/etc",
    "/opt",
    "/private",
    "/sbin",
    "/usr",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/libexec",
    "/usr/local",
    "/usr/sbin",
    "/usr/share",
    "/var",
    "/var/db",
    "/var/folders",
    "/var/log",
    "/var/root",
    "/var/spool",
    "/var/tmp",
];

/// Directories that hold homes. Floor objects, but no system roots: what lies in them is people's.
const HOME_PARENTS: &[&str] = &["/home", "/Users"];

/// The home of the superuser, which an account database need not be asked for.
const LINUX_ROOT_HOME: &str = "/root";
const MACOS_ROOT_HOME: &str = "/var/root";

/// The directories of a Windows drive below `/mnt/LETTER` that are floor objects.
const WINDOWS_DIRECTORIES: &[&str] =
    &["Windows", "Users", "Program Files", "Program Files (x86)", "ProgramData"];

/// The floor objects among the system roots, in the layout of `platform`.
pub fn system_roots(platform: Platform) -> &'static [&'static str] {
    match platform {
        Platform::Linux => LINUX_ROOTS,
        Platform::MacOs => MACOS_ROOTS,
    }
}

/// Directories whose entries are homes.
pub fn home_parents() -> impl Iterator<Item = &'static Path> {
    HOME_PARENTS.iter().map(Path::new)
}

/// Whether `path` lies in (or is) a system root.
pub fn is_system(platform: Platform, path: &Path) -> bool {
    system_roots(platform).iter().any(|root| starts_with(platform, path, Path::new(root)))
}

/// Whether an account may call this its home as far as the floor is concerned. `/` and system roots are floor objects
/// for reasons of their own, and what lies in them does not become someone's personal data because a line of the
/// account database says so (`nobody` lives in `/`, `mail` in `/var/mail`).
fn is_plausible_home(platform: Platform, home: &Path) -> bool {
    let is_parent = home_parents().any(|parent| parent.starts_with(home));
    let is_root = system_roots(platform).iter().any(|root| starts_with(platform, Path::new(root), home));
    depth(home) > 0 && !is_parent && !is_root
}

/// The homes that are floor objects: root's, the session's user's, the sudo caller's, those of local accounts with a
/// login shell, and `$HOME` at start. Never `/` or a system root.
pub fn homes(world: &dyn World, home_at_start: Option<&Path>) -> Vec<PathBuf> {
    let platform = world.platform();
    let root = match platform {
        Platform::Linux => LINUX_ROOT_HOME,
        Platform::MacOs => MACOS_ROOT_HOME,
    };
    let mut homes: Vec<PathBuf> = vec![root.into()];
    let named =
        world.homes().into_iter().chain(world.home_of(None)).chain(home_at_start.map(Path::to_path_buf));
    for home in named.filter(|home| home.is_absolute()) {
        let home = one_name(platform, super::paths::normalise(&home));
        if is_plausible_home(platform, &home) && !homes.contains(&home) {
            homes.push(home);
        }
    }
    homes
}

/// Whether `path` is a Windows drive as WSL mounts it, or one of its directories that are floor objects:
/// `/mnt/c`, `/mnt/c/Windows`, `/mnt/c/Users/tim`.
pub fn is_windows_floor(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix("/mnt") else { return false };
    let mut names = below.iter().map(|name| name.to_string_lossy());
    let Some(drive) = names.next() else { return false };
    if drive.len() != 1 || !drive.chars().all(|letter| letter.is_ascii_alphabetic()) {
        return false;
    }
    let rest: Vec<_> = names.collect();
    match rest.as_slice() {
        [] => true,
        [name] => WINDOWS_DIRECTORIES.iter().any(|known| known.eq_ignore_ascii_case(name)),
        [users, _] => users.eq_ignore_ascii_case("Users"),
        _ => false,
    }
}

/// Whether a path that bears no mark is a floor object by its place alone: at most one component below `/`, an entry
/// of `/home` or `/Users`, a Windows drive.
///
/// An entry of `/home` counts even if no account names it: text says `rm -rf /home/alice` on machines where alice's
/// account comes from a directory service.
pub fn is_floor_by_place(platform: Platform, path: &Path) -> bool {
    let depth = depth(path);
    depth <= 1
        || depth == 2 && home_parents().any(|parent| starts_with(platform, path, parent))
        || platform == Platform::Linux && is_windows_floor(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::world::memory::MemoryWorld;

    #[test]
    fn homes_are_those_of_accounts_and_the_start_and_never_the_root_or_a_system_root() {
        let world = MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .account("odd", "/")
            .account("daemon", "/usr")
            .account("mail", "/var/mail");
        let homes = homes(&world, Some(Path::new("/data/dev/")));
        assert_eq!(homes, ["/root", "/home/dev", "/var/mail", "/data/dev"].map(PathBuf::from));
    }

    #[test]
    fn a_home_that_points_at_the_root_or_at_all_homes_is_none() {
        let world = MemoryWorld::new(Platform::Linux);
        for home in ["/", "/home", "/usr/lib", "relative"] {
            assert_eq!(homes(&world, Some(Path::new(home))), [PathBuf::from("/root")], "{home}");
        }
    }

    #[test]
    fn places_at_most_one_below_the_root_and_homes_are_floor_and_deeper_ones_are_not() {
        let floor = |path: &str| is_floor_by_place(Platform::Linux, Path::new(path));
        assert!(floor("/"));
        assert!(floor("/anything"));
        assert!(floor("/home/alice"));
        assert!(floor("/mnt/c"));
        assert!(floor("/mnt/c/users/tim"));
        assert!(!floor("/home/alice/x"));
        assert!(!floor("/srv/www"));
        assert!(!floor("/mnt/data"));
        assert!(!floor("/mnt/c/work"));
    }

    #[test]
    fn macos_homes_are_found_in_any_case() {
        assert!(is_floor_by_place(Platform::MacOs, Path::new("/users/tim")));
        assert!(!is_floor_by_place(Platform::Linux, Path::new("/users/tim")));
    }
}
