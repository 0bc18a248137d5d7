//! fd(1): a pattern, paths, and what is run for each match.

use crate::policy::effect::Selection;
use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::{Call, Each, Input, Machine, Program, Selected, Surroundings};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[("fd", fd), ("fdfind", fd)];

/// fd(1). `-x` and `-X` take everything behind them up to `;`.
static FD: Grammar = Grammar::new(&[
    value("e", "extension"),
    value("t", "type"),
    value("S", "size"),
    value("o", "owner"),
    value("", "changed-within|change-newer-than|newer|changed-after|changed-before|change-older-than|older"),
    value("d", "max-depth|maxdepth"),
    value("", "min-depth"),
    value("", "exact-depth"),
    value("E", "exclude"),
    value("", "search-path"),
    value("C", "base-directory"),
    value("", "max-results|batch-size|ignore-file|path-separator|max-buffer-time|format|and|threads|color"),
    value("jc", ""),
    optional("", "hyperlink|gen-completions|strip-cwd-prefix"),
    flag("g", "glob"),
    flag("F", "fixed-strings"),
    flag("p", "full-path"),
    flag(
        "HIuUsiaLl01q",
        "hidden|no-ignore|unrestricted|case-sensitive|ignore-case|absolute-path|follow|list-details|print0",
    ),
    flag("h", "help"),
    flag("V", "version"),
])
.exact();

/// What stands for a match in the command of `-x`.
const PLACEHOLDERS: [&str; 5] = ["{}", "{/}", "{//}", "{.}", "{/.}"];

fn fd(call: &Call<'_>, machine: &mut dyn Machine) {
    let exec =
        |word: &Field| matches!(word.as_known().as_deref(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
    let place = call.args.iter().position(exec);
    let (own, command) = match place {
        Some(place) => (&call.args[..place], &call.args[place + 1..]),
        None => (call.args, &[][..]),
    };
    let ends = |word: &Field| matches!(word.as_known().as_deref(), Some(";"));
    let end = command.iter().position(ends).unwrap_or(command.len());
    let (command, behind) = command.split_at(end);
    let rest: Vec<Field> = own.iter().chain(behind.iter().skip(1)).cloned().collect();
    let parsed = FD.read(&rest);
    if parsed.informs() {
        return;
    }
    let names = Input::Names(selected(&parsed));
    if command.is_empty() {
        machine.print(names);
        return;
    }
    let has_placeholder = command.iter().any(|word| {
        word.text
            .as_known()
            .is_some_and(|word| PLACEHOLDERS.iter().any(|placeholder| word.contains(placeholder)))
    });
    let each = Each { placeholder: has_placeholder.then(|| "{}".to_owned()), names };
    machine.run_argv(command.to_vec(), Surroundings { each: Some(each), ..Surroundings::default() });
}

fn selected(parsed: &Parsed<'_>) -> Vec<Selected> {
    let (pattern, paths) = match parsed.operands.split_first() {
        Some((pattern, paths)) => (Some(*pattern), paths),
        None => (None, &[][..]),
    };
    let mut roots: Vec<Field> = paths.iter().copied().cloned().collect();
    roots.extend(parsed.values("search-path").cloned());
    if roots.is_empty() {
        roots.push(parsed.value("base-directory").cloned().unwrap_or_else(|| Field::literal(".")));
    }
    let known = pattern.and_then(Field::as_known);
    let by_pattern = known.as_deref().is_some_and(|pattern| pattern.chars().any(char::is_alphanumeric));
    let extensions: Vec<String> = parsed
        .values("extension")
        .filter_map(Field::as_known)
        .map(|extension| format!("*.{extension}"))
        .collect();
    let by_other = parsed.has_any(&["type", "size", "owner", "changed-within"]);
    let mut filter: Vec<String> = pattern.map(|pattern| pattern.source.to_string()).into_iter().collect();
    filter.extend(extensions.iter().cloned());
    let selection = Selection {
        filter: filter.join(" "),
        narrow_by_name: by_pattern || !extensions.is_empty(),
        narrow_by_other: by_other,
        names: extensions,
        contents_only: true,
    };
    roots.into_iter().map(|root| Selected { root, selection: selection.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::{Recorder, show};

    fn handed(line: &str) -> (String, Option<String>, Selection) {
        let recorder = Recorder::default().call(fd, line);
        let each = recorder.argvs[0].surroundings.each.clone().expect("fd hands names over");
        let Input::Names(names) = each.names else { panic!("fd hands names over") };
        (
            format!("{} < {}", recorder.argvs[0].what, show(&names[0].root.text)),
            each.placeholder,
            names[0].selection.clone(),
        )
    }

    #[test]
    fn matches_are_handed_to_the_command() {
        let (ran, placeholder, selection) = handed("fd -e pyc . src -x rm -f {}");
        assert_eq!(ran, "rm -f {} < src");
        assert_eq!(placeholder.as_deref(), Some("{}"));
        assert_eq!(selection.names, ["*.pyc"]);
        let (ran, placeholder, selection) = handed("fd -HI -X rm -rf");
        assert_eq!((ran.as_str(), placeholder), ("rm -rf < .", None));
        assert!(!selection.narrow_by_name);
    }

    #[test]
    fn a_listing_is_harmless() {
        let recorder = Recorder::default().call(fd, "fd rm");
        assert!(recorder.is_harmless());
        assert!(matches!(recorder.printed, Some(Input::Names(_))));
    }
}
