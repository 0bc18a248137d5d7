//! unlink, rmdir and their forms, by every kind of descendant.

use crate::{
    Test,
    calls::{DONE, Outcome, REFUSED, chdir, in_child, rmdir, unlink, unlinkat},
    uring::{self, Executor},
    world::{Machine, World},
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "what lies out of scope survives unlink, unlinkat and rmdir", body: out_of_scope_survives },
    Test { name: "what lies in scope can be removed", body: in_scope_can_be_removed },
    Test { name: "the scope root itself cannot be removed", body: scope_root_stays },
    Test { name: "a denied place inside scope survives", body: denied_inside_scope_survives },
    Test { name: "a grandchild is guarded", body: grandchild },
    Test { name: "a double-forked setsid daemon is guarded", body: daemon },
    Test { name: "a thread is guarded", body: thread },
    Test { name: "an exec is guarded", body: exec },
    Test { name: "an io_uring unlinkat is guarded, inline, in a worker and by the poller", body: io_uring },
    Test { name: "who is not in a session is not affected", body: outsider },
    Test { name: "only the armed fork is guarded", body: only_the_armed_fork },
];

fn out_of_scope_survives(machine: &Machine) {
    let world = machine.world("out-of-scope");
    let refused = |act: &dyn Fn() -> Outcome| assert_eq!(world.guarded(act), REFUSED);
    refused(&|| unlink(world.path("kept/file")));
    refused(&|| unlinkat(world.path("kept"), "file", 0));
    refused(&|| {
        chdir(world.path("kept"));
        unlink("file")
    });
    refused(&|| rmdir(world.path("kept/directory")));
    refused(&|| unlinkat(world.path("kept"), "directory", libc::AT_REMOVEDIR));
    refused(&|| unlink(world.path("home/.bashrc")));
    refused(&|| unlink(world.path("home/docs/letter")));
    for survivor in ["kept/file", "kept/directory", "home/.bashrc", "home/docs/letter"] {
        assert!(world.has(survivor), "{survivor} is gone");
    }
}

fn in_scope_can_be_removed(machine: &Machine) {
    let world = machine.world("in-scope");
    assert_eq!(world.guarded(|| unlink(world.path("scope/file"))), DONE);
    assert_eq!(world.guarded(|| unlinkat(world.path("scope"), "other", 0)), DONE);
    assert_eq!(world.guarded(|| rmdir(world.path("scope/directory"))), DONE);
    assert!(!world.has("scope/file") && !world.has("scope/other") && !world.has("scope/directory"));
}

fn scope_root_stays(machine: &Machine) {
    let world = machine.world("scope-root");
    let emptied = world.path("scope");
    std::fs::remove_dir_all(&emptied).expect("emptied from outside");
    std::fs::create_dir(&emptied).expect("made anew");
    assert_eq!(world.guarded(|| rmdir(&emptied)), REFUSED, "a new directory of that name has no mark");
    let world = machine.world("scope-root");
    std::fs::remove_dir_all(world.path("scope/denied")).expect("removed from outside");
    for entry in ["file", "other"] {
        assert_eq!(world.guarded(|| unlink(world.path("scope").join(entry))), DONE);
    }
    assert_eq!(world.guarded(|| rmdir(world.path("scope/directory"))), DONE);
    assert_eq!(world.guarded(|| rmdir(world.path("scope"))), REFUSED);
    assert!(world.has("scope"));
}

fn denied_inside_scope_survives(machine: &Machine) {
    let world = machine.world("denied");
    assert_eq!(world.guarded(|| unlink(world.path("scope/denied/file"))), REFUSED);
    assert_eq!(world.guarded(|| rmdir(world.path("scope/denied"))), REFUSED);
    assert!(world.has("scope/denied/file"));
}

/// Both outcomes of one way to run something: out of scope refused, in scope done.
fn both(world: &World, run: impl Fn(&dyn Fn() -> Outcome) -> Outcome) {
    assert_eq!(world.guarded(|| run(&|| unlink(world.path("kept/file")))), REFUSED);
    assert!(world.has("kept/file"));
    assert_eq!(world.guarded(|| run(&|| unlink(world.path("scope/file")))), DONE);
    assert!(!world.has("scope/file"));
}

