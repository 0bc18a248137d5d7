//! Is what runs read from a file, and from which?

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::guard::caller::ExecRequest;
use crate::shell::limits::FILE_BYTES;
use crate::system::regular;

/// Where a shell's commands come from, if not from its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// From a file: a script by its header, or a shell's first operand.
    File(PathBuf),
    /// From standard input or a terminal.
    Input,
}

/// `None`: what runs is a program, or a shell that is given its text.
pub(super) fn of(request: &ExecRequest) -> Option<Script> {
    if !is_shell(&request.path) {
        let file = seen_from_here(request, &request.path);
        return has_header(&file).then_some(Script::File(file));
    }
    let words = &request.argv[request.argv.len().min(1)..];
    let options = option_words(words);
    let has_text = words[..options]
        .iter()
        .map(|word| word.as_bytes())
        .any(|word| is_cluster(word) && word.contains(&b'c'));
    match words.get(options) {
        _ if has_text => None,
        Some(script) => Some(Script::File(seen_from_here(request, Path::new(script)))),
        None => Some(Script::Input),
    }
}

/// How many words are options: they come before the script's name, and what follows that is the script's own. Some take the
/// next word with them (`bash -euo pipefail x.sh`).
fn option_words(words: &[OsString]) -> usize {
    const WITH_A_FILE: &[&[u8]] = &[b"--rcfile", b"--init-file"];
    let mut at = 0;
    while let Some(word) = words.get(at).map(|word| word.as_bytes()) {
        match word {
            b"-" | b"--" => return at + 1,
            _ if is_cluster(word) => {
                at += 1 + word.iter().filter(|letter| matches!(letter, b'o' | b'O')).count();
            }
            _ if WITH_A_FILE.contains(&word) => at += 2,
            _ if word.starts_with(b"--") => at += 1,
            _ => break,
        }
    }
    at.min(words.len())
}

/// `-eu`, `+e`: letters of options, behind one sign.
fn is_cluster(word: &[u8]) -> bool {
    word.len() > 1 && matches!(word[0], b'-' | b'+') && word[1] != b'-'
}

fn seen_from_here(request: &ExecRequest, path: &Path) -> PathBuf {
    let path = request.cwd.join(path);
    match &request.root {
        Some(root) => root.join(path.strip_prefix("/").unwrap_or(&path)),
        None => path,
    }
}

fn is_shell(program: &Path) -> bool {
    const SHELLS: &[&str] = &["ash", "bash", "busybox", "dash", "ksh", "mksh", "sh", "zsh"];
    program.file_name().and_then(|name| name.to_str()).is_some_and(|name| SHELLS.contains(&name))
}

/// `#!` in front.
fn has_header(path: &Path) -> bool {
    let mut start = [0; 2];
    let file = regular::open(path).and_then(|mut file| file.read_exact(&mut start));
    file.is_ok() && &start == b"#!"
}

/// What a script must hold to do what is looked for ahead. Most scripts hold none of it, and cost a read.
const VERBS: &[&str] =
    &["rm", "unlink", "find", "rsync", "mv", "drop", "DROP", "truncate", "TRUNCATE", "delete", "DELETE"];

/// What scripts write to below `/dev` without harm. Whether another name there is a block device's, the analyzer finds out.
const HARMLESS: &[&str] = &[
    "null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "fd", "shm", "tcp",
    "udp",
];

impl Script {
    /// Whether there is a file to look ahead into, and a word in it that can destroy.
    pub(super) fn may_destroy(&self) -> bool {
        matches!(self, Self::File(path) if holds_a_verb(path))
    }
}

fn holds_a_verb(path: &Path) -> bool {
    // A script of more is not read here; the analyzer would not read it either.
    const READ_AT_MOST: u64 = FILE_BYTES as u64;
    let Ok(file) = regular::open(path) else { return false };
    if !file.metadata().is_ok_and(|meta| meta.len() <= READ_AT_MOST) {
        return false;
    }
    let mut text = Vec::new();
    let read = file.take(READ_AT_MOST).read_to_end(&mut text);
    let is_verb = |word: &[u8]| VERBS.iter().any(|verb| verb.as_bytes() == word);
    read.is_ok() && (words(&text).any(is_verb) || names_a_device(&text))
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphanumeric())
}

