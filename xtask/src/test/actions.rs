//! How each kind of step is done.

use std::{
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::{Pid, geteuid},
};

use super::{
    Outcome,
    steps::{AGENTS, Action, KERNEL_TESTS, KernelRun, PACKAGES, WHOLE_TESTS},
};
use crate::{
    apt::debootstrap,
    cargo::{self, cargo},
    demo, house, licences, package, proc, program, setup,
    vm::{
        self, fetch,
        table::{Need, Table},
    },
};

/// Does it.
pub(crate) fn perform(action: &Action, limit: Duration) -> Result<Outcome> {
    match *action {
        Action::Cargo { arguments, env } => {
            let mut command = cargo(arguments);
            command.envs(env.iter().copied());
            watch(&mut command, limit)
        }
        Action::Outside { manifest, arguments } => {
            let [verb, rest @ ..] = arguments else { return Ok(Outcome::Passed) };
            watch(cargo(&[verb, "--manifest-path", manifest]).args(rest), limit)
        }
        Action::Tests => all_of([tests(), documentation_tests()], limit),
        Action::Whole { root: Some(why), .. } if !geteuid().is_root() => Ok(Outcome::Skipped(why.into())),
        Action::Whole { target, root: _, only, env } => {
            let mut command = cargo(&["test", "--locked", "--package", WHOLE_TESTS, "--test", target, "--"]);
            command.args(only).envs(env.iter().copied());
            watch(command.env(BINARY, program::build()?), limit)
        }
        Action::ShellScripts => watch(&mut shell_scripts()?, limit),
        Action::Licences => Ok(match licences::run(&licences::Request::default())? {
            0 => Outcome::Passed,
            code => Outcome::Failed(format!("exit {code}")),
        }),
        Action::Packages { .. } if !geteuid().is_root() => {
            Ok(Outcome::Skipped("a fresh Debian takes root".into()))
        }
        Action::Packages { ignored } => watch(&mut packages(ignored)?, limit),
        Action::Agents { .. } if !geteuid().is_root() => {
            Ok(Outcome::Skipped("an agent in namespaces of its own takes root".into()))
        }
        Action::Agents { names } => {
            let mut command = cargo(&["test", "--locked", "--package", WHOLE_TESTS, "--test", AGENTS, "--"]);
            watch(command.args(names).env(BINARY, program::build()?), limit)
        }
        Action::MacOs => foreign(macos(), limit),
        Action::Arm64 => foreign(arm64(), limit),
        Action::Demo if !geteuid().is_root() => Ok(Outcome::Skipped("it takes root".into())),
        Action::Demo => Ok(match demo::run(&demo::Request::default())? {
            0 => Outcome::Passed,
            code => Outcome::Failed(format!("exit {code}")),
        }),
        Action::WholeOn { series, target, programs } => whole_on(series, target, programs, limit),
        Action::Kernel(run) => kernel(&run, limit),
        Action::Soak { series, seconds } => soak(series, seconds, limit),
    }
}

fn all_of(commands: impl IntoIterator<Item = Command>, limit: Duration) -> Result<Outcome> {
    for mut command in commands {
        let outcome = watch(&mut command, limit)?;
        if outcome != Outcome::Passed {
            return Ok(outcome);
        }
    }
    Ok(Outcome::Passed)
}

/// The tests that have no step of their own. The kernel tests are a program for a guest.
fn tests() -> Command {
    let runner: &[&str] = if proc::which("cargo-nextest").is_some() {
        &["nextest", "run", "--no-fail-fast"]
    } else {
        &["test", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]
    };
    let mut command = cargo(runner);
    command.args(["--locked", "--workspace", "--exclude", WHOLE_TESTS, "--exclude", KERNEL_TESTS]);
    command
}

/// nextest does not know these.
fn documentation_tests() -> Command {
    cargo(&["test", "--doc", "--quiet", "--locked", "--workspace"])
}

fn foreign(command: Option<Command>, limit: Duration) -> Result<Outcome> {
    match command {
        Some(mut command) => watch(&mut command, limit),
        None => Ok(Outcome::Failed("no compiler with the sources of its standard library".into())),
    }
}

/// Checks the text layer for macOS.
fn macos() -> Option<Command> {
    let mut command = checked_for("aarch64-apple-darwin")?;
    command.args(["--package=blastradius-user", "--package=blastradius-common"]);
    Some(command)
}

/// Checks all of the program for arm64. The eBPF object is the same on both: any file stands for it where nothing is linked.
fn arm64() -> Option<Command> {
    let mut command = checked_for("aarch64-unknown-linux-gnu")?;
    command.args(["--package=blastradius-user", "--package=blastradius-common"]);
    command.env("BLASTRADIUS_EBPF_OBJECT", house::root().join("Cargo.lock"));
    Some(command)
}

/// A check for a system that no toolchain here has a standard library for: it is checked too, from its sources.
fn checked_for(target: &str) -> Option<Command> {
    let debian = Path::new("/usr/bin/rustc");
    let sources = Path::new("/usr/lib/rustlib/src/rust/library/std");
    let mut command = cargo(&["check", "--locked", "-Zbuild-std", "--target", target]);
    command.arg("--target-dir").arg(house::target().join("foreign").join(target));
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    if debian.is_file() && sources.is_dir() {
        command.env("RUSTC", debian).env("RUSTC_BOOTSTRAP", "1");
        return Some(command);
    }
    if setup::machine::nightly_with_sources() {
        command.env("RUSTUP_TOOLCHAIN", "nightly").env("RUSTC_BOOTSTRAP", "1");
        return Some(command);
    }
    None
}

