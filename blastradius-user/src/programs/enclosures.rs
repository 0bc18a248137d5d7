//! Commands that run in another root, in other namespaces, or under the service manager.

use std::path::PathBuf;
use std::rc::Rc;

use crate::policy::effect::Base;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::wrappers::{directory_base, run};
use crate::programs::{Call, Dialect, Machine, Program, Surroundings, acts, shells, words};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("chroot", chroot),
    ("arch-chroot", chroot),
    ("nsenter", nsenter),
    ("unshare", unshare),
    ("bwrap", bwrap),
    ("proot", proot),
    ("systemd-run", systemd_run),
    ("systemd-nspawn", systemd_nspawn),
    ("ld.so", loader),
];

/// The command finds `root` under the name `/`.
pub fn enter(machine: &dyn Machine, surroundings: &mut Surroundings, root: &Field) {
    let location = acts::location(root, &machine.cwd());
    surroundings.cwd = Some(Base::Known(Rc::new(PathBuf::from("/"))));
    if location.as_deref().is_some_and(|path| path.components().count() == 1) {
        return;
    }
    surroundings.elsewhere = Some(format!("chroot {}", root.source).into());
    if let Some(location) = location {
        surroundings.binds.push(("/".into(), location));
    }
}

static CHROOT: Grammar =
    Grammar::new(&[value("", "groups|userspec"), flag("", "skip-chdir"), value("gGu", ""), flag("nNrS", "")])
        .in_order();

fn chroot(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = CHROOT.read(call.args);
    let Some((root, command)) = parsed.rest.split_first() else { return };
    if parsed.informs() {
        return;
    }
    let mut surroundings = Surroundings::default();
    enter(machine, &mut surroundings, root);
    run_or_shell(machine, command, surroundings);
}

/// Without a command these programs start a shell.
fn run_or_shell(machine: &mut dyn Machine, command: &[Field], surroundings: Surroundings) {
    if command.is_empty() {
        shells::run_stdin(machine, Dialect::Posix, Vec::new(), surroundings);
    } else {
        run(machine, command.to_vec(), surroundings);
    }
}

static NSENTER: Grammar = Grammar::new(&[
    flag("a", "all"),
    value("t", "target"),
    optional("m", "mount"),
    optional("u", "uts"),
    optional("i", "ipc"),
    optional("n", "net"),
    optional("p", "pid"),
    optional("C", "cgroup"),
    optional("U", "user"),
    optional("T", "time"),
    value("S", "setuid"),
    value("G", "setgid"),
    optional("r", "root"),
    optional("w", "wd"),
    optional("W", "wdns"),
    flag("eFZ", "preserve-credentials|keep-caps|no-fork|follow-context|env|user-parent"),
    flag("h", "help"),
    flag("V", "version"),
])
.in_order();

fn nsenter(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = NSENTER.read(call.args);
    if parsed.informs() {
        return;
    }
    let mut surroundings = Surroundings::default();
    let target = parsed.known("target");
    // The namespaces of process 1 are the machine's own.
    let other_files = parsed.has_any(&["mount", "all", "root"]);
    if other_files && target.as_deref() != Some("1") {
        let whose = target.as_deref().unwrap_or("another process");
        surroundings.elsewhere = Some(format!("the namespaces of {whose}").into());
    }
    if let Some(directory) = parsed.value("wd") {
        surroundings.cwd = Some(directory_base(machine, directory));
    }
    run_or_shell(machine, parsed.rest, surroundings);
}

static UNSHARE: Grammar = Grammar::new(&[
    optional("muinpUCT", "mount|uts|ipc|net|pid|user|cgroup|time"),
    flag("frc", "fork|map-root-user|map-current-user|map-auto|keep-caps"),
    optional("", "mount-proc|kill-child|mount-binfmt"),
    value("", "propagation|setgroups|map-user|map-group|map-users|map-groups|monotonic|boottime"),
    value("S", "setuid"),
    value("G", "setgid"),
    value("R", "root"),
    value("w", "wd"),
    flag("h", "help"),
    flag("V", "version"),
])
.in_order();

fn unshare(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = UNSHARE.read(call.args);
    if parsed.informs() {
        return;
    }
    let mut surroundings = Surroundings::default();
    if let Some(root) = parsed.value("root") {
        enter(machine, &mut surroundings, root);
    }
    if let Some(directory) = parsed.value("wd") {
        surroundings.cwd = Some(directory_base(machine, directory));
    }
    run_or_shell(machine, parsed.rest, surroundings);
}