fn names_a_device(text: &[u8]) -> bool {
    const DEVICES: &[u8] = b"/dev/";
    let after = text.windows(DEVICES.len()).enumerate().filter(|(_, window)| *window == DEVICES);
    after
        .filter_map(|(at, _)| words(&text[at + DEVICES.len()..]).next())
        .any(|name| !name.is_empty() && !HARMLESS.iter().any(|harmless| harmless.as_bytes() == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_looked_into_if_it_holds_a_verb_or_names_a_device() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let looked_into = |text: &str| {
            let path = dir.path().join("script");
            std::fs::write(&path, text).expect("written");
            Script::File(path).may_destroy()
        };
        for text in ["rm x", "echo > /dev/sda", "open('/dev/nvme0n1', 'wb')", "for d in /dev/vd?; do"] {
            assert!(looked_into(text), "{text}");
        }
        for text in ["make 2> /dev/null", "echo > /dev/tty", "ls /dev/", "firm"] {
            assert!(!looked_into(text), "{text}");
        }
    }

    #[test]
    fn text_is_told_from_a_script_file_and_from_input() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("script"), "#!/bin/sh\n").expect("written");
        std::fs::write(dir.path().join("binary"), "\x7fELF").expect("written");
        let script = |path: &str, argv: &[&str]| {
            of(&ExecRequest {
                tid: 0,
                path: path.into(),
                argv: argv.iter().map(Into::into).collect(),
                env: Vec::new(),
                cwd: dir.path().to_owned(),
                root: None,
                uid: 0,
            })
        };
        let file = |name: &str| Some(Script::File(dir.path().join(name)));
        assert_eq!(script("/bin/sh", &["sh", "-ec", "rm x"]), None);
        assert_eq!(script("/bin/bash", &["bash", "x.sh"]), file("x.sh"));
        assert_eq!(script("/bin/bash", &["bash", "-e", "x.sh", "-c", "rm x"]), file("x.sh"));
        assert_eq!(script("script", &["script"]), file("script"));
        assert_eq!(script("binary", &["binary"]), None);
        assert_eq!(script("/bin/bash", &["bash"]), Some(Script::Input));
        assert_eq!(script("/bin/bash", &["bash", "-s"]), Some(Script::Input));
        for options in [
            &["-euo", "pipefail"][..],
            &["-o", "errexit", "-O", "extglob"],
            &["+e"],
            &["--rcfile", "/dev/null", "-x"],
            &["--norc", "--"],
            &["-"],
        ] {
            let argv = [&["bash"], options, &["x.sh", "-c", "1"]].concat();
            assert_eq!(script("/bin/bash", &argv), file("x.sh"), "{options:?}");
        }
        assert_eq!(script("/bin/bash", &["bash", "-euo", "pipefail", "-c", "rm x"]), None);
        assert_eq!(script("/bin/bash", &[]), Some(Script::Input));
    }

    #[test]
    fn what_would_wait_for_a_writer_is_not_opened() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let fifo = dir.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("made");
        assert!(!has_header(&fifo) && !holds_a_verb(&fifo));
    }

    #[test]
    fn a_script_without_a_destructive_word_is_told_from_one_with() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let holds = |text: &str| {
            let path = dir.path().join("script");
            std::fs::write(&path, text).expect("written");
            holds_a_verb(&path)
        };
        assert!(holds("cd x\nrm -rf *\n") && holds("find . -delete") && holds("\\rm x"));
        assert!(!holds("perform --term\n"));
        assert!(!holds_a_verb(Path::new("/dev/null")) && !holds_a_verb(dir.path()));
    }
}
