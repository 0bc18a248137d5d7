//! What the commands of xtask need of a machine. One row each.

use super::{
    linker,
    machine::{component, file, nightly_with_sources, package, program, program_at_least, runs},
};

/// What a requirement serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// Building the release binary, with the kernel side in it.
    Build,
    /// Format and lints.
    Lint,
    /// Type-checking for macOS.
    MacOs,
    /// Booting virtual machines.
    Vm,
    /// The demonstration, and tests that run other people's programs.
    Programs,
    /// Tests that run containers.
    Containers,
    /// The real agents, which come from npm.
    Agents,
    /// The check that a newcomer's machine is enough.
    Newcomer,
    /// Making packages.
    Package,
    /// Trying packages on machines that have nothing else.
    Installed,
}

/// One row.
pub(crate) struct Requirement {
    /// What it is.
    pub(crate) name: &'static str,
    /// What does not work without it.
    pub(crate) serves: &'static [Job],
    /// Whether this machine has it.
    pub(crate) present: fn() -> bool,
    /// How to get it.
    pub(crate) get: Get,
    /// What to look for on a distribution that is not Debian.
    pub(crate) elsewhere: &'static str,
}

/// How to get something.
pub(crate) enum Get {
    /// From Debian's archive; in a version that is new enough, from backports if need be.
    Debian {
        /// The packages.
        packages: &'static [&'static str],
        /// The version that the first of them must have.
        at_least: &'static str,
    },
    /// Part of the Rust toolchain.
    Component(&'static str),
    /// The linker of the kernel side.
    BpfLinker,
}

/// Any version will do.
const ANY: &str = "0";

const fn debian(packages: &'static [&'static str]) -> Get {
    Get::Debian { packages, at_least: ANY }
}

/// The table.
pub(crate) const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        name: "a C compiler, which Rust links with",
        serves: &[Job::Build, Job::Vm, Job::Programs],
        present: || program("cc") && file("/usr/include/stdio.h"),
        get: debian(&["gcc", "libc6-dev"]),
        elsewhere: "gcc and the C library's headers",
    },
    Requirement {
        name: "libseccomp",
        serves: &[Job::Build],
        present: || file("/usr/include/seccomp.h"),
        get: debian(&["libseccomp-dev"]),
        elsewhere: "libseccomp with its headers and its static library",
    },
    Requirement {
        name: "a Rust compiler with a core library for BPF",
        serves: &[Job::Build],
        present: || {
            (file("/usr/lib/rustlib/bpfel-unknown-none") && package("rustc-web", "1.96"))
                || nightly_with_sources()
        },
        get: Get::Debian { packages: &["rustc-web", "libstd-rust-web-dev-bpf"], at_least: "1.96" },
        elsewhere: "rustup toolchain install nightly --component rust-src",
    },
    Requirement {
        name: "the sources of that compiler's standard library, to check for macOS",
        serves: &[Job::MacOs],
        present: || package("rust-web-src", "1.96") || nightly_with_sources(),
        get: Get::Debian { packages: &["rustc-web", "rust-web-src"], at_least: "1.96" },
        elsewhere: "rustup toolchain install nightly --component rust-src",
    },
    Requirement {
        name: "bpf-linker",
        serves: &[Job::Build],
        present: linker::present,
        get: Get::BpfLinker,
        elsewhere: "(built by this command)",
    },
    Requirement {
        name: "clippy",
        serves: &[Job::Lint],
        present: || component("cargo-clippy"),
        get: Get::Component("clippy"),
        elsewhere: "rustup component add clippy",
    },
    Requirement {
        name: "rustfmt",
        serves: &[Job::Lint],
        present: || component("rustfmt"),
        get: Get::Component("rustfmt"),
        elsewhere: "rustup component add rustfmt",
    },
    Requirement {
        name: "QEMU",
        serves: &[Job::Vm],
        present: || program_at_least("qemu-system-x86_64", 8),
        get: Get::Debian {
            // All of them from one place: the newer ones do not go with older data.
            packages: &["qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios"],
            at_least: "1:8.0",
        },
        elsewhere: "qemu-system-x86_64, version 8 or newer",
    },
    Requirement {
        name: "the parts of a guest",
        serves: &[Job::Vm],
        present: || program("busybox") && package("busybox-static", ANY),
        get: debian(&["busybox-static"]),
        elsewhere: "busybox, linked statically",
    },
    Requirement {
        name: "tools to unpack kernels",
        serves: &[Job::Vm],
        present: || program("depmod") && program("xz"),
        get: debian(&["kmod", "xz-utils"]),
        elsewhere: "kmod and xz; kernels come through apt and dpkg-deb",
    },
    Requirement {
        name: "tools to make file systems",
        serves: &[Job::Vm],
        present: || ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"].into_iter().all(program),
        get: debian(&["e2fsprogs", "xfsprogs", "btrfs-progs"]),
        elsewhere: "e2fsprogs, xfsprogs and btrfs-progs",
    },
    Requirement {
        name: "programs that agents use",
        serves: &[Job::Programs],
        // Without Debian's python3 the interpreter lacks most of its library.
        present: || {
            ["git", "make", "ps", "python3", "sqlite3"].into_iter().all(program)
                && runs("python3", &["-c", "import ctypes, pty, shutil, sqlite3"])
        },
        get: debian(&["git", "make", "procps", "python3", "sqlite3"]),
        elsewhere: "git, make, ps, python3 with its library, and sqlite3",
    },
    Requirement {
        name: "a container runtime",
        serves: &[Job::Containers],
        present: || program("runc"),
        get: debian(&["runc"]),
        elsewhere: "runc",
    },
    Requirement {
        name: "npm, which agents come through",
        serves: &[Job::Agents],
        present: || program("npm") && program("node"),
        get: debian(&["npm", "nodejs"]),
        elsewhere: "Node.js with npm",
    },
    Requirement {
        name: "tools to make packages",
        serves: &[Job::Package],
        present: || program("dpkg-deb") && program("strip"),
        get: debian(&["binutils", "dpkg"]),
        elsewhere: "binutils, and dpkg-deb for the Debian package",
    },
    Requirement {
        name: "tools to install packages",
        serves: &[Job::Installed],
        present: || {
            file("/usr/bin/npm")
                && program("node")
                && file("/usr/bin/python3")
                && package("python3-venv", ANY)
        },
        get: debian(&["npm", "nodejs", "python3", "python3-venv"]),
        elsewhere: "npm, Node.js and python3 with venv",
    },
    Requirement {
        name: "shellcheck",
        serves: &[Job::Lint],
        present: || program("shellcheck"),
        get: debian(&["shellcheck"]),
        elsewhere: "shellcheck",
    },
    Requirement {
        name: "debootstrap",
        serves: &[Job::Newcomer, Job::Installed],
        present: || program("debootstrap"),
        get: debian(&["debootstrap"]),
        elsewhere: "debootstrap",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_says_what_it_is_for() {
        for row in REQUIREMENTS {
            assert!(!row.serves.is_empty(), "{}", row.name);
            assert!(!row.elsewhere.is_empty(), "{}", row.name);
            if let Get::Debian { packages, .. } = row.get {
                assert!(!packages.is_empty(), "{}", row.name);
            }
        }
    }
}
