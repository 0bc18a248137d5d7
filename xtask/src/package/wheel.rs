//! The wheel: `pip install blastradius-guard`, `uvx blastradius-guard -- CMD`.
//!
//! It carries the program as it is, under `scripts`, which pip puts on the path of the environment.

use std::io::{Cursor, Write as _};

use anyhow::Result;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use super::{
    DISTRIBUTION, Package, Release, SUMMARY, documents,
    tree::{PLAIN, PROGRAM, Tree},
};

/// The second command, so that `uvx` finds one of the distribution's name. Both lie in one directory, also where a tool manager links to them.
const SECOND: &str = "#!/bin/sh\nexec \"$(dirname -- \"$(readlink -f -- \"$0\")\")/blastradius\" \"$@\"\n";

/// Who may install it. The program brings its C library along, so that of the machine may be any: the tags are the oldest
/// of each that pip knows of without being told in another form.
const PLATFORMS: &[&str] = &["manylinux_2_17_x86_64", "musllinux_1_1_x86_64"];

pub(super) fn make(release: &Release) -> Result<Package> {
    let distribution = DISTRIBUTION.replace('-', "_");
    let stem = format!("{distribution}-{}", release.version);
    let mut tree = Tree::default();
    tree.add(format!("{stem}.data/scripts/blastradius"), PROGRAM, release.binary.content.clone());
    tree.add(format!("{stem}.data/scripts/{DISTRIBUTION}"), PROGRAM, SECOND);
    tree.add(format!("{stem}.data/data/share/man/man1/blastradius.1"), PLAIN, documents::manual(release)?);
    let about = format!("{stem}.dist-info");
    tree.add(format!("{about}/METADATA"), PLAIN, metadata(release)?);
    tree.add(
        format!("{about}/WHEEL"),
        PLAIN,
        format!("Wheel-Version: 1.0\nGenerator: blastradius xtask\nRoot-Is-Purelib: false\n{}", tags()),
    );
    documents::add_licences(&mut tree, &format!("{about}/licenses/"))?;
    let record = format!("{about}/RECORD");
    let list = listed(&tree, &record);
    tree.add(record, PLAIN, list);
    Ok(Package { name: format!("{stem}-py3-none-{}.whl", PLATFORMS.join(".")), content: zipped(&tree)? })
}

/// The lines of WHEEL that say so, one for each.
fn tags() -> String {
    PLATFORMS.iter().map(|platform| format!("Tag: py3-none-{platform}\n")).collect()
}

fn metadata(release: &Release) -> Result<Vec<u8>> {
    let mut text = format!(
        "Metadata-Version: 2.1\n\
         Name: {DISTRIBUTION}\n\
         Version: {}\n\
         Summary: {SUMMARY}\n\
         License: Apache-2.0 OR MIT\n\
         Classifier: Environment :: Console\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Topic :: Security\n\
         Requires-Python: >=3.7\n\
         Description-Content-Type: text/markdown\n\n",
        release.version
    )
    .into_bytes();
    text.extend(documents::ours("README.md")?);
    Ok(text)
}

/// RECORD: each file with its digest and its size, and RECORD itself with neither.
fn listed(tree: &Tree, record: &str) -> String {
    let line = |(path, content): (&str, &[u8])| {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(content));
        format!("{path},sha256={digest},{}\n", content.len())
    };
    let mut text: String = tree.files().map(line).collect();
    text.push_str(&format!("{record},,\n"));
    text
}

fn zipped(tree: &Tree) -> Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, mode, content) in tree.entries() {
        // The oldest time that the format knows: its times have no zone, so that of the commit could not be said.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .last_modified_time(DateTime::default())
            .unix_permissions(mode);
        archive.start_file(path, options)?;
        archive.write_all(content)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_lists_each_file_and_itself() {
        let mut tree = Tree::default();
        tree.add("a", PLAIN, "");
        assert_eq!(
            listed(&tree, "x.dist-info/RECORD"),
            "a,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\nx.dist-info/RECORD,,\n"
        );
    }
}
