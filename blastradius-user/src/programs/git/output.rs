//! Subcommands whose output is used: paths of the repository, names of files, hashes.

use std::rc::Rc;

use crate::policy::effect::{Discard, Selection};
use crate::policy::paths::normalise;
use crate::programs::git::Git;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::verbs::{as_written, prints_component, word};
use crate::programs::{Input, Machine, Selected, acts};
use crate::shell::value::{Abstract, Cause, Field, Hole, Piece};

/// git-rev-parse(1): places of the repository are known where the work tree can be found, hashes never.
pub(crate) fn rev_parse(call: &Git<'_>, machine: &mut dyn Machine) {
    let asks = |option: &str| call.args.iter().any(|arg| word(arg) == option);
    let top = call.toplevel(machine.world());
    let place = match () {
        () if asks("--show-toplevel") => top,
        () if asks("--git-dir") || asks("--absolute-git-dir") => top.map(|top| top.join(".git")),
        () if asks("--show-cdup") || asks("--show-prefix") || asks("--git-path") => None,
        () => return prints_component(machine, &as_written("git rev-parse", call.args)),
    };
    if let Some(place) = place {
        acts::print_line(machine, Abstract::known(&place.to_string_lossy()));
    }
}

/// Subcommands that print one hash or name.
pub(crate) fn component(call: &Git<'_>, machine: &mut dyn Machine) {
    prints_component(machine, &as_written(&format!("git {}", call.verb), call.args));
}

static LS_FILES: Grammar = Grammar::new(&[
    flag("z", ""),
    flag("t", ""),
    flag("v", ""),
    flag("c", "cached"),
    flag("d", "deleted"),
    flag("m", "modified"),
    flag("o", "others"),
    flag("i", "ignored"),
    flag("s", "stage"),
    flag("k", "killed"),
    flag("u", "unmerged"),
    flag("", "directory"),
    flag("", "exclude-standard"),
    value("x", "exclude"),
    value("X", "exclude-from"),
    value("", "exclude-per-directory"),
    value("", "with-tree"),
    value("", "format"),
    optional("", "abbrev"),
]);

/// git-ls-files(1): names below the working directory, or below the path operands.
pub(crate) fn ls_files(call: &Git<'_>, machine: &mut dyn Machine) {
    let parsed = LS_FILES.read(call.args);
    let narrow = parsed.has_any(&["others", "modified", "deleted", "ignored", "unmerged"]);
    let names = if parsed.operands.is_empty() {
        vec![below(Field::literal("."), narrow, Vec::new())]
    } else {
        parsed.operands.iter().map(|operand| pathspec(operand, narrow)).collect()
    };
    machine.print(Input::Names(names));
}

/// What a pathspec selects: itself and what lies below it, or the names that fit its pattern (gitglossary(7)).
fn pathspec(operand: &Field, narrow: bool) -> Selected {
    let known = word(operand);
    if !known.contains(['*', '?', '[']) {
        return below(operand.clone(), narrow, Vec::new());
    }
    let (directory, name) = known.rsplit_once('/').unwrap_or((".", &known));
    let plain = directory.split(['*', '?', '[']).next().unwrap_or_default();
    let root = if plain.len() == directory.len() {
        directory
    } else {
        plain.rsplit_once('/').map_or(".", |cut| cut.0)
    };
    below(Field::literal(root), narrow, vec![name.to_owned()])
}

fn below(root: Field, narrow: bool, names: Vec<String>) -> Selected {
    let filter = if names.is_empty() {
        "git ls-files".to_owned()
    } else {
        format!("git ls-files '{}'", names.join("' '"))
    };
    let narrow_by_name = names.iter().any(|name| name != "*");
    let selection = Selection { filter, narrow_by_name, narrow_by_other: narrow, names, contents_only: true };
    Selected { root, selection }
}

/// git-diff(1): with `--name-only` the names of changed files.
pub(crate) fn diff(call: &Git<'_>, machine: &mut dyn Machine) {
    if call.args.iter().any(|arg| matches!(&*word(arg), "--name-only" | "--name-status")) {
        let mut names = below(Field::literal("."), true, Vec::new());
        names.selection.filter = "git diff --name-only".to_owned();
        machine.print(Input::Names(vec![names]));
    }
}

/// git-show(1), git-cat-file(1): `git show HEAD:f > f` takes the file back as a checkout would.
pub(crate) fn show(call: &Git<'_>, machine: &mut dyn Machine) {
    let Some(file) = machine.stdout_file() else { return };
    let Some(top) = call.toplevel(machine.world()) else { return };
    let from = |name: &str| match name.strip_prefix("./").or_else(|| name.strip_prefix("../").map(|_| name)) {
        Some(relative) => acts::location(&Field::literal(relative), &call.base),
        None => Some(top.join(name)),
    };
    let place = normalise(&file);
    let is_itself = call.args.iter().any(|arg| {
        let known = word(arg);
        let blob = known.split_once(':').and_then(|(_, name)| from(name));
        blob.is_some_and(|blob| normalise(&blob) == place)
    });
    if is_itself {
        let path = Field::literal(&file.to_string_lossy());
        call.discards(machine, "git show into the file itself", Discard::WorkTree(vec![path]));
    }
}

/// git-log(1): a format that is made of hashes, numbers and dates prints one component a line.
pub(crate) fn log(call: &Git<'_>, machine: &mut dyn Machine) {
    const SLASHLESS: &[&str] = &["%h", "%H", "%t", "%T", "%ct", "%at", "%cs", "%as", "%cI", "%aI"];
    let format = call.args.iter().find_map(|arg| {
        let known = word(arg).into_owned();
        let value = known.strip_prefix("--format=").or_else(|| known.strip_prefix("--pretty=format:"))?;
        Some(value.to_owned())
    });
    if format.is_some_and(|format| SLASHLESS.contains(&&*format)) {
        let cause = Rc::new(Cause::CommandOutput(as_written("git log", call.args).into()));
        let mut text = Abstract::default();
        // A repository without commits prints nothing.
        text.pieces.push(Piece::Hole(Hole { cause, maybe_empty: true, component: true, born: false }));
        machine.print(Input::Text(text));
    }
}
