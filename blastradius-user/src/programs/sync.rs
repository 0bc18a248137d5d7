//! Programs that make one tree like another, and delete what is too much: rsync(1), rclone(1), robocopy, unison(1).

use blastradius_common::RuleId;

use crate::policy::effect::{Act, Follow, Selection};
use crate::programs::landing::{self, overlays};
use crate::programs::options::{Grammar, Parsed, flag, value};
use crate::programs::rm::is_narrow_pattern;
use crate::programs::{Call, Dialect, Machine, Program, Surroundings, acts, words};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("rsync", rsync),
    ("rclone", rclone),
    ("robocopy", robocopy),
    ("unison", unison),
    ("lftp", lftp),
    ("lsyncd", lsyncd),
];

/// rsync(1). Every option with an argument is listed: what follows one is no operand.
static RSYNC: Grammar = Grammar::new(&[
    flag("n", "dry-run"),
    flag("", "list-only"),
    flag("", "delete|del"),
    flag("", "delete-before|delete-during|delete-delay|delete-after|delete-excluded|delete-missing-args"),
    flag("", "remove-source-files|remove-sent-files"),
    flag("", "existing|ignore-non-existing"),
    flag("", "ignore-existing"),
    value("e", "rsh"),
    value("f", "filter"),
    value("", "include"),
    value("", "exclude|exclude-from|include-from"),
    value("", "files-from"),
    value("TBM@", "temp-dir|block-size|remote-option"),
    value(
        "",
        "rsync-path|max-delete|max-size|min-size|max-alloc|partial-dir|timeout|contimeout|modify-window",
    ),
    value(
        "",
        "compare-dest|copy-dest|link-dest|backup-dir|suffix|chmod|chown|usermap|groupmap|checksum-choice|cc",
    ),
    value(
        "",
        "compress-choice|zc|compress-level|zl|skip-compress|info|debug|stderr|out-format|log-file|log-file-format",
    ),
    value(
        "",
        "password-file|early-input|bwlimit|stop-after|time-limit|stop-at|write-batch|only-write-batch|read-batch",
    ),
    value("", "protocol|iconv|checksum-seed|sockopts|address|port|outbuf|copy-as|config|dparam"),
    flag(
        "vqcarRubdlLkKHpEAXogDtOJUSxWiyCzPm8h460IsNF",
        "verbose|quiet|checksum|archive|recursive|relative|update|backup|inplace|append|append-verify|dirs|links|compress",
    ),
]);

fn rsync(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = RSYNC.read(call.args);
    if let Some(shell) = parsed.value("rsh") {
        machine.run_text(&shell.text, Dialect::Posix, Vec::new(), Surroundings::default());
    }
    if parsed.informs() || parsed.has_any(&["dry-run", "list-only"]) {
        return;
    }
    // With one operand rsync only lists.
    let Some((target, sources)) = parsed.operands.split_last().filter(|(_, sources)| !sources.is_empty())
    else {
        return;
    };
    if parsed.has("remove-source-files") {
        for source in sources {
            remove_below(machine, source, "files that were copied");
        }
    }
    let deletes = parsed.has_any(&["delete", "delete-before"]);
    for source in sources {
        let place = if names_contents(source) { (*target).clone() } else { words::below(target, source) };
        if deletes {
            remove_below(machine, &place, &format!("what {} does not hold", source.source));
        } else if !parsed.has("ignore-existing") && !is_remote(target) {
            overwrite(machine, source, target, &place);
        }
    }
}

/// `src/` and `src/.` stand for what is in src; `src` for src itself.
fn names_contents(source: &Field) -> bool {
    match source.as_known() {
        Some(name) => name.ends_with('/') || name.ends_with("/.") || &*name == "." || &*name == "..",
        // A glob, or a name that is not known: the worse of the two.
        None => true,
    }
}

