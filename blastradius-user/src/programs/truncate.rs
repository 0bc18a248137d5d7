//! Programs that cut or overwrite the files they are given: truncate(1), fallocate(1), sponge(1), split(1), csplit(1).

use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::{Call, Machine, Program, acts};

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] =
    &[("truncate", truncate), ("fallocate", fallocate), ("sponge", sponge)];

static TRUNCATE: Grammar = Grammar::new(&[
    flag("c", "no-create"),
    flag("o", "io-blocks"),
    value("r", "reference"),
    value("s", "size"),
]);

fn truncate(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = TRUNCATE.read(call.args);
    if parsed.informs() {
        return;
    }
    // `-s +N` and `-s >N` (at least) only extend.
    let extends = parsed.known("size").is_some_and(|size| size.trim_start().starts_with(['+', '>']));
    for operand in &parsed.operands {
        if !extends {
            acts::overwrite(machine, operand);
        }
        if !parsed.has("no-create") {
            acts::creates(machine, operand);
        }
    }
}

static FALLOCATE: Grammar = Grammar::new(&[
    flag("c", "collapse-range"),
    flag("p", "punch-hole"),
    flag("z", "zero-range"),
    flag("i", "insert-range"),
    flag("w", "write-zeroes"),
    flag("d", "dig-holes"),
    flag("n", "keep-size"),
    flag("x", "posix"),
    flag("v", "verbose"),
    value("l", "length"),
    value("o", "offset"),
    flag("h", "help"),
    flag("V", "version"),
]);

fn fallocate(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = FALLOCATE.read(call.args);
    if parsed.informs() {
        return;
    }
    // Plain allocation and digging holes where there are zeroes keep what is there.
    let destroys =
        parsed.has_any(&["collapse-range", "punch-hole", "zero-range", "insert-range", "write-zeroes"]);
    for operand in &parsed.operands {
        if destroys {
            acts::overwrite(machine, operand);
        } else {
            acts::creates(machine, operand);
        }
    }
}

static SPONGE: Grammar = Grammar::new(&[flag("a", ""), optional("h", "help")]);

fn sponge(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SPONGE.read(call.args);
    if parsed.informs() {
        return;
    }
    super::tee::write_all(machine, &parsed.operands, parsed.has("a"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(program: Program, line: &str) -> Vec<String> {
        Recorder::default().call(program, line).told()
    }

    #[test]
    fn cutting_destroys_and_extending_does_not() {
        assert_eq!(told(truncate, "truncate -s 0 a b"), ["device a", "device b"]);
        assert_eq!(told(truncate, "truncate --size=-10 a"), ["device a"]);
        assert!(told(truncate, "truncate -s +10 a").is_empty());
        assert!(told(truncate, "truncate --version").is_empty());
    }

    #[test]
    fn allocation_keeps_content_and_punching_does_not() {
        assert!(told(fallocate, "fallocate -l 1G disk.img").is_empty());
        assert_eq!(told(fallocate, "fallocate -p -l 1G /dev/sda"), ["device /dev/sda"]);
        assert_eq!(told(fallocate, "fallocate --zero-range -o 0 -l 4k f"), ["device f"]);
    }

    #[test]
    fn sponge_replaces_its_file() {
        assert_eq!(told(sponge, "sponge a"), ["truncate a"]);
        assert_eq!(told(sponge, "sponge -a a"), ["append a"]);
    }
}
