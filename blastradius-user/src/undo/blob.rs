//! Contents: known by their digest, stored in the shorter of two forms.

use std::borrow::Cow;
use std::fmt;
use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::name::{hex, unhex};

/// The BLAKE3 digest of a content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; Self::SIZE]);

impl Digest {
    /// Bytes.
    pub const SIZE: usize = 32;

    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// As text.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// From text.
    pub fn from_hex(text: &str) -> Option<Self> {
        unhex(text)?.try_into().ok().map(Self)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0[..6]))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hex())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| serde::de::Error::custom("expected 64 hexadecimal digits"))
    }
}

/// In which form bytes lie in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As they are.
    Plain,
    /// One LZ4 block.
    Lz4,
}

impl Form {
    /// The number in a pack.
    pub const fn number(self) -> u8 {
        match self {
            Self::Plain => 0,
            Self::Lz4 => 1,
        }
    }

    /// By its number.
    pub const fn by_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Plain),
            1 => Some(Self::Lz4),
            _ => None,
        }
    }
}

/// A long content is first tried on so much of its beginning.
const SAMPLE: usize = 64 << 10;

/// The shorter form of a content. What hardly shrinks (pictures, archives) is left as it is.
pub fn squeeze(content: &[u8]) -> (Form, Cow<'_, [u8]>) {
    let worth = |short: usize, long: usize| short + long / 16 < long;
    if content.len() > 2 * SAMPLE {
        let sample = &content[..SAMPLE];
        if !worth(lz4_flex::compress(sample).len(), sample.len()) {
            return (Form::Plain, Cow::Borrowed(content));
        }
    }
    let squeezed = lz4_flex::compress(content);
    if worth(squeezed.len(), content.len()) {
        (Form::Lz4, Cow::Owned(squeezed))
    } else {
        (Form::Plain, Cow::Borrowed(content))
    }
}

/// The content again, which had this length.
///
/// # Errors
/// If the bytes are not what was stored.
pub fn expand(form: Form, stored: Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    let content = match form {
        Form::Plain => stored,
        Form::Lz4 => lz4_flex::decompress(&stored, length)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
    };
    match content.len() == length {
        true => Ok(content),
        false => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "a content has another length than was stored"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_come_back_and_only_what_shrinks_is_squeezed() {
        let text = b"the same line again\n".repeat(20_000);
        // Digests of a counter do not shrink.
        let noise: Vec<u8> = (0..8_000_u32).flat_map(|n| Digest::of(&n.to_le_bytes()).0).collect();
        for (content, form) in
            [(&text[..], Form::Lz4), (&noise[..], Form::Plain), (b"ab", Form::Plain), (b"", Form::Plain)]
        {
            let (got, stored) = squeeze(content);
            assert_eq!(got, form);
            assert_eq!(expand(got, stored.to_vec(), content.len()).expect("whole"), content);
        }
        assert!(expand(Form::Lz4, vec![0xff; 9], 100).is_err());
        assert!(expand(Form::Plain, vec![1, 2], 3).is_err());
    }
}
