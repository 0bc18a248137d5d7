//! What harmless programs print, as far as it follows from what they are given.
//!
//! Only asked where someone reads the output: a substitution, a pipe, a redirection. A program that is not in the
//! table prints something unknown.

use std::rc::Rc;

use crate::policy::effect::{Base, Selection};
use crate::programs::{Input, Selected};

use super::eval::{Evaluator, base_text, look_through};
use super::glob::normal_join;
use super::limits::Eval;
use super::value::{Abstract, Cause, Field, Hole};
use super::world::{Look, World};

/// Programs that fetch from other machines.
const FETCHERS: &[&str] =
    &["curl", "wget", "fetch", "http", "https", "xh", "aria2c", "lynx", "w3m", "nc", "ncat", "ftp"];

/// Programs that decode what they read.
const DECODERS: &[&str] = &[
    "gunzip", "zcat", "bunzip2", "bzcat", "xzcat", "unxz", "zstdcat", "uudecode", "gpg", "openssl",
    "unbase64",
];

/// Programs that hand on what they read, changed or not: where it came from stays known.
const FILTERS: &[&str] = &[
    "sed", "awk", "gawk", "mawk", "grep", "egrep", "fgrep", "rg", "sort", "uniq", "head", "tail", "cut",
    "tr", "rev", "tac", "tee", "jq", "yq", "perl", "python3", "python", "iconv", "fold", "fmt", "xxd",
    "base64", "base32", "cat", "column", "paste", "nl", "expand", "unexpand", "sponge", "pv", "dos2unix",
    "envsubst", "gzip", "shuf", "comm",
];

/// Programs that cannot fail for a reason that matters here.
pub(crate) fn always_succeeds(_name: &str) -> bool {
    false
}

/// What a program prints.
pub(crate) fn output(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) -> Eval<Input> {
    let known = folded(evaluator, name, args)?;
    if let Some(output) = known {
        return Ok(output);
    }
    let from = evaluator.segment_text();
    let reads = FILTERS.contains(&name) || DECODERS.contains(&name);
    let (mut network, mut decoded) = (FETCHERS.contains(&name), false);
    if reads && let Input::Unknown { network: n, decoded: d, .. } = evaluator.standard_input() {
        network |= n;
        decoded |= d;
    }
    decoded |= DECODERS.contains(&name) || decodes(name, args);
    Ok(Input::Unknown { from, network, decoded })
}

/// Whether a command, as written, begins with a program that fetches from another machine.
pub(crate) fn fetches(source: &str) -> bool {
    let inner = source.trim_start_matches(['<', '$', '(', '`', '"', ' ']);
    let first = inner.split(|c: char| c.is_whitespace() || c == ')').next().unwrap_or("");
    FETCHERS.contains(&super::eval::base_name(first))
}

/// Whether options make the program a decoder.
fn decodes(name: &str, args: &[Field]) -> bool {
    let has = |options: &[&str]| {
        args.iter().any(|field| field.as_known().is_some_and(|word| options.contains(&&*word)))
    };
    match name {
        "base64" | "base32" => has(&["-d", "-D", "--decode", "-di"]),
        "xxd" => has(&["-r", "-p", "-rp", "-r -p"]),
        "gzip" | "bzip2" | "xz" | "zstd" => has(&["-d", "-dc", "-cd", "--decompress"]),
        _ => false,
    }
}

/// Objects that a program makes and files that it fills, beside what its family says.
pub(crate) fn side_effects(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) -> Eval<()> {
    if name == "tee" {
        let append = args.iter().any(|field| matches!(field.as_known().as_deref(), Some("-a" | "--append")));
        let input = evaluator.standard_input();
        for field in operands(args, "") {
            let base = evaluator.state.cwd.clone();
            if let Some(path) = evaluator.path_of(field, &base) {
                evaluator.write_file(path, append, input.clone());
            }
        }
    }
    if matches!(name, "curl" | "wget") {
        fetched(evaluator, name, args);
    }
    if name == "mv" {
        evaluator.note_moves(&operands(args, "tS"))?;
    }
    if matches!(name, "mkdir" | "touch") {
        let parents = args.iter().any(|field| {
            field.as_known().is_some_and(|word| {
                word == "--parents"
                    || (word.starts_with('-') && !word.starts_with("--") && word.contains('p'))
            })
        });
        for field in operands(args, "mZ") {
            let base = evaluator.state.cwd.clone();
            let Some(path) = evaluator.path_of(field, &base) else { continue };
            if !evaluator.climbs_as_written(field, &base) {
                continue;
            }
            evaluator.made_again(&path);
            if matches!(evaluator.world.look(&path), Look::Absent) {
                evaluator.born(path, parents);
            }
        }
    }
    Ok(())
}

