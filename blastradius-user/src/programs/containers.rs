//! Containers, clusters and virtual machines: commands that run inside them, and what is deleted of them.
//!
//! A container that is made for one command is thrown away with whatever the command destroyed, save where a directory
//! of the host is bound into it. What runs in a container, pod or guest that stays is another machine's business.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use blastradius_common::{RuleId, Verdict};

use crate::policy::effect::Base;
use crate::programs::options::{Grammar, Parsed, flag, value};
use crate::programs::verbs::{self, Row, Tool, Words, harmless, row, word};
use crate::programs::{Call, Machine, Program, Surroundings, acts, is_destructive, words};
use crate::shell::value::Field;

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("docker", docker),
    ("podman", docker),
    ("nerdctl", docker),
    ("docker-compose", compose),
    ("podman-compose", compose),
    ("kubectl", kubectl),
    ("oc", kubectl),
    ("k3s", front_end),
    ("microk8s", front_end),
    ("minikube", front_end),
    ("lxc", lxc),
    ("incus", lxc),
    ("lxc-attach", lxc_attach),
    ("lxc-destroy", verb),
    ("helm", verb),
    ("helmfile", verb),
    ("flux", verb),
    ("xcrun", verb),
    ("kind", verb),
    ("k3d", verb),
    ("argocd", verb),
    ("virsh", verb),
    ("vagrant", verb),
    ("multipass", verb),
    ("VBoxManage", verb),
    ("vboxmanage", verb),
    ("limactl", verb),
    ("colima", verb),
    ("machinectl", verb),
    ("pct", verb),
    ("qm", verb),
    ("toolbox", verb),
    ("distrobox", verb),
    ("adb", adb),
    ("fastboot", verb),
];

/// Options in front of the subcommand that take a value.
static DOCKER: Grammar = Grammar::new(&[
    value("H", "host|url"),
    value("c", "context|connection"),
    value("l", "log-level"),
    value("n", "namespace"),
    value("a", "address"),
    value(
        "",
        "config|tlscacert|tlscert|tlskey|root|runroot|storage-driver|storage-opt|cgroup-manager|identity",
    ),
    flag("D", "debug"),
    flag("v", "version"),
])
.in_order()
.exact();

/// `docker run`, `docker create`: options end at the image.
static RUN: Grammar = Grammar::new(&[
    value("v", "volume"),
    value("", "mount"),
    value("", "device"),
    value("", "pid"),
    value("", "entrypoint"),
    value("w", "workdir"),
    flag("", "privileged"),
    value("e", "env"),
    value("p", "publish"),
    value("u", "user"),
    value("l", "label"),
    value("m", "memory"),
    value("h", "hostname"),
    value("a", "attach"),
    value("c", "cpu-shares"),
    value(
        "",
        "add-host|annotation|blkio-weight|blkio-weight-device|cap-add|cap-drop|cgroup-parent|cgroupns|cidfile|\
         cpu-period|cpu-quota|cpu-rt-period|cpu-rt-runtime|cpus|cpuset-cpus|cpuset-mems|detach-keys|\
         device-cgroup-rule|device-read-bps|device-read-iops|device-write-bps|device-write-iops|dns|dns-option|\
         dns-search|domainname|env-file|expose|gpus|group-add|health-cmd|health-interval|health-retries|\
         health-start-period|health-timeout|ip|ip6|ipc|isolation|kernel-memory|label-file|link|link-local-ip|\
         log-driver|log-opt|mac-address|memory-reservation|memory-swap|memory-swappiness|name|net|network|\
         network-alias|net-alias|oom-score-adj|pids-limit|platform|pull|restart|runtime|security-opt|shm-size|\
         stop-signal|stop-timeout|storage-opt|sysctl|tmpfs|ulimit|userns|uts|volume-driver|volumes-from|arch|\
         authfile|systemd|secret|pod|uidmap|gidmap|subuidname|subgidname|image-volume|timezone|umask|variant|os|\
         requires|sdnotify|seccomp-policy|personality|passwd-entry|group-entry|hostuser|decryption-key|creds|\
         cert-dir|conmon-pidfile|pidfile|preserve-fds|chrootdirs|timeout|retry|retry-delay|shm-size-systemd",
    ),
    flag("d", "detach"),
    flag("i", "interactive"),
    flag("t", "tty"),
    flag("P", "publish-all"),
    flag("q", "quiet"),
    flag("", "rm"),
])
.in_order()
.exact();

