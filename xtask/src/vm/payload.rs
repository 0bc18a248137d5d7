//! What goes into the guest beside the kernel's modules: a small system, the init, the command, and what the command needs to run.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use super::cpio::{Archive, Mode};
use crate::proc;

/// Directories that a machine has, with the owner and mode that they have there.
const DIRECTORIES: &[(&str, u32, u32)] = &[
    ("/boot", 0o755, 0),
    ("/dev", 0o755, 0),
    ("/etc", 0o755, 0),
    ("/home", 0o755, 0),
    ("/home/dev", 0o755, 1000),
    ("/mnt", 0o755, 0),
    ("/opt", 0o755, 0),
    ("/proc", 0o555, 0),
    ("/root", 0o700, 0),
    ("/run", 0o755, 0),
    ("/scratch", 0o755, 0),
    ("/srv", 0o755, 0),
    ("/sys", 0o555, 0),
    ("/tmp", 0o1777, 0),
    ("/usr/include", 0o755, 0),
    ("/usr/local", 0o755, 0),
    ("/usr/share", 0o755, 0),
    ("/var/cache", 0o755, 0),
    ("/var/lib", 0o755, 0),
    ("/var/log", 0o755, 0),
    ("/var/spool", 0o755, 0),
    ("/var/tmp", 0o1777, 0),
];

/// Files that programs expect of a machine.
const FILES: &[(&str, &str)] = &[
    (
        "/etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\ndev:x:1000:1000:dev:/home/dev:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("/etc/group", "root:x:0:\ndev:x:1000:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost guest\n"),
    ("/etc/hostname", "guest\n"),
    ("/etc/login.defs", "UID_MIN 1000\nUID_MAX 60000\n"),
    ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
];

/// Lays out the system: directories, accounts, and busybox under all of its names.
pub(crate) fn system<W: Write>(archive: &mut Archive<W>) -> Result<()> {
    // The kernel opens the console before there is a devtmpfs.
    archive.device(Path::new("/dev/console"), 5, 1)?;
    for (path, bits, owner) in DIRECTORIES {
        archive.directory(Path::new(path), Mode { bits: *bits, owner: *owner })?;
    }
    for (path, content) in FILES {
        archive.file(Path::new(path), Mode::root(0o644), content.as_bytes())?;
    }
    let busybox = proc::which("busybox").context("busybox is missing: install busybox-static")?;
    if !libraries(&busybox)?.is_empty() {
        bail!("{} needs shared libraries: install busybox-static", busybox.display());
    }
    archive.file(Path::new("/bin/busybox"), Mode::root(0o755), &fs::read(&busybox)?)?;
    let applets = proc::capture(Command::new(&busybox).arg("--list-full"))?;
    // `linuxrc` would lie in the root: an init from another age.
    for applet in applets.lines().filter(|applet| applet.contains('/')) {
        archive.symlink(&Path::new("/").join(applet), Path::new("/bin/busybox"))?;
    }
    Ok(())
}

/// Adds a file or a directory at `to`, with the libraries and interpreters of the programs in it.
pub(crate) fn copy<W: Write>(archive: &mut Archive<W>, from: &Path, to: &Path) -> Result<()> {
    let real =
        from.canonicalize().with_context(|| format!("cannot copy {}: no such file", from.display()))?;
    archive.tree(&real, to).with_context(|| format!("cannot copy {}", from.display()))?;
    needs(archive, &real)
}

fn needs<W: Write>(archive: &mut Archive<W>, path: &Path) -> Result<()> {
    let meta = fs::symlink_metadata(path)?;
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            needs(archive, &entry?.path())?;
        }
    } else if meta.is_file() {
        match kind(path)? {
            Kind::Elf => {
                for library in libraries(path)? {
                    let content =
                        fs::read(&library).with_context(|| format!("cannot read {}", library.display()))?;
                    archive.file(&library, Mode::root(0o755), &content)?;
                }
            }
            Kind::Script(interpreter) if interpreter.is_file() => {
                copy(archive, &interpreter, &interpreter)?;
            }
            Kind::Script(_) | Kind::Other => {}
        }
    }
    Ok(())
}

enum Kind {
    Elf,
    Script(PathBuf),
    Other,
}

fn kind(path: &Path) -> Result<Kind> {
    let mut start = Vec::new();
    let file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    BufReader::new(file.take(256)).read_until(b'\n', &mut start)?;
    if start.starts_with(b"\x7fELF") {
        return Ok(Kind::Elf);
    }
    let Some(line) = start.strip_prefix(b"#!") else { return Ok(Kind::Other) };
    let line = String::from_utf8_lossy(line);
    Ok(line.split_whitespace().next().map_or(Kind::Other, |word| Kind::Script(word.into())))
}

/// The shared libraries of a program, its loader included. A static program has none.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd")
        .env("LC_ALL", "C")
        .arg(program)
        .output()
        .context("cannot start ldd to find the libraries of the command")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some(missing) = text.lines().find(|line| line.contains("not found")) {
        bail!("{} needs a library that this machine lacks:{missing}", program.display());
    }
    // ldd fails on static programs and object files; those need nothing.
    Ok(text.lines().filter_map(library).collect())
}

/// Reads a line of ldd: `name => /path (0x…)`, `/path (0x…)`; the vdso has no path.
fn library(line: &str) -> Option<PathBuf> {
    let line = line.trim();
    let path = line.split_once("=> ").map_or(line, |(_, path)| path);
    let path = path.split(" (0x").next()?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ldd_are_read() {
        let library = |line| library(line).map(|path| path.display().to_string());
        assert_eq!(library("\tlinux-vdso.so.1 (0x00007ffc)"), None);
        assert_eq!(
            library("\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)").as_deref(),
            Some("/lib/x86_64-linux-gnu/libc.so.6")
        );
        assert_eq!(
            library("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)").as_deref(),
            Some("/lib64/ld-linux-x86-64.so.2")
        );
        assert_eq!(library("\tstatically linked"), None);
    }

    #[test]
    fn a_dynamic_program_brings_its_libraries() {
        let found = libraries(&std::env::current_exe().unwrap()).unwrap();
        assert!(found.iter().any(|path| path.ends_with("libc.so.6")), "{found:?}");
    }
}
