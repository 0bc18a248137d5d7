//! Commands that run as another user: sudo(8), doas(1), su(1), runuser(1), sg(1), pkexec(1).

use std::rc::Rc;

use crate::policy::effect::Base;
use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::wrappers::{directory_base, run};
use crate::programs::{Call, Dialect, Machine, Program, Surroundings, enclosures, shells, words};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("sudo", sudo),
    ("sudo-rs", sudo),
    ("doas", doas),
    ("su", su),
    ("su-rs", su),
    ("runuser", runuser),
    ("sg", sg),
    ("pkexec", pkexec),
    ("run0", run0),
    ("gksudo", sudo),
    ("gksu", sudo),
    ("kdesudo", sudo),
];

/// sudo(8). `-h` is help, or a host where a word follows; the host is only for sudoers and runs nothing elsewhere.
static SUDO: Grammar = Grammar::new(&[
    flag("A", "askpass"),
    flag("B", "bell"),
    flag("b", "background"),
    value("C", "close-from"),
    value("D", "chdir"),
    flag("E", ""),
    optional("", "preserve-env"),
    flag("e", "edit"),
    value("g", "group"),
    flag("H", "set-home"),
    value("h", "host"),
    flag("i", "login"),
    flag("K", "remove-timestamp"),
    flag("k", "reset-timestamp"),
    flag("l", "list"),
    flag("N", "no-update"),
    flag("n", "non-interactive"),
    flag("P", "preserve-groups"),
    value("p", "prompt"),
    value("R", "chroot"),
    value("r", "role"),
    flag("S", "stdin"),
    flag("s", "shell"),
    value("T", "command-timeout"),
    value("t", "type"),
    value("U", "other-user"),
    value("u", "user"),
    flag("V", ""),
    flag("v", "validate"),
])
.in_order();

fn sudo(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SUDO.read(call.args);
    if parsed.informs() || parsed.has_any(&["list", "validate", "edit", "K", "V"]) {
        return;
    }
    let mut surroundings = as_user(&parsed, "user");
    surroundings.set_home = parsed.has_any(&["set-home", "login"]);
    if parsed.has("login") {
        surroundings.cwd = Some(home(machine, &surroundings));
    }
    if let Some(directory) = parsed.value("chdir") {
        surroundings.cwd = Some(directory_base(machine, directory));
    }
    if let Some(root) = parsed.value("chroot") {
        enclosures::enter(machine, &mut surroundings, root);
    }
    let command = take_assignments(parsed.rest, &mut surroundings);
    if command.is_empty() && parsed.has_any(&["shell", "login"]) {
        shells::run_stdin(machine, Dialect::Bash, Vec::new(), surroundings);
    } else {
        run(machine, command.to_vec(), surroundings);
    }
}

fn as_user(parsed: &Parsed<'_>, option: &str) -> Surroundings {
    let user = parsed.known(option).map_or_else(|| "root".to_owned(), std::borrow::Cow::into_owned);
    Surroundings { user: Some(user), ..Surroundings::default() }
}

fn home(machine: &dyn Machine, surroundings: &Surroundings) -> Base {
    let user = surroundings.user.as_deref();
    match machine.world().home_of(user) {
        Some(home) => Base::Known(Rc::new(home)),
        None => Base::Unknown(format!("the home of {}", user.unwrap_or("the user")).into()),
    }
}

fn take_assignments<'a>(words_left: &'a [Field], surroundings: &mut Surroundings) -> &'a [Field] {
    let mut command = words_left;
    while let Some((first, others)) = command.split_first()
        && let Some((name, value)) = words::assignment(first)
    {
        surroundings.vars.push((name, Some(value)));
        command = others;
    }
    command
}

static DOAS: Grammar = Grammar::new(&[
    value("u", ""),
    value("a", ""),
    value("C", ""),
    flag("n", ""),
    flag("s", ""),
    flag("L", ""),
])
.in_order();

