//! Programs that make keys: a key that is made anew takes the old one's place, and what that one opened stays shut.

use std::path::Path;

use blastradius_common::{RuleId, Verdict};

use crate::programs::options::{Grammar, flag, value};
use crate::programs::verbs::word;
use crate::programs::{Call, Machine, Program, acts};
use crate::shell::value::{Abstract, Field};

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[("ssh-keygen", ssh_keygen)];

/// ssh-keygen(1). What its other modes write is beside the key, or is kept beside what was there.
static SSH_KEYGEN: Grammar = Grammar::new(&[
    value("f", ""),
    value("t", ""),
    value("b", ""),
    value("N", ""),
    value("P", ""),
    value("C", ""),
    value("m", ""),
    value("Z", ""),
    value("a", ""),
    value("O", ""),
    value("w", ""),
    flag("q", ""),
    flag("v", ""),
    value("FRrDsYQMIn", ""),
    flag("ABHKLUceghiklpuXyz", ""),
]);

/// The modes in which no key is made.
const OTHER_MODES: &[&str] = &[
    "F", "R", "r", "D", "s", "Y", "Q", "M", "I", "n", "A", "B", "H", "K", "L", "U", "c", "e", "g", "h", "i",
    "k", "l", "p", "u", "X", "y", "z",
];

fn ssh_keygen(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SSH_KEYGEN.read(call.args);
    if parsed.has_any(OTHER_MODES) {
        return;
    }
    let kind = parsed.value("t").map_or_else(|| "ed25519".to_owned(), |kind| word(kind).replace('-', "_"));
    let Some(key) = parsed.value("f").cloned().or_else(|| default_key(machine, &kind)) else { return };
    let mut public = key.clone();
    public.text.push_text(".pub");
    public.source = format!("{}.pub", key.source).into();
    for file in [key, public] {
        let base = machine.cwd();
        // Where it cannot be told, ssh-keygen(1) itself asks before it writes over a key.
        match acts::named(machine, &file, &base) {
            acts::Named::Nothing => machine.creates(&file, base),
            acts::Named::Object(_) if is_where_ssh_looks(&file) => acts::judged_thing(
                machine,
                RuleId::SecurityPosture,
                Verdict::Confirm,
                "makes a new key in the place of one that opens what it was made for",
                file.source.to_string(),
            ),
            acts::Named::Object(_) => acts::truncate(machine, &file),
            acts::Named::Unknown => {}
        }
    }
}

/// A key there is in use: to overwrite it is more than an edit of settings, which an agent may make.
fn is_where_ssh_looks(key: &Field) -> bool {
    key.as_known().is_some_and(|path| Path::new(&*path).parent().is_some_and(|dir| dir.ends_with(".ssh")))
}

/// `~/.ssh/id_KIND`, which it offers by itself.
fn default_key(machine: &dyn Machine, kind: &str) -> Option<Field> {
    let mut text: Abstract = machine.variable("HOME")?;
    text.push_text("/.ssh/id_");
    text.push_text(kind);
    Some(Field { text, glob: None, source: format!("~/.ssh/id_{kind}").into(), tilde: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> Vec<String> {
        let recorder = Recorder::default().env("HOME", "/home/dev");
        recorder
            .file("/home/dev/.ssh/id_ed25519", "key")
            .file("test_key", "key")
            .call(ssh_keygen, line)
            .told()
    }

    #[test]
    fn a_key_that_is_there_is_lost_to_a_new_one() {
        let asked = ["[security-posture confirm] /home/dev/.ssh/id_ed25519"];
        assert_eq!(told("ssh-keygen -q -f /home/dev/.ssh/id_ed25519 -N ''"), asked);
        assert_eq!(told("ssh-keygen -t ed25519"), ["[security-posture confirm] ~/.ssh/id_ed25519"]);
        assert_eq!(told("ssh-keygen -t ed25519 -f test_key -N ''"), ["truncate test_key"]);
    }

    #[test]
    fn a_new_key_and_what_is_no_key_are_harmless() {
        for line in [
            "ssh-keygen -t rsa -b 4096 -f deploy_key",
            "ssh-keygen -t rsa",
            "ssh-keygen -lf /home/dev/.ssh/id_ed25519",
            "ssh-keygen -y -f /home/dev/.ssh/id_ed25519",
            "ssh-keygen -R host",
            "ssh-keygen -F host",
            "ssh-keygen -t ed25519 -N '' -f ?KEY",
        ] {
            assert!(told(line).is_empty(), "{line}");
        }
    }
}
