//! The machine stops, restarts or goes to where nobody can log in; and services without which nobody can reach it.

use blastradius_common::{RuleId, Verdict};

use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::verbs::{self, Tool, Words, harmless, row, word};
use crate::programs::{Call, Machine, Program, acts};
use crate::shell::value::Field;

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("shutdown", shutdown),
    ("reboot", reboot),
    ("halt", reboot),
    ("poweroff", reboot),
    ("init", init),
    ("telinit", init),
    ("systemctl", systemctl),
    ("service", service),
    ("rc-service", service),
    ("kexec", kexec),
    ("loginctl", verb),
    ("ipmitool", verb),
    ("pmset", verb),
    ("busctl", bus),
    ("dbus-send", bus),
    ("gdbus", bus),
    ("kill", kill),
    ("killall5", killall5),
    ("pkill", by_owner),
    ("killall", by_owner),
    ("update-rc.d", unit_first),
    ("chkconfig", unit_first),
    ("rc-update", verb_first),
    ("sv", verb_first),
];

const POWER: RuleId = RuleId::PowerState;

/// shutdown(8) of systemd, sysvinit and BSD: everything stops the machine but cancelling (`-c`), a warning only (`-k`)
/// and `--show`.
fn shutdown(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("c", ""),
        flag("k", ""),
        flag("", "show"),
        flag("H", "halt"),
        flag("P", "poweroff"),
        flag("r", "reboot"),
        flag("hfFnosuap", "no-wall"),
        value("t", ""),
    ]);
    let parsed = GRAMMAR.read(call.args);
    if !parsed.has_any(&["c", "k", "show", "help", "version"]) {
        acts::thing(machine, POWER, "stops or restarts the machine", "");
    }
}

