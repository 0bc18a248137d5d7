//! Device nodes and the kernel's own files: writing to them is another act than writing to a file.

use std::path::Path;

use blastradius_common::{RuleId, Verdict};

use crate::shell::world::Kind;

use super::Objection;
use crate::policy::resolve::Resolved;

/// Entries of `/dev` to which anything may be written. A trailing `*` takes any rest.
const SINKS: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/fd/*",
    "/dev/tty*",
    "/dev/pts/*",
    "/dev/ptmx",
    "/dev/console",
    "/dev/tcp/*",
    "/dev/udp/*",
    "/dev/log",
    "/dev/cu.*",
    "/dev/serial/*",
    "/dev/fuse",
    "/dev/net/tun",
    "/dev/kvm",
    "/dev/uinput",
    "/dev/dsp*",
    "/dev/snd/*",
    "/dev/lp*",
    "/dev/usb/*",
    "/dev/rfkill",
    "/dev/kmsg",
    "/dev/shm/*",
];

/// Character devices behind which the machine itself lies.
const MEMORY: &[&str] = &["/dev/mem", "/dev/kmem", "/dev/port", "/dev/nvram", "/dev/core"];

/// Files of the kernel that do more than hold a setting.
const KERNEL_FILES: &[(&str, RuleId, Verdict)] = &[
    ("/proc/sysrq-trigger", RuleId::PowerState, Verdict::Deny),
    ("/sys/power/*", RuleId::PowerState, Verdict::Deny),
    ("/sys/firmware/*", RuleId::CriticalFile, Verdict::Deny),
    ("/sys/block/*", RuleId::StorageStack, Verdict::Deny),
    ("/proc/sys/vm/drop_caches", RuleId::SystemConfiguration, Verdict::Allow),
    ("/proc/sys/*", RuleId::SystemConfiguration, Verdict::Confirm),
    ("/sys/fs/cgroup/*", RuleId::SystemConfiguration, Verdict::Allow),
    ("/sys/*", RuleId::SystemConfiguration, Verdict::Confirm),
    ("/proc/*", RuleId::SystemConfiguration, Verdict::Allow),
];

/// Whether anything may be written there.
pub(super) fn is_sink(path: &str) -> bool {
    SINKS.iter().any(|sink| names(sink, path))
}

fn names(entry: &str, path: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => entry == path,
    }
}

/// What writing to this object means, if it is a device or a file of the kernel. `Some(None)`: nothing.
pub(super) fn write(resolved: &Resolved) -> Option<Option<Objection>> {
    let path = resolved.path.to_string_lossy();
    if let Some((_, rule, verdict)) = KERNEL_FILES.iter().find(|(entry, ..)| names(entry, &path)) {
        let reason = format!("{path} is not a file: writing to it acts on the running kernel");
        return Some(match verdict {
            Verdict::Allow => None,
            Verdict::Deny => Some(Objection::critical(*rule).because(reason)),
            _ => Some(Objection::new(*rule, *verdict).because(reason)),
        });
    }
    let kind = resolved.meta.map(|meta| meta.kind);
    if kind == Some(Kind::BlockDevice) {
        return Some(Some(block(&path)));
    }
    let below_dev = path.strip_prefix("/dev/")?;
    if is_sink(&path) {
        // `/dev/shm` is scratch, with zones of its own.
        return if below_dev.starts_with("shm/") { None } else { Some(None) };
    }
    let is_memory = MEMORY.contains(&&*path);
    // A node that is not there now may be when the command runs: its name is all there is to go by.
    let harmless = kind == Some(Kind::Special) && !is_memory;
    Some((!harmless).then(|| block(&path)))
}

fn block(path: &str) -> Objection {
    Objection::critical(RuleId::BlockDevice)
        .because(format!("{path} is a raw device: whatever lies on it is overwritten"))
}

/// Whether a path lies in the device directory, scratch excepted.
pub(super) fn is_node(path: &Path) -> bool {
    path.starts_with("/dev") && !path.starts_with("/dev/shm") && path != Path::new("/dev")
}