/// Options of bwrap(1) by the number of their arguments. Binds that can be written come first.
const BWRAP: &[(&[&str], usize)] = &[
    (&["--bind", "--bind-try", "--dev-bind", "--dev-bind-try", "--bind-fd"], 2),
    (
        &[
            "--ro-bind",
            "--ro-bind-try",
            "--ro-bind-fd",
            "--symlink",
            "--setenv",
            "--file",
            "--bind-data",
            "--ro-bind-data",
        ],
        2,
    ),
    (&["--chmod", "--ro-overlay", "--overlay-src"], 2),
    (&["--overlay"], 3),
    (
        &[
            "--unshare-all",
            "--share-net",
            "--unshare-user",
            "--unshare-user-try",
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-net",
            "--unshare-uts",
            "--unshare-cgroup",
            "--unshare-cgroup-try",
            "--clearenv",
            "--new-session",
            "--die-with-parent",
            "--as-pid-1",
            "--disable-userns",
            "--assert-userns-disabled",
            "--help",
            "--version",
        ],
        0,
    ),
];

/// bwrap(1): the root is an empty tmpfs, and only what is bound read-write is the machine's own.
fn bwrap(call: &Call<'_>, machine: &mut dyn Machine) {
    let mut surroundings =
        Surroundings { elsewhere: Some("bwrap".into()), throwaway: true, ..Surroundings::default() };
    let base = machine.cwd();
    let mut place = 0;
    while let Some(word) = call.args.get(place) {
        let name = words::lead(&word.text);
        if !name.starts_with("--") {
            break;
        }
        place += 1;
        if name == "--" {
            break;
        }
        let known = BWRAP.iter().position(|(names, _)| names.contains(&&*name));
        let count = known.map_or(1, |row| BWRAP[row].1);
        let argument = |offset: usize| call.args.get(place + offset);
        match (&*name, argument(0), argument(1)) {
            ("--help" | "--version", ..) => return,
            ("--clearenv", ..) => surroundings.clear_env = true,
            ("--chdir", Some(directory), _) => surroundings.cwd = Some(directory_base(machine, directory)),
            ("--setenv", Some(name), Some(value)) => {
                if let Some(name) = name.as_known() {
                    surroundings.vars.push((name.into_owned(), Some(value.text.clone())));
                }
            }
            ("--unsetenv", Some(name), _) => {
                if let Some(name) = name.as_known() {
                    surroundings.vars.push((name.into_owned(), None));
                }
            }
            (_, Some(source), Some(inside)) if known == Some(0) => {
                let bound = acts::location(inside, &base).zip(acts::location(source, &base));
                surroundings.binds.extend(bound);
            }
            _ => {}
        }
        place += count;
    }
    run(machine, call.args.get(place..).unwrap_or_default().to_vec(), surroundings);
}

static PROOT: Grammar = Grammar::new(&[
    value("r", "rootfs"),
    value("b", "bind"),
    value("m", "mount"),
    value("q", "qemu"),
    value("w", "cwd"),
    value("k", "kernel-release"),
    value("R", ""),
    value("S", ""),
    value("i", "change-id"),
    flag("0", "root-id"),
    flag("", "kill-on-exit|link2symlink"),
])
.in_order();

/// proot(1) shows another root, with the machine's own directories bound into it.
fn proot(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = PROOT.read(call.args);
    if parsed.informs() {
        return;
    }
    let mut surroundings = Surroundings::default();
    if let Some(root) = ["rootfs", "R", "S"].iter().find_map(|option| parsed.value(option)) {
        enter(machine, &mut surroundings, root);
    }
    for bind in parsed.values("bind").filter_map(Field::as_known) {
        let (host, inside) = bind.split_once(':').unwrap_or((&bind, &bind));
        surroundings.binds.push((inside.into(), host.into()));
    }
    if let Some(directory) = parsed.value("cwd") {
        surroundings.cwd = Some(directory_base(machine, directory));
    }
    run_or_shell(machine, parsed.rest, surroundings);
}

static SYSTEMD_RUN: Grammar = Grammar::new(&[
    flag("", "scope"),
    flag("", "user"),
    flag("", "system"),
    flag("d", "same-dir"),
    flag("S", "shell"),
    value("", "working-directory"),
    value("u", "unit"),
    value("p", "property"),
    value("E", "setenv"),
    value("H", "host"),
    value("M", "machine"),
    value("", "description|slice|service-type|uid|gid|nice|on-active|on-boot|on-startup|on-unit-active|on-calendar"),
    value("", "on-unit-inactive|timer-property|path-property|socket-property|background|json"),
    flag("tPqGrC", "pty|pipe|quiet|collect|wait|remain-after-exit|no-block|no-ask-password|send-sighup|expand-environment"),
    flag("", "slice-inherit|on-timezone-change|on-clock-change|ignore-failure"),
    flag("h", "help"),
])
.in_order();

