//! Truncation by any road, and links that would give rights.

use crate::{
    Test,
    calls::{DONE, Outcome, REFUSED, create, ftruncate, link, open, outcome, truncate, unlink},
    world::Machine,
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "nothing out of scope is truncated by truncate, ftruncate or O_TRUNC", body: truncation },
    Test { name: "a dotfile of a home may be rewritten in place", body: rewriting },
    Test { name: "proc, sysfs, cgroups and devices can be written with O_TRUNC", body: pseudo_files },
    Test { name: "a block device is not opened for writing", body: block_device },
    Test { name: "memory without a name can be truncated", body: memory },
    Test { name: "a link does not take a file into scope", body: links },
];

fn truncation(machine: &Machine) {
    let world = machine.world("truncation");
    let roads: [fn(&std::path::Path) -> Outcome; 4] = [
        |path| truncate(path),
        |path| ftruncate(path),
        |path| open(path, libc::O_WRONLY | libc::O_TRUNC),
        |path| open(path, libc::O_WRONLY | libc::O_TRUNC | libc::O_CREAT),
    ];
    for road in roads {
        for kept in ["kept/file", "home/docs/letter", "scope/denied/file"] {
            assert_eq!(world.guarded(|| road(&world.path(kept))), REFUSED, "{kept}");
            assert_eq!(std::fs::read(world.path(kept)).expect("there"), b"precious\n");
        }
        std::fs::write(world.path("scope/file"), "rubbish").expect("made");
        assert_eq!(world.guarded(|| road(&world.path("scope/file"))), DONE);
        assert_eq!(std::fs::read(world.path("scope/file")).expect("there"), b"");
    }
    let born = world.guarded(|| {
        assert_eq!(create(world.path("kept/mine")), DONE);
        truncate(world.path("kept/mine"))
    });
    assert_eq!(born, DONE);
}

fn rewriting(machine: &Machine) {
    let world = machine.world("rewriting");
    assert_eq!(world.guarded(|| open(world.path("home/.bashrc"), libc::O_WRONLY | libc::O_TRUNC)), DONE);
}

fn pseudo_files(machine: &Machine) {
    let world = machine.world("pseudo");
    let rewrite = |path: &str| world.guarded(|| open(path, libc::O_WRONLY | libc::O_TRUNC));
    assert_eq!(rewrite("/proc/self/oom_score_adj"), DONE);
    assert_eq!(rewrite("/dev/null"), DONE);
    assert_eq!(rewrite("/sys/kernel/profiling"), DONE);
    if std::path::Path::new("/sys/fs/cgroup/cgroup.procs").exists() {
        assert_eq!(rewrite("/sys/fs/cgroup/cgroup.procs"), DONE);
    }
}

fn block_device(machine: &Machine) {
    let world = machine.world("block-device");
    let device = world.path("scope/disk");
    let path = format!("{}\0", device.display());
    // SAFETY: a live string that ends in a zero.
    let made = outcome(
        unsafe { libc::mknod(path.as_ptr().cast(), libc::S_IFBLK | 0o600, libc::makedev(7, 0)) }.into(),
    );
    assert_eq!(made, DONE);
    machine.refusals();
    // Without the loop module the device has no driver: then the open fails before anyone is asked.
    let no_driver = [libc::ENXIO, libc::ENODEV].map(Outcome::from_errno);
    let reading = world.guarded(|| open(&device, libc::O_RDONLY));
    if no_driver.contains(&reading) {
        println!("        no driver for the device");
        return;
    }
    assert_eq!(reading, DONE);
    assert_eq!(world.guarded(|| open(&device, libc::O_RDWR)), REFUSED);
    let rules: Vec<_> = machine.refusals().into_iter().map(|refusal| refusal.rule).collect();
    assert_eq!(rules, [blastradius_common::RuleId::BlockDevice]);
}

fn memory(machine: &Machine) {
    let world = machine.world("memory");
    let truncated = world.guarded(|| {
        // SAFETY: a live string.
        let fd = unsafe { libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC) };
        assert!(fd >= 0);
        // SAFETY: our own descriptor.
        unsafe { outcome(libc::ftruncate(fd, 4096).into()) }
    });
    assert_eq!(truncated, DONE);
}

fn links(machine: &Machine) {
    let world = machine.world("linked-in");
    assert_eq!(world.guarded(|| link(world.path("kept/file"), world.path("scope/linked"))), REFUSED);
    assert_eq!(world.guarded(|| link(world.path("home/docs/letter"), world.path("home/.letter"))), REFUSED);
    assert!(!world.has("scope/linked"));
    let own = world.guarded(|| {
        assert_eq!(create(world.path("kept/mine")), DONE);
        assert_eq!(link(world.path("kept/mine"), world.path("scope/mine")), DONE);
        assert_eq!(link(world.path("scope/file"), world.path("scope/again")), DONE);
        assert_eq!(link(world.path("kept/file"), world.path("kept/again")), DONE);
        unlink(world.path("kept/again"))
    });
    assert_eq!(own, DONE);
}
