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

/// What is in every static program that looks up users or other machines: the C library would load libraries of the
/// machine that it runs on, which are of another C library; and the guard has no network code.
const LOOK_UP: &[u8] = b"libnss_";

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
        if looks_up(&self.content) {
            bail!(
                "the C library in the program looks up users or machines, and loads libraries of the machine for it"
            );
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

fn looks_up(content: &[u8]) -> bool {
    content.windows(LOOK_UP.len()).any(|text| text == LOOK_UP)
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

    /// A static program of this C text.
    fn compiled(text: &str) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let (source, program) = (dir.path().join("program.c"), dir.path().join("program"));
        fs::write(&source, text).unwrap();
        // ld warns of just what is looked for here.
        proc::run(Command::new("cc").args(["-static", "-no-pie", "-o"]).arg(&program).arg(source)).unwrap();
        fs::read(program).unwrap()
    }

    #[test]
    fn a_program_that_needs_libraries_is_told_from_one_that_needs_none() {
        let ourselves = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(needs(&ourselves).unwrap(), ["a dynamic linker", "shared libraries, or to be moved"]);
        assert!(needs(&compiled("int main(void) { return 0; }")).unwrap().is_empty());
        assert!(needs(b"#!/bin/sh\n").is_err());
    }

    #[test]
    fn a_static_program_that_looks_up_users_or_machines_is_told_from_one_that_does_not() {
        let program = |header: &str, call: &str| {
            compiled(&format!("#include <{header}>\nint main(void) {{ return {call}; }}"))
        };
        assert!(!looks_up(&program("stdio.h", "puts(\"users and machines\")")));
        assert!(looks_up(&program("pwd.h", "getpwuid(0) == 0")));
        assert!(looks_up(&program("netdb.h", "gethostbyname(\"localhost\") == 0")));
    }
}
