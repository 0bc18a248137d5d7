//! One file per program family: argv → effects.
//!
//! A family reads its program's real option grammar and tells the [`Machine`] what would be destroyed. It never looks
//! at the machine itself and never judges: zones, scope and verdicts are the policy's.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod acts;
pub mod archive;
pub mod backups;
pub mod cp;
pub mod dd;
pub mod editors;
pub mod enclosures;
pub mod fd;
pub mod find;
pub mod landing;
pub mod list;
pub mod ln;
pub mod mv;
pub mod options;
pub mod output;
pub mod parallel;
pub mod perm;
pub mod remote_shell;
pub mod rm;
pub mod sed;
pub mod shells;
pub mod sudo;
pub mod sync;
pub mod table;
pub mod tee;
pub mod terminals;
pub mod truncate;
pub mod words;
pub mod wrappers;
pub mod xargs;

pub mod accounts;
pub mod cloud;
pub mod containers;
pub mod databases;
pub mod git;
pub mod inline;
pub mod keys;
pub mod network;
pub mod osascript;
pub mod packages;
pub mod posture;
pub mod power;
pub mod recipes;
pub mod storage;
pub mod sysconfig;
mod verbs;
pub mod versions;

#[cfg(test)]
pub mod testing;

pub use table::{is_destructive, lookup};

use std::path::PathBuf;
use std::rc::Rc;

use crate::policy::effect::{Base, Effect};
use crate::shell::value::{Abstract, Field};
use crate::shell::world::World;

/// Which shell reads a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// GNU bash.
    #[default]
    Bash,
    /// POSIX sh, dash, busybox sh.
    Posix,
    /// zsh.
    Zsh,
}

/// What is known of the standard input of a simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Whatever the caller's is: a terminal, nothing.
    Inherited,
    /// This text: a here-document, a here-string, the folded output of the command in front of the pipe.
    Text(Abstract),
    /// Names, one a line or NUL-separated, of objects selected below roots (`find … |`, `ls |`, `git ls-files |`).
    Names(Vec<Selected>),
    /// Output of a command that is known only at run time; `network` if it comes from another machine (`curl`).
    Unknown {
        /// The command as written.
        from: Rc<str>,
        /// It was fetched.
        network: bool,
        /// It was decoded (base64 -d, xxd -r, gunzip, openssl enc -d).
        decoded: bool,
    },
}

/// Objects below one root that a listing program names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The root operand, as `find` was given it.
    pub root: Field,
    /// How they were selected.
    pub selection: crate::policy::effect::Selection,
}

/// How a nested command differs from the one that carries it.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Another working directory (`env -C`, `sudo -D`, `git -C`).
    pub cwd: Option<Base>,
    /// Variables that are set (`env X=y`) or removed (`env -u X`: `None`) for it.
    pub vars: Vec<(String, Option<Abstract>)>,
    /// It starts with no variables at all (`env -i`), before `vars`.
    pub clear_env: bool,
    /// It runs as this user (`sudo -u`, `su`): `~` and `$HOME` may change with `set_home`.
    pub user: Option<String>,
    /// `$HOME` becomes the user's (`sudo -H`, `sudo -i`, `su -`).
    pub set_home: bool,
    /// It runs where the machine's own paths are not meant: a container, a chroot, another host. For people.
    pub elsewhere: Option<Rc<str>>,
    /// In that place, these directories are the machine's own (`docker run -v HOST:INSIDE`): (inside, host).
    pub binds: Vec<(PathBuf, PathBuf)>,
    /// That place is made for this command and thrown away after it (`docker run`): what is lost there and lies below
    /// none of `binds` is no loss.
    pub throwaway: bool,
    /// The text stands in this file (a recipe, a script): only what it does to known targets counts, for what is unset
    /// or unknown is judged when the file runs.
    pub script: Option<Rc<str>>,
    /// Its standard input is this instead of the carrier's.
    pub stdin: Option<Input>,
    /// It runs once for each of these instead (xargs, find -exec, parallel): appended, or put in place of `{}`.
    pub each: Option<Each>,
}

/// How a carrier hands selected names to the command it runs.
#[derive(Clone, Debug)]
pub struct Each {
    /// What stands for a name in the argv (`{}` of find, the `-I` of xargs); `None`: names are appended.
    pub placeholder: Option<String>,
    /// The names.
    pub names: Input,
}

/// What a program may ask of the evaluation, and what it may tell it.
pub trait Machine {
    /// The machine behind the text.
    fn world(&self) -> &dyn World;
    /// The working directory now.
    fn cwd(&self) -> Base;
    /// The value of a variable; `None` if it is unset. Several possible values are given as a hole.
    fn variable(&self, name: &str) -> Option<Abstract>;
    /// What is known of standard input.
    fn stdin(&self) -> Input;
    /// The content of a file as the text left it: written earlier in the same text, else as the world has it.
    fn read_file(&mut self, operand: &Field) -> Option<Abstract>;
    /// The file that standard output was sent to, written anew, if it is known.
    fn stdout_file(&self) -> Option<PathBuf> {
        None
    }
    /// Whether a script file that is started is looked into. Else its own exec is asked about.
    fn enters_scripts(&self) -> bool {
        true
    }

    /// The program does this.
    fn effect(&mut self, effect: Effect);
    /// The program prints this (what a substitution or a pipe sees). The default is unknown output.
    fn print(&mut self, output: Input);
    /// The program creates this object, if it succeeds: the same text may then destroy it.
    fn creates(&mut self, operand: &Field, base: Base);
    /// The program makes `link` a symbolic link to `target`: what is reached through it lies there.
    fn links(&mut self, link: &Field, target: &Field) {
        let _ = (link, target);
    }
    /// The program puts something that was there before at this name, or below it: whatever made the place, its
    /// content is not the text's own to lose.
    fn takes_in(&mut self, operand: &Field) {
        let _ = operand;
    }
    /// The program runs this argv: wrappers and carriers.
    fn run_argv(&mut self, argv: Vec<Field>, surroundings: Surroundings);
    /// The program has a shell run this text, with these as `$0`, `$1`, ….
    fn run_text(
        &mut self,
        text: &Abstract,
        dialect: Dialect,
        positional: Vec<Field>,
        surroundings: Surroundings,
    );
    /// The program always fails (`false`) or always succeeds (`true`); the default is that either may happen.
    fn exit_status(&mut self, status: Option<u8>);
}

/// One call of a program.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The program's name without directory: `rm`, `git`.
    pub name: &'a str,
    /// The arguments after it.
    pub args: &'a [Field],
}

/// A program family's reading of one call.
pub type Program = fn(&Call<'_>, &mut dyn Machine);
