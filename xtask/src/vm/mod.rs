//! `cargo xtask vm`: runs a command under another kernel.
//!
//! QEMU without hardware help (TCG), because a test machine often has none, or has one that stock kernels do not boot under. A guest is a
//! kernel of Debian's, a small root in memory and one command. It is no machine to live on, but it boots in seconds.

mod cpio;
mod disks;
pub(crate) mod fetch;
mod init;
mod klog;
mod modules;
mod payload;
mod qemu;
pub(crate) mod table;

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{BufWriter, Read as _, Write},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use crate::{
    proc,
    setup::{self, requirements::Job},
};
use cpio::{Archive, Mode};
use disks::Disks;
use fetch::Fetched;
use qemu::{End, Machine};
use table::Table;

/// What the kernel log has to complain of outweighs a command that is content.
const KERNEL_COMPLAINED: i32 = 123;
const TIMED_OUT: i32 = 124;
const NEVER_STARTED: i32 = 125;

/// Run a command under another kernel, in a virtual machine
///
/// The exit code is the command's; 128+N if signal N ended it; 123 if the kernel logged a BUG, an oops or a WARNING; 124 if time was up; 125 if
/// the guest did not boot, or died. The command runs as root in /scratch, with no network. CMD is a program of this machine, which is copied
/// with its libraries, or else one of busybox's.
#[derive(Debug, Clone, Args)]
pub(crate) struct Request {
    /// A series of vm/kernels.toml
    #[arg(long, default_value = "6.12")]
    pub(crate) kernel: String,
    /// How many CPUs the guest has; with --icount it has one
    #[arg(long, default_value_t = 2)]
    pub(crate) cpus: u32,
    /// How much memory the guest has, in MiB
    #[arg(long, default_value_t = 1024)]
    pub(crate) mem: u32,
    /// When to give up, in seconds
    #[arg(long, default_value_t = 180)]
    pub(crate) timeout: u64,
    /// More for the kernel's command line, such as lsm=landlock,yama
    #[arg(long, allow_hyphen_values = true, default_value = "")]
    pub(crate) append: String,
    /// The file system of /scratch
    #[arg(long, value_enum, default_value_t = FileSystem::Tmpfs)]
    pub(crate) fs: FileSystem,
    /// The guest's root: a directory, the image of an ext4 file system, or `debian` for a Debian 12 that is made once; what the guest writes
    /// to it is dropped. Without this it is a small one in memory
    #[arg(long)]
    pub(crate) root: Option<String>,
    /// A file or directory for the guest, with the libraries of the programs in it; at the same path, or at DST
    #[arg(long, value_name = "SRC[:DST]")]
    pub(crate) copy: Vec<String>,
    /// A variable for the command's environment
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Let time pass by instructions executed: slow, but the same in each run
    #[arg(long)]
    pub(crate) icount: bool,
    /// Accept a kernel log with complaints
    #[arg(long)]
    pub(crate) allow_warnings: bool,
    /// Show the kernel's log when the guest has ended
    #[arg(long)]
    pub(crate) show_log: bool,
    /// Show the table of kernels, and which are in the cache
    #[arg(long)]
    pub(crate) list: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "list", value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// What /scratch may be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileSystem {
    /// On a disk
    Ext4,
    /// On a disk
    Xfs,
    /// On a disk
    Btrfs,
    /// In memory
    Tmpfs,
    /// An overlay of two directories of a tmpfs
    Overlay,
}

impl FileSystem {
    fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Tmpfs => "tmpfs",
            Self::Overlay => "overlay",
        }
    }
}

impl Request {
    /// A command on a kernel, and the rest as it is when nothing is said.
    pub(crate) fn new(kernel: &str, command: Vec<OsString>) -> Self {
        Self {
            kernel: kernel.to_owned(),
            cpus: 2,
            mem: 1024,
            timeout: 180,
            append: String::new(),
            fs: FileSystem::Tmpfs,
            root: None,
            copy: Vec::new(),
            env: Vec::new(),
            icount: false,
            allow_warnings: false,
            show_log: false,
            list: false,
            command,
        }
    }
}

/// Boots, runs, and returns the exit code. What happened is told on standard error.
pub(crate) fn run(request: &Request) -> Result<i32> {
    let table = Table::read()?;
    if request.list {
        list(&table)?;
        return Ok(0);
    }
    let kernel = table.kernel(&request.kernel)?;
    setup::ensure(&[Job::Vm])?;
    let fetched = fetch::ensure(&table, kernel, false)?;
    let work = tempfile::Builder::new().prefix("blastradius-vm-").tempdir()?;
    let nonce = nonce()?;
    let initrd = work.path().join("initrd");
    let disks = disks::make(request, work.path())?;
    let conf = configuration(request, &disks, &nonce);
    write_initrd(&initrd, &fetched, request, conf).context("cannot put the guest's root together")?;
    let cpus = if request.icount { 1 } else { request.cpus };
    let append = format!("{} {}", kernel.append, request.append);
    eprintln!(
        "xtask vm: Linux {} ({}), {cpus} CPU(s), emulated",
        fetched.about.version, fetched.about.release
    );
    let machine = Machine {
        image: &fetched.dir.join("vmlinuz"),
        initrd: &initrd,
        append: append.trim(),
        cpus,
        memory: request.mem,
        disks: &disks.all,
        icount: request.icount,
        timeout: Duration::from_secs(request.timeout),
        work: work.path(),
    };
    let started = std::time::Instant::now();
    let ended = qemu::boot(&machine, &nonce)?;
    Ok(judge(request, &ended, started.elapsed()))
}

