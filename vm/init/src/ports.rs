//! The serial ports that we report on.

use std::fs::{File, OpenOptions};

use anyhow::{Context as _, Result};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

/// What the command writes.
pub(crate) const OUTPUT: &str = "/dev/ttyS1";
/// What we report.
pub(crate) const CONTROL: &str = "/dev/ttyS2";

/// Opens a serial port that passes bytes on as they are.
pub(crate) fn open(path: &str) -> Result<File> {
    let port = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .with_context(|| format!("cannot open {path}"))?;
    let mut settings = tcgetattr(&port).with_context(|| format!("{path} is no serial port"))?;
    cfmakeraw(&mut settings);
    tcsetattr(&port, SetArg::TCSANOW, &settings).with_context(|| format!("cannot set up {path}"))?;
    Ok(port)
}