/// Without `--delete` only files of the same name are overwritten. Which they are is known for a single file, and
/// matters for a system's root.
fn overwrite(machine: &mut dyn Machine, source: &Field, target: &Field, place: &Field) {
    let base = machine.cwd();
    let is_tree = acts::is_directory(machine, source, &base) || source.as_known().is_none();
    if is_tree || acts::is_directory(machine, target, &base) {
        overlays(machine, target);
    } else {
        let landed = landing::Landed { source: source.clone(), name: place_of_file(target, place) };
        landing::take_over(machine, &landed, Act::Replace, Follow::Never, false);
    }
}

/// A file that is copied to a name that is no directory takes over that name.
fn place_of_file(target: &Field, place: &Field) -> Field {
    if words::ends_with_slash(&target.text) { place.clone() } else { target.clone() }
}

/// `host:path`, `host::module`, `rsync://…` (rsync(1), "GENERAL"); a path with a slash in front of the colon is local.
fn is_remote(operand: &Field) -> bool {
    let lead = words::lead(&operand.text);
    lead.contains("://") || lead.find(':').is_some_and(|colon| colon > 0 && !lead[..colon].contains('/'))
}

/// What lies below a local directory, or on another machine, is deleted by the program's own choice.
fn remove_below(machine: &mut dyn Machine, directory: &Field, what: &str) {
    if is_remote(directory) {
        remote(machine, directory, what);
        return;
    }
    let selection = Selection { contents_only: true, ..Selection::default() };
    acts::selected(machine, Act::Remove { recursive: true }, directory, Follow::Last, selection);
}

fn remote(machine: &mut dyn Machine, place: &Field, what: &str) {
    acts::thing(
        machine,
        RuleId::RemoteResource,
        format!("deletes {what} elsewhere"),
        place.source.to_string(),
    );
}

/// rclone(1): pflag, options anywhere.
static RCLONE: Grammar = Grammar::new(&[
    flag("n", "dry-run"),
    flag("i", "interactive"),
    value("", "include|filter|files-from|include-from|filter-from"),
    value("", "exclude|exclude-from|exclude-if-present"),
    value("", "config|transfers|checkers|bwlimit|log-file|log-level|stats|retries|low-level-retries|max-age|min-age"),
    value("", "max-size|min-size|max-delete|max-depth|backup-dir|suffix|compare-dest|copy-dest|buffer-size|timeout|user-agent"),
    flag("vPqLcu", "verbose|progress|quiet|copy-links|checksum|update|rmdirs|delete-excluded|delete-after|delete-before"),
])
.exact();

fn rclone(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = RCLONE.read(call.args);
    if parsed.informs() || parsed.has("dry-run") {
        return;
    }
    let Some((verb, operands)) = parsed.operands.split_first() else { return };
    let Some(verb) = verb.as_known() else { return };
    match (&*verb, operands) {
        ("sync", [source, target]) => {
            remove_filtered(machine, target, &parsed, &format!("what {} does not hold", source.source));
        }
        ("bisync", [one, other]) => {
            for place in [one, other] {
                remove_filtered(machine, place, &parsed, "what the other side does not hold");
            }
        }
        ("move", [source, _]) => remove_filtered(machine, source, &parsed, "what was copied"),
        ("delete", [place]) => remove_filtered(machine, place, &parsed, "all files"),
        ("purge" | "moveto" | "rmdirs", [place, ..]) => whole(machine, place, true),
        ("deletefile" | "rmdir", [place]) => whole(machine, place, false),
        ("cleanup" | "dedupe", [place, ..]) if is_remote(place) => remote(machine, place, "old versions"),
        _ => {}
    }
}

fn whole(machine: &mut dyn Machine, place: &Field, recursive: bool) {
    if is_remote(place) {
        remote(machine, place, "all of it");
    } else {
        acts::remove(machine, place, recursive);
    }
}

