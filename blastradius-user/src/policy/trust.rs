//! Which widening lines of a repository's file a human has approved. The answer lives outside the repository: an agent
//! that edits the file gains nothing, since any change is another file.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::digest::sha256;

/// Where approvals are kept.
pub trait TrustStore {
    /// Whether a human approved this very content of the file at `path`.
    fn is_trusted(&self, path: &Path, content: &[u8]) -> bool;
}

/// Nobody has approved anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrust;

impl TrustStore for NoTrust {
    fn is_trusted(&self, _path: &Path, _content: &[u8]) -> bool {
        false
    }
}

/// Approvals as a text file: `DIGEST  PATH`, one a line, as sha256sum(1) prints them.
///
/// Reading and writing the file is the caller's; it lies in the guard's state directory, which no session may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    lines: Vec<(String, PathBuf)>,
}

impl Approvals {
    /// Reads the file's content. A line that is none is dropped: that trusts less, never more.
    pub fn parse(content: &[u8]) -> Self {
        let lines = content.split(|byte| *byte == b'\n').filter_map(|line| {
            let (digest, path) = line.split_at_checked(64)?;
            let digest = std::str::from_utf8(digest).ok()?;
            let path = path.strip_prefix(b"  ")?;
            let is_digest = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            (is_digest && path.is_absolute()).then(|| (digest.to_owned(), path.to_path_buf()))
        });
        Self { lines: lines.collect() }
    }

    /// Approves this content of the file at `path`, and withdraws what was approved of it before.
    ///
    /// A path with a line break cannot be written down, and is not approved.
    pub fn approve(&mut self, path: &Path, content: &[u8]) -> bool {
        self.withdraw(path);
        let writable = path.is_absolute() && !path.as_os_str().as_bytes().contains(&b'\n');
        if writable {
            self.lines.push((sha256(content), path.to_path_buf()));
        }
        writable
    }

    /// Withdraws what was approved of the file at `path`.
    pub fn withdraw(&mut self, path: &Path) {
        self.lines.retain(|(_, known)| known != path);
    }

    /// The file's content.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (digest, path) in &self.lines {
            // Writing to a String cannot fail. A path that is no text is written lossily and trusts nothing when read.
            let _ = writeln!(text, "{digest}  {}", path.display());
        }
        text
    }
}

impl TrustStore for Approvals {
    fn is_trusted(&self, path: &Path, content: &[u8]) -> bool {
        let known = self.lines.iter().filter(|(_, known)| known == path);
        let mut digests = known.map(|(digest, _)| digest).peekable();
        // Most files were never approved: no digest for those.
        digests.peek().is_some() && {
            let digest = sha256(content);
            digests.any(|known| known.eq_ignore_ascii_case(&digest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_holds_for_one_content_of_one_file() {
        let mut approvals = Approvals::default();
        assert!(approvals.approve(Path::new("/p/.blastradius"), b"allow ~/x"));
        let read = Approvals::parse(approvals.to_text().as_bytes());
        assert_eq!(read, approvals);
        assert!(read.is_trusted(Path::new("/p/.blastradius"), b"allow ~/x"));
        assert!(!read.is_trusted(Path::new("/p/.blastradius"), b"allow ~/x\n"));
        assert!(!read.is_trusted(Path::new("/q/.blastradius"), b"allow ~/x"));
    }

    #[test]
    fn a_new_approval_withdraws_the_old_one() {
        let mut approvals = Approvals::default();
        approvals.approve(Path::new("/p/.blastradius"), b"one");
        approvals.approve(Path::new("/p/.blastradius"), b"two");
        assert!(!approvals.is_trusted(Path::new("/p/.blastradius"), b"one"));
        approvals.withdraw(Path::new("/p/.blastradius"));
        assert_eq!(approvals.to_text(), "");
    }

    #[test]
    fn lines_that_are_none_trust_nothing() {
        let text = b"\nnonsense\n0123  /p\n\xff\xfe  /p\n";
        assert_eq!(Approvals::parse(text), Approvals::default());
        assert!(!Approvals::default().approve(Path::new("relative"), b""));
    }
}
