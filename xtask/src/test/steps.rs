//! Which step is in which test run: the one table.

use std::time::Duration;

use crate::{setup::requirements::Job, vm::FileSystem};

/// Which test runs include a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Every one.
    Short,
    /// Those with `--long`.
    Long,
}

/// One row.
pub(crate) struct Step {
    /// What `--only` takes; steps of one kind share it.
    pub(crate) group: &'static str,
    /// What it is.
    pub(crate) name: &'static str,
    /// Which test runs include it.
    pub(crate) tier: Tier,
    /// What it needs of the machine.
    pub(crate) jobs: &'static [Job],
    /// When it is taken to hang.
    pub(crate) limit: Duration,
    /// What to do.
    pub(crate) action: Action,
}

/// What a step does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    /// Runs cargo, with variables.
    Cargo { arguments: &'static [&'static str], env: &'static [(&'static str, &'static str)] },
    /// Runs cargo on a package outside of the workspace.
    Outside { manifest: &'static str, arguments: &'static [&'static str] },
    /// Runs unit and integration tests: everything but what has a step of its own.
    Tests,
    /// Runs one target of the tests of the whole.
    Whole {
        /// The target.
        target: &'static str,
        /// What it takes root for, if it does.
        root: Option<&'static str>,
        /// Which of its tests, by parts of their names; none: all.
        only: &'static [&'static str],
        /// Variables that make them larger.
        env: &'static [(&'static str, &'static str)],
    },
    /// Has real agents work under our hook and under the guard.
    Agents {
        /// Their names in the table of the test.
        names: &'static [&'static str],
    },
    /// Type-checks for macOS.
    MacOs,
    /// Type-checks for Linux on arm64.
    Arm64,
    /// Looks through every shell script.
    ShellScripts,
    /// Checks what licences the crates have.
    Licences,
    /// Makes the packages, twice, and tries them where nothing else of ours is.
    Packages {
        /// The tests that build from the source archive instead of the others.
        ignored: bool,
    },
    /// Replays the demonstration.
    Demo,
    /// Runs one target of the tests of the whole on the kernel rung of a kernel of vm/kernels.toml, with a Debian as root.
    WholeOn {
        /// The kernel.
        series: &'static str,
        /// The target.
        target: &'static str,
        /// Programs of this machine that it needs there, too.
        programs: &'static [&'static str],
    },
    /// Runs the kernel tests on a kernel of vm/kernels.toml.
    Kernel(KernelRun),
    /// Lets guarded workers loose on a kernel of vm/kernels.toml.
    Soak {
        /// The kernel.
        series: &'static str,
        /// For how long.
        seconds: u64,
    },
}

/// A run of the kernel tests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelRun {
    /// The kernel.
    pub(crate) series: &'static str,
    /// The file system under test.
    pub(crate) fs: FileSystem,
    /// More for the kernel's command line.
    pub(crate) append: &'static str,
    /// The whole program is tried from end to end, too.
    pub(crate) program: bool,
    /// Instead of the tests: compares the layers by so many random acts.
    pub(crate) acts: Option<&'static str>,
}

/// The package of the kernel tests, and its program.
pub(crate) const KERNEL_TESTS: &str = "kernel-tests";
/// The package of the tests of the whole.
pub(crate) const WHOLE_TESTS: &str = "blastradius-tests";
/// Its target that replays incidents.
pub(crate) const INCIDENTS: &str = "battery";
/// Its target that has containers run.
const CONTAINERS: &str = "containers";
/// Its target that does everyday work.
const EVERYDAY: &str = "everyday";
/// Its target that installs packages.
pub(crate) const PACKAGES: &str = "packages";

/// The real agents: a program that is no test for cargo, since it fetches them.
pub(crate) const AGENTS: &str = "agents";

/// Security modules without bpf, as on distributions that leave it out.
const WITHOUT_BPF: &str = "lsm=landlock,lockdown,yama,integrity,apparmor";

const MINUTE: Duration = Duration::from_secs(60);

const fn minutes(count: u32) -> Duration {
    MINUTE.saturating_mul(count)
}

const fn lint(name: &'static str, jobs: &'static [Job], action: Action) -> Step {
    Step { group: "lint", name, tier: Tier::Short, jobs, limit: minutes(15), action }
}

const fn whole(name: &'static str, target: &'static str) -> Step {
    let action = Action::Whole { target, root: None, only: &[], env: &[] };
    Step {
        group: "cases",
        name,
        tier: Tier::Short,
        jobs: &[Job::Build, Job::Programs],
        limit: minutes(20),
        action,
    }
}

/// One that makes roots of its own.
const fn rooted(name: &'static str, target: &'static str, jobs: &'static [Job]) -> Step {
    let root = Some("a root directory of its own takes root");
    let action = Action::Whole { target, root, only: &[], env: &[] };
    Step { jobs, action, ..whole(name, target) }
}