/// A service starts in `/`, or in the user's home under the user's manager; a scope stays where it is.
fn systemd_run(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SYSTEMD_RUN.read(call.args);
    if parsed.informs() {
        return;
    }
    let mut surroundings = Surroundings::default();
    if !parsed.has_any(&["scope", "same-dir"]) {
        let home = machine.world().home_of(None).filter(|_| parsed.has("user"));
        surroundings.cwd = Some(Base::Known(Rc::new(home.unwrap_or_else(|| "/".into()))));
    }
    if let Some(directory) = parsed.value("working-directory") {
        surroundings.cwd = Some(directory_base(machine, directory));
    }
    for assignment in parsed.values("setenv") {
        if let Some((name, value)) = words::assignment(assignment) {
            surroundings.vars.push((name, Some(value)));
        }
    }
    if let Some(place) = parsed.value("host").or_else(|| parsed.value("machine")) {
        surroundings.elsewhere = Some(Rc::clone(&place.source));
    }
    if parsed.rest.is_empty() && parsed.has("shell") {
        shells::run_stdin(machine, Dialect::Bash, Vec::new(), surroundings);
    } else {
        run(machine, parsed.rest.to_vec(), surroundings);
    }
}

static NSPAWN: Grammar = Grammar::new(&[
    value("D", "directory"),
    value("i", "image"),
    value("", "bind"),
    value("", "bind-ro|tmpfs|overlay|private-users|network-veth-extra|network-bridge|property|capability"),
    value("uMEUSp", "user|machine|setenv|slice|port|uuid|hostname|console|chdir"),
    flag("baqxn", "boot|as-pid2|quiet|ephemeral|private-network|network-veth|pipe|read-only"),
    flag("h", "help"),
])
.in_order();

fn systemd_nspawn(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = NSPAWN.read(call.args);
    if parsed.informs() {
        return;
    }
    let mut surroundings =
        Surroundings { elsewhere: Some("systemd-nspawn".into()), ..Surroundings::default() };
    if let Some(root) = parsed.value("directory") {
        enter(machine, &mut surroundings, root);
    }
    for bind in parsed.values("bind").filter_map(Field::as_known) {
        let mut parts = bind.split(':');
        let host = parts.next().unwrap_or_default();
        surroundings.binds.push((parts.next().unwrap_or(host).into(), host.into()));
    }
    run(machine, parsed.rest.to_vec(), surroundings);
}

static LOADER: Grammar = Grammar::new(&[
    value("", "library-path|inhibit-rpath|audit|preload|argv0|glibc-hwcaps-prepend|glibc-hwcaps-mask"),
    flag("", "list|verify|inhibit-cache|list-tunables|list-diagnostics"),
])
.in_order();

/// `/lib64/ld-linux-x86-64.so.2 PROGRAM…` (ld.so(8)).
fn loader(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = LOADER.read(call.args);
    if !parsed.informs() {
        run(machine, parsed.rest.to_vec(), Surroundings::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn called(line: &str) -> Recorder {
        let name = line.split(' ').next().unwrap_or_default();
        let program = PROGRAMS.iter().find(|(known, _)| *known == name).expect("in the table").1;
        Recorder::default().call(program, line)
    }

    fn surroundings(line: &str) -> Surroundings {
        let recorder = called(line);
        assert_eq!(recorder.ran(), ["rm -rf etc"], "{line}");
        recorder.argvs[0].surroundings.clone()
    }

    fn at(path: &str) -> Option<Base> {
        Some(Base::Known(Rc::new(path.into())))
    }

    #[test]
    fn a_changed_root_shows_another_directory_as_the_root() {
        let own = surroundings("chroot / rm -rf etc");
        assert_eq!((own.cwd, own.elsewhere), (at("/"), None));
        let other = surroundings("chroot --userspec=a:b /mnt rm -rf etc");
        assert_eq!(other.binds, [(PathBuf::from("/"), PathBuf::from("/mnt"))]);
        assert!(other.elsewhere.is_some());
    }

    #[test]
    fn the_namespaces_of_the_first_process_are_the_machines_own() {
        assert_eq!(surroundings("nsenter -t 1 -m -- rm -rf etc").elsewhere, None);
        assert_eq!(surroundings("nsenter -t 1 -m -u -n -i rm -rf etc").elsewhere, None);
        assert!(surroundings("nsenter --target 77 --mount rm -rf etc").elsewhere.is_some());
        assert_eq!(surroundings("unshare -r rm -rf etc").elsewhere, None);
        assert!(surroundings("unshare --root=/mnt rm -rf etc").elsewhere.is_some());
    }

    #[test]
    fn only_what_is_bound_read_write_is_the_machines_own() {
        let inside =
            surroundings("bwrap --ro-bind / / --bind /w /work --tmpfs /tmp --chdir /work rm -rf etc");
        assert_eq!(inside.binds, [(PathBuf::from("/work"), PathBuf::from("/w"))]);
        assert_eq!(inside.cwd, at("/work"));
        assert!(called("bwrap --help").is_harmless());
    }

    #[test]
    fn a_service_starts_in_the_root() {
        assert_eq!(surroundings("systemd-run rm -rf etc").cwd, at("/"));
        assert_eq!(surroundings("systemd-run --user rm -rf etc").cwd, at("/home/dev"));
        assert_eq!(surroundings("systemd-run --scope rm -rf etc").cwd, None);
        assert_eq!(surroundings("systemd-run --unit x --working-directory=/x rm -rf etc").cwd, at("/x"));
    }
}
