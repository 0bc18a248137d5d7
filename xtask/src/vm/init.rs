//! Builds the guest's init, `vm/init`.
//!
//! It is a Rust program and not a script, since it has to keep the nonce to itself, relay output, and tell an exit code from a signal
//! exactly. It is linked statically against the C library that every Rust toolchain for this target links with anyway, so it needs no
//! further target.

use std::{path::PathBuf, process::Command};

use anyhow::Result;

use crate::{house, proc};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds it if need be, and returns its path.
pub(crate) fn build() -> Result<PathBuf> {
    let target_dir = house::target().join("guest-init");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["build", "--quiet", "--release", "--locked", "--package", "guest-init", "--target", TARGET])
        .args(["--config", &format!("target.{TARGET}.rustflags=['-Ctarget-feature=+crt-static']")])
        .arg("--target-dir")
        .arg(&target_dir)
        .current_dir(house::root())
        // These would take precedence over the line above.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    proc::run(&mut command)?;
    Ok(target_dir.join(TARGET).join("release/guest-init"))
}
