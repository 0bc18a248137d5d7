//! Protections of the operating system: integrity protection, access control, firewalls, encryption, backups.

use blastradius_common::{RuleId, Verdict};

use crate::programs::verbs::{self, Row, Tool, Words, row, word};
use crate::programs::{Call, Machine, Program, acts};

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("csrutil", verb),
    ("spctl", verb),
    ("nvram", nvram),
    ("fdesetup", verb),
    ("bputil", verb),
    ("systemsetup", verb),
    ("tccutil", verb),
    ("security", verb),
    ("tmutil", verb),
    ("pfctl", verb),
    ("mokutil", verb),
    ("setenforce", verb),
    ("semanage", verb),
    ("semodule", verb),
    ("aa-teardown", verb),
    ("aa-disable", verb),
    ("aa-complain", verb),
    ("apparmor_parser", verb),
    ("auditctl", verb),
    ("update-crypto-policies", verb),
    ("tpm2_clear", verb),
    ("ufw", verb),
    ("firewall-cmd", verb),
    ("nft", nft),
    ("iptables", iptables),
    ("ip6tables", iptables),
    ("iptables-legacy", iptables),
    ("iptables-nft", iptables),
    ("ebtables", iptables),
    ("arptables", iptables),
    ("iptables-restore", verb),
    ("ip6tables-restore", verb),
    ("ipset", verb),
    ("sysctl", sysctl),
];

const fn off(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::SecurityPosture, what).verdict(Verdict::Deny)
}

const fn weaker(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::SecurityPosture, what).verdict(Verdict::Confirm)
}

const fn firewall(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::SystemConfiguration, what).verdict(Verdict::Confirm)
}

const fn tool(names: &'static [&'static str], rows: &'static [Row]) -> Tool {
    Tool { names, valued: &[], dry: &["-h"], rows }
}

static TOOLS: &[Tool] = &[
    tool(
        &["csrutil"],
        &[
            off("disable|clear", "switches System Integrity Protection off"),
            off("authenticated-root disable", "lets the system volume be changed"),
            off("enable", "switches a part of System Integrity Protection off").with(&["--without"]),
        ],
    ),
    tool(
        &["spctl"],
        &[
            off("", "switches Gatekeeper off").with(&["--master-disable", "--global-disable", "--disable"]),
            off("kext-consent disable", "lets kernel extensions load without consent"),
            weaker("", "removes a rule of Gatekeeper").with(&["--remove", "--reset-default"]),
        ],
    ),
    tool(
        &["fdesetup"],
        &[off("disable|removerecovery|remove", "switches disk encryption off or removes a key to it")],
    ),
    tool(
        &["bputil"],
        &[off("", "lowers the boot security").with(&[
            "-n",
            "-k",
            "-c",
            "-a",
            "-s",
            "--permissive-security",
            "--reduced-security",
        ])],
    ),
    tool(
        &["systemsetup"],
        &[weaker("", "changes how the machine is reached or starts").with(&[
            "-setremotelogin",
            "-setremoteappleevents",
            "-setstartupdisk",
            "-setdisablekeyboardwhenenclosurelockisengaged",
        ])],
    ),
    tool(&["tccutil"], &[weaker("reset", "takes permissions away that people gave")]),
    tool(
        &["security"],
        &[
            weaker("delete-*", "deletes a keychain or what is kept in one"),
            weaker("remove-*", "removes a trusted certificate"),
            weaker("authorizationdb write|remove|reset", "changes who is authorised to do what"),
        ],
    ),
    // tmutil(8).
    tool(
        &["tmutil"],
        &[
            weaker("disable", "switches backups off"),
            weaker("delete*", "deletes backups or snapshots"),
            weaker("thinlocalsnapshots|removedestination|resume", "gives backups up"),
        ],
    ),
    tool(&["pfctl"], &[firewall("", "switches the packet filter off or empties it").with(&["-d", "-F"])]),
    tool(
        &["mokutil"],
        &[off("", "switches Secure Boot off or forgets its keys").with(&[
            "--disable-validation",
            "--reset",
            "--delete",
            "--delete-hash",
        ])],
    ),
    tool(&["setenforce"], &[weaker("0|permissive", "stops SELinux from enforcing")]),
    tool(
        &["semanage"],
        &[weaker("permissive|boolean|login|user|port|fcontext|module", "weakens the SELinux policy")
            .with(&["-a", "-d", "-D", "--deleteall", "--delete"])],
    ),
    tool(
        &["semodule"],
        &[weaker("", "removes a module of the SELinux policy").with(&["-r", "-d", "--remove", "--disable"])],
    ),
    tool(&["aa-teardown"], &[weaker("", "unloads every AppArmor profile")]),
    tool(&["aa-disable", "aa-complain"], &[weaker("*", "stops an AppArmor profile from enforcing")]),
    tool(&["apparmor_parser"], &[weaker("", "unloads an AppArmor profile").with(&["-R", "--remove"])]),
    tool(
        &["auditctl"],
        &[weaker("", "switches the audit log off or removes its rules").with(&["-D", "-e", "-W", "-d"])],
    ),
    tool(&["update-crypto-policies"], &[weaker("LEGACY", "allows weak cryptography").with(&["--set"])]),
    tool(&["tpm2_clear"], &[weaker("", "clears the keys of the TPM")]),
    // ufw(8).
    tool(
        &["ufw"],
        &[
            firewall("disable", "switches the firewall off"),
            firewall("reset", "removes every rule of the firewall"),
            firewall("route|prepend delete", "removes a rule of the firewall"),
            firewall("default allow", "lets everything in that no rule forbids"),
            firewall("delete", "removes a rule of the firewall"),
        ],
    ),
    // firewall-cmd(1).
    tool(
        &["firewall-cmd"],
        &[firewall("", "removes rules of the firewall, or cuts the machine off").with(&[
            "--panic-on",
            "--remove-service",
            "--remove-port",
            "--remove-rich-rule",
            "--remove-source",
            "--remove-interface",
            "--remove-masquerade",
            "--remove-protocol",
            "--delete-zone",
            "--delete-service",
            "--delete-policy",
            "--set-default-zone",
            "--reset-to-defaults",
        ])],
    ),
    Tool {
        names: &["iptables-restore", "ip6tables-restore"],
        valued: &[],
        dry: &["-t", "--test", "-n", "--noflush", "-h"],
        rows: &[firewall("", "replaces every rule of the firewall")],
    },
    tool(&["ipset"], &[firewall("destroy|flush|del", "removes entries that the firewall refers to")]),
];

