//! The first process of a test guest: it makes a small machine of the root that the kernel unpacked, runs one command, and reports.
//!
//! It reports on the third serial port, in lines that start with a nonce; see `xtask/src/vm/qemu.rs` for the other side. Whatever goes wrong
//! before the command starts is a `fail`: a test must not run on less than what was asked for.

mod conf;
mod copy;
mod devices;
mod mounts;
mod ports;
mod relay;
mod root;
mod scratch;

use std::{
    fs::File,
    io::{self, Write as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Command, ExitStatus, Stdio},
};

use anyhow::{Context as _, Result};
use nix::{
    sys::{
        reboot::{RebootMode, reboot},
        termios::tcdrain,
        wait::{WaitStatus, wait},
    },
    unistd::{Pid, setsid},
};

use conf::Conf;

/// What programs find in their environment if the request does not say otherwise.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("HOME", "/root"),
    ("LANG", "C.UTF-8"),
    ("LOGNAME", "root"),
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("SHELL", "/bin/sh"),
    ("TERM", "dumb"),
    ("USER", "root"),
];

fn main() {
    let report = match mounts::first().and_then(|()| Conf::take()) {
        Ok(conf) => {
            let said = match run(&conf) {
                Ok(status) => verdict(status),
                // One line is what the other side reads.
                Err(error) => format!("fail {}", format!("{error:#}").replace('\n', " ")),
            };
            say(&conf.nonce, &said)
        }
        // Without a nonce nobody believes us: the kernel's log is all there is.
        Err(error) => {
            println!("guest-init: {error:#}");
            Ok(())
        }
    };
    if let Err(error) = report {
        println!("guest-init: {error:#}");
    }
    // QEMU was told not to reboot, so this ends it. It returns only on failure, and then the kernel panics over our end.
    let _ = reboot(RebootMode::RB_AUTOBOOT);
}

fn verdict(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => format!("fail the command ended in an unheard-of way: {status}"),
    }
}

/// Writes a line to the control port and waits until it has left.
fn say(nonce: &str, what: &str) -> Result<()> {
    let mut port = ports::open(ports::CONTROL)?;
    writeln!(port, "{nonce} {what}").context("cannot write to the control port")?;
    tcdrain(&port).context("cannot flush the control port")
}

fn run(conf: &Conf) -> Result<ExitStatus> {
    devices::prepare(conf)?;
    root::settle(conf)?;
    mounts::all()?;
    scratch::mount(conf)?;
    let (reader, writer) = io::pipe().context("cannot make a pipe for the command's output")?;
    let relay = relay::Relay::start(reader, ports::open(ports::OUTPUT)?);
    let mut command = command(conf, &writer)?;
    say(&conf.nonce, "start")?;
    let child = command
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
    // Only what the guest's processes hold of it counts from now on.
    drop((command, writer));
    let status =
        reap_until(Pid::from_raw(i32::try_from(child.id()).context("the command's pid is no pid")?))?;
    relay.finish()?;
    Ok(status)
}

/// Output goes through a pipe: a program that finds a terminal behaves differently.
fn command(conf: &Conf, output: &io::PipeWriter) -> Result<Command> {
    let (program, arguments) = conf.command.split_first().context("there is no command to run")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(ENVIRONMENT.iter().copied())
        .envs(conf.environment.iter().cloned())
        .current_dir("/scratch")
        .stdin(Stdio::from(File::open("/dev/null").context("cannot open /dev/null")?))
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    // SAFETY: setsid is async-signal-safe, and nothing else happens between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(setsid().map(drop)?));
    }
    Ok(command)
}

/// The first process inherits every orphan, so it waits for all of them until the one that counts has ended.
fn reap_until(child: Pid) -> Result<ExitStatus> {
    loop {
        match wait().context("cannot wait for the command")? {
            WaitStatus::Exited(pid, code) if pid == child => return Ok(ExitStatus::from_raw(code << 8)),
            WaitStatus::Signaled(pid, signal, _) if pid == child => {
                return Ok(ExitStatus::from_raw(signal as i32));
            }
            _ => {}
        }
    }
}
