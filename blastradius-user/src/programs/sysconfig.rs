//! How the machine starts, what it runs at set times, what is mounted and how it is reached.

use blastradius_common::{RuleId, Verdict};

use crate::policy::effect::{Act, Follow};
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::verbs::{self, Row, Tool, Words, row, word};
use crate::programs::{Call, Dialect, Input, Machine, Program, Surroundings, acts};
use crate::shell::value::{Abstract, Piece};

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("crontab", crontab),
    ("at", verb),
    ("atrm", verb),
    ("grub-install", verb),
    ("grub2-install", verb),
    ("update-grub", verb),
    ("update-grub2", verb),
    ("grub-mkconfig", mkconfig),
    ("grub2-mkconfig", mkconfig),
    ("grub-set-default", verb),
    ("grub2-set-default", verb),
    ("grub-reboot", verb),
    ("grub2-reboot", verb),
    ("grub-editenv", verb),
    ("grub2-editenv", verb),
    ("grubby", verb),
    ("lilo", verb),
    ("extlinux", verb),
    ("syslinux", verb),
    ("kernelstub", verb),
    ("efibootmgr", efibootmgr),
    ("bootctl", verb),
    ("kernel-install", verb),
    ("update-initramfs", verb),
    ("bless", verb),
    ("launchctl", launchctl),
    ("mount", mount),
    ("umount", umount),
    ("swapoff", verb),
    ("modprobe", verb),
    ("rmmod", verb),
    ("ip", verb),
    ("ifdown", verb),
    ("nmcli", verb),
    ("systemd-tmpfiles", tmpfiles),
    ("journalctl", journalctl),
];

const SYSTEM: RuleId = RuleId::SystemConfiguration;

/// crontab(1): `-r` removes the whole table; a file or `-` replaces it.
fn crontab(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("u", ""),
        value("c", ""),
        flag("l", ""),
        flag("e", ""),
        flag("r", ""),
        flag("i", ""),
        flag("s", ""),
        flag("nTV", ""),
        flag("h", "help"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    if parsed.has("l") {
        // `(crontab -l; echo LINE) | crontab -` adds to what is there.
        return acts::print_line(machine, acts::output_word("crontab -l").text);
    }
    if parsed.has("e") {
        let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| machine.variable(name));
        if let Some(editor) = editor.filter(|text| !text.has_hole()) {
            machine.run_text(&editor, Dialect::Posix, Vec::new(), Surroundings::default());
        }
        return;
    }
    if parsed.has_any(&["n", "help"]) {
        return;
    }
    let empties = parsed.operands.first().is_some_and(|file| word(file) == "/dev/null");
    if parsed.has("r") || empties {
        acts::judged_thing(machine, SYSTEM, Verdict::Confirm, "removes every scheduled command", "crontab");
    } else if !parsed.operands.is_empty() || machine.stdin() != Input::Inherited {
        acts::judged_thing(machine, SYSTEM, Verdict::Warn, "replaces every scheduled command", "crontab");
        let table = match parsed.operands.first().filter(|file| word(file) != "-") {
            Some(file) => machine.read_file(file),
            None => match machine.stdin() {
                Input::Text(text) => Some(text),
                _ => None,
            },
        };
        for command in table.iter().flat_map(scheduled) {
            machine.run_text(&Abstract::known(&command), Dialect::Posix, Vec::new(), Surroundings::default());
        }
    }
}

/// The commands of a table, crontab(5): five fields or `@NAME`, then text for a shell up to the first `%`. Of a table
/// that is only partly known, the lines that are.
fn scheduled(table: &Abstract) -> Vec<String> {
    let known = |piece: &Piece| match piece {
        Piece::Text(text) => text.to_string(),
        Piece::Nothing(_) => String::new(),
        // What an unknown text ends with is the end of its last line, as a rule.
        Piece::Hole(_) => "\n".to_owned(),
    };
    let text: String = table.pieces.iter().map(known).collect();
    let command = |line: &str| {
        let line = line.trim();
        let fields = if line.starts_with('@') { 1 } else { 5 };
        let mut rest = line;
        for _ in 0..fields {
            rest = rest.split_once([' ', '\t'])?.1.trim_start();
        }
        let is_schedule =
            line.starts_with(['@', '*']) || line.starts_with(|first: char| first.is_ascii_digit());
        is_schedule.then(|| rest.split('%').next().unwrap_or_default().to_owned())
    };
    text.lines().filter_map(command).collect()
}