/// reboot(8), halt(8), poweroff(8): `-w` only writes a record.
fn reboot(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("w", "wtmp-only"),
        flag("fpndilqh", "force|halt|reboot|no-wtmp|no-sync|no-wall"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    if !parsed.has_any(&["wtmp-only", "help", "version"]) {
        acts::thing(machine, POWER, format!("{}: stops or restarts the machine", call.name), "");
    }
}

/// telinit(8): levels 0 and 6 stop, 1 and S leave one user; `q` and `u` re-read.
fn init(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-t", "-e"]);
    let level = words.operands.first().map(word);
    if level.is_some_and(|level| matches!(&*level, "0" | "1" | "6" | "s" | "S" | "emergency" | "rescue")) {
        acts::thing(
            machine,
            POWER,
            "changes the run level so that the machine stops or has one user",
            words.objects(0),
        );
    }
}

/// Verbs of systemctl(1) that stop the machine or leave it to one user.
const SYSTEMCTL_POWER: &[&str] =
    &["poweroff", "reboot", "halt", "kexec", "soft-reboot", "emergency", "rescue"];
/// Verbs that suspend it: everything comes back, but not for an agent that waits.
const SYSTEMCTL_SLEEP: &[&str] = &["suspend", "sleep", "hibernate", "hybrid-sleep", "suspend-then-hibernate"];
/// Targets that do the same when they are started or isolated.
const POWER_TARGETS: &[&str] = &[
    "poweroff.target",
    "reboot.target",
    "halt.target",
    "kexec.target",
    "shutdown.target",
    "emergency.target",
    "rescue.target",
    "runlevel0.target",
    "runlevel1.target",
    "runlevel6.target",
    "ctrl-alt-del.target",
];
/// Units without which the machine is not reached, not guarded or not up.
const VITAL_UNITS: &[&str] = &[
    "ssh",
    "sshd",
    "networking",
    "network",
    "networkmanager",
    "wpa_supplicant",
    "dbus",
    "dbus-broker",
    "firewalld",
    "ufw",
    "nftables",
    "iptables",
    "apparmor",
    "auditd",
    "fail2ban",
    "polkit",
    "getty@tty1",
    "display-manager",
    "gdm",
    "gdm3",
    "sddm",
    "lightdm",
];

fn is_vital(unit: &str) -> bool {
    let unit = unit.to_lowercase();
    let name = unit.strip_suffix(".service").or_else(|| unit.strip_suffix(".socket")).unwrap_or(&unit);
    name.starts_with("systemd-") || VITAL_UNITS.contains(&name)
}

fn systemctl(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("h", "help"),
        flag("", "version"),
        flag("", "user"),
        flag("", "system|global|now|runtime|no-block|wait|quiet|no-wall|no-pager|no-reload|no-ask-password"),
        flag("", "dry-run"),
        flag("f", "force"),
        flag("ailqrT", "all|full|recursive|failed"),
        value("H", "host"),
        value("M", "machine"),
        value("n", "lines"),
        value("o", "output"),
        value("p", "property"),
        value("P", "value-of"),
        value("s", "signal"),
        value("t", "type"),
        value("", "state"),
        value("", "root"),
        value("", "image"),
        value("", "kill-whom"),
        value("", "when"),
        value("", "message"),
        value("", "job-mode"),
        optional("", "preset-mode"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    let Some((verb, units)) = parsed.operands.split_first() else { return };
    if parsed.has_any(&["help", "version", "dry-run"]) {
        return;
    }
    let verb = word(verb);
    let units: Vec<String> = units.iter().map(|unit| word(unit).into_owned()).collect();
    let object = units.join(" ");
    let targets_power = units.iter().any(|unit| POWER_TARGETS.contains(&&**unit));
    if SYSTEMCTL_POWER.contains(&&*verb) || matches!(&*verb, "start" | "isolate" | "restart") && targets_power
    {
        acts::thing(machine, POWER, format!("systemctl {verb}: stops or restarts the machine"), object);
    } else if SYSTEMCTL_SLEEP.contains(&&*verb) {
        acts::judged_thing(machine, POWER, Verdict::Confirm, "puts the machine to sleep", object);
    } else if verb == "isolate" || verb == "set-default" && targets_power {
        acts::thing(
            machine,
            RuleId::SystemConfiguration,
            "stops every unit that a target does not need",
            object,
        );
    } else if matches!(&*verb, "stop" | "disable" | "mask" | "kill") && !parsed.has("user") {
        stops(machine, &units);
    }
}

fn stops(machine: &mut dyn Machine, units: &[String]) {
    if let Some(unit) = units.iter().find(|unit| is_vital(unit)) {
        let what = "stops a service by which the machine is reached or guarded";
        acts::thing(machine, RuleId::SystemConfiguration, what, unit.clone());
    }
}

/// service(8): `service NAME stop`.
fn service(call: &Call<'_>, machine: &mut dyn Machine) {
    unit_first(call, machine);
}

/// Words of the tools of other init systems by which a service stops, now or from the next start on.
const STOPPING: &[&str] = &["stop", "remove", "disable", "off", "del", "delete", "down", "force-stop"];

/// `update-rc.d NAME remove`, `chkconfig NAME off`.
fn unit_first(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["--level"]);
    if let [unit, verb, ..] = words.operands.as_slice()
        && STOPPING.contains(&&*word(verb))
    {
        stops(machine, &[word(unit).into_owned()]);
    }
}

/// `rc-update del NAME`, `sv down NAME`.
fn verb_first(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-w"]);
    if let [verb, unit, ..] = words.operands.as_slice()
        && STOPPING.contains(&&*word(verb))
    {
        stops(machine, &[word(unit).into_owned()]);
    }
}

/// kexec(8): `-e` boots at once, and so does a load without `-l`, `-p` or `-u`.
fn kexec(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["--append", "--command-line", "--initrd", "-t"]);
    let only_loads = words.has(&[
        "-l",
        "--load",
        "-p",
        "--load-panic",
        "-u",
        "--unload",
        "-h",
        "--help",
        "-v",
        "--version",
        "-S",
        "--status",
    ]);
    if words.has(&["-e", "--exec"]) || !only_loads && !words.operands.is_empty() {
        acts::thing(machine, POWER, "boots another kernel at once", "");
    }
}

