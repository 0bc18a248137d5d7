//! Subcommands that change the files of a work tree: what they would overwrite or remove of it.

use crate::policy::effect::{Act, Discard, Effect, Follow, Selection};
use crate::programs::git::{Git, config, enter};
use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::verbs::word;
use crate::programs::words;
use crate::programs::{Input, Machine, acts};
use crate::shell::value::Field;
use crate::shell::world::Look;

/// The whole work tree.
fn everything() -> Discard {
    Discard::WorkTree(Vec::new())
}

fn owned(fields: &[&Field]) -> Vec<Field> {
    fields.iter().map(|field| (*field).clone()).collect()
}

static RESET: Grammar = Grammar::new(&[
    flag("h", ""),
    flag("q", "quiet"),
    flag("", "hard"),
    flag("", "soft"),
    flag("", "mixed"),
    flag("", "merge"),
    flag("", "keep"),
    flag("N", "intent-to-add"),
    flag("p", "patch"),
    flag("", "no-refresh"),
    optional("", "recurse-submodules"),
    value("", "pathspec-from-file"),
]);

/// git-reset(1): `--hard` and `--merge` overwrite files; `--keep` refuses where a change would be lost, the rest only
/// moves the branch (which the reflog remembers) or the index.
pub(crate) fn reset(call: &Git<'_>, machine: &mut dyn Machine) {
    let parsed = RESET.read(call.args);
    if parsed.has("h") {
        return;
    }
    let Some(mode) = parsed.last_of(&["hard", "soft", "mixed", "merge", "keep"]) else { return };
    match mode.option.long {
        "hard" => call.discards(machine, "git reset --hard", everything()),
        "merge" => call.discards(machine, "git reset --merge", everything()),
        _ => {}
    }
}

static CHECKOUT: Grammar = Grammar::new(&[
    flag("h", ""),
    flag("q", "quiet"),
    flag("f", "force"),
    flag("2", "ours"),
    flag("3", "theirs"),
    value("b", ""),
    value("B", ""),
    value("", "orphan"),
    optional("t", "track"),
    flag("l", ""),
    flag("d", "detach"),
    flag("m", "merge"),
    flag("p", "patch"),
    value("", "conflict"),
    flag("", "guess"),
    flag("", "no-guess"),
    flag("", "no-track"),
    flag("", "progress"),
    flag("", "no-progress"),
    flag("", "overlay"),
    flag("", "no-overlay"),
    flag("", "ignore-other-worktrees"),
    flag("", "ignore-skip-worktree-bits"),
    flag("", "overwrite-ignore"),
    flag("", "no-overwrite-ignore"),
    optional("", "recurse-submodules"),
    value("", "pathspec-from-file"),
    flag("", "pathspec-file-nul"),
]);

/// git-checkout(1): with paths it overwrites them from the index or a tree; with `-f` a switch throws changes away; a
/// plain switch refuses where a change would be lost.
pub(crate) fn checkout(call: &Git<'_>, machine: &mut dyn Machine) {
    let parsed = CHECKOUT.read(call.args);
    if parsed.has_any(&["h", "patch"]) {
        return;
    }
    if parsed.has("pathspec-from-file") {
        return call.discards(machine, "git checkout --pathspec-from-file", everything());
    }
    let paths = checkout_paths(call, machine, &parsed);
    if !paths.is_empty() {
        return call.discards(machine, "git checkout of paths", Discard::WorkTree(paths));
    }
    if parsed.has("force") {
        call.discards(machine, "git checkout --force", everything());
    }
}

/// The path operands: everything behind `--`; else everything that is no revision, where only the first may be one.
fn checkout_paths(call: &Git<'_>, machine: &dyn Machine, parsed: &Parsed<'_>) -> Vec<Field> {
    if !parsed.rest.is_empty() {
        return parsed.rest.to_vec();
    }
    if parsed.has_any(&["b", "B", "orphan", "detach", "track"])
        || call.args.iter().any(|arg| word(arg) == "--")
    {
        return Vec::new();
    }
    let Some((first, others)) = parsed.operands.split_first() else { return Vec::new() };
    if is_path(call, machine, first) { owned(&parsed.operands) } else { owned(others) }
}

