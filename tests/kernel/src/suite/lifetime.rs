//! Sessions begin, end, and outlive their supervisors.

use std::{
    io::{Read as _, Write as _},
    path::PathBuf,
    time::{Duration, Instant},
};

use blastradius::guard::kernel::Kernel;

use crate::{
    Test,
    calls::{
        DONE, Outcome, REFUSED, create, drop_caches, exit_with, in_child, mount, rmdir, unlink, unshare, wait,
    },
    world::{Machine, mark},
};
use blastradius::policy::plan::Plan;
use blastradius_common::Zone;

pub(crate) const TESTS: &[Test] = &[
    Test {
        name: "a session whose supervisor is killed stays guarded, and nobody else is",
        body: supervisor_killed,
    },
    Test { name: "what a dead supervisor left is reaped by the next start", body: reaped },
    Test {
        name: "a start with a /run of its own takes nothing from a session that shares its pins",
        body: apart,
    },
    Test { name: "tasks are forgotten when they end", body: forgotten },
    Test { name: "who comes after a guarded task is not taken for it", body: gate },
    Test { name: "a guarded task cannot take the pins away", body: pins },
];

pub(super) fn eventually(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn supervisor_killed(machine: &Machine) {
    let root = machine.directory("killed");
    for directory in ["scope/secret", "kept"] {
        std::fs::create_dir_all(root.join(directory)).expect("made");
    }
    for file in ["scope/file", "scope/other", "scope/secret/file", "kept/file", "kept/other", "kept/third"] {
        std::fs::write(root.join(file), "precious\n").expect("made");
    }
    let (mut ready, mut report_ready) = std::io::pipe().expect("a pipe");
    let (mut go, mut give_go) = std::io::pipe().expect("a pipe");
    // SAFETY: one thread.
    let supervisor = unsafe { libc::fork() };
    if supervisor == 0 {
        let mut kernel = Kernel::load().expect("loads");
        let mut plan = Plan::default();
        plan.marks.push(mark(&root.join("scope"), Some(Zone::Root), Some(Zone::Scope), None));
        plan.marks.push(mark(&root.join("scope/secret"), Some(Zone::Denied), Some(Zone::Denied), None));
        let session = kernel.start_session(&plan).expect("starts");
        session.arm_next_fork().expect("armed");
        // SAFETY: one thread.
        if unsafe { libc::fork() } == 0 {
            report_ready.write_all(b"r").expect("written");
            go.read_exact(&mut [0]).expect("told to go");
            let acts: [&dyn Fn() -> Outcome; 6] = [
                &|| unlink(root.join("scope/file")),
                &|| unlink(root.join("scope/secret/file")),
                &|| unlink(root.join("kept/file")),
                &|| in_child(|| unlink(root.join("kept/other"))),
                &|| create(root.join("kept/made")),
                &|| unlink(root.join("kept/made")),
            ];
            let answers: Vec<u8> = acts.iter().map(|act| act().errno() as u8).collect();
            report_ready.write_all(&answers).expect("written");
            exit_with(DONE);
        }
        std::thread::sleep(Duration::from_secs(60));
        exit_with(DONE);
    }
    drop((report_ready, go));
    ready.read_exact(&mut [0]).expect("the guarded task runs");
    // SAFETY: our own child.
    unsafe { libc::kill(supervisor, libc::SIGKILL) };
    wait(supervisor);
    drop_caches();
    assert_eq!(in_child(|| unlink(root.join("kept/third"))), DONE, "an outsider");
    give_go.write_all(b"g").expect("written");
    let mut answers = Vec::new();
    ready.read_to_end(&mut answers).expect("the guarded task answers");
    let answers: Vec<Outcome> = answers.into_iter().map(|errno| Outcome::from_errno(errno.into())).collect();
    assert_eq!(answers, [DONE, REFUSED, REFUSED, REFUSED, DONE, DONE]);
}

fn reaped(_: &Machine) {
    let sessions = || -> Vec<String> {
        let inside = |directory: PathBuf| std::fs::read_dir(directory).into_iter().flatten().flatten();
        let names = inside("/sys/fs/bpf/blastradius".into())
            .flat_map(|set| inside(set.path()))
            .filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.starts_with("session-")).collect()
    };
    // SAFETY: one thread.
    let supervisor = unsafe { libc::fork() };
    if supervisor == 0 {
        let mut kernel = Kernel::load().expect("loads");
        let session = kernel.start_session(&Plan::default()).expect("starts");
        std::mem::forget(session);
        // SAFETY: ourselves.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    wait(supervisor);
    let left = sessions();
    assert!(!left.is_empty());
    // A start makes a session of its own for its proof, so only those count that were there before.
    eventually("what was left is gone", || {
        drop(Kernel::load().expect("loads"));
        sessions().iter().all(|session| !left.contains(session))
    });
}

/// As two containers that share nothing but the file system of the pins.
fn apart(machine: &Machine) {
    let world = machine.world("apart");
    let number = world.session.id();
    let start = || {
        assert_eq!(unshare(libc::CLONE_NEWNS), DONE);
        assert_eq!(mount("none", "/", "", libc::MS_REC | libc::MS_PRIVATE), DONE);
        assert_eq!(mount("tmpfs", "/run", "tmpfs", 0), DONE);
        let mut kernel = Kernel::load().expect("loads");
        let session = kernel.start_session(&Plan::default()).expect("starts");
        assert_ne!(session.id(), number);
        drop((session, kernel));
        DONE
    };
    assert_eq!(in_child(start), DONE);
    assert_eq!(world.guarded(|| unlink(world.path("scope/denied/file"))), REFUSED);
    assert_eq!(world.guarded(|| unlink(world.path("scope/file"))), DONE);
}

fn forgotten(machine: &Machine) {
    let world = machine.world("forgotten");
    let child = world.spawn_guarded(|| {
        for _ in 0..50 {
            in_child(|| DONE);
        }
        std::thread::sleep(Duration::from_millis(200));
        DONE
    });
    assert!(world.session.live_tasks().expect("readable") >= 1);
    assert_eq!(wait(child), DONE);
    eventually("no task is left", || world.session.live_tasks().expect("readable") == 0);
}

/// What the programs keep outside of maps, as bpf(2) has it: the gate among others.
struct Data {
    map: i32,
    bytes: usize,
}

impl Data {
    fn open() -> Self {
        /// `BPF_MAP_GET_NEXT_ID`, `BPF_MAP_GET_FD_BY_ID` and `BPF_OBJ_GET_INFO_BY_FD` (include/uapi/linux/bpf.h).
        const NEXT: libc::c_long = 12;
        const OPEN: libc::c_long = 14;
        const INFO: libc::c_long = 15;
        let mut number = [0u32; 3];
        loop {
            assert_eq!(bpf(NEXT, &mut number), 0, "there is no such map");
            let mut opened = [number[1], 0, 0];
            let map = bpf(OPEN, &mut opened);
            // `struct bpf_map_info`: type, id, key, value, entries, flags, name.
            let mut info = [0u32; 10];
            let at = info.as_mut_ptr() as u64;
            let mut asked = [map as u32, size_of_val(&info) as u32, at as u32, (at >> 32) as u32];
            assert_eq!(bpf(INFO, &mut asked), 0);
            if info[6].to_ne_bytes() == *b".bss" {
                return Self { map, bytes: info[3] as usize };
            }
            // SAFETY: the descriptor that was just opened.
            unsafe { libc::close(map) };
            number[0] = number[1];
        }
    }

    fn read(&self) -> Vec<u8> {
        /// `BPF_MAP_LOOKUP_ELEM` (include/uapi/linux/bpf.h).
        const LOOK_UP: libc::c_long = 1;
        let (key, mut value) = (0u32, vec![0u8; self.bytes]);
        let mut attribute = [self.map as u64, &raw const key as u64, value.as_mut_ptr() as u64, 0];
        assert_eq!(bpf(LOOK_UP, &mut attribute), 0);
        value
    }
}

fn bpf<T, const N: usize>(command: libc::c_long, attribute: &mut [T; N]) -> i32 {
    // SAFETY: a live attribute of the size given, whose pointers are to what is as large as the command says.
    unsafe { libc::syscall(libc::SYS_bpf, command, attribute.as_mut_ptr(), size_of::<[T; N]>()) as i32 }
}

fn gate(machine: &Machine) {
    let world = machine.world("gate");
    let data = Data::open();
    let still = || {
        let read = data.read();
        std::thread::sleep(Duration::from_millis(200));
        (data.read() == read).then_some(read)
    };
    eventually("those of other tests have gone", || still().is_some());
    let before = data.read();
    let (mut go, mut give_go) = std::io::pipe().expect("a pipe");
    let child = world.spawn_guarded(|| {
        let told = go.read_exact(&mut [0]);
        for _ in 0..50 {
            in_child(|| DONE);
        }
        if told.is_ok() { DONE } else { REFUSED }
    });
    assert_ne!(data.read(), before, "a guarded task is known");
    give_go.write_all(b"g").expect("written");
    assert_eq!(wait(child), DONE);
    eventually("nobody is known", || data.read() == before);
}

fn pins(machine: &Machine) {
    let world = machine.world("pins");
    let sets = std::fs::read_dir("/sys/fs/bpf/blastradius").expect("there");
    for set in sets {
        for pin in std::fs::read_dir(set.expect("an entry").path()).expect("a directory") {
            let pin = pin.expect("an entry").path();
            let remove = || if pin.is_dir() { rmdir(&pin) } else { unlink(&pin) };
            assert_eq!(world.guarded(remove), REFUSED, "{}", pin.display());
        }
    }
}
