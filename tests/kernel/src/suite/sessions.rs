//! Many sessions, many tasks, and every way to make one.

use std::{
    io::{Read as _, Write as _},
    path::PathBuf,
};

use blastradius_common::Zone;

use crate::{
    Test,
    calls::{DONE, Outcome, REFUSED, in_child, mkdir, mount, outcome, umount, unlink, wait},
    world::{Machine, World, mark},
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "sixteen sessions with policies of their own at once", body: sixteen },
    Test { name: "a full table refuses the fork, and only to the guarded", body: full_table },
    Test { name: "thousands of live tasks are guarded, and forgotten when they end", body: thousands },
    Test { name: "a storm of forks leaves nobody out", body: storm },
    Test { name: "vfork, clone into a cgroup, and new namespaces are guarded", body: kinds_of_forks },
    Test { name: "a program that sets the user id is guarded", body: set_user_id },
    Test { name: "a traced child is guarded", body: traced },
];

fn sixteen(machine: &Machine) {
    let root = machine.directory("sixteen");
    for n in 0..16 {
        std::fs::create_dir(root.join(n.to_string())).expect("made");
        for file in 0..=16 {
            std::fs::write(root.join(format!("{n}/{file}")), "").expect("made");
        }
    }
    // Each may remove in its own directory, and denies one file of it.
    let sessions: Vec<_> = (0..16)
        .map(|n| {
            machine.session_with(|plan| {
                let own = root.join(n.to_string());
                plan.marks.push(mark(&own, Some(Zone::Root), Some(Zone::Scope), None));
                plan.marks.push(mark(&own.join("0"), Some(Zone::Denied), None, None));
            })
        })
        .collect();
    let children: Vec<_> = sessions
        .iter()
        .enumerate()
        .map(|(n, session)| {
            let root = &root;
            crate::world::spawn_in(session, move || {
                for other in 0..16 {
                    let outcome = unlink(root.join(format!("{other}/{}", n + 1)));
                    assert_eq!(outcome, if other == n { DONE } else { REFUSED }, "{n} in {other}");
                }
                unlink(root.join(format!("{n}/0")))
            })
        })
        .collect();
    assert_eq!(children.into_iter().map(wait).collect::<Vec<_>>(), [REFUSED; 16]);
}

/// `BPF_MAP_UPDATE_ELEM` and `BPF_MAP_DELETE_ELEM` (include/uapi/linux/bpf.h).
const INSERT: libc::c_long = 2;
const REMOVE: libc::c_long = 3;

/// The machine's table of tasks, as bpf(2) has it.
struct Tasks(i32);

impl Tasks {
    fn open() -> Self {
        let set = std::fs::read_dir("/sys/fs/bpf/blastradius").expect("there").next().expect("a set");
        let path = format!("{}\0", set.expect("an entry").path().join("TASKS").display());
        let attribute = [path.as_ptr() as u64, 0];
        // SAFETY: BPF_OBJ_GET with an attribute of 16 bytes, and a live string in it.
        Self(unsafe { libc::syscall(libc::SYS_bpf, 7, attribute.as_ptr(), 16) } as i32)
    }

    fn change(&self, command: libc::c_long, task: u64) -> Outcome {
        // Of a session that there is not.
        let value = [u64::from(u32::MAX), 0, 0, 0];
        let value = if command == INSERT { value.as_ptr() as u64 } else { 0 };
        let attribute = [self.0 as u64, &raw const task as u64, value, 0];
        // SAFETY: an attribute of 32 bytes, a live key of 8 and a live value of 32.
        outcome(unsafe { libc::syscall(libc::SYS_bpf, command, attribute.as_ptr(), 32) })
    }
}

