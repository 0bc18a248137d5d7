//! `cargo xtask fuzz`: chance against everything that reads foreign bytes, and random scripts against what bash does.

use std::{
    path::PathBuf,
    process::Command,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::{cargo, proc, setup, setup::requirements::Job, test::steps::WHOLE_TESTS};

/// The target that runs scripts for real.
const TRUTH: &str = "truth";
/// Those that make inputs by chance: `tests/fuzz/targets.rs`.
const FUZZERS: &[&str] = &["parser", "evaluator", "hook", "config"];
/// Scripts of one run of the truth test.
const SCRIPTS: u64 = 500;

/// Look for inputs that break what must hold: random scripts against bash, and fuzzers
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// How long each target is tried
    #[arg(long, value_name = "SECS", default_value_t = 60)]
    time: u64,
    /// Where chance begins [default: somewhere new]
    #[arg(long)]
    seed: Option<u64>,
    /// Try this input once more, on one target
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// truth, parser, evaluator, hook, config [default: all]
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
}

/// Tries one target after another, and stops at the first that finds something.
pub(crate) fn run(request: &Request) -> Result<i32> {
    let all = || std::iter::once(TRUTH).chain(FUZZERS.iter().copied()).map(str::to_owned).collect();
    let targets: Vec<String> = if request.targets.is_empty() { all() } else { request.targets.clone() };
    if let Some(unknown) = targets.iter().find(|name| *name != TRUTH && !FUZZERS.contains(&name.as_str())) {
        bail!("there is no target {unknown}; there are {TRUTH}, {}", FUZZERS.join(", "));
    }
    setup::ensure(&[Job::Build, Job::Programs])?;
    let seed = request
        .seed
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_secs()));
    for target in targets {
        println!("\n== {target}, from seed {seed}");
        let code = if target == TRUTH { truth(request, seed)? } else { fuzzer(&target, request, seed)? };
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}

fn fuzzer(target: &str, request: &Request, seed: u64) -> Result<i32> {
    let mut command = Command::new(cargo::test_program(WHOLE_TESTS, "fuzz")?);
    command.arg(target).args(["--seed", &seed.to_string()]);
    match &request.input {
        Some(file) => command.arg("--input").arg(file),
        None => command.args(["--time", &request.time.to_string()]),
    };
    code(&mut command)
}

/// Runs of the truth test, each with scripts of its own, until the time is over.
fn truth(request: &Request, seed: u64) -> Result<i32> {
    let program = cargo::test_program(WHOLE_TESTS, TRUTH)?;
    let (began, time) = (Instant::now(), Duration::from_secs(request.time));
    let mut first = seed.wrapping_mul(SCRIPTS);
    while began.elapsed() < time {
        let mut command = Command::new(&program);
        command.arg("--nocapture");
        command.env("BLASTRADIUS_TRUTH_SEED", first.to_string());
        command.env("BLASTRADIUS_TRUTH_SCRIPTS", SCRIPTS.to_string());
        let code = code(&mut command)?;
        if code != 0 {
            println!(
                "try it again: BLASTRADIUS_TRUTH_SEED={first} BLASTRADIUS_TRUTH_SCRIPTS={SCRIPTS} cargo test --package {WHOLE_TESTS} --test {TRUTH}"
            );
            return Ok(code);
        }
        first = first.wrapping_add(SCRIPTS);
    }
    Ok(0)
}

fn code(command: &mut Command) -> Result<i32> {
    let status = command.status().with_context(|| format!("cannot start `{}`", proc::shown(command)))?;
    if status.code().is_none() {
        println!("it was killed ({status}): the input lies in target/fuzz/*-current");
    }
    Ok(status.code().unwrap_or(1))
}
