//! One policy for both layers: what may be destroyed, where, and why not.
//!
//! [`effect`] is what programs say they do, [`finding`] what the judge answers, [`plan`] the policy as the enforcing
//! back ends see it.

pub mod effect;
pub mod finding;
pub mod mode;
pub mod plan;
