//! However a process names an object, it stays what it is.

use std::{
    ffi::CString,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    Test,
    calls::{
        DONE, Outcome, REFUSED, attach, bind, chdir, chroot, clone_tree, create, link, mkdir, mount, open_fd,
        outcome, rename, rmdir, symlink, truncate, umount, unlink, unlinkat, unshare,
    },
    world::{Machine, World},
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "protected through a bind alias", body: bind_alias },
    Test {
        name: "protected in another mount namespace, with a user namespace and without",
        body: namespaces,
    },
    Test { name: "protected in a changed root", body: changed_root },
    Test { name: "protected in a mount that is attached nowhere", body: detached_mount },
    Test { name: "protected through /proc/self/root and /proc/self/cwd", body: proc_root },
    Test { name: "protected through a descriptor of another process", body: descriptors },
    Test { name: "protected while a link is swapped under its path", body: swapped_link },
    Test { name: "protected when an outsider renames a directory above", body: renamed_ancestor },
    Test { name: "names of 255 bytes are judged as any other", body: long_names },
    Test { name: "a second name that was there before does not give up the object", body: second_name },
    Test { name: "the copy that an overlay makes does not make a file born", body: copied_up },
];

/// Removal through `alias`, which shows the world's root: the protected stays, what is in scope goes.
fn both(world: &World, alias: &Path) -> Outcome {
    assert_eq!(unlink(alias.join("kept/file")), REFUSED);
    assert_eq!(unlink(alias.join("home/docs/letter")), REFUSED);
    assert_eq!(unlink(alias.join("scope/denied/file")), REFUSED);
    assert_eq!(rmdir(alias.join("kept/directory")), REFUSED);
    assert_eq!(truncate(alias.join("kept/file")), REFUSED);
    assert_eq!(rename(alias.join("kept/file"), alias.join("scope/stolen")), REFUSED);
    let _ = world;
    unlink(alias.join("scope/file"))
}

fn survives(world: &World) {
    for kept in ["kept/file", "kept/directory", "home/docs/letter", "scope/denied/file"] {
        assert!(world.has(kept), "{kept}");
    }
    assert!(!world.has("scope/file"));
}

fn bind_alias(machine: &Machine) {
    let world = machine.world("bind-alias");
    let alias = machine.directory("alias");
    assert_eq!(bind(&world.root, &alias), DONE);
    assert_eq!(world.guarded(|| both(&world, &alias)), DONE);
    survives(&world);
    umount(&alias);
}

fn namespaces(machine: &Machine) {
    for what in [libc::CLONE_NEWNS, libc::CLONE_NEWUSER | libc::CLONE_NEWNS] {
        let world = machine.world("namespaces");
        let outcome = world.guarded(|| {
            let entered = unshare(what);
            if entered != DONE {
                println!("        no such namespace here: {entered:?}");
                return unlink(world.path("scope/file"));
            }
            assert_eq!(mount("none", "/", "", libc::MS_REC | libc::MS_PRIVATE), DONE);
            let alias = world.path("scope/directory");
            assert_eq!(mount(&world.root, &alias, "", libc::MS_BIND | libc::MS_REC), DONE);
            both(&world, &alias)
        });
        assert_eq!(outcome, DONE);
        survives(&world);
    }
}

fn changed_root(machine: &Machine) {
    let world = machine.world("changed-root");
    let outcome = world.guarded(|| {
        assert_eq!(chroot(&world.root), DONE);
        both(&world, Path::new("/"))
    });
    assert_eq!(outcome, DONE);
    survives(&world);
}

fn detached_mount(machine: &Machine) {
    let world = machine.world("detached");
    let outcome = world.guarded(|| {
        let tree = match clone_tree(&world.root) {
            Ok(tree) => tree,
            Err(failed) => return failed,
        };
        both(&world, &PathBuf::from(format!("/proc/self/fd/{tree}")))
    });
    assert_eq!(outcome, DONE);
    survives(&world);
    let attached = world.guarded(|| {
        let tree = clone_tree(&world.root).expect("cloned");
        assert_eq!(attach(tree, world.path("scope/directory")), DONE);
        unlink(world.path("scope/directory/kept/file"))
    });
    assert_eq!(attached, REFUSED);
    umount(world.path("scope/directory"));
}

fn proc_root(machine: &Machine) {
    let world = machine.world("proc-root");
    let outcome = world.guarded(|| {
        let through = Path::new("/proc/self/root").join(world.root.strip_prefix("/").expect("absolute"));
        assert_eq!(both(&world, &through), DONE);
        assert_eq!(chdir(&world.root), DONE);
        unlink("/proc/self/cwd/kept/file")
    });
    assert_eq!(outcome, REFUSED);
    survives(&world);
}

fn descriptors(machine: &Machine) {
    let world = machine.world("descriptors");
    let directory = open_fd(&world.root, libc::O_RDONLY | libc::O_DIRECTORY).expect("open");
    let ours = format!("/proc/{}/fd/{directory}", std::process::id());
    assert_eq!(world.guarded(|| both(&world, Path::new(&ours))), DONE);
    survives(&world);
    let relative = world.guarded(|| unlinkat(world.path("kept"), "file", 0));
    assert_eq!(relative, REFUSED);
}

