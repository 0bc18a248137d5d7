//! The kernel side, as build.rs packed it: what a loader does not need is left out, the rest is compressed.

use super::{LoadError, btf};

/// What build.rs made.
static PACKED: &[u8] = include_bytes!(env!("BLASTRADIUS_EBPF_OBJECT_PACKED"));

/// What tells this object from that of another version.
pub(super) fn fingerprint() -> u64 {
    // Versions are to be told apart, nobody is to be kept out.
    btf::hash(PACKED)
}

/// The object. It is as large as a page or larger, so that the allocator aligns it for the structures in it.
///
/// # Errors
/// If this build has none.
pub(super) fn unpack() -> Result<Vec<u8>, LoadError> {
    match lz4_flex::decompress_size_prepended(PACKED) {
        Ok(object) if !object.is_empty() => Ok(object),
        _ => Err(LoadError::NoObject),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_has_its_programs_and_types_and_nothing_for_a_debugger() {
        let object = unpack().expect("packed by build.rs");
        let parsed = aya_obj::Object::parse(&object).expect("an object that loads");
        assert!(parsed.programs.contains_key("inode_getattr"), "{:?}", parsed.programs.keys());
        assert!(parsed.btf.is_some() && parsed.btf_ext.is_some());
        assert!(PACKED.len() < 400_000, "{} bytes", PACKED.len());
    }
}
