//! The policy for people: every line in force with where it comes from, and what would happen to a path.

use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use blastradius_common::{Operation, Verdict, Zone};

use crate::shell::value::Field;
use crate::shell::world::{Look, World};

use super::config::ConfigError;
use super::effect::{Act, Base, Effect, Follow, Located, PathTarget, Selection};
use super::finding::worst;
use super::mode::{Asker, Mode, Surface};
use super::resolve::{Hop, Last};
use super::{Policy, judge, presets};

/// One line of the policy in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// `scope`, `deny`, `state`, `floor`, `history`, `waiting`, `error`, …
    pub kind: &'static str,
    /// What it speaks of.
    pub what: String,
    /// Where it comes from.
    pub origin: String,
}

impl fmt::Display for Described {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:<8}  {}  ({})", self.kind, self.what, self.origin)
    }
}

/// What the policy says of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathAnswer {
    /// As it was asked.
    pub asked: String,
    /// What it names.
    pub path: PathBuf,
    /// The links on the way.
    pub links: Vec<Hop>,
    /// Its zone.
    pub zone: Zone,
    /// The line that decides it.
    pub origin: String,
    /// Something is there.
    pub exists: bool,
    /// What would happen, act by act.
    pub outcomes: Vec<Outcome>,
    /// What is wrong with the policy: as long as something is, no zone can be relied on.
    pub broken: Vec<ConfigError>,
}

/// What would happen if something were done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `remove`, `move`, `truncate`, `replace`.
    pub act: &'static str,
    /// The text layer where a human can answer.
    pub interactive: Verdict,
    /// The text layer where none can.
    pub unattended: Verdict,
    /// Whether the syscall layer lets it pass, roles and grants aside.
    pub syscall: bool,
}

impl fmt::Display for PathAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, path, links, zone, origin, exists, outcomes, broken } = self;
        writeln!(out, "{asked}")?;
        writeln!(out, "  path      {}", path.display())?;
        for hop in links {
            writeln!(out, "  link      {} → {}", hop.link.display(), hop.target.display())?;
        }
        for error in broken {
            writeln!(out, "  broken    {error}")?;
        }
        let zone = zone.name();
        match broken.is_empty() {
            true => writeln!(out, "  zone      {zone} ({origin})")?,
            false => writeln!(
                out,
                "  zone      unknown until that is mended (the other lines say {zone}: {origin})"
            )?,
        }
        if !exists {
            writeln!(out, "  note      nothing is there now; making it takes nothing from anyone")?;
        }
        // Cutting or overwriting what is not there only makes it.
        let told = outcomes.iter().filter(|outcome| *exists || matches!(outcome.act, "remove" | "move"));
        for outcome in told {
            let syscall = if outcome.syscall { "permitted" } else { "refused" };
            let (asked, alone) = (outcome.interactive.name(), outcome.unattended.name());
            writeln!(out, "  {:<8}  text {asked}, unattended {alone}, syscall {syscall}", outcome.act)?;
        }
        Ok(())
    }
}

/// In which order kinds of lines are told.
const ORDER: &[&str] = &[
    "error", "note", "none", "waiting", "scope", "denied", "deny", "confirm", "rule", "self", "history",
    "state", "floor",
];

const ACTS: &[(&str, Act, Operation)] = &[
    ("remove", Act::Remove { recursive: true }, Operation::Remove),
    ("move", Act::Move, Operation::MoveOut),
    ("truncate", Act::Truncate, Operation::Truncate),
    ("replace", Act::Replace, Operation::Replace),
];

