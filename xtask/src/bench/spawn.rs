//! What it costs to start a program.

use std::{
    fmt,
    fs::{self, File},
    io::{Seek as _, Write as _},
    mem::MaybeUninit,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use super::Measured;
use crate::proc;

/// Enough for a median that stays.
const ROUNDS: usize = 300;

/// What one start took.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// Of the process, in user and kernel: other work on the machine does not count.
    cpu: Duration,
}

/// How many times the time of one program another takes.
pub(crate) struct Ratio {
    wall: f64,
    cpu: f64,
    guarded: Cost,
    plain: Cost,
}

impl fmt::Display for Ratio {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wall, cpu, guarded, plain } = self;
        write!(
            out,
            "{cpu:.2} times the CPU time ({:?} to {:?}), {wall:.2} times the elapsed time ({:?} to {:?})",
            guarded.cpu, plain.cpu, guarded.wall, plain.wall
        )
    }
}

/// The median times of `guarded` over those of `plain`, taken in turns, so that a machine that slows down slows both. Both
/// find `input` on their standard input.
pub(crate) fn ratio(program: &Path, guarded: &[&str], plain: &str, input: &str) -> Result<Measured> {
    let place = tempfile::tempdir().context("a temporary directory")?;
    // As it is installed: what a linker has written lies in the page cache in single pages, what was copied in large ones, of
    // which one fault maps more.
    let guard = &place.path().join("blastradius");
    fs::copy(program, guard).with_context(|| program.display().to_string())?;
    let mut file = tempfile::tempfile().context("a temporary file")?;
    file.write_all(input.as_bytes()).context("a temporary file")?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        with.push(cost(Command::new(guard).args(guarded), &mut file)?);
        without.push(cost(&mut Command::new(plain), &mut file)?);
    }
    let medians = |costs: &[Cost]| Cost {
        wall: median(costs.iter().map(|cost| cost.wall).collect()),
        cpu: median(costs.iter().map(|cost| cost.cpu).collect()),
    };
    let (guarded, plain) = (medians(&with), medians(&without));
    let over = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    let (wall, cpu) = (over(guarded.wall, plain.wall), over(guarded.cpu, plain.cpu));
    Ok(Measured::Ratio(Ratio { wall, cpu, guarded, plain }))
}

fn cost(command: &mut Command, input: &mut File) -> Result<Cost> {
    input.rewind().context("a temporary file")?;
    command.stdin(input.try_clone().context("a temporary file")?).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start `{}`", proc::shown(command)))?;
    let pid = libc::pid_t::try_from(child.id()).context("a process id")?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to live variables of the right types, and the child is ours and not yet waited for.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    let wall = started.elapsed();
    anyhow::ensure!(waited == pid && status == 0, "`{}` failed: {status:#x}", proc::shown(command));
    // SAFETY: wait4 has written it; all zeroes would be a value as well.
    let usage = unsafe { usage.assume_init() };
    Ok(Cost { wall, cpu: duration(usage.ru_utime) + duration(usage.ru_stime) })
}

fn duration(time: libc::timeval) -> Duration {
    let micros = time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_usec);
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// The middle one.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([9, 1, 5].map(Duration::from_secs).to_vec()), Duration::from_secs(5));
        assert_eq!(median(Vec::new()), Duration::ZERO);
    }
}
