//! One policy for both layers: what may be destroyed, where, and why not.
//!
//! [`plan`] is the policy as the enforcing back ends see it.

pub mod plan;
