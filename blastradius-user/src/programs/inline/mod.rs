//! Inline code of interpreters: `-c`, `-e`, here-documents and script files, read for their plain deletion calls and for
//! what they have a shell run.
//!
//! `lexer` tells code from strings and comments, `reader` follows values, `calls` carries out what calls mean, and
//! `tables` holds the languages.

mod awk;
mod calls;
mod language;
mod lexer;
mod reader;
mod tables;
mod value;

use std::path::PathBuf;
use std::rc::Rc;

use blastradius_common::RuleId;

use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::verbs::word;
use crate::programs::{Call, Input, Machine, Program, Surroundings, acts, databases};
use crate::shell::value::{Abstract, Field};
use crate::shell::world::{Kind, Look};
use language::Language;

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("python", python),
    ("python2", python),
    ("python3", python),
    ("python2.7", python),
    ("python3.8", python),
    ("python3.9", python),
    ("python3.10", python),
    ("python3.11", python),
    ("python3.12", python),
    ("python3.13", python),
    ("python3.14", python),
    ("pypy", python),
    ("pypy3", python),
    ("ipython", python),
    ("ipython3", python),
    ("node", node),
    ("nodejs", node),
    ("tsx", node),
    ("ts-node", node),
    ("deno", deno),
    ("perl", perl),
    ("ruby", ruby),
    ("php", php),
    ("lua", lua),
    ("luajit", lua),
    ("Rscript", r),
    ("R", r),
    ("julia", julia),
    ("elixir", elixir),
    ("iex", elixir),
    ("awk", awk::awk),
    ("gawk", awk::awk),
    ("mawk", awk::awk),
    ("nawk", awk::awk),
];

/// Code on the command line.
fn runs(code: &Abstract, language: &'static Language, args: &[Field], machine: &mut dyn Machine) {
    if code.has_hole() && code.known_prefix().trim().is_empty() {
        return unknown_code(machine, "runs code that is known only at run time");
    }
    reader::read(code, language, args, None, machine);
}

fn unknown_code(machine: &mut dyn Machine, what: &'static str) {
    acts::thing(machine, RuleId::UnknownCode, what, "");
}

/// Code on standard input.
fn runs_stdin(language: &'static Language, args: &[Field], machine: &mut dyn Machine) {
    match machine.stdin() {
        Input::Text(code) => runs(&code, language, args, machine),
        Input::Unknown { network: true, from, .. } => {
            acts::thing(
                machine,
                RuleId::NetworkCode,
                "runs code straight from the network",
                from.to_string(),
            );
        }
        Input::Unknown { from, .. } => {
            acts::thing(
                machine,
                RuleId::UnknownCode,
                "runs code that is known only at run time",
                from.to_string(),
            );
        }
        Input::Inherited | Input::Names(_) => {}
    }
}

/// A script file, where it can be read.
fn runs_file(file: &Field, language: &'static Language, args: &[Field], machine: &mut dyn Machine) {
    let Some(code) = machine.read_file(file) else { return };
    if code.has_hole() && code.known_prefix().trim().is_empty() {
        return unknown_code(machine, "runs code that is known only at run time");
    }
    // Behind a link, the code finds itself where that leads or where it stands, as it asks.
    let is_file =
        |path: &PathBuf| !matches!(machine.world().look(path), Look::Found(meta) if meta.kind == Kind::Link);
    let place = acts::location(file, &machine.cwd()).filter(is_file);
    reader::read(
        &code,
        language,
        args,
        Some(reader::Script { source: Rc::clone(&file.source), place }),
        machine,
    );
}

/// What follows the options: a script and its arguments, `-`, or nothing.
fn runs_rest(rest: &[Field], language: &'static Language, machine: &mut dyn Machine) {
    match rest.split_first() {
        Some((script, args)) if word(script) == "-" => runs_stdin(language, args, machine),
        Some((script, args)) => runs_file(script, language, args, machine),
        None => runs_stdin(language, &[], machine),
    }
}

