//! Shells as programs: `sh -c TEXT`, `bash script.sh`, and text on standard input.

use std::rc::Rc;

use blastradius_common::RuleId;

use crate::programs::options::{Grammar, Parsed, flag, value};
use crate::programs::{Call, Dialect, Input, Machine, Program, Surroundings, acts};
use crate::shell::value::{Abstract, Field};

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("sh", sh),
    ("dash", sh),
    ("ash", sh),
    ("posh", sh),
    ("yash", sh),
    ("bash", bash),
    ("rbash", bash),
    ("ksh", bash),
    ("ksh93", bash),
    ("mksh", bash),
    ("oksh", bash),
    ("fish", bash),
    ("csh", bash),
    ("tcsh", bash),
    ("zsh", zsh),
];

fn sh(call: &Call<'_>, machine: &mut dyn Machine) {
    shell(call, machine, Dialect::Posix);
}

fn bash(call: &Call<'_>, machine: &mut dyn Machine) {
    shell(call, machine, Dialect::Bash);
}

fn zsh(call: &Call<'_>, machine: &mut dyn Machine) {
    shell(call, machine, Dialect::Zsh);
}

/// bash(1), "OPTIONS". `-c` takes no argument itself: the text is the first operand, behind all options.
static SHELL: Grammar = Grammar::new(&[
    flag("c", "command"),
    flag("s", "stdin"),
    flag("n", "noexec|no-execute"),
    flag("e", "errexit"),
    flag("u", "nounset"),
    flag("f", "noglob"),
    flag("i", "interactive"),
    flag("l", "login"),
    value("o", ""),
    value("O", ""),
    value("", "rcfile"),
    value("", "init-file"),
    flag(
        "abhkmprtvxBCDEHPTX",
        "posix|norc|noprofile|noediting|restricted|verbose|debugger|dump-strings|no-rcs",
    ),
])
.in_order()
.plus();

fn shell(call: &Call<'_>, machine: &mut dyn Machine, dialect: Dialect) {
    let parsed = SHELL.read(call.args);
    if parsed.informs() {
        return;
    }
    let only_parses = parsed.has("noexec") || parsed.values("o").any(|option| is(option, "noexec"));
    if only_parses {
        return;
    }
    read_startup_files(machine, &parsed, dialect);
    if parsed.has("c") {
        let Some((text, positional)) = parsed.rest.split_first() else { return };
        let mut whole = Abstract::known(&settings(&parsed));
        whole.push(&text.text);
        machine.run_text(&whole, dialect, positional.to_vec(), Surroundings::default());
        return;
    }
    match parsed.rest.split_first() {
        Some((script, _)) if !parsed.has("s") && !is_stdin(script) => {
            run_script(machine, script, parsed.rest, dialect, &settings(&parsed));
        }
        _ => {
            // `bash -s a b`: the operands are $1, $2, …; $0 is the shell.
            let mut positional = vec![Field::literal(call.name)];
            let skip = usize::from(!parsed.has("s") && !parsed.rest.is_empty());
            positional.extend(parsed.rest.iter().skip(skip).cloned());
            run_stdin(machine, dialect, positional, Surroundings::default());
        }
    }
}

fn is(field: &Field, text: &str) -> bool {
    field.as_known().as_deref() == Some(text)
}

fn is_stdin(script: &Field) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| is(script, name))
}

/// What the options on the command line switch on, said in the language of the text.
fn settings(parsed: &Parsed<'_>) -> String {
    let mut settings = String::new();
    for (letter, line) in [("e", "set -e\n"), ("u", "set -u\n"), ("f", "set -f\n")] {
        if parsed.has(letter) {
            settings.push_str(line);
        }
    }
    for (letter, verb) in [("o", "set -o"), ("O", "shopt -s")] {
        for option in parsed.values(letter).filter_map(Field::as_known) {
            let plain = option.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if plain {
                settings.push_str(&format!("{verb} {option}\n"));
            }
        }
    }
    settings
}

/// bash reads `$BASH_ENV` when it is not interactive, and `--rcfile` when it is, before whose prompt it runs
/// `$PROMPT_COMMAND`; sh reads `$ENV` when it is.
fn read_startup_files(machine: &mut dyn Machine, parsed: &Parsed<'_>, dialect: Dialect) {
    let interactive = parsed.has("i");
    let variable = match (dialect, interactive) {
        (Dialect::Bash, false) => Some("BASH_ENV"),
        (Dialect::Posix, true) => Some("ENV"),
        _ => None,
    };
    let from_variable = variable.and_then(|name| machine.variable(name)).map(|text| Field {
        source: variable.unwrap_or_default().into(),
        text,
        glob: None,
        tilde: false,
    });
    let prompt = machine.variable("PROMPT_COMMAND").filter(|text| !text.has_hole());
    if let Some(prompt) = prompt.filter(|_| interactive && dialect == Dialect::Bash) {
        machine.run_text(&prompt, dialect, Vec::new(), Surroundings::default());
    }
    let given = parsed.value("rcfile").or_else(|| parsed.value("init-file")).cloned();
    for file in from_variable.into_iter().chain(given) {
        if let Some(text) = machine.read_file(&file) {
            machine.run_text(&text, dialect, Vec::new(), Surroundings::default());
        }
    }
}

