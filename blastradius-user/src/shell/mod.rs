//! shell.