fn list(table: &Table) -> Result<()> {
    for kernel in &table.kernels {
        let cached = fetch::cached(kernel)?;
        let version = cached.map_or_else(|| "not fetched".to_owned(), |fetched| fetched.about.version);
        let lsm = if kernel.lsm_bpf { "" } else { " (bpf added to its security modules)" };
        println!("{:<7} {version:<20} {:<9} {}{lsm}", kernel.series, kernel.need.name(), kernel.why);
    }
    Ok(())
}

/// Says what happened, and turns it into an exit code.
fn judge(request: &Request, ended: &qemu::Ended, took: Duration) -> i32 {
    if request.show_log {
        eprintln!("{}", ended.log);
    }
    let (mut code, what) = match &ended.end {
        End::Exited(code) => (*code, format!("exit {code}")),
        End::Signalled(signal) => (128 + signal, format!("ended by signal {signal}")),
        End::TimedOut => (TIMED_OUT, format!("still running after {} s, stopped", request.timeout)),
        End::NeverStarted(why) => (NEVER_STARTED, format!("the command never started: {why}")),
        End::NotBooted(why) => (NEVER_STARTED, (*why).to_owned()),
        End::Died => (NEVER_STARTED, "the guest died before the command ended".to_owned()),
    };
    if matches!(ended.end, End::NotBooted(_) | End::Died | End::TimedOut) && !request.show_log {
        eprintln!("xtask vm: the end of the kernel's log:\n{}", klog::tail(&ended.log, 40));
    }
    if let Some(complaint) = klog::complaint(&ended.log) {
        eprintln!("xtask vm: the kernel complained:\n{complaint}");
        let ran = matches!(ended.end, End::Exited(_) | End::Signalled(_));
        if ran && !request.allow_warnings {
            code = KERNEL_COMPLAINED;
        }
    }
    let boot =
        ended.booted.map_or(String::new(), |boot| format!(", {:.1} s of it to boot", boot.as_secs_f64()));
    eprintln!("xtask vm: {what}; {:.1} s{boot}", took.as_secs_f64());
    code
}

/// Random, so that the command cannot know it: the init reads it from a file that is gone when the command starts.
fn nonce() -> Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn write_initrd(path: &Path, fetched: &Fetched, request: &Request, mut conf: Vec<u8>) -> Result<()> {
    let mut archive = Archive::new(BufWriter::new(File::create(path)?))?;
    if request.root.is_some() {
        // The init copies it onto the disk.
        archive.go_below("payload");
    }
    // The command's files come first: a real program takes precedence over busybox's.
    let command = place_command(&mut archive, &request.command, request.root.is_some())?;
    for copy in &request.copy {
        let (from, to) = copy_places(copy)?;
        payload::copy(&mut archive, &from, &to)?;
    }
    archive.go_below("");
    payload::system(&mut archive)?;
    archive.file(Path::new("/init"), Mode::root(0o755), &fs::read(init::build()?)?)?;
    archive.tree(&fetched.dir.join("lib"), Path::new("/lib"))?;
    conf.extend(command.iter().flat_map(|word| entry("arg", word.as_bytes())));
    archive.file(Path::new("/vm.conf"), Mode::root(0o600), &conf)?;
    archive.finish()?;
    Ok(())
}

/// Copies the program that the command names, and returns the command as the guest can run it.
///
/// A root of its own has programs of its own: there, only what is named by its path is copied, if it exists here.
fn place_command<W: Write>(
    archive: &mut Archive<W>,
    command: &[OsString],
    own_root: bool,
) -> Result<Vec<OsString>> {
    let (name, arguments) = command.split_first().context("there is no command to run")?;
    let path = Path::new(name);
    let found = if name.as_bytes().contains(&b'/') {
        Some(env::current_dir()?.join(path)).filter(|path| path.exists())
    } else if own_root {
        None
    } else {
        proc::which(&name.to_string_lossy())
    };
    let mut guest_command = vec![name.clone()];
    if let Some(found) = found {
        payload::copy(archive, &found, &found)?;
        guest_command = vec![found.into_os_string()];
    }
    guest_command.extend_from_slice(arguments);
    Ok(guest_command)
}

/// `SRC` or `SRC:DST`; without DST, the same absolute path.
fn copy_places(copy: &str) -> Result<(PathBuf, PathBuf)> {
    let (from, to) = copy.split_once(':').unwrap_or((copy, ""));
    let from = env::current_dir()?.join(from);
    let to = if to.is_empty() { from.clone() } else { PathBuf::from(to) };
    if !to.is_absolute() {
        bail!("--copy {copy}: the place in the guest must be an absolute path");
    }
    Ok((from, to))
}

/// What the init is to do, but for the command: `name=value` entries, each ended by a NUL, since nothing else cannot occur in an argument.
fn configuration(request: &Request, disks: &Disks, nonce: &str) -> Vec<u8> {
    let disk = |name, device: Option<&str>| device.map(|device| entry(name, device.as_bytes()));
    let entries = [
        Some(entry("nonce", nonce.as_bytes())),
        Some(entry("fs", request.fs.name().as_bytes())),
        disk("root", disks.root.as_deref()),
        disk("scratch", disks.scratch.as_deref()),
    ];
    let variables = request.env.iter().map(|variable| entry("env", variable.as_bytes()));
    entries.into_iter().flatten().chain(variables).flatten().collect()
}

fn entry(name: &str, value: &[u8]) -> Vec<u8> {
    [name.as_bytes(), b"=", value, b"\0"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_say_where() {
        let here = env::current_dir().unwrap();
        assert_eq!(copy_places("/a:/b").unwrap(), ("/a".into(), "/b".into()));
        assert_eq!(copy_places("x").unwrap(), (here.join("x"), here.join("x")));
        assert!(copy_places("/a:b").is_err());
    }
}
