//! What it costs to keep what could be lost.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use super::Measured;
use crate::proc;

/// Enough for a median, few enough to wait for.
const ROUNDS: usize = 9;
/// Files of the clean tree.
const TREE: usize = 20_000;
/// Files that are kept, and their size.
const KEPT: (usize, usize) = (1_000, 10 << 10);

/// Prints the ratios: the start of a session against `git status`, keeping against `cp -a`, and deleting what needs no keeping.
pub(crate) fn ratios(program: &Path) -> Result<Measured> {
    let bench = Bench { program: program.to_owned(), dir: tempdir()? };
    let done = bench.print();
    fs::remove_dir_all(&bench.dir)?;
    done?;
    Ok(Measured::Printed)
}

fn tempdir() -> Result<PathBuf> {
    let dir = Path::new("/var/tmp").join(format!("blastradius-bench-{}", std::process::id()));
    fs::create_dir(&dir).with_context(|| dir.display().to_string())?;
    Ok(dir)
}

struct Bench {
    program: PathBuf,
    dir: PathBuf,
}

impl Bench {
    fn print(&self) -> Result<()> {
        let tree = self.clean_tree()?;
        let plain = ["run", "--no-undo", "--", "/bin/true"];
        let kept = ["run", "--", "/bin/true"];
        let [without, with, status] =
            medians([&|| self.guarded(&tree, &plain), &|| self.guarded(&tree, &kept), &|| {
                time(Command::new("git").args(["status", "--porcelain"]).current_dir(&tree))
            }])?;
        println!(
            "session start, {TREE} clean files: {:.2} times `git status` ({status:.1?})",
            ratio(with.saturating_sub(without), status)
        );

        let files = self.loose_files()?;
        let copy = self.dir.join("copy");
        let store = self.dir.join("home/.local/state/blastradius/undo");
        let [without, with, copying] = medians([
            &|| self.guarded(&files, &plain),
            &|| {
                let _ = fs::remove_dir_all(&store);
                self.guarded(&files, &kept)
            },
            &|| {
                let _ = fs::remove_dir_all(&copy);
                time(Command::new("cp").arg("-a").arg(&files).arg(&copy))
            },
        ])?;
        println!(
            "keeping {} files of {} KiB: {:.2} times `cp -a` ({copying:.1?})",
            KEPT.0,
            KEPT.1 >> 10,
            ratio(with.saturating_sub(without), copying)
        );

        let deletes =
            "mkdir build; for i in 1 2 3 4 5 6 7 8 9; do touch build/$i; rm build/$i; done; rmdir build";
        let [without, with] =
            medians([&|| self.guarded(&tree, &["run", "--no-undo", "--", "sh", "-c", deletes]), &|| {
                self.guarded(&tree, &["run", "--", "sh", "-c", deletes])
            }])?;
        let [start_without, start_with] =
            medians([&|| self.guarded(&tree, &plain), &|| self.guarded(&tree, &kept)])?;
        println!(
            "20 programs that delete what needs no keeping: {:.2} times the time, starts taken off",
            ratio(with.saturating_sub(start_with), without.saturating_sub(start_without))
        );
        Ok(())
    }

    fn clean_tree(&self) -> Result<PathBuf> {
        let tree = self.dir.join("tree");
        for number in 0..TREE {
            let file = tree.join(format!("d{}/e{}/f{number}", number % 40, number % 7));
            fs::create_dir_all(file.parent().unwrap_or(&tree))?;
            fs::write(file, format!("file {number}\n"))?;
        }
        let script = "git init -q . && git add . && \
             git -c user.name=b -c user.email=b@example.invalid commit -qm all && git status --porcelain";
        proc::run(Command::new("sh").args(["-c", script]).current_dir(&tree))?;
        Ok(tree)
    }

    fn loose_files(&self) -> Result<PathBuf> {
        let dir = self.dir.join("files");
        fs::create_dir(&dir)?;
        let line = "some text that is not all the same, number ";
        for number in 0..KEPT.0 {
            let mut text = String::new();
            for at in 0.. {
                if text.len() >= KEPT.1 {
                    break;
                }
                text.push_str(&format!("{line}{}\n", number * 7919 + at));
            }
            fs::write(dir.join(number.to_string()), text)?;
        }
        Ok(dir)
    }

    fn guarded(&self, tree: &Path, args: &[&str]) -> Result<Duration> {
        let home = self.dir.join("home");
        fs::create_dir_all(&home)?;
        time(
            Command::new(&self.program)
                .args(args)
                .current_dir(tree)
                .env("HOME", home)
                .env_remove("XDG_STATE_HOME"),
        )
    }
}

type Job<'a> = &'a dyn Fn() -> Result<Duration>;

/// The medians of jobs that are done in turns, so that a machine that slows down slows all.
fn medians<const N: usize>(jobs: [Job<'_>; N]) -> Result<[Duration; N]> {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (job, times) in jobs.iter().zip(&mut times) {
            times.push(job()?);
        }
    }
    Ok(times.map(|mut times| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }))
}

fn ratio(cost: Duration, unit: Duration) -> f64 {
    cost.as_secs_f64() / unit.as_secs_f64()
}

fn time(command: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot start `{}`", proc::shown(command)))?;
    anyhow::ensure!(status.success(), "`{}` failed: {status}", proc::shown(command));
    Ok(started.elapsed())
}
