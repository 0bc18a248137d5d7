//! git: what discards work, what rewrites history, what others lose, and the text that git runs for its caller.
//!
//! Global options (git(1)) move the work tree and set configuration for one call; aliases are read from `-c` and from
//! the configuration files that can be read. What a subcommand discards is told as a [`Discard`]: only the judge knows
//! whether there is anything to lose.

mod carriers;
mod config;
mod history;
mod output;
mod remote;
mod worktree;

pub(crate) use config::split;

use std::borrow::Cow;
use std::rc::Rc;

use crate::policy::effect::{Base, Discard, Effect};
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::verbs::word;
use crate::programs::{Call, Dialect, Machine, Program, Surroundings};
use crate::shell::value::{Abstract, Field};
use crate::shell::world::{Look, World};

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] =
    &[("git", git), ("git-receive-pack", remote::receives), ("bfg", bfg)];

/// git stops expanding an alias that leads back to itself; so do we, at this depth.
const ALIAS_DEPTH: usize = 8;

static GLOBAL: Grammar = Grammar::new(&[
    value("C", ""),
    value("c", ""),
    value("", "git-dir"),
    value("", "work-tree"),
    value("", "namespace"),
    value("", "config-env"),
    value("", "attr-source"),
    value("", "super-prefix"),
    optional("", "exec-path"),
    flag("p", "paginate"),
    flag("P", "no-pager"),
    flag("v", "version"),
    flag("h", "help"),
    flag("", "html-path"),
    flag("", "man-path"),
    flag("", "info-path"),
    flag("", "bare"),
    flag("", "no-replace-objects"),
    flag("", "no-lazy-fetch"),
    flag("", "no-optional-locks"),
    flag("", "no-advice"),
    flag("", "literal-pathspecs"),
    flag("", "glob-pathspecs"),
    flag("", "noglob-pathspecs"),
    flag("", "icase-pathspecs"),
])
.in_order()
.exact();

/// One call of a subcommand, with the global options applied.
pub(crate) struct Git<'a> {
    /// The subcommand: `reset`.
    pub(crate) verb: &'a str,
    /// What follows it.
    pub(crate) args: &'a [Field],
    /// The directory in which git runs.
    pub(crate) base: Base,
    /// The work tree that `--work-tree` or `GIT_WORK_TREE` names, else `base`.
    pub(crate) tree: Base,
    /// `-c NAME=VALUE`, names in lower case.
    pub(crate) settings: &'a [(String, Abstract)],
}

/// A subcommand's reading of one call.
type Verb = fn(&Git<'_>, &mut dyn Machine);

/// The subcommands that do more than read, and those that run text or print names.
const VERBS: &[(&str, Verb)] = &[
    ("reset", worktree::reset),
    ("checkout", worktree::checkout),
    ("switch", worktree::switch),
    ("restore", worktree::restore),
    ("clean", worktree::clean),
    ("rm", worktree::rm),
    ("mv", worktree::mv),
    ("stash", worktree::stash),
    ("worktree", worktree::worktree),
    ("read-tree", worktree::read_tree),
    ("checkout-index", worktree::checkout_index),
    ("submodule", worktree::submodule),
    ("clone", worktree::clone),
    ("init", worktree::init),
    ("branch", history::branch),
    ("tag", history::tag),
    ("reflog", history::reflog),
    ("gc", history::gc),
    ("prune", history::prune),
    ("update-ref", history::update_ref),
    ("filter-branch", history::filter),
    ("filter-repo", history::filter),
    ("push", remote::push),
    ("send-pack", remote::push),
    ("receive-pack", remote::receive_pack),
    ("bisect", carriers::bisect),
    ("rebase", carriers::rebase),
    ("difftool", carriers::difftool),
    ("rev-parse", output::rev_parse),
    ("ls-files", output::ls_files),
    ("diff", output::diff),
    ("log", output::log),
    ("show", output::show),
    ("cat-file", output::show),
    ("describe", output::component),
    ("merge-base", output::component),
    ("hash-object", output::component),
    ("write-tree", output::component),
    ("rev-list", output::component),
];

/// Other subcommands of git(1): no alias can take their place (git-config(1), `alias.*`).
const OTHER_BUILTINS: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "blame",
    "bundle",
    "check-attr",
    "check-ignore",
    "cherry",
    "cherry-pick",
    "citool",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "credential",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fast-export",
    "fast-import",
    "fetch",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "grep",
    "gui",
    "help",
    "index-pack",
    "instaweb",
    "interpret-trailers",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "maintenance",
    "merge",
    "merge-file",
    "merge-tree",
    "mergetool",
    "mktag",
    "mktree",
    "multi-pack-index",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-refs",
    "pull",
    "range-diff",
    "remote",
    "repack",
    "replace",
    "request-pull",
    "rerere",
    "revert",
    "send-email",
    "shortlog",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stage",
    "status",
    "stripspace",
    "symbolic-ref",
    "unpack-file",
    "unpack-objects",
    "update-index",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
];

fn git(call: &Call<'_>, machine: &mut dyn Machine) {
    read(call.args, machine, ALIAS_DEPTH);
}

/// The BFG Repo-Cleaner makes every commit anew, as git-filter-repo does.
fn bfg(call: &Call<'_>, machine: &mut dyn Machine) {
    let does = call.args.iter().any(|arg| {
        let option = word(arg);
        ["--delete-", "--strip-", "--replace-", "-D", "-b", "-B", "-rt"]
            .iter()
            .any(|act| option.starts_with(act))
    });
    if does {
        let base = machine.cwd();
        machine.effect(Effect::Git { discard: Discard::History, base, what: "bfg".into() });
    }
}

