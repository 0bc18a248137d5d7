//! The zone table, cell by cell: every zone, every operation, every layer.

use std::path::Path;

use blastradius_common::{Operation, Verdict, Zone};

use super::compile::tests::planned;
use super::effect::Act;
use super::mode::Mode;
use super::{Policy, Start};
use crate::shell::world::Platform;
use crate::shell::world::memory::MemoryWorld;

/// What the syscall layer says of remove, move out, truncate, replace, metadata of one object, metadata of a tree.
type Words = [bool; 6];

const NO: bool = false;
const YES: bool = true;

/// The table as the documentation states it.
const SYSCALLS: &[(Zone, Words)] = &[
    (Zone::Floor, [NO, NO, NO, NO, NO, NO]),
    (Zone::Root, [NO, NO, YES, YES, YES, NO]),
    (Zone::History, [NO, NO, NO, NO, NO, NO]),
    (Zone::Own, [NO, NO, NO, NO, NO, NO]),
    (Zone::Denied, [NO, NO, NO, NO, NO, NO]),
    (Zone::Scope, [YES, YES, YES, YES, YES, YES]),
    (Zone::Born, [YES, YES, YES, YES, YES, YES]),
    (Zone::State, [YES, YES, YES, YES, YES, YES]),
    (Zone::Config, [NO, NO, YES, YES, YES, NO]),
    (Zone::Personal, [NO, NO, NO, NO, YES, NO]),
    (Zone::System, [NO, NO, NO, NO, YES, NO]),
    (Zone::Other, [NO, NO, NO, NO, YES, NO]),
];

use Verdict::{Allow, Confirm, Deny};

/// An object of each zone that has objects before a session begins, and what the text layer says where a human answers:
/// of remove, move, truncate, replace.
const TEXTS: &[(Zone, &str, [Verdict; 4])] = &[
    (Zone::Floor, "/home/dev", [Deny, Deny, Deny, Deny]),
    (Zone::Root, "/home/dev/p", [Confirm, Confirm, Allow, Allow]),
    (Zone::History, "/home/dev/p/.git/refs/heads/main", [Confirm, Confirm, Confirm, Confirm]),
    (Zone::Own, "/home/dev/.local/state/blastradius/log", [Deny, Deny, Deny, Deny]),
    (Zone::Denied, "/home/dev/p/secrets/key", [Deny, Deny, Deny, Deny]),
    (Zone::Scope, "/home/dev/p/build/a.o", [Allow, Allow, Allow, Allow]),
    (Zone::State, "/home/dev/.npm/x", [Allow, Allow, Allow, Allow]),
    (Zone::Config, "/home/dev/.toolrc", [Confirm, Confirm, Confirm, Allow]),
    (Zone::Personal, "/home/dev/Documents/letter", [Confirm, Confirm, Confirm, Confirm]),
    (Zone::System, "/etc/tool/conf", [Confirm, Confirm, Confirm, Confirm]),
    (Zone::Other, "/srv/data/x", [Confirm, Confirm, Confirm, Confirm]),
];

fn world() -> MemoryWorld {
    let world = MemoryWorld::new(Platform::Linux)
        .account("dev", "/home/dev")
        .env("HOME", "/home/dev")
        .env("PATH", "/usr/bin")
        .file("/usr/bin/npm", "")
        .dir("/tmp")
        .work_tree("/home/dev/p")
        .file("/home/dev/p/.blastradius", "deny ./secrets")
        .cwd("/home/dev/p");
    let files =
        TEXTS.iter().map(|(_, path, _)| *path).filter(|path| *path != "/home/dev" && *path != "/home/dev/p");
    files.fold(world, |world, path| world.file(path, "precious\n"))
}

#[test]
fn the_syscall_layers_words_are_those_of_the_documentation() {
    assert_eq!(SYSCALLS.len(), Zone::ALL.len());
    for (zone, words) in SYSCALLS {
        for (operation, word) in Operation::ALL.into_iter().zip(words) {
            assert_eq!(zone.permits(operation), *word, "{} {}", operation.name(), zone.name());
            // The kernel side asks a mask.
            let asked = operation.permitting() & (1 << *zone as u32) != 0;
            assert_eq!(asked, *word, "{} {} in the kernel's mask", operation.name(), zone.name());
        }
    }
}

#[test]
fn the_text_layers_words_are_those_of_the_documentation() {
    let world = world();
    let policy = Policy::load(&world, Start::default());
    assert_eq!(TEXTS.len(), Zone::ALL.len() - 1, "nothing is born before a session");
    for (zone, path, verdicts) in TEXTS {
        let path = Path::new(path);
        assert_eq!(policy.zone(&world, path).zone, *zone, "{}", path.display());
        let acts = [
            (Act::Remove { recursive: false }, Operation::Remove),
            (Act::Move, Operation::MoveOut),
            (Act::Truncate, Operation::Truncate),
            (Act::Replace, Operation::Replace),
        ];
        for ((act, operation), expected) in acts.into_iter().zip(verdicts) {
            let told = format!("{} {} ({})", operation.name(), path.display(), zone.name());
            let asked = policy.outcome(&world, path, act, Mode::Interactive);
            let alone = policy.outcome(&world, path, act, Mode::Unattended);
            assert_eq!(asked, *expected, "{told}");
            // Where nobody answers, a question is a refusal.
            assert_eq!(alone, if *expected == Confirm { Deny } else { *expected }, "{told}, unattended");
            assert!(alone != Allow || zone.permits(operation), "{told}: text allows what the kernel refuses");
        }
    }
}

#[test]
fn the_marks_of_the_plan_say_the_same_of_every_zone() {
    let world = world();
    let plan = Policy::load(&world, Start::default()).plan(&world);
    for (zone, path, _) in TEXTS {
        assert_eq!(planned(&plan, Path::new(path)), *zone, "{path}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn landlocks_rules_give_of_every_zone_what_the_table_permits_or_say_that_they_do_not() {
    use crate::guard::landlock::compile::compile;
    use crate::guard::landlock::rights::Rights;
    use crate::guard::landlock::unenforced::Unenforced;
    let world = world();
    let plan = Policy::load(&world, Start::default()).plan(&world);
    let compiled = compile(&plan, &world);
    let gap = |path: &Path| {
        compiled.unenforced.iter().any(|gap| match gap {
            Unenforced::History { places }
            | Unenforced::ConfigRemoval { places }
            | Unenforced::OwnFiles { places }
            | Unenforced::NestedRoots { places } => places.iter().any(|place| path.starts_with(place)),
            _ => false,
        })
    };
    for (zone, path, _) in TEXTS {
        let path = Path::new(path);
        let held = compiled.rights_in(path.parent().expect("not the root")) | compiled.rights_in(path);
        let removable =
            compiled.rights_in(path.parent().expect("not the root")).contains(Rights::REMOVE_FILE);
        let may = |operation| zone.permits(operation) || gap(path);
        assert!(!removable || may(Operation::Remove), "{} can be removed", path.display());
        assert!(
            !held.contains(Rights::TRUNCATE) || may(Operation::Truncate),
            "{} can be cut",
            path.display()
        );
        // And the other way round: what the table permits is not taken away.
        if matches!(zone, Zone::Scope | Zone::State) {
            let kept = compiled.rights_in(path.parent().expect("not the root"));
            let siblings = compiled.unenforced.iter().any(
                |gap| matches!(gap, Unenforced::Siblings { directory, .. } if path.parent() == Some(directory)),
            );
            assert!(kept == Rights::DESTROY || siblings, "{} cannot be destroyed: {kept:?}", path.display());
        }
    }
}
