//! The supervisor: a process tree under the syscall layer and the exec layer.
//!
//! ```text
//! front ──fork──▶ guard ──fork──▶ agent ──▶ everything it starts
//! ```
//!
//! *front* is the process that the user started. It stays in the job's process group, passes signals on, stops when the
//! agent stops and ends as the agent ended. *guard* has a process group of its own, so that Ctrl-C and Ctrl-Z never
//! reach it: it answers execs, hears refusals, reaps, and outlives the agent as long as anything of the session runs.
//!
//! | file | question |
//! |---|---|
//! | [`front`] | how does the session look from outside? |
//! | [`link`] | what do front and guard say to each other? |
//! | [`supervise`] | what does the guard do until the session is over? |
//! | [`child`] | how does a fresh fork become the guarded agent? |
//! | [`program`] | which file will be executed? |
//! | [`identity`] | as whom? |
//! | [`signals`] | which signals are passed on, and how is a death repeated? |
//! | [`tty`] | may this process stop itself and be woken again? |
//! | [`ladder`] | which rung is proved here? |
//! | [`question`] | what is a person asked? |
//! | [`desk`] | who may answer, and what was answered? |
//! | [`terminal`] | can a person be asked at our terminal? |
//! | [`door`] | what do other processes say to a running session, and who may? |
//! | [`attach`] | how does a tree that runs already come under the kernel rung? |
//! | [`kernel_rung`], [`denied`] | what did the kernel refuse, and to whom? |
//! | `roles` | which programs may do more than the zone table says? |
//! | [`landlock`] | what does the delete-only ruleset enforce, and what not? |
//! | [`canary`] | does it really? |
//! | `not_enforced` | what does no rung, or not each of them, enforce? |
//! | [`notify`] | which execs are asked about, and how are they answered? |
//! | [`probe`] | can execs be trapped here? |
//! | [`caller`] | who asks, and for what? |
//! | [`mod@bench`] | who answers, when several programs start at once? |
//! | [`judge`] | may it start? |
//! | [`analyst`] | what does the text layer say of an exec? |
//! | `kernel` | what do the eBPF programs enforce, and do they? |
//! | [`refusal`] | how does the offender hear of it? |
//! | [`summary`] | what is told at the end of it? |
//! | [`secrets`] | which words must not be kept? |
//! | [`log`] | what is kept? |
//! | [`watch`] | what of the guard's own ground changed meanwhile? |

pub mod acting;
pub mod analyst;
pub mod attach;
pub mod bench;
pub mod caller;
pub mod canary;
pub mod child;
pub mod denied;
pub mod desk;
pub mod door;
pub mod front;
pub mod identity;
pub mod judge;
#[cfg(feature = "kernel")]
pub mod kernel;
#[cfg(feature = "kernel")]
pub mod kernel_rung;
#[cfg(not(feature = "kernel"))]
#[path = "no_kernel_rung.rs"]
pub mod kernel_rung;
pub mod ladder;
pub mod landlock;
pub mod link;
pub mod log;
#[cfg(feature = "kernel")]
pub mod not_enforced;
pub mod notify;
pub mod probe;
pub mod program;
pub mod question;
pub mod refusal;
#[cfg(feature = "kernel")]
pub mod roles;
pub mod secrets;
pub mod signals;
pub mod summary;
pub mod supervise;
pub mod terminal;
pub mod tty;
pub mod watch;
