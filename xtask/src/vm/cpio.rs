//! Writes the archive that the kernel unpacks as the guest's first root: cpio in the `newc` format.
//!
//! <https://docs.kernel.org/driver-api/early-userspace/buffer-format.html>

use std::{
    collections::BTreeSet,
    fs,
    io::{Result, Write},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Component, Path, PathBuf},
};

const MAGIC: &str = "070701";
const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const DEVICE: u32 = 0o020_000;

/// Top directories that are links into /usr, as on the distributions that the guard runs on.
const MERGED: &[&str] = &["bin", "sbin", "lib", "lib64"];

/// An archive being written. Entries belong to root unless said otherwise.
pub(crate) struct Archive<W: Write> {
    out: W,
    written: u64,
    inode: u32,
    seen: BTreeSet<PathBuf>,
    below: PathBuf,
}

/// Who owns an entry and what may be done with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    /// The permission bits.
    pub(crate) bits: u32,
    /// The owner, and the group of the same number.
    pub(crate) owner: u32,
}

impl Mode {
    /// Permission bits for something of root's.
    pub(crate) fn root(bits: u32) -> Self {
        Self { bits, owner: 0 }
    }
}

impl<W: Write> Archive<W> {
    /// Starts an archive with the links of a merged /usr.
    pub(crate) fn new(out: W) -> Result<Self> {
        let mut archive = Self { out, written: 0, inode: 0, seen: BTreeSet::new(), below: PathBuf::new() };
        for name in MERGED {
            archive.entry(Path::new(name), SYMLINK | 0o777, 0, (0, 0), format!("usr/{name}").as_bytes())?;
            archive.directory(&Path::new("/usr").join(name), Mode::root(0o755))?;
        }
        Ok(archive)
    }

    /// Puts what is added from now on below a directory.
    pub(crate) fn go_below(&mut self, dir: &str) {
        self.below = PathBuf::from(dir);
    }

    /// Adds a directory and those above it. The first mode that a directory is given stays.
    pub(crate) fn directory(&mut self, path: &Path, mode: Mode) -> Result<()> {
        let path = self.below.join(inside(path));
        self.parents(&path)?;
        if self.fresh(&path) {
            self.entry(&path, DIRECTORY | mode.bits, mode.owner, (0, 0), &[])?;
        }
        Ok(())
    }

    /// Adds a file. The first content that a path is given stays.
    pub(crate) fn file(&mut self, path: &Path, mode: Mode, content: &[u8]) -> Result<()> {
        let path = self.below.join(inside(path));
        self.parents(&path)?;
        if self.fresh(&path) {
            self.entry(&path, FILE | mode.bits, mode.owner, (0, 0), content)?;
        }
        Ok(())
    }

    /// Adds a symbolic link.
    pub(crate) fn symlink(&mut self, path: &Path, to: &Path) -> Result<()> {
        let path = self.below.join(inside(path));
        self.parents(&path)?;
        if self.fresh(&path) {
            self.entry(&path, SYMLINK | 0o777, 0, (0, 0), to.as_os_str().as_encoded_bytes())?;
        }
        Ok(())
    }

    /// Adds a character device.
    pub(crate) fn device(&mut self, path: &Path, major: u32, minor: u32) -> Result<()> {
        let path = self.below.join(inside(path));
        self.parents(&path)?;
        if self.fresh(&path) {
            self.entry(&path, DEVICE | 0o600, 0, (major, minor), &[])?;
        }
        Ok(())
    }

    /// Adds what lies at `from` on this machine, with all below it, at `to`.
    pub(crate) fn tree(&mut self, from: &Path, to: &Path) -> Result<()> {
        let meta = fs::symlink_metadata(from)?;
        let mode = Mode { bits: meta.permissions().mode() & 0o7777, owner: meta.uid() };
        if meta.is_symlink() {
            self.symlink(to, &fs::read_link(from)?)
        } else if meta.is_dir() {
            self.directory(to, mode)?;
            let mut names = fs::read_dir(from)?
                .map(|entry| entry.map(|entry| entry.file_name()))
                .collect::<Result<Vec<_>>>()?;
            names.sort();
            names.iter().try_for_each(|name| self.tree(&from.join(name), &to.join(name)))
        } else if meta.is_file() {
            self.file(to, mode, &fs::read(from)?)
        } else {
            // Sockets and pipes mean nothing without the processes that hold them.
            Ok(())
        }
    }

