//! mv(1) and rename(1): objects leave one name and take over another.

use crate::policy::effect::{Act, Follow};
use crate::programs::landing::Landing;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::{Call, Machine, Program, acts};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("mv", mv),
    ("mmv", mmv),
    ("rename", rename),
    ("prename", rename),
    ("file-rename", rename),
    ("perl-rename", rename),
    ("rename.ul", rename),
];

/// mv(1) of coreutils; `h` is the BSDs' `-T` for links.
static MV: Grammar = Grammar::new(&[
    optional("", "backup"),
    flag("b", ""),
    flag("", "debug"),
    flag("", "exchange"),
    flag("f", "force"),
    flag("i", "interactive"),
    flag("n", "no-clobber"),
    flag("", "no-copy"),
    flag("", "strip-trailing-slashes"),
    value("S", "suffix"),
    value("t", "target-directory"),
    flag("Th", "no-target-directory"),
    optional("", "update"),
    flag("u", ""),
    flag("v", "verbose"),
    flag("Z", "context"),
]);

/// Moves every source, and replaces what bears the new names.
pub fn mv(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = MV.read(call.args);
    if parsed.informs() {
        return;
    }
    let directory = parsed.value("target-directory");
    let exact = parsed.has("no-target-directory");
    let Some(landing) = Landing::new(machine, &parsed.operands, directory, exact) else { return };
    for source in &landing.sources {
        acts::path(machine, Act::Move, source, Follow::Never);
    }
    let spares = parsed.last_of(&["n", "f", "i"]).is_some_and(|seen| seen.option.is("n"));
    for landed in landing.names(machine) {
        // `.` has no name of its own inside a directory: it is the directory, which mv(1) does not take over.
        if landing.inside && landed.name == landing.target {
            continue;
        }
        if !spares {
            acts::path(machine, Act::Replace, &landed.name, Follow::Never);
        }
        machine.takes_in(&landed.name);
    }
}

/// mmv(1): `FROM-PATTERN TO-PATTERN`, the first of which it matches itself.
fn mmv(call: &Call<'_>, machine: &mut dyn Machine) {
    static MMV: Grammar = Grammar::new(&[flag("mxraclsodpgtvDhn", "")]);
    let parsed = MMV.read(call.args);
    if parsed.has("n") || parsed.informs() {
        return;
    }
    if let [from, _] = parsed.operands.as_slice() {
        let name = from.as_known().map(std::borrow::Cow::into_owned);
        // What a pattern may match lies in the directory in front of its first wildcard.
        let named = name.as_deref().map(|name| match name.find(['*', '?', '[', ';']) {
            Some(wild) => name[..wild]
                .rsplit_once('/')
                .map_or(".", |(directory, _)| if directory.is_empty() { "/" } else { directory }),
            None => name,
        });
        let operand = named.map_or_else(|| (*from).clone(), Field::literal);
        acts::path(machine, Act::Move, &operand, Follow::Never);
    }
}

/// rename(1) of util-linux (FROM TO FILE…) and of Perl (EXPRESSION FILE…).
static RENAME: Grammar = Grammar::new(&[
    flag("n", "no-act|nono|dry-run|just-print"),
    value("e", "expr"),
    flag("vfoislLa", "verbose|force|no-overwrite|interactive|symlink|last|all"),
    flag("V", "version"),
    flag("h", "help|man"),
]);

fn rename(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = RENAME.read(call.args);
    if parsed.informs() || parsed.has("n") {
        return;
    }
    let first = parsed.operands.first().and_then(|operand| operand.as_known());
    // Perl code has a delimiter in it; a plain substring hardly ever does.
    let is_code = first.is_some_and(|first| first.contains(['/', ';', '{', '|', '#', '(']));
    let texts = match (parsed.value("expr").is_some(), is_code) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    };
    for operand in parsed.operands.iter().skip(texts) {
        acts::path(machine, Act::Move, operand, Follow::Never);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    #[test]
    fn a_move_takes_one_name_and_replaces_another() {
        assert_eq!(Recorder::default().call(mv, "mv a b").told(), ["move a", "replace b"]);
        assert_eq!(Recorder::default().call(mv, "mv -n a b").told(), ["move a"]);
        assert_eq!(Recorder::default().call(mv, "mv -nf a b").told(), ["move a", "replace b"]);
    }

    #[test]
    fn into_a_directory_means_below_it() {
        let told = |line| Recorder::default().directory("d").call(mv, line).told();
        assert_eq!(told("mv a d"), ["move a", "replace d/a"]);
        assert_eq!(told("mv x/a d/"), ["move x/a", "replace d/a"]);
        assert_eq!(told("mv a b d"), ["move a", "move b", "replace d/a", "replace d/b"]);
        assert_eq!(told("mv -t d a"), ["move a", "replace d/a"]);
        assert_eq!(told("mv --target=d a"), ["move a", "replace d/a"]);
        assert_eq!(told("mv -T a d"), ["move a", "replace d"]);
    }

    #[test]
    fn a_link_to_a_directory_is_a_directory_to_mv() {
        let recorder = Recorder::default().directory("d").link("l", "d").call(mv, "mv a l");
        assert_eq!(recorder.told(), ["move a", "replace l/a"]);
    }

    #[test]
    fn what_was_moved_is_not_new() {
        let recorder = Recorder::default().directory("d").call(mv, "mv a d");
        assert!(recorder.created.is_empty());
        assert_eq!(recorder.linked, ["d/a <-"]);
    }

    #[test]
    fn help_moves_nothing() {
        assert!(Recorder::default().call(mv, "mv --help").is_harmless());
        assert!(Recorder::default().call(mv, "mv a").is_harmless());
    }

    #[test]
    fn rename_moves_its_files_and_not_its_expression() {
        let told = |line| Recorder::default().call(rename, line).told();
        assert_eq!(told("rename -f 's/a/b/' x y"), ["move x", "move y"]);
        assert_eq!(told("rename .txt .md x.txt"), ["move x.txt"]);
        assert!(told("rename -n 's/a/b/' x").is_empty());
    }
}
