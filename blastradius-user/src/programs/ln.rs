//! ln(1): a link takes over a name only where it is forced to.

use crate::policy::effect::{Act, Follow};
use crate::programs::landing::Landing;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::{Call, Machine, Program, acts, words};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[("ln", ln), ("link", link)];

/// ln(1) of coreutils; `h` and `F` are the BSDs'.
static LN: Grammar = Grammar::new(&[
    optional("", "backup"),
    flag("b", ""),
    flag("dF", "directory"),
    flag("f", "force"),
    flag("i", "interactive"),
    flag("L", "logical"),
    flag("nh", "no-dereference"),
    flag("P", "physical"),
    flag("r", "relative"),
    flag("s", "symbolic"),
    value("S", "suffix"),
    value("t", "target-directory"),
    flag("T", "no-target-directory"),
    flag("v", "verbose"),
]);

fn ln(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = LN.read(call.args);
    if parsed.informs() {
        return;
    }
    let here = Field::literal(".");
    let mut operands = parsed.operands.clone();
    // With one operand the link is made in the working directory.
    if operands.len() == 1 && parsed.value("target-directory").is_none() {
        operands.push(&here);
    }
    // `-n` takes a link to a directory for what it is; a directory that is spelled as one stays a directory.
    let spelled = operands.last().is_some_and(|last| words::ends_with_slash(&last.text));
    let exact = parsed.has("no-target-directory") || parsed.has("no-dereference") && !spelled;
    let exact = exact && operands.len() == 2 && !std::ptr::eq(operands[1], &raw const here);
    let directory = parsed.value("target-directory");
    let Some(landing) = Landing::new(machine, &operands, directory, exact) else { return };
    let replaces = parsed.has_any(&["force", "interactive", "b", "backup"]) || parsed.maybe_options;
    for landed in landing.names(machine) {
        if replaces {
            acts::path(machine, Act::Replace, &landed.name, Follow::Never);
        }
        // What is reached through a symbolic link is not made with it.
        if parsed.has("symbolic") {
            machine.links(&landed.name, &landed.source);
        } else {
            acts::creates(machine, &landed.name);
        }
    }
}

static LINK: Grammar = Grammar::new(&[]);

/// link(1) never replaces.
fn link(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = LINK.read(call.args);
    if let ([_, name], false) = (parsed.operands.as_slice(), parsed.informs()) {
        acts::creates(machine, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> Vec<String> {
        Recorder::default().directory("d").link("l", "d").call(ln, line).told()
    }

    #[test]
    fn only_a_forced_link_replaces() {
        assert!(told("ln -s a b").is_empty());
        assert_eq!(told("ln -sf a b"), ["replace b"]);
        assert_eq!(told("ln --force a b"), ["replace b"]);
        assert_eq!(told("ln -sf ../x/a"), ["replace ./a"]);
    }

    #[test]
    fn a_symbolic_link_leads_elsewhere() {
        let recorder = Recorder::default().call(ln, "ln -s /home build");
        assert!(recorder.created.is_empty());
        assert_eq!(recorder.linked, ["build -> /home"]);
    }

    #[test]
    fn a_link_to_a_directory_is_replaced_only_with_n_or_upper_t() {
        assert_eq!(told("ln -sf x/a l"), ["replace l/a"]);
        assert_eq!(told("ln -sfn x/a l"), ["replace l"]);
        assert_eq!(told("ln -sfT /dev/null /etc"), ["replace /etc"]);
        assert_eq!(told("ln -sfn x/a d/"), ["replace d/a"]);
        assert_eq!(told("ln -sf -t d a b"), ["replace d/a", "replace d/b"]);
    }
}