/// `docker exec`: options end at the container.
static EXEC: Grammar = Grammar::new(&[
    value("e", "env"),
    value("u", "user"),
    value("w", "workdir"),
    value("", "detach-keys|env-file|index|preserve-fds|cidfile"),
    flag("d", "detach"),
    flag("i", "interactive"),
    flag("t", "tty"),
    flag("T", "no-TTY"),
    flag("l", "latest"),
    flag("", "privileged"),
    flag("", "rm"),
])
.in_order()
.exact();

fn docker(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = DOCKER.read(call.args);
    if parsed.has_any(&["help", "version"]) {
        return;
    }
    // `docker container run` is `docker run`.
    let args = match parsed.rest.split_first() {
        Some((group, rest)) if word(group) == "container" => rest,
        _ => parsed.rest,
    };
    let Some((subcommand, rest)) = args.split_first() else { return };
    match &*word(subcommand) {
        "run" | "create" => run(machine, rest),
        "exec" => exec(machine, rest),
        "compose" => compose(&Call { name: "docker-compose", args: rest }, machine),
        "push" => {
            acts::thing(machine, RuleId::OutwardAction, "publishes an image", verbs::as_written("", rest))
        }
        _ => {
            let _spoke = verbs::read(TOOLS, &Call { name: "docker", args: parsed.rest }, machine);
        }
    }
}

/// One directory of the host, bound into a container.
struct Bind {
    inside: PathBuf,
    host: PathBuf,
}

fn run(machine: &mut dyn Machine, args: &[Field]) {
    let parsed = RUN.read(args);
    let Some((image, command)) = parsed.rest.split_first() else { return };
    if parsed.has("help") {
        return;
    }
    let mut argv: Vec<Field> =
        parsed.value("entrypoint").filter(|program| !word(program).is_empty()).cloned().into_iter().collect();
    argv.extend_from_slice(command);
    let mut binds = binds(machine, &parsed);
    if parsed.has("privileged") {
        // The devices of the host are its own.
        binds.push(Bind { inside: "/dev".into(), host: "/dev".into() });
    }
    binds.extend(parsed.values("device").filter_map(|device| shared_device(&word(device))));
    if argv.is_empty() {
        return;
    }
    if let Some(command) = on_the_host(&parsed, &argv, &binds) {
        return machine.run_argv(command, Surroundings::default());
    }
    // Without a bind everything that the command can reach is thrown away with the container.
    if binds.is_empty() {
        return;
    }
    let cwd = parsed.known("workdir").map(|directory| Base::Known(Rc::new(PathBuf::from(&*directory))));
    let surroundings = Surroundings {
        elsewhere: Some(format!("a container of {}", image.source).into()),
        binds: binds.into_iter().map(|bind| (bind.inside, bind.host)).collect(),
        throwaway: true,
        cwd: Some(cwd.unwrap_or_else(|| Base::Known(Rc::new("/".into())))),
        ..Surroundings::default()
    };
    machine.run_argv(argv, surroundings);
}

/// The command that such a container runs on the host itself: behind nsenter with the host's processes, or behind
/// chroot into the host's root.
fn on_the_host(parsed: &Parsed<'_>, argv: &[Field], binds: &[Bind]) -> Option<Vec<Field>> {
    let mentions = |needle: &str| argv.iter().any(|arg| word(arg).contains(needle));
    let sees_host = parsed.known("pid").is_some_and(|pid| pid == "host");
    if sees_host && (mentions("nsenter") || mentions("/proc/1/root")) {
        return Some(argv.to_vec());
    }
    let [program, directory, command @ ..] = argv else { return None };
    let directory = PathBuf::from(&*word(directory));
    let is_root = binds.iter().any(|bind| bind.inside == directory && bind.host == Path::new("/"));
    (word(program) == "chroot" && is_root && !command.is_empty()).then(|| command.to_vec())
}

