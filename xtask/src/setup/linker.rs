//! bpf-linker, pinned, in the cache.

use std::{path::PathBuf, process::Command};

use anyhow::Result;

use crate::{house, proc};

/// The version that goes with the compiler's LLVM. To follow a newer one, change this line: each version has a place of its own.
const VERSION: &str = "0.10.3";

/// Where it is, or would be.
pub(crate) fn path() -> Result<PathBuf> {
    Ok(root()?.join("bin/bpf-linker"))
}

fn root() -> Result<PathBuf> {
    Ok(house::cache("tools")?.join(format!("bpf-linker-{VERSION}")))
}

/// Whether it is there.
pub(crate) fn present() -> bool {
    path().is_ok_and(|path| proc::is_program(&path))
}

/// Builds it, which takes a minute or two.
pub(crate) fn install() -> Result<()> {
    eprintln!("xtask: building bpf-linker {VERSION}, once");
    let work = tempfile::Builder::new().prefix(".building-").tempdir_in(house::cache("tools")?)?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["install", "--locked", "--root"])
        .arg(root()?)
        .arg(format!("bpf-linker@{VERSION}"))
        .env("CARGO_TARGET_DIR", work.path())
        // Away from the clone, whose settings are for the clone.
        .current_dir(work.path())
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    proc::run(&mut command)
}