const fn changes(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, SYSTEM, what).verdict(Verdict::Confirm)
}

const fn tool(names: &'static [&'static str], rows: &'static [Row]) -> Tool {
    Tool { names, valued: &[], dry: &["-h", "-V"], rows }
}

static TOOLS: &[Tool] = &[
    tool(&["at"], &[changes("", "removes scheduled commands").with(&["-r", "-d"])]),
    tool(&["atrm"], &[changes("*", "removes scheduled commands")]),
    tool(
        &["grub-install", "grub2-install", "update-grub", "update-grub2", "lilo"],
        &[changes("", "writes the boot loader")],
    ),
    tool(
        &["grub-set-default", "grub2-set-default", "grub-reboot", "grub2-reboot"],
        &[changes("*", "changes what the machine starts")],
    ),
    tool(
        &["grub-editenv", "grub2-editenv"],
        &[changes("* set|unset|create", "changes what the boot loader remembers")],
    ),
    tool(
        &["grubby"],
        &[changes("", "changes the entries of the boot loader").with(&[
            "--remove-kernel",
            "--set-default",
            "--set-default-index",
            "--remove-args",
            "--args",
            "--add-kernel",
        ])],
    ),
    tool(
        &["extlinux", "syslinux"],
        &[changes("", "writes the boot loader").with(&["--install", "-i", "-U", "--update"])],
    ),
    Tool {
        names: &["kernelstub"],
        valued: &[],
        dry: &["-h", "-p", "--print-config", "-c", "--dry-run"],
        rows: &[changes("", "writes the boot loader")],
    },
    // bootctl(1).
    tool(
        &["bootctl"],
        &[changes(
            "install|remove|update|set-default|set-oneshot|set-timeout|unlink|cleanup|random-seed",
            "changes the boot loader or its entries",
        )],
    ),
    tool(&["kernel-install"], &[changes("remove", "removes a kernel")]),
    tool(
        &["update-initramfs"],
        &[changes("", "removes the image that the machine starts with").with(&["-d"])],
    ),
    tool(
        &["bless"],
        &[changes("", "changes what the machine starts").with(&["--setBoot", "-setBoot", "--nextonly"])],
    ),
    Tool {
        names: &["modprobe"],
        valued: &["-C", "-d", "-S"],
        dry: &["-n", "--show", "-h"],
        rows: &[changes("*", "takes a module out of the kernel").with(&["-r", "--remove"])],
    },
    tool(
        &["swapoff"],
        &[
            changes("", "takes memory away that processes may need").with(&["-a", "--all"]),
            changes("*", "takes memory away that processes may need"),
        ],
    ),
    tool(&["rmmod"], &[changes("*", "takes a module out of the kernel")]),
    // ip(8): objects may be abbreviated.
    Tool {
        names: &["ip"],
        valued: &["-n", "-netns", "-f", "-family"],
        dry: &[],
        rows: &[
            changes("l*|route|r|ro|addr*|a|rule|ru|neigh* flush|f", "takes addresses or routes away"),
            changes("route|r|ro del*|d default", "takes the way out away"),
        ],
    },
    tool(&["ifdown"], &[changes("*", "takes an interface down")]),
    // nmcli(1).
    tool(
        &["nmcli"],
        &[
            changes("n*|r* off", "switches networking off"),
            changes("networking|radio|n|r wifi|all off", "switches networking off"),
            changes("c* delete|del|down|d", "removes or ends a connection"),
            changes("d* disconnect|down|delete|dis", "ends the connections of a device"),
        ],
    ),
];

fn verb(call: &Call<'_>, machine: &mut dyn Machine) {
    if call.name == "ip" && takes_link_down(call) {
        return acts::judged_thing(machine, SYSTEM, Verdict::Confirm, "takes an interface down", "");
    }
    let _spoke = verbs::read(TOOLS, call, machine);
}

/// `ip link set [dev] NAME … down`.
fn takes_link_down(call: &Call<'_>) -> bool {
    let words: Vec<_> = call.args.iter().map(word).collect();
    let link = words.iter().position(|arg| matches!(&**arg, "link" | "l" | "li"));
    link.is_some_and(|place| words[place..].iter().any(|arg| arg == "down"))
}

