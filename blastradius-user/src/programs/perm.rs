//! Owner, mode, flags and ACLs: chmod(1), chown(1), chgrp(1), chattr(1), setfacl(1).

use crate::policy::effect::{Act, Follow};
use crate::programs::options::{Grammar, Parsed, flag, value};
use crate::programs::{Call, Machine, Program, acts, words};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("chmod", chmod),
    ("chown", chown),
    ("chgrp", chown),
    ("chcon", chcon),
    ("chflags", chflags),
    ("chattr", chattr),
    ("setfacl", setfacl),
    ("setcap", setcap),
    ("xattr", xattr),
    ("icacls", icacls),
];

/// chmod(1), chown(1) and chgrp(1) of coreutils; `N`, `x`, `a`, `i`, `C` and `E` of macOS are about ACLs.
static CHANGE: Grammar = Grammar::new(&[
    flag("R", "recursive"),
    flag("c", "changes"),
    flag("f", "silent|quiet"),
    flag("v", "verbose"),
    flag("h", "no-dereference"),
    flag("", "dereference"),
    flag("", "preserve-root|no-preserve-root"),
    value("", "reference"),
    value("", "from"),
    flag("HLPNxn", ""),
]);

fn chmod(call: &Call<'_>, machine: &mut dyn Machine) {
    // `chmod -w file` and `chmod -R -x dir`: a mode may look like an option.
    let is_mode = |word: &Field| {
        word.as_known().is_some_and(|word| {
            let mode = word.strip_prefix('-');
            mode.is_some_and(|mode| {
                !mode.is_empty() && mode.chars().all(|letter| "rwxXstugo,+=-".contains(letter))
            })
        })
    };
    let args: Vec<Field> = call.args.iter().filter(|word| !is_mode(word)).cloned().collect();
    let has_mode = args.len() < call.args.len();
    let parsed = CHANGE.read(&args);
    change(machine, &parsed, usize::from(!has_mode && !parsed.has("reference")));
}

fn chown(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = CHANGE.read(call.args);
    change(machine, &parsed, usize::from(!parsed.has("reference")));
}

/// Changes the operands behind the first `skip`.
fn change(machine: &mut dyn Machine, parsed: &Parsed<'_>, skip: usize) {
    if parsed.informs() {
        return;
    }
    let recursive = parsed.has("recursive") || parsed.maybe_options && parsed.operands.len() > skip + 1;
    let follow = if parsed.has("no-dereference") { Follow::Never } else { Follow::Last };
    metadata(machine, parsed.operands.iter().skip(skip).copied(), recursive, follow);
}

fn metadata<'a>(
    machine: &mut dyn Machine,
    operands: impl Iterator<Item = &'a Field>,
    recursive: bool,
    follow: Follow,
) {
    for operand in operands {
        acts::path(machine, Act::Metadata { recursive }, operand, follow);
    }
}

static CHCON: Grammar = Grammar::new(&[
    flag("R", "recursive"),
    value("u", "user"),
    value("r", "role"),
    value("t", "type"),
    value("l", "range"),
    value("", "reference"),
    flag("h", "no-dereference"),
    flag("vHLP", "verbose|dereference|preserve-root|no-preserve-root"),
]);

fn chcon(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = CHCON.read(call.args);
    let in_parts = parsed.has_any(&["user", "role", "type", "range", "reference"]);
    change(machine, &parsed, usize::from(!in_parts));
}

static CHFLAGS: Grammar =
    Grammar::new(&[flag("R", "recursive"), flag("h", "no-dereference"), flag("fvHLPx", "")]);

fn chflags(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = CHFLAGS.read(call.args);
    change(machine, &parsed, 1);
}

/// chattr(1): `chattr [-RVf] [-v version] [-p project] [+-=aAcCdDeFijmPsStTux…] files`.
static CHATTR: Grammar =
    Grammar::new(&[flag("R", "recursive"), flag("Vf", ""), value("v", "version"), value("p", "project")]);

fn chattr(call: &Call<'_>, machine: &mut dyn Machine) {
    let is_mode = |word: &Field| {
        let lead = words::lead(&word.text);
        let letters = lead.strip_prefix(['+', '-', '=']);
        letters.is_some_and(|letters| {
            !letters.is_empty() && letters.chars().all(|letter| "aAcCdDeFijmPsStTuxEINZ".contains(letter))
        })
    };
    let args: Vec<Field> = call.args.iter().filter(|word| !is_mode(word)).cloned().collect();
    change(machine, &CHATTR.read(&args), 0);
}

