//! Programs whose purpose is to make names or contents go: rm(1), rmdir(1), unlink(1), shred(1), the trash.

use crate::policy::effect::{Act, Follow, Selection};
use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::{Call, Machine, Program, acts, words};
use crate::shell::value::{Abstract, Field};

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("rm", rm),
    ("safe-rm", rm),
    ("grm", rm),
    ("srm", secure_remove),
    ("rmdir", rmdir),
    ("unlink", unlink),
    ("shred", shred),
    ("wipe", wipe),
    ("scrub", scrub),
    ("rimraf", rimraf),
    ("del-cli", rimraf),
    ("del", rimraf),
    ("trash", trash),
    ("trash-cli", trash),
    ("trash-put", trash),
    ("rmtrash", trash),
    ("gvfs-trash", trash),
    ("kioclient-trash", trash),
    ("rip", trash),
    ("trash-empty", trash_empty),
    ("trash-rm", trash_empty),
    ("gio", gio),
];

/// rm(1) of coreutils; `P`, `W` and `x` are the BSDs'.
static RM: Grammar = Grammar::new(&[
    flag("f", "force"),
    flag("iI", ""),
    optional("", "interactive"),
    flag("rR", "recursive"),
    flag("d", "dir"),
    flag("v", "verbose"),
    flag("", "one-file-system"),
    flag("", "no-preserve-root"),
    optional("", "preserve-root"),
    flag("PWx", ""),
]);

fn rm(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = RM.read(call.args);
    if parsed.informs() {
        return;
    }
    // A word that may turn out to be `-r` decides over the others.
    let recursive = parsed.has("recursive") || parsed.maybe_options;
    remove_all(machine, &parsed, recursive);
}

fn remove_all(machine: &mut dyn Machine, parsed: &Parsed<'_>, recursive: bool) {
    for operand in &parsed.operands {
        acts::remove(machine, operand, recursive);
    }
}

/// srm(1) of secure-delete and of older macOS.
static SECURE_REMOVE: Grammar =
    Grammar::new(&[flag("rR", "recursive"), flag("dflvzimnsDP", "force|simple|medium|zero|nounlink")]);

fn secure_remove(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SECURE_REMOVE.read(call.args);
    if !parsed.informs() {
        remove_all(machine, &parsed, parsed.has("recursive") || parsed.maybe_options);
    }
}

static RMDIR: Grammar =
    Grammar::new(&[flag("p", "parents"), flag("v", "verbose"), flag("", "ignore-fail-on-non-empty")]);

fn rmdir(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = RMDIR.read(call.args);
    if parsed.informs() {
        return;
    }
    for operand in &parsed.operands {
        acts::remove(machine, operand, false);
        if parsed.has("parents") {
            remove_parents(machine, operand);
        }
    }
}

/// Parents that are looked at, from the shallowest on.
const MAX_PARENTS: usize = 64;

/// `rmdir -p a/b/c` goes on with `a/b` and `a`.
fn remove_parents(machine: &mut dyn Machine, operand: &Field) {
    let Some(path) = operand.as_known() else { return };
    let path = path.trim_end_matches('/');
    let ends = path.match_indices('/').map(|(end, _)| path[..end].trim_end_matches('/'));
    for parent in ends.filter(|parent| !parent.is_empty()).take(MAX_PARENTS) {
        let parent = Field { text: Abstract::known(parent), ..operand.clone() };
        acts::remove(machine, &parent, false);
    }
}

static UNLINK: Grammar = Grammar::new(&[]);

fn unlink(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = UNLINK.read(call.args);
    // unlink(1) takes one operand and refuses more.
    if let ([operand], false) = (parsed.operands.as_slice(), parsed.informs()) {
        acts::remove(machine, operand, false);
    }
}

static SHRED: Grammar = Grammar::new(&[
    flag("f", "force"),
    value("n", "iterations"),
    value("", "random-source"),
    value("s", "size"),
    flag("u", ""),
    optional("", "remove"),
    flag("v", "verbose"),
    flag("x", "exact"),
    flag("z", "zero"),
]);

fn shred(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SHRED.read(call.args);
    if !parsed.informs() {
        overwrite_all(machine, &parsed, parsed.has_any(&["u", "remove"]));
    }
}

fn overwrite_all(machine: &mut dyn Machine, parsed: &Parsed<'_>, remove: bool) {
    for operand in &parsed.operands {
        if operand.as_known().as_deref() == Some("-") {
            continue;
        }
        acts::overwrite(machine, operand);
        if remove {
            acts::remove(machine, operand, false);
        }
    }
}

