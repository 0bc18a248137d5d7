//! The soak: guarded workers at full speed, while mounts come and go and memory is scarce.
//!
//! Nothing protected is lost, each refusal is counted, and each is either reported or counted as dropped. What the kernel's
//! log says meanwhile is for the runner of the guest to judge.

use std::{
    io::Read as _,
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use crate::{
    calls::{
        DONE, Outcome, REFUSED, create, drop_caches, mkdir, mount, rename, rmdir, truncate, umount, unlink,
        wait,
    },
    world::Machine,
};

/// Guarded workers.
const WORKERS: usize = 8;
/// How long, unless said otherwise.
const SECONDS: u64 = 600;

/// Runs for `seconds`.
pub(crate) fn run(seconds: Option<u64>) -> ExitCode {
    let machine = match Machine::start() {
        Ok(machine) => machine,
        Err(error) => {
            eprintln!("the kernel rung is not to be had here: {error}");
            return ExitCode::FAILURE;
        }
    };
    let world = machine.world("soak");
    for worker in 0..WORKERS {
        std::fs::create_dir(world.path(&format!("scope/{worker}"))).expect("made");
        std::fs::write(world.path(&format!("kept/{worker}")), "precious").expect("made");
    }
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(SECONDS));
    let mut counts = Vec::new();
    let mut children = Vec::new();
    for worker in 0..WORKERS {
        let (count, mut report) = std::io::pipe().expect("a pipe");
        counts.push(count);
        children.push(world.spawn_guarded(|| {
            let (rounds, refused) =
                work(&world.path(&format!("scope/{worker}")), &world.path("kept"), worker, end);
            let words = [rounds.to_ne_bytes(), refused.to_ne_bytes()].concat();
            std::io::Write::write_all(&mut report, &words).expect("written");
            DONE
        }));
    }
    children.push(world.spawn_guarded(|| come_and_go(&world.path("scope/directory"), end)));
    let mut reported = 0;
    while Instant::now() < end {
        reported += machine.refusals().len() as u64;
        press();
    }
    let ended: Vec<Outcome> = children.into_iter().map(wait).collect();
    let mut total = (0, 0);
    for mut count in counts {
        let mut words = [0; 16];
        if count.read_exact(&mut words).is_ok() {
            let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| words[at + byte]));
            total = (total.0 + word(0), total.1 + word(8));
        }
    }
    reported += machine.refusals().len() as u64;
    let tally = world.session.tally().expect("readable");
    println!("{} rounds, {} refusals, {reported} reported, {} dropped", total.0, total.1, tally.dropped);
    let survived = (0..WORKERS).all(|worker| world.has(&format!("kept/{worker}")));
    // Two refusals at the same instant may be counted as one, of those that are not reported.
    let accounted = reported + tally.dropped <= total.1 && tally.refused >= reported + tally.dropped;
    let lossless = reported + tally.dropped == total.1 || tally.dropped > 0;
    println!("survived: {survived}, accounted for: {}", accounted && lossless);
    if survived && accounted && lossless && ended.iter().all(|outcome| *outcome == DONE) {
        ExitCode::SUCCESS
    } else {
        eprintln!("{ended:?}, {tally:?}");
        ExitCode::FAILURE
    }
}

/// Rounds, and refusals among them.
fn work(own: &Path, kept: &Path, worker: usize, end: Instant) -> (u64, u64) {
    let (mut rounds, mut refused) = (0u64, 0u64);
    while Instant::now() < end {
        let (a, b, directory) = (own.join("a"), own.join("b"), own.join("d"));
        for _ in 0..20 {
            assert_eq!(create(&a), DONE);
            assert_eq!(rename(&a, &b), DONE);
            assert_eq!(mkdir(&directory), DONE);
            assert_eq!(rmdir(&directory), DONE);
            assert_eq!(unlink(&b), DONE);
            rounds += 1;
        }
        let target = kept.join(worker.to_string());
        for outcome in [unlink(&target), truncate(&target), rename(&target, own.join("stolen"))] {
            assert_eq!(outcome, REFUSED);
            refused += 1;
        }
    }
    (rounds, refused)
}

/// Mounts and unmounts, until the end.
fn come_and_go(at: &Path, end: Instant) -> Outcome {
    while Instant::now() < end {
        assert_eq!(mount("none", at, "tmpfs", 0), DONE);
        assert_eq!(create(at.join("file")), DONE);
        assert_eq!(unlink(at.join("file")), DONE);
        assert_eq!(umount(at), DONE);
    }
    DONE
}

/// Makes the kernel give up what it remembers, and takes half of the free memory for a moment.
fn press() {
    drop_caches();
    let info = std::fs::read_to_string("/proc/meminfo").expect("readable");
    let free = info.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next());
    let kibibytes: usize = free.and_then(|number| number.parse().ok()).unwrap_or(0);
    let mut taken = vec![0u8; kibibytes * 512];
    taken.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::hint::black_box(&taken);
    std::thread::sleep(Duration::from_millis(200));
}
