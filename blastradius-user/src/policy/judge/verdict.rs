//! The zone table, as the text layer reads it: object and act → objection.

use std::path::Path;

use blastradius_common::{RuleId, Verdict, Zone};

use crate::policy::critical::{gives_entries_by_consent, is_critical};
use crate::policy::effect::{Act, Selection};
use crate::policy::operand::SOME_NAME;
use crate::policy::resolve::Resolved;
use crate::policy::zones::ZoneAnswer;
use crate::policy::{CONFIG_NAME, floor, paths};

use super::{Court, Objection, device};

/// Programs whose purpose it is to empty or overwrite: for them a target that is not there now is no new file.
const WIPERS: &[&str] = &["", ":", "dd", "fallocate", "shred", "srm", "truncate", "true", "wipe"];

/// Below these system roots an administrator installs by hand: a new file there takes nothing from anyone.
const LOCALLY_MANAGED: &[&str] = &["/opt", "/usr/local"];

/// What is judged.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    /// What is done.
    pub(super) act: Act,
    /// Which part of a tree is meant.
    pub(super) selection: &'a Selection,
    /// The program that does it.
    pub(super) program: &'a str,
}

impl Case<'_> {
    /// Whether the act reaches everything below its target.
    fn is_recursive(&self) -> bool {
        matches!(self.act, Act::Remove { recursive: true } | Act::Metadata { recursive: true } | Act::Move)
    }

    fn is_narrow(&self) -> bool {
        self.selection.narrow_by_name
    }
}