fn swapped_link(machine: &Machine) {
    let world = machine.world("swapped");
    let (trap, spare) = (world.path("scope/trap"), world.path("scope/spare"));
    std::fs::create_dir(world.path("scope/bait")).expect("made");
    std::fs::write(world.path("kept/target"), "precious").expect("made");
    let c = |path: &Path| CString::new(path.as_os_str().as_bytes()).expect("no zero");
    let outcome = world.guarded(|| {
        assert_eq!(symlink(world.path("scope/bait"), &trap), DONE);
        assert_eq!(symlink(world.path("kept"), &spare), DONE);
        let (a, b) = (c(&trap), c(&spare));
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let swaps = std::sync::Arc::clone(&stop);
        let swapper = std::thread::spawn(move || {
            let mut count = 0u32;
            while !swaps.load(Ordering::Relaxed) {
                let here = libc::AT_FDCWD;
                // SAFETY: live strings.
                unsafe {
                    libc::syscall(
                        libc::SYS_renameat2,
                        here,
                        a.as_ptr(),
                        here,
                        b.as_ptr(),
                        libc::RENAME_EXCHANGE,
                    )
                };
                count += 1;
            }
            count
        });
        for _ in 0..500 {
            // Seen in scope, hit out of scope, if only the path counted.
            create(world.path("scope/bait/target"));
            unlink(trap.join("target"));
        }
        stop.store(true, Ordering::Relaxed);
        assert!(swapper.join().expect("it ends") > 0);
        DONE
    });
    assert_eq!(outcome, DONE);
    assert_eq!(std::fs::read(world.path("kept/target")).expect("it survives"), b"precious");
}

fn renamed_ancestor(machine: &Machine) {
    let world = machine.world("ancestor");
    std::fs::rename(world.path("home"), world.path("moved")).expect("by an outsider");
    assert_eq!(world.guarded(|| unlink(world.path("moved/docs/letter"))), REFUSED);
    assert_eq!(world.guarded(|| rmdir(world.path("moved/.config"))), REFUSED);
    std::fs::rename(world.path("scope"), world.path("kept/scope")).expect("by an outsider");
    assert_eq!(world.guarded(|| unlink(world.path("kept/scope/denied/file"))), REFUSED);
    assert_eq!(world.guarded(|| unlink(world.path("kept/scope/file"))), DONE);
    // Nor does the session itself move what is above.
    assert_eq!(world.guarded(|| rename(world.path("kept"), world.path("renamed"))), REFUSED);
}

fn long_names(machine: &Machine) {
    let world = machine.world("long-names");
    let name = "n".repeat(255);
    for place in ["kept", "scope"] {
        let directory = world.path(place).join(&name);
        std::fs::create_dir(&directory).expect("made");
        std::fs::write(directory.join(&name), "").expect("made");
    }
    machine.refusals();
    let outcome = world.guarded(|| {
        assert_eq!(unlink(world.path("kept").join(&name).join(&name)), REFUSED);
        assert_eq!(rmdir(world.path("kept").join(&name)), REFUSED);
        assert_eq!(unlink(world.path("scope").join(&name).join(&name)), DONE);
        rmdir(world.path("scope").join(&name))
    });
    assert_eq!(outcome, DONE);
    let reported = machine.refusals().into_iter().map(|refusal| refusal.path).next();
    assert_eq!(reported, Some(world.path("kept").join(&name).join(&name)));
}

fn second_name(machine: &Machine) {
    let world = machine.world("second-name");
    assert_eq!(link(world.path("scope/denied/file"), world.path("scope/known-as")), DONE);
    std::fs::write(world.path("kept/linked"), "precious").expect("made");
    let outcome = world.guarded(|| {
        assert_eq!(link(world.path("kept/linked"), world.path("scope/mine")), REFUSED);
        assert_eq!(link(world.path("scope/file"), world.path("scope/second")), DONE);
        assert_eq!(truncate(world.path("scope/second")), DONE, "all its names lie in scope");
        assert_eq!(unlink(world.path("scope/second")), DONE);
        assert_eq!(mkdir(world.path("kept/mine")), DONE);
        assert_eq!(link(world.path("kept/linked"), world.path("kept/mine/name")), DONE);
        assert_eq!(truncate(world.path("kept/mine/name")), REFUSED, "not what was there before");
        assert_eq!(unlink(world.path("kept/mine/name")), DONE, "the name is its own");
        rmdir(world.path("kept/mine"))
    });
    assert_eq!(outcome, DONE);
    assert_eq!(std::fs::read(world.path("kept/linked")).expect("there"), b"precious");
}

fn copied_up(machine: &Machine) {
    if !super::second::exists() {
        println!("        no overlayfs here");
        return;
    }
    let layers = machine.directory("copied-up");
    assert_eq!(mount("none", &layers, "tmpfs", 0), DONE);
    for directory in ["low", "up", "work", "on"] {
        std::fs::create_dir(layers.join(directory)).expect("made");
    }
    std::fs::write(layers.join("low/file"), "precious\n").expect("made");
    let data = format!("lowerdir={0}/low,upperdir={0}/up,workdir={0}/work", layers.display());
    let on = layers.join("on");
    assert_eq!(crate::calls::mount_with("overlay", &on, "overlay", 0, &data), DONE);
    let session = machine.session_with(|_| {});
    let child = crate::world::spawn_in(&session, || {
        let fd = open_fd(on.join("file"), libc::O_WRONLY | libc::O_APPEND).expect("open");
        // SAFETY: a live byte and our own descriptor.
        assert_eq!(outcome(unsafe { libc::write(fd, b"x".as_ptr().cast(), 1) } as i64), DONE);
        unlink(on.join("file"))
    });
    assert_eq!(crate::calls::wait(child), REFUSED);
    umount(&on);
    umount(&layers);
}
