//! One policy for both layers: what may be destroyed, where, and why not.
//!
//! | file | question |
//! |---|---|
//! | [`floor`], [`critical`] | what is never to be touched, by anyone? |
//! | [`scope`], [`worktree`] | where may an agent destroy by default? |
//! | [`presets`] | what do tools own and rebuild? |
//! | [`config`], `misread`, [`pattern`], [`trust`], [`digest`] | what do people say in their files? |
//! | [`marks`], [`zones`], `nested` | which zone is a path in, and which line decides? |
//! | [`plan`], [`compile`] | the same, as the enforcing back ends see it |
//! | [`mod@resolve`], [`operand`] | which object does an operand name? |
//! | [`mod@judge`] | what is the verdict on an effect? |
//! | [`lending`] | what may git do that nobody else may? |
//! | [`describe`] | what is in force, and what would happen to a path? |
//! | [`suggest`] | which lines would have let an act pass? |
//! | [`rules`], [`advice`] | what does a rule mean, and what could be done instead? |
//!
//! [`effect`] is what programs say they do, [`finding`] what the judge answers.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod advice;
pub mod compile;
pub mod config;
pub mod critical;
pub mod describe;
pub mod digest;
pub mod effect;
pub mod finding;
pub mod floor;
pub mod judge;
mod launchers;
pub mod lending;
pub mod marks;
mod misread;
pub mod mode;
mod nested;
pub mod operand;
pub mod paths;
pub mod pattern;
pub mod plan;
pub mod presets;
pub mod resolve;
pub mod rules;
pub mod scope;
pub mod suggest;
pub mod trust;
pub mod worktree;
pub mod zones;

#[cfg(test)]
mod table;
#[cfg(test)]
mod widening;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use blastradius_common::Zone;

use crate::shell::world::{Platform, World};

pub use judge::judge;
pub use zones::ZoneAnswer;

use config::{Config, ConfigError};
use marks::Marks;
use presets::StatePath;
use resolve::{Last, Resolved, resolve, resolve_below};
use scope::DefaultScope;
use trust::{NoTrust, TrustStore};
use worktree::WorkTree;
use zones::{FloorObject, Ground};

/// The name of a policy file in a work tree.
pub const CONFIG_NAME: &str = ".blastradius";

/// What the caller knows about the start.
#[derive(Clone, Copy, Default)]
pub struct Start<'a> {
    /// A `run` begins: outside a work tree the start directory is scope.
    pub session: bool,
    /// Further files and directories of the guard's own: pins, sockets, an overridden state directory.
    pub own: &'a [PathBuf],
    /// Which widening lines a human has approved; `None`: none.
    pub trust: Option<&'a dyn TrustStore>,
}

/// The policy in force. Read once; what changes on disk afterwards changes nothing.
#[derive(Debug)]
pub struct Policy {
    platform: Platform,
    cwd: PathBuf,
    tool_homes: Vec<PathBuf>,
    homes: Vec<PathBuf>,
    tree: Option<WorkTree>,
    scope: DefaultScope,
    config: Config,
    marks: Marks,
    floor_objects: Vec<FloorObject>,
    states: OnceLock<Vec<StatePath>>,
    launcher_directories: Vec<PathBuf>,
    launchers: OnceLock<HashMap<PathBuf, marks::Origin>>,
}

impl Policy {
    /// Reads the policy that applies in the world's working directory.
    ///
    /// Never fails: what is wrong with a policy file is kept, and refuses destructive work until it is mended.
    pub fn load(world: &dyn World, start: Start<'_>) -> Self {
        let platform = world.platform();
        let home = world.env("HOME").map(|home| PathBuf::from(&*home)).filter(|home| home.is_absolute());
        let home = home.map(|home| resolve(world, Path::new("/"), &home, Last::Followed).path);
        let homes = floor::homes(world, home.as_deref());
        let homes = with_targets(world, homes);
        let cwd = resolve(world, Path::new("/"), &world.cwd(), Last::Followed).path;
        let tree = worktree::discover(world, &cwd);
        let account_home = world.home_of(None).or_else(|| home.clone());
        let trust = start.trust.unwrap_or(&NoTrust);
        let config = config::load(&config::Sources {
            world,
            homes: &homes,
            home: account_home.as_deref(),
            cwd: &cwd,
            tree: tree.as_ref(),
            trust,
        });
        let mut scope = scope::default_scope(world, &homes, &cwd, tree.as_ref(), start.session);
        if config.replaces_scope {
            scope = DefaultScope { refused: scope.refused.take(), ..DefaultScope::default() };
        }
        let mounts = world.mounts();
        let own = own_paths(world, account_home.as_deref(), start.own);
        let (marks, floor_objects) = zones::lay(&Ground {
            world,
            homes: &homes,
            mounts: &mounts,
            tree: tree.as_ref(),
            scope: &scope,
            allows: &config.allows,
            denies: &config.denies,
            own: &own,
            files: &config.files,
        });
        let tool_homes = tool_homes(account_home, home, &homes);
        Self {
            platform,
            cwd,
            launcher_directories: launchers::directories(platform, &tool_homes),
            tool_homes,
            homes,
            tree,
            scope,
            config,
            marks,
            floor_objects,
            states: OnceLock::new(),
            launchers: OnceLock::new(),
        }
    }

