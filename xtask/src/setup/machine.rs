//! What this machine has.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::{apt::version, proc};

/// Whether a program is on PATH.
pub(crate) fn program(name: &str) -> bool {
    proc::which(name).is_some()
}

/// Whether the command runs and succeeds.
pub(crate) fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    let silent = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Whether a program is on PATH and says that its version is at least `major`.
pub(crate) fn program_at_least(name: &str, major: u32) -> bool {
    let said =
        proc::which(name).and_then(|program| proc::capture(Command::new(program).arg("--version")).ok());
    said.and_then(|said| first_version(&said)).is_some_and(|found| found >= major)
}

/// The major number of the first word that looks like a version.
fn first_version(text: &str) -> Option<u32> {
    let mut words = text.split_whitespace();
    words.find_map(|word| word.split_once('.').and_then(|(major, _)| major.parse().ok()))
}

/// Whether a file or directory exists.
pub(crate) fn file(path: &str) -> bool {
    Path::new(path).exists()
}

/// Whether a Debian package is installed, in at least that version. On other distributions none is.
pub(crate) fn package(name: &str, at_least: &str) -> bool {
    static INSTALLED: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        let format = "${Package} ${db:Status-Status} ${Version}\n";
        let listed = proc::capture(Command::new("dpkg-query").args(["--show", "--showformat", format]));
        listed.map(|text| packages(&text)).unwrap_or_default()
    });
    installed.get(name).is_some_and(|found| version::compare(found, at_least).is_ge())
}

fn packages(listing: &str) -> BTreeMap<String, String> {
    let row = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [name, "installed", version] => Some((name.to_owned(), version.to_owned())),
        _ => None,
    };
    listing.lines().filter_map(row).collect()
}

/// Whether the toolchain that cargo came from has a program. rustup's stand-ins on PATH exist whether the component does or not.
pub(crate) fn component(name: &str) -> bool {
    match toolchain() {
        Some(bin) => proc::is_program(&bin.join(name)),
        None => program(name),
    }
}

fn toolchain() -> Option<PathBuf> {
    Some(PathBuf::from(env::var_os("CARGO")?).parent()?.to_path_buf())
}

/// Whether rustup has a nightly toolchain with the sources of its standard library, from which core can be built for BPF.
pub(crate) fn nightly_with_sources() -> bool {
    let home = env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".rustup")));
    let Some(toolchains) = home.and_then(|home| fs::read_dir(home.join("toolchains")).ok()) else {
        return false;
    };
    toolchains.flatten().any(|entry| {
        entry.file_name().to_string_lossy().starts_with("nightly")
            && entry.path().join("lib/rustlib/src/rust/library/core").is_dir()
    })
}

/// What `/etc/os-release` says.
pub(crate) struct Distribution {
    /// `ID`.
    pub(crate) id: String,
    /// `VERSION_CODENAME`: Debian's unstable has none.
    pub(crate) codename: String,
}

impl Distribution {
    /// This machine's.
    pub(crate) fn of_this_machine() -> Self {
        Self::parse(&fs::read_to_string("/etc/os-release").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or_default().trim_matches('"').to_owned()
        };
        Self { id: field("ID"), codename: field("VERSION_CODENAME") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        assert_eq!(first_version("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds)"), Some(10));
        assert_eq!(first_version("no version at all."), None);
    }

    #[test]
    fn only_installed_packages_count() {
        let found = packages("a installed 1.2-3\nb config-files 1\nc not-installed\n");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [("a".to_owned(), "1.2-3".to_owned())]);
    }

    #[test]
    fn distributions_are_read() {
        let debian = Distribution::parse("NAME=\"Debian\"\nVERSION_CODENAME=bookworm\nID=debian\n");
        assert_eq!((debian.id.as_str(), debian.codename.as_str()), ("debian", "bookworm"));
        let other = Distribution::parse("ID=\"fedora\"\nVERSION_ID=40\n");
        assert_eq!((other.id.as_str(), other.codename.as_str()), ("fedora", ""));
    }
}