/// The binds of `-v HOST:INSIDE[:OPTIONS]` and `--mount type=bind,…`. Named volumes and read-only binds are none.
fn binds(machine: &dyn Machine, parsed: &Parsed<'_>) -> Vec<Bind> {
    let volumes = parsed.values("volume").filter_map(|field| volume(&word(field)));
    let mounts = parsed.values("mount").filter_map(|field| mount(&word(field)));
    let cwd = machine.cwd();
    volumes
        .chain(mounts)
        .filter_map(|(host, inside)| {
            let host = acts::location(&Field::literal(&host), &cwd)?;
            Some(Bind { inside: inside.into(), host: host.components().collect() })
        })
        .collect()
}

fn volume(text: &str) -> Option<(String, String)> {
    let mut parts = text.split(':');
    let (host, inside) = (parts.next()?, parts.next()?);
    let read_only = parts.next().is_some_and(|options| options.split(',').any(|option| option == "ro"));
    (!read_only && host.contains(['/', '.'])).then(|| (host.to_owned(), inside.to_owned()))
}

/// `--device HOST[:INSIDE[:RIGHTS]]`.
fn shared_device(text: &str) -> Option<Bind> {
    let mut parts = text.split(':');
    let host = parts.next().filter(|host| host.starts_with('/'))?;
    let inside = parts.next().filter(|inside| inside.starts_with('/')).unwrap_or(host);
    Some(Bind { inside: inside.into(), host: host.into() })
}

fn mount(text: &str) -> Option<(String, String)> {
    let pairs: Vec<(&str, &str)> =
        text.split(',').map(|pair| pair.split_once('=').unwrap_or((pair, "true"))).collect();
    let get = |names: &[&str]| pairs.iter().find(|(name, _)| names.contains(name)).map(|(_, value)| *value);
    let bound = get(&["type"]) == Some("bind");
    let read_only = get(&["readonly", "ro"]).is_some_and(|value| !matches!(value, "false" | "0"));
    let (host, inside) = (get(&["source", "src"])?, get(&["target", "destination", "dst"])?);
    (bound && !read_only).then(|| (host.to_owned(), inside.to_owned()))
}

/// `docker exec [OPTIONS] CONTAINER COMMAND`: the container stays.
fn exec(machine: &mut dyn Machine, args: &[Field]) {
    let parsed = EXEC.read(args);
    let Some((container, command)) = parsed.rest.split_first() else { return };
    inside(
        machine,
        &format!("the container {}", container.source),
        command,
        parsed.known("workdir").as_deref(),
    );
}

/// Runs a command in a place that stays and is not this machine.
fn inside(machine: &mut dyn Machine, place: &str, command: &[Field], workdir: Option<&str>) {
    if command.is_empty() {
        return;
    }
    let unknown = || Base::Unknown(format!("the working directory of {place}").into());
    let cwd = workdir.map_or_else(unknown, |directory| Base::Known(Rc::new(PathBuf::from(directory))));
    let surroundings =
        Surroundings { elsewhere: Some(place.into()), cwd: Some(cwd), ..Surroundings::default() };
    machine.run_argv(command.to_vec(), surroundings);
}