fn remove_filtered(machine: &mut dyn Machine, place: &Field, parsed: &Parsed<'_>, what: &str) {
    if is_remote(place) {
        remote(machine, place, what);
        return;
    }
    let includes: Vec<String> =
        parsed.values("include").filter_map(Field::as_known).map(std::borrow::Cow::into_owned).collect();
    let narrow = !includes.is_empty() && includes.iter().all(|pattern| is_narrow_pattern(pattern));
    let selection = Selection {
        filter: includes.join(" "),
        narrow_by_name: narrow,
        names: if narrow { includes } else { Vec::new() },
        contents_only: true,
        ..Selection::default()
    };
    acts::selected(machine, Act::Remove { recursive: true }, place, Follow::Last, selection);
}

/// robocopy of Windows, from WSL: options begin with a slash. `/MIR` and `/PURGE` delete in the destination, `/MOV` and
/// `/MOVE` in the source, `/L` only lists.
fn robocopy(call: &Call<'_>, machine: &mut dyn Machine) {
    const FLAGS: [&str; 5] = ["/mir", "/purge", "/mov", "/move", "/l"];
    let words_given: Vec<String> =
        call.args.iter().filter_map(Field::as_known).map(|word| word.to_ascii_lowercase()).collect();
    let has = |flag: &str| words_given.iter().any(|word| word == flag);
    let operands: Vec<&Field> = call
        .args
        .iter()
        .filter(|word| !word.as_known().is_some_and(|word| FLAGS.contains(&&*word.to_ascii_lowercase())))
        .collect();
    let [source, target, ..] = operands.as_slice() else { return };
    if has("/l") {
        return;
    }
    if has("/mir") || has("/purge") {
        remove_below(machine, target, "what the source does not hold");
    }
    if has("/mov") || has("/move") {
        remove_below(machine, source, "what was copied");
    }
}

static UNISON: Grammar = Grammar::new(&[
    flag("", "batch|auto"),
    value("", "force"),
    value(
        "",
        "prefer|path|ignore|ignorenot|rootalias|sshargs|servercmd|log|logfile|label|perms|ui|backup|root",
    ),
])
.single_dash();

/// unison(1) with `-force ROOT` makes the other root the same.
fn unison(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = UNISON.read(call.args);
    let Some(forced) = parsed.value("force") else { return };
    let [_, _] = parsed.operands.as_slice() else { return };
    let others = parsed.operands.iter().filter(|root| root.as_known() != forced.as_known());
    for root in others {
        remove_below(machine, root, "what the other root does not hold");
    }
}

/// `lsyncd -rsync SOURCE TARGET` keeps the target the same, deletions included (lsyncd(1)).
fn lsyncd(call: &Call<'_>, machine: &mut dyn Machine) {
    let is_mode =
        |word: &Field| matches!(word.as_known().as_deref(), Some("-rsync" | "-rsyncssh" | "-direct"));
    let behind = call.args.iter().position(is_mode).and_then(|place| call.args.get(place + 1..));
    if let Some([_, target, ..]) = behind {
        remove_below(machine, target, "what the source does not hold");
    }
}

static LFTP: Grammar = Grammar::new(&[value("e", ""), value("c", ""), value("fupR", "norc"), flag("d", "")]);