/// The same on the kernel rung, which takes a guest.
const fn in_guest(
    name: &'static str,
    target: &'static str,
    programs: &'static [&'static str],
    jobs: &'static [Job],
) -> Step {
    let action = Action::WholeOn { series: "6.12", target, programs };
    Step { group: "kernel", name, tier: Tier::Long, jobs, limit: minutes(60), action }
}

const fn agents(tier: Tier, name: &'static str, names: &'static [&'static str]) -> Step {
    let jobs = &[Job::Build, Job::Programs, Job::Agents];
    Step { group: "hosts", name, tier, jobs, limit: minutes(20), action: Action::Agents { names } }
}

const fn kernel(tier: Tier, name: &'static str, run: KernelRun) -> Step {
    let jobs = &[Job::Build, Job::Vm];
    Step { group: "kernel", name, tier, jobs, limit: minutes(15), action: Action::Kernel(run) }
}

const fn on(series: &'static str, fs: FileSystem) -> KernelRun {
    KernelRun { series, fs, append: "", program: false, acts: None }
}

/// The text layer against the kernel rung, on random machines.
const fn agreement(tier: Tier, name: &'static str, fs: FileSystem, acts: &'static str) -> Step {
    let run = KernelRun { acts: Some(acts), ..on("6.12", fs) };
    Step { group: "agreement", limit: minutes(40), ..kernel(tier, name, run) }
}

const fn with_program(series: &'static str, fs: FileSystem) -> KernelRun {
    KernelRun { program: true, ..on(series, fs) }
}

use FileSystem::{Btrfs, Ext4, Overlay, Tmpfs, Xfs};
use Tier::{Long, Short};

/// The table.
pub(crate) const STEPS: &[Step] = &[
    lint("format", &[Job::Lint], Action::Cargo { arguments: &["fmt", "--all", "--check"], env: &[] }),
    lint(
        "format of the kernel side",
        &[Job::Lint],
        Action::Outside { manifest: "blastradius-ebpf/Cargo.toml", arguments: &["fmt", "--check"] },
    ),
    lint(
        "clippy",
        &[Job::Build, Job::Lint],
        Action::Cargo {
            arguments: &["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"],
            env: &[],
        },
    ),
    lint(
        "documentation",
        &[Job::Build],
        Action::Cargo {
            arguments: &["doc", "--workspace", "--no-deps", "--locked"],
            env: &[("RUSTDOCFLAGS", "--deny warnings")],
        },
    ),
    lint("shell scripts", &[Job::Lint], Action::ShellScripts),
    lint("licences", &[], Action::Licences),
    lint(
        "without the kernel side",
        &[],
        Action::Cargo {
            arguments: &[
                "check",
                "--locked",
                "--package",
                "blastradius-user",
                "--no-default-features",
                "--all-targets",
            ],
            // No compiler or linker for eBPF may be asked for.
            env: &[("BLASTRADIUS_BPF_LINKER", "/nonexistent"), ("BLASTRADIUS_BPF_RUSTC", "/nonexistent")],
        },
    ),
    Step {
        group: "unit",
        name: "unit and integration tests",
        tier: Short,
        jobs: &[Job::Build, Job::Programs],
        limit: minutes(20),
        action: Action::Tests,
    },
    Step {
        group: "unit",
        name: "100,000 execs under the exec filter",
        tier: Long,
        jobs: &[Job::Build, Job::Programs],
        limit: minutes(60),
        action: Action::Cargo {
            arguments: &[
                "test",
                "--locked",
                "--package",
                "blastradius-user",
                "--test",
                "guard",
                "--",
                "sixteen_workers",
            ],
            env: &[("BLASTRADIUS_TEST_EXECS", "100000")],
        },
    },
    Step {
        group: "macos",
        name: "type-check for macOS",
        tier: Short,
        jobs: &[Job::MacOs],
        limit: minutes(15),
        action: Action::MacOs,
    },
    whole("what the text layer says, case by case", "corpus"),
    whole("bounds: an answer to every hostile input, for bounded work", "bounds"),
    whole("a slice of each fuzzer", "fuzz"),
    whole("what agents' hooks are answered", "hosts"),
    whole("what the README and the documentation show", "readme"),
    whole("what CI systems and images are given", "packaging"),
    whole("the text layer against what bash really does", "truth"),
    whole("what was destroyed in scope comes back", "undo"),
    Step {
        tier: Long,
        action: Action::Whole {
            target: "undo",
            root: None,
            only: &["a_tree_of_many_files"],
            env: &[("BLASTRADIUS_TEST_FILES", "1000000")],
        },
        ..whole("what was destroyed among a million files comes back", "undo")
    },
    Step { tier: Long, ..whole("everyday work, undisturbed, on the Landlock rung", EVERYDAY) },
    rooted("incidents, replayed on this machine's best rung", INCIDENTS, &[Job::Build, Job::Programs]),
    Step {
        tier: Long,
        ..rooted("containers, guarded from inside", CONTAINERS, &[Job::Build, Job::Containers])
    },
    Step {
        group: "package",
        name: "packages, installed where nothing else of ours is",
        tier: Long,
        jobs: &[Job::Build, Job::Package, Job::Installed],
        limit: minutes(20),
        action: Action::Packages { ignored: false },
    },
    Step {
        group: "package",
        name: "the source archive, built without a network",
        tier: Long,
        jobs: &[Job::Build, Job::Package, Job::Installed],
        limit: minutes(40),
        action: Action::Packages { ignored: true },
    },
    Step {
        group: "arm64",
        name: "type-check for Linux on arm64",
        tier: Long,
        jobs: &[Job::MacOs],
        limit: minutes(15),
        action: Action::Arm64,
    },
    agents(Short, "Claude Code, pi and opencode, driven by a script", &["claude-code", "pi", "opencode"]),
    agents(
        Long,
        "Codex, Gemini, Qwen Code, Copilot and Droid, driven by a script",
        &["codex", "gemini", "qwen", "copilot", "droid"],
    ),
    Step {
        group: "demo",
        name: "the demonstration shows what it is to show",
        tier: Short,
        jobs: &[Job::Build, Job::Programs],
        limit: minutes(10),
        action: Action::Demo,
    },
    kernel(Short, "Linux 6.1, ext4", with_program("6.1", Ext4)),
    kernel(Short, "Linux 6.12, tmpfs", with_program("6.12", Tmpfs)),
    kernel(Short, "newest Linux, ext4", with_program("latest", Ext4)),
    kernel(
        Short,
        "Linux 6.12 without bpf among its security modules",
        KernelRun { append: WITHOUT_BPF, ..with_program("6.12", Tmpfs) },
    ),
    agreement(Short, "the text layer and Linux 6.12 agree", Tmpfs, "300"),
    agreement(Long, "the text layer and Linux 6.12 agree, 5,000 times, on ext4", Ext4, "5000"),
    Step {
        group: "agreement",
        name: "the text layer and Landlock agree",
        tier: Short,
        jobs: &[Job::Build],
        limit: minutes(15),
        action: Action::Cargo {
            arguments: &["run", "--locked", "--package", KERNEL_TESTS, "--", "agreement", "landlock", "2000"],
            env: &[],
        },
    },
    in_guest("incidents, replayed on Linux 6.12", INCIDENTS, &[], &[Job::Build, Job::Vm]),
    in_guest(
        "containers, guarded from inside and from the host, on Linux 6.12",
        CONTAINERS,
        &["runc"],
        &[Job::Build, Job::Vm, Job::Containers],
    ),
    in_guest("everyday work, undisturbed, on Linux 6.12", EVERYDAY, &[], &[Job::Build, Job::Vm]),
    Step {
        group: "kernel",
        name: "ten minutes at full speed on Linux 6.12",
        tier: Long,
        jobs: &[Job::Build, Job::Vm],
        limit: minutes(20),
        action: Action::Soak { series: "6.12", seconds: 600 },
    },
    kernel(Long, "Linux 5.10, ext4", on("5.10", Ext4)),
    kernel(Long, "Linux 6.18, ext4", on("6.18", Ext4)),
    kernel(Long, "Linux 6.12, ext4", on("6.12", Ext4)),
    kernel(Long, "Linux 6.12, xfs", on("6.12", Xfs)),
    kernel(Long, "Linux 6.12, btrfs", on("6.12", Btrfs)),
    kernel(Long, "Linux 6.12, overlay", on("6.12", Overlay)),
    kernel(Long, "newest Linux, xfs", on("latest", Xfs)),
    kernel(Long, "newest Linux, btrfs", on("latest", Btrfs)),
    kernel(Long, "newest Linux, overlay", on("latest", Overlay)),
];

/// The kernels that every test run boots.
pub(crate) fn kernels_of_every_run() -> impl Iterator<Item = &'static str> {
    STEPS.iter().filter_map(|step| match step.action {
        Action::Kernel(run) if step.tier == Short => Some(run.series),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::table::{Need, Table};

    #[test]
    fn every_kernel_of_a_step_is_in_the_kernel_table() {
        let table = Table::read().unwrap();
        for step in STEPS {
            if let Action::Kernel(run) = step.action {
                assert!(table.kernel(run.series).is_ok(), "{}", step.name);
            }
        }
    }

    #[test]
    fn every_required_kernel_is_in_every_run() {
        for kernel in Table::read().unwrap().kernels {
            if kernel.need == Need::Required {
                assert!(kernels_of_every_run().any(|series| series == kernel.series), "{}", kernel.series);
            }
        }
    }

    #[test]
    fn every_kernel_of_a_step_is_in_the_page_of_kernels() {
        let page = std::fs::read_to_string(crate::house::root().join("docs/kernels.md")).unwrap();
        for step in STEPS {
            let Action::Kernel(run) = step.action else { continue };
            let rung = if run.append == WITHOUT_BPF { "fmod_ret" } else { "bpf-lsm" };
            let fs = format!("{:?}", run.fs).to_lowercase();
            let row = format!("| {} | {fs} | {rung} |", run.series);
            assert!(page.contains(&row), "docs/kernels.md has no row {row}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
