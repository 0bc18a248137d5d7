//! Is this one well-formed JSON document?
//!
//! A hook that reads leniently can be told something else than the host understood: of two equal keys one parser keeps
//! the first and another the last. Anything doubtful is an error here, and the caller refuses.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The largest payload that is read. Above it the answer is a refusal.
pub const SIZE_LIMIT: usize = 8 * 1024 * 1024;

/// Why a payload was not understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DocumentError {
    /// Nothing, or only white space.
    #[error("the payload is empty")]
    Empty,
    /// More than [`SIZE_LIMIT`].
    #[error("the payload is larger than {} MiB", SIZE_LIMIT / 1024 / 1024)]
    TooLarge,
    /// Some parsers skip a byte order mark and some do not.
    #[error("the payload begins with a byte order mark")]
    ByteOrderMark,
    /// Bytes that are not UTF-8.
    #[error("the payload is not UTF-8")]
    NotUtf8,
    /// Syntax, a lone surrogate, an equal key, too deep, more than one document.
    #[error("the payload is not one JSON document: {0}")]
    Syntax(String),
    /// A string, a number, an array.
    #[error("the payload is not a JSON object")]
    NotAnObject,
}

/// Reads one JSON object, strictly.
///
/// # Errors
/// If `bytes` are anything but one object without equal keys.
pub fn read(bytes: &[u8]) -> Result<Value, DocumentError> {
    if bytes.len() > SIZE_LIMIT {
        return Err(DocumentError::TooLarge);
    }
    if bytes.starts_with(b"\xEF\xBB\xBF") || bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF")
    {
        return Err(DocumentError::ByteOrderMark);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| DocumentError::NotUtf8)?;
    if text.trim().is_empty() {
        return Err(DocumentError::Empty);
    }
    match parse(text)? {
        object @ Value::Object(_) => Ok(object),
        _ => Err(DocumentError::NotAnObject),
    }
}

/// Reads any JSON value, strictly.
pub(super) fn parse(text: &str) -> Result<Value, DocumentError> {
    let strict: Strict =
        serde_json::from_str(text).map_err(|error| DocumentError::Syntax(error.to_string()))?;
    Ok(strict.0)
}

/// A value whose objects have no equal keys.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let Strict(value) = access.next_value()?;
            if map.contains_key(&key) {
                return Err(de::Error::custom(format_args!("the key {key:?} occurs twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_parsers_could_read_differently_is_no_document() {
        let cases: [(&[u8], &str); 9] = [
            (b"", "empty"),
            (b" \n", "empty"),
            (b"\xEF\xBB\xBF{}", "byte order mark"),
            (b"{\"a\":\"\xFF\"}", "UTF-8"),
            (br#"{"a":1,"a":2}"#, "occurs twice"),
            (br#"{"a":{"b":1,"b":1}}"#, "occurs twice"),
            (br#"{"a":"\ud800"}"#, "surrogate"),
            (br#"{"a":1}{"a":2}"#, "trailing"),
            (br#"{"a":1"#, "EOF"),
        ];
        for (bytes, expected) in cases {
            let error = read(bytes).expect_err("refused").to_string();
            let told = error.contains(expected) || (expected == "surrogate" && error.contains("hex escape"));
            assert!(told, "{error} should say {expected}");
        }
        assert_eq!(read(b"[]"), Err(DocumentError::NotAnObject));
        assert_eq!(read(b"\"rm -rf /\""), Err(DocumentError::NotAnObject));
        assert_eq!(read(&vec![b' '; SIZE_LIMIT + 1]), Err(DocumentError::TooLarge));
        assert!(read(&[b"{\"a\":".repeat(100_000), vec![b'1'], b"}".repeat(100_000)].concat()).is_err());
    }

    #[test]
    fn a_well_formed_object_keeps_everything() {
        let text = r#"{"a":[1,-2,0.5,null,true,"é𝄞"],"b":{}}"#;
        assert_eq!(read(text.as_bytes()).expect("read").to_string(), text);
    }
}