/// The files that `curl` and `wget` fill.
fn fetched(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) {
    let words: Vec<String> = args
        .iter()
        .map(|field| field.as_known().map(std::borrow::Cow::into_owned).unwrap_or_default())
        .collect();
    let letter = if name == "curl" { 'o' } else { 'O' };
    let long = if name == "curl" { "--output" } else { "--output-document" };
    let mut target = None;
    let mut by_url = name == "wget";
    for (index, word) in words.iter().enumerate() {
        let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        if let Some(rest) = word.strip_prefix(long) {
            target = rest.strip_prefix('=').map(str::to_owned).or_else(|| words.get(index + 1).cloned());
        } else if let Some(at) = short.and_then(|rest| rest.find(letter)) {
            let attached = short.map_or("", |rest| &rest[at + 1..]);
            target =
                if attached.is_empty() { words.get(index + 1).cloned() } else { Some(attached.to_owned()) };
        }
        by_url |= name == "curl" && (short.is_some_and(|rest| rest.contains('O')) || word == "--remote-name");
    }
    if target.is_none() && by_url {
        let url = words.iter().find(|word| word.contains("://"));
        target = url
            .and_then(|url| url.rsplit('/').next())
            .map(|name| name.split('?').next().unwrap_or("").to_owned());
    }
    let Some(target) = target.filter(|target| !target.is_empty() && target != "-") else { return };
    let base = evaluator.state.cwd.clone();
    if let Some(path) = evaluator.path_of(&Field::literal(&target), &base) {
        let from = evaluator.segment_text();
        evaluator.write_file(path, false, Input::Unknown { from, network: true, decoded: false });
    }
}

fn folded(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) -> Eval<Option<Input>> {
    evaluator.tick(2)?;
    Ok(match name {
        "cat" | "tac" | "rev" | "sort" | "uniq" | "head" | "tail" | "tr" | "base64" | "xxd" | "cut"
        | "tee" => {
            return filter(evaluator, name, args);
        }
        "basename" => basename(args).map(line),
        "dirname" => dirname(args).map(line),
        "which" => match args {
            [only] => match only.as_known().map(std::borrow::Cow::into_owned) {
                Some(name) => on_path(evaluator, &name)?.map(|found| line(Abstract::known(&found))),
                None => None,
            },
            _ => None,
        },
        "seq" => seq(args).map(line),
        "mktemp" => Some(line(born_text("mktemp"))),
        "pwd" => Some(line(base_text(&evaluator.state.cwd))),
        "realpath" | "readlink" | "grealpath" | "greadlink" => resolve(evaluator, name, args).map(line),
        "whoami" | "logname" => evaluator
            .text_of("USER")
            .ok()
            .filter(|text| text.as_known().is_some_and(|t| !t.is_empty()))
            .map(line),
        "id" => match only_word(args) {
            Some("-u") => Some(line(Abstract::known(&evaluator.world.uid().to_string()))),
            _ => Some(line(component(evaluator))),
        },
        "date" | "uname" | "hostname" | "nproc" | "arch" | "getconf" | "uuidgen" | "wc" | "stat" | "tput" => {
            Some(line(component(evaluator)))
        }
        "ls" => list(evaluator, args),
        "rg" | "grep" | "egrep" | "fgrep" if reads_names(evaluator, args) => sieve(evaluator, name, args),
        "rg" | "ag" | "ack" | "grep" | "egrep" | "fgrep" | "fd" | "fdfind" | "locate" | "mlocate"
        | "plocate" => search(name, args),
        "git" => git(evaluator, args),
        "printenv" => match args {
            [only] => match only.as_known() {
                Some(name) => {
                    let name = name.into_owned();
                    let text = evaluator.text_of(&name)?;
                    Some(line(text))
                }
                None => None,
            },
            _ => None,
        },
        _ => None,
    })
}

/// Directories of `PATH` that are searched.
const PATH_DIRECTORIES: usize = 32;

