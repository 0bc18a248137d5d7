//! Truth against bash: whatever a random script really destroyed outside scope, the analyzer had stopped.
//!
//! `BLASTRADIUS_TRUTH_SCRIPTS` says how many scripts (default 300), `BLASTRADIUS_TRUTH_SEED` where to begin.

mod arena;
mod grammar;
mod rarer;

use arena::Arena;
use blastradius::analysis::{Report, Subject, analyze};
use blastradius::policy::mode::{Asker, Mode, Surface};
use blastradius::policy::{Policy, Start};
use blastradius::programs::Dialect;
use blastradius_common::Verdict;

/// What came of one script.
#[derive(Default)]
struct Tally {
    scripts: usize,
    lost: usize,
    harmless: usize,
    stopped_harmless: Vec<String>,
    counterexamples: Vec<String>,
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn judge(arena: &Arena, script: &str) -> Report {
    let system = arena.world();
    let policy = Policy::load(&system, Start::default());
    let subject = Subject::Text { text: script.as_bytes().to_vec(), dialect: Dialect::Bash };
    analyze(&subject, &system, &policy, Asker { mode: Mode::Interactive, surface: Surface::Text })
}

fn describe(seed: u64, script: &str, report: &Report, lost: &[String]) -> String {
    let rules: Vec<&str> = report.findings.iter().map(|finding| finding.rule.id()).collect();
    format!("--- seed {seed}: {} {rules:?}, lost {lost:?}\n{script}", report.verdict.name())
}

/// Harmless scripts that may be stopped: 2 %. Of a few hundred that is a handful, and chance alone makes it some more or
/// less: by twice its spread there, so that a slice says something is wrong only where something is.
fn stopped_at_most(harmless: usize) -> usize {
    const MANY: usize = 5_000;
    let share = harmless / 50;
    if harmless < MANY { share + 2 * share.isqrt() } else { share }
}

#[test]
fn what_bash_destroyed_outside_scope_had_been_stopped_and_harmless_scripts_had_not() {
    if !nix::unistd::geteuid().is_root() {
        println!("not run here: needs root for a private root directory");
        return;
    }
    let (count, first) = (setting("BLASTRADIUS_TRUTH_SCRIPTS", 300), setting("BLASTRADIUS_TRUTH_SEED", 1));
    let mut arena = Arena::new().expect("a private root directory");
    let mut tally = Tally::default();
    for seed in first..first + count {
        let script = grammar::script(seed);
        let report = judge(&arena, &script);
        let stopped = matches!(report.verdict, Verdict::Confirm | Verdict::Deny);
        let lost = arena.run(&script).expect("bash runs in the private root directory");
        tally.scripts += 1;
        if lost.is_empty() {
            tally.harmless += 1;
            if stopped {
                tally.stopped_harmless.push(describe(seed, &script, &report, &lost));
            }
        } else {
            tally.lost += 1;
            if !stopped {
                tally.counterexamples.push(describe(seed, &script, &report, &lost));
            }
        }
    }
    println!(
        "{} scripts: {} destroyed something outside scope, {} of them not stopped; {} did not, {} of them stopped",
        tally.scripts,
        tally.lost,
        tally.counterexamples.len(),
        tally.harmless,
        tally.stopped_harmless.len()
    );
    for script in tally.stopped_harmless.iter().take(20) {
        println!("stopped, harmless {script}");
    }
    assert!(tally.lost * 20 > tally.scripts, "the generator destroys too little to show anything");
    assert!(tally.counterexamples.is_empty(), "counterexamples:\n{}", tally.counterexamples.join("\n"));
    assert!(
        tally.stopped_harmless.len() <= stopped_at_most(tally.harmless),
        "more than 2 % of the harmless scripts were stopped:\n{}",
        tally.stopped_harmless.join("\n")
    );
}
