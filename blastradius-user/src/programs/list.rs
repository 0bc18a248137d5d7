//! Programs that print names of files, for what a pipe or a substitution does with them: ls(1), rg --files, grep -l.

use crate::policy::effect::Selection;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::{Call, Input, Machine, Program, Selected};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] =
    &[("rg", ripgrep), ("grep", grep), ("egrep", grep), ("ag", grep), ("ack", grep)];

/// rg(1), as far as it takes arguments.
static RIPGREP: Grammar = Grammar::new(&[
    flag("", "files"),
    flag("l", "files-with-matches|files-without-match"),
    value("e", "regexp"),
    value("f", "file"),
    value("g", "glob|iglob"),
    value("t", "type"),
    value("T", "type-not"),
    value(
        "ABCEjMmrd",
        "after-context|before-context|context|encoding|threads|max-columns|max-count|replace|max-depth",
    ),
    value("", "pre|pre-glob|sort|sortr|ignore-file|path-separator|max-filesize|color|colors|engine|type-add"),
    flag("0FHILNPSUVbchinopqsuvwxz.", "hidden|no-ignore|null|follow"),
])
.exact();

fn ripgrep(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = RIPGREP.read(call.args);
    let lists = parsed.has("files");
    let matches = parsed.has("files-with-matches");
    if parsed.informs() || !(lists || matches) {
        return;
    }
    let pattern_given = lists || parsed.has_any(&["regexp", "file"]);
    let roots = parsed.operands.iter().skip(usize::from(!pattern_given)).copied().cloned().collect();
    let globs: Vec<String> = parsed
        .values("glob")
        .filter_map(Field::as_known)
        .filter(|glob| !glob.starts_with('!'))
        .map(std::borrow::Cow::into_owned)
        .collect();
    print_names(machine, roots, globs, matches || parsed.has("type"));
}

fn print_names(machine: &mut dyn Machine, mut roots: Vec<Field>, globs: Vec<String>, narrow_by_other: bool) {
    if roots.is_empty() {
        roots.push(Field::literal("."));
    }
    let narrow = !globs.is_empty() && globs.iter().all(|glob| super::rm::is_narrow_pattern(glob));
    let selection = Selection {
        filter: if globs.is_empty() && narrow_by_other { "content".to_owned() } else { globs.join(" ") },
        narrow_by_name: narrow,
        narrow_by_other,
        names: if narrow { globs } else { Vec::new() },
        contents_only: true,
    };
    let names = roots.into_iter().map(|root| Selected { root, selection: selection.clone() });
    machine.print(Input::Names(names.collect()));
}

/// grep(1), ag(1), ack(1): with `-l` or `-L` they print the names of files.
static GREP: Grammar = Grammar::new(&[
    flag("lL", "files-with-matches|files-without-match|files-without-matches"),
    flag("rR", "recursive|dereference-recursive"),
    value("e", "regexp"),
    value("f", "file"),
    value("", "include"),
    value(
        "ABCmdD",
        "after-context|before-context|context|max-count|directories|devices|exclude|exclude-from|exclude-dir|label",
    ),
    optional("", "color|colour|binary-files"),
    flag(
        "EFGPiyvwxcoqsbHhnTuUZz0aI",
        "extended-regexp|fixed-strings|perl-regexp|ignore-case|invert-match|null",
    ),
]);

fn grep(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = GREP.read(call.args);
    if parsed.informs() || !parsed.has("l") {
        return;
    }
    let pattern_given = parsed.has_any(&["regexp", "file"]);
    let roots: Vec<Field> =
        parsed.operands.iter().skip(usize::from(!pattern_given)).copied().cloned().collect();
    let globs =
        parsed.values("include").filter_map(Field::as_known).map(std::borrow::Cow::into_owned).collect();
    if !roots.is_empty() || parsed.has("r") || call.name != "grep" {
        print_names(machine, roots, globs, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::{Recorder, show};

    fn printed(program: Program, line: &str) -> Vec<String> {
        let recorder = Recorder::default().call(program, line);
        assert!(recorder.is_harmless(), "{line}");
        match recorder.printed {
            Some(Input::Names(names)) => names
                .iter()
                .map(|name| format!("{} ({})", show(&name.root.text), name.selection.filter))
                .collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn names_are_a_selection_below_the_operands() {
        assert_eq!(printed(ripgrep, "rg --files /"), ["/ ()"]);
        assert_eq!(printed(ripgrep, "rg --files -g '*.o'"), [". (*.o)"]);
        assert_eq!(printed(ripgrep, "rg -l TODO src"), ["src (content)"]);
        assert_eq!(printed(grep, "grep -rl TODO src"), ["src (content)"]);
        assert!(printed(ripgrep, "rg 'rm -rf' src").is_empty());
        assert!(printed(grep, "grep -r 'rm -rf' src").is_empty());
    }
}