/// Whether the only operand of a checkout is a path. git asks whether it is a revision first; a name that is both is an
/// error without `--`, so a file of that name and no branch or tag decides.
fn is_path(call: &Git<'_>, machine: &dyn Machine, operand: &Field) -> bool {
    if operand.glob.is_some() {
        return true;
    }
    let Some(name) = operand.as_known() else { return false };
    let spelled = matches!(&*name, "." | "..") || name.starts_with("./") || name.starts_with("../");
    if spelled || name.starts_with(['/', ':']) || name.contains(['*', '?', '[']) {
        return true;
    }
    let exists = acts::location(operand, &call.tree)
        .is_some_and(|path| matches!(machine.world().look(&path), Look::Found(_)));
    exists && name != "HEAD" && !super::history::names_a_ref(call, machine, &name)
}

static SWITCH: Grammar = Grammar::new(&[
    flag("h", ""),
    value("c", "create"),
    value("C", "force-create"),
    value("", "orphan"),
    value("", "conflict"),
    flag("f", "force"),
    flag("", "discard-changes"),
    flag("d", "detach"),
    flag("m", "merge"),
    flag("q", "quiet"),
    flag("", "guess"),
    flag("", "no-guess"),
    flag("", "progress"),
    flag("", "ignore-other-worktrees"),
    optional("t", "track"),
    optional("", "recurse-submodules"),
]);

/// git-switch(1): only `-f` and `--discard-changes` lose anything.
pub(crate) fn switch(call: &Git<'_>, machine: &mut dyn Machine) {
    let parsed = SWITCH.read(call.args);
    if !parsed.has("h") && parsed.has_any(&["force", "discard-changes"]) {
        call.discards(machine, "git switch --discard-changes", everything());
    }
}

static RESTORE: Grammar = Grammar::new(&[
    flag("h", ""),
    value("s", "source"),
    flag("S", "staged"),
    flag("W", "worktree"),
    flag("p", "patch"),
    flag("q", "quiet"),
    flag("m", "merge"),
    flag("2", "ours"),
    flag("3", "theirs"),
    flag("", "ignore-unmerged"),
    flag("", "ignore-skip-worktree-bits"),
    flag("", "overlay"),
    flag("", "no-overlay"),
    flag("", "progress"),
    value("", "conflict"),
    optional("", "recurse-submodules"),
    value("", "pathspec-from-file"),
    flag("", "pathspec-file-nul"),
]);

/// git-restore(1): with `--staged` alone only the index changes.
pub(crate) fn restore(call: &Git<'_>, machine: &mut dyn Machine) {
    let parsed = RESTORE.read(call.args);
    let only_index = parsed.has("staged") && !parsed.has("worktree");
    if parsed.has_any(&["h", "patch"]) || only_index {
        return;
    }
    let from_file = parsed.has("pathspec-from-file");
    if !parsed.operands.is_empty() || from_file {
        let paths = if from_file { Vec::new() } else { owned(&parsed.operands) };
        call.discards(machine, "git restore", Discard::WorkTree(paths));
    }
}

static CLEAN: Grammar = Grammar::new(&[
    flag("h", ""),
    flag("q", "quiet"),
    flag("f", "force"),
    flag("i", "interactive"),
    flag("d", ""),
    flag("x", ""),
    flag("X", ""),
    flag("n", "dry-run"),
    value("e", "exclude"),
]);

/// git-clean(1): refuses without `-f` unless `clean.requireForce` is false; `-i` asks the terminal.
pub(crate) fn clean(call: &Git<'_>, machine: &mut dyn Machine) {
    let args = call.plain_args();
    let parsed = CLEAN.read(&args);
    if parsed.has_any(&["h", "dry-run"]) {
        return;
    }
    let asks = parsed.has("interactive") && machine.stdin() == Input::Inherited;
    let forced = parsed.has_any(&["force", "interactive"]) || parsed.maybe_options;
    if asks || !(forced || config::is_off(call, machine, "clean", "requireforce")) {
        return;
    }
    let discard = Discard::Untracked {
        paths: owned(&parsed.operands),
        ignored: parsed.has("x"),
        only_ignored: parsed.has("X"),
        directories: parsed.has("d"),
    };
    call.discards(machine, "git clean", discard);
}

