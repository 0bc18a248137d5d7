//! Installs packages of Debian's, from suites of this release that the machine itself may not have enabled.

use std::process::Command;

use anyhow::{Result, bail};
use nix::unistd::geteuid;

use super::{
    machine::Distribution,
    requirements::{Get, Requirement},
};
use crate::{
    apt::{Candidate, PrivateRoot, sources::Archive, version},
    house, proc,
};

/// Installs what the rows ask for. It removes nothing: a package that could only come at the price of another is an error.
pub(crate) fn install(missing: &[&Requirement]) -> Result<()> {
    let distribution = Distribution::of_this_machine();
    if distribution.id != "debian" {
        bail!("this is no Debian system; please install:\n{}", wish_list(missing));
    }
    let suites = suites(&distribution.codename);
    let names: Vec<&str> = suites.iter().map(String::as_str).collect();
    let root = PrivateRoot::for_installing(
        house::cache("apt")?.join("install"),
        &Archive::of_this_machine()?,
        &names,
    )?;
    eprintln!("xtask: fetching the package lists of {}", names.join(", "));
    root.update()?;
    let mut packages = Vec::new();
    for row in missing {
        if let Get::Debian { packages: wanted, at_least } = &row.get {
            packages.extend(choose(&root, wanted, at_least)?);
        }
    }
    packages.sort();
    packages.dedup();
    let mut command = root.apt("apt-get");
    command.args(["install", "--yes", "--no-install-recommends", "--no-remove"]).args(&packages);
    if !geteuid().is_root() {
        bail!(
            "this needs root. To install what is missing, run:\n\n    sudo {}\n\nand then the same xtask again",
            proc::shown(&command)
        );
    }
    eprintln!("xtask: installing {}", packages.join(" "));
    install_with(&mut command)
}

fn install_with(command: &mut Command) -> Result<()> {
    // Output that is no terminal gets no progress bars.
    command.args(["-o", "Dpkg::Use-Pty=0"]);
    proc::run(command)
}

/// Unstable has only itself; a release has updates, security and backports beside it.
fn suites(codename: &str) -> Vec<String> {
    if codename.is_empty() {
        return vec!["sid".to_owned()];
    }
    ["", "-updates", "-security", "-backports"].iter().map(|suffix| format!("{codename}{suffix}")).collect()
}

/// The packages as apt is to be asked for them. Backports are only used for what is too old otherwise, and then for the whole row.
fn choose(root: &PrivateRoot, wanted: &[&str], at_least: &str) -> Result<Vec<String>> {
    let [first, ..] = wanted else { return Ok(Vec::new()) };
    let offered = offered(root, first)?;
    let new_enough = |candidate: &&Candidate| version::compare(&candidate.version, at_least).is_ge();
    let backported = |candidate: &&Candidate| candidate.suite.ends_with("-backports");
    if offered.iter().any(|candidate| new_enough(&candidate) && !backported(&candidate)) {
        return Ok(wanted.iter().map(|name| (*name).to_owned()).collect());
    }
    let Some(suite) = offered.iter().find(|candidate| new_enough(candidate) && backported(candidate)) else {
        let found: Vec<String> = offered.iter().map(|c| format!("{} in {}", c.version, c.suite)).collect();
        let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
        bail!("{first} is needed in version {at_least} or newer, and the archive has {found}");
    };
    let suite = &suite.suite;
    let mut chosen = Vec::new();
    for name in wanted {
        let has = self::offered(root, name)?.iter().any(|candidate| candidate.suite == *suite);
        chosen.push(if has { format!("{name}/{suite}") } else { (*name).to_owned() });
    }
    Ok(chosen)
}

fn offered(root: &PrivateRoot, name: &str) -> Result<Vec<Candidate>> {
    Ok(root.candidates(name)?.into_iter().filter(|candidate| candidate.package == name).collect())
}

/// What someone on another distribution has to look for.
pub(crate) fn wish_list(missing: &[&Requirement]) -> String {
    missing.iter().map(|row| format!("    {}: {}", row.name, row.elsewhere)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_their_suites() {
        assert_eq!(suites("trixie"), ["trixie", "trixie-updates", "trixie-security", "trixie-backports"]);
        assert_eq!(suites(""), ["sid"]);
    }
}
