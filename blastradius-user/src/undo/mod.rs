//! Undo: what was destroyed inside scope can be taken back.
//!
//! An agent must be allowed to delete in its work tree, so no enforcement saves what lies there; a copy does.
//!
//! ```text
//! session start ─► walk ──► what nothing else holds ─┐
//! exec ─► effects ─► predict ─► what they touch ─────┴─► keep ─► pack + set in the store ─► restore
//! ```
//!
//! **What is kept.** An object in scope that no git object holds: modified, staged, untracked, ignored and not rebuildable,
//! or outside any work tree. [`index`] reads git's index and tells by stat data what git can give back; [`walk`] goes over
//! the rest and leaves out what a tool rebuilds. What git holds is not copied: the index itself is kept, with HEAD, refs and
//! reflogs ([`repository`]), and git gives its files back by it. At the start, and where commits or stashes are about
//! to lose their names, object files are linked into the store, so that neither `gc` nor the loss of `.git` takes them.
//!
//! **When.** At the start of a session, and before an exec whose predicted effects ([`predict`]) touch something that is not
//! kept as it is now. What a script deletes by itself, without an exec, is covered by the start alone.
//!
//! **The store.** `$XDG_STATE_HOME/blastradius/undo`, mode 0700, owned by the agent's user, zone *self*:
//!
//! ```text
//! packs/DIGEST.pack    contents, by their BLAKE3 digest, LZ4 where that is shorter; never changed once named
//! clones/DIGEST        reflinks of large files, where the file system can; by what stat(2) said of the original
//! objects/DIGEST/      hard links to a repository's object files
//! sessions/NAME/N.set  what one keeping holds: a header, and a line an object
//! ```
//!
//! A pack is written beside its name, synced and renamed, and so is the set that speaks of it, later: a kill at any moment
//! leaves at worst a pack that no set names, which `--gc` removes. Writers share a lock, cleaning holds it alone.
//! BLAKE3, because keeping must cost less than the deletion that it precedes and SHA-256 without hardware support does not;
//! LZ4 for the same reason. Both are pure Rust and small.
//!
//! **Never silently.** A [`Gap`](set::Gap) is an object that should have been kept and was not, with the reason: too large, store
//! full, unreadable, changed while it was read. Gaps stand in the set, in the start line and in the end report.
//!
//! **Restoring** writes beside the name and renames, never through a link; what would be replaced is kept first, as a session
//! of its own, so that an undo can be undone. Nothing is ever removed from the tree.
//!
//! | file | question |
//! |---|---|
//! | [`limits`] | how much may be kept, and for how long? |
//! | [`blob`], [`pack`], [`store`] | where do contents lie? |
//! | [`set`], [`name`] | what does one keeping hold? |
//! | [`object`], [`content`], [`xattr`], [`clone`] | what is an object, and how is it read? |
//! | [`index`], [`tree`], [`walk`] | what can git not give back? |
//! | [`repository`] | what leads to commits, and what holds them? |
//! | [`predict`] | what will a command touch? |
//! | [`keep`] | what is kept now? |
//! | [`session`] | how does keeping begin? |
//! | [`advise`] | what does a verdict become when something is kept? |
//! | [`plan`], [`restore`], [`past`] | what can be given back, and how? |
//! | [`pinned`] | how is a directory reached without a link? |
//! | [`retention`] | what is let go of? |

pub mod advise;
pub mod blob;
pub mod clone;
pub mod content;
pub mod index;
pub mod keep;
pub mod limits;
pub mod name;
pub mod object;
pub mod pack;
pub mod past;
pub mod pinned;
pub mod plan;
pub mod predict;
pub mod repository;
pub mod restore;
pub mod retention;
pub mod session;
pub mod set;
pub mod store;
pub mod tree;
pub mod walk;
pub mod xattr;
