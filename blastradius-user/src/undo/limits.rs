//! How much may be kept, and for how long?

use std::time::Duration;

/// The variable that changes the limits: `BLASTRADIUS_UNDO=store=4G,file=1G,age=30d`, or `off`.
pub const VARIABLE: &str = "BLASTRADIUS_UNDO";

/// The limits of the store and of what goes into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole store.
    pub store: u64,
    /// Bytes on disk of one file that is copied. What can be cloned has no such limit.
    pub file: u64,
    /// Objects of one keeping.
    pub count: usize,
    /// How long a session is kept after its last keeping.
    pub age: Duration,
    /// So many per cent of the store's file system stay free.
    pub free: u64,
    /// How long the start of a session may wait.
    pub start: Duration,
    /// How long an exec may wait.
    pub exec: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            store: 2 << 30,
            file: 256 << 20,
            count: 200_000,
            age: Duration::from_secs(7 * 24 * 3600),
            free: 5,
            start: Duration::from_secs(20),
            exec: Duration::from_secs(8),
        }
    }
}

/// Why a text is no limits.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{VARIABLE}: {part:?}: expected off, or NAME=VALUE of {}", EXPECTED)]
pub struct LimitsError {
    part: String,
}

const EXPECTED: &str =
    "store=SIZE, file=SIZE, count=NUMBER, age=DURATION, free=PERCENT, start=DURATION, exec=DURATION";

impl Limits {
    /// Reads the variable's value; `None`: nothing is to be kept.
    ///
    /// # Errors
    /// If a part is not understood.
    pub fn parse(text: &str) -> Result<Option<Self>, LimitsError> {
        let mut limits = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if part == "off" {
                return Ok(None);
            }
            let error = || LimitsError { part: part.to_owned() };
            let (name, value) = part.split_once('=').ok_or_else(error)?;
            let duration = || humantime::parse_duration(value).ok();
            let set = match name {
                "store" => size(value).map(|value| limits.store = value),
                "file" => size(value).map(|value| limits.file = value),
                "count" => value.parse().ok().map(|value| limits.count = value),
                "free" => value.parse().ok().filter(|&free| free <= 100).map(|value| limits.free = value),
                "age" => duration().map(|value| limits.age = value),
                "start" => duration().map(|value| limits.start = value),
                "exec" => duration().map(|value| limits.exec = value),
                _ => None,
            };
            set.ok_or_else(error)?;
        }
        Ok(Some(limits))
    }

    /// The limits that the environment asks for.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn of_environment() -> Result<Option<Self>, LimitsError> {
        Self::parse(&std::env::var(VARIABLE).unwrap_or_default())
    }
}

/// `512`, `64K`, `256M`, `2G`.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Bytes for people: `2.1 MiB`.
pub fn shown(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_what_is_not_understood_is_named() {
        let limits = Limits::parse("store=4G, file=64K,age=30d,free=0").expect("understood").expect("on");
        assert_eq!((limits.store, limits.file, limits.free), (4 << 30, 64 << 10, 0));
        assert_eq!(limits.age, Duration::from_secs(30 * 24 * 3600));
        assert_eq!(Limits::parse("off"), Ok(None));
        assert_eq!(Limits::parse(""), Ok(Some(Limits::default())));
        for wrong in ["store", "store=x", "stroe=1", "free=101", "age=soon", "file=1Q"] {
            let error = Limits::parse(wrong).expect_err("not understood");
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }

    #[test]
    fn sizes_are_shown_in_the_unit_that_fits() {
        assert_eq!(shown(7), "7 B");
        assert_eq!(shown(2_202_009), "2.1 MiB");
    }
}