/// docker compose: `down -v` deletes the volumes with the data in them.
fn compose(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("f", "file"),
        value("p", "project-name"),
        value("", "project-directory|profile|env-file|ansi|progress|parallel"),
        flag("", "dry-run"),
        flag("v", "version"),
    ])
    .in_order()
    .exact();
    let parsed = GRAMMAR.read(call.args);
    let Some((subcommand, rest)) = parsed.rest.split_first() else { return };
    if parsed.has_any(&["dry-run", "version", "help"]) {
        return;
    }
    let words = Words::sort(rest, &["-t", "--timeout", "--rmi"]);
    if words.has(&["--help", "--dry-run"]) {
        return;
    }
    match &*word(subcommand) {
        "down" | "rm" if words.has(&["-v", "--volumes"]) => {
            acts::thing(
                machine,
                RuleId::RemoteResource,
                "deletes the volumes of a composition with their data",
                words.objects(0),
            );
        }
        "down" if words.has(&["--rmi"]) => {
            let rule = RuleId::RemoteResource;
            acts::judged_thing(
                machine,
                rule,
                Verdict::Warn,
                "deletes the images of a composition",
                words.objects(0),
            );
        }
        "exec" | "run" => exec(machine, rest),
        "push" => acts::thing(machine, RuleId::OutwardAction, "publishes images", words.objects(0)),
        _ => {}
    }
}

/// kubectl(1): `exec POD -- COMMAND`, and what it deletes.
fn kubectl(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, KUBECTL_VALUED);
    // `debug node/NAME` mounts the node's root below /host.
    let runs = words.begin_with("exec")
        || words.begin_with("debug") && call.args.iter().any(|arg| word(arg) == "--");
    if !runs {
        let _spoke = verbs::read(TOOLS, &Call { name: "kubectl", args: call.args }, machine);
        return;
    }
    let pod = words.operands.get(1).map_or_else(String::new, |pod| pod.source.to_string());
    let dashes = call.args.iter().position(|arg| word(arg) == "--");
    // The old spelling has no dashes: everything behind the pod is the command.
    let command = match dashes {
        Some(place) => call.args.get(place + 1..).unwrap_or_default(),
        None => words.operands.get(2..).unwrap_or_default(),
    };
    inside(machine, &format!("the pod {pod}"), command, None);
}

const KUBECTL_VALUED: &[&str] = &[
    "-n",
    "--namespace",
    "--context",
    "--kubeconfig",
    "--cluster",
    "--user",
    "-s",
    "--server",
    "--token",
    "-c",
    "--container",
    "-l",
    "--selector",
    "-f",
    "--filename",
    "-o",
    "--output",
    "--request-timeout",
    "--as",
    "-k",
    "--kustomize",
    "--field-selector",
    "--grace-period",
    "--timeout",
];

/// Programs that carry kubectl: `k3s kubectl …`, `minikube kubectl -- …`.
fn front_end(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-p", "--profile"]);
    if !words.begin_with("kubectl") {
        let _spoke = verbs::read(TOOLS, call, machine);
        return;
    }
    let place = call.args.iter().position(|arg| word(arg) == "kubectl").map_or(0, |place| place + 1);
    let rest = call.args.get(place..).unwrap_or_default();
    let rest = if rest.first().is_some_and(|first| word(first) == "--") { &rest[1..] } else { rest };
    kubectl(&Call { name: "kubectl", args: rest }, machine);
}

/// lxc(1), incus(1): `exec INSTANCE -- COMMAND`, and what they delete.
fn lxc(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["--project", "--cwd", "--env", "--user", "--group", "--mode"]);
    if !words.begin_with("exec") {
        let _spoke = verbs::read(TOOLS, &Call { name: "lxc", args: call.args }, machine);
        return;
    }
    let instance = words.operands.get(1).map_or_else(String::new, |instance| instance.source.to_string());
    inside(machine, &format!("the instance {instance}"), words.operands.get(2..).unwrap_or_default(), None);
}

/// lxc-attach(1): `-n NAME -- COMMAND`.
fn lxc_attach(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-n", "--name", "-P", "-a", "-e", "-s", "-u", "-g"]);
    inside(machine, "a container", &words.operands, None);
}

/// adb: what a shell on the device destroys is the device's loss, wherever it lies there.
fn adb(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-s", "-t", "-H", "-P", "-L"]);
    if !words.begin_with("shell") {
        return verb(call, machine);
    }
    let text = words::joined(words.operands.get(1..).unwrap_or_default());
    let known = text.as_known().unwrap_or_default();
    let programs = known
        .split([';', '&', '|', '\n'])
        .map(|command| command.split_whitespace().next().unwrap_or_default());
    let destroys = programs
        .into_iter()
        .any(|program| is_destructive(program) || matches!(program, "wipe" | "reboot" | "recovery"));
    let uninstalls = known.contains("pm uninstall") || known.contains("pm clear");
    if destroys || uninstalls || text.has_hole() {
        acts::thing(machine, RuleId::RemoteResource, "destroys something on a device", known.into_owned());
    }
}

