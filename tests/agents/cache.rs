//! Is the pinned version here?

use std::fs;
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

/// One package in a directory of its own, which npm never shares with another.
fn package(cache: &Path, name: &str, package: &str, version: &str) -> Result<PathBuf, String> {
    let relative = PathBuf::from(format!("{name}-{version}"));
    let home = cache.join(&relative);
    let complete = home.join("complete");
    if complete.exists() {
        return Ok(relative);
    }
    fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    println!("  fetching {package}@{version}");
    let done = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(&home)
        .arg(format!("{package}@{version}"))
        .current_dir(&home)
        .status();
    match done {
        Ok(status) if status.success() => {
            fs::write(&complete, "").map_err(|error| format!("{}: {error}", complete.display()))?;
            Ok(relative)
        }
        Ok(status) => Err(format!("npm could not install {package}@{version}: {status}")),
        Err(error) => Err(format!("npm cannot be run: {error}")),
    }
}
