//! Makes a machine of the kernel's first root: mounts, modules, the scratch disk, the serial ports.

use std::{
    env,
    fs::{self, File, OpenOptions},
    os::unix::fs::{PermissionsExt as _, chroot},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use nix::{
    mount::{MsFlags, mount},
    sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr},
    unistd::sethostname,
};

/// One file system to mount.
struct Mount {
    kind: &'static str,
    at: &'static str,
    data: &'static str,
}

const fn on(kind: &'static str, at: &'static str, data: &'static str) -> Mount {
    Mount { kind, at, data }
}

/// In this order. All of them must be there: a kernel that lacks one is none that the guard is tested on.
const MOUNTS: &[Mount] = &[
    on("proc", "/proc", ""),
    on("sysfs", "/sys", ""),
    on("devtmpfs", "/dev", "mode=0755"),
    on("devpts", "/dev/pts", "mode=0620,ptmxmode=0666"),
    on("tmpfs", "/dev/shm", "mode=1777"),
    on("tmpfs", "/run", "mode=0755"),
    on("tmpfs", "/tmp", "mode=1777"),
    on("cgroup2", "/sys/fs/cgroup", ""),
    on("bpf", "/sys/fs/bpf", "mode=0700"),
    on("securityfs", "/sys/kernel/security", ""),
    on("debugfs", "/sys/kernel/debug", ""),
    on("tracefs", "/sys/kernel/tracing", ""),
];

/// The links that udev makes elsewhere.
const LINKS: &[(&str, &str)] = &[
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

const NONE: Option<&str> = None;

/// Moves the root onto a mount of its own, then mounts what a machine has.
pub(crate) fn first_mounts() -> Result<()> {
    // The kernel's first root has no parent mount, so that pivot_root(2), which sandboxes call, does not work there. Bound onto itself and
    // moved to the top it has one.
    fs::create_dir_all("/newroot").context("cannot make /newroot")?;
    mount(Some("/"), "/newroot", NONE, MsFlags::MS_BIND, NONE).context("cannot bind the root")?;
    env::set_current_dir("/newroot")?;
    mount(Some("."), "/", NONE, MsFlags::MS_MOVE, NONE).context("cannot move the root")?;
    chroot(".").context("cannot enter the root")?;
    env::set_current_dir("/")?;
    fs::remove_dir("/newroot").context("cannot remove /newroot")?;
    // A tmpfs starts out as open as /tmp.
    fs::set_permissions("/", fs::Permissions::from_mode(0o755)).context("cannot close up the root")?;
    for Mount { kind, at, data } in MOUNTS {
        fs::create_dir_all(at).with_context(|| format!("cannot make {at}"))?;
        let filled = fs::read_dir(at)?.next().is_some() && *kind == "tmpfs";
        let first = if filled { "/filling" } else { at };
        fs::create_dir_all(first)?;
        mount(Some(*kind), first, Some(*kind), MsFlags::empty(), Some(*data))
            .with_context(|| format!("cannot mount {kind} on {at}"))?;
        if filled {
            fill(first, at)?;
        }
    }
    for (link, to) in LINKS {
        // devtmpfs has some of them on some kernels.
        if !Path::new(link).exists() {
            std::os::unix::fs::symlink(to, link).with_context(|| format!("cannot link {link}"))?;
        }
    }
    Ok(())
}

/// What the request put where a tmpfs comes to lie moves into it.
fn fill(new: &str, at: &str) -> Result<()> {
    quietly("cp", &["-a", &format!("{at}/."), new]).with_context(|| format!("cannot fill {at}"))?;
    mount(Some(new), at, NONE, MsFlags::MS_MOVE, NONE)
        .with_context(|| format!("cannot move {new} to {at}"))?;
    fs::remove_dir(new).with_context(|| format!("cannot remove {new}"))
}

/// Names the machine, brings up the loopback device and mounts /scratch.
pub(crate) fn finish(file_system: &str) -> Result<()> {
    sethostname("guest").context("cannot set the host's name")?;
    quietly("ip", &["link", "set", "lo", "up"]).context("cannot bring up the loopback device")?;
    match file_system {
        "tmpfs" => tmpfs("/scratch"),
        "overlay" => overlay(),
        disk => scratch_disk(disk),
    }?;
    fs::set_permissions("/scratch", fs::Permissions::from_mode(0o755)).context("cannot open up /scratch")
}

fn tmpfs(at: &str) -> Result<()> {
    mount(Some("tmpfs"), at, Some("tmpfs"), MsFlags::empty(), NONE)
        .with_context(|| format!("cannot mount a tmpfs on {at}"))
}

fn overlay() -> Result<()> {
    // The module is built in or not; the mount tells.
    let _ = quietly("modprobe", &["overlay"]);
    let below = "/run/overlay";
    fs::create_dir(below)?;
    tmpfs(below)?;
    for dir in ["lower", "upper", "work"] {
        fs::create_dir(Path::new(below).join(dir))?;
    }
    let data = format!("lowerdir={below}/lower,upperdir={below}/upper,workdir={below}/work");
    mount(Some("overlay"), "/scratch", Some("overlay"), MsFlags::empty(), Some(data.as_str()))
        .context("cannot mount an overlay on /scratch")
}

const DISK: &str = "/dev/vda";

fn scratch_disk(kind: &str) -> Result<()> {
    for module in ["virtio_pci", "virtio_blk", "crc32c-cryptoapi", kind] {
        // As above. Not every kernel has each of them.
        let _ = quietly("modprobe", &[module]);
    }
    wait_for(DISK)?;
    mount(Some(DISK), "/scratch", Some(kind), MsFlags::empty(), NONE)
        .with_context(|| format!("cannot mount {DISK} as {kind} on /scratch"))
}

/// A device appears some time after its driver.
fn wait_for(device: &str) -> Result<()> {
    let patience = Duration::from_secs(20);
    let started = Instant::now();
    while !Path::new(device).exists() {
        if started.elapsed() > patience {
            bail!("there is no {device} after {} s", patience.as_secs());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn quietly(program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new("/bin/busybox").arg(program).args(arguments).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Opens a serial port that passes bytes on as they are.
pub(crate) fn port(path: &str) -> Result<File> {
    let port = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .with_context(|| format!("cannot open {path}"))?;
    let mut settings = tcgetattr(&port).with_context(|| format!("{path} is no serial port"))?;
    cfmakeraw(&mut settings);
    tcsetattr(&port, SetArg::TCSANOW, &settings).with_context(|| format!("cannot set up {path}"))?;
    Ok(port)
}