fn verb(call: &Call<'_>, machine: &mut dyn Machine) {
    let _spoke = verbs::read(TOOLS, call, machine);
}

/// nvram(8): `-c` deletes every firmware variable, `-d NAME` one.
fn nvram(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-f"]);
    let what = "deletes firmware variables, the boot settings among them";
    if words.has(&["-c"]) {
        acts::judged_thing(machine, RuleId::SecurityPosture, Verdict::Deny, what, "");
    } else if words.has(&["-d"]) {
        acts::judged_thing(machine, RuleId::SecurityPosture, Verdict::Confirm, what, words.objects(0));
    }
}

/// nft(8): a text of its own language. `-c` only checks.
fn nft(call: &Call<'_>, machine: &mut dyn Machine) {
    const WRITES: &[&str] = &["flush", "delete", "destroy", "reset"];
    let words = Words::sort(call.args, &["-f", "--file", "-I", "--includepath", "-D", "--define"]);
    let text: Vec<String> = words.operands.iter().map(|operand| word(operand).into_owned()).collect();
    let text = text.join(" ");
    let loses = text
        .split([';', '\n'])
        .any(|line| WRITES.contains(&line.split_whitespace().next().unwrap_or_default()));
    if loses && !words.has(&["-c", "--check", "-h", "--help"]) {
        let rule = RuleId::SystemConfiguration;
        acts::judged_thing(machine, rule, Verdict::Confirm, "removes rules of the firewall", text);
    }
}

