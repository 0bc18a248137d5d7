//! What both sides of blastradius compile: the words of the policy, and the layout of what crosses the kernel boundary.
//!
//! Everything here is `no_std` and free of allocation, so that the eBPF programs and the user side read one definition
//! of a zone, of a rule id and of a record, and can never disagree about them.
#![no_std]

pub mod event;
pub mod grant;
pub mod identity;
pub mod mark;
pub mod member;
pub mod offsets;
pub mod rule;
pub mod verdict;
pub mod zone;

pub use event::EventHeader;
pub use identity::{Id, NameKey, ObjectKey};
pub use mark::Below;
pub use member::{Common, Guarded, Member, PidNamespace, Request, Tally};
pub use offsets::{KernelFacts, Offsets};
pub use rule::RuleId;
pub use verdict::Verdict;
pub use zone::{Operation, Zone};
