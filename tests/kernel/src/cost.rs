//! What a guarded call costs: ratios measured side by side in one run.
//!
//! To be counted under QEMU's `-icount` (`cargo xtask vm --icount`): guest time is then instructions executed, and the same in
//! each run up to a few per cent. On wall clocks under emulation no ordering can be read off.

use std::{
    ffi::CString,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use blastradius::{
    guard::kernel::{Kernel, Session},
    policy::plan::Plan,
};
use blastradius_common::Zone;

use crate::{calls::DONE, world::mark};

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
    in_task(None, &deep, CALLS);
    let unguarded = measure(None, CALLS);
    let guarded = measure(Some(&session), CALLS);
    let guarded_deletion = in_task(Some(&session), &deep, files).unlink;
    while session.live_tasks().expect("readable") > 0 {
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(session);
    drop(kernel);
    assert!(!Path::new("/sys/fs/bpf/blastradius").read_dir().is_ok_and(|mut sets| sets.next().is_some()));
    // Last, because a guest that has just booted still changes its clock: under -icount by a factor of two.
    let bare = measure(None, CALLS);
    let bare_deletion = in_task(None, &deep, files).unlink;
    print("nothing loaded", &bare, &bare);
    print("loaded, unguarded", &unguarded, &bare);
    print("loaded, guarded", &guarded, &bare);
    println!(
        "deleting {files} in-scope files at depth 8: {:.2} µs a file, {:.3} of unguarded",
        guarded_deletion / 1e3,
        guarded_deletion / bare_deletion
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
        // Nothing but the calls is timed: what a program does between them would make the ratios look better.
        let name =
            |prefix: char, n| CString::new(format!("{}/{prefix}{n}", directory.display())).expect("no zero");
        let names: Vec<(CString, CString)> = (0..files).map(|n| (name('f', n), name('g', n))).collect();
        let each = |act: &dyn Fn(*const libc::c_char, *const libc::c_char) -> i32| {
            let begun = Instant::now();
            for (old, new) in &names {
                assert!(act(old.as_ptr(), new.as_ptr()) >= 0, "{}", std::io::Error::last_os_error());
            }
            begun.elapsed().as_nanos() as f64 / files as f64
        };
        // SAFETY: live strings that end in a zero; the descriptor is the one just opened.
        let times = unsafe {
            [
                each(&|old, _| {
                    libc::close(libc::open(old, libc::O_CREAT | libc::O_WRONLY | libc::O_EXCL, 0o644))
                }),
                each(&|old, new| libc::rename(old, new)),
                each(&|_, new| libc::unlink(new)),
            ]
        };
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
