//! The agent hosts: payloads in, bytes out; hook files before and after.

mod golden;
mod install;
mod payloads;