static SETFACL: Grammar = Grammar::new(&[
    flag("R", "recursive"),
    value("m", "modify"),
    value("x", "remove"),
    value("M", "modify-file"),
    value("X", "remove-file"),
    value("", "set|set-file|restore"),
    flag("", "test"),
    flag("P", "physical"),
    flag("bkdnL", "remove-all|remove-default|default|no-mask|mask|logical"),
]);

fn setfacl(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SETFACL.read(call.args);
    if !parsed.has("test") {
        change(machine, &parsed, 0);
    }
}

static SETCAP: Grammar = Grammar::new(&[flag("qvrfn", "")]);

/// setcap(8): CAPABILITIES FILE, or `-r FILE`.
fn setcap(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SETCAP.read(call.args);
    if let (Some(file), false) = (parsed.operands.last(), parsed.informs()) {
        metadata(machine, std::iter::once(*file), false, Follow::Last);
    }
}

static XATTR: Grammar = Grammar::new(&[
    flag("c", ""),
    flag("d", ""),
    flag("w", ""),
    flag("r", ""),
    flag("s", ""),
    flag("lpvxh", "help"),
]);

/// xattr(1) of macOS: `-d NAME FILE…`, `-w NAME VALUE FILE…`, `-c FILE…`.
fn xattr(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = XATTR.read(call.args);
    let skip = match (parsed.has("c"), parsed.has("d"), parsed.has("w")) {
        (true, ..) => 0,
        (_, true, _) => 1,
        (.., true) => 2,
        _ => return,
    };
    metadata(machine, parsed.operands.iter().skip(skip).copied(), parsed.has("r"), Follow::Last);
}

/// icacls.exe of Windows, from WSL: `icacls PATH /reset /T`.
fn icacls(call: &Call<'_>, machine: &mut dyn Machine) {
    let has = |option: &str| {
        call.args.iter().filter_map(Field::as_known).any(|word| word.eq_ignore_ascii_case(option))
    };
    let changes = ["/grant", "/deny", "/remove", "/reset", "/setowner", "/inheritance"].iter().any(|verb| {
        call.args.iter().filter_map(Field::as_known).any(|word| word.to_ascii_lowercase().starts_with(verb))
    });
    if let (Some(path), true) = (call.args.first(), changes) {
        metadata(machine, std::iter::once(path), has("/t"), Follow::Last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(program: Program, line: &str) -> Vec<String> {
        Recorder::default().call(program, line).told()
    }

    #[test]
    fn recursion_is_seen_in_every_spelling() {
        for line in
            ["chmod -R 777 d", "chmod 777 -R d", "chmod --rec 000 d", "chmod -vR u+x d", "chmod -R -w d"]
        {
            assert_eq!(told(chmod, line), ["metadata-tree d"], "{line}");
        }
        assert_eq!(told(chown, "chown -R u:g a b"), ["metadata-tree a", "metadata-tree b"]);
        assert_eq!(told(chown, "chgrp -R --reference=x d"), ["metadata-tree d"]);
    }

    #[test]
    fn the_mode_is_no_file() {
        assert_eq!(told(chmod, "chmod +x build.sh"), ["metadata build.sh"]);
        assert_eq!(told(chmod, "chmod -x build.sh"), ["metadata build.sh"]);
        assert_eq!(told(chmod, "chmod --reference x y"), ["metadata y"]);
        assert_eq!(told(chown, "chown u f"), ["metadata f"]);
        assert_eq!(told(chattr, "chattr -R +i d"), ["metadata-tree d"]);
        assert_eq!(told(chattr, "chattr -i f"), ["metadata f"]);
    }

    #[test]
    fn acls_are_metadata() {
        assert_eq!(told(setfacl, "setfacl -R -m u:app:rwx /etc"), ["metadata-tree /etc"]);
        assert_eq!(told(setfacl, "setfacl -m u:app:r f"), ["metadata f"]);
        assert!(told(setfacl, "setfacl --test -m u:app:r f").is_empty());
        assert_eq!(told(setcap, "setcap cap_net_raw+ep f"), ["metadata f"]);
        assert_eq!(told(xattr, "xattr -rd com.apple.quarantine d"), ["metadata-tree d"]);
        assert!(told(xattr, "xattr -l f").is_empty());
    }

    #[test]
    fn help_changes_nothing() {
        assert!(told(chmod, "chmod --help").is_empty());
        assert!(told(chown, "chown --version").is_empty());
    }
}