/// `lftp -e 'mirror --delete REMOTE LOCAL'`: the last path of a mirror is what loses, unless `-R` turns it round.
fn lftp(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = LFTP.read(call.args);
    let scripts: Vec<String> = ["e", "c"]
        .iter()
        .flat_map(|option| parsed.values(option))
        .filter_map(Field::as_known)
        .map(std::borrow::Cow::into_owned)
        .collect();
    for command in scripts.iter().flat_map(|script| script.split(';')) {
        let words_given: Vec<&str> = command.split_whitespace().collect();
        let deletes = words_given.iter().any(|word| matches!(*word, "--delete" | "-e" | "--delete-first"));
        let dry = words_given.contains(&"--dry-run");
        match words_given.split_first() {
            Some((&"mirror", rest)) if deletes && !dry => {
                let reversed = rest.iter().any(|word| matches!(*word, "-R" | "--reverse"));
                let target = rest.iter().rfind(|word| !word.starts_with('-')).copied().unwrap_or(".");
                let target = Field::literal(target);
                if reversed {
                    remote(machine, &target, "what the source does not hold");
                } else {
                    remove_below(machine, &target, "what the source does not hold");
                }
            }
            Some((&("rm" | "mrm" | "rmdir" | "glob"), rest)) if !rest.is_empty() => {
                remote(machine, &Field::literal(&rest.join(" ")), "files");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(program: Program, line: &str) -> Vec<String> {
        Recorder::default().directory("src").file("f", "").call(program, line).told()
    }

    #[test]
    fn delete_removes_in_the_destination() {
        for line in [
            "rsync -a --delete src/ dst/",
            "rsync --delete-before h:src/ dst/",
            "rsync -a --del src/. dst/",
            "rsync -e ssh --exclude .git -a --delete-excluded src/ dst/",
        ] {
            assert_eq!(told(rsync, line), ["remove-tree dst/ contents"], "{line}");
        }
        assert_eq!(told(rsync, "rsync -a --delete src dst"), ["remove-tree dst/src contents"]);
    }

    #[test]
    fn looking_and_copying_remove_nothing() {
        for line in [
            "rsync -an --delete src/ dst/",
            "rsync --dry-run --delete src/ /",
            "rsync -a --list-only --delete src/ dst/",
            "rsync -av src/ dst/",
            "rsync -a src/ host:dst/",
            "rsync --help",
        ] {
            assert!(told(rsync, line).is_empty(), "{line}");
        }
    }

    #[test]
    fn copying_over_a_system_root_is_told() {
        assert_eq!(told(rsync, "rsync -a src/ /"), ["replace / (what the source holds) contents"]);
        assert_eq!(told(rsync, "rsync f /etc/passwd"), ["replace /etc/passwd"]);
    }

    #[test]
    fn sources_may_be_removed_and_places_may_be_remote() {
        assert_eq!(told(rsync, "rsync -a --remove-source-files src/ h:dst/"), ["remove-tree src/ contents"]);
        assert_eq!(told(rsync, "rsync -a --delete src/ h:dst/"), ["[remote-resource default] h:dst/"]);
        assert_eq!(told(rsync, "rsync -a --delete src/ ./a:b/"), ["remove-tree ./a:b/ contents"]);
    }

    #[test]
    fn the_remote_shell_runs_here() {
        let recorder = Recorder::default().call(rsync, "rsync -e 'sh -c x' a h:b");
        assert_eq!(recorder.sourced(), ["sh -c x"]);
    }

    #[test]
    fn rclone_deletes_by_its_verbs() {
        assert_eq!(told(rclone, "rclone sync src remote:dst"), ["[remote-resource default] remote:dst"]);
        assert_eq!(told(rclone, "rclone sync remote:src dst -P"), ["remove-tree dst contents"]);
        assert_eq!(told(rclone, "rclone purge dst"), ["remove-tree dst"]);
        assert_eq!(told(rclone, "rclone delete dst --include '*.tmp'"), ["remove-tree dst (*.tmp) contents"]);
        assert!(told(rclone, "rclone copy src remote:dst").is_empty());
        assert!(told(rclone, "rclone sync --dry-run src dst").is_empty());
    }

    #[test]
    fn mirrors_of_other_systems() {
        assert_eq!(told(robocopy, "robocopy src dst /MIR"), ["remove-tree dst contents"]);
        assert!(told(robocopy, "robocopy src dst /E").is_empty());
        assert_eq!(told(lsyncd, "lsyncd -rsync src dst"), ["remove-tree dst contents"]);
        assert_eq!(told(unison, "unison a b -force a"), ["remove-tree b contents"]);
        assert_eq!(told(lftp, "lftp -e 'mirror --delete /r dst; quit' h"), ["remove-tree dst contents"]);
        assert_eq!(told(lftp, "lftp -e 'mirror -R --delete src /r' h"), ["[remote-resource default] /r"]);
    }
}