    /// Which layout applies.
    pub fn platform(&self) -> Platform {
        self.platform
    }

    /// The work tree in which the policy was read.
    pub fn work_tree(&self) -> Option<&WorkTree> {
        self.tree.as_ref()
    }

    /// The homes that are floor objects.
    pub fn homes(&self) -> &[PathBuf] {
        &self.homes
    }

    /// The working directory in which the policy was read, canonical.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// What is wrong with the policy files.
    pub fn errors(&self) -> &[ConfigError] {
        &self.config.errors
    }

    /// What the policy files say.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The default scope, as far as it is in force.
    pub fn scope(&self) -> &DefaultScope {
        &self.scope
    }

    /// Resolves a path, knowing that the working directory is canonical.
    pub fn resolve(&self, world: &dyn World, base: &Path, text: &Path, last: Last) -> Resolved {
        let real = self.tree.as_ref().map_or(&*self.cwd, |tree| &*tree.root);
        resolve_below(world, real, base, text, last)
    }

    fn states(&self, world: &dyn World) -> &[StatePath] {
        self.states.get_or_init(|| {
            let refuse = |path: &Path| {
                floor::is_floor_by_place(self.platform, path)
                    || self.floor_below(path).is_some()
                    || paths::starts_with(self.platform, &self.cwd, path)
                    || self.tree.as_ref().is_some_and(|tree| paths::is_below(self.platform, &tree.root, path))
                    || scope::is_standard_user_directory(self.platform, &self.homes, path)
                    || self.floor_objects.iter().any(|object| zones::is_same(self, &object.path, path))
            };
            presets::state_paths(world, &self.tool_homes, &refuse)
        })
    }

    /// The commands that go with packages that are state, and whose they are. They are looked for once.
    fn launchers(&self, world: &dyn World) -> &HashMap<PathBuf, marks::Origin> {
        self.launchers.get_or_init(|| {
            let all = launchers::launchers(world, &self.launcher_directories);
            let of_state = all.into_iter().filter_map(|launchers::Launcher { path, package }| {
                let answer = self.zone_of_place(world, &package);
                (answer.zone == Zone::State).then_some((path, answer.origin))
            });
            of_state.collect()
        })
    }
}

/// Where tools keep what is theirs: below the account's home, and below what `HOME` says if that is a home too.
fn tool_homes(account: Option<PathBuf>, at_start: Option<PathBuf>, homes: &[PathBuf]) -> Vec<PathBuf> {
    let moved = at_start.filter(|home| homes.contains(home) && account.as_ref() != Some(home));
    account.into_iter().chain(moved).collect()
}

/// Homes and what they point to, where a home is a link.
fn with_targets(world: &dyn World, homes: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut all = Vec::with_capacity(homes.len());
    for home in homes {
        let real = resolve(world, Path::new("/"), &home, Last::Followed).path;
        for path in [home, real] {
            if !all.contains(&path) && paths::depth(&path) > 0 {
                all.push(path);
            }
        }
    }
    all
}

/// Where the guard keeps what the session must not touch.
fn own_paths(world: &dyn World, home: Option<&Path>, further: &[PathBuf]) -> Vec<PathBuf> {
    let mut own: Vec<PathBuf> = vec!["/etc/blastradius".into()];
    // Where the variables point now, and where a process that does not have them would look.
    for (variable, otherwise) in [("XDG_STATE_HOME", ".local/state"), ("XDG_CONFIG_HOME", ".config")] {
        let named = world.env(variable).map(|value| PathBuf::from(&*value)).filter(|path| path.is_absolute());
        let usual = home.map(|home| home.join(otherwise));
        own.extend(named.into_iter().chain(usual).map(|dir| dir.join("blastradius")));
    }
    own.extend(further.iter().cloned());
    let mut own: Vec<PathBuf> =
        own.into_iter().map(|path| resolve(world, Path::new("/"), &path, Last::Kept).path).collect();
    own.sort();
    own.dedup();
    own
}
