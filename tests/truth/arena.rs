//! A private root directory in which scripts may destroy what they like.
//!
//! The thread that makes it gets its own mount namespace: a tmpfs with a made-up home, `/etc`, `/srv`, `/opt` and
//! `/tmp`, and the real `/usr` bound read-only. Nothing outside the tmpfs can be written.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use blastradius::system::System;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};

/// Files of the made-up machine. The content of each is its own path.
const FILES: &[&str] = &[
    "/etc/app/app.conf",
    "/etc/hosts",
    "/home/dev/.bashrc",
    "/home/dev/.config/app/settings",
    "/home/dev/.ssh/id",
    "/home/dev/Documents/a b.txt",
    "/home/dev/Documents/thesis.txt",
    "/home/dev/Downloads/report.pdf",
    "/home/dev/other/src/lib.c",
    "/home/dev/proj/README.md",
    "/home/dev/proj/a b/c d.txt",
    "/home/dev/proj/build/a.o",
    "/home/dev/proj/build/b.o",
    "/home/dev/proj/build/sub/c.o",
    "/home/dev/proj/dist/app.js",
    "/home/dev/proj/out/one.log",
    "/home/dev/proj/out/two.log",
    "/home/dev/proj/src/lib.rs",
    "/home/dev/proj/src/old.rs",
    "/opt/tool/bin/tool",
    "/srv/data/db/base.db",
    "/srv/data/index",
    "/tmp/work/x/1",
    "/tmp/work/y",
    "/var/log/app/app.log",
];

/// Links of the made-up machine: name, target.
const LINKS: &[(&str, &str)] = &[
    ("/home/dev/proj/docs", "/home/dev/Documents"),
    ("/home/dev/proj/inner", "build"),
    ("/home/dev/proj/up", ".."),
    ("/tmp/work/data", "/srv/data"),
];

/// The environment of a script. `UNSET` is nowhere in it.
pub(crate) const ENV: &[(&str, &str)] = &[
    ("HOME", "/home/dev"),
    ("USER", "dev"),
    ("PATH", "/usr/bin:/bin"),
    ("LANG", "C.UTF-8"),
    ("EMPTY", ""),
    ("REL", "build"),
    ("ABS", "/home/dev/proj/out"),
    ("SPACED", "a b"),
    ("DOCS", "/home/dev/Documents"),
    ("SLASHED", "build/"),
];

/// Where the script starts, and what it may destroy.
const CWD: &str = "/home/dev/proj";
const SCOPE: &[&str] = &["/home/dev/proj/", "/tmp/", "/var/tmp/", "/dev/shm/"];
/// Parts that scripts may write.
const WRITABLE: &[&str] = &["etc", "home", "opt", "srv", "tmp", "var"];
/// A script that takes longer is stuck; none of the grammar's can. Generous: other work may stall the machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// What one object holds: for a file its content, for a link its target, nothing for a directory.
type Snapshot = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// The private root directory.
pub(crate) struct Arena {
    root: PathBuf,
    /// What it holds when it is fresh.
    fresh: Snapshot,
}

impl Arena {
    /// Makes the root directory in a mount namespace of the calling thread.
    ///
    /// # Errors
    /// If a namespace, a mount or a file cannot be made. Nothing is left behind.
    pub(crate) fn new() -> io::Result<Self> {
        unshare(CloneFlags::CLONE_NEWNS)?;
        let none: Option<&str> = None;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
        let root = PathBuf::from("/mnt");
        mount(Some("tmpfs"), &root, Some("tmpfs"), MsFlags::empty(), Some("size=64m"))?;
        for dir in ["usr", "dev"] {
            std::fs::create_dir(root.join(dir))?;
        }
        for dir in ["bin", "lib", "lib64", "sbin"] {
            symlink(format!("usr/{dir}"), root.join(dir))?;
        }
        let usr = root.join("usr");
        mount(Some("/usr"), &usr, none, MsFlags::MS_BIND, none)?;
        mount(none, &usr, none, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY, none)?;
        std::fs::File::create(root.join("dev/null"))?;
        mount(Some("/dev/null"), &root.join("dev/null"), none, MsFlags::MS_BIND, none)?;
        let mut arena = Self { root, fresh: Snapshot::new() };
        arena.fill()?;
        arena.fresh = arena.snapshot()?;
        Ok(arena)
    }

