//! What a verdict costs: every case of the corpus, in process, warm; then the inputs that are made to hurt.
//!
//! Prints figures; asserts nothing: tests assert work, not time.

use std::path::Path;
use std::time::Duration;

use blastradius::analysis::{Subject, analyze};
use blastradius::policy::mode::{Asker, Mode, Surface};
use blastradius::policy::{Policy, Start};
use blastradius::programs::Dialect;
use blastradius::shell::world::memory::MemoryWorld;
use blastradius_tests::{cases, fixture, hostile};
use nix::time::{ClockId, clock_gettime};

/// Each case is judged this often; the median of the rounds counts.
const ROUNDS: usize = 15;

const ASKER: Asker = Asker { mode: Mode::Interactive, surface: Surface::Text };

/// CPU time of this thread.
fn cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

fn timed(mut act: impl FnMut()) -> Duration {
    let began = cpu();
    act();
    cpu() - began
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn subject(text: &str) -> Subject {
    Subject::Text { text: text.as_bytes().to_vec(), dialect: Dialect::Bash }
}

/// Median and 99th percentile over the corpus. The policy is read once per case, as a session or a hook does.
fn corpus() {
    let cases = cases::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/text.jsonl"));
    let mut verdicts: Vec<(Duration, String)> = Vec::new();
    let mut loads = Vec::new();
    for case in &cases {
        let world = fixture::world(case);
        let policy = Policy::load(&world, Start::default());
        loads.push(timed(|| drop(Policy::load(&world, Start::default()))));
        let subject = subject(&case.command);
        let rounds = (0..ROUNDS).map(|_| timed(|| drop(analyze(&subject, &world, &policy, ASKER)))).collect();
        verdicts.push((median(rounds), case.command.clone()));
    }
    verdicts.sort();
    let at = |share: usize| &verdicts[(verdicts.len() - 1) * share / 100];
    println!(
        "verdict, {} cases: median {:?}, p99 {:?}, worst {:?}",
        cases.len(),
        at(50).0,
        at(99).0,
        at(100).0
    );
    println!("  slowest: {:?}", verdicts.iter().rev().take(5).collect::<Vec<_>>());
    println!("policy load: median {:?}", median(loads));
}

/// Peak resident memory of this process so far, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn hostile_inputs(world: &MemoryWorld, policy: &Policy) {
    for (name, text) in hostile::inputs() {
        let subject = subject(&text);
        let mut verdict = None;
        let time = timed(|| verdict = Some(analyze(&subject, world, policy, ASKER).verdict));
        println!(
            "{name:40} {:>9} bytes {time:>12.1?} peak {} MiB {verdict:?}",
            text.len(),
            peak_kib() / 1024
        );
    }
}

fn main() {
    corpus();
    let case = cases::plain("true");
    let world = fixture::world(&case);
    let policy = Policy::load(&world, Start::default());
    hostile_inputs(&world, &policy);
}
