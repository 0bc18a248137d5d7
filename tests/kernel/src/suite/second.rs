//! What the kernel removes on a task's behalf.

use blastradius_common::Zone;

use crate::{
    Test,
    calls::{DONE, Outcome, REFUSED, in_child, mkdir, mount, mount_with, outcome, umount, unlink},
    world::{Machine, World, mark},
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "an overlay does not empty a protected directory as its work directory", body: work },
    Test { name: "an overlay does not write to a protected directory", body: upper },
    Test { name: "an overlay over scope works", body: over_scope },
    Test { name: "an overlay over what the session made works anywhere", body: over_born },
    Test { name: "what is removed without a path is judged too", body: queue },
];

/// A world on one file system, with a directory for each part of an overlay.
fn world(machine: &Machine, name: &str) -> Option<World> {
    let world = machine.world_with(name, |root, plan| {
        for directory in ["layers", "layers/scope", "layers/kept", "layers/other"] {
            std::fs::create_dir(root.join(directory)).expect("made");
        }
        if mount("none", root.join("layers"), "tmpfs", 0) != DONE {
            return;
        }
        for directory in ["scope/low", "scope/up", "scope/work", "kept/work/deep", "kept/up", "scope/on"] {
            std::fs::create_dir_all(root.join("layers").join(directory)).expect("made");
        }
        for file in
            ["scope/low/file", "kept/work/file", "kept/work/deep/file", "kept/up/file", "scope/up/old"]
        {
            std::fs::write(root.join("layers").join(file), "precious\n").expect("made");
        }
        plan.marks.push(mark(&root.join("layers/scope"), Some(Zone::Root), Some(Zone::Scope), None));
        plan.marks.push(mark(&root.join("layers/kept"), Some(Zone::Floor), Some(Zone::Personal), None));
    });
    if !exists() {
        println!("        no overlayfs here");
        return None;
    }
    Some(world)
}

/// Whether there is an overlayfs: then the kernel looks at what it is asked for. It is a module, loaded by that question.
pub(super) fn exists() -> bool {
    mount("overlay", "/", "overlay", 0) != Outcome::from_errno(libc::ENODEV)
}

fn overlay(world: &World, upper: &str, work: &str) -> Outcome {
    let at = |part: &str| world.path("layers").join(part).display().to_string();
    let data = format!("lowerdir={},upperdir={},workdir={}", at("scope/low"), at(upper), at(work));
    mount_with("overlay", at("scope/on"), "overlay", 0, &data)
}

fn tidy(world: &World) {
    while umount(world.path("layers/scope/on")) == DONE {}
    umount(world.path("layers"));
}

fn work(machine: &Machine) {
    let Some(world) = world(machine, "overlay-work") else { return };
    // It may be mounted, read-only then: what counts is what is left.
    world.guarded(|| overlay(&world, "scope/up", "kept"));
    assert!(world.has("layers/kept/work/file") && world.has("layers/kept/work/deep/file"));
    while umount(world.path("layers/scope/on")) == DONE {}
    assert_eq!(in_child(|| overlay(&world, "scope/up", "kept")), DONE, "an outsider");
    assert!(!world.has("layers/kept/work/file"), "this is what the kernel does");
    tidy(&world);
}

fn upper(machine: &Machine) {
    let Some(world) = world(machine, "overlay-upper") else { return };
    let outcome = world.guarded(|| overlay(&world, "kept/up", "scope/work"));
    assert_eq!(outcome, REFUSED);
    assert!(world.has("layers/kept/up/file"));
    // Mounted by someone else, it is judged by what is removed below.
    assert_eq!(overlay(&world, "kept/up", "scope/work"), DONE);
    assert_eq!(world.guarded(|| unlink(world.path("layers/scope/on/file"))), REFUSED);
    assert!(world.has("layers/kept/up/file"));
    tidy(&world);
}

fn over_scope(machine: &Machine) {
    let Some(world) = world(machine, "overlay-scope") else { return };
    let outcome = world.guarded(|| {
        assert_eq!(overlay(&world, "scope/up", "scope/work"), DONE);
        let on = world.path("layers/scope/on");
        assert_eq!(crate::calls::create(on.join("new")), DONE);
        assert_eq!(unlink(on.join("new")), DONE);
        umount(&on)
    });
    assert_eq!(outcome, DONE);
    tidy(&world);
}

fn over_born(machine: &Machine) {
    let Some(world) = world(machine, "overlay-born") else { return };
    let outcome = world.guarded(|| {
        for directory in ["kept/mine", "kept/mine/up", "kept/mine/work"] {
            assert_eq!(mkdir(world.path("layers").join(directory)), DONE);
        }
        assert_eq!(overlay(&world, "kept/mine/up", "kept/mine/work"), DONE);
        let on = world.path("layers/scope/on");
        assert_eq!(crate::calls::create(on.join("new")), DONE);
        assert_eq!(unlink(on.join("new")), DONE);
        umount(&on)
    });
    assert_eq!(outcome, DONE);
    tidy(&world);
}

/// mq_unlink(3): the kernel removes a name by itself, and no `path_*` hook is told.
fn queue(machine: &Machine) {
    let name = c"/blastradius-test";
    // SAFETY: a live string, and no attributes.
    let made =
        unsafe { libc::mq_open(name.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600, std::ptr::null::<u8>()) };
    if made < 0 {
        println!("        no message queues here");
        return;
    }
    let remove = || {
        // Without the slash that the library takes away; it also has another word for EPERM.
        // SAFETY: a live string.
        outcome(unsafe { libc::syscall(libc::SYS_mq_unlink, name.as_ptr().add(1)) })
    };
    let world = machine.world_with("queue", |root, plan| {
        assert_eq!(mount("none", root.join("kept/directory"), "mqueue", 0), DONE);
        let queue = root.join("kept/directory/blastradius-test");
        plan.marks.push(mark(&queue, Some(Zone::Denied), None, None));
    });
    assert_eq!(world.guarded(remove), REFUSED);
    assert!(world.has("kept/directory/blastradius-test"));
    assert_eq!(in_child(remove), DONE, "an outsider");
    let own = world.guarded(|| {
        // SAFETY: as above.
        let made = unsafe {
            libc::mq_open(name.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600, std::ptr::null::<u8>())
        };
        assert!(made >= 0);
        remove()
    });
    assert_eq!(own, DONE);
    umount(world.path("kept/directory"));
}
