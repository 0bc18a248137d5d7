//! cp(1) and install(1): contents land under other names.

use crate::policy::effect::{Act, Follow};
use crate::programs::landing::{self, Landing};
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::{Call, Machine, Program, acts};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[("cp", cp), ("install", install), ("ginstall", install)];

/// cp(1) of coreutils; `c` and `X` are macOS's.
static CP: Grammar = Grammar::new(&[
    flag("a", "archive"),
    flag("", "attributes-only"),
    optional("", "backup"),
    flag("b", ""),
    flag("", "copy-contents"),
    flag("d", ""),
    flag("", "debug"),
    flag("f", "force"),
    flag("i", "interactive"),
    flag("H", ""),
    flag("l", "link"),
    flag("L", "dereference"),
    flag("n", "no-clobber"),
    flag("P", "no-dereference"),
    flag("p", ""),
    optional("", "preserve"),
    value("", "no-preserve"),
    flag("", "parents"),
    flag("rR", "recursive"),
    optional("", "reflink"),
    flag("", "remove-destination"),
    value("", "sparse"),
    flag("", "strip-trailing-slashes"),
    flag("s", "symbolic-link"),
    value("S", "suffix"),
    value("t", "target-directory"),
    flag("T", "no-target-directory"),
    optional("", "update"),
    flag("u", ""),
    flag("v", "verbose"),
    flag("x", "one-file-system"),
    flag("Z", ""),
    optional("", "context"),
    flag("cX", ""),
]);

/// Overwrites what bears the new names: in place and through links, unless `--remove-destination`.
pub fn cp(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = CP.read(call.args);
    if parsed.informs() {
        return;
    }
    let directory = parsed.value("target-directory");
    let exact = parsed.has("no-target-directory");
    let Some(landing) = Landing::new(machine, &parsed.operands, directory, exact) else { return };
    let spares = parsed.has("attributes-only")
        || parsed.last_of(&["n", "f", "i"]).is_some_and(|seen| seen.option.is("n"));
    let recursive = parsed.has_any(&["recursive", "archive"]) || parsed.maybe_options;
    let follow = if parsed.has("remove-destination") { Follow::Never } else { Follow::Last };
    for landed in landing.names(machine) {
        if spares {
            acts::creates(machine, &landed.name);
        } else {
            // A copy onto something is an edit of it; a copy of nothing leaves nothing.
            let act = if is_empty_source(&landed.source) { Act::Truncate } else { Act::Replace };
            take_over(machine, &landed, act, follow, recursive);
        }
    }
}

fn take_over(machine: &mut dyn Machine, landed: &landing::Landed, act: Act, follow: Follow, recursive: bool) {
    if landing::is_device_name(&landed.name) && follow == Follow::Last {
        acts::overwrite(machine, &landed.name);
    } else {
        landing::take_over(machine, landed, act, follow, recursive);
    }
}

fn is_empty_source(source: &Field) -> bool {
    source.as_known().as_deref() == Some("/dev/null")
}

/// install(1) of coreutils and the BSDs.
static INSTALL: Grammar = Grammar::new(&[
    optional("", "backup"),
    flag("b", ""),
    flag("c", ""),
    flag("C", "compare"),
    flag("d", "directory"),
    flag("D", ""),
    value("g", "group"),
    value("m", "mode"),
    value("o", "owner"),
    flag("p", "preserve-timestamps"),
    flag("s", "strip"),
    value("", "strip-program"),
    value("S", "suffix"),
    value("t", "target-directory"),
    flag("T", "no-target-directory"),
    flag("v", "verbose"),
    flag("", "preserve-context"),
    flag("Z", ""),
    optional("", "context"),
]);

fn install(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = INSTALL.read(call.args);
    if parsed.informs() {
        return;
    }
    if parsed.has("directory") {
        for operand in &parsed.operands {
            acts::creates(machine, operand);
        }
        return;
    }
    let directory = parsed.value("target-directory");
    let exact = parsed.has("no-target-directory");
    let Some(landing) = Landing::new(machine, &parsed.operands, directory, exact) else { return };
    for landed in landing.names(machine) {
        // install unlinks the old file first, so a link in its place is replaced and not followed.
        let act = if is_empty_source(&landed.source) { Act::Truncate } else { Act::Replace };
        landing::take_over(machine, &landed, act, Follow::Never, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(program: Program, line: &str) -> Vec<String> {
        Recorder::default().directory("d").file("f", "x").call(program, line).told()
    }

    #[test]
    fn a_copy_takes_over_the_destination() {
        assert_eq!(told(cp, "cp a b"), ["replace b"]);
        assert_eq!(told(cp, "cp -f a /etc/passwd"), ["replace /etc/passwd"]);
        assert_eq!(told(cp, "cp -r a d/"), ["replace d/a"]);
        assert_eq!(told(cp, "cp a b d"), ["replace d/a", "replace d/b"]);
        assert_eq!(told(cp, "cp -t d a"), ["replace d/a"]);
        assert_eq!(told(cp, "cp a ?"), ["replace ?"]);
    }

    #[test]
    fn a_copy_of_nothing_truncates() {
        assert_eq!(told(cp, "cp /dev/null f"), ["truncate f"]);
    }

    #[test]
    fn a_copy_onto_a_device_writes_it() {
        assert_eq!(told(cp, "cp disk.img /dev/sda"), ["device /dev/sda"]);
    }

    #[test]
    fn no_clobber_replaces_nothing() {
        assert!(told(cp, "cp -n a f").is_empty());
        assert!(told(cp, "cp --no-clobber a f").is_empty());
        assert!(told(cp, "cp --attributes-only a f").is_empty());
        assert!(told(cp, "cp --help").is_empty());
        assert!(told(cp, "cp a").is_empty());
    }

    #[test]
    fn a_directory_copied_onto_one_overwrites_only_what_both_hold() {
        let recorder = Recorder::default().file("src/a", "").file("src/b", "").file("dst/a", "");
        assert_eq!(recorder.call(cp, "cp -r src/. dst").told(), ["replace dst/a"]);
        let recorder = Recorder::default().file("src/a/x", "").file("dst/src/a/x", "");
        assert_eq!(
            recorder.call(cp, "cp -a src dst").told(),
            ["replace dst/src/a (what src holds) contents"]
        );
        let recorder = Recorder::default().directory("dst");
        assert_eq!(recorder.call(cp, "cp -a ?/. dst").told(), ["replace dst/?"]);
    }

    #[test]
    fn install_replaces_files_and_makes_directories() {
        assert_eq!(told(install, "install -m 644 a /etc/passwd"), ["replace /etc/passwd"]);
        assert_eq!(told(install, "install -Dm755 a -t d"), ["replace d/a"]);
        let made = Recorder::default().call(install, "install -d new");
        assert!(made.told().is_empty());
        assert_eq!(made.created, ["new"]);
    }
}
