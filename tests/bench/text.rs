//! What a verdict costs: every case of the corpus, in process, warm; loading a policy; then the inputs that are made to
//! hurt, each in a process of its own.
//!
//! Prints figures; asserts nothing: tests assert work, not time.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use blastradius::analysis::{Subject, analyze};
use blastradius::policy::mode::{Asker, Mode, Surface};
use blastradius::policy::{Policy, Start};
use blastradius::programs::Dialect;
use blastradius::system::System;
use blastradius_tests::{cases, fixture, hostile};
use nix::time::{ClockId, clock_gettime};

/// Each case is judged this often; the median of the rounds counts.
const ROUNDS: usize = 15;

const ASKER: Asker = Asker { mode: Mode::Interactive, surface: Surface::Text };

/// CPU time of this process: what nests is evaluated on a thread of its own.
fn cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map(Duration::from).unwrap_or_default()
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

/// Judges one hostile input, cold, as a hook would. The machine is made before the clock starts.
fn hostile_input(name: &str) {
    let Some(input) = hostile::inputs().into_iter().find(|input| input.name == name) else { return };
    let world = hostile::world();
    let policy = Policy::load(&world, Start::default());
    let before = peak_kib();
    let bytes = input.text.len();
    let subject = Subject::Text { text: input.text, dialect: Dialect::Bash };
    let mut verdict = None;
    let time = timed(|| verdict = Some(analyze(&subject, &world, &policy, ASKER).verdict));
    let verdict = verdict.map_or("none", |verdict| verdict.name());
    println!("{name:45} {bytes:>8} bytes {time:>10.1?} {:>6} KiB more {verdict}", peak_kib() - before);
}

fn hostile_inputs() {
    let this = std::env::current_exe().expect("the path of this program");
    for input in hostile::inputs() {
        let status = Command::new(&this).args([HOSTILE, input.name]).status().expect("started");
        if !status.success() {
            println!("{}: {status}", input.name);
        }
    }
}

/// Loading 200 lines in a work tree of 100,000 files, on the real file system.
fn policy_of_200_lines() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path();
    std::fs::create_dir_all(root.join(".git/objects")).expect("made");
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
    let lines: String = (0..100).map(|at| format!("allow out/{at}/**\ndeny ./keep/{at}\n")).collect();
    std::fs::write(root.join(".blastradius"), lines).expect("written");
    for at in 0..100 {
        let below = root.join(format!("src/{at}"));
        std::fs::create_dir_all(&below).expect("made");
        for file in 0..1_000 {
            std::fs::write(below.join(file.to_string()), "").expect("written");
        }
    }
    let system = || System::current().expect("a working directory").with_cwd(root.to_path_buf());
    let times = (0..ROUNDS).map(|_| {
        let system = system();
        timed(|| assert!(system.policy().errors().is_empty()))
    });
    println!("policy load, 200 lines, 100,000 files: median {:?}", median(times.collect()));
}

/// The argument with which this program judges one hostile input.
const HOSTILE: &str = "--hostile";

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let [_, flag, name] = words.as_slice()
        && flag == HOSTILE
    {
        hostile_input(name);
        return;
    }
    corpus();
    policy_of_200_lines();
    hostile_inputs();
}
