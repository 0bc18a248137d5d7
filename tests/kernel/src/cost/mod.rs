//! What the kernel rung costs: ratios measured side by side in one run.
//!
//! To be counted under QEMU's `-icount` (`cargo xtask vm --icount`): guest time is then instructions executed, and the same in
//! each run up to a few per cent. On wall clocks under emulation no ordering can be read off.

mod per_call;
mod session;
mod tree;

use std::{os::fd::OwnedFd, path::PathBuf, process::ExitCode};

use blastradius::{
    guard::{
        kernel::{Kernel, Session},
        landlock::{self, compile::compile},
    },
    policy::plan::Plan,
    system::System,
};
use blastradius_common::Zone;

use crate::{
    calls::{DONE, in_child, restrict},
    world::mark,
};

/// Rounds, whose spread is printed.
const ROUNDS: usize = 3;

/// Prints what `what` costs: `calls [FILES]`, `tree`, `session BLASTRADIUS`.
pub(crate) fn run(what: &str, argument: &str) -> ExitCode {
    let measured = match what {
        "calls" => per_call::run(argument.parse().ok()),
        "tree" => tree::run(),
        "session" => session::run(argument.as_ref()),
        _ => Err("say what: calls, tree or session".to_owned()),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The scratch directory, and in it the one that is in scope.
fn places() -> (PathBuf, PathBuf) {
    let scratch =
        std::env::var_os("BLASTRADIUS_SCRATCH").map_or_else(|| PathBuf::from("/scratch"), PathBuf::from);
    let scope = scratch.join("scope");
    std::fs::create_dir_all(&scope).expect("made");
    (scratch, scope)
}

/// What a task works under.
#[derive(Clone, Copy)]
enum Under<'a> {
    Nothing,
    Kernel(&'a Session),
    Landlock(&'a OwnedFd),
}

/// Nanoseconds of `N` kinds of work, a row for each round.
type Rounds<const N: usize> = Vec<[f64; N]>;

impl Under<'_> {
    /// Does `work` in a new task, [`ROUNDS`] times.
    fn rounds<const N: usize>(self, work: impl Fn() -> [f64; N]) -> Rounds<N> {
        (0..ROUNDS).map(|_| self.once(&work)).collect()
    }

    /// Does `work` in a new task and returns what it measured.
    fn once<const N: usize>(self, work: impl FnOnce() -> [f64; N]) -> [f64; N] {
        let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
        if let Self::Kernel(session) = self {
            session.arm_next_fork().expect("armed");
        }
        let child = in_child(|| {
            if let Self::Landlock(ruleset) = self {
                restrict(ruleset);
            }
            let bytes: Vec<u8> = work().iter().flat_map(|time| time.to_ne_bytes()).collect();
            std::io::Write::write_all(&mut writer, &bytes).expect("written");
            DONE
        });
        assert_eq!(child, DONE);
        let mut read = |_| {
            let mut bytes = [0; 8];
            std::io::Read::read_exact(&mut reader, &mut bytes).expect("written by the child");
            f64::from_ne_bytes(bytes)
        };
        std::array::from_fn(&mut read)
    }
}

/// A kind of work under each of what it may be done under.
struct Table<const N: usize> {
    bare: Rounds<N>,
    unguarded: Rounds<N>,
    guarded: Rounds<N>,
    landlock: Rounds<N>,
}

impl<const N: usize> Table<N> {
    /// Does `work` everywhere, and what `beside` wants of the session. What is to happen in the scope is permitted.
    fn measure(work: impl Fn() -> [f64; N], beside: impl FnOnce(Under<'_>)) -> Result<Self, String> {
        let (_, scope) = places();
        let mut plan = Plan::default();
        plan.marks.push(mark(&scope, Some(Zone::Root), Some(Zone::Scope), None));
        let mut kernel = Kernel::load().map_err(|error| error.to_string())?;
        let session = kernel.start_session(&plan).expect("starts");
        println!("rung {}, {ROUNDS} rounds; ratios to nothing loaded", kernel.rung().name());
        Under::Nothing.once(&work);
        let unguarded = Under::Nothing.rounds(&work);
        let guarded = Under::Kernel(&session).rounds(&work);
        beside(Under::Kernel(&session));
        while session.live_tasks().expect("readable") > 0 {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        drop(session);
        drop(kernel);
        let sets = std::path::Path::new("/sys/fs/bpf/blastradius").read_dir();
        assert!(!sets.is_ok_and(|mut sets| sets.next().is_some()), "nothing is loaded any more");
        // Last, because a guest that has just booted still changes its clock: under -icount by a factor of two. And not at
        // once: what was loaded is still being freed.
        Under::Nothing.once(&work);
        let bare = Under::Nothing.rounds(&work);
        let system = System::current().map_err(|error| error.to_string())?;
        let prepared = landlock::prepare(&compile(&plan, &system), false);
        let prepared = prepared.map_err(|error| error.to_string())?;
        let landlock = Under::Landlock(&prepared.ruleset).rounds(&work);
        Ok(Self { bare, unguarded, guarded, landlock })
    }

    fn print(&self, kinds: [&str; N]) {
        let Self { bare, unguarded, guarded, landlock } = self;
        let rows = [
            ("nothing loaded", bare),
            ("loaded, unguarded", unguarded),
            ("loaded, guarded", guarded),
            ("Landlock alone", landlock),
        ];
        for (what, rounds) in rows {
            let columns: Vec<String> = kinds
                .iter()
                .enumerate()
                .map(|(kind, name)| format!("{name} {}", column(rounds, bare, kind)))
                .collect();
            println!("{what:18} {}", columns.join("  "));
        }
    }
}

/// The median, and the ratio to that of `bare` with its spread.
fn column<const N: usize>(rounds: &Rounds<N>, bare: &Rounds<N>, kind: usize) -> String {
    let sorted = |rounds: &Rounds<N>| {
        let mut values: Vec<f64> = rounds.iter().map(|round| round[kind]).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (values, base) = (sorted(rounds), middle(&sorted(bare)));
    let (least, most) = (values[0] / base, values[values.len() - 1] / base);
    let median = middle(&values);
    format!("{:>10} {:.3} ({least:.3}-{most:.3})", shown(median), median / base)
}

/// Of sorted values.
fn middle(values: &[f64]) -> f64 {
    values[values.len() / 2]
}

/// A time in nanoseconds, for people.
fn shown(nanoseconds: f64) -> String {
    match nanoseconds {
        few if few < 1e6 => format!("{:.2} µs", few / 1e3),
        some if some < 1e9 => format!("{:.2} ms", some / 1e6),
        many => format!("{:.2} s", many / 1e9),
    }
}