static TOOLS: &[Tool] = &[
    // loginctl(1).
    Tool {
        names: &["loginctl"],
        valued: &["-s", "--signal"],
        dry: &[],
        rows: &[
            row("poweroff|reboot|halt|kexec", POWER, "stops or restarts the machine"),
            row("suspend|hibernate|hybrid-sleep", POWER, "puts the machine to sleep")
                .verdict(Verdict::Confirm),
            row("terminate-user|kill-user", POWER, "ends every process of a user").verdict(Verdict::Confirm),
            row("terminate-session|kill-session|terminate-seat", POWER, "ends every process of a session")
                .verdict(Verdict::Confirm),
        ],
    },
    // ipmitool(1): most often another machine's.
    Tool {
        names: &["ipmitool"],
        valued: &["-I", "-H", "-U", "-P", "-L", "-p", "-f"],
        dry: &[],
        rows: &[
            harmless("chassis power status|on"),
            harmless("power status|on"),
            row("chassis power", RuleId::RemoteResource, "switches a machine off or resets it"),
            row("power", RuleId::RemoteResource, "switches a machine off or resets it"),
        ],
    },
    // pmset(1).
    Tool {
        names: &["pmset"],
        valued: &[],
        dry: &[],
        rows: &[
            row("sleepnow", POWER, "puts the machine to sleep").verdict(Verdict::Confirm),
            row("schedule shutdown|restart|sleep", POWER, "stops the machine at a later time"),
        ],
    },
];

fn verb(call: &Call<'_>, machine: &mut dyn Machine) {
    let _spoke = verbs::read(TOOLS, call, machine);
}

/// A call of the login manager over D-Bus (org.freedesktop.login1(5)).
fn bus(call: &Call<'_>, machine: &mut dyn Machine) {
    const METHODS: &[&str] = &[
        "PowerOff",
        "PowerOffWithFlags",
        "Reboot",
        "RebootWithFlags",
        "Halt",
        "HaltWithFlags",
        "ScheduleShutdown",
    ];
    let words: Vec<_> = call.args.iter().map(word).collect();
    let manager = words.iter().any(|arg| arg.contains("login1"));
    let method = words.iter().find(|arg| METHODS.contains(&arg.rsplit('.').next().unwrap_or_default()));
    if let (true, Some(method)) = (manager, method) {
        acts::thing(machine, POWER, "asks the login manager to stop the machine", method.to_string());
    }
}

/// kill(1): the process id -1 means every process that may be signalled.
fn kill(call: &Call<'_>, machine: &mut dyn Machine) {
    let words: Vec<_> = call.args.iter().map(word).collect();
    // `kill -1` alone sends nothing, and `kill -1 PID` sends SIGHUP: the id needs a signal or `--` in front of it.
    let everyone = words.iter().skip(1).any(|arg| arg == "-1");
    if everyone && !words.iter().any(|arg| matches!(&**arg, "-l" | "-L" | "-0")) {
        acts::judged_thing(machine, POWER, Verdict::Confirm, "signals every process", "-1");
    }
}

/// killall5(8): every process but those of its own session.
fn killall5(call: &Call<'_>, machine: &mut dyn Machine) {
    if !call.args.iter().any(|arg| word(arg) == "-0") {
        acts::judged_thing(machine, POWER, Verdict::Confirm, "signals every process", "");
    }
}

/// `-9`, `-KILL`, `-SIGRTMIN+1`.
fn is_signal(arg: &str) -> bool {
    let Some(name) = arg.strip_prefix('-') else { return false };
    let is_part = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '+';
    name.len() > 1 && name.chars().all(is_part) || name.parse::<u8>().is_ok()
}

