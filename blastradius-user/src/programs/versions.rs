//! Version control besides git: what throws local work away. None of these can be asked what it would lose, so all of them
//! are asked about. Where the tool itself can take the step back (`jj undo`, `fossil undo`), nothing is said.

use blastradius_common::RuleId;

use crate::programs::verbs::{self, Row, Tool, harmless, row};
use crate::programs::{Call, Machine, Program, Surroundings, words};
use crate::programs::{Dialect, git};

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("hg", verb),
    ("sl", verb),
    ("svn", verb),
    ("bzr", verb),
    ("brz", verb),
    ("p4", verb),
    ("jj", verb),
    ("yadm", yadm),
    ("repo", repo),
];

const fn lost(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::GitDiscard, what)
}

const CHANGES: &str = "throws local changes away";
const UNTRACKED: &str = "removes files that version control does not know";
const COMMITS: &str = "removes commits";

const fn tool(names: &'static [&'static str], valued: &'static [&'static str], rows: &'static [Row]) -> Tool {
    Tool { names, valued, dry: &["-n", "-h"], rows }
}

static TOOLS: &[Tool] = &[
    tool(
        &["hg", "sl"],
        &["-R", "--repository", "--cwd", "--config", "-r", "--rev", "-m"],
        &[
            lost("update|up|checkout|co|goto|merge|rebase", CHANGES).with(&["-C", "--clean"]),
            // It leaves `.orig` behind, unless it is told not to.
            lost("revert", CHANGES).with(&["--no-backup"]),
            lost("purge|clean", UNTRACKED),
            lost("strip|rollback|debugstrip", COMMITS),
            lost("shelve", "drops put-aside work").with(&["-d", "--delete", "--cleanup"]),
        ],
    ),
    tool(
        &["svn"],
        &["--changelist", "--depth", "--username", "--password", "-r"],
        &[
            lost("revert", CHANGES),
            lost("cleanup", UNTRACKED).with(&["--remove-unversioned", "--remove-ignored"]),
            row("delete|del|remove|rm", RuleId::GitDiscard, CHANGES).with(&["--force"]),
        ],
    ),
    tool(
        &["bzr", "brz"],
        &["-r", "-d"],
        &[
            lost("revert", CHANGES).with(&["--no-backup"]),
            lost("clean-tree", UNTRACKED),
            lost("uncommit", COMMITS).with(&["--force"]),
        ],
    ),
    tool(
        &["p4"],
        &["-c", "-u", "-p", "-P", "-C", "-d"],
        &[
            // What is open and not changed; what is no longer open and stays as it is.
            harmless("revert").with(&["-a", "-k"]),
            lost("revert|clean", CHANGES),
            lost("sync", CHANGES).with(&["-f"]),
            lost("obliterate", COMMITS),
            lost("shelve", "drops put-aside work").with(&["-d"]),
        ],
    ),
    tool(
        &["jj"],
        &["-R", "--repository"],
        &[lost("op|operation abandon", "removes the means to take steps back")],
    ),
];

fn verb(call: &Call<'_>, machine: &mut dyn Machine) {
    let _spoke = verbs::read(TOOLS, call, machine);
}

/// yadm(1) is git over the home directory.
fn yadm(call: &Call<'_>, machine: &mut dyn Machine) {
    let Some(home) = machine.world().home_of(None) else { return };
    let cwd = Some(git::enter(&machine.cwd(), &crate::shell::value::Field::literal(&home.to_string_lossy())));
    let git = crate::shell::value::Field::literal("git");
    let argv = [std::slice::from_ref(&git), call.args].concat();
    machine.run_argv(argv, Surroundings { cwd, ..Surroundings::default() });
}

/// `repo forall -c TEXT` runs text in every project of a manifest.
fn repo(call: &Call<'_>, machine: &mut dyn Machine) {
    let at = |name: &str| call.args.iter().position(|arg| verbs::word(arg) == name);
    if let (Some(0), Some(option)) = (at("forall"), at("-c")) {
        let text = words::joined(&call.args[option + 1..]);
        machine.run_text(&text, Dialect::Bash, Vec::new(), Surroundings::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn call(line: &str) -> Recorder {
        Recorder::default().call_in(PROGRAMS, line)
    }

    #[test]
    fn what_throws_work_away_is_asked_about() {
        for line in [
            "hg update -C default",
            "hg --cwd /x purge --all",
            "hg strip tip",
            "hg revert --all --no-backup",
            "sl goto --clean main",
            "svn revert -R .",
            "svn cleanup --remove-unversioned",
            "brz clean-tree --force",
            "p4 revert //...",
            "p4 clean",
            "jj op abandon ..@-",
        ] {
            assert_eq!(call(line).told().len(), 1, "{line}");
        }
    }

    #[test]
    fn everyday_work_is_not() {
        for line in [
            "hg update default",
            "hg revert --all",
            "hg purge -n",
            "hg commit -m purge",
            "svn update",
            "svn cleanup",
            "p4 sync",
            "p4 clean -n",
            "p4 revert -a",
            "jj abandon @",
            "jj undo",
            "repo sync",
        ] {
            assert!(call(line).told().is_empty(), "{line}");
        }
    }

    #[test]
    fn what_runs_in_every_project_is_read() {
        assert_eq!(call("repo forall -c 'git clean -fdx'").sourced(), ["git clean -fdx"]);
    }
}