impl Policy {
    /// The lines in force, and those that wait or are wrong.
    pub fn describe(&self, world: &dyn World) -> Vec<Described> {
        let mut lines = Vec::new();
        let mut say = |kind, what: String, origin: String| lines.push(Described { kind, what, origin });
        for error in self.errors() {
            say("error", error.to_string(), "destructive work is refused until it is mended".into());
        }
        for root in &self.scope.roots {
            say("scope", format!("{}/**", root.path.display()), root.origin.to_string());
        }
        if let Some(why) = &self.scope.refused {
            say("none", why.clone(), "default scope".into());
        }
        let mut marks: Vec<_> = self.marks.entries().collect();
        marks.sort_by_key(|(path, _)| *path);
        for (path, entry) in marks {
            let Some(stated) = entry.below.as_ref().or(entry.own.as_ref()) else { continue };
            let told = matches!(stated.zone, Zone::Denied | Zone::Own | Zone::History)
                || stated.zone == Zone::Scope && !stated.origin.starts_with("default scope");
            if told {
                // `D/**` is not D.
                let itself = entry.own.as_ref().is_some_and(|own| own.zone == stated.zone);
                let below = if itself { "" } else { "/**" };
                say(stated.zone.name(), format!("{}{below}", path.display()), stated.origin.to_string());
            }
        }
        for mark in self.marks.patterns() {
            say(mark.stated.zone.name(), mark.pattern.to_string(), mark.stated.origin.to_string());
        }
        for state in self.states(world) {
            if presets::is_present(world, &self.tool_homes, state.preset) {
                say("state", state.pattern.to_string(), format!("preset: {}", state.preset.tool));
            }
        }
        for (why, objects) in self.floor_lines(world) {
            say("floor", objects, why.into());
        }
        for line in &self.config.commands {
            say(line.verdict.name(), format!("command {}", line.glob), line.origin.clone());
        }
        for line in &self.config.rules {
            say("rule", format!("{} is {}", line.rule.id(), line.verdict.name()), line.origin.clone());
        }
        for line in &self.config.waiting {
            say("waiting", line.reason.clone(), line.origin.clone());
        }
        if let Some(owner) = self.tree.as_ref().and_then(|tree| tree.foreign_owner) {
            say(
                "note",
                format!("the work tree belongs to user {owner}: git may refuse to read it"),
                "work tree".into(),
            );
        }
        // What people wrote and must look at comes first, what holds for everyone last.
        lines.sort_by_key(|line| ORDER.iter().position(|kind| *kind == line.kind).unwrap_or(ORDER.len()));
        lines
    }