/// pkill(1), killall(1): with an owner and no name, every process of the owner.
fn by_owner(call: &Call<'_>, machine: &mut dyn Machine) {
    static PKILL: Grammar = Grammar::new(&[
        value("u", "euid|user"),
        value("U", "uid"),
        value("g", "pgroup"),
        value("G", "group"),
        value("P", "parent"),
        value("s", "session"),
        value("t", "terminal"),
        value("F", "pidfile"),
        value("", "signal|ns|nslist|runstates|queue|older"),
        flag("efilnovwxcqILHZSrVy", "echo|count|ignore-case|full|newest|exact|wait|interactive|regexp|list"),
    ]);
    let others: Vec<Field> = call.args.iter().filter(|arg| !is_signal(&word(arg))).cloned().collect();
    let parsed = PKILL.read(&others);
    let probes = call.args.iter().any(|arg| matches!(&*word(arg), "-0" | "-l" | "-L" | "--list"));
    let narrowed = ["g", "G", "P", "s", "t", "F"].iter().any(|option| parsed.has(option));
    if let Some(owner) = parsed.value("u").or_else(|| parsed.value("U"))
        && parsed.operands.is_empty()
        && !probes
        && !(narrowed && call.name == "pkill")
        && !parsed.informs()
    {
        let owner = owner.source.to_string();
        acts::judged_thing(machine, POWER, Verdict::Confirm, "ends every process of a user", owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> Vec<String> {
        Recorder::default().call_in(PROGRAMS, line).told()
    }

    #[track_caller]
    fn keeps(lines: &[&str]) {
        for line in lines {
            assert_eq!(told(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn the_machine_stops_however_it_is_told() {
        for line in [
            "shutdown",
            "shutdown now",
            "shutdown -h now",
            "shutdown -r +1",
            "shutdown -P 20:00",
            "reboot",
            "reboot -f",
            "halt -p",
            "poweroff",
            "init 0",
            "init 6",
            "telinit 0",
            "telinit -t 5 6",
            "systemctl poweroff",
            "systemctl --force --force reboot",
            "systemctl -i halt",
            "systemctl emergency",
            "systemctl isolate rescue.target",
            "systemctl start poweroff.target",
            "kexec -e",
            "loginctl poweroff",
            "dbus-send --system --dest=org.freedesktop.login1 /x org.freedesktop.login1.Manager.PowerOff boolean:true",
            "busctl call org.freedesktop.login1 /x org.freedesktop.login1.Manager Reboot b true",
        ] {
            assert!(told(line).concat().starts_with("[power-state default]"), "{line}: {:?}", told(line));
        }
    }

    #[test]
    fn cancelling_and_asking_is_harmless() {
        keeps(&[
            "shutdown -c",
            "shutdown --help",
            "shutdown -k now",
            "shutdown --show",
            "reboot --help",
            "halt -w",
            "init q",
            "init",
            "systemctl status nginx",
            "systemctl restart nginx",
            "systemctl stop nginx",
            "systemctl --user restart app",
            "systemctl --user stop pipewire",
            "systemctl",
            "systemctl list-units --state=failed",
            "systemctl show -p reboot x",
            "systemctl cat poweroff.target",
            "systemctl --dry-run reboot",
            "kexec -l vmlinuz",
            "loginctl list-sessions",
            "ipmitool chassis power status",
            "pmset -g",
            "busctl list",
            "dbus-send --session /x org.example.Reboot",
            "kill -9 123",
            "kill -1 123",
            "kill -l",
            "service nginx stop",
            "service ssh restart",
        ]);
    }

    #[test]
    fn what_keeps_the_machine_reachable_is_asked_about() {
        assert_eq!(told("systemctl stop sshd"), ["[system-configuration default] sshd"]);
        assert_eq!(
            told("systemctl disable --now ufw.service"),
            ["[system-configuration default] ufw.service"]
        );
        assert_eq!(told("service ssh stop"), ["[system-configuration default] ssh"]);
        assert_eq!(told("systemctl suspend"), ["[power-state confirm] "]);
        assert_eq!(told("kill -9 -1"), ["[power-state confirm] -1"]);
        assert_eq!(told("kill -- -1"), ["[power-state confirm] -1"]);
    }

    #[test]
    fn the_tools_of_other_init_systems_stop_services_too() {
        for line in
            ["update-rc.d ssh remove", "chkconfig sshd off", "rc-update del sshd default", "sv down sshd"]
        {
            assert!(told(line).concat().starts_with("[system-configuration default]"), "{line}");
        }
        keeps(&[
            "update-rc.d ssh defaults",
            "chkconfig --list",
            "rc-update add sshd",
            "sv status sshd",
            "rc-update del cups",
        ]);
    }

    #[test]
    fn all_processes_of_a_user_are_asked_about_and_those_of_a_name_are_not() {
        for line in
            ["killall5 -9", "pkill -u root", "pkill -9 -u root", "pkill -KILL -U dev", "killall -u dev"]
        {
            assert!(told(line).concat().starts_with("[power-state confirm]"), "{line}: {:?}", told(line));
        }
        keeps(&[
            "pkill node",
            "pkill -9 -f 'vite dev'",
            "pkill -u dev node",
            "killall node",
            "pkill -0 -u dev",
            "pkill -P 12",
            "pkill -u dev -t pts/1",
        ]);
    }
}
