//! Names of any bytes, in text.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are usually text: written as a string where they are, else as `{"hex": "…"}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub Vec<u8>);

impl Name {
    /// As a path.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// As a path of its own.
    pub fn into_path(self) -> PathBuf {
        OsString::from_vec(self.0).into()
    }
}

impl From<&Path> for Name {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written<'a> {
    Text(std::borrow::Cow<'a, str>),
    Hex { hex: String },
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Written::Hex { hex: hex(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(Self(text.into_owned().into_bytes())),
            Written::Hex { hex } => unhex(&hex)
                .map(Self)
                .ok_or_else(|| serde::de::Error::custom("expected an even number of hexadecimal digits")),
        }
    }
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// The bytes of hexadecimal digits.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_bytes_are_written_and_read() {
        for bytes in [&b"plain"[..], "ümlaut\n\"".as_bytes(), b"\xff\xfe/\x01", b""] {
            let name = Name(bytes.to_vec());
            let text = serde_json::to_string(&name).expect("written");
            assert_eq!(serde_json::from_str::<Name>(&text).expect("read"), name, "{text}");
        }
        assert!(serde_json::from_str::<Name>(r#"{"hex":"abc"}"#).is_err());
        assert!(serde_json::from_str::<Name>(r#"{"hex":"zz"}"#).is_err());
    }
}