fn doas(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = DOAS.read(call.args);
    if parsed.has_any(&["L", "C"]) {
        return;
    }
    let surroundings = as_user(&parsed, "u");
    if parsed.rest.is_empty() && parsed.has("s") {
        shells::run_stdin(machine, Dialect::Bash, Vec::new(), surroundings);
    } else {
        run(machine, parsed.rest.to_vec(), surroundings);
    }
}

/// su(1) and runuser(1) of util-linux. Options may follow the user's name.
static SU: Grammar = Grammar::new(&[
    value("c", "command"),
    value("", "session-command"),
    value("u", "user"),
    value("g", "group"),
    value("G", "supp-group"),
    flag("l", "login"),
    flag("mp", "preserve-environment"),
    flag("P", "pty"),
    flag("T", "no-pty"),
    flag("f", "fast"),
    value("s", "shell"),
    value("w", "whitelist-environment"),
    flag("h", "help"),
    flag("V", "version"),
]);

fn su(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SU.read(call.args);
    if parsed.informs() {
        return;
    }
    let is_dash = |word: &&Field| word.as_known().as_deref() == Some("-");
    let login = parsed.has("login") || parsed.operands.first().is_some_and(is_dash);
    let mut operands = parsed.operands.iter().copied().filter(|word| !is_dash(word));
    let user = operands.next().and_then(Field::as_known);
    let user = user.map_or_else(|| "root".to_owned(), std::borrow::Cow::into_owned);
    let mut surroundings =
        Surroundings { user: Some(user), set_home: !parsed.has("m"), ..Surroundings::default() };
    if login {
        surroundings.cwd = Some(home(machine, &surroundings));
    }
    let text = parsed.value("command").or_else(|| parsed.value("session-command"));
    match text {
        Some(text) => {
            let positional: Vec<Field> = operands.cloned().collect();
            machine.run_text(&text.text, Dialect::Bash, positional, surroundings);
        }
        // Without a command the shell reads its input; arguments behind the user's name are the shell's.
        None => {
            let arguments: Vec<Field> = operands.cloned().collect();
            if arguments.is_empty() {
                shells::run_stdin(machine, Dialect::Bash, Vec::new(), surroundings);
            } else {
                machine.run_argv([&[Field::literal("bash")], arguments.as_slice()].concat(), surroundings);
            }
        }
    }
}

/// `runuser -u USER [--] COMMAND…`; anything else is as su.
fn runuser(call: &Call<'_>, machine: &mut dyn Machine) {
    static IN_ORDER: Grammar = SU.in_order();
    let parsed = IN_ORDER.read(call.args);
    if parsed.value("user").is_none() || parsed.value("command").is_some() {
        su(call, machine);
    } else if !parsed.informs() {
        run(machine, parsed.rest.to_vec(), as_user(&parsed, "user"));
    }
}

/// `sg [-] GROUP [-c] TEXT` (sg(1)).
fn sg(call: &Call<'_>, machine: &mut dyn Machine) {
    let is = |word: &Field, text: &str| word.as_known().as_deref() == Some(text);
    let words_left: Vec<&Field> = call.args.iter().filter(|word| !is(word, "-") && !is(word, "-c")).collect();
    match words_left.as_slice() {
        [] => {}
        [_group] => shells::run_stdin(machine, Dialect::Posix, Vec::new(), Surroundings::default()),
        [_group, text @ ..] => {
            let text = words::joined(text.iter().copied());
            machine.run_text(&text, Dialect::Posix, Vec::new(), Surroundings::default());
        }
    }
}

static PKEXEC: Grammar =
    Grammar::new(&[value("", "user"), flag("", "disable-internal-agent"), flag("", "keep-cwd")]).in_order();

