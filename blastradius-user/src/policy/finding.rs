//! What the judge says of one effect.

use std::path::PathBuf;

use blastradius_common::{RuleId, Verdict};

/// One objection, with everything that a legible refusal needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that objects.
    pub rule: RuleId,
    /// Its verdict here, after modes and configuration.
    pub verdict: Verdict,
    /// The operand as written.
    pub target: String,
    /// The absolute path (or object) that it resolves to, as far as it is known. For a glob, the directory and the pattern.
    pub resolved: Option<PathBuf>,
    /// The simple command that causes it.
    pub segment: String,
    /// Why, one fact a line: which variable, which link, which mount, what would be lost.
    pub reasons: Vec<String>,
    /// A command or act that does a lawful part of the job and is itself allowed.
    pub advice: Option<String>,
}

/// The worst verdict of these; `allow` without any.
pub fn worst(findings: &[Finding]) -> Verdict {
    findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Allow)
}
