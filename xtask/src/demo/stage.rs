//! The throwaway root, and one act in it.
//!
//! This runs as the first process of namespaces of its own. The machine's root is only the lower layer of an overlay: every write lands in
//! memory and is dropped when we end. It refuses to go on outside of such namespaces.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Seek as _, SeekFrom},
    os::unix::{fs::chroot, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio, id},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use nix::{
    mount::{MsFlags, mount},
    sys::stat::{Mode, SFlag, makedev, mknod},
    unistd::{Gid, Uid, setgid, setgroups, setuid},
};
use serde::{Deserialize, Serialize};

use super::acts::{ACTS, Act, PROJECT, Stakes};
use crate::proc;

/// One act, on a stage that is there already: not for people.
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Which act
    act: String,
    /// The directory with what the acts need
    props: PathBuf,
    /// Put the guard in front of it
    #[arg(long)]
    guarded: bool,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// What there was to lose outside of the project.
    pub(crate) outside: Count,
    /// What there was to lose in the project, which the agent may delete.
    pub(crate) inside: Count,
    /// What should have gone and is still there.
    pub(crate) left: Vec<String>,
    /// The exit code, or 128+N for a signal.
    pub(crate) code: i32,
    /// What it printed.
    pub(crate) output: String,
}

/// A number of files, before and after.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Count {
    /// Before.
    pub(crate) before: usize,
    /// Of these, how many have the same content after.
    pub(crate) after: usize,
}

const DEV: u32 = 1000;

/// What the agent finds in its environment. AGENT_TMP and SID are not set.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("HOME", "/home/dev"),
    ("LANG", "C.UTF-8"),
    ("LOGNAME", "dev"),
    ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
    ("SHELL", "/bin/sh"),
    ("USER", "dev"),
];

/// How long an act may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Performs it and writes the report to standard output.
pub(crate) fn run(request: &Request) -> Result<i32> {
    if id() != 1 {
        bail!("a stage needs namespaces of its own: use `cargo xtask demo`");
    }
    let act = ACTS.iter().find(|act| act.name == request.act).context("there is no such act")?;
    let root = build(&request.props)?;
    let report = perform(act, &root, request.guarded)?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(0)
}

const NONE: Option<&str> = None;

fn build(props: &Path) -> Result<PathBuf> {
    let stage = Path::new("/mnt");
    tmpfs(stage, "mode=0755,size=512m")?;
    let [upper, work, root] = ["upper", "work", "root"].map(|name| stage.join(name));
    for dir in [&upper, &work, &root] {
        fs::create_dir(dir)?;
    }
    let data = format!("lowerdir=/,upperdir={},workdir={}", upper.display(), work.display());
    mount(Some("overlay"), &root, Some("overlay"), MsFlags::empty(), Some(data.as_str()))
        .context("cannot lay a throwaway root over this machine's")?;
    for (dir, mode) in
        [("tmp", "mode=1777"), ("var/tmp", "mode=1777"), ("run", "mode=0755"), ("home", "mode=0755")]
    {
        fs::create_dir_all(root.join(dir))?;
        tmpfs(&root.join(dir), mode)?;
    }
    mount(Some("proc"), &root.join("proc"), Some("proc"), MsFlags::empty(), NONE)
        .context("cannot mount /proc")?;
    devices(&root)?;
    people(&root)?;
    fs::create_dir_all(root.join("opt/demo"))?;
    for prop in fs::read_dir(props)? {
        let prop = prop?;
        fs::copy(prop.path(), root.join("opt/demo").join(prop.file_name()))?;
    }
    proc::run(inside(&root).args(["-c", ". /opt/demo/home.sh"]).stdout(Stdio::null()))?;
    Ok(root)
}

fn tmpfs(at: &Path, data: &str) -> Result<()> {
    mount(Some("tmpfs"), at, Some("tmpfs"), MsFlags::empty(), Some(data))
        .with_context(|| format!("cannot mount a tmpfs on {}", at.display()))
}

/// The harmless ones: the machine's disks are not on stage.
fn devices(root: &Path) -> Result<()> {
    let dev = root.join("dev");
    tmpfs(&dev, "mode=0755")?;
    for (name, minor) in [("null", 3), ("zero", 5), ("full", 7), ("random", 8), ("urandom", 9)] {
        let node = dev.join(name);
        mknod(&node, SFlag::S_IFCHR, Mode::empty(), makedev(1, minor))
            .with_context(|| format!("cannot make {}", node.display()))?;
        // mknod's own mode goes through the umask.
        fs::set_permissions(&node, std::os::unix::fs::PermissionsExt::from_mode(0o666))?;
    }
    fs::create_dir(dev.join("shm"))?;
    tmpfs(&dev.join("shm"), "mode=1777")?;
    for (name, to) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        std::os::unix::fs::symlink(to, dev.join(name))?;
    }
    Ok(())
}