/// A script file is read and evaluated; `argv` begins with its name. One that is not there makes the shell fail, and
/// one that cannot be read is judged when its own commands start.
pub fn run_script(
    machine: &mut dyn Machine,
    script: &Field,
    argv: &[Field],
    dialect: Dialect,
    settings: &str,
) {
    if !machine.enters_scripts() {
        return;
    }
    if let Some(text) = machine.read_file(script) {
        let mut whole = Abstract::known(settings);
        whole.push(&text);
        let dialect = dialect_of(&text).unwrap_or(dialect);
        let surroundings =
            Surroundings { script: Some(Rc::clone(&script.source)), ..Surroundings::default() };
        machine.run_text(&whole, dialect, argv.to_vec(), surroundings);
    } else if script.text.has_hole() {
        acts::thing(
            machine,
            RuleId::UnknownCode,
            "runs a script that is known only at run time",
            object(script),
        );
    }
}

fn object(field: &Field) -> String {
    field.source.to_string()
}

/// What the first line of a script asks for.
fn dialect_of(text: &Abstract) -> Option<Dialect> {
    let lead = text.known_prefix();
    let line = lead.strip_prefix("#!")?.lines().next()?;
    let program = line.split_whitespace().filter(|word| !word.starts_with('-')).find_map(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        (name != "env").then_some(name)
    })?;
    match program {
        "sh" | "dash" | "ash" => Some(Dialect::Posix),
        "zsh" => Some(Dialect::Zsh),
        "bash" | "ksh" => Some(Dialect::Bash),
        _ => None,
    }
}

/// A shell reads its commands from standard input.
pub fn run_stdin(
    machine: &mut dyn Machine,
    dialect: Dialect,
    positional: Vec<Field>,
    surroundings: Surroundings,
) {
    match surroundings.stdin.clone().unwrap_or_else(|| machine.stdin()) {
        Input::Inherited => {}
        Input::Text(text) => machine.run_text(&text, dialect, positional, surroundings),
        Input::Names(names) => {
            let from = names.first().map(|name| name.root.source.to_string()).unwrap_or_default();
            acts::thing(machine, RuleId::UnknownCode, "runs the names of files as commands", from);
        }
        Input::Unknown { from, network, decoded } => {
            let (rule, what) = match (network, decoded) {
                (true, _) => (RuleId::NetworkCode, "runs code straight from the network"),
                (false, true) => (RuleId::UnknownCode, "runs decoded text"),
                (false, false) => (RuleId::UnknownCode, "runs text that is known only at run time"),
            };
            acts::thing(machine, rule, what, Rc::as_ref(&from).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    #[test]
    fn the_text_of_minus_c_is_the_first_operand() {
        let sourced = |line| {
            let recorder = Recorder::default().call(sh, line);
            recorder.sourced().join("|")
        };
        assert_eq!(sourced("sh -c 'rm -rf /etc'"), "rm -rf /etc");
        assert_eq!(sourced("sh -c 'rm \"$1\"' _ /etc"), "rm \"$1\" [_ /etc]");
        assert_eq!(sourced("sh -c -e 'x'"), "set -e\nx");
        assert_eq!(sourced("bash -uc 'x'"), "set -u\nx");
        assert_eq!(sourced("bash -O extglob -c 'x'"), "shopt -s extglob\nx");
        assert_eq!(sourced("bash -euo pipefail -c 'x'"), "set -e\nset -u\nset -o pipefail\nx");
    }

    #[test]
    fn parsing_only_runs_nothing() {
        for line in ["bash -n x.sh", "sh -nc 'rm -rf /'", "bash --version", "bash -o noexec -c 'x'"] {
            assert!(Recorder::default().file("x.sh", "rm -rf /").call(bash, line).is_harmless(), "{line}");
        }
    }

    #[test]
    fn a_script_is_read() {
        let recorder = Recorder::default().file("x.sh", "rm -rf $1").call(bash, "bash x.sh a");
        assert_eq!(recorder.sourced(), ["rm -rf $1 [x.sh a]"]);
        assert!(Recorder::default().call(bash, "bash absent.sh").is_harmless());
        let recorder = Recorder::default().call(bash, "bash ?");
        assert_eq!(recorder.told(), ["[unknown-code default] ?"]);
    }

    #[test]
    fn standard_input_is_text_or_refused() {
        let text = Input::Text(Abstract::known("rm -rf /"));
        for line in ["bash", "bash -s", "bash -", "sh /dev/stdin"] {
            let recorder = Recorder::default().stdin(text.clone()).call(bash, line);
            assert!(recorder.sourced()[0].starts_with("rm -rf /"), "{line}");
        }
        let network = Input::Unknown { from: "curl x".into(), network: true, decoded: false };
        let recorder = Recorder::default().stdin(network).call(sh, "sh -s -- --yes");
        assert_eq!(recorder.told(), ["[network-code default] curl x"]);
        assert!(Recorder::default().call(sh, "sh").is_harmless());
    }

    #[test]
    fn startup_files_are_read_where_the_shell_reads_them() {
        let recorder = Recorder::default().file("e", "rm -rf ~").env("BASH_ENV", "e");
        assert_eq!(recorder.call(bash, "bash -c true").sourced(), ["rm -rf ~", "true"]);
        let recorder = Recorder::default().file("e", "rm -rf ~").env("BASH_ENV", "e");
        assert_eq!(recorder.call(sh, "sh -c true").sourced(), ["true"]);
    }
}
