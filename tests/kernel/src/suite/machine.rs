//! The machine as a whole. Each call fails anyhow, after the question whether the caller may.

use blastradius_common::RuleId;

use crate::{
    Test,
    calls::{DONE, Outcome, REFUSED, ioctl, outcome},
    world::Machine,
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "the machine is not stopped, and no code is loaded into its kernel", body: power },
    Test { name: "a policy that permits it lets the machine be stopped", body: switched_off },
    Test { name: "in a user namespace of its own nothing of the machine is touched", body: elsewhere },
    Test { name: "a subvolume out of scope is not destroyed by request", body: subvolume },
    Test { name: "a file system is not shut down", body: shutdown },
];

/// reboot(2) with numbers that mean nothing.
fn reboot() -> Outcome {
    // SAFETY: no pointers.
    outcome(unsafe { libc::syscall(libc::SYS_reboot, 1, 2, 3, 0) })
}

/// kexec_load(2) with flags that mean nothing.
fn kexec() -> Outcome {
    // SAFETY: no segments.
    outcome(unsafe { libc::syscall(libc::SYS_kexec_load, 0, 0, 0, u64::MAX) })
}

/// delete_module(2) of one that is not there.
fn delete_module() -> Outcome {
    // SAFETY: a live string.
    outcome(unsafe { libc::syscall(libc::SYS_delete_module, c"no_such_module".as_ptr(), libc::O_NONBLOCK) })
}

/// init_module(2) with nothing.
fn init_module() -> Outcome {
    // SAFETY: no bytes, and a live string.
    outcome(unsafe { libc::syscall(libc::SYS_init_module, std::ptr::null::<u8>(), 0, c"".as_ptr()) })
}

/// An act with its name.
type Act = (&'static str, fn() -> Outcome);

const ACTS: [Act; 4] =
    [("reboot", reboot), ("kexec", kexec), ("delete_module", delete_module), ("init_module", init_module)];

fn power(machine: &Machine) {
    let world = machine.world("power");
    machine.refusals();
    for (name, act) in ACTS {
        let free = act();
        if free == Outcome::from_errno(libc::ENOSYS) || free == REFUSED {
            println!("        this kernel refuses or has no {name}");
            continue;
        }
        assert_eq!(world.guarded(act), REFUSED, "{name}");
        let rules: Vec<RuleId> = machine.refusals().into_iter().map(|refusal| refusal.rule).collect();
        let boots = matches!(name, "reboot" | "kexec");
        assert_eq!(rules, [if boots { RuleId::PowerState } else { RuleId::SystemConfiguration }], "{name}");
    }
}

fn switched_off(machine: &Machine) {
    let world = machine.world_with("power-off", |_, plan| plan.spares_power = true);
    for (name, act) in ACTS {
        assert_eq!(world.guarded(act), act(), "{name}");
    }
}

fn elsewhere(machine: &Machine) {
    let world = machine.world("power-elsewhere");
    machine.refusals();
    world.guarded(|| {
        crate::calls::unshare(libc::CLONE_NEWUSER);
        reboot()
    });
    // The kernel itself refuses there; what counts is that the guard has nothing to say about a capability of that
    // namespace. reboot(2) asks for one of the pid namespace's owner, which is still the machine.
    assert!(machine.refusals().len() <= 1);
}

/// `BTRFS_IOC_SNAP_DESTROY` of `name` in `directory`.
fn destroy(directory: &std::path::Path, name: &str) -> Outcome {
    let mut argument = [0u8; 4096];
    argument[8..8 + name.len()].copy_from_slice(name.as_bytes());
    ioctl(directory, 0x5000_940f, &mut argument)
}

/// `BTRFS_IOC_SUBVOL_CREATE` of `name` in `directory`.
fn create(directory: &std::path::Path, name: &str) -> Outcome {
    let mut argument = [0u8; 4096];
    argument[8..8 + name.len()].copy_from_slice(name.as_bytes());
    ioctl(directory, 0x5000_940e, &mut argument)
}

fn subvolume(machine: &Machine) {
    let world = machine.world("subvolume");
    let (kept, scope) = (world.path("kept"), world.path("scope"));
    let is_btrfs = create(&kept, "volume") == DONE && create(&scope, "volume") == DONE;
    if is_btrfs {
        std::fs::write(kept.join("volume/file"), "precious").expect("made");
    }
    assert_eq!(world.guarded(|| destroy(&kept, "volume")), REFUSED);
    assert_eq!(world.guarded(|| destroy(&world.path("home"), "docs")), REFUSED);
    let in_scope = world.guarded(|| destroy(&scope, "volume"));
    if is_btrfs {
        assert_eq!(in_scope, DONE);
        assert!(world.has("kept/volume/file") && !world.has("scope/volume"));
        assert_eq!(destroy(&kept, "volume"), DONE, "an outsider");
    } else {
        assert_ne!(in_scope, REFUSED, "another file system does not know the request");
    }
}

fn shutdown(machine: &Machine) {
    let world = machine.world("shutdown");
    // A number that no file system takes, in case that it gets there.
    let outcome = world.guarded(|| ioctl(world.path("scope"), 0x8004_587d, &mut 99u32.to_ne_bytes()));
    assert_eq!(outcome, REFUSED);
}
