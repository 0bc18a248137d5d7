//! `cargo xtask build` and `cargo xtask run`: the program itself.

use std::{
    ffi::OsString,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::{
    cargo::{self, Linked},
    proc,
    setup::{self, requirements::Job},
};

/// Build what is needed, and run a command under the guard: `blastradius run -- CMD`
///
/// The exit code is blastradius's own, which is the command's.
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Options for `blastradius run`
    #[arg(allow_hyphen_values = true, value_name = "OPTION")]
    options: Vec<OsString>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Builds the program as it is released, with the kernel side in it.
pub(crate) fn build() -> Result<PathBuf> {
    setup::ensure(&[Job::Build])?;
    cargo::release("blastradius-user", "blastradius", &with_all_that_it_needs())
}

/// Builds another program of the workspace beside it. Its libraries are the same: the crates that they go into would be built
/// anew for either, in turns.
pub(crate) fn beside(package: &str) -> Result<PathBuf> {
    cargo::release(package, package, &Linked { flags: &[], ..with_all_that_it_needs() })
}

/// The program has every library in it: much of what a start costs is the dynamic linker's work, and the machine that it is
/// carried to needs no C library, nor one of a certain age.
const STATIC: &[&str] = &["-Ctarget-feature=+crt-static", "-Crelocation-model=static"];

/// How it is linked: with what the system has of static libraries.
fn with_all_that_it_needs() -> Linked {
    match (static_library("libseccomp.a"), static_library("libc.a")) {
        (Some(seccomp), libc) => Linked {
            env: vec![("LIBSECCOMP_LINK_TYPE", "static".into()), ("LIBSECCOMP_LIB_PATH", seccomp.into())],
            flags: if libc.is_some() { STATIC } else { &[] },
        },
        (None, _) => Linked::default(),
    }
}

/// The directory where the C compiler finds a library.
fn static_library(name: &str) -> Option<PathBuf> {
    let mut cc = Command::new("cc");
    let found = proc::capture(cc.arg(format!("-print-file-name={name}"))).ok()?;
    // The compiler answers with the bare name when it finds no such file.
    Path::new(found.trim()).parent().filter(|directory| directory.is_absolute()).map(Path::to_path_buf)
}

/// Builds it and says where it is.
pub(crate) fn build_and_tell() -> Result<i32> {
    println!("{}", build()?.display());
    Ok(0)
}

/// Builds it and becomes it.
pub(crate) fn run(Request { options, command }: &Request) -> Result<i32> {
    let program = build()?;
    let error = Command::new(&program).arg("run").args(options).arg("--").args(command).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}