fn grandchild(machine: &Machine) {
    both(&machine.world("grandchild"), |act| in_child(|| in_child(act)));
}

fn daemon(machine: &Machine) {
    let world = machine.world("daemon");
    both(&world, |act| {
        let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
        in_child(|| {
            // SAFETY: no arguments.
            unsafe { libc::setsid() };
            // SAFETY: one thread.
            if unsafe { libc::fork() } == 0 {
                // The parent is gone before this acts.
                std::thread::sleep(std::time::Duration::from_millis(50));
                let outcome = act();
                let _ = std::io::Write::write_all(&mut writer, &outcome.errno().to_ne_bytes());
                crate::calls::exit_with(DONE);
            }
            DONE
        });
        drop(writer);
        let mut answer = [0; 4];
        std::io::Read::read_exact(&mut reader, &mut answer).expect("the daemon answers");
        Outcome::from_errno(i32::from_ne_bytes(answer))
    });
}

fn thread(machine: &Machine) {
    let world = machine.world("thread");
    for (target, expected) in [("kept/file", REFUSED), ("scope/file", DONE)] {
        let target = world.path(target);
        let outcome = world.guarded(|| std::thread::spawn(move || unlink(target)).join().expect("it ends"));
        assert_eq!(outcome, expected);
    }
    assert!(world.has("kept/file") && !world.has("scope/file"));
}

fn exec(machine: &Machine) {
    let world = machine.world("exec");
    let rm = |target: &str| {
        let target = world.path(target);
        world.guarded(|| {
            let status = std::process::Command::new("rm").arg("-f").arg(&target).status();
            Outcome::from_errno(status.ok().and_then(|status| status.code()).unwrap_or(libc::EIO))
        })
    };
    assert_ne!(rm("kept/file"), DONE);
    assert_eq!(rm("scope/file"), DONE);
    assert!(world.has("kept/file") && !world.has("scope/file"));
}

fn io_uring(machine: &Machine) {
    let world = machine.world("uring");
    for executor in [Executor::Inline, Executor::Worker, Executor::Poller] {
        std::fs::write(world.path("scope/file"), "").expect("made");
        let run = |target: &str| {
            let target = world.path(target);
            world.guarded(|| uring::unlink(&target, executor).unwrap_or(Outcome::from_errno(libc::ENOSYS)))
        };
        let kept = run("kept/file");
        if kept == Outcome::from_errno(libc::ENOSYS) {
            println!("        io_uring {executor:?}: this kernel has no such request");
            continue;
        }
        assert_eq!(kept, REFUSED, "{executor:?}");
        assert!(world.has("kept/file"));
        assert_eq!(run("scope/file"), DONE, "{executor:?}");
        assert!(!world.has("scope/file"));
    }
}

fn outsider(machine: &Machine) {
    let world = machine.world("outsider");
    let guarded = world.spawn_guarded(|| {
        std::thread::sleep(std::time::Duration::from_millis(300));
        DONE
    });
    assert_eq!(in_child(|| unlink(world.path("kept/file"))), DONE);
    assert_eq!(in_child(|| rmdir(world.path("kept/directory"))), DONE);
    assert_eq!(crate::calls::wait(guarded), DONE);
}

fn only_the_armed_fork(machine: &Machine) {
    let world = machine.world("armed");
    assert_eq!(world.guarded(|| unlink(world.path("kept/file"))), REFUSED);
    assert_eq!(in_child(|| unlink(world.path("kept/file"))), DONE, "the second fork");
    assert_eq!(unlink(world.path("kept/other")), DONE, "the supervisor itself");
    world.session.arm_next_fork().expect("armed");
    world.session.disarm().expect("disarmed");
    assert_eq!(in_child(|| rmdir(world.path("kept/directory"))), DONE, "a disarmed fork");
}