impl Court<'_> {
    /// Judges one object.
    pub(super) fn object(&self, case: Case<'_>, object: &Resolved) -> Option<Objection> {
        let objection = match case.act {
            Act::Append => self.append(object),
            Act::Remove { .. } | Act::Move => self.removal(case, object),
            Act::Truncate | Act::Replace | Act::Device => self.overwriting(case, object),
            Act::Metadata { recursive } => self.metadata(case, object, recursive),
        };
        objection.map(|objection| self.told(objection, object))
    }

    /// Adds what every refusal says: the path, the links on the way.
    fn told(&self, mut objection: Objection, object: &Resolved) -> Objection {
        objection.resolved.get_or_insert_with(|| object.path.clone());
        for hop in &object.hops {
            objection.reasons.push(format!("{} is a link to {}", hop.link.display(), hop.target.display()));
        }
        if object.doubtful {
            objection.reasons.push("part of the path cannot be looked at".into());
        }
        objection
    }

    pub(super) fn zone(&self, path: &Path) -> ZoneAnswer {
        self.policy.zone(self.world, path)
    }

    /// The zone of what lies directly below a directory.
    pub(super) fn zone_inside(&self, path: &Path) -> ZoneAnswer {
        self.zone(&path.join(SOME_NAME))
    }

    fn append(&self, object: &Resolved) -> Option<Objection> {
        if let Some(answer) = device::write(object) {
            return answer;
        }
        let zone = self.zone(&object.path);
        match zone.zone {
            Zone::Floor | Zone::System => Some(
                out_of_scope(&zone)
                    .because("a system file gets longer: nothing is lost, but something changes"),
            ),
            Zone::Own => Some(
                Objection::new(RuleId::OwnFiles, Verdict::Confirm)
                    .because("the policy is what people say may be destroyed"),
            ),
            _ => None,
        }
    }

    fn removal(&self, case: Case<'_>, object: &Resolved) -> Option<Objection> {
        let path = &*object.path;
        let zone = self.zone(path);
        if zone.zone == Zone::Floor {
            return self.floor_removal(case, path, &zone);
        }
        if matches!(zone.zone, Zone::Denied | Zone::Own) {
            return Some(protected(&zone));
        }
        if !case.is_narrow() {
            if case.is_recursive()
                && let Some(objection) = self.reached_floor(path).or_else(|| self.reached_denied(path))
            {
                return Some(objection);
            }
            let given = matches!(zone.zone, Zone::Scope | Zone::Born | Zone::State);
            if !given && self.is_critical(path) {
                return Some(critical_file(path));
            }
        }
        match zone.zone {
            Zone::Root => self.root_removal(case, path, &zone),
            Zone::History => Some(history(&zone)),
            Zone::Scope | Zone::Born | Zone::State => self.scope_removal(case, object),
            _ => Some(self.with_facts(out_of_scope(&zone), case, object)),
        }
    }

    fn is_critical(&self, path: &Path) -> bool {
        is_critical(self.policy.platform(), self.policy.homes(), path)
    }

    /// A recursion that goes through something which nobody may touch.
    fn reached_floor(&self, path: &Path) -> Option<Objection> {
        let object = self.policy.floor_below(path)?;
        let place = object.path.display();
        Some(if object.is_mount {
            Objection::critical(RuleId::MountBelow)
                .because(format!("{place} is a mount point below the target and would be emptied with it"))
        } else {
            Objection::critical(RuleId::FloorPath).because(format!("the recursion reaches {place}"))
        })
    }

    /// A recursion that goes through something which a `deny` line with wildcards matches. What a line names without
    /// them marks the directories above it, and needs no search.
    fn reached_denied(&self, path: &Path) -> Option<Objection> {
        let (found, origin) = self.policy.denied_below(self.world, path)?;
        Some(
            Objection::critical(RuleId::DeniedPath)
                .because(format!("the recursion reaches {} ({origin})", found.display())),
        )
    }

    fn floor_removal(&self, case: Case<'_>, path: &Path, zone: &ZoneAnswer) -> Option<Objection> {
        let deny = || floor_object(path, zone);
        let partly = case.is_narrow() || case.selection.narrow_by_other || case.selection.contents_only;
        if !partly {
            return Some(deny());
        }
        let platform = self.policy.platform();
        let inside = self.zone_inside(path);
        let is_scratch = gives_entries_by_consent(platform, path);
        if inside.zone == Zone::Scope && !is_scratch {
            // A work tree that lies directly below `/` or on a mount of its own; else a tmpfs inside scope, whose
            // entries are as much scope as those of the directory that it covers.
            return if self.is_scope_root(path) { self.root_removal(case, path, &inside) } else { None };
        }
        if case.is_narrow() {
            let holds_homes = floor::home_parents().any(|parent| paths::same(platform, path, parent));
            return match inside.zone {
                Zone::Scope => None,
                _ if paths::depth(path) == 0 || holds_homes => Some(deny()),
                _ => Some(out_of_scope(&inside).because(format!("selected by {}", case.selection.filter))),
            };
        }
        if is_scratch {
            return Some(
                Objection::new(RuleId::ScopeRoot, Verdict::Confirm)
                    .because(format!("{} is shared with every program on the machine", path.display())),
            );
        }
        Some(deny())
    }

    fn root_removal(&self, case: Case<'_>, path: &Path, zone: &ZoneAnswer) -> Option<Objection> {
        if case.is_narrow() {
            let inside = self.zone_inside(path);
            return match inside.zone {
                Zone::Scope | Zone::Born | Zone::State => self.filtered_removal(case, path),
                _ => Some(out_of_scope(&inside).because(format!("selected by {}", case.selection.filter))),
            };
        }
        if self.is_git_directory(path) {
            return Some(history(zone).because("nothing else holds the repository's past"));
        }
        let what = if case.selection.contents_only { "everything in" } else { "the whole of" };
        Some(Objection::new(RuleId::ScopeRoot, Verdict::Confirm).because(format!(
            "{what} {} would go: {}",
            path.display(),
            zone.origin
        )))
    }

    /// Whether scope begins here.
    pub(super) fn is_scope_root(&self, path: &Path) -> bool {
        let platform = self.policy.platform();
        let by_default = self.policy.scope().roots.iter().any(|root| paths::same(platform, &root.path, path));
        let by_line =
            self.policy.config().allows.iter().any(|line| {
                line.pattern.literal().is_some_and(|literal| paths::same(platform, &literal, path))
            });
        by_default || by_line
    }

    fn is_git_directory(&self, path: &Path) -> bool {
        let platform = self.policy.platform();
        let known = self.policy.work_tree().is_some_and(|tree| {
            paths::same(platform, path, &tree.git_dir) || paths::same(platform, path, &tree.common_dir)
        });
        known || path.file_name().is_some_and(|name| name == ".git")
    }

    fn overwriting(&self, case: Case<'_>, object: &Resolved) -> Option<Objection> {
        let path = &*object.path;
        if case.selection.contents_only {
            return self.merging(object);
        }
        if case.act != Act::Replace
            && let Some(answer) = device::write(object)
        {
            return answer;
        }
        let zone = self.zone(path);
        let exists = object.meta.is_some();
        match zone.zone {
            Zone::Floor => return Some(floor_object(path, &zone)),
            Zone::Own if path.file_name().is_some_and(|name| name == CONFIG_NAME) => {
                return Some(
                    Objection::new(RuleId::OwnFiles, Verdict::Confirm)
                        .because("the policy is what people say may be destroyed"),
                );
            }
            Zone::Own => return Some(protected(&zone)),
            Zone::Denied => return exists.then(|| protected(&zone)),
            Zone::History => return exists.then(|| history(&zone)),
            Zone::Scope | Zone::Born | Zone::State | Zone::Root => return None,
            _ => {}
        }
        if self.is_critical(path) || device::is_node(path) {
            return Some(critical_file(path));
        }
        let wipes = WIPERS.contains(&case.program);
        let loses = match zone.zone {
            // An edit; only what empties a dotfile is asked about. Those at the top of a home (shell start-up files,
            // histories) are asked about even where they are not to be seen now.
            Zone::Config => case.act != Act::Replace && (exists || wipes || self.is_top_dotfile(path)),
            Zone::System => exists || wipes || !is_locally_managed(path),
            _ => exists || wipes || object.parent_absent,
        };
        loses.then(|| self.with_facts(out_of_scope(&zone), case, object))
    }

    fn is_top_dotfile(&self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| self.zone(parent).zone == Zone::Floor)
    }

    /// `cp -r a/. b`: what both hold is overwritten, in b.
    fn merging(&self, object: &Resolved) -> Option<Objection> {
        let path = &*object.path;
        if paths::depth(path) == 0 {
            return Some(floor_object(path, &self.zone(path)));
        }
        let inside = self.zone_inside(path);
        match inside.zone {
            Zone::Scope | Zone::Born | Zone::State | Zone::Root => None,
            Zone::Denied | Zone::Own => Some(protected(&inside)),
            Zone::History => Some(history(&inside)),
            _ => Some(out_of_scope(&inside).because("what both directories hold would be overwritten")),
        }
    }

    fn metadata(&self, case: Case<'_>, object: &Resolved, recursive: bool) -> Option<Objection> {
        let path = &*object.path;
        let zone = self.zone(path);
        let confirm = |rule| Objection::new(rule, Verdict::Confirm).because(format!("{}", zone.origin));
        if matches!(zone.zone, Zone::Denied | Zone::Own) {
            return Some(protected(&zone));
        }
        if !recursive {
            return match zone.zone {
                Zone::Floor => Some(confirm(RuleId::OutOfScope)),
                Zone::History => Some(deny_history(&zone)),
                _ if self.is_critical(path) => {
                    Some(confirm(RuleId::OutOfScope).because("the system trusts its owner and mode"))
                }
                _ => None,
            };
        }
        let grave = Objection::critical(RuleId::RecursiveMetadata).because(format!(
            "owner or mode of everything in {} would change: {}",
            path.display(),
            zone.origin
        ));
        if zone.zone == Zone::Floor {
            let inside = self.zone_inside(path);
            let is_project =
                inside.zone == Zone::Scope && !gives_entries_by_consent(self.policy.platform(), path);
            return Some(match (is_project, case.is_narrow()) {
                (true, true) => return None,
                (true, false) => confirm(RuleId::ScopeRoot),
                (false, true) if paths::depth(path) > 0 => confirm(RuleId::RecursiveMetadata),
                (false, _) => grave,
            });
        }
        if !case.is_narrow() && (self.is_critical(path) || self.policy.floor_below(path).is_some()) {
            return Some(grave);
        }
        let filtered = case.is_narrow() || case.selection.narrow_by_other;
        match zone.zone {
            Zone::History => Some(deny_history(&zone)),
            // `find . -type f -exec chmod 644 {} +` changes files one by one, and a directory's entries are scope.
            Zone::Root if filtered && self.zone_inside(path).zone == Zone::Scope => None,
            Zone::Root => Some(confirm(RuleId::ScopeRoot)),
            Zone::Scope | Zone::Born | Zone::State => None,
            _ => Some(confirm(RuleId::RecursiveMetadata)),
        }
    }
}

