//! What a guarded call costs: ratios measured side by side in one run.
//!
//! To be counted under QEMU's `-icount` (`cargo xtask vm --icount`): guest time is then instructions executed, and the same in
//! each run up to a few per cent. On wall clocks under emulation no ordering can be read off.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use blastradius::{
    guard::kernel::{Kernel, Session},
    policy::plan::Plan,
};
use blastradius_common::Zone;

use crate::{
    calls::{DONE, Outcome, create, rename, unlink},
    world::mark,
};

/// Rounds, whose spread is printed.
const ROUNDS: usize = 3;
/// Calls of each kind in a round.
const CALLS: usize = 2_000;
/// Files of the deletion, unless said otherwise.
const FILES: usize = 20_000;

/// Nanoseconds per call.
#[derive(Clone, Copy)]
struct Times {
    create: f64,
    unlink: f64,
    rename: f64,
}

/// Prints the table: `deleted` files for the last line.
pub(crate) fn run(deleted: Option<usize>) -> ExitCode {
    let scratch =
        std::env::var_os("BLASTRADIUS_SCRATCH").map_or_else(|| PathBuf::from("/scratch"), PathBuf::from);
    // Depth 8 from the root of the file system that the scratch directory is.
    let scope = scratch.join("scope");
    let deep = scope.join("1/2/3/4/5/6");
    std::fs::create_dir_all(&deep).expect("made");
    let files = deleted.unwrap_or(FILES);

    let measure = |session: Option<&Session>, files| {
        (0..ROUNDS).map(|_| in_task(session, &deep, files)).collect::<Vec<_>>()
    };
    in_task(None, &deep, CALLS);
    let bare = measure(None, CALLS);
    let bare_deletion = in_task(None, &deep, files).unlink;
    let mut kernel = match Kernel::load() {
        Ok(kernel) => kernel,
        Err(error) => {
            eprintln!("the kernel rung is not to be had here: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut plan = Plan::default();
    plan.marks.push(mark(&scope, Some(Zone::Root), Some(Zone::Scope), None));
    let session = kernel.start_session(&plan).expect("starts");
    println!(
        "rung {}, depth 8, {CALLS} calls a round, {ROUNDS} rounds; ratios to nothing loaded",
        kernel.rung().name()
    );
    print("nothing loaded", &bare, &bare);
    print("loaded, unguarded", &measure(None, CALLS), &bare);
    print("loaded, guarded", &measure(Some(&session), CALLS), &bare);
    let guarded = in_task(Some(&session), &deep, files).unlink;
    println!(
        "deleting {files} in-scope files at depth 8: {:.2} µs a file, {:.3} of unguarded",
        guarded / 1e3,
        guarded / bare_deletion
    );
    ExitCode::SUCCESS
}

fn print(what: &str, rounds: &[Times], bare: &[Times]) {
    let column = |pick: fn(&Times) -> f64| {
        let median = |rounds: &[Times]| {
            let mut values: Vec<f64> = rounds.iter().map(pick).collect();
            values.sort_by(f64::total_cmp);
            (values[values.len() / 2], values[0], values[values.len() - 1])
        };
        let (middle, least, most) = median(rounds);
        let base = median(bare).0;
        format!("{:7.2} µs {:.3} ({:.3}-{:.3})", middle / 1e3, middle / base, least / base, most / base)
    };
    println!(
        "{what:18} create {}  unlink {}  rename {}",
        column(|times| times.create),
        column(|times| times.unlink),
        column(|times| times.rename)
    );
}

/// Creates, renames and removes `files` files in a new task, guarded if there is a session.
fn in_task(session: Option<&Session>, directory: &Path, files: usize) -> Times {
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    if let Some(session) = session {
        session.arm_next_fork().expect("armed");
    }
    let child = crate::calls::in_child(|| {
        let names: Vec<PathBuf> = (0..files).map(|n| directory.join(format!("f{n}"))).collect();
        let each = |act: &dyn Fn(&PathBuf) -> Outcome| {
            let begun = Instant::now();
            for name in &names {
                assert_eq!(act(name), DONE);
            }
            begun.elapsed().as_nanos() as f64 / files as f64
        };
        let times =
            [each(&|name| create(name)), each(&|name| rename(name, name)), each(&|name| unlink(name))];
        let bytes: Vec<u8> = times.iter().flat_map(|time| time.to_ne_bytes()).collect();
        std::io::Write::write_all(&mut writer, &bytes).expect("written");
        DONE
    });
    assert_eq!(child, DONE);
    let mut read = || {
        let mut bytes = [0; 8];
        std::io::Read::read_exact(&mut reader, &mut bytes).expect("written by the child");
        f64::from_ne_bytes(bytes)
    };
    Times { create: read(), rename: read(), unlink: read() }
}
