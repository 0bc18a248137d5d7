//! What it costs to start a program.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use super::Measured;
use crate::proc;

/// Enough for a median that stays.
const ROUNDS: usize = 200;

/// The median time of `guarded` over that of `plain`, taken in turns, so that a machine that slows down slows both.
pub(crate) fn ratio(guard: &Path, guarded: &[&str], plain: &str) -> Result<Measured> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        with.push(time(Command::new(guard).args(guarded))?);
        without.push(time(&mut Command::new(plain))?);
    }
    Ok(Measured::Ratio(median(with).as_secs_f64() / median(without).as_secs_f64()))
}

fn time(command: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot start `{}`", proc::shown(command)))?;
    anyhow::ensure!(status.success(), "`{}` failed: {status}", proc::shown(command));
    Ok(started.elapsed())
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