/// Every shell script of the clone. What they do not find here lies in the places that they run in.
fn shell_scripts() -> Result<Command> {
    let listed = proc::capture(Command::new("git").args(["ls-files", "*.sh"]).current_dir(house::root()))?;
    let mut command = Command::new(proc::which("shellcheck").context("shellcheck is missing")?);
    command.args(["--shell=bash", "--severity=warning"]).args(listed.lines()).current_dir(house::root());
    Ok(command)
}

/// What the fresh Debian has that packages are tried on: Python, for the wheel.
const INSTALLED: &[&str] = &["python3", "python3-venv"];

fn packages(ignored: bool) -> Result<Command> {
    let made = package::directory();
    package::all_into(&made)?;
    let debian = debootstrap::kept("packages", "bookworm", INSTALLED)?;
    let mut command = cargo(&["test", "--locked", "--package", WHOLE_TESTS, "--test", PACKAGES, "--"]);
    if ignored {
        command.arg("--ignored");
    }
    command.env("BLASTRADIUS_PACKAGES", made).env("BLASTRADIUS_DEBIAN", debian);
    Ok(command)
}

/// What the tests of the whole find the program by.
pub(crate) const BINARY: &str = "BLASTRADIUS_BIN";
/// Where the program lies in a guest.
pub(crate) const GUEST_BINARY: &str = "/usr/bin/blastradius";

fn kernel(run: &KernelRun, limit: Duration) -> Result<Outcome> {
    let KernelRun { series, fs, append, program, acts } = run;
    let tests = program::beside(KERNEL_TESTS)?;
    let mut request = vm::Request {
        fs: *fs,
        append: (*append).to_owned(),
        ..vm::Request::new(series, vec![tests.into_os_string()])
    };
    if let Some(acts) = acts {
        request.command.extend(["agreement", "kernel", acts].map(Into::into));
        request.mem = 2048;
    }
    if !program {
        return guest(request, limit);
    }
    let git = proc::which("git").context("git is missing: the kernel tests work with it")?;
    request.command.extend(["both".into(), GUEST_BINARY.into()]);
    request.copy = vec![
        format!("{}:{GUEST_BINARY}", program::build()?.display()),
        format!("{}:/usr/bin/git", git.display()),
    ];
    guest(request, limit)
}

/// Memory is scarce there, so that it is scarce without asking for much.
fn soak(series: &str, seconds: u64, limit: Duration) -> Result<Outcome> {
    let tests = program::beside(KERNEL_TESTS)?;
    let command = vec![tests.into_os_string(), "soak".into(), seconds.to_string().into()];
    guest(vm::Request { mem: 512, ..vm::Request::new(series, command) }, limit)
}

/// The tests lie in the guest where they lie here: their paths are compiled in.
fn whole_on(series: &str, target: &str, programs: &[&str], limit: Duration) -> Result<Outcome> {
    let test = cargo::test_program(WHOLE_TESTS, target)?;
    let program = program::build()?.display().to_string();
    let mut copy = vec![program.clone(), house::root().join("tests").display().to_string()];
    for name in programs {
        let found = proc::which(name).with_context(|| format!("{name} is missing"))?;
        copy.push(found.display().to_string());
    }
    let request = vm::Request {
        root: Some("debian".into()),
        mem: 2048,
        env: vec![format!("{BINARY}={program}"), "BLASTRADIUS_RUNG=kernel".to_owned()],
        copy,
        ..vm::Request::new(series, vec![test.into_os_string(), "--nocapture".into()])
    };
    guest(request, limit)
}

/// Runs something on a kernel. One that cannot be had is a failure, unless the table says otherwise.
fn guest(request: vm::Request, limit: Duration) -> Result<Outcome> {
    let table = Table::read()?;
    let kernel = table.kernel(&request.kernel)?;
    if let Err(error) = fetch::ensure(&table, kernel, false) {
        let why = format!("{error:#}");
        return Ok(match kernel.need {
            Need::Optional => Outcome::Skipped(why),
            Need::Required => Outcome::Failed(why),
        });
    }
    Ok(match vm::run(&vm::Request { timeout: limit.as_secs(), ..request })? {
        0 => Outcome::Passed,
        code => Outcome::Failed(format!("exit {code}")),
    })
}

/// Runs a command with our output, and ends it, with all that it started, when its time is up.
fn watch(command: &mut Command, limit: Duration) -> Result<Outcome> {
    println!("$ {}", proc::shown(command));
    let mut child = command
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start `{}`", proc::shown(command)))?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(match (status.code(), status.signal()) {
                (Some(0), _) => Outcome::Passed,
                (Some(code), _) => Outcome::Failed(format!("exit {code}")),
                (None, signal) => Outcome::Failed(format!("ended by signal {}", signal.unwrap_or_default())),
            });
        }
        if started.elapsed() > limit {
            end(&mut child);
            return Ok(Outcome::Failed(format!("still running after {} minutes", limit.as_secs() / 60)));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn end(child: &mut Child) {
    // The group's number is the child's, and stays taken until we have waited for it.
    if let Ok(group) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Outcome {
        watch(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn commands_pass_fail_and_hang() {
        let long = Duration::from_secs(30);
        assert_eq!(shell("exit 0", long), Outcome::Passed);
        assert_eq!(shell("exit 3", long), Outcome::Failed("exit 3".into()));
        assert_eq!(shell("kill -9 $$", long), Outcome::Failed("ended by signal 9".into()));
        let hung = shell("sleep 60 & wait", Duration::from_millis(100));
        assert!(matches!(hung, Outcome::Failed(why) if why.contains("still running")));
    }
}
