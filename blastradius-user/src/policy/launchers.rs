//! Commands that a package manager put beside its packages.
//!
//! What npm and pip install is zone *state*, and with it goes the command that starts it: a link or a short script in a directory of
//! programs, which the next upgrade replaces. Such a command is known by what it belongs to, never by its own words: a link by where it
//! leads, a script by the package that says it is its.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::shell::world::{Kind, Platform, World};

use super::paths::one_name;
use super::resolve::{Last, resolve};

/// Where such commands lie: below a home, and on the system. Beside each, `../lib` holds the packages.
const OF_A_HOME: &[&str] = &[".local/bin"];
const OF_THE_SYSTEM: &[&str] = &["/usr/local/bin", "/usr/bin"];

/// How many entries of a directory are looked at.
const ENTRY_LIMIT: usize = 4096;
/// How large a package's list of its commands is at most.
const LIST_LIMIT: usize = 64 << 10;

/// A command, and what it belongs to, which may or may not be state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launcher {
    /// The link or the script itself.
    pub(super) path: PathBuf,
    /// The file that it leads to, or the directory that describes the package.
    pub(super) package: PathBuf,
}

/// The directories that hold such commands.
pub(super) fn directories(platform: Platform, homes: &[PathBuf]) -> Vec<PathBuf> {
    let of_homes = homes.iter().flat_map(|home| OF_A_HOME.iter().map(move |name| home.join(name)));
    let all = of_homes.chain(OF_THE_SYSTEM.iter().map(PathBuf::from));
    all.map(|path| one_name(platform, path)).collect()
}

/// The commands of these directories, as far as they tell what they belong to.
pub(super) fn launchers(world: &dyn World, directories: &[PathBuf]) -> Vec<Launcher> {
    directories
        .iter()
        .flat_map(|directory| links(world, directory).chain(scripts(world, directory)))
        .collect()
}

fn links<'w>(world: &'w dyn World, directory: &'w Path) -> impl Iterator<Item = Launcher> + 'w {
    let entries = world.read_dir(directory, ENTRY_LIMIT).unwrap_or_default();
    entries.into_iter().filter(|(_, kind)| *kind == Kind::Link).filter_map(move |(name, _)| {
        let path = directory.join(name);
        let target = world.read_link(&path)?;
        let package = resolve(world, directory, &target, Last::Followed).path;
        Some(Launcher { path, package })
    })
}

/// The scripts that Python packages beside the directory declare.
fn scripts<'w>(world: &'w dyn World, directory: &'w Path) -> impl Iterator<Item = Launcher> + 'w {
    let below = move |place: &Path, wanted: fn(&str) -> bool| -> Vec<PathBuf> {
        let entries = world.read_dir(place, ENTRY_LIMIT).unwrap_or_default();
        let named = entries.into_iter().filter(move |(name, _)| name.to_str().is_some_and(wanted));
        named.map(|(name, _)| place.join(name)).collect()
    };
    let library = directory.parent().unwrap_or(directory).join("lib");
    let pythons = below(&library, |name| name.starts_with("python3"));
    let sites = pythons
        .into_iter()
        .flat_map(move |python| below(&python, |name| matches!(name, "site-packages" | "dist-packages")));
    let packages = sites.flat_map(move |site| below(&site, |name| name.ends_with(".dist-info")));
    packages.flat_map(move |package| {
        let list = world.read_file(&package.join("entry_points.txt"), LIST_LIMIT).unwrap_or_default();
        commands(&String::from_utf8_lossy(&list))
            .into_iter()
            .map(|name| Launcher { path: directory.join(name), package: package.clone() })
            .collect::<Vec<_>>()
    })
}

/// The names of the commands in a package's `entry_points.txt`.
fn commands(list: &str) -> Vec<String> {
    let mut is_command = false;
    let mut names = Vec::new();
    for line in list.lines().map(str::trim) {
        if line.starts_with('[') {
            is_command = matches!(line, "[console_scripts]" | "[gui_scripts]");
        } else if is_command && let Some((name, _)) = line.split_once('=') {
            // A name, and no way to somewhere else.
            names.extend(Some(name.trim()).filter(|name| is_name(name)).map(str::to_owned));
        }
    }
    names
}

