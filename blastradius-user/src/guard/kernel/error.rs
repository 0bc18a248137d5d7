//! Why the kernel rung cannot be had here, one variant per cause, each with what would bring it.

use std::{io, path::PathBuf};

use super::btf::{self, BtfError};

/// Why the kernel side was not loaded. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// This build has no eBPF object.
    #[error("this build has no eBPF object: build it with the feature `kernel` on Linux")]
    NoObject,
    /// The kernel does not publish its types.
    #[error("the kernel publishes no type information at {path}: it needs CONFIG_DEBUG_INFO_BTF=y", path = btf::VMLINUX)]
    NoBtf(#[source] io::Error),
    /// The kernel's types are not as expected.
    #[error("the kernel's type information: {0}")]
    Btf(#[source] BtfError),
    /// The process may not do what is needed.
    #[error(
        "not permitted: {what} ({error}); it needs root (CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN) in the initial user namespace, on a kernel that is not locked down and not inside a sandbox that refuses bpf(2)"
    )]
    NotPermitted {
        /// What was refused.
        what: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// A hook is not compiled into this kernel.
    #[error(
        "the kernel has no hook {hook}: it needs CONFIG_BPF_LSM=y and CONFIG_SECURITY_PATH=y, 5.10 or later"
    )]
    HookAbsent {
        /// The hook.
        hook: &'static str,
    },
    /// The verifier, or the kernel, does not accept a program.
    #[error("the kernel does not accept the program {name}: {error}\n{log}")]
    Program {
        /// The program.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
        /// The verifier's last words.
        log: String,
    },
    /// The embedded object is not what this loader expects: a fault of the build.
    #[error("the eBPF object: {0}")]
    Object(String),
    /// There is no place to pin programs.
    #[error("no bpf file system at {path}: {error}; `mount -t bpf bpf {path}` brings it", path = path.display())]
    NoBpffs {
        /// Where it should be.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// The programs load and attach and never fire, on either rung.
    #[error(
        "programs load and never fire on this kernel ({why}); the lsm list is `{list}`: boot with lsm={list},bpf"
    )]
    Inactive {
        /// What was tried and not refused.
        why: String,
        /// The kernel's lsm list, as far as it can be read.
        list: String,
    },
    /// Anything else that the system refused.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
}

impl LoadError {
    /// Whether the kernel cannot have the program, whatever it does: the hook is missing, or takes none.
    pub(super) fn is_incapable(&self) -> bool {
        match self {
            Self::HookAbsent { .. } => true,
            // The hook takes no such program, or the verifier gives up on its length.
            Self::Program { error, .. } => {
                matches!(error.raw_os_error(), Some(libc::EINVAL | libc::E2BIG))
            }
            _ => false,
        }
    }
}
