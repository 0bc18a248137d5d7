//! What a command does that cannot be undone: the words in which programs describe themselves to the judge.

use std::borrow::Cow;
use std::path::PathBuf;
use std::rc::Rc;

use blastradius_common::{RuleId, Verdict};

use crate::shell::value::Field;

mod words;

/// A destructive act on one file-system target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The name goes, and with `recursive` everything below it.
    Remove {
        /// Everything below it goes too (`rm -r`, `find -delete`, `rsync --delete`).
        recursive: bool,
    },
    /// The content goes, or is overwritten in place; the name stays (`truncate`, `> file`, `shred`, `dd of=`).
    Truncate,
    /// Something is added at the end (`>> file`, `tee -a`). Destroys nothing; matters for system files.
    Append,
    /// Another object takes over the name (`mv a b`, `cp a b`, `install`, `ln -f`, an atomic save).
    Replace,
    /// The object is moved away from where it is.
    Move,
    /// Mode, owner, ACL or flags change.
    Metadata {
        /// Of the whole tree (`chmod -R`).
        recursive: bool,
    },
    /// Written as a raw device if it is one (`dd of=`, `mkfs`, `wipefs`): judged as [`Act::Truncate`] if it is not.
    Device,
}

/// Whether the program follows a link in the last component of its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It acts on the link (`rm link`, `mv link x`). A trailing slash follows all the same.
    Never,
    /// It acts on what the link points to (`truncate`, `> link`, `chmod`).
    Last,
}

/// Which part of a tree a program selects (`find -name`, `rsync --exclude`, `git clean -e`).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Selection {
    /// As people would read it: `-name '*.pyc'`. Empty: everything.
    pub filter: String,
    /// The tests narrow by name or path in a way that leaves most of a tree alone.
    pub narrow_by_name: bool,
    /// They narrow by something else (type, age, size, owner).
    pub narrow_by_other: bool,
    /// The name patterns that select (of `-name`, `-iname`), if that is how they narrow.
    pub names: Vec<String>,
    /// The target itself is not acted on, only what is below it (`find DIR -mindepth 1 -delete`, `rsync --delete`).
    pub contents_only: bool,
}

/// The working directory in which an operand is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// It is known.
    Known(Rc<PathBuf>),
    /// One of a few: a `cd` that may have failed.
    OneOf(Vec<Rc<PathBuf>>),
    /// It is known only at run time. Holds why, for people: `cd "$X"` with X unset at run time.
    Unknown(Rc<str>),
}

/// A target on the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTarget {
    /// The operand.
    pub operand: Field,
    /// Where a relative operand is read.
    pub base: Base,
    /// What happens to a link in the last component.
    pub follow: Follow,
    /// Which part of a tree is meant.
    pub selection: Selection,
}

/// What git is about to discard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discard {
    /// Uncommitted changes of tracked files below these paths (empty: the whole work tree).
    WorkTree(Vec<Field>),
    /// Untracked files below these paths (`git clean`), with the ignored ones or only those.
    Untracked {
        /// Path operands; empty: the working directory.
        paths: Vec<Field>,
        /// `-x`: ignored files too.
        ignored: bool,
        /// `-X`: only ignored files.
        only_ignored: bool,
        /// `-d`: directories too.
        directories: bool,
    },
    /// Stash entries.
    Stash,
    /// Commits that nothing else holds (branch -D, reset of a branch, reflog expire, gc --prune=now, filter-branch).
    History,
    /// A linked worktree, and where it is `forced` what is uncommitted in it: else git lets it be.
    Worktree {
        /// The operand: a path, or the end of one.
        tree: Field,
        /// git does not look whether there is something to lose.
        forced: bool,
    },
    /// What someone pushes to the repository that the operand names takes the place of refs there; what they held, git keeps
    /// or refuses to lose as that repository says.
    Pushed(Field),
}

/// One destructive act, as a program describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// On the file system: zones decide.
    Path {
        /// What is done.
        act: Act,
        /// To what.
        target: PathTarget,
    },
    /// In a git work tree: what there is to lose decides.
    Git {
        /// What is discarded.
        discard: Discard,
        /// Where git runs (`-C` applied); the work tree is found from here.
        base: Base,
        /// The operation for people: `git reset --hard`.
        what: Cow<'static, str>,
    },
    /// Anything else: the rule decides, and the program may raise or lower its default verdict.
    Thing {
        /// The rule that objects.
        rule: RuleId,
        /// Instead of the rule's default.
        verdict: Option<Verdict>,
        /// What is destroyed or changed, for people: `stops the machine`, `volume group vg0`.
        what: Cow<'static, str>,
        /// The object, as text: `/dev/sda`, `vg0`, `prod.example`. May be empty.
        object: Cow<'static, str>,
    },
}

/// An effect and the simple command that causes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The effect.
    pub effect: Effect,
    /// The simple command as written, wrappers and redirections included.
    pub segment: Rc<str>,
    /// The program that acts, without directory: `rm`.
    pub program: Rc<str>,
    /// Some path of the evaluation that is possible, but not certain, leads here. Never lowers a critical target.
    pub conditional: bool,
    /// It happens inside a container, chroot or on a remote host that the text names: the machine's own paths are
    /// not meant.
    pub elsewhere: Option<Rc<str>>,
}
