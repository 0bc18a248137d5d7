//! Modes, owners and flags: of one object, and of a tree.

use std::path::Path;

use blastradius_common::{RuleId, Zone};

use crate::{
    Test,
    calls::{DONE, Outcome, REFUSED, chmod, chown, create, in_child, ioctl, mkdir},
    world::{Machine, World, mark},
};

pub(crate) const TESTS: &[Test] = &[
    Test {
        name: "mode and owner of a floor object and of a denied file stay, of others may change",
        body: metadata,
    },
    Test { name: "flags of a denied file stay, of others may change", body: flags },
    Test { name: "single objects of the system may change mode", body: single },
    Test { name: "a tree of the system does not change mode from the top down", body: downwards },
    Test { name: "a tree of the system does not change owner from the bottom up", body: upwards },
    Test { name: "a tree of the system does not change mode by a program for each object", body: one_by_one },
];

fn metadata(machine: &Machine) {
    let world = machine.world("metadata");
    for kept in ["home", "scope/denied", "scope/denied/file"] {
        assert_eq!(world.guarded(|| chmod(world.path(kept), 0o777)), REFUSED, "{kept}");
        let owner = world.guarded(|| chown(world.path(kept)));
        assert_eq!(owner, if machine.judges_owners() { REFUSED } else { DONE }, "{kept}");
    }
    for free in ["scope", "scope/file", "kept/file", "home/.bashrc"] {
        assert_eq!(world.guarded(|| chmod(world.path(free), 0o700)), DONE, "{free}");
        assert_eq!(world.guarded(|| chown(world.path(free))), DONE, "{free}");
    }
}

/// Adds `FS_NODUMP_FL` to what `FS_IOC_GETFLAGS` says, by `FS_IOC_SETFLAGS`; file systems without flags say ENOTTY when
/// they are asked. Without the others ext4 would be asked to store the file another way, which it may not do at that time.
fn set_flags(path: impl AsRef<Path>) -> Outcome {
    let path = path.as_ref();
    let mut flags = 0u64.to_ne_bytes();
    ioctl(path, 0x8008_6601, &mut flags);
    ioctl(path, 0x4008_6602, &mut (u64::from_ne_bytes(flags) | 0x40).to_ne_bytes())
}

fn flags(machine: &Machine) {
    let world = machine.world("flags");
    let without = set_flags(world.path("scope/other"));
    assert_eq!(world.guarded(|| set_flags(world.path("scope/denied/file"))), REFUSED);
    assert_eq!(world.guarded(|| set_flags(world.path("scope/file"))), without);
}

/// A world with a tree of the system: three directories of ten files.
fn system(machine: &Machine, name: &str) -> World {
    machine.world_with(name, |root, plan| {
        for directory in ["lib", "lib/a", "lib/b"] {
            let directory = root.join("system").join(directory);
            std::fs::create_dir_all(&directory).expect("made");
            for file in 0..10 {
                std::fs::write(directory.join(file.to_string()), "").expect("made");
            }
        }
        plan.marks.push(mark(&root.join("system"), Some(Zone::Floor), Some(Zone::System), None));
    })
}

fn single(machine: &Machine) {
    let world = system(machine, "single");
    let outcome = world.guarded(|| {
        assert_eq!(chmod(world.path("system/lib/1"), 0o600), DONE);
        assert_eq!(chmod(world.path("system/lib/a/1"), 0o600), DONE);
        assert_eq!(chmod(world.path("system/lib/b"), 0o700), DONE);
        assert_eq!(mkdir(world.path("system/made")), DONE);
        for file in 0..40 {
            let file = world.path(&format!("system/made/{file}"));
            assert_eq!(create(&file), DONE);
            assert_eq!(chmod(&file, 0o600), DONE, "its own");
        }
        DONE
    });
    assert_eq!(outcome, DONE);
}

/// What `tree` of the world has a mode other than the one it was made with.
fn changed(world: &World, tree: &str) -> usize {
    use std::os::unix::fs::PermissionsExt as _;
    let entries = std::fs::read_dir(world.path(tree)).expect("there").map(|entry| entry.expect("an entry"));
    entries.filter(|entry| entry.metadata().expect("there").permissions().mode() & 0o777 == 0o222).count()
}

fn downwards(machine: &Machine) {
    let world = system(machine, "downwards");
    machine.refusals();
    world.guarded(|| {
        chmod(world.path("system"), 0o222);
        for directory in ["lib", "lib/a", "lib/b"] {
            let directory = world.path("system").join(directory);
            chmod(&directory, 0o222);
            for file in 0..10 {
                chmod(directory.join(file.to_string()), 0o222);
            }
        }
        DONE
    });
    let rules: Vec<RuleId> = machine.refusals().into_iter().map(|refusal| refusal.rule).collect();
    assert_eq!(rules[..2], [RuleId::FloorPath, RuleId::RecursiveMetadata]);
    assert_eq!(rules.len(), 34, "each is refused");
    let trees = ["system", "system/lib", "system/lib/a", "system/lib/b"];
    assert_eq!(trees.map(|tree| changed(&world, tree)), [0; 4]);
}

fn upwards(machine: &Machine) {
    let world = system(machine, "upwards");
    let change = |path: &Path| if machine.judges_owners() { chown(path) } else { chmod(path, 0o222) };
    let outcome = world.guarded(|| {
        for file in 0..8 {
            assert_eq!(change(&world.path(&format!("system/lib/a/{file}"))), DONE);
        }
        assert_eq!(change(&world.path("system/lib/a/8")), REFUSED);
        assert_eq!(change(&world.path("system/lib/a")), REFUSED);
        assert_eq!(change(&world.path("scope/file")), DONE, "elsewhere it goes on");
        change(&world.path("system/lib"))
    });
    assert_eq!(outcome, REFUSED);
}

fn one_by_one(machine: &Machine) {
    let world = system(machine, "one-by-one");
    let outcome = world.guarded(|| {
        let outcomes: Vec<Outcome> = (0..40usize)
            .map(|n| {
                let file = world.path(&format!("system/lib/{}/{}", ["a", "b"][n % 2], n / 2 % 10));
                in_child(|| chmod(&file, 0o222))
            })
            .collect();
        assert_eq!(outcomes[..32], [DONE; 32]);
        assert_eq!(outcomes[32..], [REFUSED; 8]);
        in_child(|| chmod(world.path("scope/file"), 0o600))
    });
    assert_eq!(outcome, DONE);
}
