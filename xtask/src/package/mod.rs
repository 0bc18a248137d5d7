//! `cargo xtask package`: what people install, made from one release binary.
//!
//! Everything that ends up in a package is in order and carries one time, that of the commit, so that who packs the same
//! binary again gets the same bytes: `--check-reproducible` does it twice and compares.

mod binary;
mod deb;
mod documents;
mod notices;
mod npm;
mod sbom;
mod source;
mod sums;
mod tree;
mod wheel;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use crate::{house, proc, program};
use binary::Binary;

/// Make the packages: .deb, PyPI wheel, npm package, source archive, bill of materials, checksums
///
/// They lie in target/package. Without names, all are made.
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Only these
    #[arg(value_name = "WHAT")]
    what: Vec<What>,
    /// Package this program instead of building the release
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Where to put them
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// Pack twice, and fail if anything differs
    #[arg(long)]
    check_reproducible: bool,
}

/// What can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// For Debian and its descendants
    Deb,
    /// For pip, pipx and uvx
    Wheel,
    /// For npm, npx and pi
    Npm,
    /// All that is needed to build without a network
    Source,
    /// What is in the binary, in CycloneDX's format
    Sbom,
}

impl What {
    fn make(self, release: &Release) -> Result<Package> {
        match self {
            Self::Deb => deb::make(release),
            Self::Wheel => wheel::make(release),
            Self::Npm => npm::make(release),
            Self::Source => source::make(release),
            Self::Sbom => sbom::make(release),
        }
    }
}

/// What is packaged.
struct Release {
    version: &'static str,
    /// The one time in every package, in seconds.
    epoch: u64,
    binary: Binary,
}

/// A finished package.
#[derive(PartialEq, Eq)]
struct Package {
    name: String,
    content: Vec<u8>,
}

/// The name under which PyPI and npm know it; `blastradius` alone is somebody else's there.
const DISTRIBUTION: &str = "blastradius-guard";

/// One line that says what it is.
const SUMMARY: &str = "A deterministic guard between coding agents and your data";

/// Makes them and says what they are.
pub(crate) fn run(request: &Request) -> Result<i32> {
    let made = packages(request)?;
    for line in made {
        println!("{line}");
    }
    Ok(0)
}

/// Makes them, and returns a line for each.
fn packages(request: &Request) -> Result<Vec<String>> {
    let release = release(request.binary.as_deref())?;
    let wanted = if request.what.is_empty() { What::value_variants() } else { &request.what };
    let out = request.out.clone().unwrap_or_else(directory);
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let mut lines = vec![release.binary.described()];
    let mut packages = Vec::new();
    for what in wanted {
        let package = what.make(&release)?;
        if request.check_reproducible && what.make(&release)? != package {
            bail!("{} comes out differently when it is packed again", package.name);
        }
        packages.push(package);
    }
    packages.push(sums::of(&packages));
    for Package { name, content } in &packages {
        let path = out.join(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        let again = if request.check_reproducible { ", the same when packed again" } else { "" };
        lines.push(format!("{:>9}  {}{again}", tree::size(content.len()), path.display()));
    }
    Ok(lines)
}

/// Where packages are put if nothing else is said.
pub(crate) fn directory() -> PathBuf {
    house::target().join("package")
}

/// Makes all of them from the release binary, in a directory that then holds nothing else.
pub(crate) fn all_into(out: &Path) -> Result<()> {
    if out.exists() {
        fs::remove_dir_all(out).with_context(|| format!("cannot empty {}", out.display()))?;
    }
    let request =
        Request { what: Vec::new(), binary: None, out: Some(out.to_owned()), check_reproducible: true };
    packages(&request).map(drop)
}

fn release(given: Option<&Path>) -> Result<Release> {
    let binary = Binary::read(&given.map_or_else(program::build, |path| Ok(path.to_owned()))?)?;
    binary.is_as_promised()?;
    Ok(Release { version: env!("CARGO_PKG_VERSION"), epoch: epoch()?, binary })
}

/// `SOURCE_DATE_EPOCH`, or when the newest commit was made.
fn epoch() -> Result<u64> {
    let seconds = match env::var("SOURCE_DATE_EPOCH") {
        Ok(given) => given,
        Err(_) => {
            let mut git = Command::new("git");
            git.args(["log", "-1", "--format=%ct"]).current_dir(house::root());
            proc::capture(&mut git).context("no SOURCE_DATE_EPOCH, and no commit to take the time from")?
        }
    };
    seconds.trim().parse().with_context(|| format!("`{}` is no number of seconds", seconds.trim()))
}
