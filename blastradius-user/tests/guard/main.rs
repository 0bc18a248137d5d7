//! `blastradius run` with real system calls, on the Landlock rung.
//!
//! Each test has a throwaway ground: a home full of files, a work tree in it, scratch, and state of its own. Nothing
//! outside of it is named by any test.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall say where")]

mod changes;
mod conditions;
mod ends;
mod execs;
mod ground;
mod job;
mod policies;
mod questions;
mod refusals;
mod roads;
mod scripts;
mod survives;
mod tells;
mod terminal;
mod users;