    /// Writes the end of the archive.
    pub(crate) fn finish(mut self) -> Result<W> {
        self.entry(Path::new("TRAILER!!!"), 0, 0, (0, 0), &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn fresh(&mut self, path: &Path) -> bool {
        !path.as_os_str().is_empty() && self.seen.insert(path.to_path_buf())
    }

    fn parents(&mut self, path: &Path) -> Result<()> {
        let above: Vec<PathBuf> = path.ancestors().skip(1).map(Path::to_path_buf).collect();
        for dir in above.iter().rev() {
            if self.fresh(dir) {
                self.entry(dir, DIRECTORY | 0o755, 0, (0, 0), &[])?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        path: &Path,
        mode: u32,
        owner: u32,
        device: (u32, u32),
        content: &[u8],
    ) -> Result<()> {
        let name = path.as_os_str().as_encoded_bytes();
        let too_large = || std::io::Error::other(format!("{} is too large for cpio", path.display()));
        let size = u32::try_from(content.len()).map_err(|_| too_large())?;
        let name_size = u32::try_from(name.len() + 1).map_err(|_| too_large())?;
        self.inode += 1;
        let links = 1 + u32::from(mode & DIRECTORY == DIRECTORY);
        // inode mode uid gid links mtime size device(2) of-device(2) name-size check
        let fields = [self.inode, mode, owner, owner, links, 0, size, 0, 0, device.0, device.1, name_size, 0];
        let mut header = String::from(MAGIC);
        fields.iter().for_each(|field| header.push_str(&format!("{field:08x}")));
        self.put(header.as_bytes())?;
        self.put(name)?;
        self.put(&[0])?;
        self.pad()?;
        self.put(content)?;
        self.pad()
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Names and contents end at a multiple of four.
    fn pad(&mut self) -> Result<()> {
        let missing = (4 - self.written % 4) % 4;
        self.put(&[0; 3][..usize::try_from(missing).unwrap_or(0)])
    }
}

/// The path below the archive's root, through the links of the merged /usr.
fn inside(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => {
                if plain.as_os_str().is_empty() && MERGED.iter().any(|merged| name == *merged) {
                    plain.push("usr");
                }
                plain.push(name);
            }
            Component::ParentDir => {
                plain.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn paths_go_through_the_merged_usr() {
        assert_eq!(inside(Path::new("/lib/x/../y")), Path::new("usr/lib/y"));
        assert_eq!(inside(Path::new("/usr/lib/y")), Path::new("usr/lib/y"));
        assert_eq!(inside(Path::new("/home/lib")), Path::new("home/lib"));
    }

    #[test]
    fn every_entry_is_aligned_and_announced_once() {
        let mut archive = Archive::new(Vec::new()).unwrap();
        archive.file(Path::new("/a/b/c"), Mode::root(0o644), b"hello").unwrap();
        archive.file(Path::new("/a/b/c"), Mode::root(0o644), b"again").unwrap();
        archive.directory(Path::new("/a/b"), Mode::root(0o700)).unwrap();
        let bytes = archive.finish().unwrap();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("a/b/c\0").count(), 1);
        assert!(text.contains("hello") && !text.contains("again"));
        assert!(text.trim_end_matches('\0').ends_with("TRAILER!!!"));
    }

    #[test]
    fn cpio_reads_what_we_write() {
        let Ok(version) = Command::new("cpio").arg("--version").output() else {
            eprintln!("not run here: cpio is missing");
            return;
        };
        assert!(version.status.success());
        let mut archive = Archive::new(Vec::new()).unwrap();
        archive.directory(Path::new("/tmp"), Mode::root(0o1777)).unwrap();
        archive.file(Path::new("/home/dev/note"), Mode { bits: 0o640, owner: 1000 }, b"hello").unwrap();
        archive.symlink(Path::new("/bin/sh"), Path::new("busybox")).unwrap();
        let bytes = archive.finish().unwrap();
        let mut child = Command::new("cpio")
            .args(["-itv", "--quiet", "-n"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let listing = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{listing}");
        let line = |end: &str| {
            listing.lines().find(|line| line.ends_with(end)).unwrap_or_else(|| panic!("{listing}"))
        };
        assert!(line(" tmp").starts_with("drwxrwxrwt"));
        assert!(line("home/dev/note").starts_with("-rw-r-----"));
        assert!(line("home/dev/note").contains("1000"));
        assert!(line("usr/bin/sh -> busybox").starts_with('l'));
    }
}