fn read(args: &[Field], machine: &mut dyn Machine, depth: usize) {
    let parsed = GLOBAL.read(args);
    let Some((verb, rest)) = parsed.rest.split_first() else { return };
    if parsed.has_any(&["help", "version", "html-path", "man-path", "info-path"]) {
        return;
    }
    let verb = word(verb).into_owned();
    let mut base = machine.cwd();
    for directory in parsed.values("C") {
        base = enter(&base, directory);
    }
    let settings: Vec<_> = parsed.values("c").filter_map(config::setting).collect();
    let named = parsed.value("work-tree").map(|field| field.text.clone());
    let tree = match named.or_else(|| machine.variable("GIT_WORK_TREE")).filter(|text| !is_empty(text)) {
        Some(text) => enter(&base, &Field { text, glob: None, source: "--work-tree".into(), tilde: false }),
        None => base.clone(),
    };
    let call = Git { verb: &verb, args: rest, base, tree, settings: &settings };
    call.run(machine, depth);
}

fn is_empty(text: &Abstract) -> bool {
    text.as_known().is_some_and(|known| known.is_empty())
}

/// The directory that `-C` names: each is read in the one before it, and an empty one changes nothing.
pub(crate) fn enter(base: &Base, directory: &Field) -> Base {
    let Some(known) = directory.as_known() else { return Base::Unknown(Rc::clone(&directory.source)) };
    let join = |path: &std::path::PathBuf| Rc::new(path.join(&*known));
    match base {
        _ if known.is_empty() => base.clone(),
        Base::Known(path) => Base::Known(join(path)),
        Base::OneOf(paths) => Base::OneOf(paths.iter().map(|path| join(path)).collect()),
        Base::Unknown(_) if known.starts_with('/') => Base::Known(Rc::new(known.into_owned().into())),
        Base::Unknown(why) => Base::Unknown(Rc::clone(why)),
    }
}

impl Git<'_> {
    fn run(&self, machine: &mut dyn Machine, depth: usize) {
        if self.asks_for_help() {
            return;
        }
        carriers::environment(self, machine);
        if let Some((_, verb)) = VERBS.iter().find(|(name, _)| *name == self.verb) {
            return verb(self, machine);
        }
        if OTHER_BUILTINS.contains(&self.verb) || self.verb.is_empty() || depth == 0 {
            return;
        }
        if let Some(alias) = config::alias(self, machine) {
            self.run_alias(&alias, machine, depth - 1);
        }
    }

    /// `--help` anywhere in front of `--` prints a manual page (git-help(1)). `-h` is read by each grammar.
    fn asks_for_help(&self) -> bool {
        self.args
            .iter()
            .map(word)
            .take_while(|arg| arg != "--")
            .any(|arg| arg == "--help" || arg == "--help-all")
    }

    fn run_alias(&self, alias: &Abstract, machine: &mut dyn Machine, depth: usize) {
        let known = alias.as_known();
        let Some(known) = known.as_deref() else {
            let surroundings = self.surroundings();
            return machine.run_text(alias, Dialect::Posix, self.args.to_vec(), surroundings);
        };
        if let Some(text) = known.strip_prefix('!') {
            // git runs `sh -c 'TEXT "$@"' TEXT ARGS`, git-config(1).
            let text = Abstract::known(&format!("{text} \"$@\""));
            let mut positional = vec![Field::literal("git")];
            positional.extend_from_slice(self.args);
            return machine.run_text(&text, Dialect::Posix, positional, self.surroundings());
        }
        let mut args: Vec<Field> = config::split(known).iter().map(|word| Field::literal(word)).collect();
        args.extend_from_slice(self.args);
        let Some((verb, rest)) = args.split_first() else { return };
        let verb = word(verb);
        if verb.starts_with('-') {
            return read(&args, machine, depth);
        }
        let (base, tree) = (self.base.clone(), self.tree.clone());
        Git { verb: &verb, args: rest, base, tree, settings: self.settings }.run(machine, depth);
    }

    /// Where the commands run that git starts.
    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings { cwd: Some(self.base.clone()), ..Surroundings::default() }
    }

    /// Tells what this call would discard.
    pub(crate) fn discards(
        &self,
        machine: &mut dyn Machine,
        what: impl Into<Cow<'static, str>>,
        discard: Discard,
    ) {
        machine.effect(Effect::Git { discard, base: self.tree.clone(), what: what.into() });
    }

    /// A setting of this call, by its lower-case name.
    pub(crate) fn setting(&self, name: &str) -> Option<&Abstract> {
        self.settings.iter().rev().find(|(set, _)| set == name).map(|(_, value)| value)
    }

    /// The directory that holds `.git`, looking upwards from where git runs.
    pub(crate) fn toplevel(&self, world: &dyn World) -> Option<std::path::PathBuf> {
        let Base::Known(start) = &self.tree else { return None };
        start
            .ancestors()
            .find(|above| matches!(world.look(&above.join(".git")), Look::Found(_)))
            .map(Into::into)
    }

    /// The arguments with `--end-of-options` read as `--`, for subcommands to which the two mean the same.
    pub(crate) fn plain_args(&self) -> Vec<Field> {
        let plain = |field: &Field| match &*word(field) {
            "--end-of-options" => Field::literal("--"),
            _ => field.clone(),
        };
        self.args.iter().map(plain).collect()
    }
}

#[cfg(test)]
mod tests;
