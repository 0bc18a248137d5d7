//! Gets a kernel of a series from Debian's archive into the cache, unpacked and never installed.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use super::{
    modules,
    table::{Kernel, Table},
};
use crate::{
    apt::{Candidate, PrivateRoot, sources::Archive, version},
    house, proc,
};

/// A kernel in the cache.
#[derive(Debug, Clone)]
pub(crate) struct Fetched {
    /// What is known of it.
    pub(crate) about: About,
    /// Its room in the cache: `vmlinuz`, and `lib/modules/RELEASE`.
    pub(crate) dir: PathBuf,
}

/// What a kernel's room says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The package that it came in.
    pub(crate) package: String,
    /// The version of that package.
    pub(crate) version: String,
    /// What `uname -r` says in the guest.
    pub(crate) release: String,
    /// The modules that were wanted when it was unpacked.
    pub(crate) modules: Vec<String>,
}

const ABOUT: &str = "about.json";

/// The newest cached kernel of a series, fetched if there is none, or if a newer one is asked for with `refresh`.
pub(crate) fn ensure(table: &Table, kernel: &Kernel, refresh: bool) -> Result<Fetched> {
    let cache = house::cache("kernels")?.join(&kernel.series);
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let _lock = lock(&cache)?;
    let cached = newest_cached(&cache, kernel);
    if let Some(cached) = &cached
        && !refresh
        && cached.about.modules == table.modules
    {
        return Ok(cached.clone());
    }
    match (fetch(&cache, table, kernel, refresh), cached) {
        (Ok(fetched), _) => Ok(fetched),
        // Packages leave the archive; what was tested yesterday can be tested today.
        (Err(error), Some(cached)) => {
            eprintln!(
                "xtask: no newer {} kernel, going on with {}: {error:#}",
                kernel.series, cached.about.version
            );
            Ok(cached)
        }
        (Err(error), None) => Err(error.context(format!("cannot get a {} kernel", kernel.series))),
    }
}

/// The newest cached kernel of a series, if there is one.
pub(crate) fn cached(kernel: &Kernel) -> Result<Option<Fetched>> {
    Ok(newest_cached(&house::cache("kernels")?.join(&kernel.series), kernel))
}

/// Two xtasks must not unpack into the same room.
fn lock(cache: &Path) -> Result<Flock<File>> {
    let path = cache.join(".lock");
    let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    Flock::lock(file, FlockArg::LockExclusive)
        .map_err(|(_, errno)| errno)
        .with_context(|| format!("cannot lock {}", path.display()))
}

fn newest_cached(cache: &Path, kernel: &Kernel) -> Option<Fetched> {
    let rooms = fs::read_dir(cache).ok()?.flatten().map(|entry| entry.path());
    let read = |dir: PathBuf| {
        let about: About = serde_json::from_slice(&fs::read(dir.join(ABOUT)).ok()?).ok()?;
        Some(Fetched { about, dir })
    };
    rooms
        .filter_map(read)
        .filter(|fetched| kernel.matches(&fetched.about.package))
        .max_by(|a, b| version::compare(&a.about.version, &b.about.version))
}

fn fetch(cache: &Path, table: &Table, kernel: &Kernel, refresh: bool) -> Result<Fetched> {
    let archive = Archive::of_this_machine()?;
    let suites: Vec<&str> = kernel.suites.iter().map(String::as_str).collect();
    // A root per set of suites, so that kernels of the same suite share its lists.
    let root = PrivateRoot::for_downloads(house::cache("apt")?.join(suites.join("+")), &archive, &suites)?;
    let mut newest = if refresh { None } else { newest_offered(&root, kernel)? };
    if newest.is_none() {
        eprintln!("xtask: fetching the package lists of {}", suites.join(", "));
        root.update()?;
        newest = newest_offered(&root, kernel)?;
    }
    let Some(newest) = newest else {
        bail!("no package named {} in {}", kernel.package, suites.join(", "));
    };
    unpack(cache, table, &root, &newest).or_else(|error| {
        // Lists that were fetched long ago name packages that are gone.
        if refresh { Err(error) } else { fetch(cache, table, kernel, true) }
    })
}

fn newest_offered(root: &PrivateRoot, kernel: &Kernel) -> Result<Option<Candidate>> {
    let candidates = root.candidates(kernel.prefix())?;
    let ours = candidates
        .into_iter()
        .filter(|found| kernel.matches(&found.package) && kernel.suites.contains(&found.suite));
    Ok(ours.max_by(|a, b| version::compare(&a.version, &b.version)))
}

fn unpack(cache: &Path, table: &Table, root: &PrivateRoot, newest: &Candidate) -> Result<Fetched> {
    let Candidate { package, version, suite } = newest;
    let release =
        package.strip_prefix("linux-image-").context("a kernel's package starts with linux-image-")?;
    let room = cache.join(release);
    eprintln!("xtask: fetching Linux {version} ({package}) from {suite}");

    // Newer kernels are split: linux-image only depends on linux-binary-RELEASE, linux-modules-RELEASE and linux-base-RELEASE.
    let mut packages = vec![(package.clone(), version.clone())];
    // The last holds nothing that a guest needs, and the archive has lost it for some.
    for part in root.depends(package, version)?.into_iter().filter(|name| name.ends_with(release)) {
        if root.candidates(&part)?.iter().any(|found| found.package == part && found.version == *version) {
            packages.push((part, version.clone()));
        }
    }

    let work = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(cache)?;
    let (debs, tree, out) = (work.path().join("debs"), work.path().join("tree"), work.path().join("out"));
    for dir in [&debs, &tree, &out] {
        fs::create_dir(dir)?;
    }
    root.download(&packages, &debs)?;
    for deb in fs::read_dir(&debs)? {
        proc::run(Command::new("dpkg-deb").arg("-x").arg(deb?.path()).arg(&tree))?;
    }

    let image = [
        format!("boot/vmlinuz-{release}"),
        format!("usr/lib/modules/{release}/vmlinuz"),
        format!("lib/modules/{release}/vmlinuz"),
    ]
    .map(|place| tree.join(place))
    .into_iter()
    .find(|place| place.is_file())
    .with_context(|| {
        format!("the packages of {release} hold no vmlinuz in any place that Debian has used")
    })?;
    fs::copy(&image, out.join("vmlinuz"))?;
    modules::select(&tree, &out, release, &table.modules)?;

    let about = About {
        package: package.clone(),
        version: version.clone(),
        release: release.to_owned(),
        modules: table.modules.clone(),
    };
    fs::write(out.join(ABOUT), serde_json::to_vec_pretty(&about)?)?;
    if room.exists() {
        fs::remove_dir_all(&room).with_context(|| format!("cannot replace {}", room.display()))?;
    }
    fs::rename(&out, &room).with_context(|| format!("cannot make {}", room.display()))?;
    Ok(Fetched { about, dir: room })
}