static RM: Grammar = Grammar::new(&[
    flag("h", ""),
    flag("r", ""),
    flag("f", "force"),
    flag("n", "dry-run"),
    flag("q", "quiet"),
    flag("", "cached"),
    flag("", "ignore-unmatch"),
    flag("", "sparse"),
    value("", "pathspec-from-file"),
    flag("", "pathspec-file-nul"),
]);

/// git-rm(1): removes tracked files, which history gives back; only `-f` overrides the refusal to lose a change.
pub(crate) fn rm(call: &Git<'_>, machine: &mut dyn Machine) {
    let args = call.plain_args();
    let parsed = RM.read(&args);
    if parsed.has("force") && !parsed.has_any(&["h", "dry-run", "cached"]) {
        call.discards(machine, "git rm --force", Discard::WorkTree(owned(&parsed.operands)));
    }
}

static MV: Grammar = Grammar::new(&[
    flag("h", ""),
    flag("f", "force"),
    flag("k", ""),
    flag("n", "dry-run"),
    flag("v", "verbose"),
]);

/// git-mv(1): overwrites an existing target only with `-f`.
pub(crate) fn mv(call: &Git<'_>, machine: &mut dyn Machine) {
    let args = call.plain_args();
    let parsed = MV.read(&args);
    if !parsed.has("force") || parsed.has_any(&["h", "dry-run"]) {
        return;
    }
    if let Some((target, sources)) = parsed.operands.split_last() {
        let into_directory = acts::is_directory(machine, target, &call.tree);
        for source in sources {
            let landed = if into_directory { words::below(target, source) } else { (*target).clone() };
            let base = call.tree.clone();
            acts::at(machine, Act::Replace, &landed, base, Follow::Never, Selection::default());
        }
    }
}

/// git-stash(1): `drop` and `clear` give saved work up; `pop` keeps it where it does not apply.
pub(crate) fn stash(call: &Git<'_>, machine: &mut dyn Machine) {
    let Some(verb) = call.args.first().map(word) else { return };
    match &*verb {
        "drop" => call.discards(machine, "git stash drop", Discard::Stash),
        "clear" => call.discards(machine, "git stash clear", Discard::Stash),
        _ => {}
    }
}

static WORKTREE: Grammar = Grammar::new(&[
    flag("h", ""),
    flag("f", "force"),
    value("b", ""),
    value("B", ""),
    value("", "reason"),
    value("", "expire"),
    flag("d", "detach"),
]);

/// git-worktree(1): `remove` refuses to lose work unless it is forced. The operand is read where git runs, whatever tree it
/// works on.
pub(crate) fn worktree(call: &Git<'_>, machine: &mut dyn Machine) {
    let Some((verb, rest)) = call.args.split_first() else { return };
    let parsed = WORKTREE.read(rest);
    let Some(operand) = parsed.operands.first() else { return };
    match &*word(verb) {
        "remove" if !parsed.has("h") => {
            let forced = parsed.has("force");
            let what = if forced { "git worktree remove --force" } else { "git worktree remove" };
            let discard = Discard::Worktree { tree: (*operand).clone(), forced };
            machine.effect(Effect::Git { discard, base: call.base.clone(), what: what.into() });
        }
        "add" => creates(call, machine, operand),
        _ => {}
    }
}

