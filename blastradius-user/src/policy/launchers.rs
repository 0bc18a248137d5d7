//! Commands that a package manager put beside its packages.
//!
//! What npm and pip install is zone *state*, and with it goes the command that starts it: a link or a short script in a directory of
//! programs, which the next upgrade replaces. Such a command is known by what it belongs to, never by its own words: a link by where it
//! leads, a script by the package that says it is its. A person puts links and scripts into the same directories: a link that leads out
//! of the prefix (to a toolchain, to what was just built) was made by hand, and a script that is not as the package recorded it was
//! rewritten by hand.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::shell::world::{Kind, Platform, World};

use super::digest::sha256;
use super::paths::{normalise, one_name, starts_with};
use super::resolve::{Last, resolve};

/// Where such commands lie: below a home, and on the system. Beside each, `../lib` holds the packages.
const OF_A_HOME: &[&str] = &[".local/bin"];
const OF_THE_SYSTEM: &[&str] = &["/usr/local/bin", "/usr/bin"];

/// How many entries of a directory are looked at.
const ENTRY_LIMIT: usize = 4096;
/// How large a package's list of its commands is at most.
const LIST_LIMIT: usize = 64 << 10;
/// How large its record of all its files is at most, and a command.
const RECORD_LIMIT: usize = 4 << 20;
const COMMAND_LIMIT: usize = 64 << 10;

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

/// Links to somewhere else in the prefix: `../lib/node_modules/…`, `../share/pipx/…`.
fn links<'w>(world: &'w dyn World, directory: &'w Path) -> impl Iterator<Item = Launcher> + 'w {
    let prefix = directory.parent().unwrap_or(directory);
    let entries = world.read_dir(directory, ENTRY_LIMIT).unwrap_or_default();
    entries.into_iter().filter(|(_, kind)| *kind == Kind::Link).filter_map(move |(name, _)| {
        let path = directory.join(name);
        let target = world.read_link(&path)?;
        let package = resolve(world, directory, &target, Last::Followed).path;
        starts_with(world.platform(), &package, prefix).then_some(Launcher { path, package })
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
        let read = |name: &str, limit| world.read_file(&package.join(name), limit).unwrap_or_default();
        let list = read("entry_points.txt", LIST_LIMIT);
        let names = commands(&String::from_utf8_lossy(&list));
        let record = if names.is_empty() { Vec::new() } else { read("RECORD", RECORD_LIMIT) };
        let recorded = recorded(&String::from_utf8_lossy(&record), package.parent().unwrap_or(&package));
        let as_recorded = |path: &PathBuf| {
            let digest = recorded.iter().find(|(file, _)| file == path).map(|(_, digest)| digest);
            digest.is_some_and(|digest| {
                world.read_file(path, COMMAND_LIMIT).is_some_and(|content| sha256(&content) == *digest)
            })
        };
        let paths = names.into_iter().map(|name| directory.join(name)).filter(as_recorded);
        paths.map(|path| Launcher { path, package: package.clone() }).collect::<Vec<_>>()
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

/// What a package's `RECORD` says of files outside of the site directory: their paths, and their SHA-256 in hexadecimal.
fn recorded(record: &str, site: &Path) -> Vec<(PathBuf, String)> {
    let outside = record.lines().filter(|line| line.starts_with("../"));
    outside
        .filter_map(|line| {
            let mut fields = line.split(',');
            let path = normalise(&site.join(fields.next()?));
            Some((path, hex_of_base64(fields.next()?.strip_prefix("sha256=")?)?))
        })
        .collect()
}

/// Base64 with the alphabet for file names, unpadded, as hexadecimal digits.
fn hex_of_base64(text: &str) -> Option<String> {
    let (mut bits, mut held) = (0_u32, 0_u32);
    let mut hex = String::new();
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        while held >= 4 {
            held -= 4;
            hex.push(char::from_digit(bits >> held & 15, 16)?);
        }
    }
    // What is left over are zeros that fill the last letter.
    hex.truncate(hex.len() & !1);
    Some(hex)
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
            .link("/usr/local/bin/dangling", "/usr/local/nowhere")
            .file("/usr/bin/rustup", "")
            .file("/home/dev/.rustup/toolchains/own/bin/rustc", "")
            .link("/home/dev/.local/bin/my-rustc", "../../.rustup/toolchains/own/bin/rustc");
        for base in ["/usr/local", "/home/dev/.local"] {
            let package = format!("{base}/lib/python3.11/site-packages/tool-1.0.dist-info");
            let list = "[console_scripts]\ntool = tool:main\nmine = tool:mine\n../lib/x = tool:x\n\n[other]\nhand = tool:hand\n";
            // `printf '#!/usr/bin/python3\n' | openssl dgst -sha256 -binary | basenc --base64url`
            let digest = "sha256=ruULPQI7A5xxFhCYlc2-Yak7eGnabqCYTahYYvxbPtc";
            let record = format!(
                "tool/__init__.py,sha256=x,1\n../../../bin/tool,{digest},19\n../../../bin/mine,{digest},19\n"
            );
            world = world
                .file(&format!("{package}/entry_points.txt"), list)
                .file(&format!("{package}/RECORD"), &record)
                .file(&format!("{base}/bin/tool"), "#!/usr/bin/python3\n")
                .file(&format!("{base}/bin/mine"), "#!/bin/sh\nexec /opt/own/tool\n")
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
        for command in ["hand", "mine", "my-rustc"] {
            assert_eq!(zone(&world, &format!("/home/dev/.local/bin/{command}")), Zone::Config, "{command}");
        }
        assert_eq!(zone(&world, "/home/dev/.rustup/toolchains/own/bin/rustc"), Zone::State);
        assert_eq!(zone(&world, "/usr/local/bin/mine"), Zone::System);
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
