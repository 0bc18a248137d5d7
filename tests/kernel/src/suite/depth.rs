//! Trees deeper than anyone looks.

use std::path::Path;

use crate::{
    Test,
    calls::{DONE, Outcome, REFUSED, chdir, create, mkdir, rmdir, unlink},
    world::Machine,
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "200 directories deep, what is protected stays and what is in scope goes", body: deep },
    Test { name: "300 directories deep, what is in scope and what is born goes", body: deeper },
    Test { name: "beyond the last step everything is refused", body: too_deep },
    Test { name: "a path longer than PATH_MAX is judged as any other", body: longer_than_path_max },
];

/// Makes `levels` directories named `name` below `top`, one inside the other, and a file in the last; stays there.
fn descend(top: &Path, name: &str, levels: usize) -> Outcome {
    assert_eq!(chdir(top), DONE);
    for _ in 0..levels {
        assert_eq!(mkdir(name), DONE);
        assert_eq!(chdir(name), DONE);
    }
    create("file")
}

/// Removes what [`descend`] made, from the last level upwards.
fn ascend(name: &str, levels: usize) -> Outcome {
    assert_eq!(unlink("file"), DONE);
    for level in 0..levels {
        assert_eq!(chdir(".."), DONE);
        assert_eq!(rmdir(name), DONE, "{level} levels above the last");
    }
    DONE
}

/// Descends again where a tree exists.
fn enter(top: &Path, name: &str, levels: usize) {
    assert_eq!(chdir(top), DONE);
    for _ in 0..levels {
        assert_eq!(chdir(name), DONE);
    }
}

fn judged_at(machine: &Machine, world: &str, name: &str, levels: usize) {
    let world = machine.world(world);
    let make = |top: &str| crate::calls::in_child(|| descend(&world.path(top), name, levels));
    assert_eq!(make("kept"), DONE);
    assert_eq!(make("scope"), DONE);
    let kept = world.guarded(|| {
        enter(&world.path("kept"), name, levels);
        assert_eq!(unlink("file"), REFUSED);
        assert_eq!(chdir(".."), DONE);
        rmdir(name)
    });
    assert_eq!(kept, REFUSED);
    let scope = world.guarded(|| {
        enter(&world.path("scope"), name, levels);
        ascend(name, levels)
    });
    assert_eq!(scope, DONE);
    assert_eq!(
        crate::calls::in_child(|| {
            enter(&world.path("kept"), name, levels);
            ascend(name, levels)
        }),
        DONE
    );
}

fn deep(machine: &Machine) {
    judged_at(machine, "deep", "d", 200);
}

fn deeper(machine: &Machine) {
    let world = machine.world("deeper");
    for top in ["kept", "scope"] {
        let made = world.guarded(|| {
            assert_eq!(descend(&world.path(top), "d", 300), DONE);
            ascend("d", 300)
        });
        assert_eq!(made, DONE, "{top}");
    }
}

fn too_deep(machine: &Machine) {
    let world = machine.world("too-deep");
    assert_eq!(crate::calls::in_child(|| descend(&world.path("scope"), "d", 330)), DONE);
    // What nobody has read yet may fill the ring.
    machine.refusals();
    let outcome = world.guarded(|| {
        enter(&world.path("scope"), "d", 330);
        unlink("file")
    });
    assert_eq!(outcome, REFUSED);
    let said = machine.refusals();
    assert!(said.iter().any(|refusal| refusal.unreadable && refusal.truncated), "{said:?}");
    assert_eq!(
        crate::calls::in_child(|| {
            enter(&world.path("scope"), "d", 330);
            ascend("d", 330)
        }),
        DONE
    );
}

fn longer_than_path_max(machine: &Machine) {
    // 20 names of 250 bytes: 5 KB, and PATH_MAX is 4096.
    judged_at(machine, "long", &"n".repeat(250), 20);
}