/// pkexec(1) starts the command in the user's home.
fn pkexec(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = PKEXEC.read(call.args);
    if parsed.informs() {
        return;
    }
    let mut surroundings = as_user(&parsed, "user");
    surroundings.set_home = true;
    if !parsed.has("keep-cwd") {
        surroundings.cwd = Some(home(machine, &surroundings));
    }
    run(machine, parsed.rest.to_vec(), surroundings);
}

static RUN0: Grammar = Grammar::new(&[
    value("u", "user"),
    value("g", "group"),
    value("D", "chdir"),
    value("", "unit|property|slice|description|nice|setenv|background|machine"),
    flag("", "slice-inherit|no-ask-password|pty|pipe"),
    flag("h", "help"),
])
.in_order();

fn run0(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = RUN0.read(call.args);
    if parsed.informs() {
        return;
    }
    let mut surroundings = as_user(&parsed, "user");
    if let Some(directory) = parsed.value("chdir") {
        surroundings.cwd = Some(directory_base(machine, directory));
    }
    run(machine, parsed.rest.to_vec(), surroundings);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::Input;
    use crate::programs::testing::Recorder;
    use crate::shell::value::Abstract;

    fn called(line: &str) -> Recorder {
        let name = line.split(' ').next().unwrap_or_default();
        let program = PROGRAMS.iter().find(|(known, _)| *known == name).expect("in the table").1;
        Recorder::default().call(program, line)
    }

    #[test]
    fn sudo_finds_its_command_behind_its_options() {
        for line in [
            "sudo rm -rf x",
            "sudo -u root rm -rf x",
            "sudo -nE rm -rf x",
            "sudo --user=root -- rm -rf x",
            "sudo -p prompt -C 5 rm -rf x",
            "sudo A=b rm -rf x",
            "sudo -s rm -rf x",
            "sudo -k rm -rf x",
            "doas -u root rm -rf x",
            "runuser -u root -- rm -rf x",
            "pkexec --user root rm -rf x",
        ] {
            assert_eq!(called(line).ran(), ["rm -rf x"], "{line}");
        }
        for line in
            ["su root -c 'rm -rf x'", "su -c 'rm -rf x'", "runuser -c 'rm -rf x' root", "sg root 'rm -rf x'"]
        {
            assert_eq!(called(line).sourced(), ["rm -rf x"], "{line}");
        }
    }

    #[test]
    fn sudo_may_change_the_directory() {
        let cwd = |line| called(line).argvs[0].surroundings.cwd.clone();
        let known = |path: &str| Some(Base::Known(Rc::new(path.into())));
        assert_eq!(cwd("sudo -D / rm -rf etc"), known("/"));
        assert_eq!(cwd("sudo --chdir=/etc rm -rf x"), known("/etc"));
        assert_eq!(cwd("sudo rm -rf x"), None);
        assert_eq!(cwd("sudo -i -u dev rm -rf x"), known("/home/dev"));
        assert!(matches!(cwd("sudo -i -u nobody rm -rf x"), Some(Base::Unknown(_))));
    }

    #[test]
    fn a_shell_without_a_command_reads_its_input() {
        let text = Input::Text(Abstract::known("rm -rf /"));
        for (program, line) in
            [(sudo as Program, "sudo -s"), (sudo, "sudo -i"), (su, "su -"), (doas, "doas -s")]
        {
            let recorder = Recorder::default().stdin(text.clone()).call(program, line);
            assert_eq!(recorder.sourced(), ["rm -rf /"], "{line}");
        }
    }

    #[test]
    fn asking_and_editing_run_nothing() {
        for line in ["sudo -l rm -rf x", "sudo -v", "sudo -e /etc/hosts", "sudo --help", "sudo -K"] {
            assert!(called(line).is_harmless(), "{line}");
        }
    }

    #[test]
    fn variables_in_front_of_the_command_are_set_for_it() {
        let recorder = called("sudo X=/etc rm x");
        assert_eq!(recorder.argvs[0].surroundings.vars, [("X".to_owned(), Some(Abstract::known("/etc")))]);
    }
}
