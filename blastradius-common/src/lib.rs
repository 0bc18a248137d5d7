//! What both sides of blastradius compile: the words of the policy, and the layout of what crosses the kernel boundary.
//!
//! Everything here is `no_std` and free of allocation, so that the eBPF programs and the user side read one definition
//! of a zone, of a rule id and of a record, and can never disagree about them.
#![no_std]

pub mod rule;
pub mod verdict;
pub mod zone;

pub use rule::RuleId;
pub use verdict::Verdict;
pub use zone::{Operation, Zone};
