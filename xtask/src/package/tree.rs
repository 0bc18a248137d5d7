//! Files on their way into a package, in the order of their names.

use std::{collections::BTreeMap, fs, io::Write as _, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};

/// A file that anyone may read.
pub(super) const PLAIN: u32 = 0o644;
/// A program.
pub(super) const PROGRAM: u32 = 0o755;

/// Paths, relative and with slashes, and what lies there.
#[derive(Default)]
pub(super) struct Tree(BTreeMap<String, (u32, Vec<u8>)>);

impl Tree {
    pub(super) fn add(&mut self, path: impl Into<String>, mode: u32, content: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), (mode, content.into()));
    }

    /// Adds what lies below a directory. Links are left out: no package of ours has any.
    pub(super) fn add_below(&mut self, directory: &Path, prefix: &str) -> Result<()> {
        let shown = || format!("cannot read {}", directory.display());
        for entry in fs::read_dir(directory).with_context(shown)? {
            let entry = entry.with_context(shown)?;
            let name = entry.file_name();
            let name = name.to_str().with_context(|| format!("{name:?} is no UTF-8"))?;
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.add_below(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                let program = entry.metadata()?.permissions().mode() & 0o111 != 0;
                let content = fs::read(entry.path()).with_context(|| format!("cannot read {path}"))?;
                self.add(path, if program { PROGRAM } else { PLAIN }, content);
            }
        }
        Ok(())
    }

    /// Each path with its mode and content.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, u32, &[u8])> {
        self.0.iter().map(|(path, (mode, content))| (path.as_str(), *mode, content.as_slice()))
    }

    /// Each path with its content.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(path, (_, content))| (path.as_str(), content.as_slice()))
    }

    /// Writes the files below a directory, with exactly their modes whatever the umask.
    pub(super) fn write_below(&self, directory: &Path) -> Result<()> {
        for (path, (mode, content)) in &self.0 {
            let path = directory.join(path);
            let parent = path.parent().unwrap_or(directory);
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
            for made in parent.ancestors().take_while(|made| made.starts_with(directory)) {
                fs::set_permissions(made, fs::Permissions::from_mode(PROGRAM))?;
            }
            fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
        }
        Ok(())
    }

    /// A tar archive, compressed with gzip, in which everything lies in `directory`.
    pub(super) fn tar_gz(&self, directory: &str, epoch: u64) -> Result<Vec<u8>> {
        let gzip = GzBuilder::new().write(Vec::new(), Compression::best());
        let mut archive = tar::Builder::new(gzip);
        for (path, (mode, content)) in &self.0 {
            let mut header = tar::Header::new_gnu();
            header.set_mode(*mode);
            header.set_size(content.len() as u64);
            header.set_mtime(epoch);
            header.set_uid(0);
            header.set_gid(0);
            archive.append_data(&mut header, format!("{directory}/{path}"), content.as_slice())?;
        }
        Ok(archive.into_inner()?.finish()?)
    }
}

/// Compressed with gzip, without a name or a time.
pub(super) fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    gzip.write_all(content)?;
    Ok(gzip.finish()?)
}

/// A size for people.
pub(super) fn size(bytes: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    if mebibytes < 0.1 { format!("{bytes} B") } else { format!("{mebibytes:.2} MiB") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(names: &[&str]) -> Tree {
        let mut tree = Tree::default();
        for name in names {
            tree.add(*name, PLAIN, name.as_bytes());
        }
        tree
    }

    #[test]
    fn an_archive_does_not_depend_on_the_order_in_which_it_was_filled() {
        let one = tree(&["b", "a/c", "a/b"]).tar_gz("x", 7).unwrap();
        assert_eq!(one, tree(&["a/b", "b", "a/c"]).tar_gz("x", 7).unwrap());
        assert_ne!(one, tree(&["a/b", "b", "a/c"]).tar_gz("x", 8).unwrap(), "the time is in it");
    }

    #[test]
    fn modes_survive_the_way_to_disk_and_back() {
        let directory = tempfile::tempdir().unwrap();
        let mut tree = tree(&["doc/plain"]);
        tree.add("bin/program", PROGRAM, "#!/bin/sh\n");
        tree.write_below(directory.path()).unwrap();
        let mut read = Tree::default();
        read.add_below(directory.path(), "").unwrap();
        assert_eq!(read.0, tree.0);
    }
}
