//! The core has no I/O: `src/shell`, `src/programs` and `src/policy` name nothing through which a file, a process, the
//! environment or the network could be reached. They ask the `World`.
//!
//! Clippy keeps out what std does by method (`clippy.toml`); this test reads the module tree and keeps out everything
//! that is not on a list: modules of std, other crates, and rooms of this one.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms that are pure.
const ROOMS: &[&str] = &["shell", "programs", "policy"];

/// Modules of std that cannot reach the machine. `path` and `thread` have functions that can, which clippy forbids;
/// `os` is for the bytes of names.
const STD: &[&str] = &[
    "borrow",
    "cell",
    "char",
    "cmp",
    "collections",
    "convert",
    "ffi",
    "fmt",
    "hash",
    "iter",
    "mem",
    "num",
    "ops",
    "os",
    "panic",
    "path",
    "ptr",
    "rc",
    "slice",
    "str",
    "string",
    "sync",
    "thread",
    "vec",
];

/// Other crates, all of them without I/O.
const CRATES: &[&str] =
    &["bitflags", "blastradius_common", "serde_json", "shuck_ast", "shuck_parser", "smallvec", "thiserror"];

/// Names behind which a path begins, though it begins with `::`.
const KEYWORDS: &[&str] =
    &["as", "dyn", "else", "for", "if", "impl", "in", "match", "mut", "return", "use", "where", "while"];

/// Crates that the package depends on and that could reach the machine, or hide that they do.
const DEPENDENCIES: &str = include_str!("../Cargo.toml");

/// Every file of a room.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a room").map(|entry| entry.expect("an entry").path());
    let found = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    found.filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect()
}

/// A name, or a sign of punctuation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Sign(char),
}

/// The names and signs of a source, without comments, strings and characters.
fn tokens(source: &str) -> Vec<Token> {
    let bytes = source.as_bytes();
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let rest = &source[at..];
        let first = rest.chars().next().expect("not at the end");
        at += if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = string(rest) {
            length
        } else if first == '\'' {
            character(rest)
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.push(Token::Name(rest[..end].to_owned()));
            end
        } else {
            if !first.is_whitespace() {
                found.push(Token::Sign(first));
            }
            first.len_utf8()
        };
    }
    found
}

/// The length of the string literal at the front, if there is one: `"…"`, `b"…"`, `r#"…"#`.
fn string(rest: &str) -> Option<usize> {
    let prefix = rest.len() - rest.trim_start_matches(['b', 'c', 'r']).len();
    if prefix > 2 {
        return None;
    }
    let raw = rest[..prefix].contains('r');
    let hashes = rest[prefix..].len() - rest[prefix..].trim_start_matches('#').len();
    let body = rest[prefix + hashes..].strip_prefix('"')?;
    let begin = prefix + hashes + 1;
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return body.find(&end).map(|at| begin + at + end.len());
    }
    if hashes > 0 {
        return None;
    }
    let mut escaped = false;
    let end = body.char_indices().find(|&(_, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map(|(at, _)| begin + at + 1)
}

/// The length of a character literal, or of a lifetime's tick.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            rest[2..].char_indices().skip(1).find(|&(_, c)| c == '\'').map_or(1, |(at, _)| 3 + at)
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// What directly follows `name::` wherever it begins a path: the next name, or each name of a group.
fn below(tokens: &[Token], name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        // A name in front makes it the end of a path; `::std` begins one.
        let continues = at > 2
            && tokens[at - 2..at] == [Token::Sign(':'), Token::Sign(':')]
            && matches!(&tokens[at - 3], Token::Name(name) if !KEYWORDS.contains(&&**name));
        let follows = tokens.get(at + 1..at + 3) == Some(&[Token::Sign(':'), Token::Sign(':')]);
        if *token != Token::Name(name.to_owned()) || !follows || continues {
            continue;
        }
        match tokens.get(at + 3) {
            Some(Token::Name(next)) => found.push(next.clone()),
            Some(Token::Sign('{')) => found.extend(group(&tokens[at + 4..])),
            other => panic!("{name}:: is followed by {other:?}: name what is used"),
        }
    }
    found
}

/// The names that begin the members of `{…}`.
fn group(tokens: &[Token]) -> Vec<String> {
    let (mut depth, mut begins, mut found) = (0, true, Vec::new());
    for token in tokens {
        match token {
            Token::Sign('{') => depth += 1,
            Token::Sign('}') if depth == 0 => break,
            Token::Sign('}') => depth -= 1,
            Token::Sign(',') if depth == 0 => begins = true,
            Token::Name(name) if begins => {
                found.push(name.clone());
                begins = false;
            }
            _ => {}
        }
    }
    found
}

