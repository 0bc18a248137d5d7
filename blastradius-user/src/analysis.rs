//! The whole text layer in one call: a command in, a report out.

use std::ffi::OsString;
use std::path::PathBuf;

use blastradius_common::Verdict;

use crate::policy::finding::Finding;
use crate::programs::Dialect;

/// What is about to run.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Text that a shell will read. Bytes that are not UTF-8 make the words that hold them unknown.
    Text {
        /// The text.
        text: Vec<u8>,
        /// The shell that will read it.
        dialect: Dialect,
    },
    /// An argv that the kernel will execute as it is.
    Exec {
        /// The file that is executed; `None`: looked up on PATH by `argv[0]`.
        path: Option<PathBuf>,
        /// The arguments, `argv[0]` first.
        argv: Vec<OsString>,
    },
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The command, for people: the text, or the argv quoted as a shell would need it.
    pub command: String,
    /// The worst verdict of the findings; `allow` without any.
    pub verdict: Verdict,
    /// Worst first, then in the order of the text. Findings of verdict `allow` are not kept.
    pub findings: Vec<Finding>,
}
