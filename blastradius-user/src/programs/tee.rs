//! tee(1): writes its input to files.

use crate::policy::effect::{Act, Follow};
use crate::programs::options::{Grammar, flag, optional};
use crate::programs::{Call, Machine, Program, acts};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[("tee", tee)];

static TEE: Grammar = Grammar::new(&[
    flag("a", "append"),
    flag("i", "ignore-interrupts"),
    flag("p", ""),
    optional("", "output-error"),
]);

fn tee(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = TEE.read(call.args);
    if parsed.informs() {
        return;
    }
    write_all(machine, &parsed.operands, parsed.has("append"));
    // What goes through is what came in: `echo 'rm -rf /' | tee log | sh`.
    let input = machine.stdin();
    machine.print(input);
}

/// Each operand is written anew, or appended to.
pub fn write_all(machine: &mut dyn Machine, operands: &[&Field], append: bool) {
    for operand in operands {
        let act = if append { Act::Append } else { Act::Truncate };
        acts::path(machine, act, operand, Follow::Last);
        acts::creates(machine, operand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::Input;
    use crate::programs::testing::Recorder;
    use crate::shell::value::Abstract;

    #[test]
    fn tee_truncates_and_with_a_appends() {
        assert_eq!(Recorder::default().call(tee, "tee a b").told(), ["truncate a", "truncate b"]);
        assert_eq!(Recorder::default().call(tee, "tee -ia a").told(), ["append a"]);
        assert!(Recorder::default().call(tee, "tee").told().is_empty());
    }

    #[test]
    fn tee_passes_its_input_on() {
        let text = Input::Text(Abstract::known("x\n"));
        let recorder = Recorder::default().stdin(text.clone()).call(tee, "tee log");
        assert_eq!(recorder.printed, Some(text));
        assert_eq!(recorder.created, ["log"]);
    }
}