/// grub-mkconfig(8): prints, unless `-o FILE` is given.
fn mkconfig(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar =
        Grammar::new(&[value("o", "output"), flag("", "no-grubenv-update|update-bls-cmdline")]);
    let parsed = GRAMMAR.read(call.args);
    if let Some(output) = parsed.value("output")
        && !parsed.informs()
    {
        acts::truncate(machine, &output.clone());
    }
}

/// efibootmgr(8): without an option that changes an entry it lists them.
fn efibootmgr(call: &Call<'_>, machine: &mut dyn Machine) {
    const WRITES: &[&str] = &[
        "-a",
        "--active",
        "-A",
        "--inactive",
        "-B",
        "--delete-bootnum",
        "-c",
        "--create",
        "-C",
        "--create-only",
        "-n",
        "--bootnext",
        "-N",
        "--delete-bootnext",
        "-o",
        "--bootorder",
        "-O",
        "--delete-bootorder",
        "-D",
        "--remove-dups",
        "-t",
        "--timeout",
        "-T",
        "--delete-timeout",
        "-r",
        "--driver",
    ];
    let words = Words::sort(
        call.args,
        &["-b", "--bootnum", "-L", "--label", "-l", "--loader", "-d", "--disk", "-p", "--part"],
    );
    if words.has(WRITES) && !words.has(&["-h", "--help", "-V", "--version"]) {
        acts::judged_thing(
            machine,
            SYSTEM,
            Verdict::Confirm,
            "changes what the firmware starts",
            words.objects(0),
        );
    }
}

/// launchctl(1): jobs of the system; those of the user come back with the next login.
fn launchctl(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &[]);
    let Some((verb, operands)) = words.operands.split_first() else { return };
    let verb = word(verb);
    if verb == "reboot" {
        return acts::thing(
            machine,
            RuleId::PowerState,
            "restarts the machine or ends the session",
            words.objects(1),
        );
    }
    let of_system = operands.iter().map(word).any(|operand| {
        operand.starts_with("system")
            || operand.starts_with("/Library/")
            || operand.starts_with("/System/")
            || operand.starts_with("com.apple.")
    });
    if of_system && matches!(&*verb, "remove" | "unload" | "bootout" | "disable" | "kill") {
        acts::judged_thing(machine, SYSTEM, Verdict::Confirm, "stops a job of the system", words.objects(1));
    }
}

/// Mount points that the running system stands on.
const VITAL_MOUNTS: &[&str] = &[
    "/",
    "/boot",
    "/boot/efi",
    "/dev",
    "/etc",
    "/home",
    "/proc",
    "/run",
    "/sys",
    "/usr",
    "/var",
    "/tmp",
    "/root",
    "/opt",
];

fn is_vital(path: &str) -> bool {
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    VITAL_MOUNTS.contains(&path)
}

