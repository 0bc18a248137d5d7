//! What will a command touch?
//!
//! From the effects that the text layer predicts to the objects that are to be kept before it runs.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::policy::Policy;
use crate::policy::effect::{Act, Base, Discard, Effect, Follow, Located, PathTarget};
use crate::policy::operand::{Reading, read};
use crate::policy::resolve::Last;
use crate::shell::value::Field;
use crate::shell::world::World;

/// Programs that are asked to make something unreadable for good. A copy would defeat them.
pub const WIPERS: &[&str] = &["shred", "srm", "wipe"];

/// Something that a command touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touch {
    /// An object, and with `recursive` what lies below it.
    Object {
        /// Canonical.
        path: PathBuf,
        /// Everything below it too.
        recursive: bool,
        /// It was not named by itself: a directory, a wildcard or a filter chose it.
        swept: bool,
        /// Only objects with such names; empty: all.
        names: Vec<String>,
    },
    /// What is uncommitted in the work tree that holds this directory.
    Work(PathBuf),
    /// Commits, stashes and what leads to them, of the repository that holds this directory.
    Commits(PathBuf),
    /// It is to be unreadable for good.
    Wiped(PathBuf),
    /// Something that cannot be told before it happens.
    Unknown,
}

/// What these effects touch.
pub fn touches(effects: &[Located], policy: &Policy, world: &dyn World) -> Vec<Touch> {
    let mut touches = Vec::new();
    for located in effects {
        if located.elsewhere.is_some() {
            continue;
        }
        match &located.effect {
            Effect::Path { act, target } => {
                let wipes = WIPERS.contains(&&*located.program);
                path(*act, target, wipes, policy, world, &mut touches);
            }
            Effect::Git { discard, base, .. } => git(discard, base, policy, world, &mut touches),
            Effect::Thing { .. } => {}
        }
    }
    touches.dedup();
    touches
}

fn path(
    act: Act,
    target: &PathTarget,
    wipes: bool,
    policy: &Policy,
    world: &dyn World,
    touches: &mut Vec<Touch>,
) {
    let recursive = match act {
        Act::Remove { recursive } => recursive,
        // Merged into a directory that is there: what both hold is replaced.
        Act::Replace | Act::Truncate => target.selection.contents_only,
        Act::Device => false,
        // Nothing is lost: it gets longer, it is somewhere else, or only its mode changes.
        Act::Append | Act::Move | Act::Metadata { .. } => return,
    };
    let filtered = !target.selection.filter.is_empty() || target.selection.contents_only;
    let last = if target.follow == Follow::Never { Last::Kept } else { Last::Followed };
    let Some(operands) = operands(&target.operand) else {
        touches.push(Touch::Unknown);
        return;
    };
    let swept = recursive || filtered || target.operand.glob.is_some();
    for operand in operands {
        let absolute = operand.starts_with('/');
        let bases = match &target.base {
            Base::Known(base) => vec![base.clone()],
            Base::OneOf(bases) => bases.clone(),
            Base::Unknown(_) if absolute => vec![Rc::new(PathBuf::from("/"))],
            Base::Unknown(_) => {
                touches.push(Touch::Unknown);
                continue;
            }
        };
        for base in bases {
            let path = policy.resolve(world, &base, Path::new(&operand), last).path;
            touches.push(match wipes {
                true => Touch::Wiped(path),
                false => Touch::Object { path, recursive, swept, names: target.selection.names.clone() },
            });
        }
    }
}

/// The operand's texts; `None`: they are known only at run time.
fn operands(field: &Field) -> Option<Vec<String>> {
    match read(field) {
        Reading::Known { text, .. } if text.is_empty() => Some(Vec::new()),
        Reading::Known { text, .. } => Some(vec![text.into_owned()]),
        Reading::Glob { glob, .. } if glob.count == glob.matches.len() => Some(glob.matches.clone()),
        Reading::Glob { .. } | Reading::Partial(_) => None,
    }
}

fn git(discard: &Discard, base: &Base, policy: &Policy, world: &dyn World, touches: &mut Vec<Touch>) {
    let bases: &[Rc<PathBuf>] = match base {
        Base::Known(base) => std::slice::from_ref(base),
        Base::OneOf(bases) => bases,
        Base::Unknown(_) => {
            touches.push(Touch::Unknown);
            return;
        }
    };
    for base in bases {
        let directory = policy.resolve(world, Path::new("/"), base, Last::Followed).path;
        match discard {
            Discard::WorkTree(_) | Discard::Untracked { .. } => touches.push(Touch::Work(directory)),
            Discard::Stash | Discard::History => touches.push(Touch::Commits(directory)),
            Discard::Pushed(_) => {}
            Discard::Worktree { tree, .. } => {
                let swept = |path| Touch::Object { path, recursive: true, swept: true, names: Vec::new() };
                let resolved = |operand: String| {
                    policy.resolve(world, &directory, Path::new(&operand), Last::Followed).path
                };
                match (policy.linked_tree(world, &directory, tree), operands(tree)) {
                    (Some(tree), _) => touches.push(swept(tree.root)),
                    (None, Some(operands)) => {
                        touches.extend(operands.into_iter().map(resolved).map(swept));
                    }
                    (None, None) => touches.push(Touch::Unknown),
                }
            }
        }
    }
}
