//! What others run of ours, in CI systems and images: it is well formed, and it does what it says.

mod action;
mod formats;
mod kubernetes;
mod node;