/// One person, whatever accounts this machine has.
fn people(root: &Path) -> Result<()> {
    let passwd = root.join("etc/passwd");
    let system = fs::read_to_string(&passwd)?;
    let is_system = |line: &&str| {
        line.split(':').nth(2).and_then(|uid| uid.parse::<u32>().ok()).is_some_and(|uid| uid < DEV)
    };
    let kept: Vec<&str> =
        system.lines().filter(is_system).chain(["dev:x:1000:1000::/home/dev:/bin/sh"]).collect();
    fs::write(&passwd, kept.join("\n") + "\n").context("cannot write the stage's /etc/passwd")
}

/// A shell on stage, as root.
fn inside(root: &Path) -> Command {
    enter(root, Command::new("/bin/sh"))
}

fn enter(root: &Path, mut command: Command) -> Command {
    let root = root.to_path_buf();
    command.env_clear().envs(ENVIRONMENT.iter().copied()).stdin(Stdio::null());
    // SAFETY: chroot and chdir are async-signal-safe, and the path was made before the fork.
    unsafe {
        command.pre_exec(move || {
            chroot(&root)?;
            std::env::set_current_dir("/")
        });
    }
    command
}

/// The agent: a shell that is given text, as the person, in the project.
fn agent(root: &Path, text: &str, guarded: bool) -> Command {
    let mut command = if guarded {
        // The guard starts as root, so that it can use all that this machine has, and runs the agent as the person.
        let mut command = Command::new("/opt/demo/blastradius");
        command.args(["run", "--user", "dev", "--", "/bin/sh", "-c", text]);
        command
    } else {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]);
        command
    };
    command = enter(root, command);
    // SAFETY: these are system calls that allocate nothing; the shell, or the guard's child, starts with one identity.
    unsafe {
        command.pre_exec(move || {
            if !guarded {
                setgroups(&[])?;
                setgid(Gid::from_raw(DEV))?;
                setuid(Uid::from_raw(DEV))?;
            }
            std::env::set_current_dir(PROJECT)
        });
    }
    command
}

fn perform(act: &Act, root: &Path, guarded: bool) -> Result<Report> {
    let watched = match act.stakes {
        Stakes::Files(dir) => dir,
        Stakes::Work { .. } => "/home/dev",
    };
    let before = files(root, watched)?;
    let mut log = tempfile::tempfile()?;
    let mut child = agent(root, act.text, guarded)
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .spawn()
        .context("cannot start the act")?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if started.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut output = Vec::new();
    log.seek(SeekFrom::Start(0))?;
    log.read_to_end(&mut output)?;
    let after = files(root, watched)?;
    let (inside, outside) = count(&before, &after);
    let left = match act.stakes {
        Stakes::Work { gone } => {
            gone.iter().filter(|path| on_stage(root, path).exists()).map(|path| (*path).to_owned()).collect()
        }
        Stakes::Files(_) => Vec::new(),
    };
    let code = status.map_or(124, |status| {
        use std::os::unix::process::ExitStatusExt as _;
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
    });
    Ok(Report { outside, inside, left, code, output: String::from_utf8_lossy(&output).into_owned() })
}

fn on_stage(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// The regular files below a directory, with their contents.
fn files(root: &Path, dir: &str) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![on_stage(root, dir)];
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                let content = fs::read(&path)?;
                found.insert(Path::new("/").join(path.strip_prefix(root)?), content);
            }
        }
    }
    Ok(found)
}

/// What is the same after as before: in the project, and outside of it.
fn count(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> (Count, Count) {
    let (mut inside, mut outside) = (Count::default(), Count::default());
    for (path, content) in before {
        let side = if path.starts_with(PROJECT) { &mut inside } else { &mut outside };
        side.before += 1;
        side.after += usize::from(after.get(path) == Some(content));
    }
    (inside, outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_counted_on_both_sides() {
        let files = |names: &[&str]| names.iter().map(|name| (PathBuf::from(name), vec![1])).collect();
        let before = files(&["/home/dev/a", "/home/dev/b", "/home/dev/Code/app/c"]);
        let mut after: BTreeMap<PathBuf, Vec<u8>> = files(&["/home/dev/a", "/home/dev/b", "/home/dev/new"]);
        after.insert("/home/dev/b".into(), vec![2]);
        let (inside, outside) = count(&before, &after);
        assert_eq!(inside, Count { before: 1, after: 0 });
        assert_eq!(outside, Count { before: 2, after: 1 });
    }
}
