//! Starts QEMU, watches it, and reads what became of the guest.
//!
//! Three serial ports: the kernel's log, what the command writes, and the verdict of the guest's init. The verdict carries a nonce, so that
//! nothing a command prints can pass for it.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use nix::sys::{prctl, signal::Signal};

use crate::proc;

/// The machine to start.
pub(crate) struct Machine<'a> {
    /// The kernel image.
    pub(crate) image: &'a Path,
    /// The archive of the guest's root.
    pub(crate) initrd: &'a Path,
    /// The kernel's command line, after what every guest gets.
    pub(crate) append: &'a str,
    /// How many CPUs it has.
    pub(crate) cpus: u32,
    /// How much memory it has, in MiB.
    pub(crate) memory: u32,
    /// Its disks, in the order that the guest sees them.
    pub(crate) disks: &'a [Disk],
    /// Whether time passes by instructions executed, not by the clock.
    pub(crate) icount: bool,
    /// When to give up.
    pub(crate) timeout: Duration,
    /// A directory for the logs.
    pub(crate) work: &'a Path,
}

/// A disk.
#[derive(Debug)]
pub(crate) struct Disk {
    /// The file that it is.
    pub(crate) image: PathBuf,
    /// Whether what the guest writes is dropped at its end.
    pub(crate) forget: bool,
}

/// What became of the guest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The command ended with this code.
    Exited(i32),
    /// The command was ended by this signal.
    Signalled(i32),
    /// The command ran when time was up.
    TimedOut,
    /// The guest's init could not start the command, and said why.
    NeverStarted(String),
    /// The guest did not get to where the command starts.
    NotBooted(&'static str),
    /// The guest ended before the command did.
    Died,
}

/// A guest that has ended.
pub(crate) struct Ended {
    /// How.
    pub(crate) end: End,
    /// How long it took to start the command, if it did.
    pub(crate) booted: Option<Duration>,
    /// What the kernel logged.
    pub(crate) log: String,
}

/// What every guest's kernel is told. The watchdogs wait longer than usual, since an emulated CPU on a busy machine is slow, not stuck.
const COMMAND_LINE: &str = "console=ttyS0 quiet loglevel=5 panic=-1 reboot=t rdinit=/init random.trust_cpu=on \
    watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300 mitigations=off";

/// How long a guest may take to go after it has given its verdict.
const GRACE: Duration = Duration::from_secs(5);

/// Boots the machine and waits for its end. Its command's output goes to our standard output as it comes.
pub(crate) fn boot(machine: &Machine<'_>, nonce: &str) -> Result<Ended> {
    let log = machine.work.join("kernel.log");
    let control = machine.work.join("control");
    for file in [&log, &control] {
        File::create(file)?;
    }
    let started = Instant::now();
    let mut guest = Guest(start(machine, &log, &control)?);
    let mut booted = None;
    let mut verdict_at: Option<Instant> = None;
    let read = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let mut out_of_time = false;
    loop {
        let said = Control::parse(&read(&control)?, nonce);
        if said.started && booted.is_none() {
            booted = Some(started.elapsed());
        }
        if said.end.is_some() && verdict_at.is_none() {
            verdict_at = Some(Instant::now());
        }
        if guest.0.try_wait()?.is_some() || verdict_at.is_some_and(|at| at.elapsed() > GRACE) {
            break;
        }
        if verdict_at.is_none() && started.elapsed() > machine.timeout {
            out_of_time = true;
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    drop(guest);
    let said = Control::parse(&read(&control)?, nonce);
    let end = match said.end {
        Some(end) => end,
        None if said.started && out_of_time => End::TimedOut,
        None if said.started => End::Died,
        None if out_of_time => End::NotBooted("the guest had not booted when time was up"),
        None => End::NotBooted("the guest ended while booting"),
    };
    Ok(Ended { end, booted, log: read(&log)? })
}

/// The QEMU process, which goes when we do.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(machine: &Machine<'_>, log: &Path, control: &Path) -> Result<Child> {
    let Machine { image, initrd, append, cpus, memory, disks, icount, .. } = machine;
    let program = proc::which("qemu-system-x86_64").context("qemu-system-x86_64 is missing")?;
    let mut command = Command::new(program);
    command
        .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"])
        .args(["-machine", "pc", "-cpu", "max"])
        .args(["-accel", if *icount { "tcg,thread=single" } else { "tcg" }])
        .args(["-smp", &cpus.to_string(), "-m", &memory.to_string()])
        .arg("-kernel")
        .arg(image)
        .arg("-initrd")
        .arg(initrd)
        .args(["-append", &format!("{COMMAND_LINE} {append}")]);
    let ports = [
        ("log", format!("file,id=log,path={}", log.display())),
        ("output", "stdio,id=output,signal=off,mux=off".to_owned()),
        ("control", format!("file,id=control,path={}", control.display())),
    ];
    for (name, port) in ports {
        command.args(["-chardev", &port, "-serial", &format!("chardev:{name}")]);
    }
    if *icount {
        command.args(["-icount", "shift=0,sleep=off"]);
    }
    for (number, Disk { image, forget }) in disks.iter().enumerate() {
        let snapshot = if *forget { "on" } else { "off" };
        let image = image.display();
        command
            .args([
                "-drive",
                &format!("file={image},format=raw,if=none,id=disk{number},cache=unsafe,snapshot={snapshot}"),
            ])
            .args(["-device", &format!("virtio-blk-pci,drive=disk{number}")]);
    }
    // SAFETY: prctl is async-signal-safe, and nothing else happens between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGKILL)?));
    }
    command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot start `{}`", proc::shown(&command)))
}

/// What the guest's init has said so far: lines of `NONCE start`, `NONCE exit N`, `NONCE signal N` or `NONCE fail TEXT`.
#[derive(Debug, Default)]
struct Control {
    started: bool,
    end: Option<End>,
}

impl Control {
    fn parse(text: &str, nonce: &str) -> Self {
        let mut said = Self::default();
        // A line without its end is still being written.
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let Some(rest) = line.trim_end().strip_prefix(nonce) else { continue };
            let (verb, value) = rest.trim_start().split_once(' ').unwrap_or((rest.trim(), ""));
            said.end = match (verb, value.parse()) {
                ("start", _) => {
                    said.started = true;
                    continue;
                }
                ("exit", Ok(code)) => Some(End::Exited(code)),
                ("signal", Ok(signal)) => Some(End::Signalled(signal)),
                ("fail", _) => Some(End::NeverStarted(value.to_owned())),
                _ => continue,
            };
            break;
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_nonce_gives_a_verdict() {
        let said = Control::parse("exit 0\nother exit 0\n", "n0");
        assert!(!said.started && said.end.is_none());
        let said = Control::parse("n0 start\r\nn0 exit 42\r\nn0 exit 0\n", "n0");
        assert!(said.started);
        assert_eq!(said.end, Some(End::Exited(42)));
        assert_eq!(Control::parse("n0 start\nn0 signal 11\n", "n0").end, Some(End::Signalled(11)));
        assert_eq!(
            Control::parse("n0 fail cannot mount /scratch\n", "n0").end,
            Some(End::NeverStarted("cannot mount /scratch".into()))
        );
        assert_eq!(Control::parse("n0 exit 4", "n0").end, None, "half a line is none");
    }
}