fn full_table(machine: &Machine) {
    let world = machine.world("full-table");
    let tasks = Tasks::open();
    // No address of a task: those are even.
    let strangers = |n: u64| 2 * n + 1;
    let (mut ready, mut report_ready) = std::io::pipe().expect("a pipe");
    let (mut go, mut give_go) = std::io::pipe().expect("a pipe");
    let child = world.spawn_guarded(|| {
        report_ready.write_all(b"r").expect("written");
        go.read_exact(&mut [0]).expect("told");
        let refused = in_child(|| DONE);
        report_ready.write_all(b"r").expect("written");
        go.read_exact(&mut [0]).expect("told");
        assert_eq!(in_child(|| unlink(world.path("kept/file"))), REFUSED, "when there is room again");
        refused
    });
    ready.read_exact(&mut [0]).expect("it runs");
    let mut filled = 0;
    while tasks.change(INSERT, strangers(filled)) == DONE {
        filled += 1;
    }
    give_go.write_all(b"g").expect("written");
    let answered = ready.read_exact(&mut [0]);
    let outsider = in_child(|| DONE);
    // First of all: nothing guarded can fork before.
    let removed = (0..filled).filter(|n| tasks.change(REMOVE, strangers(*n)) == DONE).count();
    assert_eq!(removed as u64, filled);
    assert!(filled > 60_000, "{filled}");
    answered.expect("it was refused, and goes on");
    assert_eq!(outsider, DONE, "an outsider forks");
    give_go.write_all(b"g").expect("written");
    assert_eq!(wait(child), Outcome::from_errno(libc::EAGAIN));
}

/// As many as are asked for, or as the guest's memory allows.
fn as_many_as(wanted: usize) -> usize {
    let info = std::fs::read_to_string("/proc/meminfo").expect("readable");
    let available =
        info.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next());
    let kibibytes: usize = available.and_then(|number| number.parse().ok()).expect("a number");
    // A thread takes about 48 KiB: its stack in the kernel, its own, and what describes them.
    wanted.min(kibibytes / 64)
}

fn thousands(machine: &Machine) {
    let world = machine.world("thousands");
    let count = as_many_as(20_000);
    let _ = std::fs::write("/proc/sys/kernel/threads-max", "60000");
    let _ = std::fs::write("/proc/sys/kernel/pid_max", "65536");
    // Four for each thread: its stack, that of its signals, and what guards them.
    let _ = std::fs::write("/proc/sys/vm/max_map_count", "262144");
    let (mut ready, mut report_ready) = std::io::pipe().expect("a pipe");
    let (mut go, mut give_go) = std::io::pipe().expect("a pipe");
    let child = world.spawn_guarded(|| {
        // Threads that wait for the end of a pipe are all let go at once, and contend for nothing that one of them holds.
        let (gate, open) = std::io::pipe().expect("a pipe");
        let gate = std::sync::Arc::new(gate);
        let threads: Vec<_> = (0..count)
            .map_while(|_| {
                let gate = std::sync::Arc::clone(&gate);
                let body = move || (&*gate).read(&mut [0]).expect("it ends");
                std::thread::Builder::new().stack_size(16 * 1024).spawn(body).ok()
            })
            .collect();
        report_ready.write_all(&(threads.len() as u64).to_ne_bytes()).expect("written");
        go.read_exact(&mut [0]).expect("told");
        let kept = world.path("kept/file");
        let last = std::thread::spawn(move || unlink(kept)).join().expect("it ends");
        drop(open);
        for thread in threads {
            thread.join().expect("it ends");
        }
        last
    });
    let mut number = [0; 8];
    ready.read_exact(&mut number).expect("they run");
    let made = u64::from_ne_bytes(number) as usize;
    let live = world.session.live_tasks().expect("readable");
    println!("        {live} live tasks at once ({count} wanted)");
    assert!(live >= made && made > 1000, "{live} of {made}");
    give_go.write_all(b"g").expect("written");
    assert_eq!(wait(child), REFUSED);
    super::lifetime::eventually("all are forgotten", || world.session.live_tasks().expect("readable") == 0);
}

fn storm(machine: &Machine) {
    let world = machine.world("storm");
    let outcome = world.guarded(|| {
        for _ in 0..20 {
            let children: Vec<_> = (0..40)
                .map(|_| {
                    // SAFETY: one thread.
                    match unsafe { libc::fork() } {
                        0 => crate::calls::run_and_exit(|| in_child(|| unlink(world.path("kept/file")))),
                        child => child,
                    }
                })
                .collect();
            for child in children {
                assert_eq!(wait(child), REFUSED);
            }
        }
        DONE
    });
    assert_eq!(outcome, DONE);
    assert!(world.has("kept/file"));
}