/// iptables(8): flushing, deleting and the default policy. `-L` and `-S` list, `-Z` only counts anew.
fn iptables(call: &Call<'_>, machine: &mut dyn Machine) {
    const WRITES: &[&str] = &["-F", "--flush", "-X", "--delete-chain", "-P", "--policy", "-D", "--delete"];
    // Letters are not combined with a command's: `-nvL` lists.
    let writes = call.args.iter().any(|arg| {
        let known = word(arg);
        WRITES.contains(&&*known)
            || known.strip_prefix("--").is_some_and(|name| name.len() > 2 && "flush".starts_with(name))
    });
    if writes {
        let object: Vec<&str> = call.args.iter().map(|arg| &*arg.source).collect();
        let rule = RuleId::SystemConfiguration;
        acts::judged_thing(
            machine,
            rule,
            Verdict::Confirm,
            "removes rules of the firewall, or changes its default",
            object.join(" "),
        );
    }
}

/// Kernel settings that are protections.
const HARDENING: &[&str] = &[
    "kernel.randomize_va_space",
    "kernel.kptr_restrict",
    "kernel.dmesg_restrict",
    "kernel.yama.ptrace_scope",
    "kernel.unprivileged_bpf_disabled",
    "kernel.modules_disabled",
    "kernel.sysrq",
    "fs.protected_hardlinks",
    "fs.protected_symlinks",
    "fs.suid_dumpable",
];

/// sysctl(8): setting one of the protections.
fn sysctl(call: &Call<'_>, machine: &mut dyn Machine) {
    let setting = call.args.iter().map(word).find(|arg| {
        arg.split_once('=')
            .is_some_and(|(name, _)| HARDENING.contains(&name.trim().replace('/', ".").as_str()))
    });
    if let Some(setting) = setting {
        let what = "changes a protection of the kernel";
        acts::judged_thing(machine, RuleId::SecurityPosture, Verdict::Confirm, what, setting.into_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> String {
        Recorder::default().call_in(PROGRAMS, line).told().join(" ")
    }

    #[test]
    fn a_protection_that_is_switched_off_is_refused() {
        for line in [
            "csrutil disable",
            "csrutil authenticated-root disable",
            "csrutil enable --without fs",
            "spctl --master-disable",
            "spctl --global-disable",
            "nvram -c",
            "fdesetup disable",
            "mokutil --disable-validation",
        ] {
            assert!(told(line).starts_with("[security-posture deny]"), "{line}: {}", told(line));
        }
    }

    #[test]
    fn firewalls_and_access_control_are_asked_about() {
        for line in [
            "setenforce 0",
            "setenforce Permissive",
            "aa-teardown",
            "aa-disable /etc/apparmor.d/x",
            "ufw disable",
            "ufw --force reset",
            "ufw delete allow 80",
            "iptables -F",
            "iptables --flush",
            "iptables -t nat -F",
            "iptables -P INPUT DROP",
            "ip6tables -X",
            "nft flush ruleset",
            "nft 'add table x; flush ruleset'",
            "nft delete table inet filter",
            "firewall-cmd --panic-on",
            "firewall-cmd --permanent --remove-service=ssh",
            "iptables-restore",
            "tmutil delete /x",
            "tmutil disable",
            "tmutil deletelocalsnapshots /",
            "nvram -d boot-args",
            "sysctl -w kernel.yama.ptrace_scope=0",
            "auditctl -e 0",
            "pfctl -F all",
            "security delete-keychain login.keychain",
        ] {
            assert!(told(line).contains(" confirm]"), "{line}: {}", told(line));
        }
    }

    #[test]
    fn status_and_additions_are_harmless() {
        for line in [
            "csrutil status",
            "spctl --status",
            "nvram -p",
            "setenforce 1",
            "getenforce",
            "ufw status verbose",
            "ufw allow 22",
            "ufw enable",
            "ufw default deny",
            "iptables -L -n -v",
            "iptables -nvL",
            "iptables -A INPUT -j ACCEPT",
            "iptables -S",
            "nft list ruleset",
            "nft add rule inet filter input accept",
            "nft -c flush ruleset",
            "firewall-cmd --list-all",
            "firewall-cmd --add-service=http",
            "tmutil listbackups",
            "tmutil startbackup",
            "sysctl -a",
            "sysctl -w vm.max_map_count=262144",
            "sysctl kernel.yama.ptrace_scope",
            "fdesetup status",
            "security find-generic-password -s x",
            "iptables-restore --test",
        ] {
            let known = PROGRAMS.iter().any(|(name, _)| line.split(' ').next() == Some(name));
            assert!(!known || told(line).is_empty(), "{line}: {}", told(line));
        }
    }
}
