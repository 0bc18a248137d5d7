//! Subcommands that drop refs, reflogs or objects: what holds the past.

use blastradius_common::{RuleId, Verdict};

use crate::policy::effect::Discard;
use crate::programs::git::Git;
use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::verbs::{Words, word};
use crate::programs::{Dialect, Input, Machine, acts};
use crate::shell::value::{Abstract, Field};
use crate::shell::world::Look;

static BRANCH: Grammar = Grammar::new(&[
    flag("h", ""),
    flag("v", "verbose"),
    flag("q", "quiet"),
    flag("r", "remotes"),
    flag("a", "all"),
    flag("d", "delete"),
    flag("D", ""),
    flag("m", "move"),
    flag("M", ""),
    flag("c", "copy"),
    flag("C", ""),
    flag("l", "list"),
    flag("f", "force"),
    flag("i", "ignore-case"),
    flag("", "show-current"),
    flag("", "create-reflog"),
    flag("", "edit-description"),
    flag("", "unset-upstream"),
    flag("", "no-track"),
    flag("", "no-color"),
    flag("", "no-column"),
    flag("", "no-abbrev"),
    flag("", "omit-empty"),
    optional("t", "track"),
    optional("", "color"),
    optional("", "column"),
    optional("", "abbrev"),
    optional("", "recurse-submodules"),
    value("u", "set-upstream-to"),
    // These four take the next word where there is one (PARSE_OPT_LASTARG_DEFAULT).
    value("", "contains"),
    value("", "no-contains"),
    value("", "merged"),
    value("", "no-merged"),
    value("", "sort"),
    value("", "points-at"),
    value("", "format"),
]);

/// git-branch(1): `-d` refuses to lose commits, `-D` does not and takes the branch's reflog along; `-M` and `-C`
/// take over a name. `-f` moves a branch, which its reflog remembers.
pub(crate) fn branch(call: &Git<'_>, machine: &mut dyn Machine) {
    let args = call.plain_args();
    let parsed = BRANCH.read(&args);
    if parsed.has("h") {
        return;
    }
    if parsed.has("show-current") {
        return print_branch(call, machine);
    }
    let forced = parsed.has("force");
    // A remote-tracking branch comes back with the next fetch.
    if (parsed.has("D") || parsed.has("d") && forced) && !parsed.has("r") {
        call.discards(machine, "git branch -D", Discard::History);
    } else if (parsed.has_any(&["M", "C"]) || forced && parsed.has_any(&["m", "c"]))
        && takes_over(call, machine, &parsed)
    {
        call.discards(machine, "git branch -M over an existing branch", Discard::History);
    }
}

/// Whether the name that a branch gets by `-M` or `-C` is already another branch's.
fn takes_over(call: &Git<'_>, machine: &dyn Machine, parsed: &Parsed<'_>) -> bool {
    let Some(name) = parsed.operands.last().and_then(|operand| operand.as_known()) else { return false };
    current(call, machine).as_deref() != Some(&*name) && has_ref(call, machine, &format!("refs/heads/{name}"))
}

/// The name of the branch that is checked out, where `.git/HEAD` can be read.
fn current(call: &Git<'_>, machine: &dyn Machine) -> Option<String> {
    let head = call.toplevel(machine.world())?.join(".git/HEAD");
    let text = machine.world().read_file(&head, 4096)?;
    let text = String::from_utf8(text).ok()?;
    text.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

fn print_branch(call: &Git<'_>, machine: &mut dyn Machine) {
    if let Some(name) = current(call, machine) {
        acts::print_line(machine, Abstract::known(&name));
    }
}

/// Whether `name` is a branch, a tag or a remote-tracking branch.
pub(super) fn names_a_ref(call: &Git<'_>, machine: &dyn Machine, name: &str) -> bool {
    ["refs/heads", "refs/tags", "refs/remotes"]
        .iter()
        .any(|kind| has_ref(call, machine, &format!("{kind}/{name}")))
}

/// Whether the repository has this ref, loose or packed.
fn has_ref(call: &Git<'_>, machine: &dyn Machine, name: &str) -> bool {
    let world = machine.world();
    let Some(top) = call.toplevel(world) else { return false };
    let git = top.join(".git");
    if matches!(world.look(&git.join(name)), Look::Found(_)) {
        return true;
    }
    let packed = world.read_file(&git.join("packed-refs"), PACKED_REFS_LIMIT).unwrap_or_default();
    String::from_utf8_lossy(&packed).lines().any(|line| line.split(' ').nth(1) == Some(name))
}

/// A larger `packed-refs` is taken as not naming the ref: git then decides at run time.
const PACKED_REFS_LIMIT: usize = 1 << 20;

/// git-tag(1): a deleted tag is named by its hash in the output, and what it names is mostly held by a branch too.
pub(crate) fn tag(call: &Git<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("h", ""),
        flag("d", "delete"),
        flag("f", "force"),
        flag("l", "list"),
        flag("a", "annotate"),
        flag("s", "sign"),
        flag("v", "verify"),
        optional("n", ""),
        value("m", "message"),
        value("F", "file"),
        value("u", "local-user"),
        value("", "cleanup"),
        value("", "contains"),
        value("", "no-contains"),
        value("", "merged"),
        value("", "no-merged"),
        value("", "sort"),
        value("", "points-at"),
        value("", "format"),
    ]);
    let args = call.plain_args();
    let parsed = GRAMMAR.read(&args);
    if parsed.has("delete") && !parsed.has("h") {
        let object =
            parsed.operands.iter().map(|field| field.source.to_string()).collect::<Vec<_>>().join(" ");
        acts::judged_thing(
            machine,
            RuleId::GitDiscard,
            Verdict::Warn,
            "deletes tags of this repository",
            object,
        );
    }
}

