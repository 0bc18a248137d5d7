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
    cargo, proc,
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
    cargo::release("blastradius-user", "blastradius", &seccomp_linked_in())
}

/// The variables with which libseccomp becomes part of the program, where the system has it as a static library: a machine
/// that the program is carried to need not have it.
fn seccomp_linked_in() -> Vec<(&'static str, OsString)> {
    let found = proc::capture(Command::new("cc").arg("-print-file-name=libseccomp.a")).unwrap_or_default();
    // The compiler answers with the bare name when it finds no such file.
    match Path::new(found.trim()).parent() {
        Some(directory) if directory.is_absolute() => {
            vec![("LIBSECCOMP_LINK_TYPE", "static".into()), ("LIBSECCOMP_LIB_PATH", directory.into())]
        }
        _ => Vec::new(),
    }
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
