//! Programs that keep backups, where they are told to forget them.

use blastradius_common::{RuleId, Verdict};

use crate::programs::{Call, Machine, Program, acts, table};
use crate::shell::value::Field;

/// What a program calls the deletion of backups: the first word that is no option, or an option.
struct Keeper {
    name: &'static str,
    verbs: &'static [&'static str],
    options: &'static [&'static str],
}

const KEEPERS: &[Keeper] = &[
    Keeper { name: "restic", verbs: &["forget", "prune", "rewrite"], options: &[] },
    Keeper { name: "rustic", verbs: &["forget", "prune"], options: &[] },
    Keeper { name: "borg", verbs: &["delete", "prune", "recreate"], options: &[] },
    Keeper { name: "borgmatic", verbs: &["delete", "prune", "repo-delete"], options: &[] },
    Keeper {
        name: "duplicity",
        verbs: &["remove-older-than", "remove-all-but-n-full", "remove-all-inc-of-but-n-full"],
        options: &[],
    },
    Keeper { name: "kopia", verbs: &["delete"], options: &["--delete"] },
    Keeper { name: "bup", verbs: &["rm", "gc"], options: &[] },
    Keeper { name: "tarsnap", verbs: &[], options: &["-d", "--nuke"] },
    Keeper { name: "rdiff-backup", verbs: &["remove"], options: &["--remove-older-than"] },
    Keeper { name: "timeshift", verbs: &[], options: &["--delete", "--delete-all", "--restore"] },
    Keeper {
        name: "snapper",
        verbs: &["delete", "remove", "rm", "cleanup", "rollback", "undochange"],
        options: &[],
    },
];

/// Options that make any of them only tell.
const DRY: [&str; 4] = ["-n", "--dry-run", "--help", "-h"];

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("restic", keeper),
    ("rustic", keeper),
    ("borg", keeper),
    ("borgmatic", keeper),
    ("duplicity", keeper),
    ("kopia", keeper),
    ("bup", keeper),
    ("tarsnap", keeper),
    ("rdiff-backup", keeper),
    ("timeshift", keeper),
    ("snapper", keeper),
];

fn keeper(call: &Call<'_>, machine: &mut dyn Machine) {
    let name = table::canonical(call.name);
    let Some(keeper) = KEEPERS.iter().find(|keeper| keeper.name == name) else { return };
    let words_given: Vec<_> = call.args.iter().filter_map(Field::as_known).collect();
    let has = |listed: &[&str]| words_given.iter().any(|word| listed.contains(&&**word));
    if has(&DRY) || !(has(keeper.verbs) || has(keeper.options)) {
        return;
    }
    let object = words_given.iter().map(|word| &**word).collect::<Vec<_>>().join(" ");
    acts::judged_thing(
        machine,
        RuleId::RemoteResource,
        Verdict::Confirm,
        "deletes or rolls back backups",
        object,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    #[test]
    fn forgetting_backups_is_told_and_listing_them_is_not() {
        let told = |line| Recorder::default().call(keeper, line).told();
        assert_eq!(told("restic -r /b forget --prune"), ["[remote-resource confirm] -r /b forget --prune"]);
        assert_eq!(told("timeshift --delete-all"), ["[remote-resource confirm] --delete-all"]);
        assert!(told("restic -r /b snapshots").is_empty());
        assert!(told("borg prune --dry-run --keep-daily 7").is_empty());
    }
}
