//! What a program's start costs inside a session.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};

use super::{Measured, spawn::median};

/// Starts as many programs as a line says, then answers.
const WORKER: &str =
    "while read -r n; do i=0; while [ $i -lt $n ]; do /bin/true; i=$((i+1)); done; echo done; done";
/// Programs of one batch: long enough for the clock, short enough that a busy machine is busy for both halves of a pair.
const BATCH: u32 = 100;
/// Pairs of batches.
const PAIRS: usize = 60;

/// The time of `/bin/true` in a session over that of one outside, from pairs of batches taken in turns; prints what the
/// analyzer took of it.
pub(crate) fn ratio(guard: &Path) -> Result<Measured> {
    let place = tempfile::tempdir().context("a directory for the bench")?;
    std::fs::create_dir_all(place.path().join("work/.git")).context("a work tree for the bench")?;
    let mut guarded = Command::new(guard);
    guarded.args(["run", "--", "bash"]);
    let mut guarded = Worker::start(&mut guarded, place.path())?;
    let mut plain = Worker::start(&mut Command::new("bash"), place.path())?;
    let mut ratios = Vec::new();
    guarded.batch()?;
    plain.batch()?;
    for pair in 0..PAIRS {
        // Who comes first alternates, so that neither always meets the other's caches.
        let (with, without) = if pair % 2 == 0 {
            let with = guarded.batch()?;
            (with, plain.batch()?)
        } else {
            let without = plain.batch()?;
            (guarded.batch()?, without)
        };
        // As a duration, so that there is one median: a ratio of 1 is a second.
        ratios.push(with.div_f64(without.as_secs_f64()));
    }
    guarded.end()?;
    plain.end()?;
    if let Some(micros) = judging(&place.path().join("state/blastradius")) {
        println!("exec: the analyzer took {micros} µs of each (median)");
    }
    println!("exec: {:.2} times the elapsed time, to be at most 1.2", median(ratios).as_secs_f64());
    Ok(Measured::Printed)
}

/// A shell that starts programs on demand.
struct Worker {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    fn start(command: &mut Command, place: &Path) -> Result<Self> {
        let mut child = command
            .args(["--norc", "--noprofile", "-c", WORKER])
            .current_dir(place.join("work"))
            .env("HOME", place)
            .env("XDG_STATE_HOME", place.join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start a worker")?;
        let orders = child.stdin.take().context("its stdin is a pipe")?;
        let answers = BufReader::new(child.stdout.take().context("its stdout is a pipe")?);
        Ok(Self { child, orders, answers })
    }

    fn batch(&mut self) -> Result<Duration> {
        let started = Instant::now();
        writeln!(self.orders, "{BATCH}").context("the worker is gone")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).context("the worker does not answer")?;
        ensure!(answer == "done\n", "the worker did not do its batch");
        Ok(started.elapsed())
    }

    fn end(mut self) -> Result<()> {
        drop(self.orders);
        let status = self.child.wait().context("waiting for a worker")?;
        ensure!(status.success(), "a worker ended with {status}");
        Ok(())
    }
}

/// What the end record of the session says.
fn judging(logs: &Path) -> Option<u64> {
    // What is kept for undo lies beside the log.
    let mut paths = std::fs::read_dir(logs).ok()?.flatten().map(|entry| entry.path());
    let log = paths.find(|path| path.extension().is_some_and(|extension| extension == "jsonl"))?;
    let text = std::fs::read_to_string(log).ok()?;
    let (_, rest) = text.lines().last()?.split_once("\"judging_micros\":")?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}
