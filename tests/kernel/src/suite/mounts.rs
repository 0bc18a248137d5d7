//! Mounts: nothing protected is covered, detached or remounted where the session started; in namespaces of its own a
//! session mounts as it likes.

use std::path::Path;

use blastradius_common::Zone;

use crate::{
    Test,
    calls::{
        DONE, Outcome, REFUSED, attach, bind, chroot, clone_tree, create, in_child, mkdir, mount, move_mount,
        pivot_root, rmdir, umount, unlink, unshare,
    },
    world::{Machine, World, mark},
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "nothing is mounted over what is protected", body: cover },
    Test { name: "a mount is not moved over what is protected, nor away from it", body: moving },
    Test { name: "what is protected is not unmounted, what the session mounted is", body: detach },
    Test { name: "a protected file system is not remounted, and keeps its place", body: remount },
    Test { name: "the root of everybody's namespace is not changed", body: pivot },
    Test { name: "in a namespace of its own a session mounts as it likes", body: own_namespace },
    Test { name: "a namespace whose mounts propagate is not its own", body: shared },
    Test { name: "a bind of a home below scope does not make the home removable", body: bound_home },
    Test { name: "a file system mounted below scope during the session is not emptied", body: later },
];

const PRIVATE: u64 = libc::MS_REC | libc::MS_PRIVATE;

fn tmpfs(target: impl AsRef<Path>) -> Outcome {
    mount("none", target, "tmpfs", 0)
}

/// A world with a file system at `home/docs` and one at `other`, each with a file.
fn world(machine: &Machine, name: &str) -> World {
    machine.world_with(name, |root, plan| {
        for place in ["home/docs", "other"] {
            let place = root.join(place);
            std::fs::create_dir_all(&place).expect("made");
            assert_eq!(tmpfs(&place), DONE);
            std::fs::write(place.join("file"), "precious\n").expect("made");
        }
        plan.marks.push(mark(&root.join("home/docs"), Some(Zone::Floor), Some(Zone::Personal), None));
    })
}

fn tidy(world: &World) {
    for place in ["home/docs", "other", "scope/directory", "home", "scope/away"] {
        while umount(world.path(place)) == DONE {}
    }
}

fn cover(machine: &Machine) {
    let world = world(machine, "cover");
    for kept in ["home", "home/.config", "home/docs", "scope", "scope/denied"] {
        assert_eq!(world.guarded(|| tmpfs(world.path(kept))), REFUSED, "{kept}");
        assert_eq!(
            world.guarded(|| bind(world.path("scope/directory"), world.path(kept))),
            REFUSED,
            "{kept}"
        );
    }
    assert!(world.has("home/docs/file") && world.has("scope/denied/file"));
    for free in ["scope/directory", "kept/directory"] {
        assert_eq!(world.guarded(|| tmpfs(world.path(free))), DONE, "{free}");
        assert_eq!(world.guarded(|| umount(world.path(free))), DONE, "{free}");
    }
    let born = world.guarded(|| {
        assert_eq!(mkdir(world.path("home/made")), DONE);
        assert_eq!(tmpfs(world.path("home/made")), DONE);
        umount(world.path("home/made"))
    });
    assert_eq!(born, DONE, "a place of its own");
    tidy(&world);
}

fn moving(machine: &Machine) {
    let world = world(machine, "moving");
    let detached = |target: &str| {
        let tree = clone_tree(world.path("scope/directory"))?;
        Ok::<Outcome, Outcome>(attach(tree, world.path(target)))
    };
    let run =
        |act: &dyn Fn() -> Result<Outcome, Outcome>| world.guarded(|| act().unwrap_or_else(|failed| failed));
    assert_eq!(run(&|| detached("home")), REFUSED);
    assert_eq!(run(&|| detached("scope/denied")), REFUSED);
    assert_eq!(run(&|| detached("kept/directory")), DONE);
    assert_eq!(umount(world.path("kept/directory")), DONE);
    let away = world.guarded(|| move_mount(world.path("home/docs"), world.path("scope/directory")));
    assert_eq!(away, REFUSED);
    let away =
        world.guarded(|| mount(world.path("home/docs"), world.path("scope/directory"), "", libc::MS_MOVE));
    assert_eq!(away, REFUSED);
    let over = world.guarded(|| {
        assert_eq!(tmpfs(world.path("scope/directory")), DONE);
        assert_eq!(move_mount(world.path("scope/directory"), world.path("home")), REFUSED);
        assert_eq!(mkdir(world.path("scope/away")), DONE);
        assert_eq!(move_mount(world.path("scope/directory"), world.path("scope/away")), DONE);
        umount(world.path("scope/away"))
    });
    assert_eq!(over, DONE);
    assert!(world.has("home/docs/file"));
    tidy(&world);
}

fn detach(machine: &Machine) {
    let world = world(machine, "detach");
    assert_eq!(world.guarded(|| umount(world.path("home/docs"))), REFUSED);
    assert!(world.has("home/docs/file"));
    let own = world.guarded(|| {
        assert_eq!(bind(world.path("home"), world.path("scope/directory")), DONE);
        umount(world.path("scope/directory"))
    });
    assert_eq!(own, DONE, "a bind of a home, made and unmade in scope");
    assert_eq!(world.guarded(|| umount(world.path("other"))), DONE, "what nobody marked");
    tidy(&world);
}

fn remount(machine: &Machine) {
    let world = world(machine, "remount");
    let read_only = |place: &str, flags| {
        let place = world.path(place);
        world.guarded(|| mount("none", &place, "", libc::MS_REMOUNT | libc::MS_RDONLY | flags))
    };
    assert_eq!(read_only("home/docs", 0), REFUSED);
    assert_eq!(read_only("home/docs", libc::MS_BIND), REFUSED);
    assert_eq!(create(world.path("home/docs/writable")), DONE);
    assert_eq!(read_only("other", 0), DONE);
    assert_eq!(
        world.guarded(|| mount("none", world.path("home/docs"), "", PRIVATE)),
        DONE,
        "propagation only"
    );
    tidy(&world);
}

