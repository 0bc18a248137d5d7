//! The program itself, from end to end: `blastradius run` with real processes, as a user starts it.

mod act;
mod approvals;
mod attach;
mod ends;
mod guards;
mod repositories;
mod stage;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::ExitCode,
    time::Instant,
};

use crate::watchdog;
pub(crate) use act::act;
use blastradius::guard::kernel::Kernel;
pub(crate) use stage::Stage;

/// A sentence, and what shows it.
struct Test {
    /// The sentence.
    name: &'static str,
    /// Panics if it is not so.
    body: fn(&Stage),
}

/// Runs the tests whose names contain one of `filters`, or all, with the program at `binary`.
pub(crate) fn run(binary: &Path, filters: &[String]) -> ExitCode {
    let started = Instant::now();
    let is_meant =
        |test: &&Test| filters.is_empty() || filters.iter().any(|part| test.name.contains(&**part));
    let alone = ends::TESTS.iter().filter(is_meant).collect::<Vec<_>>();
    let together =
        guards::TESTS.iter().chain(repositories::TESTS).chain(approvals::TESTS).chain(attach::TESTS);
    let together = together.filter(is_meant).collect::<Vec<_>>();
    let mut score = perform(binary, "alone", &alone);
    if !together.is_empty() {
        // Sessions share the machine's programs: while somebody holds them, a start need not load and verify them.
        let holder = Kernel::load();
        score.extend(perform(binary, "together", &together));
        drop(holder);
    }
    let passed = score.iter().filter(|passed| **passed).count();
    println!("{passed} of {} passed with the program, in {:.1?}", score.len(), started.elapsed());
    if passed == score.len() && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether each test passed.
fn perform(binary: &Path, group: &str, tests: &[&Test]) -> Vec<bool> {
    let perform_one = |(number, test): (usize, &&Test)| {
        let begun = Instant::now();
        let stage = Stage::set(binary, &format!("{group}-{number}"));
        let body = || catch_unwind(AssertUnwindSafe(|| (test.body)(&stage)));
        let passed = watchdog::over(test.name, body).is_ok();
        println!("{} {} ({:.1?})", if passed { "ok     " } else { "FAILED " }, test.name, begun.elapsed());
        passed
    };
    tests.iter().enumerate().map(perform_one).collect()
}
