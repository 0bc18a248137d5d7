//! `SHA256SUMS`, as `sha256sum --check` reads it.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::Package;

/// The file that names the others.
pub(super) fn of(packages: &[Package]) -> Package {
    let mut lines: Vec<String> =
        packages.iter().map(|one| format!("{}  {}\n", hex(&one.content), one.name)).collect();
    lines.sort_by(|a, b| {
        a.split_once("  ").map(|(_, name)| name).cmp(&b.split_once("  ").map(|(_, name)| name))
    });
    Package { name: "SHA256SUMS".into(), content: lines.concat().into_bytes() }
}

/// The digest of some bytes, as text.
fn hex(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_sha256sum() {
        let sums = of(&[Package { name: "empty".into(), content: Vec::new() }]);
        let expected = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty\n";
        assert_eq!(String::from_utf8(sums.content).unwrap(), expected);
    }
}