/// Where a program is found by its name.
pub(crate) fn on_path(evaluator: &mut Evaluator<'_>, name: &str) -> Eval<Option<String>> {
    if name.is_empty() || name.contains('/') {
        return Ok(None);
    }
    let path = evaluator.text_of("PATH")?;
    let Some(path) = path.as_known().map(std::borrow::Cow::into_owned) else { return Ok(None) };
    for directory in path.split(':').filter(|directory| directory.starts_with('/')).take(PATH_DIRECTORIES) {
        evaluator.tick(2)?;
        let candidate = normal_join(std::path::Path::new(directory), name);
        let (_, look) = look_through(&evaluator.world, &candidate);
        if matches!(look, Look::Found(meta) if meta.kind == super::world::Kind::File) {
            return Ok(Some(candidate.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

fn line(mut text: Abstract) -> Input {
    text.push_text("\n");
    Input::Text(text)
}

/// A word that is known only at run time, and holds no slash.
fn component(evaluator: &Evaluator<'_>) -> Abstract {
    Abstract::hole(Hole {
        cause: Rc::new(Cause::CommandOutput(evaluator.segment_text())),
        maybe_empty: false,
        component: true,
        born: false,
    })
}

/// The name of an object that was made just now.
fn born_text(what: &str) -> Abstract {
    Abstract::hole(Hole {
        cause: Rc::new(Cause::CommandOutput(what.into())),
        maybe_empty: false,
        component: false,
        born: true,
    })
}

fn only_word(args: &[Field]) -> Option<&str> {
    match args {
        [only] => match only.text.pieces.as_slice() {
            [super::value::Piece::Text(text)] => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The words that are no options. `with_value`: letters of options that take an argument of their own.
fn operands<'a>(args: &'a [Field], with_value: &str) -> Vec<&'a Field> {
    let mut found = Vec::new();
    let mut words = args.iter();
    let mut options = true;
    while let Some(field) = words.next() {
        let known = field.as_known();
        match known.as_deref() {
            Some("--") if options => options = false,
            Some(word) if options && word.len() > 1 && word.starts_with('-') => {
                if !word.starts_with("--") && word.ends_with(|c| with_value.contains(c)) {
                    words.next();
                }
            }
            _ => found.push(field),
        }
    }
    found
}

fn basename(args: &[Field]) -> Option<Abstract> {
    let words = operands(args, "s");
    let path = words.first()?;
    if path.glob.is_some() {
        return None;
    }
    let Some(known) = path.text.as_known() else {
        // Behind the last slash nothing else counts; and what is unknown is a name.
        if let Some(super::value::Piece::Text(tail)) = path.text.pieces.last()
            && let Some((_, name)) = tail.trim_end_matches('/').rsplit_once('/')
        {
            return Some(Abstract::known(name));
        }
        let cause = path.text.causes().next()?.clone();
        let hole = Hole { cause: Rc::new(cause), maybe_empty: true, component: true, born: false };
        return Some(Abstract::hole(hole));
    };
    let trimmed = known.trim_end_matches('/');
    if trimmed.is_empty() {
        return Some(if known.is_empty() { path.text.clone() } else { Abstract::known("/") });
    }
    let name = trimmed.rsplit('/').next().unwrap_or(trimmed);
    let suffix = words.get(1).and_then(|field| field.as_known());
    let name = match suffix {
        Some(suffix) if name != suffix => name.strip_suffix(&*suffix).unwrap_or(name),
        _ => name,
    };
    Some(Abstract::known(name))
}

fn dirname(args: &[Field]) -> Option<Abstract> {
    let path = *operands(args, "").first()?;
    if path.glob.is_some() {
        return None;
    }
    let Some(known) = path.text.as_known() else {
        let mut text = path.text.clone();
        if let Some(super::value::Piece::Text(tail)) = text.pieces.last_mut()
            && let Some((head, _)) = tail.trim_end_matches('/').rsplit_once('/')
        {
            *tail = head.into();
            return Some(text);
        }
        let cause = path.text.causes().next()?.clone();
        let hole = Hole { cause: Rc::new(cause), maybe_empty: false, component: false, born: false };
        return Some(Abstract::hole(hole));
    };
    let trimmed = known.trim_end_matches('/');
    if trimmed.is_empty() {
        return Some(Abstract::known(if known.is_empty() { "." } else { "/" }));
    }
    Some(match trimmed.rsplit_once('/') {
        None => Abstract::known("."),
        Some((head, _)) => {
            let head = head.trim_end_matches('/');
            Abstract::known(if head.is_empty() { "/" } else { head })
        }
    })
}

fn seq(args: &[Field]) -> Option<Abstract> {
    let numbers: Option<Vec<i64>> =
        args.iter().map(|field| field.as_known().and_then(|text| text.parse().ok())).collect();
    let (first, step, last) = match numbers?.as_slice() {
        [last] => (1, 1, *last),
        [first, last] => (*first, 1, *last),
        [first, step, last] if *step != 0 => (*first, *step, *last),
        _ => return None,
    };
    let count = (i128::from(last) - i128::from(first)) / i128::from(step) + 1;
    if count > 512 {
        return None;
    }
    let mut out = String::new();
    let mut at = first;
    for index in 0..count.max(0) {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&at.to_string());
        at = at.saturating_add(step);
    }
    Some(Abstract::known(&out))
}

/// `realpath`, `readlink -f`: the path, absolute and without `..`, if it is no link.
fn resolve(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) -> Option<Abstract> {
    let follows = name.ends_with("realpath")
        || args.iter().any(|field| {
            field.as_known().is_some_and(|word| matches!(&*word, "-f" | "-e" | "-m" | "--canonicalize"))
        });
    let words = operands(args, "");
    let [field] = words.as_slice() else { return None };
    let base = evaluator.state.cwd.clone();
    let path = evaluator.path_of(field, &base)?;
    if !follows {
        return evaluator.world.read_link(&path).map(|target| Abstract::known(&target.to_string_lossy()));
    }
    let (path, _) = look_through(&evaluator.world, &path);
    Some(Abstract::known(&path.to_string_lossy()))
}

/// `ls`: the names in a directory, all of them.
fn list(evaluator: &Evaluator<'_>, args: &[Field]) -> Option<Input> {
    let words = operands(args, "I");
    let long = args.iter().any(|field| {
        field
            .as_known()
            .is_some_and(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('l'))
    });
    if long {
        return None;
    }
    let lists_itself =
        |field: &Field| field.as_known().is_some_and(|word| word.starts_with('-') && word.contains('d'));
    // `ls -d a b` prints what it is given.
    let given: Option<Vec<_>> =
        words.iter().map(|word| if word.glob.is_none() { word.as_known() } else { None }).collect();
    if let Some(given) = given.filter(|given| !given.is_empty() && args.iter().any(lists_itself)) {
        return Some(Input::Text(Abstract::known(&(given.join("\n") + "\n"))));
    }
    let here = Field::literal(".");
    let roots: Vec<&Field> = if words.is_empty() { vec![&here] } else { words };
    let names = roots.into_iter().map(|root| {
        let itself = root.glob.is_some()
            || args.iter().any(|field| {
                field.as_known().is_some_and(|word| word.starts_with('-') && word.contains('d'))
            });
        let selection = Selection { contents_only: !itself, ..Selection::default() };
        Selected { root: root.clone(), selection }
    });
    let _ = evaluator;
    Some(Input::Names(names.collect()))
}

/// Whether a search reads a listing from its standard input.
fn reads_names(evaluator: &mut Evaluator<'_>, args: &[Field]) -> bool {
    operands(args, "efmABC").len() <= 1 && matches!(evaluator.standard_input(), Input::Names(_))
}

/// A search in a listing: what matches, or with `-v` what does not.
fn sieve(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) -> Option<Input> {
    let Input::Names(names) = evaluator.standard_input() else { return None };
    let inverted = args.iter().any(|field| {
        field.as_known().is_some_and(|word| {
            word == "--invert-match"
                || (word.starts_with('-') && !word.starts_with("--") && word.contains('v'))
        })
    });
    let filter = narrowed(name, args).filter;
    let names = names.into_iter().map(|mut selected| {
        let selection = &mut selected.selection;
        selection.filter = if selection.filter.is_empty() {
            filter.clone()
        } else {
            format!("{} | {filter}", selection.filter)
        };
        selection.narrow_by_name |= !inverted;
        selection.narrow_by_other |= inverted;
        selected
    });
    Some(Input::Names(names.collect()))
}

/// Searches that print the names of files.
fn search(name: &str, args: &[Field]) -> Option<Input> {
    let has = |options: &[&str]| {
        args.iter().any(|field| field.as_known().is_some_and(|word| options.contains(&&*word)))
    };
    let letters = |wanted: char| {
        args.iter().any(|field| {
            field.as_known().is_some_and(|word| {
                word.starts_with('-') && !word.starts_with("--") && word[1..].contains(wanted)
            })
        })
    };
    let files = has(&["--files"]);
    let listing = match name {
        "rg" | "ag" | "ack" if files => true,
        "rg" | "ag" | "ack" | "grep" | "egrep" | "fgrep" => {
            letters('l') || letters('L') || has(&["--files-with-matches", "--files-without-match"])
        }
        "fd" | "fdfind" => true,
        _ => {
            return Some(Input::Names(vec![Selected {
                root: Field::literal("/"),
                selection: narrowed(name, args),
            }]));
        }
    };
    if !listing {
        return None;
    }
    let words = operands(args, "eftgAmC");
    let roots = if files { &words[..] } else { words.get(1..).unwrap_or_default() };
    let here = Field::literal(".");
    let roots: Vec<&Field> = if roots.is_empty() { vec![&here] } else { roots.to_vec() };
    let selection =
        if files { Selection { contents_only: true, ..Selection::default() } } else { narrowed(name, args) };
    let names = roots.into_iter().map(|root| Selected { root: root.clone(), selection: selection.clone() });
    Some(Input::Names(names.collect()))
}

/// Files below a root that something other than their place selects.
fn narrowed(name: &str, args: &[Field]) -> Selection {
    let words: Vec<&str> = args.iter().map(|field| &*field.source).collect();
    Selection {
        filter: format!("{name} {}", words.join(" ")),
        narrow_by_other: true,
        contents_only: true,
        ..Selection::default()
    }
}

/// What git prints about places.
fn git(evaluator: &mut Evaluator<'_>, args: &[Field]) -> Option<Input> {
    let words: Vec<String> = args
        .iter()
        .map(|field| field.as_known().map(std::borrow::Cow::into_owned).unwrap_or_default())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["rev-parse", "--show-toplevel"] => {
            let Base::Known(cwd) = &evaluator.state.cwd else { return None };
            let cwd = cwd.clone();
            for dir in cwd.ancestors() {
                if !matches!(evaluator.world.look(&normal_join(dir, ".git")), Look::Absent) {
                    return Some(line(Abstract::known(&dir.to_string_lossy())));
                }
            }
            None
        }
        ["rev-parse", ..] | ["log", ..] | ["describe", ..] | ["symbolic-ref", ..] => None,
        ["branch", "--show-current"] => Some(line(component(evaluator))),
        ["ls-files", rest @ ..] | ["diff", "--name-only", rest @ ..] => {
            let filter = format!("git {}", words.join(" "));
            let selection = Selection {
                filter,
                narrow_by_name: false,
                narrow_by_other: !rest.is_empty(),
                names: Vec::new(),
                contents_only: true,
            };
            Some(Input::Names(vec![Selected { root: Field::literal("."), selection }]))
        }
        _ => None,
    }
}

/// Programs that change what they read.
fn filter(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) -> Eval<Option<Input>> {
    let files = match name {
        "tr" | "tee" => Vec::new(),
        "head" | "tail" => operands(args, "nc"),
        "cut" => operands(args, "dfcb"),
        "sort" => operands(args, "kto"),
        "base64" => operands(args, "w"),
        "xxd" => operands(args, "lcs"),
        _ => operands(args, ""),
    };
    let base = evaluator.state.cwd.clone();
    let mut inputs: Vec<Input> = Vec::new();
    if files.is_empty() {
        inputs.push(evaluator.standard_input());
    }
    for file in files {
        inputs.push(match &file.glob {
            None => evaluator.file_input(file, &base),
            Some(_) => Input::Unknown { from: file.source.clone(), network: false, decoded: false },
        });
    }
    if let [Input::Names(names)] = inputs.as_slice() {
        // A part of a listing, or all of it in another order.
        let narrowed = matches!(name, "head" | "tail");
        let names = names.iter().cloned().map(|mut selected| {
            selected.selection.narrow_by_other |= narrowed;
            selected
        });
        let hands_on = matches!(name, "cat" | "tac" | "sort" | "uniq" | "head" | "tail" | "tee");
        return Ok(hands_on.then(|| Input::Names(names.collect())));
    }
    let mut text = Abstract::default();
    for input in &inputs {
        match input {
            Input::Text(part) => text.push(part),
            Input::Unknown { network: true, .. } if name == "cat" => return Ok(Some(input.clone())),
            _ => return Ok(None),
        }
    }
    if matches!(name, "cat" | "tee") {
        let numbered = name == "cat"
            && args.iter().any(|field| field.as_known().is_some_and(|w| w.starts_with('-') && w.len() > 1));
        return Ok((!numbered).then_some(Input::Text(text)));
    }
    let Some(known) = text.as_known() else { return Ok(None) };
    evaluator.tick(1 + known.len() as u64 / 16)?;
    let changed = change(name, &known, args);
    Ok(changed.map(|text| Input::Text(Abstract::known(&text))))
}

fn change(name: &str, text: &str, args: &[Field]) -> Option<String> {
    let words: Option<Vec<String>> =
        args.iter().map(|field| field.as_known().map(std::borrow::Cow::into_owned)).collect();
    let words = words?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let join = |lines: Vec<&str>| lines.into_iter().map(|line| format!("{line}\n")).collect::<String>();
    match (name, words.as_slice()) {
        ("rev", []) => Some(text.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect()),
        ("tac", []) => Some(join(text.lines().rev().collect())),
        ("sort", []) => {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            Some(join(lines))
        }
        ("uniq", []) => {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.dedup();
            Some(join(lines))
        }
        ("head", _) => line_count(&words).map(|count| join(text.lines().take(count).collect())),
        ("tail", _) => {
            let count = line_count(&words)?;
            let lines: Vec<&str> = text.lines().collect();
            Some(join(lines[lines.len().saturating_sub(count)..].to_vec()))
        }
        ("cut", _) => cut(text, &words),
        ("tr", ["-d", set]) => {
            let set = tr_set(set)?;
            Some(text.chars().filter(|c| !set.contains(c)).collect())
        }
        ("tr", [from, to]) if !from.starts_with('-') => {
            let (from, to) = (tr_set(from)?, tr_set(to)?);
            let last = *to.last()?;
            let map = |c| from.iter().position(|&f| f == c).map_or(c, |at| *to.get(at).unwrap_or(&last));
            Some(text.chars().map(map).collect())
        }
        ("base64", _) if decodes(name, args) => decode_base64(text),
        ("xxd", ["-r", "-p"] | ["-p", "-r"] | ["-rp"] | ["-pr"]) => decode_hex(text),
        _ => None,
    }
}

fn line_count(words: &[&str]) -> Option<usize> {
    match words {
        [] => Some(10),
        ["-n", count] => count.parse().ok(),
        [only] => only.strip_prefix("-n").or_else(|| only.strip_prefix('-'))?.parse().ok(),
        _ => None,
    }
}

/// `cut -d X -f N`
fn cut(text: &str, words: &[&str]) -> Option<String> {
    let mut delimiter = '\t';
    let mut field = None;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if let Some(value) = word.strip_prefix("-d") {
            let value = if value.is_empty() { rest.next()? } else { value };
            delimiter = value.chars().next()?;
        } else if let Some(value) = word.strip_prefix("-f") {
            let value = if value.is_empty() { rest.next()? } else { value };
            field = Some(value.parse::<usize>().ok()?.checked_sub(1)?);
        } else {
            return None;
        }
    }
    let field = field?;
    let pick = |line: &str| match line.contains(delimiter) {
        true => line.split(delimiter).nth(field).unwrap_or("").to_owned(),
        false => line.to_owned(),
    };
    Some(text.lines().map(|line| pick(line) + "\n").collect())
}

/// A set of `tr`: ranges, classes and escapes.
fn tr_set(set: &str) -> Option<Vec<char>> {
    let set = match set {
        "[:upper:]" => "A-Z",
        "[:lower:]" => "a-z",
        "[:digit:]" => "0-9",
        "[:space:]" => " \\t\\n\\r",
        other => other,
    };
    let chars: Vec<char> = set.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = match chars[at] {
            '\\' => {
                at += 1;
                match chars.get(at)? {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    '0' => '\0',
                    c if c.is_ascii_digit() => return None,
                    c => *c,
                }
            }
            '[' if chars.get(at + 1) == Some(&':') => return None,
            c => c,
        };
        at += 1;
        if chars.get(at) == Some(&'-') && at + 1 < chars.len() {
            let end = chars[at + 1];
            if u32::from(end).saturating_sub(u32::from(c)) > 512 {
                return None;
            }
            out.extend(c..=end);
            at += 2;
        } else {
            out.push(c);
        }
    }
    Some(out)
}

fn decode_base64(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for c in text.bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' | b'\n' | b'\r' | b' ' => continue,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            // The low eight bits of what is shifted down.
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    String::from_utf8(bytes).ok()
}

fn decode_hex(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    // Two hex digits fit a byte.
    let bytes = digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
    String::from_utf8(bytes).ok()
}
