//! Do the layers agree? Random machines, policies and acts: what the text layer lets an unattended agent do, the syscall
//! layer lets happen; and what the syscall layer lets happen, the zone table permits.
//!
//! ```text
//! kernel-tests agreement kernel [ACTS [SEED]]     as root in a guest
//! kernel-tests agreement landlock [ACTS [SEED]]   on this machine, in a temporary directory
//! ```
//!
//! Not tried here, because the layers differ there on purpose: objects that the session made (text knows them only within
//! one text), roles (text does not know who will execute it), and effects without a hook (git's discards, metadata).

mod arena;
mod dice;
mod rung;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use blastradius::{
    analysis::{self, Subject},
    policy::{
        Policy, Start,
        mode::{Asker, Mode, Surface},
    },
    programs::Dialect,
    system::System,
};
use blastradius_common::{Operation, Verdict};

use arena::{Act, Arena, Deed};
use dice::Dice;
use rung::{Answer, Rung};

/// So many acts are tried on one machine before the next one is made.
const ACTS_A_MACHINE: usize = 40;

/// How it went.
#[derive(Default)]
struct Score {
    acts: usize,
    allowed_by_text: usize,
    refused_by_rung: usize,
    /// The rung refuses what the table permits: stricter, and told.
    stricter: BTreeMap<&'static str, usize>,
    failures: Vec<String>,
}

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let word = |index: usize| arguments.get(index).map(String::as_str);
    let wanted = word(1).and_then(|count| count.parse().ok()).unwrap_or(400);
    let seed = word(2).and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let rung = match word(0) {
        Some("landlock") => Rung::landlock(),
        Some("kernel") => Rung::kernel(),
        _ => Err("say which rung: kernel or landlock".to_owned()),
    };
    match rung {
        Ok(rung) => compare(&rung, wanted, seed),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(rung: &Rung, wanted: usize, seed: u64) -> ExitCode {
    let started = Instant::now();
    let mut score = Score::default();
    let mut machines = 0;
    while score.acts < wanted && score.failures.len() < 20 {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(machines);
        machines += 1;
        one_machine(rung, seed, wanted - score.acts, &mut score);
    }
    let Score { acts, allowed_by_text, refused_by_rung, stricter, failures } = score;
    println!(
        "{acts} acts on {machines} machines in {:.1?}: text allows {allowed_by_text}, the {} rung refuses {refused_by_rung}",
        started.elapsed(),
        rung.name()
    );
    for (what, count) in stricter {
        println!("  stricter than the table: {what} ({count})");
    }
    for failure in &failures {
        eprintln!("FAILED  {failure}");
    }
    // A comparison in which one side never says yes, or never no, compares nothing.
    let telling = allowed_by_text * 10 >= acts && refused_by_rung * 10 >= acts;
    if !telling {
        eprintln!("the acts tell nothing: too few are allowed or refused");
    }
    if failures.is_empty() && telling { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn one_machine(rung: &Rung, seed: u64, left: usize, score: &mut Score) {
    let mut dice = Dice::new(seed);
    let arena = Arena::make(&rung.scratch(), &mut dice);
    let system = arena.system();
    let policy = Policy::load(&system, Start { session: true, ..Start::default() });
    if !policy.errors().is_empty() {
        // Such a session is not started.
        return;
    }
    let acts = arena.acts(&mut dice, ACTS_A_MACHINE.min(left));
    let mut performer = match rung.begin(&policy.plan(&system), &system, &acts, arena.cwd()) {
        Ok(performer) => performer,
        Err(error) => {
            score.failures.push(format!("seed {seed}: {error}"));
            return;
        }
    };
    for (index, act) in acts.iter().enumerate() {
        if !act.is_possible() {
            continue;
        }
        let before = zones(&policy, &system, act);
        let verdict = verdict(&policy, &system, act);
        let answer = performer.perform(index);
        if answer == Answer::Impossible {
            continue;
        }
        score.acts += 1;
        score.allowed_by_text += usize::from(verdict <= Verdict::Warn);
        score.refused_by_rung += usize::from(answer == Answer::Refused);
        let told = |what: &str| {
            let zones: Vec<_> =
                before.iter().map(|object| format!("{} {}", object.path.display(), object.zone)).collect();
            format!(
                "seed {seed}: {what}: {} (text {}, rung {answer:?})\n  zones: {}\n  policy:\n{}",
                act.text(),
                verdict.name(),
                zones.join(", "),
                arena.policy_text()
            )
        };
        if verdict <= Verdict::Warn && answer == Answer::Refused {
            match performer.excuse(act) {
                Some(gap) => *score.stricter.entry(gap).or_default() += 1,
                None => score.failures.push(told("text allows what the rung refuses")),
            }
        }
        let permitted = before.iter().all(|object| object.permitted);
        for object in before.iter().filter(|object| !object.permitted && object.is_harmed()) {
            if !performer.is_gap(&object.path) {
                score.failures.push(told(&format!("{} was destroyed", object.path.display())));
            }
        }
        if permitted && answer == Answer::Refused {
            let gap = performer.excuse(act);
            match gap {
                Some(gap) => *score.stricter.entry(gap).or_default() += 1,
                None => score.failures.push(told("the rung refuses what the table permits")),
            }
        }
    }
}

fn verdict(policy: &Policy, system: &System, act: &Act) -> Verdict {
    let subject = Subject::Text { text: act.text().into_bytes(), dialect: Dialect::Bash };
    let asker = Asker { mode: Mode::Unattended, surface: Surface::Text };
    analysis::analyze(&subject, system, policy, asker).verdict
}

/// An object that an act concerns.
struct Object {
    path: PathBuf,
    zone: &'static str,
    permitted: bool,
    content: Option<u64>,
    inode: u64,
}

impl Object {
    /// Whether it is gone, cut, or another object has its name.
    fn is_harmed(&self) -> bool {
        let (inode, content) = state(&self.path);
        inode != self.inode || content < self.content
    }
}

fn state(path: &Path) -> (u64, Option<u64>) {
    use std::os::unix::fs::MetadataExt as _;
    match path.symlink_metadata() {
        Ok(meta) => (meta.ino(), meta.is_file().then_some(meta.len())),
        Err(_) => (0, None),
    }
}

/// The objects that the act concerns, by their canonical names, with what the table says of the act.
fn zones(policy: &Policy, system: &System, act: &Act) -> Vec<Object> {
    let operation = match act.deed {
        Deed::Remove => Operation::Remove,
        Deed::Move => Operation::MoveOut,
        Deed::Truncate => Operation::Truncate,
        Deed::Replace => Operation::Replace,
    };
    let real = act.canonical();
    let mut paths = vec![real.clone()];
    if act.deed == Deed::Remove {
        below(&real, &mut paths);
    }
    let object = |path: PathBuf, operation: Operation| {
        let zone = policy.zone(system, &path).zone;
        let (inode, content) = state(&path);
        Object { path, zone: zone.name(), permitted: zone.permits(operation), content, inode }
    };
    let mut objects: Vec<Object> = paths.into_iter().map(|path| object(path, operation)).collect();
    if act.deed == Deed::Replace {
        // What takes the name leaves its own place.
        objects.push(object(act.other.clone(), Operation::MoveOut));
    }
    objects
}

fn below(dir: &Path, paths: &mut Vec<PathBuf>) {
    if !dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return;
    }
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        paths.push(entry.path());
        below(&entry.path(), paths);
    }
}
