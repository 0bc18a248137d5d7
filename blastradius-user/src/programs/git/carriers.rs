//! Subcommands, settings and variables with which git runs text for its caller.

use std::rc::Rc;

use crate::policy::effect::Base;
use crate::programs::git::Git;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::verbs::word;
use crate::programs::{Dialect, Machine, Surroundings};
use crate::shell::value::{Abstract, Field};

/// Text that git runs by itself: the setting, the variable that overrides it, and the subcommands that use it. Empty:
/// every subcommand that looks at the work tree or at a remote may.
const RUN_BY_GIT: &[(&str, &str, &[&str])] = &[
    (
        "core.fsmonitor",
        "",
        &["status", "diff", "add", "commit", "checkout", "switch", "reset", "restore", "stash"],
    ),
    ("diff.external", "GIT_EXTERNAL_DIFF", &["diff"]),
    ("core.sshcommand", "GIT_SSH_COMMAND", &["fetch", "pull", "push", "clone", "ls-remote"]),
    ("core.pager", "GIT_PAGER", &["log", "diff", "show", "blame", "grep", "branch", "tag"]),
    ("core.editor", "GIT_EDITOR", &["commit", "merge", "rebase", "tag", "revert"]),
    ("sequence.editor", "GIT_SEQUENCE_EDITOR", &["rebase"]),
    ("credential.helper", "", &["fetch", "pull", "push", "clone", "ls-remote", "credential"]),
    ("core.askpass", "GIT_ASKPASS", &["fetch", "pull", "push", "clone", "ls-remote", "credential"]),
];

/// Reports the text that settings of this call and git's own variables run.
pub(crate) fn environment(call: &Git<'_>, machine: &mut dyn Machine) {
    for (setting, variable, verbs) in RUN_BY_GIT {
        if !verbs.contains(&call.verb) {
            continue;
        }
        let exported = if variable.is_empty() { None } else { machine.variable(variable) };
        // git-var(1): what edits and what shows pages falls back to what every program's does.
        let general: &[&str] = match *setting {
            "core.editor" | "sequence.editor" => &["VISUAL", "EDITOR"],
            "core.pager" => &["PAGER"],
            _ => &[],
        };
        let fallback =
            || general.iter().find_map(|name| machine.variable(name)).filter(|text| !text.has_hole());
        let Some(text) = exported.or_else(|| call.setting(setting).cloned()).or_else(fallback) else {
            continue;
        };
        let known = text.as_known();
        // A helper's name (`store`) and a switch (`true`) are no text; `!TEXT` is what git-credential runs as it is.
        let code = match (known.as_deref(), *setting) {
            (Some("" | "true" | "false"), _) => continue,
            (Some(helper), "credential.helper") => match helper.strip_prefix('!') {
                Some(code) => Abstract::known(code),
                None => continue,
            },
            (None, _) | (Some(_), _) => text.clone(),
        };
        machine.run_text(&code, Dialect::Posix, Vec::new(), call.surroundings());
    }
}

/// git-bisect(1): `run CMD ARGS` runs an argv at each step.
pub(crate) fn bisect(call: &Git<'_>, machine: &mut dyn Machine) {
    if let Some((verb, rest)) = call.args.split_first()
        && word(verb) == "run"
        && !rest.is_empty()
    {
        machine.run_argv(rest.to_vec(), call.surroundings());
    }
}

/// git-rebase(1): `-x CMD` runs text after each commit.
pub(crate) fn rebase(call: &Git<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("x", "exec"),
        value("", "onto"),
        value("s", "strategy"),
        value("X", "strategy-option"),
        value("C", ""),
        value("", "whitespace"),
        value("", "empty"),
        flag("i", "interactive"),
        flag("q", "quiet"),
        flag("v", "verbose"),
        flag("n", "no-stat"),
        flag("m", "merge"),
        flag("f", "force-rebase"),
        flag("r", ""),
        optional("S", "gpg-sign"),
        optional("", "rebase-merges"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    for text in parsed.values("exec") {
        machine.run_text(&text.text, Dialect::Posix, Vec::new(), call.surroundings());
    }
}

/// git-difftool(1): `-x CMD` runs text for each pair.
pub(crate) fn difftool(call: &Git<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("x", "extcmd"),
        value("t", "tool"),
        flag("y", "no-prompt"),
        flag("d", "dir-diff"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    for text in parsed.values("extcmd") {
        machine.run_text(&text.text, Dialect::Posix, Vec::new(), call.surroundings());
    }
}

/// git-submodule(1): `foreach` has a shell run one argument, or runs several as they are, in every submodule.
pub(crate) fn foreach(call: &Git<'_>, machine: &mut dyn Machine, rest: &[Field]) {
    let options = rest.iter().take_while(|arg| word(arg).starts_with('-')).count();
    let command = rest.get(options..).unwrap_or_default();
    let cwd = Some(Base::Unknown(Rc::from("each submodule")));
    let surroundings = Surroundings { cwd, ..call.surroundings() };
    match command {
        [] => {}
        [text] => machine.run_text(&text.text, Dialect::Posix, Vec::new(), surroundings),
        argv => machine.run_argv(argv.to_vec(), surroundings),
    }
}