/// python(1): options end at `-c CODE`, `-m MODULE`, the script or `-`.
fn python(call: &Call<'_>, machine: &mut dyn Machine) {
    let mut place = 0;
    while let Some(arg) = call.args.get(place) {
        let known = word(arg).into_owned();
        let rest = || call.args.get(place + 1..).unwrap_or_default();
        if matches!(known.as_str(), "--help" | "--version" | "-h" | "-V" | "-VV" | "-?") {
            return;
        }
        if known.starts_with("--") || !known.starts_with('-') || known == "-" {
            break;
        }
        match known.find(['c', 'm', 'W', 'X']) {
            Some(letter) => {
                let glued = crate::programs::words::without_prefix(arg, letter + 1);
                let value = if letter + 1 < known.len() || arg.text.has_hole() {
                    Some((glued, rest()))
                } else {
                    rest().split_first().map(|(value, rest)| (value.clone(), rest))
                };
                let Some((value, rest)) = value else { return };
                match known.as_bytes().get(letter) {
                    Some(b'c') => return runs(&value.text, &tables::PYTHON, rest, machine),
                    Some(b'm') => return module(&word(&value), rest, machine),
                    _ => place = call.args.len() - rest.len(),
                }
            }
            None => place += 1,
        }
    }
    let rest = call.args.get(place..).unwrap_or_default();
    if let Some((script, args)) = rest.split_first()
        && word(script).rsplit('/').next() == Some("manage.py")
    {
        databases::framework("django-admin", args, machine);
    }
    runs_rest(rest, &tables::PYTHON, machine);
}

/// `python -m MODULE`: modules that are programs of their own.
fn module(name: &str, args: &[Field], machine: &mut dyn Machine) {
    const PROGRAMS: &[&str] =
        &["pip", "pipx", "uv", "twine", "flit", "poetry", "hatch", "pdm", "alembic", "ansible"];
    if PROGRAMS.contains(&name) {
        let mut argv = vec![Field::literal(name)];
        argv.extend_from_slice(args);
        return machine.run_argv(argv, Surroundings::default());
    }
    // venv: `--clear` empties the directory first.
    if matches!(name, "venv" | "virtualenv") && args.iter().any(|arg| word(arg) == "--clear") {
        for directory in args.iter().filter(|arg| !word(arg).starts_with('-')) {
            acts::remove(machine, directory, true);
        }
    }
}

static NODE: Grammar = Grammar::new(&[
    value("e", "eval"),
    value("p", "print"),
    value("r", "require"),
    value("C", "conditions"),
    value(
        "",
        "import|loader|experimental-loader|env-file|input-type|title|project|compiler-options|tsconfig",
    ),
    flag("c", "check"),
    flag("h", "help"),
    flag("v", "version"),
    flag("i", "interactive"),
    flag("T", "transpile-only"),
    flag("", "watch|test|inspect|no-warnings|trace-warnings"),
])
.in_order()
.exact();

/// node(1), and runners with its options.
fn node(call: &Call<'_>, machine: &mut dyn Machine) {
    // `-pe CODE` prints the value of CODE.
    let args: Vec<Field> = call
        .args
        .iter()
        .map(|arg| if word(arg) == "-pe" { Field::literal("-e") } else { arg.clone() })
        .collect();
    let parsed = NODE.read(&args);
    if parsed.has_any(&["check", "help", "version"]) {
        return;
    }
    let code: Vec<Field> = parsed.values("eval").chain(parsed.values("print")).cloned().collect();
    if code.is_empty() {
        return runs_rest(parsed.rest, &tables::JAVASCRIPT, machine);
    }
    for code in code {
        runs(&code.text, &tables::JAVASCRIPT, parsed.rest, machine);
    }
}

/// deno(1): `eval CODE`, `run FILE`.
fn deno(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("c", "config"),
        value("", "import-map|lock|seed|ext|cert|location|env-file"),
        flag("A", "allow-all"),
        flag("p", "print"),
        flag("q", "quiet"),
        flag("r", "reload"),
    ])
    .in_order()
    .exact();
    let Some((verb, rest)) = call.args.split_first() else { return };
    let parsed = GRAMMAR.read(rest);
    match &*word(verb) {
        "eval" => {
            if let Some((code, args)) = parsed.rest.split_first() {
                runs(&code.text, &tables::JAVASCRIPT, args, machine);
            }
        }
        "run" => runs_rest(parsed.rest, &tables::JAVASCRIPT, machine),
        "task" => crate::programs::recipes::deno_task(rest, machine),
        _ => {}
    }
}