const fn lost(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::RemoteResource, what)
}

/// Something that is rebuilt or fetched again.
const fn dropped(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::RemoteResource, what).verdict(Verdict::Warn)
}

const fn sent(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::OutwardAction, what)
}

const fn tool(names: &'static [&'static str], valued: &'static [&'static str], rows: &'static [Row]) -> Tool {
    Tool { names, valued, dry: &[], rows }
}

static TOOLS: &[Tool] = &[
    tool(
        &["docker"],
        &["-H", "--host", "-c", "--context", "--filter", "--format", "-n", "--namespace"],
        &[
            lost("system prune", "deletes containers, images and volumes").with(&[
                "--volumes",
                "-a",
                "--all",
            ]),
            lost("system prune|reset", "deletes containers, networks and images"),
            lost("volume rm|remove|prune", "deletes volumes with their data"),
            lost("rm|remove", "deletes containers"),
            lost("container|pod rm|remove|prune", "deletes containers"),
            lost("rmi", "deletes images"),
            lost("image rm|remove", "deletes images"),
            lost("image prune", "deletes images").with(&["-a", "--all"]),
            lost(
                "stack|service|swarm|node|secret|config|machine rm|remove|leave|reset",
                "deletes a part of a cluster",
            ),
            lost("kube down", "deletes pods"),
            dropped(
                "image|builder|buildx|network|context prune|rm|remove",
                "deletes what is built or fetched again",
            ),
            sent("image|manifest push", "publishes an image"),
        ],
    ),
    tool(
        &["kubectl"],
        KUBECTL_VALUED,
        &[
            lost("delete", "deletes objects of a cluster"),
            lost("drain", "evicts everything from a node"),
            lost("replace", "deletes objects of a cluster and makes them anew").with(&["--force"]),
            lost("apply", "deletes objects of a cluster that are not listed").with(&["--prune"]),
            dropped("config delete-*", "removes an entry of the configuration"),
            sent(
                "apply|create|replace|patch|scale|rollout|set|edit|cordon|taint",
                "changes objects of a cluster",
            ),
        ],
    ),
    tool(
        &["minikube"],
        &["-p", "--profile"],
        &[lost("delete", "deletes a cluster"), dropped("image rm", "deletes an image")],
    ),
    tool(&["k3s", "microk8s"], &[], &[lost("reset|etcd-snapshot", "resets a cluster")]),
    tool(
        &["kind", "k3d"],
        &["--name"],
        &[lost("delete", "deletes a cluster"), lost("cluster|node delete", "deletes a cluster")],
    ),
    tool(
        &["helm"],
        &["-n", "--namespace", "--kube-context", "--kubeconfig", "-f", "--values", "--set", "--version"],
        &[
            lost("uninstall|delete|del|un", "deletes a release and its objects"),
            sent("install|upgrade|rollback|push", "changes a release"),
        ],
    ),
    tool(
        &["helmfile"],
        &["-f", "--file", "-e", "--environment", "-l", "--selector", "-n", "--namespace"],
        &[
            lost("destroy|delete", "deletes releases and their objects"),
            sent("apply|sync", "changes releases"),
        ],
    ),
    tool(
        &["flux"],
        &["-n", "--namespace", "--context"],
        &[
            lost("uninstall", "removes the controllers and their objects"),
            lost("delete", "deletes objects of a cluster"),
        ],
    ),
    tool(&["xcrun"], &["--sdk"], &[lost("simctl erase|delete", "deletes simulated devices with their data")]),
    tool(
        &["argocd"],
        &["--server", "--auth-token"],
        &[
            lost("* delete|rm|remove", "deletes objects of a cluster"),
            sent("app sync|rollback", "changes objects of a cluster"),
        ],
    ),
    tool(
        &["lxc"],
        &["--project"],
        &[
            lost("delete|rm", "deletes instances"),
            lost("storage|image|network|profile|project delete|rm", "deletes what instances stand on"),
            lost("storage volume|bucket delete|rm", "deletes volumes with their data"),
            lost("restore|rebuild", "discards the state of an instance"),
        ],
    ),
    tool(&["lxc-destroy"], &["-P", "-l"], &[lost("", "deletes a container")]),
    tool(
        &["virsh"],
        &["-c", "--connect"],
        &[
            lost("destroy", "switches a virtual machine off"),
            lost(
                "undefine|vol-delete|vol-wipe|pool-delete|pool-destroy|net-destroy|net-undefine",
                "deletes what virtual machines stand on",
            ),
            lost(
                "snapshot-delete|snapshot-revert|checkpoint-delete|managedsave-remove",
                "deletes saved states",
            ),
        ],
    ),
    tool(
        &["vagrant"],
        &[],
        &[
            lost("destroy", "deletes virtual machines"),
            lost("box remove|prune", "deletes images"),
            lost("snapshot delete|restore|pop", "discards the state of a virtual machine"),
        ],
    ),
    tool(&["multipass"], &[], &[lost("delete|purge|restore", "deletes virtual machines")]),
    tool(
        &["VBoxManage", "vboxmanage"],
        &[],
        &[
            lost("unregistervm|closemedium", "deletes a virtual machine or its disk")
                .with(&["--delete", "--delete-all"]),
            lost("snapshot * delete|restore", "discards the state of a virtual machine"),
            lost("controlvm * poweroff|reset", "switches a virtual machine off"),
        ],
    ),
    tool(
        &["limactl", "colima"],
        &["-p", "--profile"],
        &[lost("delete|remove|rm|factory-reset|prune", "deletes virtual machines")],
    ),
    tool(
        &["machinectl"],
        &[],
        &[lost("remove|clean|poweroff|reboot|terminate|kill", "deletes or stops a machine")],
    ),
    tool(
        &["pct", "qm"],
        &[],
        &[lost("destroy|rollback|delsnapshot|stop|reset|disk|unlink", "deletes or stops a guest")],
    ),
    tool(&["toolbox", "distrobox"], &[], &[harmless("list"), lost("rm|rmi|ephemeral", "deletes containers")]),
    tool(
        &["adb"],
        &["-s", "-t", "-H", "-P", "-L"],
        &[
            lost("reboot|root|sideload|restore", "restarts or overwrites a device"),
            lost("uninstall", "removes software from a device"),
        ],
    ),
    tool(
        &["fastboot"],
        &["-s", "-S"],
        &[
            lost("", "erases a device").with(&["-w"]),
            lost("erase|format*|flash|flashall|update|oem|flashing", "erases or overwrites a device"),
        ],
    ),
];