/// clone3(2) with these flags; `cgroup` with CLONE_INTO_CGROUP. The child runs `act`.
fn clone3(flags: u64, cgroup: Option<i32>, act: impl FnOnce() -> Outcome) -> Outcome {
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    let mut arguments = [0u64; 11];
    arguments[0] = flags | if cgroup.is_some() { INTO_CGROUP } else { 0 };
    arguments[4] = libc::SIGCHLD as u64;
    arguments[10] = cgroup.unwrap_or(0) as u64;
    // SAFETY: a live `struct clone_args` of 88 bytes; without CLONE_VM the child goes on with a copy of everything.
    match unsafe { libc::syscall(libc::SYS_clone3, arguments.as_ptr(), size_of_val(&arguments)) } {
        0 => crate::calls::run_and_exit(act),
        -1 => outcome(-1),
        child => wait(child as libc::pid_t),
    }
}

fn kinds_of_forks(machine: &Machine) {
    let world = machine.world("kinds-of-forks");
    let kept = || unlink(world.path("kept/file"));
    let cgroups = machine.directory("cgroups");
    let has_cgroups = mount("none", &cgroups, "cgroup2", 0) == DONE && mkdir(cgroups.join("inner")) == DONE;
    let outcome = world.guarded(|| {
        assert_eq!(clone3(0, None, kept), REFUSED);
        assert_eq!(clone3(libc::CLONE_NEWPID as u64, None, kept), REFUSED);
        assert_eq!(clone3((libc::CLONE_NEWNS | libc::CLONE_NEWIPC) as u64, None, kept), REFUSED);
        if has_cgroups {
            let inner = crate::calls::open_fd(cgroups.join("inner"), libc::O_RDONLY).expect("open");
            assert_eq!(clone3(0, Some(inner), kept), REFUSED);
        }
        // posix_spawn(3) of the standard library: vfork(2) inside.
        let status = std::process::Command::new("rm").arg("-f").arg(world.path("kept/file")).status();
        assert!(!status.expect("it runs").success());
        kept()
    });
    assert_eq!(outcome, REFUSED);
    assert!(world.has("kept/file"));
    let _ = std::fs::remove_dir(cgroups.join("inner"));
    umount(&cgroups);
}

fn set_user_id(machine: &Machine) {
    use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};
    let world = machine.world("set-user-id");
    // This program: busybox gives up rights that its applets do not need.
    let program: PathBuf = world.path("program");
    std::fs::copy("/proc/self/exe", &program).expect("copied");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).expect("its own");
    for directory in world.path("scope").ancestors() {
        let _ = std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755));
    }
    let remove = |target: &str| {
        let target = world.path(target);
        world.guarded(|| {
            let mut command = std::process::Command::new(&program);
            command.args(["act", "unlink"]).arg(&target).stderr(std::process::Stdio::null());
            let status = command.uid(65_534).gid(65_534).status().expect("it runs");
            Outcome::from_errno(status.code().unwrap_or(libc::EIO))
        })
    };
    assert_ne!(remove("kept/file"), DONE);
    assert!(world.has("kept/file"));
    assert_eq!(remove("scope/file"), DONE, "with the rights of root");
    assert!(!world.has("scope/file"));
}

fn traced(machine: &Machine) {
    let world: World = machine.world("traced");
    let outcome = world.guarded(|| {
        // SAFETY: one thread.
        let child = unsafe { libc::fork() };
        if child == 0 {
            crate::calls::run_and_exit(|| {
                // SAFETY: no pointers are followed.
                unsafe {
                    libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                    libc::raise(libc::SIGSTOP);
                }
                unlink(world.path("kept/file"))
            });
        }
        let mut status = 0;
        // SAFETY: a live integer, and no pointers are followed.
        unsafe {
            libc::waitpid(child, &raw mut status, 0);
            libc::ptrace(libc::PTRACE_CONT, child, 0, 0);
        }
        wait(child)
    });
    assert_eq!(outcome, REFUSED);
    assert!(world.has("kept/file"));
}