/// git-reflog(1): `expire` with a time in the past or none, `delete` and `drop` take the way back away.
pub(crate) fn reflog(call: &Git<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &[]);
    let Some(verb) = words.operands.first().map(word) else { return };
    if words.has(&["--dry-run", "-n", "-h"]) {
        return;
    }
    match &*verb {
        "expire" if times(call.args, &["--expire", "--expire-unreachable"]).any(is_recent) => {
            call.discards(machine, "git reflog expire", Discard::History);
        }
        "delete" | "drop" => call.discards(machine, "git reflog delete", Discard::History),
        _ => {}
    }
}

/// The times that these options are given, glued.
fn times<'a>(args: &'a [Field], names: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    args.iter().enumerate().filter_map(move |(place, arg)| {
        let known = word(arg);
        let (name, value) =
            known.split_once('=').map_or((&*known, None), |(name, value)| (name, Some(value)));
        if !names.contains(&name) {
            return None;
        }
        let next = || args.get(place + 1).map(|next| word(next).into_owned());
        value.map(str::to_owned).or_else(next)
    })
}

/// Whether an expiry spares nothing that matters: not `never`, and not weeks, months or years ago (the defaults are
/// two weeks, 30 and 90 days; git-gc(1)).
fn is_recent(time: impl AsRef<str>) -> bool {
    let time = time.as_ref().to_lowercase();
    let long_ago = ["week", "month", "year", "never", "false"].iter().any(|word| time.contains(word));
    let many_days = time.contains("day")
        && time
            .split(|letter: char| !letter.is_ascii_digit())
            .any(|digits| digits.parse().is_ok_and(|days: u32| days >= 14));
    !long_ago && !many_days
}

/// git-gc(1): keeps two weeks of unreachable objects unless it is told not to.
pub(crate) fn gc(call: &Git<'_>, machine: &mut dyn Machine) {
    if word_is_help(call) {
        return;
    }
    let settings = ["gc.pruneexpire", "gc.reflogexpire", "gc.reflogexpireunreachable"];
    let set =
        settings.iter().filter_map(|name| call.setting(name)?.as_known().map(|value| value.into_owned()));
    let given = call.args.iter().filter_map(|arg| word(arg).strip_prefix("--prune=").map(str::to_owned));
    if set.chain(given).any(is_recent) {
        call.discards(machine, "git gc --prune=now", Discard::History);
    }
}

/// git-prune(1): without `--expire` every unreachable object goes at once.
pub(crate) fn prune(call: &Git<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["--expire"]);
    let given: Vec<String> = times(call.args, &["--expire"]).collect();
    let spares = !given.is_empty() && !given.iter().any(is_recent);
    if !spares && !words.has(&["-n", "--dry-run", "-h"]) {
        call.discards(machine, "git prune", Discard::History);
    }
}

/// git-update-ref(1): `-d` deletes a ref with its reflog; `--stdin` reads instructions.
pub(crate) fn update_ref(call: &Git<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-m"]);
    let instructed = words.has(&["--stdin"]) && stdin_deletes(machine);
    if (words.has(&["-d"]) || instructed) && !words.has(&["-h"]) {
        call.discards(machine, "git update-ref -d", Discard::History);
    }
}

/// Whether the instructions for `update-ref --stdin` delete a ref, or may.
fn stdin_deletes(machine: &dyn Machine) -> bool {
    match machine.stdin() {
        Input::Text(text) => match text.as_known() {
            Some(known) => known.lines().any(|line| line.starts_with("delete ")),
            None => true,
        },
        Input::Inherited => false,
        Input::Names(_) | Input::Unknown { .. } => true,
    }
}

/// git-filter-branch(1), git-filter-repo(1): every commit is made anew, and the latter drops the old ones.
pub(crate) fn filter(call: &Git<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &[]);
    if call.args.is_empty() || words.has(&["-h", "--dry-run", "--analyze", "--version"]) {
        return;
    }
    for option in call.args.windows(2) {
        let name = word(&option[0]);
        if name.starts_with("--") && (name.ends_with("-filter") || name == "--setup") {
            machine.run_text(&option[1].text, Dialect::Posix, Vec::new(), call.surroundings());
        }
    }
    call.discards(machine, format!("git {}", call.verb), Discard::History);
}

fn word_is_help(call: &Git<'_>) -> bool {
    call.args.iter().any(|arg| word(arg) == "-h")
}
