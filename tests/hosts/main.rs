//! The agent hosts: payloads in, bytes out; hook files before and after.

mod canary;
mod documentation;
mod golden;
mod install;
