//! `blastradius init`: a commented policy file to begin with.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use super::{exit, scope};
use crate::policy::config::TEMPLATE;
use crate::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn main(Args {}: Args) -> ExitCode {
    match init() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::failure(&error, exit::OWN_FAILURE),
    }
}

fn init() -> Result<()> {
    let system = System::current().context("the working directory cannot be read")?;
    let file = scope::policy_file(&system);
    // create_new: a file that is there says what somebody wanted, and is left as it is.
    let mut opened = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file)
        .with_context(|| format!("{}: expected no file there yet", file.display()))?;
    opened.write_all(TEMPLATE.as_bytes()).with_context(|| file.display().to_string())?;
    anstream::println!("{}", file.display());
    Ok(())
}
