//! guard.

#[cfg(feature = "kernel")]
pub mod kernel;
