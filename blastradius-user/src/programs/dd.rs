//! dd(1) and its relatives: operands are `name=value`.

use crate::policy::effect::{Act, Follow};
use crate::programs::{Call, Machine, Program, acts, words};

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[("dd", dd), ("dcfldd", dd), ("dc3dd", dd), ("ddrescue", ddrescue)];

/// Operands whose value is a file that is written.
const OUTPUTS: &[&str] = &["of=", "hof=", "ofs=", "wipe="];

fn dd(call: &Call<'_>, machine: &mut dyn Machine) {
    let is = |word: &str| call.args.iter().any(|field| field.as_known().as_deref() == Some(word));
    if is("--help") || is("--version") {
        return;
    }
    let has_value = |name: &str, value: &str| {
        call.args.iter().filter_map(|field| field.as_known()).any(|word| {
            word.strip_prefix(name).is_some_and(|values| values.split(',').any(|given| given == value))
        })
    };
    let appends = has_value("oflag=", "append") && has_value("conv=", "notrunc");
    for field in call.args {
        let lead = words::lead(&field.text);
        let Some(name) = OUTPUTS.iter().find(|name| lead.starts_with(**name)) else { continue };
        // `of=/dev/sd?` is a word to the shell and a pattern to no one: dd is handed what it matches, if anything.
        let output = words::without_prefix(field, name.len());
        let act = if appends { Act::Append } else { Act::Device };
        acts::path(machine, act, &output, Follow::Last);
        acts::creates(machine, &output);
    }
}

/// ddrescue(1): INFILE OUTFILE [MAPFILE].
fn ddrescue(call: &Call<'_>, machine: &mut dyn Machine) {
    use crate::programs::options::{Grammar, flag, value};
    static DDRESCUE: Grammar = Grammar::new(&[
        value("abBcdeEHiIJKLmoOrsStTxXZ", "sector-size|input-position|size|retry-passes"),
        flag("AdDfFMnNpPqRuvyCG", "force"),
        flag("h", "help"),
        flag("V", "version"),
    ]);
    let parsed = DDRESCUE.read(call.args);
    if let (Some(output), false) = (parsed.operands.get(1), parsed.informs()) {
        acts::overwrite(machine, output);
        acts::creates(machine, output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> Vec<String> {
        Recorder::default().call(dd, line).told()
    }

    #[test]
    fn the_output_file_is_overwritten() {
        assert_eq!(told("dd if=/dev/zero of=/dev/sda bs=1M"), ["device /dev/sda"]);
        assert_eq!(told("dd of=/dev/sd*"), ["device /dev/sd*"]);
        assert_eq!(told("dd of=out conv=notrunc oflag=append"), ["append out"]);
    }

    #[test]
    fn reading_writes_nothing() {
        assert!(told("dd if=/dev/sda bs=1M count=1").is_empty());
        assert!(told("dd --help of=x").is_empty());
    }

    #[test]
    fn rescue_writes_its_second_operand() {
        assert_eq!(
            Recorder::default().call(ddrescue, "ddrescue -f /dev/a /dev/b map").told(),
            ["device /dev/b"]
        );
    }
}
