//! Commands that run on another machine: ssh(1) and its relatives.

use std::rc::Rc;

use blastradius_common::RuleId;

use crate::policy::effect::Base;
use crate::programs::options::{Grammar, Parsed, flag, value};
use crate::programs::{Call, Dialect, Machine, Program, Surroundings, acts, shells, words};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("ssh", ssh),
    ("autossh", ssh),
    ("mosh", mosh),
    ("adb", adb),
    ("vagrant", vagrant),
    ("ansible", ansible),
    ("salt", salt),
];

static SSH: Grammar = Grammar::new(&[
    value("o", ""),
    value("BbcDEeFIiJLlMmPpRSWw", ""),
    value("OQ", ""),
    flag("VG", ""),
    flag("46AaCfgKkNnqsTtvXxYy", ""),
])
.in_order();

/// ssh(1) joins the words behind the host and hands them to the login shell there.
fn ssh(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SSH.read(call.args);
    run_local_commands(machine, &parsed);
    if parsed.has_any(&["V", "O"]) {
        return;
    }
    let Some((host, rest)) = parsed.rest.split_first() else { return };
    // Options may stand behind the host, too.
    let behind = SSH.read(rest);
    run_local_commands(machine, &behind);
    run_there(machine, host, behind.rest);
}

/// `-o ProxyCommand=…` and its like run here.
fn run_local_commands(machine: &mut dyn Machine, parsed: &Parsed<'_>) {
    const RUN_HERE: [&str; 3] = ["proxycommand", "localcommand", "knownhostscommand"];
    for option in parsed.values("o") {
        let lead = words::lead(&option.text);
        let Some(end) = lead.find(['=', ' ']) else { continue };
        if RUN_HERE.contains(&lead[..end].to_ascii_lowercase().as_str()) {
            let text = words::without_prefix(option, end + 1).text;
            machine.run_text(&text, Dialect::Posix, Vec::new(), Surroundings::default());
        }
    }
}

fn there(host: &Field) -> Surroundings {
    Surroundings {
        elsewhere: Some(Rc::clone(&host.source)),
        cwd: Some(Base::Unknown(format!("the home on {}", host.source).into())),
        ..Surroundings::default()
    }
}

fn run_there(machine: &mut dyn Machine, host: &Field, command: &[Field]) {
    if command.is_empty() {
        shells::run_stdin(machine, Dialect::Bash, Vec::new(), there(host));
    } else {
        machine.run_text(&words::joined(command), Dialect::Bash, Vec::new(), there(host));
    }
}

static MOSH: Grammar = Grammar::new(&[
    value("p", "port|ssh|client|server|predict|family|bind-server|experimental-remote-ip"),
    flag("anr46o", "no-init|local|no-ssh-pty|predict-overwrite"),
])
.in_order();

fn mosh(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = MOSH.read(call.args);
    let Some((host, rest)) = parsed.rest.split_first() else { return };
    if !parsed.informs() && !rest.is_empty() {
        machine.run_argv(MOSH.read(rest).rest.to_vec(), there(host));
    }
}

static ADB: Grammar = Grammar::new(&[value("stHPL", ""), flag("ade", "")]).in_order();

fn adb(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = ADB.read(call.args);
    let Some((verb, rest)) = parsed.rest.split_first() else { return };
    if matches!(verb.as_known().as_deref(), Some("shell" | "exec-out")) {
        static SHELL: Grammar = Grammar::new(&[value("e", ""), flag("nTtx", "")]).in_order();
        let device = parsed.value("s").cloned().unwrap_or_else(|| Field::literal("the device"));
        run_there(machine, &device, SHELL.read(rest).rest);
    }
}

/// `vagrant ssh -c TEXT`.
fn vagrant(call: &Call<'_>, machine: &mut dyn Machine) {
    static VAGRANT: Grammar = Grammar::new(&[value("c", "command"), flag("pt", "plain|tty")]);
    let parsed = VAGRANT.read(call.args);
    let is_ssh = parsed.operands.first().and_then(|verb| verb.as_known()).as_deref() == Some("ssh");
    if let (true, Some(text)) = (is_ssh, parsed.value("command")) {
        machine.run_text(
            &text.text,
            Dialect::Bash,
            Vec::new(),
            there(&Field::literal("the virtual machine")),
        );
    }
}

/// ansible(1): `-m shell -a TEXT`; without `-m` the module is `command`.
fn ansible(call: &Call<'_>, machine: &mut dyn Machine) {
    static ANSIBLE: Grammar = Grammar::new(&[
        value("m", "module-name"),
        value("a", "args"),
        value(
            "ifMPBtTeulpc",
            "inventory|forks|module-path|poll|background|tree|timeout|extra-vars|user|limit",
        ),
        flag("C", "check"),
        flag("bkKovD", "become|ask-pass|ask-become-pass|one-line|diff|list-hosts|syntax-check"),
    ]);
    let parsed = ANSIBLE.read(call.args);
    if parsed.informs() || parsed.has("check") {
        return;
    }
    let module = parsed.known("module-name");
    let runs = matches!(module.as_deref(), None | Some("command" | "shell" | "raw" | "win_shell"));
    let (Some(arguments), Some(hosts)) = (parsed.value("args"), parsed.operands.first()) else { return };
    if runs {
        machine.run_text(&arguments.text, Dialect::Posix, Vec::new(), there(hosts));
    } else if words::lead(&arguments.text).split_whitespace().any(|word| TAKES_AWAY.contains(&word)) {
        let what = "a module removes what it names";
        acts::thing(machine, RuleId::RemoteResource, what, hosts.source.to_string());
    }
}

/// Arguments by which a module of ansible(1) removes something: `state=absent` of file, user, apt.
const TAKES_AWAY: &[&str] = &["state=absent", "state=removed", "state=purged", "purge=yes", "delete=yes"];

/// salt(1): `salt TARGET cmd.run TEXT`.
fn salt(call: &Call<'_>, machine: &mut dyn Machine) {
    static SALT: Grammar =
        Grammar::new(&[value("tcbN", "timeout|config-dir|batch|out"), flag("vsELGCI", "verbose|async")]);
    let parsed = SALT.read(call.args);
    if let [hosts, module, text, ..] = parsed.operands.as_slice()
        && matches!(module.as_known().as_deref(), Some("cmd.run" | "cmd.shell" | "cmd.run_all"))
    {
        machine.run_text(&text.text, Dialect::Posix, Vec::new(), there(hosts));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    #[test]
    fn the_words_behind_the_host_run_there() {
        for line in ["ssh -p 22 u@h 'rm -rf x'", "ssh u@h -t rm -rf x", "ssh -i key -o A=b -4 u@h rm -rf x"] {
            let recorder = Recorder::default().call(ssh, line);
            assert_eq!(recorder.sourced(), ["rm -rf x"], "{line}");
            assert_eq!(recorder.texts[0].surroundings.elsewhere.as_deref(), Some("u@h"));
        }
        assert_eq!(
            Recorder::default().call(adb, "adb -s x shell rm -rf /sdcard").sourced(),
            ["rm -rf /sdcard"]
        );
    }

    #[test]
    fn a_proxy_command_runs_here() {
        let recorder = Recorder::default().call(ssh, "ssh -o 'ProxyCommand=rm -rf x' h");
        assert_eq!(recorder.sourced(), ["rm -rf x"]);
        assert!(recorder.texts[0].surroundings.elsewhere.is_none());
    }

    #[test]
    fn a_login_runs_nothing() {
        assert!(Recorder::default().call(ssh, "ssh host").is_harmless());
        assert!(Recorder::default().call(adb, "adb push a b").is_harmless());
    }
}
