//! Where can it do no harm?
//!
//! In namespaces of its own: a network that holds nothing but the loopback device, homes that are empty and in memory,
//! and processes that end with the first of them. Needs root, or user namespaces.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::Command;

use nix::mount::{MsFlags, mount};

use crate::cache::Programs;
use crate::table::Agent;

/// The first argument of this program when it starts again inside.
pub(crate) const INSIDE: &str = "--inside";

/// The throwaway home.
pub(crate) const HOME: &str = "/home/dev";

/// Runs the trials of one agent inside.
pub(crate) fn run(agent: &Agent, programs: &Programs) -> Result<(), String> {
    let base = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let path = base.path();
    let binary = blastradius_tests::binary();
    // What is needed inside, where the homes are empty.
    let link = |name: &str, target: &Path| {
        std::os::unix::fs::symlink(target, path.join(name)).map_err(|error| format!("{name}: {error}"))
    };
    for name in ["cache", "binary", "work"] {
        fs::create_dir(path.join(name)).map_err(|error| format!("{name}: {error}"))?;
    }
    link("agent", &Path::new("cache").join(&programs.agent))?;
    link("node", &Path::new("cache").join(&programs.node))?;
    fs::copy(&binary, path.join("binary/blastradius"))
        .map_err(|error| format!("{}: {error}", binary.display()))?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    fs::copy(&own, path.join("trial")).map_err(|error| format!("{}: {error}", own.display()))?;
    let mut command = Command::new("unshare");
    if !nix::unistd::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let status = command
        .args(["--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "--"])
        .arg(path.join("trial"))
        .args([INSIDE, agent.name])
        .arg(path)
        .env("BLASTRADIUS_AGENTS_CACHE", &programs.cache)
        .status()
        .map_err(|error| format!("unshare cannot be run: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("inside: {status}")) }
}

/// Makes the place, once inside: the cache under `base`, then memory over every home.
pub(crate) fn furnish(base: &Path) -> Result<(), String> {
    let cache = std::env::var_os("BLASTRADIUS_AGENTS_CACHE").ok_or("no cache was named")?;
    let none = None::<&str>;
    let mounted = mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .and_then(|()| mount(Some(Path::new(&cache)), &base.join("cache"), none, MsFlags::MS_BIND, none))
        .and_then(|()| mount(Some("tmpfs"), "/home", Some("tmpfs"), MsFlags::empty(), Some("mode=755")))
        .and_then(|()| mount(Some("tmpfs"), "/root", Some("tmpfs"), MsFlags::empty(), Some("mode=700")));
    mounted.map_err(|error| format!("mount: {error}"))?;
    raise_loopback().map_err(|error| format!("the loopback device: {error}"))
}

/// `ip link set lo up`, on machines without ip.
fn raise_loopback() -> std::io::Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: all bytes zero are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = (*from).cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the socket is open, and the request outlives the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
