//! Is the pinned version here?

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::table::{Agent, NODE};

/// Where the programs of one agent are.
pub(crate) struct Programs {
    /// The cache: the agent's and Node's directories are below it.
    pub(crate) cache: PathBuf,
    /// The agent's program, relative to the cache.
    pub(crate) agent: PathBuf,
    /// The directory with `node`, relative to the cache.
    pub(crate) node: PathBuf,
}

/// Fetches the agent and a Node for it, unless they are here.
pub(crate) fn fetch(agent: &Agent) -> Result<Programs, String> {
    let cache = directory()?;
    let (node, version) = NODE;
    let node = package(&cache, "node", node, version)?;
    let home = package(&cache, agent.name, agent.package, agent.version)?;
    let modules = home.join("node_modules");
    let below = if agent.program.contains('/') { modules } else { modules.join(".bin") };
    let program = below.join(agent.program);
    if !cache.join(&program).exists() {
        return Err(format!("{} holds no {}", cache.join(&home).display(), agent.program));
    }
    Ok(Programs { cache, agent: program, node: node.join("node_modules/.bin") })
}

fn directory() -> Result<PathBuf, String> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    Ok(base.ok_or("neither XDG_CACHE_HOME nor HOME is set")?.join("blastradius/hosts"))
}

/// One package in a directory of its own, which npm never shares with another. Tests that want it at once take turns.
fn package(cache: &Path, name: &str, package: &str, version: &str) -> Result<PathBuf, String> {
    let relative = PathBuf::from(format!("{name}-{version}"));
    let home = cache.join(&relative);
    let complete = home.join("complete");
    let at = |path: &Path, error| format!("{}: {error}", path.display());
    let turn = home.with_added_extension("lock");
    fs::create_dir_all(cache).map_err(|error| at(cache, error))?;
    let turn =
        File::create(&turn).and_then(|file| file.lock().map(|()| file)).map_err(|error| at(&turn, error))?;
    if !complete.exists() {
        install(&home, &format!("{package}@{version}"))?;
        fs::write(&complete, "").map_err(|error| at(&complete, error))?;
    }
    drop(turn);
    Ok(relative)
}

/// Has npm install what `wanted` names.
fn install(home: &Path, wanted: &str) -> Result<(), String> {
    println!("  fetching {wanted}");
    // What an npm that was interrupted left there confuses the next.
    let made =
        if home.exists() { fs::remove_dir_all(home) } else { Ok(()) }.and_then(|()| fs::create_dir_all(home));
    made.map_err(|error| format!("{}: {error}", home.display()))?;
    let done = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(home)
        .arg(wanted)
        .current_dir(home)
        .status();
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("npm could not install {wanted}: {status}")),
        Err(error) => Err(format!("npm cannot be run: {error}")),
    }
}
