//! The bill of materials: which crates are in the binary, in CycloneDX's JSON.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Package, Release,
    notices::{FOREIGN, Foreign},
};
use crate::crates::{self, Crate};

pub(super) fn make(release: &Release) -> Result<Package> {
    let crates = crates::linked()?;
    let mut components: Vec<Value> =
        crates.iter().filter(|one| one.checksum.is_some()).map(component).collect();
    components.extend(FOREIGN.iter().map(foreign));
    let document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(release.epoch),
            "component": {
                "type": "application",
                "bom-ref": "blastradius",
                "name": "blastradius",
                "version": release.version,
                "licenses": [{ "expression": "Apache-2.0 OR MIT" }],
            },
        },
        "components": components,
    });
    let name = format!("blastradius-{}.cdx.json", release.version);
    Ok(Package { name, content: format!("{document:#}\n").into_bytes() })
}

fn component(one: &Crate) -> Value {
    let purl = format!("pkg:cargo/{}@{}", one.name, one.version);
    let hashes: Vec<Value> =
        one.checksum.iter().map(|content| json!({ "alg": "SHA-256", "content": content })).collect();
    let licences: Vec<Value> =
        one.licence.iter().map(|text| json!({ "expression": text.replace('/', " OR ") })).collect();
    json!({
        "type": "library",
        "bom-ref": purl,
        "name": one.name,
        "version": one.version,
        "purl": purl,
        "licenses": licences,
        "hashes": hashes,
    })
}

fn foreign(one: &Foreign) -> Value {
    json!({
        "type": "library",
        "bom-ref": one.name,
        "name": one.name,
        "licenses": [{ "license": { "id": one.licence } }],
        "externalReferences": [{ "type": "vcs", "url": one.source }],
    })
}

/// RFC 3339, in UTC.
fn timestamp(epoch: u64) -> String {
    humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + std::time::Duration::from_secs(epoch))
        .to_string()
}