/// wipe(1): overwrites and removes, or with `-k` only overwrites.
static WIPE: Grammar =
    Grammar::new(&[flag("r", ""), flag("k", ""), flag("fciqsFDZe", ""), value("abxlopQRSMX", "")]);

fn wipe(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = WIPE.read(call.args);
    if parsed.informs() {
        return;
    }
    for operand in &parsed.operands {
        acts::overwrite(machine, operand);
        if !parsed.has("k") {
            acts::remove(machine, operand, parsed.has("r"));
        }
    }
}

/// scrub(1).
static SCRUB: Grammar = Grammar::new(&[
    flag("v", "version"),
    flag("r", "remove"),
    value("p", "pattern"),
    value("b", "blocksize"),
    value("s", "device-size"),
    value("D", "dirent"),
    flag("fSXLRtTn", "force|no-signature|freespace|no-link|no-hwrand|no-threads|test"),
    flag("h", "help"),
]);

fn scrub(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SCRUB.read(call.args);
    if !parsed.informs() {
        overwrite_all(machine, &parsed, parsed.has("remove"));
    }
}

/// rimraf and del-cli read globs themselves; del-cli also takes `!pattern` to except something.
static RIMRAF: Grammar = Grammar::new(&[
    flag("f", "force"),
    flag("", "dry-run"),
    flag("h", "help"),
    flag("vVgGi", "verbose|glob|no-glob|interactive|preserve-root|no-preserve-root"),
])
.exact();

fn rimraf(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = RIMRAF.read(call.args);
    if parsed.informs() || parsed.has("dry-run") {
        return;
    }
    for operand in &parsed.operands {
        let excepts = words::lead(&operand.text).starts_with('!');
        if !excepts {
            remove_by_pattern(machine, operand);
        }
    }
}

/// Removes what a pattern matches that the program, not the shell, expands.
fn remove_by_pattern(machine: &mut dyn Machine, operand: &Field) {
    match pattern_below(operand) {
        None => acts::remove(machine, operand, true),
        Some((root, selection)) => {
            acts::selected(machine, Act::Remove { recursive: true }, &root, Follow::Last, selection);
        }
    }
}

/// Splits `dist/**/*.js` into the directory that the pattern ranges over and what it selects there; `None` if the word
/// is no pattern.
pub fn pattern_below(operand: &Field) -> Option<(Field, Selection)> {
    const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];
    let pattern = operand.as_known()?;
    let wildcard = pattern.find(WILDCARDS)?;
    let (root, below) = match pattern.get(..wildcard)?.rfind('/') {
        Some(0) => ("/", pattern.get(1..)?),
        Some(slash) => (pattern.get(..slash)?, pattern.get(slash + 1..)?),
        None => (".", &*pattern),
    };
    let last = below.rsplit('/').next().unwrap_or(below);
    let narrow = is_narrow_pattern(last) || is_narrow_pattern(below);
    let selection = Selection {
        filter: below.to_owned(),
        narrow_by_name: narrow,
        names: if is_narrow_pattern(last) { vec![last.to_owned()] } else { Vec::new() },
        contents_only: true,
        ..Selection::default()
    };
    Some((Field { text: Abstract::known(root), glob: None, ..operand.clone() }, selection))
}