static PERL: Grammar = Grammar::new(&[
    value("eE", ""),
    value("M", ""),
    value("m", ""),
    value("I", ""),
    optional("i", ""),
    // `-l` and `-0` take octal digits, and other letters may follow: `-le CODE`.
    flag("l01234567", ""),
    optional("F", ""),
    optional("d", ""),
    optional("D", ""),
    optional("C", ""),
    optional("x", ""),
    flag("c", ""),
    flag("v", ""),
    flag("V", ""),
    flag("n", ""),
    flag("p", ""),
    flag("h", ""),
    flag("aswWXtTuUSf", ""),
])
.in_order()
.exact();

/// perl(1).
fn perl(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = PERL.read(call.args);
    if parsed.has_any(&["c", "v", "V", "h"]) {
        return;
    }
    if parsed.has("i") {
        edits_in_place(&parsed, machine);
    }
    let mut code = Abstract::default();
    for module in parsed.values("M") {
        code.push_text(&perl_use(&word(module)));
    }
    runs_joined(&parsed, code, &tables::PERL, machine);
}

/// `-MFile::Path=rmtree,mkpath` is `use File::Path qw(rmtree mkpath);`.
fn perl_use(module: &str) -> String {
    let (name, imports) = module.split_once('=').unwrap_or((module, ""));
    let name = name.trim_matches([' ', '-']);
    format!("use {name} qw({});\n", imports.replace(',', " "))
}

/// `-e CODE -e CODE`, behind `lead`; else the script. The operands are the code's arguments.
fn runs_joined(parsed: &Parsed<'_>, lead: Abstract, language: &'static Language, machine: &mut dyn Machine) {
    let mut code = lead;
    let mut given = false;
    for text in parsed.values("e") {
        given = true;
        code.push(&text.text);
        code.push_text("\n");
    }
    if given {
        runs(&code, language, parsed.rest, machine);
    } else {
        runs_rest(parsed.rest, language, machine);
    }
}

/// `-i`: every operand is edited in place.
fn edits_in_place(parsed: &Parsed<'_>, machine: &mut dyn Machine) {
    // Without code the first operand is the script.
    let files = if parsed.has("e") { parsed.rest } else { parsed.rest.get(1..).unwrap_or_default() };
    for file in files {
        acts::path(machine, crate::policy::effect::Act::Replace, file, crate::policy::effect::Follow::Last);
    }
}

static RUBY: Grammar = Grammar::new(&[
    value("e", ""),
    value("r", "require"),
    value("I", ""),
    value("C", ""),
    value("E", "encoding"),
    optional("i", ""),
    flag("01234567", ""),
    optional("F", ""),
    optional("K", ""),
    optional("T", ""),
    optional("W", ""),
    optional("x", ""),
    flag("c", ""),
    flag("v", "verbose"),
    flag("h", ""),
    flag("anplswSUdy", "yydebug"),
])
.in_order()
.exact();

/// ruby(1).
fn ruby(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = RUBY.read(call.args);
    if parsed.has_any(&["c", "h"]) || parsed.informs() {
        return;
    }
    if parsed.has("i") {
        edits_in_place(&parsed, machine);
    }
    runs_joined(&parsed, Abstract::default(), &tables::RUBY, machine);
}