fn verb(call: &Call<'_>, machine: &mut dyn Machine) {
    let _spoke = verbs::read(TOOLS, call, machine);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn call(line: &str) -> Recorder {
        Recorder::default().call_in(PROGRAMS, line)
    }

    #[track_caller]
    fn keeps(lines: &[&str]) {
        for line in lines {
            let recorder = call(line);
            assert!(recorder.is_harmless(), "{line}: {:?} {:?}", recorder.told(), recorder.ran());
        }
    }

    #[test]
    fn a_throwaway_container_loses_nothing_of_ours() {
        keeps(&[
            "docker run --rm alpine rm -rf /",
            "docker run -it -e A=b -p 1:1 --name x alpine rm -rf /",
            "docker run -v data:/data alpine rm -rf /data",
            "docker run -v /:/host:ro alpine rm -rf /host",
            "docker run --help",
            "docker run alpine",
        ]);
    }

    #[test]
    fn a_bind_is_the_hosts() {
        for line in [
            "docker run -v /:/host alpine rm -rf /host",
            "docker run --rm -v /:/host --network host alpine rm -rf /host",
            "docker run --mount type=bind,source=/,target=/host alpine rm -rf /host",
            "podman container run --volume=/:/host alpine rm -rf /host",
        ] {
            let recorder = call(line);
            assert_eq!(recorder.ran(), ["rm -rf /host"], "{line}");
            let surroundings = &recorder.argvs[0].surroundings;
            assert_eq!(surroundings.binds, [("/host".into(), "/".into())], "{line}");
            assert!(surroundings.throwaway && surroundings.elsewhere.is_some());
        }
        let relative = call("docker run -v ./x:/y alpine rm -rf /y");
        assert_eq!(relative.argvs[0].surroundings.binds, [("/y".into(), "/w/x".into())]);
    }

    #[test]
    fn devices_that_a_container_is_given_are_the_hosts() {
        let recorder = call("docker run --privileged alpine mkfs.ext4 /dev/sda");
        assert_eq!(recorder.argvs[0].surroundings.binds, [("/dev".into(), "/dev".into())]);
        let recorder = call("docker run --device /dev/sda:/dev/x alpine mkfs.ext4 /dev/x");
        assert_eq!(recorder.argvs[0].surroundings.binds, [("/dev/x".into(), "/dev/sda".into())]);
    }

    #[test]
    fn a_container_may_be_the_host_itself() {
        let entered = call("docker run --privileged --pid=host alpine nsenter -t 1 -m -- rm -rf /etc");
        assert_eq!(entered.ran(), ["nsenter -t 1 -m -- rm -rf /etc"]);
        assert!(entered.argvs[0].surroundings.elsewhere.is_none());
        let changed = call("docker run -v /:/host alpine chroot /host rm -rf /etc");
        assert_eq!(changed.ran(), ["rm -rf /etc"]);
        assert!(changed.argvs[0].surroundings.elsewhere.is_none());
    }

    #[test]
    fn what_runs_in_a_place_that_stays_is_run_elsewhere() {
        for line in [
            "docker exec -it -u root web rm -rf /data",
            "docker compose exec web rm -rf /data",
            "docker-compose -f x.yml exec -T web rm -rf /data",
            "kubectl exec pod -- rm -rf /data",
            "kubectl -n x exec -it pod -c app -- rm -rf /data",
            "k3s kubectl exec pod -- rm -rf /data",
            "minikube kubectl -- exec pod -- rm -rf /data",
            "lxc exec c -- rm -rf /data",
        ] {
            let recorder = call(line);
            assert_eq!(recorder.ran(), ["rm -rf /data"], "{line}");
            assert!(recorder.argvs[0].surroundings.elsewhere.is_some(), "{line}");
        }
    }

    #[test]
    fn what_is_deleted_of_them_is_asked_about() {
        for line in [
            "docker system prune -af --volumes",
            "docker volume rm data",
            "docker --context x volume prune -f",
            "docker rm -f web",
            "docker rmi x",
            "docker compose down -v",
            "docker-compose down --volumes",
            "docker compose -f x.yml -p y down -v --remove-orphans",
            "kubectl delete namespace prod",
            "kubectl -n x delete pvc --all",
            "kubectl drain node",
            "helm uninstall x",
            "vagrant destroy -f",
            "virsh undefine x",
            "minikube delete",
            "adb shell rm -rf /sdcard",
            "fastboot -w",
        ] {
            assert!(
                call(line).told().concat().starts_with("[remote-resource default]"),
                "{line}: {:?}",
                call(line).told()
            );
        }
    }

    #[test]
    fn looking_and_building_is_harmless() {
        keeps(&[
            "docker ps",
            "docker build -t app .",
            "docker images",
            "docker stop web",
            "docker compose up -d",
            "docker compose down",
            "docker compose --dry-run down -v",
            "docker logs rm",
            "docker --version",
            "kubectl get pods",
            "kubectl delete pod x --dry-run=client",
            "helm list",
            "vagrant up",
            "virsh list",
            "adb devices",
            "adb shell ls",
            "podman pull x",
        ]);
    }
}
