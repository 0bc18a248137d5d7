//! Effects in a container, a chroot or on another host: the machine's own paths are not meant, and nothing can be
//! looked at.

use std::path::{Path, PathBuf};

use blastradius_common::{RuleId, Verdict};

use crate::policy::critical::{gives_entries_by_consent, is_critical};
use crate::policy::effect::{Act, Base, PathTarget};
use crate::policy::operand::{Reading, explain, read};
use crate::policy::{floor, paths};
use crate::shell::world::Platform;

use super::path::is_removal;
use super::{Court, Objection};

/// Scratch on any machine.
const SCRATCH: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

impl Court<'_> {
    pub(super) fn elsewhere(&self, place: &str, act: Act, target: &PathTarget) -> Option<Objection> {
        let confirm = |reason: String| {
            Objection::new(RuleId::RemoteResource, Verdict::Confirm)
                .because(format!("it happens elsewhere: {place}"))
                .because(reason)
        };
        if !is_removal(act) && !matches!(act, Act::Metadata { recursive: true } | Act::Device | Act::Truncate)
        {
            return None;
        }
        let (path, wide) = match read(&target.operand) {
            Reading::Known { text, nothings } => {
                if nothings.all || nothings.moved_to_root {
                    let mut objection = Objection::critical(RuleId::EmptyVariableExpansion);
                    objection.reasons = nothings.causes.iter().map(|cause| explain(cause)).collect();
                    return is_removal(act).then_some(objection);
                }
                (absolute(&text, &target.base), false)
            }
            Reading::Glob { glob, .. } => (Some(glob.base.clone()), true),
            Reading::Partial(partial) => {
                return Some(confirm(
                    partial.causes.iter().map(|cause| explain(cause)).collect::<Vec<_>>().join("; "),
                ));
            }
        };
        let Some(path) = path else {
            return Some(confirm("the path is relative to a place that is not known".into()));
        };
        // A chroot is a tree of this machine, not a machine: what is critical in it is not critical to anyone else.
        let is_tree = place.starts_with("chroot ");
        self.remote_path(&path, wide, act, target).map(|objection| match objection.critical && !is_tree {
            true => objection.because(format!("it happens elsewhere: {place}")),
            false => confirm(format!("{} is not scratch", path.display())),
        })
    }

    fn remote_path(&self, path: &Path, wide: bool, act: Act, target: &PathTarget) -> Option<Objection> {
        // Servers and containers are Linux, whatever this machine is.
        let platform = Platform::Linux;
        let is_root = paths::depth(path) == 0;
        let is_system = floor::system_roots(platform).iter().any(|root| path == Path::new(root));
        let is_home = floor::home_parents().any(|parent| path.starts_with(parent) && paths::depth(path) <= 2)
            || path == Path::new("/root");
        let scratch = SCRATCH.iter().any(|dir| paths::is_below(platform, path, Path::new(dir)));
        let consent = gives_entries_by_consent(platform, path);
        let narrow = target.selection.narrow_by_name;
        let critical =
            is_root || is_system || is_home || !wide && is_critical(platform, &[] as &[PathBuf], path);
        if critical && !(consent && wide) && (is_root || !narrow) && act != Act::Truncate {
            return Some(Objection {
                resolved: Some(path.to_path_buf()),
                ..Objection::critical(RuleId::FloorPath)
                    .because(format!("{} is a floor object of whatever machine it is", path.display()))
            });
        }
        (!scratch).then(|| Objection::new(RuleId::RemoteResource, Verdict::Confirm))
    }
}

fn absolute(text: &str, base: &Base) -> Option<PathBuf> {
    if text.starts_with('/') {
        return Some(paths::normalise(Path::new(text)));
    }
    match base {
        Base::Known(base) => Some(paths::normalise(&base.join(text))),
        Base::OneOf(_) | Base::Unknown(_) => None,
    }
}