    /// Floor objects that are there, by what they are.
    fn floor_lines(&self, world: &dyn World) -> Vec<(&'static str, String)> {
        let mut kinds: [(&'static str, Vec<String>); 3] =
            [("homes", Vec::new()), ("system roots", Vec::new()), ("mount points", Vec::new())];
        for object in &self.floor_objects {
            let kind = match object {
                object if object.is_mount => 2,
                object if self.homes.contains(&object.path) => 0,
                _ => 1,
            };
            let there = kind != 1 || matches!(world.look(&object.path), Look::Found(_));
            // What is mounted in a floor object of the system itself is told by it.
            let told =
                kind == 2 && ["/dev", "/proc", "/sys"].iter().any(|root| object.path.starts_with(root));
            let shown = object.path.display().to_string();
            if there && !told && !kinds[kind].1.contains(&shown) {
                kinds[kind].1.push(shown);
            }
        }
        let kinds = kinds.into_iter().filter(|(_, objects)| !objects.is_empty());
        kinds.map(|(why, objects)| (why, objects.join(" "))).collect()
    }

    /// What the policy says of a path, relative ones read in `base`.
    pub fn explain_path(&self, world: &dyn World, base: &Path, text: &str) -> PathAnswer {
        let resolved = self.resolve(world, base, Path::new(text), Last::Kept);
        let zone = self.zone(world, &resolved.path);
        let outcomes = ACTS.iter().map(|(name, act, operation)| Outcome {
            act: name,
            interactive: self.outcome(world, &resolved.path, *act, Mode::Interactive),
            unattended: self.outcome(world, &resolved.path, *act, Mode::Unattended),
            syscall: zone.zone.permits(*operation),
        });
        PathAnswer {
            asked: text.into(),
            outcomes: outcomes.collect(),
            links: resolved.hops,
            exists: resolved.meta.is_some(),
            path: resolved.path,
            zone: zone.zone,
            origin: zone.origin.into_owned(),
            broken: self.errors().to_vec(),
        }
    }

    pub(super) fn outcome(&self, world: &dyn World, path: &Path, act: Act, mode: Mode) -> Verdict {
        let target = PathTarget {
            operand: Field::literal(&path.to_string_lossy()),
            base: Base::Known(Rc::new("/".into())),
            follow: Follow::Never,
            selection: Selection::default(),
        };
        let located = Located {
            effect: Effect::Path { act, target },
            segment: "".into(),
            program: "scope".into(),
            conditional: false,
            elsewhere: None,
        };
        let findings = judge(&[located], self, world, Asker { mode, surface: Surface::Text });
        worst(&findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Start;
    use crate::shell::world::Platform;
    use crate::shell::world::memory::MemoryWorld;

    fn world() -> MemoryWorld {
        MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .env("PATH", "/usr/bin")
            .file("/usr/bin/npm", "")
            .work_tree("/home/dev/p")
            .file("/home/dev/p/.blastradius", "deny ./secrets\nallow ~/x\nallow ./**")
            .cwd("/home/dev/p")
    }

    #[test]
    fn every_line_is_told_with_its_origin() {
        let world = world();
        let lines = Policy::load(&world, Start::default()).describe(&world);
        let has = |kind: &str, what: &str, origin: &str| {
            lines
                .iter()
                .any(|line| line.kind == kind && line.what.contains(what) && line.origin.contains(origin))
        };
        assert!(has("denied", "/home/dev/p/secrets", ".blastradius:1: deny ./secrets"));
        assert!(has("waiting", "trust", ".blastradius:2"));
        assert!(has("scope", "/home/dev/p", ".blastradius:3"));
        assert!(has("state", "/home/dev/.npm", "npm"));
        assert!(has("floor", "/home/dev", ""));
        assert!(!has("state", "/home/dev/.cargo", ""));
    }

    #[test]
    fn a_path_is_told_with_its_zone_its_line_and_what_each_layer_would_do() {
        let world = world();
        let policy = Policy::load(&world, Start::default());
        let answer = policy.explain_path(&world, Path::new("/home/dev/p"), "secrets/a");
        assert_eq!((answer.zone, &*answer.origin), (Zone::Denied, ".blastradius:1: deny ./secrets"));
        assert!(answer.outcomes.iter().any(|outcome| outcome.act == "remove"
            && outcome.interactive == Verdict::Deny
            && !outcome.syscall));
        let documents = policy.explain_path(&world, Path::new("/"), "/home/dev/Documents");
        let remove = documents.outcomes[0];
        assert_eq!(
            (remove.interactive, remove.unattended, remove.syscall),
            (Verdict::Confirm, Verdict::Deny, false)
        );
    }

    #[test]
    fn people_see_what_they_wrote_first_and_the_floor_in_three_lines_at_most() {
        let world =
            world().mount("/srv/disk", "ext4", 7).mount("/proc", "proc", 8).mount("/srv/disk", "ext4", 7);
        let lines = Policy::load(&world, Start::default()).describe(&world);
        let kinds: Vec<&str> = lines.iter().map(|line| line.kind).collect();
        let first = |kind: &str| kinds.iter().position(|known| *known == kind).expect("told");
        assert!(first("waiting") < first("scope") && first("scope") < first("denied"));
        assert!(first("denied") < first("history") && first("state") < first("floor"));
        let floor: Vec<&Described> = lines.iter().filter(|line| line.kind == "floor").collect();
        assert!(floor.len() <= 3, "{floor:?}");
        let mounts = floor.iter().find(|line| line.origin == "mount points").expect("told");
        assert_eq!(mounts.what, "/srv/disk");
    }

    #[test]
    fn of_what_is_not_there_only_loss_is_told() {
        let world = world();
        let policy = Policy::load(&world, Start::default());
        let shown = policy.explain_path(&world, Path::new("/home/dev/p"), "secrets").to_string();
        assert!(shown.contains("nothing is there now") && !shown.contains("truncate"), "{shown}");
        let there = policy.explain_path(&world, Path::new("/home/dev/p"), ".blastradius").to_string();
        assert!(there.contains("truncate") && !there.contains("nothing is there"), "{there}");
    }

    #[test]
    fn no_zone_is_told_as_if_it_held_while_the_policy_is_broken() {
        let told = |world: MemoryWorld| {
            let policy = Policy::load(&world, Start::default());
            policy.explain_path(&world, Path::new("/home/dev/p"), ".blastradius").to_string()
        };
        let shown = told(world().file("/home/dev/p/.blastradius", "deny ./secrets\nalow ./**"));
        let broken = "  broken    /home/dev/p/.blastradius:2:1: found `alow`, expected `allow`,";
        assert!(shown.contains(broken) && shown.contains("zone      unknown until"), "{shown}");
        assert!(shown.contains("remove    text deny, unattended deny"), "{shown}");
        let shown = told(world());
        assert!(!shown.contains("broken") && shown.contains("zone      self ("), "{shown}");
    }

    #[test]
    fn what_unattended_text_allows_the_syscall_layer_permits() {
        let world = world()
            .dir("/srv/x")
            .dir("/etc/x")
            .file("/home/dev/.bashrc", "")
            .dir("/home/dev/p/secrets")
            .dir("/tmp/x")
            .dir("/home/dev/Documents/x");
        let policy = Policy::load(&world, Start::default());
        for path in [
            "/",
            "/etc/x",
            "/srv/x",
            "/home/dev",
            "/home/dev/.bashrc",
            "/home/dev/Documents/x",
            "/home/dev/p",
            "/home/dev/p/a",
            "/home/dev/p/.git/objects",
            "/home/dev/p/.git/index",
            "/home/dev/p/secrets",
            "/tmp/x",
            "/tmp",
            "/home/dev/.npm/x",
        ] {
            for outcome in policy.explain_path(&world, Path::new("/"), path).outcomes {
                assert!(outcome.unattended != Verdict::Allow || outcome.syscall, "{path}: {outcome:?}");
            }
        }
    }
}
