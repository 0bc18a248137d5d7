//! Tests of the kernel rung: each performs the system calls, as root in a guest, and asserts what happened and what is left.
//!
//! ```text
//! kernel-tests [FILTER…]      run the tests whose names contain one of FILTER
//! kernel-tests list           name them
//! kernel-tests refuses        assert that this kernel cannot enforce, and that loading says so
//! kernel-tests program BLASTRADIUS [FILTER…]  run the tests of the program at that path, from end to end
//! kernel-tests both BLASTRADIUS               run all tests of either kind
//! kernel-tests agreement RUNG [ACTS [SEED]]   compare the layers on random machines; RUNG: kernel, landlock
//! kernel-tests cost calls [FILES]             what a guarded call costs, to be run under -icount
//! kernel-tests cost tree                      what work on a tree costs, guarded and not
//! kernel-tests cost session BLASTRADIUS       what a session of the program costs, in time and in memory
//! kernel-tests weigh [RUNG [OBJECT]]          what the verifier does to load the programs; RUNG: bpf-lsm, fmod_ret
//! kernel-tests soak [SECONDS]   guarded workers at full speed, while mounts come and go and memory is scarce
//! ```

mod agreement;
mod calls;
mod cost;
mod program;
mod soak;
mod suite;
mod uring;
mod watchdog;
mod weigh;
mod world;

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    time::Instant,
};

use blastradius::guard::kernel::Kernel;

/// A sentence, and what shows it.
#[derive(Clone, Copy)]
pub(crate) struct Test {
    /// The sentence.
    name: &'static str,
    /// Panics if it is not so.
    body: fn(&world::Machine),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let word = |index: usize| arguments.get(index).map(String::as_str).unwrap_or_default();
    match word(0) {
        "list" => {
            for test in suite::all() {
                println!("{}", test.name);
            }
            ExitCode::SUCCESS
        }
        "refuses" => refuses(),
        "cost" => cost::run(word(1), word(2)),
        "weigh" => weigh::run(word(1), word(2)),
        "soak" => soak::run(word(1).parse().ok()),
        "act" => program::act(&arguments[1..]),
        "program" => program::run(word(1).as_ref(), arguments.get(2..).unwrap_or_default()),
        "agreement" => agreement::run(&arguments[1..]),
        "both" => both(word(1)),
        _ => run(&arguments),
    }
}

/// One boot for both kinds; a failure of the first does not hide those of the second.
fn both(binary: &str) -> ExitCode {
    let library = run(&[]);
    let program = program::run(binary.as_ref(), &[]);
    if library == ExitCode::SUCCESS { program } else { library }
}

fn run(filters: &[String]) -> ExitCode {
    let started = Instant::now();
    let machine = match world::Machine::start() {
        Ok(machine) => machine,
        Err(error) => {
            eprintln!("the kernel rung is not to be had here: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("loaded and proved in {:.1?}", started.elapsed());
    let (mut passed, mut failed) = (0, Vec::new());
    let wanted =
        |test: &Test| filters.is_empty() || filters.iter().any(|filter| test.name.contains(&**filter));
    for test in suite::all().into_iter().filter(wanted) {
        let begun = Instant::now();
        let body = || catch_unwind(AssertUnwindSafe(|| (test.body)(&machine)));
        match watchdog::over(test.name, body) {
            Ok(()) => {
                println!("ok      {} ({:.1?})", test.name, begun.elapsed());
                passed += 1;
            }
            Err(_) => {
                println!("FAILED  {}", test.name);
                failed.push(test.name);
            }
        }
    }
    drop(machine);
    println!("{passed} passed, {} failed, in {:.1?}", failed.len(), started.elapsed());
    if failed.is_empty() && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// On a kernel where nothing can be enforced, loading must say so and leave nothing.
fn refuses() -> ExitCode {
    match Kernel::load() {
        Ok(kernel) => {
            eprintln!("loaded on {}", kernel.rung().name());
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("refused: {error}");
            ExitCode::SUCCESS
        }
    }
}