/// php(1): `-r CODE`, `-B`, `-R` and `-E` around lines of input, `-f FILE`, or a script.
fn php(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("r", "run"),
        value("B", "process-begin"),
        value("R", "process-code"),
        value("E", "process-end"),
        value("f", "file"),
        value("F", "process-file"),
        value("c", "php-ini"),
        value("d", "define"),
        value("S", "server"),
        value("t", "docroot"),
        value("z", "zend-extension"),
        flag("l", "syntax-check"),
        flag("h", "help"),
        flag("v", "version"),
        flag("i", "info"),
        flag("m", "modules"),
        flag("nqaHsw", "interactive"),
    ])
    .in_order()
    .exact();
    let parsed = GRAMMAR.read(call.args);
    if parsed.has_any(&["syntax-check", "help", "version", "info", "modules", "server"]) {
        return;
    }
    let codes: Vec<Field> = ["run", "process-begin", "process-code", "process-end"]
        .iter()
        .flat_map(|name| parsed.values(name))
        .cloned()
        .collect();
    for code in &codes {
        runs(&code.text, &tables::PHP, parsed.rest, machine);
    }
    if let Some(file) = parsed.value("file") {
        return runs_file(&file.clone(), &tables::PHP, parsed.rest, machine);
    }
    if let Some((script, args)) = parsed.rest.split_first().filter(|_| codes.is_empty()) {
        if word(script).rsplit('/').next() == Some("artisan") {
            databases::framework("artisan", args, machine);
        }
        runs_file(script, &tables::PHP, args, machine);
    } else if codes.is_empty() {
        runs_stdin(&tables::PHP, &[], machine);
    }
}

/// lua(1).
fn lua(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar =
        Grammar::new(&[value("e", ""), value("l", ""), flag("i", ""), flag("v", ""), flag("EW", "")])
            .in_order()
            .exact();
    let parsed = GRAMMAR.read(call.args);
    let codes: Vec<Field> = parsed.values("e").cloned().collect();
    for code in &codes {
        runs(&code.text, &tables::LUA, parsed.rest, machine);
    }
    if codes.is_empty() && !parsed.has("v") || !parsed.rest.is_empty() {
        runs_rest(parsed.rest, &tables::LUA, machine);
    }
}

/// julia(1): `-e CODE`, `-E CODE`, or a script.
fn julia(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("eE", "eval|print"),
        value("LJtpCO", "load|sysimage|threads|procs"),
        optional("", "project|optimize"),
        flag("iqv", "quiet|banner|history-file"),
    ])
    .in_order();
    evaluated(&GRAMMAR, &tables::JULIA, call, machine);
}

/// elixir(1), iex(1): `-e CODE`, `--eval CODE`, or a script.
fn elixir(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("e", "eval"),
        value("rSp", "require|app|erl|cookie|name|sname|pa|pz"),
        flag("v", "no-halt|logger-otp-reports"),
    ])
    .in_order();
    evaluated(&GRAMMAR, &tables::ELIXIR, call, machine);
}

/// An interpreter whose option `eval` holds code, or else whose first operand is a script.
fn evaluated(grammar: &Grammar, language: &'static Language, call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = grammar.read(call.args);
    if parsed.informs() {
        return;
    }
    let codes: Vec<Field> = parsed.values("eval").cloned().collect();
    for code in &codes {
        runs(&code.text, language, parsed.rest, machine);
    }
    if codes.is_empty() {
        runs_rest(parsed.rest, language, machine);
    }
}

/// Rscript(1), R(1): `-e CODE`, `-f FILE`, or a script.
fn r(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("e", ""),
        value("f", "file"),
        value("", "default-packages|encoding|gui|args"),
        flag("", "vanilla|slave|quiet|no-save|no-restore|no-echo|verbose"),
    ])
    .in_order();
    let parsed = GRAMMAR.read(call.args);
    let codes: Vec<Field> = parsed.values("e").cloned().collect();
    for code in &codes {
        runs(&code.text, &tables::R, parsed.rest, machine);
    }
    match (parsed.value("file").cloned(), parsed.rest.split_first()) {
        (Some(file), _) => runs_file(&file, &tables::R, parsed.rest, machine),
        (None, Some((script, args))) if codes.is_empty() => runs_file(script, &tables::R, args, machine),
        (None, None) if codes.is_empty() => runs_stdin(&tables::R, &[], machine),
        (None, _) => {}
    }
}

/// Code of JavaScript for other runtimes: `bun -e CODE`, `bun FILE`.
pub(crate) fn javascript(code: &Abstract, args: &[Field], machine: &mut dyn Machine) {
    runs(code, &tables::JAVASCRIPT, args, machine);
}

/// A file of JavaScript for other runtimes.
pub(crate) fn javascript_file(file: &Field, args: &[Field], machine: &mut dyn Machine) {
    runs_file(file, &tables::JAVASCRIPT, args, machine);
}

#[cfg(test)]
mod tests;
