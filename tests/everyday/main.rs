//! Everyday work under guard, with the default policy and nobody to ask: all of it succeeds, and nothing is refused.
//!
//! The real programs run in sessions in throwaway homes, and each test looks at what they were to achieve. Some tests point the same
//! program at what lies out of scope, where it must be stopped: a guard that stops nothing disturbs nobody either.
//!
//! `BLASTRADIUS_BIN` names the binary; without it, the one beside this test is taken. With `BLASTRADIUS_RUNG=kernel`, as root in a
//! guest, each session must reach the kernel rung, every program must be there, and the system itself is worked on. Elsewhere
//! sessions are on the Landlock rung, and what cannot be tried is told by name.

mod copies;
mod editors;
mod git;
mod ground;
mod node;
mod python;
mod rust;
mod sandbox;
mod scratch;
mod system;