/// Whether a glob pattern leaves most names alone: it holds a letter or digit outside of wildcards.
pub fn is_narrow_pattern(pattern: &str) -> bool {
    let mut in_class = false;
    pattern.chars().any(|letter| {
        match letter {
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
        !in_class && (letter.is_alphanumeric() || matches!(letter, '_' | '~' | '#' | '-'))
    })
}

/// Trash programs take the options of rm so that they can stand in for it.
static TRASH: Grammar = Grammar::new(&[
    flag("rRfidvIFalyse", "recursive|force|directory|verbose|interactive"),
    flag("", "empty"),
    flag("", "list"),
    flag("", "restore"),
    value("", "trash-dir|home-fallback|graveyard"),
]);

/// What goes to the trash can be brought back from there, but it is gone from where it was.
fn trash(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = TRASH.read(call.args);
    if parsed.informs() || parsed.has_any(&["list", "restore"]) {
        return;
    }
    if parsed.has("empty") {
        empty_the_trash(machine);
        return;
    }
    for operand in &parsed.operands {
        acts::path(machine, Act::Move, operand, Follow::Never);
    }
}

fn trash_empty(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = TRASH.read(call.args);
    if !parsed.informs() && !parsed.unknown.iter().any(|option| option == "dry-run") {
        empty_the_trash(machine);
    }
}

/// The trash of the FreeDesktop specification; other volumes have their own, which the home's stands for.
fn empty_the_trash(machine: &mut dyn Machine) {
    let mut text = machine.variable("HOME").unwrap_or_default();
    text.push_text("/.local/share/Trash");
    let selection = Selection { contents_only: true, ..Selection::default() };
    let operand = words::from_text(text, "~/.local/share/Trash");
    acts::selected(machine, Act::Remove { recursive: true }, &operand, Follow::Never, selection);
}

static GIO: Grammar = Grammar::new(&[flag("f", "force")]);

/// `gio trash`, `gio remove`, `gio move` and `gio copy` (gio(1)).
fn gio(call: &Call<'_>, machine: &mut dyn Machine) {
    let Some((verb, args)) = call.args.split_first() else { return };
    let inner = Call { name: call.name, args };
    match verb.as_known().as_deref() {
        Some("trash") => trash(&inner, machine),
        Some("remove") => {
            let parsed = GIO.read(args);
            if !parsed.informs() {
                remove_all(machine, &parsed, false);
            }
        }
        Some("move" | "rename") => super::mv::mv(&inner, machine),
        Some("copy") => super::cp::cp(&inner, machine),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    #[track_caller]
    fn says(program: Program, line: &str, expected: &[&str]) {
        assert_eq!(Recorder::default().call(program, line).told(), expected, "{line}");
    }

    #[test]
    fn rm_removes_trees_in_every_spelling() {
        for line in [
            "rm -rf a",
            "rm -fr a",
            "rm a -r",
            "rm --rec --f a",
            "rm -R -- a",
            "rm -vrf --no-preserve-root a",
        ] {
            says(rm, line, &["remove-tree a"]);
        }
    }

    #[test]
    fn rm_without_recursion_removes_names() {
        says(rm, "rm -f a b", &["remove a", "remove b"]);
        says(rm, "rm -- -r", &["remove -r"]);
        says(rm, "rm -d a", &["remove a"]);
    }

    #[test]
    fn rm_that_only_informs_removes_nothing() {
        says(rm, "rm --help", &[]);
        says(rm, "rm -rf --version", &[]);
        says(rm, "rm -rf", &[]);
    }

    #[test]
    fn help_behind_an_operand_is_an_operand_elsewhere() {
        says(rm, "rm -rf / --help", &["remove-tree /"]);
    }

    #[test]
    fn a_word_that_may_be_an_option_may_be_minus_r() {
        says(rm, "rm ? a", &["remove-tree ?", "remove-tree a"]);
    }

    #[test]
    fn rmdir_removes_empty_directories_and_with_p_their_parents() {
        says(rmdir, "rmdir a/b", &["remove a/b"]);
        says(rmdir, "rmdir -p a/b/c/", &["remove a/b/c/", "remove a", "remove a/b"]);
        says(rmdir, "rmdir -p /a/b", &["remove /a/b", "remove /a"]);
    }

    #[test]
    fn shred_overwrites_and_removes_only_when_told() {
        says(shred, "shred -n 3 a", &["device a"]);
        says(shred, "shred -uz a", &["device a", "remove a"]);
        says(shred, "shred --remove=wipe a", &["device a", "remove a"]);
        says(shred, "shred -", &[]);
    }

    #[test]
    fn rimraf_reads_patterns_itself() {
        says(rimraf, "rimraf dist", &["remove-tree dist"]);
        says(rimraf, "rimraf '/etc/*'", &["remove-tree /etc (*) contents"]);
        says(rimraf, "rimraf '**/node_modules'", &["remove-tree . (**/node_modules) contents"]);
        says(rimraf, "del --dry-run dist", &[]);
    }

    #[test]
    fn the_trash_moves_and_emptying_it_removes() {
        says(trash, "trash -rf a", &["move a"]);
        says(gio, "gio trash a", &["move a"]);
        says(gio, "gio info a", &[]);
        let emptied = Recorder::default().env("HOME", "/home/dev").call(gio, "gio trash --empty");
        assert_eq!(emptied.told(), ["remove-tree /home/dev/.local/share/Trash contents"]);
    }
}
