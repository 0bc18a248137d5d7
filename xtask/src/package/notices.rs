//! What others ask to be said when their work is passed on: who has written what, and under which terms.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result};

use crate::crates;

/// What is no crate, and is linked into the release. The licence of both lets whoever has the program replace them.
pub(super) const FOREIGN: &[Foreign] = &[
    Foreign {
        name: "glibc",
        licence: "LGPL-2.1-or-later",
        source: "https://sourceware.org/git/glibc.git",
        terms: "The release binary links it statically. Its licence lets you replace it: the source archive of each \
                release holds all that is needed to link the program with another version, or with that of the machine.",
    },
    Foreign {
        name: "libseccomp",
        licence: "LGPL-2.1-only",
        source: "https://github.com/seccomp/libseccomp",
        terms: "The release binary links it statically. Its licence lets you replace it: the source archive of each \
                release holds all that is needed to link the program with another version (LIBSECCOMP_LINK_TYPE, \
                LIBSECCOMP_LIB_PATH).",
    },
];

/// Something in the binary that is no crate.
pub(super) struct Foreign {
    pub(super) name: &'static str,
    pub(super) licence: &'static str,
    pub(super) source: &'static str,
    terms: &'static str,
}

/// The text: first who, then the terms, each text once.
pub(super) fn text() -> Result<String> {
    let mut text = String::from("The program contains the work of others.\n\n");
    for Foreign { name, licence, source, terms } in FOREIGN {
        let _ = writeln!(text, "{name} ({licence}) {source}\n{terms}\n");
    }
    let mut terms: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in crates::linked()?.into_iter().filter(|one| one.checksum.is_some()) {
        let _ = writeln!(
            text,
            "{} {} ({})",
            one.name,
            one.version,
            one.licence.as_deref().unwrap_or("see below")
        );
        for licence in licence_files(&one.directory)? {
            terms.entry(licence).or_default().push(format!("{} {}", one.name, one.version));
        }
    }
    for (licence, crates) in terms {
        let _ = write!(text, "\n{}\n{}:\n\n{}\n", "-".repeat(80), crates.join(", "), licence.trim_end());
    }
    Ok(text)
}

/// The texts of the files of a crate that state its terms.
fn licence_files(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let states_terms = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"]
            .iter()
            .any(|word| name.starts_with(word));
        if states_terms && entry.file_type()?.is_file() {
            names.push(entry.path());
        }
    }
    names.sort();
    let read = |path: &std::path::PathBuf| {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
    };
    names.iter().map(read).collect()
}
