//! The same cases under what else people put between an agent and their data: the table "How it compares" of the README.
//!
//! `cargo xtask bench --only compare` prints it. It asserts nothing: the battery itself does.

use std::collections::BTreeMap;

use blastradius_tests::incidents::{Incident, Kind, Outcome};

use crate::{GUARD, binary, cases, stops, tests};

/// What `case.sh` makes of a sandbox's promise: everything is read-only but the work tree and /tmp.
const SANDBOX: &[&str] = &["sandbox"];

/// What came of one case under each guard that runs it.
struct Replayed {
    unguarded: Outcome,
    sandbox: Outcome,
    ours: Outcome,
}

/// Whether the case ended as it should.
type Judge = fn(&Incident, &Replayed) -> bool;

/// The rows of the table.
const ROWS: &[(&str, Judge)] = &[
    ("nothing", |_, replayed| is_good(&replayed.unguarded)),
    ("a sandbox that writes only to the work tree and /tmp", |_, replayed| is_good(&replayed.sandbox)),
    ("a judge of commands alone (`blastradius check`)", |case, replayed| {
        let stopped = replayed.unguarded.text.as_deref().is_ok_and(stops);
        if stopped { case.kind != Kind::FalsePositive } else { is_good(&replayed.unguarded) }
    }),
    ("`blastradius run --`", |_, replayed| is_good(&replayed.ours)),
    ("… and `blastradius undo`", |_, replayed| {
        replayed.ours.unrestored.is_empty() && replayed.ours.missing.is_empty()
    }),
];

fn is_good(outcome: &Outcome) -> bool {
    outcome.lost.is_empty() && outcome.missing.is_empty()
}

#[test]
#[ignore = "a measurement: cargo xtask bench --only compare"]
fn how_it_compares() {
    assert!(nix::unistd::geteuid().is_root(), "private root directories take root");
    let binary = binary();
    let mut counts: BTreeMap<(usize, Kind), usize> = BTreeMap::new();
    let mut all: BTreeMap<Kind, usize> = BTreeMap::new();
    for case in cases().into_iter().filter(|case| case.verified && !case.needs_human) {
        let run = |guard| case.run(tests(), &binary, guard);
        let replayed = Replayed { unguarded: run(&[]), sandbox: run(SANDBOX), ours: run(GUARD) };
        *all.entry(case.kind).or_default() += 1;
        for (index, (_, judge)) in ROWS.iter().enumerate() {
            *counts.entry((index, case.kind)).or_default() += usize::from(judge(&case, &replayed));
        }
    }
    let of = |row: usize, kind: Kind| {
        let good = counts.get(&(row, kind)).copied().unwrap_or_default();
        format!("{good} of {}", all.get(&kind).copied().unwrap_or_default())
    };
    println!(
        "| between the agent and the data | incidents survived | bypasses survived | harmless work done |"
    );
    println!("|---|---|---|---|");
    for (row, (name, _)) in ROWS.iter().enumerate() {
        let [incidents, bypasses, work] =
            [Kind::Incident, Kind::Bypass, Kind::FalsePositive].map(|kind| of(row, kind));
        println!("| {name} | {incidents} | {bypasses} | {work} |");
    }
}
