//! A plan for the time before the policy compiler: the work tree and scratch are scope, homes are not.

use std::path::{Path, PathBuf};

use blastradius_common::Zone;

use crate::policy::plan::{Mark, Plan};
use crate::shell::world::{Look, World};

/// The plan of a session that starts in the working directory of `world`.
pub fn plan(world: &dyn World) -> Plan {
    let homes = world.homes().into_iter().chain(world.env("HOME").map(|home| PathBuf::from(&*home)));
    let homes = homes.filter_map(|home| home.canonicalize().ok()).filter(|home| home.parent().is_some());
    let home = |path: PathBuf| Mark {
        path,
        own: Some(Zone::Floor),
        below: Some(Zone::Personal),
        dots: Some(Zone::Config),
        origin: "floor".to_owned(),
    };
    let scratch = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).into_iter();
    let variable = world.env("TMPDIR").map(|dir| PathBuf::from(&*dir));
    let scopes = scratch.chain(variable).chain([work_tree(world)]);
    let scope = |path: PathBuf| Mark {
        path,
        own: Some(Zone::Root),
        below: Some(Zone::Scope),
        dots: None,
        origin: "default scope".to_owned(),
    };
    let marks =
        homes.map(home).chain(scopes.filter_map(|path| path.canonicalize().ok()).map(scope)).collect();
    Plan { marks, names: Vec::new() }
}

fn work_tree(world: &dyn World) -> PathBuf {
    let cwd = world.cwd();
    let has_git = |dir: &&Path| matches!(world.look(&dir.join(".git")), Look::Found(_));
    cwd.ancestors().find(has_git).unwrap_or(&cwd).to_owned()
}