/// mount(8): a remount of what the system stands on, or something put over it.
fn mount(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("t", "types"),
        value("o", "options"),
        value("O", "test-opts"),
        value("L", "label"),
        value("U", "uuid"),
        value("N", "namespace"),
        value("T", "fstab"),
        value("", "source|target|target-prefix|options-source"),
        flag("a", "all"),
        flag("B", "bind"),
        flag("R", "rbind"),
        flag("M", "move"),
        flag("l", "show-labels"),
        flag("f", "fake"),
        flag("n", "no-mtab"),
        flag("r", "read-only"),
        flag("w", "rw"),
        flag("vciFsh", "verbose|internal-only|fork"),
        optional("m", "mkdir"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    let Some(place) = parsed.operands.last().map(|operand| word(operand)) else { return };
    if parsed.has("fake") || parsed.informs() || !is_vital(&place) {
        return;
    }
    let remounts =
        parsed.values("options").any(|options| word(options).split(',').any(|option| option == "remount"));
    if remounts || parsed.operands.len() > 1 {
        let what =
            if remounts { "remounts what the system stands on" } else { "covers what the system stands on" };
        acts::judged_thing(machine, SYSTEM, Verdict::Confirm, what, place.into_owned());
    }
}

/// umount(8): everything, or what the system stands on.
fn umount(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("a", "all"),
        flag("A", "all-targets"),
        flag("R", "recursive"),
        flag("f", "force"),
        flag("l", "lazy"),
        flag("", "fake"),
        flag("cdinrqvh", "detach-loop|read-only|verbose|quiet"),
        value("t", "types"),
        value("O", "test-opts"),
        value("N", "namespace"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    if parsed.has("fake") || parsed.informs() {
        return;
    }
    let vital = parsed.operands.iter().map(|operand| word(operand)).find(|place| is_vital(place));
    if parsed.has("all") || vital.is_some() {
        let object = vital.map_or_else(|| "everything".to_owned(), |place| place.into_owned());
        acts::judged_thing(machine, SYSTEM, Verdict::Confirm, "unmounts what the system stands on", object);
    }
}

/// systemd-tmpfiles(8): `--purge` removes all that the configuration names, homes included.
fn tmpfiles(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["--prefix", "--exclude-prefix", "--root", "--image", "--replace"]);
    if words.has(&["--help", "-h", "--dry-run", "--cat-config"]) {
        return;
    }
    if words.has(&["--purge"]) {
        let verdict = if words.operands.is_empty() { Verdict::Deny } else { Verdict::Confirm };
        acts::judged_thing(
            machine,
            SYSTEM,
            verdict,
            "removes everything that the configuration creates, /home included",
            words.objects(0),
        );
    } else if words.has(&["--remove"]) {
        acts::judged_thing(
            machine,
            SYSTEM,
            Verdict::Confirm,
            "removes what the configuration names",
            words.objects(0),
        );
    }
}

/// journalctl(1): vacuuming removes archived logs.
fn journalctl(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &[]);
    if words.has(&["--vacuum-size", "--vacuum-time", "--vacuum-files"]) {
        let logs = crate::shell::value::Field::literal("/var/log/journal/*");
        acts::path(machine, Act::Remove { recursive: false }, &logs, Follow::Never);
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
    fn what_changes_the_start_or_the_reach_is_asked_about() {
        for line in [
            "crontab -r",
            "crontab -u bob -r",
            "crontab -ri",
            "crontab /dev/null",
            "atrm 1",
            "grub-install /dev/sda",
            "update-grub",
            "efibootmgr -b 0001 -B",
            "efibootmgr -o 1,2",
            "bootctl install",
            "update-initramfs -d -k all",
            "mount -o remount,ro /",
            "mount -o rw,remount /usr/",
            "mount --bind x /etc",
            "umount -a",
            "umount -l /home",
            "rmmod x",
            "swapoff -a",
            "modprobe -r x",
            "ip link set eth0 down",
            "ip addr flush dev eth0",
            "ip route del default",
            "nmcli networking off",
            "nmcli con delete x",
            "launchctl bootout system/com.x",
            "launchctl unload -w /Library/LaunchDaemons/x.plist",
        ] {
            assert!(told(line).starts_with("[system-configuration confirm]"), "{line}: {}", told(line));
        }
        assert!(told("systemd-tmpfiles --purge").starts_with("[system-configuration deny]"));
        assert_eq!(told("crontab -"), "[system-configuration warn] crontab");
        assert_eq!(told("grub2-mkconfig -o /boot/grub2/grub.cfg"), "truncate /boot/grub2/grub.cfg");
    }

    #[test]
    fn looking_and_adding_is_harmless() {
        for line in [
            "crontab -l",
            "crontab -e",
            "crontab",
            "grub-mkconfig",
            "grub-install --help",
            "efibootmgr",
            "efibootmgr -v",
            "bootctl status",
            "update-initramfs -u",
            "mount",
            "mount /dev/sdb1 /mnt",
            "mount -o remount,ro /mnt/x",
            "mount -t tmpfs tmpfs /mnt/x",
            "umount /mnt/x",
            "modprobe x",
            "ip addr",
            "ip link set eth0 up",
            "ip route add default via 10.0.0.1",
            "nmcli con show",
            "nmcli device wifi list",
            "launchctl list",
            "launchctl unload ~/Library/LaunchAgents/x.plist",
            "systemd-tmpfiles --create",
            "journalctl -u x",
        ] {
            assert_eq!(told(line), "", "{line}");
        }
    }
}
