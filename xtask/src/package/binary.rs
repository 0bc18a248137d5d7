//! What is the program like that goes into the packages? Read from the file itself, not from how it was built.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};
use object::{
    Endianness,
    elf::{self, FileHeader64},
    read::elf::{FileHeader as _, ProgramHeader as _},
};

use super::tree;
use crate::proc;

/// How large a release may be.
const LARGEST: usize = 8 << 20;

/// What the C library's resolver reads. It is in every static program that finds other machines by their names.
const RESOLVER: &[u8] = b"/etc/resolv.conf";

/// What a program needs in order to be loaded.
const LOADED_WITH: &[(u32, &str)] =
    &[(elf::PT_INTERP, "a dynamic linker"), (elf::PT_DYNAMIC, "shared libraries, or to be moved")];

/// The program.
pub(super) struct Binary {
    /// The file, without symbols.
    pub(super) content: Vec<u8>,
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
        Ok(Self { content, runnable })
    }

    /// Fails if it is not what the documentation says of a release.
    pub(super) fn is_as_promised(&self) -> Result<()> {
        let needs = needs(&self.content).context("the program cannot be read")?;
        if !needs.is_empty() {
            bail!(
                "the program needs {}: packages are made of one that needs nothing, which takes the static libraries of \
                 libseccomp and of the C library (Debian: libseccomp-dev, libc6-dev)",
                needs.join(" and ")
            );
        }
        if self.content.windows(RESOLVER.len()).any(|text| text == RESOLVER) {
            bail!("the program has a resolver in it: the guard has no network code");
        }
        if self.content.len() > LARGEST {
            let [is, may] = [self.content.len(), LARGEST].map(tree::size);
            bail!("the program is {is} large: {may} is promised");
        }
        Ok(())
    }

    /// What it is, for a person.
    pub(super) fn described(&self) -> String {
        format!("{:>9}  the program, stripped; needs no library", tree::size(self.content.len()))
    }

    /// What it prints when it is run.
    pub(super) fn prints(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let text = proc::capture(Command::new(&*self.runnable).args(arguments))?;
        Ok(text.into_bytes())
    }
}

/// What a program is loaded with.
fn needs(content: &[u8]) -> Result<Vec<&'static str>> {
    let header = FileHeader64::<Endianness>::parse(content)?;
    let endian = header.endian()?;
    let kinds: Vec<u32> =
        header.program_headers(endian, content)?.iter().map(|segment| segment.p_type(endian)).collect();
    Ok(LOADED_WITH.iter().filter(|(kind, _)| kinds.contains(kind)).map(|(_, what)| *what).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_libraries_is_told_from_one_that_needs_none() {
        let ourselves = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(needs(&ourselves).unwrap(), ["a dynamic linker", "shared libraries, or to be moved"]);
        assert!(needs(b"#!/bin/sh\n").is_err());

        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        fs::write(dir.path().join("program.c"), "int main(void) { return 0; }\n").unwrap();
        let mut cc = Command::new("cc");
        proc::run(cc.args(["-static", "-no-pie", "-o"]).arg(&program).arg(dir.path().join("program.c")))
            .unwrap();
        assert!(needs(&fs::read(program).unwrap()).unwrap().is_empty());
    }
}
