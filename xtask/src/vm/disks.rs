//! The disks of a guest: its root, if it is to have another than the one in memory, and /scratch.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

use super::{FileSystem, Request, qemu::Disk};
use crate::{apt::debootstrap, house, proc};

/// The disks, and how the guest calls them.
#[derive(Debug)]
pub(crate) struct Disks {
    /// All of them, in order.
    pub(crate) all: Vec<Disk>,
    /// The root's device.
    pub(crate) root: Option<String>,
    /// The device of /scratch.
    pub(crate) scratch: Option<String>,
}

/// Makes those that a request needs.
pub(crate) fn make(request: &Request, work: &Path) -> Result<Disks> {
    let mut disks = Disks { all: Vec::new(), root: None, scratch: None };
    if let Some(root) = &request.root {
        disks.root = Some(disks.add(root_image(root, work)?, true));
    }
    if let Some((maker, package)) = request.fs.maker() {
        let image = work.join("scratch");
        blank(&image, SCRATCH_BYTES)?;
        let program = proc::which(maker).with_context(|| format!("{maker} is missing: install {package}"))?;
        proc::capture(Command::new(program).arg("-q").arg(&image))?;
        disks.scratch = Some(disks.add(image, false));
    }
    Ok(disks)
}

impl Disks {
    fn add(&mut self, image: PathBuf, forget: bool) -> String {
        let letter = ["a", "b"][self.all.len().min(1)];
        self.all.push(Disk { image, forget });
        format!("/dev/vd{letter}")
    }
}

impl FileSystem {
    /// The program that makes one on a disk, and the package that has it.
    fn maker(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Ext4 => Some(("mkfs.ext4", "e2fsprogs")),
            Self::Xfs => Some(("mkfs.xfs", "xfsprogs")),
            Self::Btrfs => Some(("mkfs.btrfs", "btrfs-progs")),
            Self::Tmpfs | Self::Overlay => None,
        }
    }
}

/// Sizes are limits: an image takes only what is written to it.
const SCRATCH_BYTES: u64 = 2 << 30;
const ROOT_BYTES: u64 = 4 << 30;

fn blank(image: &Path, bytes: u64) -> Result<()> {
    File::create(image)
        .and_then(|file| file.set_len(bytes))
        .with_context(|| format!("cannot make {}", image.display()))
}

fn root_image(root: &str, work: &Path) -> Result<PathBuf> {
    if root == "debian" {
        return debian();
    }
    let path = Path::new(root);
    if path.is_dir() {
        let image = work.join("root");
        fill(&image, path)?;
        return Ok(image);
    }
    if !path.is_file() {
        bail!("--root {root}: it is no directory, no image, and not `debian`");
    }
    path.canonicalize().with_context(|| format!("cannot find {root}"))
}

fn fill(image: &Path, from: &Path) -> Result<()> {
    blank(image, ROOT_BYTES)?;
    let maker = proc::which("mkfs.ext4").context("mkfs.ext4 is missing: install e2fsprogs")?;
    proc::run(Command::new(maker).args(["-q", "-d"]).arg(from).arg(image).stdout(Stdio::null()))
}

/// The packages of the Debian that guests can have as their root: what agents and the tests use, with what those depend on and nothing
/// that is only recommended.
const PACKAGES: &[&str] = &[
    "bubblewrap",
    "busybox-static",
    "ca-certificates",
    "cargo",
    "gcc",
    "git",
    "kmod",
    "libc6-dev",
    "make",
    "nodejs",
    "npm",
    "perl",
    "procps",
    "python3",
    "python3-pip",
    "python3-venv",
    "rsync",
    "sqlite3",
    "sudo",
    "vim-tiny",
];

/// What npm and what it needs ask for by names that other packages provide: debootstrap finds no package by such a name.
const PROVIDERS: &[&str] = &[
    "eslint",
    "node-ampproject-remapping",
    "node-babel7",
    "node-cli-table",
    "node-css-loader",
    "node-css-selector-tokenizer",
    "node-fancy-log",
    "node-function-bind",
    "node-jest-debbundle",
    "node-json-schema",
    "node-n3",
    "node-npm-run-path",
    "node-read-pkg",
    "node-tape",
];

/// A Debian, made once for each list of packages.
fn debian() -> Result<PathBuf> {
    let cache = house::cache("guests")?;
    let image = cache.join("debian-bookworm.ext4");
    let list = cache.join("debian-bookworm.packages");
    let packages = [PACKAGES, PROVIDERS].concat();
    let wanted = packages.join("\n");
    if image.is_file() && fs::read_to_string(&list).is_ok_and(|had| had == wanted) {
        return Ok(image);
    }
    eprintln!("xtask: making a Debian for guests, once");
    let work = tempfile::Builder::new().prefix(".making-").tempdir_in(&cache)?;
    let tree = work.path().join("tree");
    debootstrap::run("bookworm", &packages, &tree)?;
    let made = work.path().join("image");
    fill(&made, &tree)?;
    fs::rename(&made, &image).with_context(|| format!("cannot make {}", image.display()))?;
    fs::write(&list, wanted).with_context(|| format!("cannot write {}", list.display()))?;
    Ok(image)
}
