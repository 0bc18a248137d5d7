//! What this guest is to do: a file of `name=value` entries, each ended by a NUL.

use std::{ffi::OsString, fs, os::unix::ffi::OsStringExt as _};

use anyhow::{Context as _, Result, bail};

const FILE: &str = "/vm.conf";

/// The request, as `xtask/src/vm/mod.rs` writes it.
#[derive(Debug, Default)]
pub(crate) struct Conf {
    /// What our reports start with.
    pub(crate) nonce: String,
    /// What /scratch is to be.
    pub(crate) file_system: String,
    /// The disk that is to be the root, if one is.
    pub(crate) root_disk: Option<String>,
    /// The disk for /scratch, if it is to be on one.
    pub(crate) scratch_disk: Option<String>,
    /// Variables for the command.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The command and its arguments.
    pub(crate) command: Vec<OsString>,
}

impl Conf {
    /// Reads the file and removes it, so that the command does not learn the nonce.
    pub(crate) fn take() -> Result<Self> {
        let bytes = fs::read(FILE).with_context(|| format!("cannot read {FILE}"))?;
        fs::remove_file(FILE).with_context(|| format!("cannot remove {FILE}"))?;
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut conf = Self::default();
        for entry in bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let (name, value) = split(entry).with_context(|| format!("{FILE}: an entry without `=`"))?;
            match name {
                b"nonce" => conf.nonce = String::from_utf8(value.to_vec())?,
                b"fs" => conf.file_system = String::from_utf8(value.to_vec())?,
                b"root" => conf.root_disk = Some(String::from_utf8(value.to_vec())?),
                b"scratch" => conf.scratch_disk = Some(String::from_utf8(value.to_vec())?),
                b"arg" => conf.command.push(OsString::from_vec(value.to_vec())),
                b"env" => {
                    let (name, value) = split(value).context("a variable without `=`")?;
                    let os = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
                    conf.environment.push((os(name), os(value)));
                }
                other => bail!("{FILE}: unknown entry `{}`", String::from_utf8_lossy(other)),
            }
        }
        if conf.nonce.is_empty() {
            bail!("{FILE} has no nonce");
        }
        Ok(conf)
    }
}

fn split(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = entry.iter().position(|byte| *byte == b'=')?;
    Some((&entry[..at], &entry[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_everything_but_nul() {
        let conf = Conf::parse(b"nonce=n\0fs=ext4\0env=A=b=c\0arg=sh\0arg=\0arg=a\n=b\0").unwrap();
        assert_eq!((conf.nonce.as_str(), conf.file_system.as_str()), ("n", "ext4"));
        assert_eq!(conf.environment, [("A".into(), "b=c".into())]);
        assert_eq!(conf.command, ["sh", "", "a\n=b"]);
        assert!(Conf::parse(b"fs=ext4\0").is_err());
        assert!(Conf::parse(b"nonce=n\0what=x\0").is_err());
    }
}
