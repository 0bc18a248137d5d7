//! Tests of the kernel rung: each performs the system calls, as root in a guest, and asserts what happened and what is left.
//!
//! ```text
//! kernel-tests [FILTER]       run the tests whose names contain FILTER
//! kernel-tests list           name them
//! kernel-tests refuses        assert that this kernel cannot enforce, and that loading says so
//! kernel-tests cost [FILES]   what a guarded call costs, to be run under -icount
//! ```

mod calls;
mod cost;
mod suite;
mod uring;
mod world;

use std::{
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
    let argument = std::env::args().nth(1).unwrap_or_default();
    match argument.as_str() {
        "list" => {
            for test in suite::all() {
                println!("{}", test.name);
            }
            ExitCode::SUCCESS
        }
        "refuses" => refuses(),
        "cost" => cost::run(std::env::args().nth(2).and_then(|files| files.parse().ok())),
        filter => run(filter),
    }
}

fn run(filter: &str) -> ExitCode {
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
    for test in suite::all().into_iter().filter(|test| test.name.contains(filter)) {
        let begun = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| (test.body)(&machine))) {
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