fn pivot(machine: &Machine) {
    let world = machine.world("pivot");
    let outcome = world.guarded(|| {
        assert_eq!(tmpfs(world.path("scope/directory")), DONE);
        assert_eq!(mkdir(world.path("scope/directory/old")), DONE);
        pivot_root(world.path("scope/directory"), world.path("scope/directory/old"))
    });
    assert_eq!(outcome, REFUSED);
    tidy(&world);
}

/// A namespace of its own, as sandboxes make it; `user` with a user namespace too.
fn enter(user: bool) -> Outcome {
    let what = if user { libc::CLONE_NEWUSER | libc::CLONE_NEWNS } else { libc::CLONE_NEWNS };
    match unshare(what) {
        DONE => {}
        refused => return refused,
    }
    if user {
        // Who has no number there can make nothing.
        // Groups only for who gives up setgroups(2) there.
        for (file, word) in [("uid_map", "0 0 1"), ("setgroups", "deny"), ("gid_map", "0 0 1")] {
            let path = format!("/proc/self/{file}");
            let mut map = std::fs::OpenOptions::new().write(true).open(path).expect("our own");
            std::io::Write::write_all(&mut map, word.as_bytes()).expect("root may map itself");
        }
    }
    mount("none", "/", "", PRIVATE)
}

fn own_namespace(machine: &Machine) {
    let world = world(machine, "own-namespace");
    for user in [false, true] {
        let outcome = world.guarded(|| {
            let entered = enter(user);
            if user && entered != DONE {
                println!("        no user namespace here: {entered:?}");
                return DONE;
            }
            assert_eq!(entered, DONE);
            assert_eq!(tmpfs(world.path("home")), DONE, "a sandbox hides homes");
            assert_eq!(umount(world.path("home")), DONE);
            assert_eq!(tmpfs(world.path("scope/directory")), DONE);
            let new = world.path("scope/directory");
            for directory in ["root", "root/old", "root/home"] {
                assert_eq!(mkdir(new.join(directory)), DONE);
            }
            assert_eq!(mount(new.join("root"), new.join("root"), "", libc::MS_BIND | libc::MS_REC), DONE);
            let home = mount(world.path("home"), new.join("root/home"), "", libc::MS_BIND | libc::MS_REC);
            assert_eq!(home, DONE);
            // The guest's root is one that cannot be pivoted away from, but a changed one can.
            assert_eq!(chroot(&new), DONE);
            assert_eq!(pivot_root("/root", "/root/old"), DONE);
            assert_eq!(crate::calls::chdir("/"), DONE);
            // What is protected is so in there too.
            assert_eq!(unlink("/home/docs/file"), REFUSED);
            assert_eq!(unlink("/home/.bashrc"), REFUSED);
            umount("/old")
        });
        assert_eq!(outcome, DONE, "user namespace: {user}");
        assert!(world.has("home/docs/file") && world.has("home/.bashrc"));
    }
    tidy(&world);
}

fn shared(machine: &Machine) {
    let world = world(machine, "shared");
    // As systemd has it.
    assert_eq!(bind(world.path("home"), world.path("home")), DONE);
    assert_eq!(mount("none", world.path("home"), "", libc::MS_SHARED), DONE);
    assert_eq!(tmpfs(world.path("home/docs")), DONE);
    let session = machine.session_with(|plan| {
        plan.marks.push(mark(&world.path("home"), Some(Zone::Floor), Some(Zone::Personal), None));
    });
    let outcome = crate::calls::wait(crate::world::spawn_in(&session, || {
        assert_eq!(unshare(libc::CLONE_NEWNS), DONE);
        assert_eq!(umount(world.path("home/docs")), REFUSED, "it would go everywhere");
        assert_eq!(tmpfs(world.path("home/.config")), REFUSED, "it would come everywhere");
        assert_eq!(mount("none", "/", "", PRIVATE), DONE);
        umount(world.path("home/docs"))
    }));
    assert_eq!(outcome, DONE);
    assert_eq!(umount(world.path("home/docs")), DONE, "it is still there");
    tidy(&world);
}

fn bound_home(machine: &Machine) {
    let world = machine.world("bound-home");
    let outcome = world.guarded(|| {
        assert_eq!(bind(world.path("home"), world.path("scope/directory")), DONE);
        assert_eq!(unlink(world.path("scope/directory/docs/letter")), REFUSED);
        assert_eq!(unlink(world.path("scope/directory/.bashrc")), REFUSED);
        assert_eq!(rmdir(world.path("scope/directory/.config")), REFUSED);
        rmdir(world.path("scope/directory"))
    });
    assert_ne!(outcome, DONE);
    assert!(world.has("home/docs/letter") && world.has("home/.bashrc"));
    tidy(&world);
}

fn later(machine: &Machine) {
    let world = machine.world("later");
    assert_eq!(tmpfs(world.path("scope/directory")), DONE, "by a human, after the session's start");
    assert_eq!(create(world.path("scope/directory/backup")), DONE);
    assert_eq!(world.guarded(|| unlink(world.path("scope/directory/backup"))), REFUSED);
    let own = world.guarded(|| {
        assert_eq!(create(world.path("scope/directory/mine")), DONE);
        unlink(world.path("scope/directory/mine"))
    });
    assert_eq!(own, DONE);
    assert_eq!(in_child(|| unlink(world.path("scope/directory/backup"))), DONE, "an outsider");
    tidy(&world);
}
