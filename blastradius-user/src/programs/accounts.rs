//! Accounts, groups and passwords: who may log in, and whose home goes with them.

use blastradius_common::{RuleId, Verdict};

use crate::programs::options::{Grammar, flag, value};
use crate::programs::verbs::{self, Tool, Words, row, word};
use crate::programs::{Call, Machine, Program, acts};
use crate::shell::value::Field;

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("userdel", userdel),
    ("deluser", deluser),
    ("groupdel", group),
    ("delgroup", group),
    ("passwd", passwd),
    ("usermod", usermod),
    ("chsh", chsh),
    ("gpasswd", gpasswd),
    ("dscl", dscl),
    ("sysadminctl", sysadminctl),
    ("dseditgroup", dseditgroup),
    ("homectl", verb),
    ("pw", verb),
];

const ACCOUNT: RuleId = RuleId::AccountRemoval;

fn removes(machine: &mut dyn Machine, verdict: Verdict, what: &'static str, object: String) {
    acts::judged_thing(machine, ACCOUNT, verdict, what, object);
}

/// userdel(8): `-r` takes the home and the mail along.
fn userdel(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("f", "force"),
        flag("h", "help"),
        flag("r", "remove"),
        flag("Z", "selinux-user"),
        value("R", "root"),
        value("P", "prefix"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    let Some(user) = parsed.operands.first() else { return };
    if parsed.has("help") {
        return;
    }
    match parsed.has("remove") {
        true => removes(
            machine,
            Verdict::Deny,
            "removes an account together with its home",
            user.source.to_string(),
        ),
        false => removes(machine, Verdict::Confirm, "removes an account", user.source.to_string()),
    }
}

/// deluser(8): with a group operand it only leaves the group.
fn deluser(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("h", "help"),
        flag("", "remove-home"),
        flag("", "remove-all-files"),
        flag("", "backup"),
        flag("", "system"),
        flag("q", "quiet"),
        flag("", "group"),
        flag("", "only-if-empty"),
        flag("", "force"),
        value("", "backup-to"),
        value("", "backup-suffix"),
        value("c", "conf"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    let Some(user) = parsed.operands.first() else { return };
    let object = user.source.to_string();
    if parsed.informs() || parsed.has("help") {
        return;
    }
    if parsed.has_any(&["remove-home", "remove-all-files"]) {
        removes(machine, Verdict::Deny, "removes an account together with its files", object);
    } else if parsed.operands.len() > 1 {
        removes(machine, Verdict::Confirm, "takes an account out of a group", object);
    } else {
        removes(machine, Verdict::Confirm, "removes an account", object);
    }
}

/// groupdel(8), delgroup(8).
fn group(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-R", "--root", "-P", "--prefix", "--conf"]);
    if !words.operands.is_empty() && !words.has(&["--help", "-h"]) {
        removes(machine, Verdict::Confirm, "removes a group", words.objects(0));
    }
}

/// passwd(1): `-d` lets anyone in without a password, `-l` nobody.
fn passwd(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("a", "all"),
        flag("d", "delete"),
        flag("e", "expire"),
        flag("h", "help"),
        flag("k", "keep-tokens"),
        flag("l", "lock"),
        flag("u", "unlock"),
        flag("S", "status"),
        flag("q", "quiet"),
        flag("s", "stdin"),
        value("i", "inactive"),
        value("n", "mindays"),
        value("r", "repository"),
        value("R", "root"),
        value("w", "warndays"),
        value("x", "maxdays"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    let user =
        parsed.operands.first().map_or_else(|| "the caller".to_owned(), |user| word(user).into_owned());
    if parsed.has_any(&["help", "status"]) {
        return;
    }
    if parsed.has("delete") {
        let verdict = if user == "root" { Verdict::Deny } else { Verdict::Confirm };
        removes(machine, verdict, "opens an account without a password", user);
    } else if parsed.has_any(&["lock", "expire"]) {
        removes(machine, Verdict::Confirm, "locks an account", user);
    }
}

/// usermod(8): what locks, renames, moves or takes groups away.
fn usermod(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("a", "append"),
        flag("r", "remove"),
        flag("L", "lock"),
        flag("U", "unlock"),
        flag("m", "move-home"),
        flag("o", "non-unique"),
        flag("b", "badname"),
        flag("h", "help"),
        value("G", "groups"),
        value("g", "gid"),
        value("l", "login"),
        value("u", "uid"),
        value("d", "home"),
        value("s", "shell"),
        value("c", "comment"),
        value("e", "expiredate"),
        value("f", "inactive"),
        value("p", "password"),
        value("R", "root"),
        value("P", "prefix"),
        value("vVwWZ", "add-subuids"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    let Some(user) = parsed.operands.first() else { return };
    let object = user.source.to_string();
    if parsed.has("help") {
        return;
    }
    if parsed.has("lock") || parsed.value("shell").is_some_and(admits_nobody) {
        removes(machine, Verdict::Confirm, "locks an account", object);
    } else if parsed.has("move-home") || parsed.has_any(&["login", "uid"]) {
        removes(machine, Verdict::Confirm, "renames or moves an account and its home", object);
    } else if parsed.has("groups") && !parsed.has("append") {
        removes(machine, Verdict::Confirm, "takes an account out of the groups that are not listed", object);
    }
}

/// Whether a login shell is one that ends at once: nologin(8), false(1).
fn admits_nobody(shell: &Field) -> bool {
    let shell = word(shell);
    matches!(shell.rsplit('/').next(), Some("nologin" | "false" | "true"))
}

/// chsh(1): the login shell of an account.
fn chsh(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar =
        Grammar::new(&[value("s", "shell"), value("R", "root"), flag("lhv", "list-shells")]);
    let parsed = GRAMMAR.read(call.args);
    if !parsed.informs() && parsed.value("shell").is_some_and(admits_nobody) {
        let user =
            parsed.operands.first().map_or_else(|| "the caller".to_owned(), |user| word(user).into_owned());
        removes(machine, Verdict::Confirm, "locks an account", user);
    }
}

/// gpasswd(1): `-d` takes a member out, `-M` replaces all of them.
fn gpasswd(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-a", "--add"]);
    if words.has(&["-d", "--delete", "-M", "--members"]) && !words.has(&["-h", "--help"]) {
        removes(machine, Verdict::Confirm, "takes accounts out of a group", words.objects(0));
    }
}

/// dscl(1): `dscl . -delete /Users/NAME`.
fn dscl(call: &Call<'_>, machine: &mut dyn Machine) {
    let words: Vec<_> = call.args.iter().map(word).collect();
    let Some(place) = words.iter().position(|arg| matches!(&**arg, "-delete" | "delete")) else { return };
    let Some(path) = words.get(place + 1) else { return };
    // With a key only one attribute goes.
    let whole_account = path.starts_with("/Users/") && words.len() == place + 2;
    let verdict = if whole_account { Verdict::Deny } else { Verdict::Confirm };
    removes(machine, verdict, "removes a record of the directory service", path.to_string());
}

/// sysadminctl(8): `-deleteUser` takes the home along unless it is kept.
fn sysadminctl(call: &Call<'_>, machine: &mut dyn Machine) {
    let words: Vec<_> = call.args.iter().map(word).collect();
    let Some(place) = words.iter().position(|arg| arg.eq_ignore_ascii_case("-deleteUser")) else { return };
    let kept = words.iter().any(|arg| arg.eq_ignore_ascii_case("-keepHome"));
    let verdict = if kept { Verdict::Confirm } else { Verdict::Deny };
    let user = words.get(place + 1).map(ToString::to_string).unwrap_or_default();
    removes(machine, verdict, "removes an account together with its home", user);
}

/// dseditgroup(8): `-o delete`.
fn dseditgroup(call: &Call<'_>, machine: &mut dyn Machine) {
    let words: Vec<_> = call.args.iter().map(word).collect();
    if words.windows(2).any(|pair| pair[0] == "-o" && pair[1] == "delete") {
        let object = words.last().map(ToString::to_string).unwrap_or_default();
        removes(machine, Verdict::Confirm, "removes a group", object);
    }
}

static TOOLS: &[Tool] = &[
    // homectl(1): the home is the account.
    Tool {
        names: &["homectl"],
        valued: &[],
        dry: &[],
        rows: &[row("remove", ACCOUNT, "removes an account together with its home").verdict(Verdict::Deny)],
    },
    // pw(8) of FreeBSD.
    Tool {
        names: &["pw"],
        valued: &["-n", "-u"],
        dry: &["-N"],
        rows: &[
            row("userdel|user", ACCOUNT, "removes an account together with its home")
                .with(&["-r"])
                .verdict(Verdict::Deny),
            row("userdel", ACCOUNT, "removes an account").verdict(Verdict::Confirm),
            row("groupdel", ACCOUNT, "removes a group").verdict(Verdict::Confirm),
        ],
    },
];

fn verb(call: &Call<'_>, machine: &mut dyn Machine) {
    let _spoke = verbs::read(TOOLS, call, machine);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> String {
        Recorder::default().call_in(PROGRAMS, line).told().join(" ")
    }

    #[test]
    fn an_account_that_takes_its_home_along_is_refused() {
        for line in [
            "userdel -r bob",
            "userdel -rf bob",
            "userdel --remove bob",
            "userdel bob -r",
            "deluser --remove-home bob",
            "deluser --remove-all-files bob",
            "passwd -d root",
            "sysadminctl -deleteUser bob",
            "dscl . -delete /Users/bob",
            "homectl remove bob",
            "pw userdel bob -r",
        ] {
            assert!(told(line).starts_with("[account-removal deny]"), "{line}: {}", told(line));
        }
    }

    #[test]
    fn an_account_alone_is_asked_about() {
        for line in [
            "userdel bob",
            "userdel -f bob",
            "deluser bob",
            "deluser bob docker",
            "groupdel staff",
            "passwd -d bob",
            "passwd -l bob",
            "usermod -L root",
            "usermod -G wheel bob",
            "usermod -md /x bob",
            "gpasswd -d bob staff",
            "sysadminctl -deleteUser bob -keepHome",
            "dscl . -delete /Users/bob Picture",
        ] {
            assert!(told(line).starts_with("[account-removal confirm]"), "{line}: {}", told(line));
        }
    }

    #[test]
    fn adding_and_asking_is_harmless() {
        for line in [
            "userdel --help",
            "userdel",
            "passwd",
            "passwd bob",
            "passwd -S bob",
            "usermod -aG docker bob",
            "usermod -s /bin/zsh bob",
            "gpasswd -a bob staff",
            "dscl . -list /Users",
            "dscl . -read /Users/bob",
            "pw usershow bob",
            "groupdel --help",
        ] {
            assert_eq!(told(line), "", "{line}");
        }
    }
}
