//! The machine that the cases of the corpus describe, in memory.

use blastradius::shell::world::memory::MemoryWorld;
use blastradius::shell::world::{Platform, Tracking};

use crate::cases::{Case, Facts};

/// What the project directory holds: path, and what git says of it (`None`: tracked and clean).
const PROJECT: &[(&str, Option<Tracking>)] = &[
    ("build/a.o", Some(Tracking::Ignored)),
    ("build/b.o", Some(Tracking::Ignored)),
    ("dist/app.js", Some(Tracking::Ignored)),
    ("target/debug/app", Some(Tracking::Ignored)),
    ("node_modules/left-pad/index.js", Some(Tracking::Ignored)),
    (".venv/pyvenv.cfg", Some(Tracking::Ignored)),
    ("__pycache__/m.pyc", Some(Tracking::Ignored)),
    ("src/lib.rs", Some(Tracking::Modified)),
    ("file.txt", Some(Tracking::Modified)),
    ("old.txt", Some(Tracking::Modified)),
    ("tests/t.rs", None),
    ("docs/index.md", None),
    ("vendor/lib/v.c", None),
    ("README.md", None),
    ("package.json", None),
    ("notes.txt", Some(Tracking::Untracked)),
    ("temp.txt", Some(Tracking::Untracked)),
    ("app.log", Some(Tracking::Untracked)),
];

/// Directories of the home that hold a file each.
const HOME: &[&str] = &["Documents", "Downloads", "Desktop", ".ssh", ".cache/pip"];

/// The system's own directories.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr/bin",
    "/usr/lib",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/sbin",
    "/usr/share",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/spool",
    "/var/tmp",
];

/// Programs that `which` and its like find.
const PROGRAMS: &[&str] = &["/usr/bin/bash", "/usr/bin/find", "/usr/bin/git", "/usr/bin/rm", "/usr/bin/sh"];

/// The machine of one case.
pub fn world(case: &Case) -> MemoryWorld {
    let mac = case.platform.as_deref() == Some("macos");
    let mut world = MemoryWorld::new(if mac { Platform::MacOs } else { Platform::Linux });
    for dir in SYSTEM {
        world = world.dir(dir);
    }
    for file in ["/etc/passwd", "/etc/shadow", "/etc/hosts", "/etc/fstab", "/etc/sudoers", "/var/log/syslog"]
    {
        world = world.file(file, "x\n");
    }
    for program in PROGRAMS {
        world = world.file(program, "\u{7f}ELF");
    }
    for special in ["/dev/null", "/dev/zero", "/dev/tty", "/dev/urandom"] {
        world = world.special(special);
    }
    let home = case.env.get("HOME").and_then(Option::as_deref).unwrap_or("/home/dev");
    world = home_tree(world, if home.starts_with("/Users/") { home } else { "/home/dev" });
    world = world.account("root", "/root").dir("/home/user");
    for (name, value) in [
        ("HOME", "/home/dev"),
        ("USER", "dev"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
    ] {
        world = world.env(name, value);
    }
    for (name, value) in &case.env {
        world = match value {
            Some(value) => world.env(name, value),
            None => world.without_env(name),
        };
    }
    facts(world.cwd(&case.cwd), case)
}

/// A home with a project that is a git work tree.
fn home_tree(world: MemoryWorld, home: &str) -> MemoryWorld {
    let name = home.rsplit('/').next().unwrap_or("dev");
    let mut world = world.account(name, home).user(1000, name);
    for dir in HOME {
        world = world.file(&format!("{home}/{dir}/file"), "x\n");
    }
    let project = format!("{home}/proj");
    world = world.work_tree(&project);
    for (path, tracking) in PROJECT {
        world = world.file(&format!("{project}/{path}"), "x\n");
        if let Some(tracking) = tracking {
            // git names a wholly ignored directory as one entry.
            let top = path.split('/').next().unwrap_or(path);
            let entry = if *tracking == Tracking::Ignored { format!("{top}/") } else { (*path).to_owned() };
            world = world.tracked(&project, &entry, *tracking);
        }
    }
    world.work_tree(&format!("{home}/Code/project")).file(&format!("{home}/Code/project/dist/app.js"), "x\n")
}

fn facts(world: MemoryWorld, case: &Case) -> MemoryWorld {
    let Some(Facts { entries, symlinks }) = &case.fs else { return world };
    let mut world = world;
    for entry in entries {
        let path = format!("{}/{}", case.cwd, entry.trim_end_matches('/'));
        world = if entry.ends_with('/') { world.dir(&path) } else { world.file(&path, "x\n") };
    }
    for (name, target) in symlinks {
        world = world.link(&format!("{}/{name}", case.cwd), target);
    }
    world
}
