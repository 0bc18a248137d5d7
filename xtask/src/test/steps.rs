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
    Whole { target: &'static str },
    /// Type-checks for macOS.
    MacOs,
    /// Replays the demonstration.
    Demo,
    /// Replays the incidents on a kernel of vm/kernels.toml, with a Debian as root.
    Incidents {
        /// The kernel.
        series: &'static str,
    },
    /// Runs the kernel tests on a kernel of vm/kernels.toml.
    Kernel(KernelRun),
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
}

/// The package of the kernel tests, and its program.
pub(crate) const KERNEL_TESTS: &str = "kernel-tests";
/// The package of the tests of the whole.
pub(crate) const WHOLE_TESTS: &str = "blastradius-tests";
/// Its target that replays incidents.
pub(crate) const INCIDENTS: &str = "battery";

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
    let action = Action::Whole { target };
    Step {
        group: "cases",
        name,
        tier: Tier::Short,
        jobs: &[Job::Build, Job::Programs],
        limit: minutes(20),
        action,
    }
}

const fn kernel(tier: Tier, name: &'static str, run: KernelRun) -> Step {
    let jobs = &[Job::Build, Job::Vm];
    Step { group: "kernel", name, tier, jobs, limit: minutes(15), action: Action::Kernel(run) }
}

const fn on(series: &'static str, fs: FileSystem) -> KernelRun {
    KernelRun { series, fs, append: "", program: false }
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
    Step {
        group: "unit",
        name: "unit and integration tests",
        tier: Short,
        jobs: &[Job::Build, Job::Programs],
        limit: minutes(20),
        action: Action::Tests,
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
    whole("what the README shows", "readme"),
    whole("the text layer against what bash really does", "truth"),
    whole("incidents, replayed on this machine's best rung", INCIDENTS),
    Step {
        group: "demo",
        name: "the demonstration shows what it is to show",
        tier: Short,
        jobs: &[Job::Build, Job::Programs],
        limit: minutes(10),
        action: Action::Demo,
    },
    kernel(Short, "Linux 6.1, ext4", on("6.1", Ext4)),
    kernel(Short, "Linux 6.12, tmpfs", on("6.12", Tmpfs)),
    kernel(Short, "newest Linux, ext4", on("latest", Ext4)),
    kernel(
        Short,
        "Linux 6.12 without bpf among its security modules",
        KernelRun { append: WITHOUT_BPF, ..on("6.12", Tmpfs) },
    ),
    Step {
        group: "kernel",
        name: "incidents, replayed on Linux 6.12",
        tier: Long,
        jobs: &[Job::Build, Job::Vm],
        limit: minutes(60),
        action: Action::Incidents { series: "6.12" },
    },
    kernel(Long, "the program on Linux 6.1, ext4", with_program("6.1", Ext4)),
    kernel(Long, "the program on Linux 6.12, tmpfs", with_program("6.12", Tmpfs)),
    kernel(Long, "the program on the newest Linux, ext4", with_program("latest", Ext4)),
    kernel(
        Long,
        "the program on Linux 6.12 without bpf among its security modules",
        KernelRun { append: WITHOUT_BPF, ..with_program("6.12", Tmpfs) },
    ),
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
    fn names_are_unique() {
        let mut names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
