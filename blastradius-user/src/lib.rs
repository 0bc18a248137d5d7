//! blastradius: a deterministic guard between an agent and the machine's data.
//!
//! [`analysis`] joins the rooms of the text layer:
//!
//! | room | what happens there |
//! |---|---|
//! | [`shell`] | text → abstract evaluation → calls of programs; no I/O |
//! | [`programs`] | one file per program family: argv → effects; no I/O |
//! | [`policy`] | zones, scope, rules, and the judge that both layers ask |
//! | `guard` | Linux: the syscall layer and the supervisor |
//! | [`hosts`] | one file per agent host |
//! | [`system`] | the machine that we run on, behind the text layer's `World` |
//! | [`report`] | findings as text, JSON and log lines |
//! | `undo` | Linux: what is kept before it is lost, and how it comes back |
//! | [`cli`] | one file per subcommand |

pub mod analysis;
pub mod cli;
#[cfg(target_os = "linux")]
pub mod guard;
pub mod hosts;
pub mod policy;
pub mod programs;
pub mod report;
pub mod shell;
pub mod system;
#[cfg(target_os = "linux")]
pub mod undo;
