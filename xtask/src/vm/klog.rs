//! Reads the guest's kernel log for signs that the kernel itself is broken.

/// What starts a complaint of the kernel's. Stalls are not among them: an emulated CPU on a busy machine stalls.
const COMPLAINTS: &[&str] = &[
    "BUG: KASAN",
    "BUG: kernel NULL pointer",
    "BUG: scheduling while atomic",
    "BUG: sleeping function",
    "BUG: unable to handle",
    "BUG: workqueue lockup",
    "general protection fault",
    "INFO: possible recursive locking",
    "kernel BUG at",
    "Kernel panic - not syncing",
    "Oops:",
    "WARNING: CPU:",
    "WARNING: possible",
    "WARNING: suspicious RCU",
    "------------[ cut here ]------------",
];

/// How many lines to show from a complaint on.
const SHOWN: usize = 12;

/// The first complaint in a kernel log, with the lines that follow it.
pub(crate) fn complaint(log: &str) -> Option<String> {
    let lines: Vec<&str> = log.lines().collect();
    let at = lines.iter().position(|line| COMPLAINTS.iter().any(|complaint| line.contains(complaint)))?;
    Some(lines[at..lines.len().min(at + SHOWN)].join("\n"))
}

/// The end of a kernel log, for a guest that never got to the command.
pub(crate) fn tail(log: &str, count: usize) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_found_with_what_follows() {
        let log = "[ 1.0] hello\n[ 2.0] WARNING: CPU: 0 PID: 1 at kernel/x.c:1\n[ 2.1] Modules linked in:\n";
        let found = complaint(log).unwrap();
        assert!(found.starts_with("[ 2.0] WARNING") && found.ends_with("Modules linked in:"));
        assert_eq!(complaint("[ 1.0] Warning: unable to open an initial console.\n"), None);
        assert_eq!(complaint("[ 9.0] rcu: INFO: rcu_sched self-detected stall on CPU\n"), None);
    }

    #[test]
    fn tails_are_short() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 5), "a");
    }
}
