//! Filters that write their result to a file they are told, over what was there.

use crate::policy::effect::{Act, Follow};
use crate::programs::landing::is_device_name;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::{Call, Machine, Program, acts, table};
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
];

fn filter(call: &Call<'_>, machine: &mut dyn Machine) {
    let name = table::canonical(call.name);
    let Some(filter) = FILTERS.iter().find(|filter| filter.name == name) else { return };
    let parsed = filter.grammar.read(call.args);
    if parsed.informs() {
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
    }
}
