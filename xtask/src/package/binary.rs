//! What is the program like that goes into the packages? Read from the file itself, not from how it was built.

use std::{collections::BTreeSet, fmt, fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};
use object::{
    Endianness,
    elf::{self, FileHeader64},
    read::elf::{Dyn as _, FileHeader as _, SectionHeader as _, Sym as _},
};

use super::tree;
use crate::proc;

/// The oldest C library that a release runs with: that of Debian 12, Ubuntu 22.04 and RHEL 9.
pub(super) const BASELINE: Glibc = Glibc(2, 35);

/// How large a release may be.
const LARGEST: usize = 8 << 20;

/// Without one of these nobody finds another machine.
const NETWORK: &[&str] = &["getaddrinfo", "gethostbyname", "gethostbyname_r", "res_search", "__res_search"];

/// A shared library, and the Debian package that has it.
struct Library {
    name: &'static str,
    debian: &'static str,
    /// Whether a release may need it: wheels of the manylinux kind may, and every system with glibc has it.
    everywhere: bool,
}

const fn everywhere(name: &'static str, debian: &'static str) -> Library {
    Library { name, debian, everywhere: true }
}

/// The libraries that are known. A release links everything else statically.
const LIBRARIES: &[Library] = &[
    everywhere("ld-linux-x86-64.so.2", "libc6"),
    everywhere("libc.so.6", "libc6"),
    everywhere("libm.so.6", "libc6"),
    everywhere("libgcc_s.so.1", "libgcc-s1"),
    Library { name: "libseccomp.so.2", debian: "libseccomp2", everywhere: false },
];

/// A version of the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Glibc(pub(super) u32, pub(super) u32);

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl Glibc {
    /// From the name of a symbol version, if it is one of the C library's.
    fn of_symbols(version: &str) -> Option<Self> {
        let mut numbers = version.strip_prefix("GLIBC_")?.split('.').map(str::parse);
        match (numbers.next()?, numbers.next()?) {
            (Ok(major), Ok(minor)) => Some(Self(major, minor)),
            _ => None,
        }
    }
}

/// The program.
pub(super) struct Binary {
    /// The file, without symbols.
    pub(super) content: Vec<u8>,
    /// The shared libraries that it is loaded with.
    pub(super) needed: BTreeSet<String>,
    /// The functions that it asks other libraries for.
    imports: BTreeSet<String>,
    /// The newest version of the C library that a symbol is asked of.
    pub(super) glibc: Glibc,
    /// A place where it can be run.
    pub(super) runnable: tempfile::TempPath,
}

impl Binary {
    /// Reads a program and takes the symbols off.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let file = tempfile::Builder::new().prefix("blastradius-").tempfile()?;
        let runnable = file.into_temp_path();
        proc::run(Command::new("strip").arg("--strip-all").arg("-o").arg(&runnable).arg(path))?;
        let content = fs::read(&runnable)?;
        let Links { needed, imports, glibc } =
            links(&content).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self { content, needed, imports, glibc, runnable })
    }

    /// Whether every system with that C library can load it.
    pub(super) fn loads_everywhere(&self) -> bool {
        self.needed.iter().all(|name| known(name).is_some_and(|library| library.everywhere))
    }

    /// The Debian packages without which it does not start.
    pub(super) fn debian_packages(&self) -> Result<BTreeSet<&'static str>> {
        let package = |name: &String| {
            known(name).map(|library| library.debian).with_context(|| format!("which package has {name}?"))
        };
        self.needed.iter().map(package).collect()
    }

    /// Fails if it is not what the documentation says of a release.
    pub(super) fn is_as_promised(&self) -> Result<()> {
        if !self.loads_everywhere() {
            bail!("the release needs libraries that are not everywhere: {}", self.libraries());
        }
        if let Some(name) = NETWORK.iter().find(|name| self.imports.contains(**name)) {
            bail!("the release asks for {name}: the guard has no network code");
        }
        if self.glibc > BASELINE {
            bail!("the release needs glibc {}: {BASELINE} is promised", self.glibc);
        }
        if self.content.len() > LARGEST {
            let [is, may] = [self.content.len(), LARGEST].map(tree::size);
            // Not a reason to ship nothing: it is said each time, and a test holds it to the limit.
            eprintln!("xtask: the release is {is} large: {may} is promised");
        }
        Ok(())
    }

    /// What it is, for a person.
    pub(super) fn described(&self) -> String {
        let size = tree::size(self.content.len());
        format!("{size:>9}  the program, stripped; glibc {} or newer; needs {}", self.glibc, self.libraries())
    }

    fn libraries(&self) -> String {
        self.needed.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// What it prints when it is run.
    pub(super) fn prints(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let text = proc::capture(Command::new(&*self.runnable).args(arguments))?;
        Ok(text.into_bytes())
    }
}

fn known(name: &str) -> Option<&'static Library> {
    LIBRARIES.iter().find(|library| library.name == name)
}

/// What a program asks others for.
struct Links {
    needed: BTreeSet<String>,
    imports: BTreeSet<String>,
    glibc: Glibc,
}

/// Reads what the dynamic linker reads.
fn links(content: &[u8]) -> Result<Links> {
    let header = FileHeader64::<Endianness>::parse(content)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, content)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();

    let mut needed = BTreeSet::new();
    if let Some((entries, link)) = sections.dynamic(endian, content)? {
        let strings = sections.strings(endian, content, link)?;
        for entry in entries.iter().filter(|entry| entry.tag(endian) == elf::DT_NEEDED) {
            let name = u32::try_from(entry.val(endian)).ok().and_then(|at| strings.get(at).ok());
            needed.insert(text(name.context("a library without a name")?));
        }
    }

    let mut glibc = Glibc(2, 0);
    for section in sections.iter() {
        let Some((mut libraries, link)) = section.gnu_verneed(endian, content)? else { continue };
        let strings = sections.strings(endian, content, link)?;
        while let Some((_, mut versions)) = libraries.next()? {
            while let Some(version) = versions.next()? {
                let asked = Glibc::of_symbols(&text(version.name(endian, strings)?));
                glibc = glibc.max(asked.unwrap_or(glibc));
            }
        }
    }

    let symbols = sections.symbols(endian, content, elf::SHT_DYNSYM)?;
    let undefined = symbols.iter().filter(|symbol| symbol.is_undefined(endian));
    let mut imports = BTreeSet::new();
    for symbol in undefined {
        imports.insert(text(symbol.name(endian, symbols.strings())?));
    }
    Ok(Links { needed, imports, glibc })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_c_library_compare_as_numbers() {
        assert!(Glibc::of_symbols("GLIBC_2.34") > Glibc::of_symbols("GLIBC_2.4"));
        assert_eq!(Glibc::of_symbols("GLIBC_2.2.5"), Some(Glibc(2, 2)));
        assert_eq!(Glibc::of_symbols("GCC_3.0"), None);
        assert_eq!(Glibc::of_symbols("GLIBC_PRIVATE"), None);
    }

    #[test]
    fn this_program_is_read_like_any_other() {
        let ourselves = fs::read(std::env::current_exe().unwrap()).unwrap();
        let Links { needed, imports, glibc } = links(&ourselves).unwrap();
        assert!(imports.contains("malloc"), "{imports:?}");
        assert!(needed.contains("libc.so.6"), "{needed:?}");
        assert!(glibc >= Glibc(2, 14), "{glibc}");
        assert!(links(b"#!/bin/sh\n").is_err());
    }
}