    /// The machine as a script sees it.
    pub(crate) fn world(&self) -> System {
        let env = ENV.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        System::of_process(env, CWD.into(), 0, Some(self.root.clone()))
    }

    /// Runs a script with bash and makes the directory fresh again. Gives back what was lost outside scope: names that
    /// are gone, and files whose content is no longer there.
    ///
    /// # Errors
    /// If bash cannot be started in the root directory, or the directory cannot be read or refilled.
    pub(crate) fn run(&mut self, script: &str) -> io::Result<Vec<String>> {
        self.execute(script)?;
        let after = self.snapshot()?;
        let lost = self.fresh.iter().filter(|(path, before)| is_lost(before, after.get(*path)));
        let lost: Vec<String> =
            lost.map(|(path, _)| path.display().to_string()).filter(|path| !in_scope(path)).collect();
        if after != self.fresh {
            self.empty()?;
            self.fill()?;
        }
        Ok(lost)
    }

    fn execute(&self, script: &str) -> io::Result<()> {
        // The last guard before a random script runs: this is the tmpfs that we made.
        assert_eq!(statfs(&self.root)?.filesystem_type(), TMPFS_MAGIC, "the private root is a tmpfs");
        let root = CString::new(self.root.as_os_str().as_encoded_bytes())?;
        let mut command = Command::new("/bin/bash");
        command.args(["-c", script]).env_clear().envs(ENV.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let enter = move || {
            nix::unistd::chroot(root.as_c_str())?;
            nix::unistd::chdir(CWD)?;
            Ok(())
        };
        // SAFETY: between fork and exec only chroot(2) and chdir(2) run; nothing allocates.
        unsafe { command.pre_exec(enter) };
        let mut child = command.spawn()?;
        let began = Instant::now();
        while child.try_wait()?.is_none() {
            if began.elapsed() > DEADLINE {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::other(format!("a script did not end:\n{script}")));
            }
            std::thread::sleep(Duration::from_micros(300));
        }
        Ok(())
    }

    fn fill(&self) -> io::Result<()> {
        for dir in ["home/dev/proj/.git/objects", "home/dev/proj/.git/refs", "var/tmp"] {
            std::fs::create_dir_all(self.root.join(dir))?;
        }
        std::fs::write(self.root.join("home/dev/proj/.git/HEAD"), "ref: refs/heads/main\n")?;
        std::fs::create_dir_all(self.root.join("etc"))?;
        std::fs::write(self.root.join("etc/passwd"), "dev:x:1000:1000::/home/dev:/bin/bash\n")?;
        for file in FILES {
            let path = self.inside(file);
            std::fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
            std::fs::write(path, file)?;
        }
        for (name, target) in LINKS {
            symlink(target, self.inside(name))?;
        }
        Ok(())
    }

    fn empty(&self) -> io::Result<()> {
        for dir in WRITABLE {
            let path = self.root.join(dir);
            match std::fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path)?,
                Ok(_) => std::fs::remove_file(path)?,
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn snapshot(&self) -> io::Result<Snapshot> {
        let mut snapshot = Snapshot::new();
        for dir in WRITABLE {
            self.walk(&self.root.join(dir), &mut snapshot)?;
        }
        Ok(snapshot)
    }

    fn walk(&self, path: &Path, into: &mut Snapshot) -> io::Result<()> {
        let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
        let content = if meta.is_symlink() {
            Some(std::fs::read_link(path)?.into_os_string().into_encoded_bytes())
        } else if meta.is_file() {
            Some(std::fs::read(path)?)
        } else {
            None
        };
        let name = Path::new("/").join(path.strip_prefix(&self.root).unwrap_or(path));
        into.insert(name, content);
        if meta.is_dir() {
            for entry in std::fs::read_dir(path)? {
                self.walk(&entry?.path(), into)?;
            }
        }
        Ok(())
    }
}

/// Appending keeps what was there; anything else that changes the content loses it.
fn is_lost(before: &Option<Vec<u8>>, after: Option<&Option<Vec<u8>>>) -> bool {
    match (before, after) {
        (_, None) => true,
        (None, Some(after)) => after.is_some(),
        (Some(_), Some(None)) => true,
        (Some(before), Some(Some(after))) => !after.starts_with(before),
    }
}

fn in_scope(path: &str) -> bool {
    SCOPE.iter().any(|scope| path.starts_with(scope))
}