/// The crates that this package depends on, by the names that code uses.
fn dependencies() -> Vec<String> {
    let named = |line: &str| {
        let name = line.split_once([' ', '.', '='])?.0;
        let is_name = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == '_' || c.is_ascii_digit());
        is_name.then(|| name.replace('-', "_"))
    };
    let section = DEPENDENCIES.split("\n[").filter(|section| section.contains("dependencies"));
    section.flat_map(|section| section.lines().skip(1).filter_map(named)).collect()
}

/// What a source uses that is on no list.
fn foreign(source: &str) -> Vec<String> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    for top in ["std", "core", "alloc"] {
        let used = below(&tokens, top);
        found.extend(
            used.into_iter().filter(|next| !STD.contains(&&**next)).map(|next| format!("{top}::{next}")),
        );
    }
    found.extend(
        below(&tokens, "crate")
            .into_iter()
            .filter(|next| !ROOMS.contains(&&**next))
            .map(|next| format!("crate::{next}")),
    );
    for name in dependencies() {
        if !CRATES.contains(&&*name) && tokens.windows(3).any(|three| matches!(three, [Token::Name(first), Token::Sign(':'), Token::Sign(':')] if *first == name)) {
            found.push(name);
        }
    }
    let extern_block = |pair: &[Token]| pair.first() == Some(&Token::Name("extern".into()));
    if tokens.windows(2).any(extern_block) {
        found.push("extern".into());
    }
    found
}

/// Tests of the core may look at the documentation that they keep true.
fn without_tests(source: &str) -> &str {
    source.split_once("#[cfg(test)]\nmod tests {").map_or(source, |(code, _)| code)
}

/// Whether the module is built for tests alone, by what its room says of it.
fn is_of_tests(path: &Path) -> bool {
    let room = path.with_file_name("mod.rs");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let declared = format!("#[cfg(test)]\nmod {stem};");
    fs::read_to_string(room).is_ok_and(|source| source.contains(&declared))
}

#[test]
fn the_core_names_nothing_through_which_the_machine_could_be_reached() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for room in ROOMS {
        for path in sources(&root.join(room)).into_iter().filter(|path| !is_of_tests(path)) {
            let source = fs::read_to_string(&path).expect("a source");
            let found = foreign(without_tests(&source));
            assert!(found.is_empty(), "{}: {}", path.display(), found.join(", "));
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} files: this is not the module tree");
}

#[test]
fn every_room_of_the_core_denies_what_clippy_lists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for room in ROOMS {
        let source = fs::read_to_string(root.join("src").join(room).join("mod.rs")).expect("a room");
        for lint in ["disallowed_macros", "disallowed_methods", "disallowed_types"] {
            let denied = source.lines().any(|line| line.starts_with("#![deny(") && line.contains(lint));
            assert!(denied, "src/{room}/mod.rs does not deny clippy::{lint}");
        }
    }
    let listed = fs::read_to_string(root.join("../clippy.toml")).expect("clippy.toml");
    for call in [
        "std::fs::read",
        "std::env::var",
        "std::process::Command",
        "std::net::TcpStream",
        "std::path::Path::exists",
    ] {
        assert!(listed.contains(&format!("\"{call}\"")), "clippy.toml does not list {call}");
    }
}

#[test]
fn what_reaches_the_machine_is_seen_however_it_is_written() {
    for (source, what) in [
        ("use std::fs;", "std::fs"),
        ("use std::{rc::Rc, env::{self, vars}};", "std::env"),
        ("fn f() { let _ = std::process::id(); }", "std::process"),
        ("use ::std::net::TcpStream;", "std::net"),
        ("struct S { pub a: std::fs::File }", "std::fs"),
        ("fn f() { nix::unistd::getuid(); }", "nix"),
        ("fn f() { unsafe { libc::getuid() }; }", "libc"),
        ("use crate::system::System;", "crate::system"),
        ("use crate::{shell::World, guard::link};", "crate::guard"),
        ("extern \"C\" { fn getuid() -> u32; }", "extern"),
    ] {
        assert!(foreign(source).iter().any(|found| found == what), "{source}: {:?}", foreign(source));
    }
    for harmless in [
        "// std::fs\nuse std::rc::Rc;",
        "const X: &str = \"std::fs\"; const Y: &str = r#\"std::env \"x\"\"#; const Z: char = '\"'; use std::path::Path;",
        "fn f<'a>(x: &'a str) -> char { '\\'' } use crate::policy::Policy;",
    ] {
        assert_eq!(foreign(harmless), [""; 0], "{harmless}");
    }
}