fn is_locally_managed(path: &Path) -> bool {
    LOCALLY_MANAGED.iter().any(|dir| path.starts_with(dir))
}

pub(super) fn floor_object(path: &Path, zone: &ZoneAnswer) -> Objection {
    Objection::critical(RuleId::FloorPath).because(format!(
        "{} is a floor object ({})",
        path.display(),
        zone.origin
    ))
}

fn critical_file(path: &Path) -> Objection {
    Objection::critical(RuleId::CriticalFile)
        .because(format!("without {} the system does not start, or admits nobody", path.display()))
}

fn protected(zone: &ZoneAnswer) -> Objection {
    let rule = if zone.zone == Zone::Own { RuleId::OwnFiles } else { RuleId::DeniedPath };
    Objection::critical(rule).because(zone.origin.to_string())
}

fn history(zone: &ZoneAnswer) -> Objection {
    Objection::new(RuleId::GitHistory, Verdict::Confirm).because(zone.origin.to_string())
}

fn deny_history(zone: &ZoneAnswer) -> Objection {
    Objection { verdict: Verdict::Deny, ..history(zone) }
}

pub(super) fn out_of_scope(zone: &ZoneAnswer) -> Objection {
    let place = match zone.zone {
        Zone::Config => "a dotfile or configuration of a home",
        Zone::Personal => "personal: it lies in a home, outside scope",
        Zone::System => "it lies below a system root",
        _ => "it lies outside scope",
    };
    Objection::new(RuleId::OutOfScope, Verdict::Confirm).because(place)
}
