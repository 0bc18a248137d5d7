//! Filters that write their result to a file they are told, over what was there.

use crate::policy::effect::{Act, Follow};
use crate::programs::landing::is_device_name;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::{Call, Machine, Program, acts, table, words};
use crate::shell::value::Field;

/// One filter: its grammar, and where it is told the file.
struct Filter {
    name: &'static str,
    grammar: Grammar,
    /// The option, if it is one.
    option: &'static str,
    /// The operand (counted from zero), if it is one.
    operand: Option<usize>,
}

const fn with_option(name: &'static str, option: &'static str, grammar: Grammar) -> Filter {
    Filter { name, grammar, option, operand: None }
}

const FILTERS: &[Filter] = &[
    with_option(
        "sort",
        "output",
        Grammar::new(&[
            value("o", "output"),
            value("kStT", "key|buffer-size|field-separator|temporary-directory"),
            value("", "batch-size|compress-program|files0-from|parallel|random-source|sort"),
            flag("bdfgiMhnRrVCcmsuz", "reverse|unique|numeric-sort|stable|zero-terminated|merge|check"),
        ]),
    ),
    with_option(
        "shuf",
        "output",
        Grammar::new(&[
            value("o", "output"),
            value("in", "input-range|head-count|random-source"),
            flag("erz", "echo|repeat|zero-terminated"),
        ]),
    ),
    with_option(
        "iconv",
        "output",
        Grammar::new(&[value("o", "output"), value("ft", "from-code|to-code"), flag("csl", "")]),
    ),
    with_option(
        "pv",
        "output",
        Grammar::new(&[
            value("o", "output"),
            value("sLNHwiDFdBARPm", "size|rate-limit|name|height|width|interval|watchfd|format|buffer-size"),
            flag("ptebarTInqWflSECKVhcv", "progress|timer|eta|rate|quiet|wait|force|line-mode|stop-at-size"),
        ]),
    ),
    with_option(
        "age",
        "output",
        Grammar::new(&[value("o", "output"), value("riRj", "recipient|identity"), flag("edap", "")]),
    ),
    with_option(
        "gpg",
        "output",
        Grammar::new(&[value("o", "output"), value("rukN", "recipient|local-user"), flag("deacsbvqt", "")]),
    ),
    Filter {
        name: "patch",
        grammar: Grammar::new(&[
            value("o", "output"),
            value("pFidDBVxrYzg", "strip|fuzz|input|directory|ifdef|prefix|reject-file|suffix|get"),
            flag(
                "bcCeEflnNRstTuZv",
                "backup|context|ed|force|forward|reverse|batch|silent|unified|binary|posix",
            ),
            flag("", "dry-run"),
        ]),
        option: "output",
        operand: Some(0),
    },
    Filter {
        name: "uniq",
        grammar: Grammar::new(&[
            value("fsw", "skip-fields|skip-chars|check-chars"),
            optional("D", "all-repeated|group"),
            flag("cdiuz", "count|repeated|ignore-case|unique|zero-terminated"),
        ]),
        option: "",
        operand: Some(1),
    },
];

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("sort", filter),
    ("shuf", filter),
    ("iconv", filter),
    ("pv", filter),
    ("age", filter),
    ("uniq", filter),
    ("gpg", filter),
    ("gpg2", filter),
    ("patch", filter),
    ("gcc", builder),
    ("g++", builder),
    ("cc", builder),
    ("c++", builder),
    ("clang", builder),
    ("clang++", builder),
    ("ld", builder),
    ("rustc", builder),
    ("go", builder),
    ("pandoc", builder),
    ("dot", builder),
    ("xsltproc", builder),
    ("ffmpeg", converter),
];

/// Compilers and the like: of their many options only the one that names the result matters.
fn builder(call: &Call<'_>, machine: &mut dyn Machine) {
    const JOINED: &str = "--output=";
    // `go -o` is nothing, `go build -o FILE` is.
    for (at, arg) in call.args.iter().enumerate() {
        match words::lead(&arg.text) {
            option if matches!(&*option, "-o" | "--output") => {
                if let Some(file) = call.args.get(at + 1) {
                    write(machine, file);
                }
            }
            option if option.starts_with(JOINED) => write(machine, &words::without_prefix(arg, JOINED.len())),
            _ => {}
        }
    }
}

/// ffmpeg(1): with `-y` what the last word names is overwritten without a question.
fn converter(call: &Call<'_>, machine: &mut dyn Machine) {
    let overwrites = call.args.iter().any(|arg| arg.as_known().as_deref() == Some("-y"));
    if let Some(file) =
        call.args.last().filter(|file| overwrites && !words::lead(&file.text).starts_with('-'))
    {
        write(machine, file);
    }
}

fn filter(call: &Call<'_>, machine: &mut dyn Machine) {
    let name = table::canonical(call.name);
    let Some(filter) = FILTERS.iter().find(|filter| filter.name == name) else { return };
    let parsed = filter.grammar.read(call.args);
    if parsed.informs() || parsed.has("dry-run") {
        return;
    }
    let operand = filter.operand.and_then(|place| parsed.operands.get(place).copied());
    if let Some(file) = parsed.value(filter.option).or(operand) {
        write(machine, file);
    }
}

/// The result takes the place of what the file held.
fn write(machine: &mut dyn Machine, file: &Field) {
    if is_device_name(file) {
        acts::overwrite(machine, file);
    } else {
        acts::path(machine, Act::Replace, file, Follow::Last);
    }
    acts::creates(machine, file);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    #[test]
    fn the_file_of_the_result_is_overwritten() {
        let told = |line| Recorder::default().call(filter, line).told();
        assert_eq!(told("sort -u -o f f"), ["replace f"]);
        assert_eq!(told("sort --output=/dev/sda f"), ["device /dev/sda"]);
        assert_eq!(told("uniq -c a b"), ["replace b"]);
        assert!(told("sort f").is_empty());
        assert!(told("uniq a").is_empty());
        assert_eq!(told("gpg -o x -d y"), ["replace x"]);
        assert_eq!(told("patch -p1 f x.patch"), ["replace f"]);
        assert!(told("patch -p1 --dry-run f x.patch").is_empty());
        assert!(told("patch -p1 -i x.patch").is_empty());
    }

    #[test]
    fn the_result_of_a_compiler_is_written_where_it_is_told() {
        let told = |program: Program, line| Recorder::default().call(program, line).told();
        assert_eq!(told(builder, "gcc -O2 -Wall -o x a.c"), ["replace x"]);
        assert_eq!(told(builder, "go build -o x ."), ["replace x"]);
        assert_eq!(told(builder, "pandoc a.md --output=x"), ["replace x"]);
        assert!(told(builder, "gcc -c a.c").is_empty());
        assert_eq!(told(converter, "ffmpeg -y -i a b"), ["replace b"]);
        assert!(told(converter, "ffmpeg -i a b").is_empty());
    }
}
