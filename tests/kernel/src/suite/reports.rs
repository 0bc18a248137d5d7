//! What the supervisor learns of a refusal.

use std::time::Duration;

use blastradius::guard::kernel::{Kernel, canary};
use blastradius_common::{Operation, RuleId, Zone};

use crate::{
    Test,
    calls::{DONE, REFUSED, rename, unlink, wait},
    world::Machine,
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "a refusal is reported with path, rule, zone and process", body: report },
    Test { name: "a rename is reported by what it would have cost", body: renames },
    Test { name: "the canary proves a session, and is not reported", body: proof },
    Test { name: "refusals that nobody reads are counted", body: dropped },
    Test { name: "an async reader is woken", body: reader },
];

fn report(machine: &Machine) {
    let world = machine.world("report");
    machine.refusals();
    let child = world.spawn_guarded(|| unlink(world.path("home/docs/letter")));
    assert_eq!(wait(child), REFUSED);
    let refusals = machine.refusals();
    let [refusal] = refusals.as_slice() else { panic!("{refusals:?}") };
    assert_eq!(refusal.session, world.session.id());
    assert_eq!((refusal.pid, refusal.tgid), (child as u32, child as u32));
    assert_eq!(refusal.path, world.path("home/docs/letter"));
    assert_eq!((refusal.operation, refusal.zone), (Operation::Remove, Zone::Personal));
    assert_eq!(refusal.rule, RuleId::OutOfScope);
    assert!(!refusal.truncated && !refusal.unreadable && !refusal.canary);
    assert_eq!(refusal.comm, std::fs::read_to_string("/proc/self/comm").expect("there").trim());
    assert_eq!(world.guarded(|| unlink(world.path("scope/file"))), DONE);
    assert_eq!(machine.refusals(), []);
}

fn renames(machine: &Machine) {
    let world = machine.world("report-rename");
    machine.refusals();
    world.guarded(|| rename(world.path("kept/file"), world.path("scope/stolen")));
    world.guarded(|| rename(world.path("scope/file"), world.path("kept/file")));
    let said: Vec<_> =
        machine.refusals().into_iter().map(|refusal| (refusal.operation, refusal.path)).collect();
    assert_eq!(
        said,
        [(Operation::MoveOut, world.path("kept/file")), (Operation::Replace, world.path("kept/file"))]
    );
}

fn proof(machine: &Machine) {
    let world = machine.world("canary");
    machine.refusals();
    let proof = canary(&world.session).expect("everything is enforced");
    assert!(proof.refused.contains(&"unlink") && proof.refused.contains(&"exchange"));
    assert!(proof.passed.contains(&"rmdir what it made"));
    assert_eq!(machine.refusals(), []);
    let tally = world.session.tally().expect("readable");
    // Tampering with the guard is refused without a record.
    let recorded = proof.refused.iter().filter(|act| !act.contains("holds the programs")).count();
    assert!(tally.refused >= recorded as u64, "{tally:?} of {:?}", proof.refused);
}

fn dropped(machine: &Machine) {
    let world = machine.world("dropped");
    machine.refusals();
    let outcome = world.guarded(|| {
        for _ in 0..400 {
            assert_eq!(unlink(world.path("kept/file")), REFUSED);
        }
        DONE
    });
    assert_eq!(outcome, DONE);
    let tally = world.session.tally().expect("readable");
    assert_eq!(tally.refused, 400);
    assert_eq!(machine.refusals().len() as u64 + tally.dropped, 400);
    assert!(tally.dropped > 0);
    assert!(world.has("kept/file"));
}

fn reader(machine: &Machine) {
    let root = machine.directory("reader");
    std::fs::write(root.join("file"), "precious\n").expect("made");
    let mut kernel = Kernel::load().expect("loads");
    let mut events = kernel.take_events();
    let session = kernel.start_session(&Default::default()).expect("starts");
    let file = root.join("file");
    session.arm_next_fork().expect("armed");
    // SAFETY: one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        std::thread::sleep(Duration::from_millis(100));
        crate::calls::exit_with(unlink(&file));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let refusal =
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), events.next()).await });
    let refusal = refusal.expect("in time").expect("well formed");
    assert_eq!((refusal.session, refusal.path), (session.id(), file));
    assert_eq!(wait(child), REFUSED);
}