fn is_name(name: &str) -> bool {
    !name.starts_with('#') && Path::new(name).file_name() == Some(OsStr::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Policy, Start};
    use crate::shell::world::memory::MemoryWorld;
    use blastradius_common::Zone;

    fn world() -> MemoryWorld {
        let mut world = MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .env("HOME", "/home/dev")
            .env("PATH", "/usr/bin")
            .work_tree("/home/dev/p")
            .cwd("/home/dev/p")
            .file("/usr/bin/npm", "")
            .file("/usr/bin/python3", "")
            .file("/usr/local/lib/node_modules/left/cli.js", "")
            .link("/usr/local/bin/left", "../lib/node_modules/left/cli.js")
            .file("/opt/own/tool", "")
            .link("/usr/local/bin/own", "/opt/own/tool")
            .link("/usr/local/bin/dangling", "/usr/local/nowhere");
        for base in ["/usr/local", "/home/dev/.local"] {
            let package = format!("{base}/lib/python3.11/site-packages/tool-1.0.dist-info");
            let list =
                "[console_scripts]\ntool = tool:main\n../lib/x = tool:x\n\n[other]\nhand = tool:hand\n";
            world = world
                .file(&format!("{package}/entry_points.txt"), list)
                .file(&format!("{base}/bin/tool"), "#!/usr/bin/python3\n")
                .file(&format!("{base}/bin/hand"), "#!/usr/bin/python3\nfrom tool import main\n");
        }
        world
    }

    fn zone(world: &MemoryWorld, path: &str) -> Zone {
        Policy::load(world, Start::default()).zone(world, Path::new(path)).zone
    }

    #[test]
    fn a_command_goes_with_the_package_that_it_belongs_to() {
        let world = world();
        for command in ["/usr/local/bin/left", "/usr/local/bin/tool", "/home/dev/.local/bin/tool"] {
            assert_eq!(zone(&world, command), Zone::State, "{command}");
        }
    }

    #[test]
    fn a_command_that_belongs_to_no_package_stays() {
        let world = world();
        for command in ["own", "dangling", "hand", "other"] {
            assert_eq!(zone(&world, &format!("/usr/local/bin/{command}")), Zone::System, "{command}");
        }
        assert_eq!(zone(&world, "/home/dev/.local/bin/hand"), Zone::Config);
        assert_eq!(zone(&world, "/usr/local/lib/x"), Zone::System);
        assert_eq!(zone(&world, "/usr/local/bin"), Zone::System);
    }

    #[test]
    fn a_line_that_denies_commands_is_heard() {
        let lines = "deny /usr/local/bin/left\ndeny /usr/local/bin/tool\n";
        let world = world().file("/home/dev/p/.blastradius", lines);
        assert_eq!(zone(&world, "/usr/local/bin/tool"), Zone::Denied);
        // The line means what the link leads to, and the link goes with that.
        assert_eq!(zone(&world, "/usr/local/lib/node_modules/left/cli.js"), Zone::Denied);
        assert_eq!(zone(&world, "/usr/local/bin/left"), Zone::System);
    }

    #[test]
    fn both_back_ends_are_told_of_each_command() {
        let world = world();
        let plan = Policy::load(&world, Start::default()).plan(&world);
        let own = |path: &str| {
            plan.marks.iter().find(|mark| mark.path == Path::new(path)).and_then(|mark| mark.own)
        };
        assert_eq!(own("/usr/local/bin/left"), Some(Zone::State));
        assert_eq!(own("/usr/local/bin/tool"), Some(Zone::State));
        assert_eq!(own("/usr/local/bin/own"), None);
        assert_eq!(own("/usr/local/bin/other"), None);
    }
}