/// git-read-tree(1): `--reset -u` overwrites the files that differ, like `git reset --hard`.
pub(crate) fn read_tree(call: &Git<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("h", ""),
        flag("m", ""),
        flag("u", ""),
        flag("i", ""),
        flag("n", "dry-run"),
        flag("v", ""),
        flag("", "reset"),
        flag("", "no-sparse-checkout"),
        value("", "prefix"),
        value("", "index-output"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    if parsed.has("reset") && parsed.has("u") && !parsed.has_any(&["h", "dry-run"]) {
        call.discards(machine, "git read-tree --reset -u", everything());
    }
}

/// git-checkout-index(1): with `-f` it overwrites existing files.
pub(crate) fn checkout_index(call: &Git<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("h", ""),
        flag("u", "index"),
        flag("q", "quiet"),
        flag("f", "force"),
        flag("a", "all"),
        flag("n", "no-create"),
        flag("z", ""),
        flag("", "temp"),
        flag("", "stdin"),
        value("", "prefix"),
        value("", "stage"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    // With a prefix the files land elsewhere: an export.
    if parsed.has("force") && !parsed.has_any(&["h", "no-create", "temp", "prefix"]) {
        call.discards(machine, "git checkout-index --force", Discard::WorkTree(owned(&parsed.operands)));
    }
}

/// git-submodule(1): `deinit -f` and `update --force` throw changes in submodules away; `foreach` runs text.
pub(crate) fn submodule(call: &Git<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("h", ""),
        flag("q", "quiet"),
        flag("f", "force"),
        flag("", "all"),
        flag("", "init"),
        flag("", "recursive"),
        flag("", "remote"),
        flag("", "checkout"),
        flag("", "merge"),
        flag("", "rebase"),
        value("", "depth"),
        value("j", "jobs"),
        value("", "reference"),
        value("b", "branch"),
        value("", "name"),
    ]);
    let args = call.plain_args();
    let skipped = args.iter().take_while(|arg| word(arg).starts_with('-')).count();
    let Some((verb, rest)) = args.get(skipped..).and_then(<[Field]>::split_first) else { return };
    let parsed = GRAMMAR.read(rest);
    let paths = || Discard::WorkTree(owned(&parsed.operands));
    match &*word(verb) {
        "foreach" => super::carriers::foreach(call, machine, rest),
        "deinit" if parsed.has("force") => call.discards(machine, "git submodule deinit --force", paths()),
        "update" if parsed.has("force") => call.discards(machine, "git submodule update --force", paths()),
        _ => {}
    }
}

/// git-clone(1) makes a directory: the one it is given, else one named after the repository.
pub(crate) fn clone(call: &Git<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("o", "origin"),
        value("b", "branch"),
        value("", "revision"),
        value("u", "upload-pack"),
        value("", "reference"),
        value("", "reference-if-able"),
        value("", "separate-git-dir"),
        value("", "depth"),
        value("", "shallow-since"),
        value("", "shallow-exclude"),
        value("", "template"),
        value("c", "config"),
        value("j", "jobs"),
        value("", "filter"),
        value("", "server-option"),
        value("", "bundle-uri"),
        value("", "ref-format"),
        optional("", "recurse-submodules"),
        optional("", "recursive"),
        flag("", "bare"),
        flag("", "mirror"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    match parsed.operands.as_slice() {
        [_, directory, ..] => creates(call, machine, directory),
        [source] => {
            let Some(url) = source.as_known() else { return };
            let name = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
            let name = name.strip_suffix(".git").unwrap_or(name);
            let suffix = if parsed.has_any(&["bare", "mirror"]) { ".git" } else { "" };
            creates(call, machine, &Field::literal(&format!("{name}{suffix}")));
        }
        [] => {}
    }
}

/// git-init(1) makes `.git` in the directory it is given.
pub(crate) fn init(call: &Git<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("q", "quiet"),
        flag("", "bare"),
        value("", "template"),
        value("", "separate-git-dir"),
        value("", "object-format"),
        value("", "ref-format"),
        value("b", "initial-branch"),
        optional("", "shared"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    if let Some(directory) = parsed.operands.first() {
        creates(call, machine, directory);
    }
}

/// The operand did not exist and is made, read in the directory in which git runs.
fn creates(call: &Git<'_>, machine: &mut dyn Machine, operand: &Field) {
    let there = acts::named(machine, operand, &call.base);
    if there == acts::Named::Nothing {
        machine.creates(operand, enter(&call.base, &Field::literal("")));
    }
}
