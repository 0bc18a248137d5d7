//! The npm package: `npm install`, `npx`, and `pi install`, for which it carries the extension.

use anyhow::Result;
use serde_json::json;

use super::{
    DISTRIBUTION, Package, Release, SUMMARY, documents,
    tree::{PLAIN, PROGRAM, Tree},
};

/// Where the extension lies in the package.
const EXTENSION: &str = "pi/index.ts";

/// How the extension finds the program: in the package that it came in.
const PROGRAM_OF_PACKAGE: &str = r#"fileURLToPath(new URL("../bin/blastradius", import.meta.url))"#;

pub(super) fn make(release: &Release) -> Result<Package> {
    let mut tree = Tree::default();
    tree.add("bin/blastradius", PROGRAM, release.binary.content.clone());
    tree.add("man/blastradius.1", PLAIN, documents::manual(release)?);
    tree.add(EXTENSION, PLAIN, extension()?);
    tree.add("README.md", PLAIN, documents::ours("README.md")?);
    tree.add("package.json", PLAIN, format!("{:#}\n", manifest(release)));
    documents::add_licences(&mut tree, "")?;
    let content = tree.tar_gz("package", release.epoch)?;
    Ok(Package { name: format!("{DISTRIBUTION}-{}.tgz", release.version), content })
}

fn manifest(release: &Release) -> serde_json::Value {
    json!({
        "name": DISTRIBUTION,
        "version": release.version,
        "description": SUMMARY,
        "license": "(Apache-2.0 OR MIT)",
        "keywords": ["pi-package", "agent", "guard", "safety", "shell", "sandbox"],
        "os": ["linux"],
        "cpu": ["x64"],
        "bin": { "blastradius": "bin/blastradius", DISTRIBUTION: "bin/blastradius" },
        "man": "man/blastradius.1",
        "files": ["bin", "man", "pi", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY"],
        "pi": { "extensions": [format!("./{EXTENSION}")] },
    })
}

/// The extension as `blastradius install pi` writes it, save that it finds the program in the package.
fn extension() -> Result<String> {
    let embedded = |name: &str| {
        let text = documents::ours(&format!("blastradius-user/src/hosts/embedded/{name}"))?;
        Ok::<_, anyhow::Error>(String::from_utf8(text)?)
    };
    let asking = embedded("ask.js")?;
    // Its first line says who wrote the file where `install` does.
    let asking = asking.split_once('\n').map_or("", |(_, rest)| rest).replace("%PROGRAM", PROGRAM_OF_PACKAGE);
    Ok(format!("import {{ fileURLToPath }} from \"node:url\";\n{asking}{}", embedded("pi.ts")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_has_no_blank_left_to_fill() {
        let text = extension().unwrap();
        assert!(text.contains(&format!("const PROGRAM = {PROGRAM_OF_PACKAGE};")), "{text}");
        assert!(!text.contains("%PROGRAM") && !text.contains("%COMMAND"));
        assert!(text.contains("export default function (pi"), "pi calls this");
        assert!(!text.contains("blastradius install"), "nobody wrote this file on the user's machine");
    }
}
