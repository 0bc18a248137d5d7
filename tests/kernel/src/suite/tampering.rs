//! A guarded task leaves the guard alone; roles belong to binaries, not to names.

use std::{
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use blastradius::guard::kernel::Role;
use blastradius_common::Zone;

use crate::{
    Test,
    calls::{DONE, Outcome, REFUSED, outcome},
    world::{Machine, mark},
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "a guarded task cannot kill, trace or write into its supervisor", body: supervisor },
    Test { name: "a guarded task cannot open the guard's maps and programs", body: bpf_objects },
    Test { name: "a guarded task cannot unmount what holds the pins", body: unmount },
    Test {
        name: "a role goes with the binary, and not to what it executes unless it is passed on",
        body: roles,
    },
    Test { name: "a copy of a binary has no role", body: copies },
];

fn supervisor(machine: &Machine) {
    let world = machine.world("supervisor");
    let us = std::process::id() as libc::pid_t;
    let kill = |signal| {
        // SAFETY: no pointers.
        world.guarded(|| outcome(unsafe { libc::kill(us, signal) }.into()))
    };
    assert_eq!(kill(libc::SIGTERM), REFUSED);
    assert_eq!(kill(libc::SIGKILL), REFUSED);
    assert_eq!(kill(0), DONE, "asking whether it lives");
    // SAFETY: no pointers are followed.
    let traced = world.guarded(|| outcome(unsafe { libc::ptrace(libc::PTRACE_ATTACH, us, 0, 0) }));
    assert_eq!(traced, REFUSED);
    let memory = world.guarded(|| crate::calls::open(format!("/proc/{us}/mem"), libc::O_RDWR));
    assert_ne!(memory, DONE);
    let own_child = world.guarded(|| {
        let mut child = Command::new("sleep").arg("60").spawn().expect("started");
        child.kill().expect("its own child");
        child.wait().expect("ended");
        DONE
    });
    assert_eq!(own_child, DONE);
}

fn bpf_objects(machine: &Machine) {
    /// `BPF_OBJ_GET` (include/uapi/linux/bpf.h).
    const BPF_OBJ_GET: libc::c_long = 7;
    let world = machine.world("bpf-objects");
    let set = std::fs::read_dir("/sys/fs/bpf/blastradius")
        .expect("there")
        .next()
        .expect("a set")
        .expect("an entry");
    let get = |name: &str| {
        let path = format!("{}\0", set.path().join(name).display());
        let attribute = [path.as_ptr() as u64, 0];
        // SAFETY: an attribute of 16 bytes, and a live string in it.
        let fd = unsafe { libc::syscall(libc::SYS_bpf, BPF_OBJ_GET, attribute.as_ptr(), 16) };
        outcome(fd)
    };
    for name in ["OWN", "TASKS", "enrol"] {
        assert_eq!(get(name), DONE, "{name} by an outsider");
        assert_eq!(world.guarded(|| get(name)), REFUSED, "{name}");
    }
}

fn unmount(machine: &Machine) {
    let world = machine.world("unmount");
    let umount = |path: &'static std::ffi::CStr| {
        // SAFETY: a live string.
        world.guarded(|| outcome(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) }.into()))
    };
    assert_eq!(umount(c"/sys/fs/bpf"), REFUSED);
    assert_eq!(umount(c"/sys"), REFUSED);
    let own = world.guarded(|| {
        let target = format!("{}\0", world.path("scope/directory").display());
        let none = std::ptr::null();
        // SAFETY: live strings that end in a zero.
        unsafe {
            assert_eq!(libc::mount(c"none".as_ptr(), target.as_ptr().cast(), c"tmpfs".as_ptr(), 0, none), 0);
            outcome(libc::umount2(target.as_ptr().cast(), 0).into())
        }
    });
    assert_eq!(own, DONE);
}

/// Lays down busybox under a name of its own: another inode, which can have a role. Scripts run by it execute `rm` by path.
fn binary(root: &Path, name: &str) -> PathBuf {
    let path = root.join(name);
    std::fs::copy("/bin/busybox", &path).expect("busybox is in the guest");
    path
}

fn run(program: &Path, script: String) -> Outcome {
    let status =
        Command::new(program).arg0("sh").args(["-c", &script]).stderr(std::process::Stdio::null()).status();
    Outcome::from_errno(status.ok().and_then(|status| status.code()).unwrap_or(libc::EIO))
}

fn roles(machine: &Machine) {
    let world = machine.world_with("roles", |root, plan| {
        for (directory, zone) in [("history", Zone::History), ("system", Zone::System)] {
            std::fs::create_dir(root.join(directory)).expect("made");
            for file in ["a", "b", "c"] {
                std::fs::write(root.join(directory).join(file), "").expect("made");
            }
            plan.marks.push(mark(&root.join(directory), None, Some(zone), None));
        }
    });
    let git = binary(&world.root, "git");
    let packages = binary(&world.root, "dpkg");
    let plain = binary(&world.root, "plain");
    world.session.give_role(&git, Role::Git).expect("given");
    world.session.give_role(&packages, Role::Packages).expect("given");
    let remove = |by: &Path, what: &str| {
        let rm = format!("exec -a rm {} -f {}", by.display(), world.path(what).display());
        world.guarded(|| run(&plain, rm.clone()))
    };
    remove(&plain, "history/a");
    assert!(world.has("history/a"));
    assert_eq!(remove(&git, "history/a"), DONE);
    assert!(!world.has("history/a"));
    remove(&git, "system/a");
    assert!(world.has("system/a"));
    assert_eq!(remove(&packages, "system/a"), DONE);
    assert!(!world.has("system/a"));
    remove(&packages, "history/b");
    assert!(world.has("history/b"));
    // What they execute: git's may not, a package manager's may.
    let by_child = |parent: &Path, what: &str| {
        let rm = format!("exec -a rm {} -f {}", plain.display(), world.path(what).display());
        world.guarded(|| run(parent, rm.clone()))
    };
    by_child(&git, "history/c");
    assert!(world.has("history/c"));
    assert_eq!(by_child(&packages, "system/c"), DONE);
    assert!(!world.has("system/c"));
}

fn copies(machine: &Machine) {
    let world = machine.world_with("copies", |root, plan| {
        std::fs::create_dir(root.join("history")).expect("made");
        std::fs::write(root.join("history/a"), "").expect("made");
        plan.marks.push(mark(&root.join("history"), None, Some(Zone::History), None));
    });
    let git = binary(&world.root, "git");
    world.session.give_role(&git, Role::Git).expect("given");
    let copy = world.path("scope/git");
    std::fs::copy(&git, &copy).expect("copied");
    world.guarded(|| {
        run(&copy, format!("exec -a rm {} -f {}", copy.display(), world.path("history/a").display()))
    });
    assert!(world.has("history/a"));
}
