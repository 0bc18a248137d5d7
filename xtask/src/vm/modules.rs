//! Picks the modules that a guest needs out of a kernel's packages: all of them would take longer to unpack than to boot.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::proc;

/// Copies the wanted modules and what they depend on from an unpacked package to `out/lib/modules/RELEASE`, decompressed and indexed.
pub(crate) fn select(tree: &Path, out: &Path, release: &str, wanted: &[String]) -> Result<()> {
    let base = [tree.to_path_buf(), tree.join("usr")]
        .into_iter()
        .find(|base| base.join("lib/modules").join(release).is_dir())
        .with_context(|| format!("the packages of {release} hold no modules"))?;
    let from = base.join("lib/modules").join(release);
    let to = out.join("lib/modules").join(release);
    depmod(&base, release)?;
    let index = fs::read_to_string(from.join("modules.dep")).context("depmod wrote no modules.dep")?;
    for file in closure(&Dependencies::parse(&index), wanted) {
        place(&from.join(&file), &to.join(&file))?;
    }
    for list in ["modules.builtin", "modules.builtin.modinfo", "modules.order"] {
        if from.join(list).is_file() {
            fs::copy(from.join(list), to.join(list))?;
        }
    }
    depmod(out, release)
}

/// Debian ships no index with its modules: its packages run depmod when they are installed.
fn depmod(base: &Path, release: &str) -> Result<()> {
    let Some(program) = proc::which("depmod") else {
        bail!("depmod is missing: it is part of the package kmod");
    };
    proc::run(Command::new(program).arg("-b").arg(base).arg(release))
}

/// The guest's modprobe is a small one, so modules are laid out plain.
fn place(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    let decompressor = match from.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => {
            fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
            return Ok(());
        }
    };
    let plain = File::create(to.with_extension(""))?;
    proc::run(Command::new(decompressor).args(["-q", "-d", "-c"]).arg(from).stdout(plain))
}

/// Which module file needs which others, by their paths below the modules' directory.
struct Dependencies {
    needs: BTreeMap<PathBuf, Vec<PathBuf>>,
}

impl Dependencies {
    /// Reads a modules.dep: `file: file…`.
    fn parse(text: &str) -> Self {
        let row = |line: &str| {
            let (file, needs) = line.split_once(':')?;
            Some((PathBuf::from(file), needs.split_whitespace().map(PathBuf::from).collect()))
        };
        Self { needs: text.lines().filter_map(row).collect() }
    }
}

/// A module's name: `-` and `_` are the same to the kernel.
fn name(file: &Path) -> String {
    let base = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    base.split(".ko").next().unwrap_or_default().replace('-', "_")
}

fn closure(dependencies: &Dependencies, wanted: &[String]) -> BTreeSet<PathBuf> {
    let wanted: BTreeSet<String> = wanted.iter().map(|module| module.replace('-', "_")).collect();
    let mut open: Vec<&PathBuf> =
        dependencies.needs.keys().filter(|file| wanted.contains(&name(file))).collect();
    let mut found = BTreeSet::new();
    while let Some(file) = open.pop() {
        if found.insert(file.clone()) {
            open.extend(dependencies.needs.get(file).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_along() {
        let index = "kernel/fs/btrfs/btrfs.ko.xz: kernel/lib/raid6.ko.xz kernel/lib/xor.ko.xz\n\
            kernel/lib/raid6.ko.xz: kernel/lib/base.ko.xz\nkernel/lib/xor.ko.xz:\nkernel/lib/base.ko.xz:\n\
            kernel/crypto/crc32c-cryptoapi.ko.xz:\nkernel/fs/other.ko.xz:\n";
        let wanted = ["btrfs", "crc32c_cryptoapi", "not-there"].map(String::from);
        let found: Vec<String> =
            closure(&Dependencies::parse(index), &wanted).iter().map(|f| name(f)).collect();
        assert_eq!(found, ["crc32c_cryptoapi", "btrfs", "base", "raid6", "xor"]);
    }
}
