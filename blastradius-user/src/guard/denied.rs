//! What did the kernel refuse, and to whom?
//!
//! The kernel's record says what was tried on which object; who did it is joined from `/proc` and, for programs that have
//! ended meanwhile, from what the exec layer remembers.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use blastradius_common::{Operation, RuleId, Verdict, Zone};

use super::caller::{self, Ancestor};
use super::refusal::{Layer, Outcome, Refusal};
use crate::analysis::{self, Report};
use crate::policy::finding::Finding;

/// One act that the kernel refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Its process, as this one sees it; 0 where it does not.
    pub pid: libc::pid_t,
    /// The task's name.
    pub comm: String,
    /// What was tried.
    pub operation: Operation,
    /// The rule that was broken.
    pub rule: RuleId,
    /// Where the object lies.
    pub zone: Zone,
    /// The object.
    pub path: PathBuf,
    /// `path` lacks its topmost components.
    pub truncated: bool,
}

#[cfg(feature = "kernel")]
impl From<super::kernel::KernelRefusal> for Denied {
    fn from(refusal: super::kernel::KernelRefusal) -> Self {
        Self {
            pid: refusal.tgid as libc::pid_t,
            comm: refusal.comm,
            operation: refusal.operation,
            rule: refusal.rule,
            zone: refusal.zone,
            path: refusal.path,
            truncated: refusal.truncated,
        }
    }
}

/// What is told about each zone.
const fn zone_words(zone: Zone) -> &'static str {
    match zone {
        Zone::Floor => "it is a floor object, or one that the system cannot be without",
        Zone::Root => "it is the root of a scope, or an ancestor of something protected",
        Zone::History => "git needs it to give the past back; only git may change it",
        Zone::Own => "it belongs to blastradius",
        Zone::Denied => "a deny line names it",
        Zone::Config => "it is a setting of a home: it may be edited, not removed",
        Zone::Personal => "it lies in a home, or in another work tree, and was there before this session",
        Zone::System => "it belongs to the system and was there before this session",
        Zone::Other => "it lies outside scope and was there before this session",
        // Only where the name and the object disagree: a borrowed name in a protected directory.
        Zone::Scope | Zone::Born | Zone::State => "its name is protected",
    }
}

const fn operation_words(operation: Operation) -> &'static str {
    match operation {
        Operation::Remove => "remove",
        Operation::MoveOut => "move away",
        Operation::Truncate => "truncate",
        Operation::Replace => "replace",
        Operation::Metadata => "change mode or owner",
        Operation::MetadataRecursive => "change mode or owner of a tree",
        Operation::Mount => "mount over, detach or remount",
        Operation::Machine => "stop the machine, or load code into its kernel",
    }
}

/// What is remembered of a program that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Its parent.
    pub parent: libc::pid_t,
    /// Its arguments.
    pub argv: Vec<OsString>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// The number under which a person may allow it.
    pub offer: Option<String>,
}

/// The programs that were started last.
#[derive(Debug, Default)]
pub struct Memory {
    by_pid: HashMap<libc::pid_t, Started>,
    order: VecDeque<libc::pid_t>,
}

/// So many programs are remembered: a program whose refusal is read this late has long ended.
const REMEMBERED: usize = 4096;
/// Arguments beyond this many bytes are not kept.
const LONGEST: usize = 4096;

impl Memory {
    /// Remembers a program.
    pub fn add(&mut self, pid: libc::pid_t, mut started: Started) {
        let mut room = LONGEST;
        started.argv.retain(|word| {
            room = room.saturating_sub(word.len());
            room > 0
        });
        if self.by_pid.insert(pid, started).is_none() {
            self.order.push_back(pid);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_pid.remove(&oldest);
        }
    }

    /// The number of the nearest program of the chain that a person may allow.
    fn offer(&self, chain: &[Ancestor]) -> Option<String> {
        chain.iter().find_map(|ancestor| self.by_pid.get(&ancestor.pid)?.offer.clone())
    }

    /// The offender and its ancestors, living and remembered.
    fn chain(&self, pid: libc::pid_t, guard: libc::pid_t) -> Vec<Ancestor> {
        let living = caller::chain(pid, guard);
        match self.by_pid.get(&pid) {
            Some(started) if living.is_empty() => {
                let offender = Ancestor { pid, exe: None, argv: started.argv.clone() };
                std::iter::once(offender).chain(caller::chain(started.parent, guard)).collect()
            }
            _ => living,
        }
    }
}

impl Denied {
    /// The refusal, joined with who caused it.
    pub fn refusal(&self, memory: &Memory) -> Refusal {
        let chain = memory.chain(self.pid, std::process::id() as libc::pid_t);
        let argv = chain.first().map(|offender| &*offender.argv).unwrap_or_default();
        let command = if argv.is_empty() { self.comm.clone() } else { analysis::quote_all(argv) };
        let cwd = std::fs::read_link(format!("/proc/{}/cwd", self.pid)).ok();
        let cwd = cwd.or_else(|| memory.by_pid.get(&self.pid).map(|started| started.cwd.clone()));
        let path = if self.truncated {
            Path::new("…").join(self.path.strip_prefix("/").unwrap_or(&self.path))
        } else {
            self.path.clone()
        };
        let finding = Finding {
            rule: self.rule,
            verdict: Verdict::Deny,
            target: path.to_string_lossy().into_owned(),
            resolved: Some(path),
            segment: command.clone(),
            reasons: self.reasons(),
            advice: None,
        };
        Refusal {
            layer: Layer::Kernel,
            outcome: Outcome::Refused,
            operation: Some(operation_words(self.operation)),
            report: Report { command, verdict: Verdict::Deny, findings: vec![finding] },
            offer: memory.offer(&chain),
            chain,
            cwd,
        }
    }
}

impl Denied {
    /// What of the kernel's records people are told. One that cannot be read is still in the kernel's count.
    pub fn to_tell(record: io::Result<Self>) -> Option<Self> {
        record.ok().filter(|denied| !denied.was_vain())
    }

    /// Whether it would have failed all the same: a directory that is not empty is removed by nobody (rmdir(2)). Programs
    /// try that as a matter of course (git, pip), and nothing came of our refusal.
    fn was_vain(&self) -> bool {
        let holds_something = || self.path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
        self.operation == Operation::Remove && !self.truncated && !self.path.is_symlink() && holds_something()
    }

    fn reasons(&self) -> Vec<String> {
        let words = operation_words(self.operation);
        if self.operation == Operation::Machine {
            // It is about no object, so no zone explains it.
            return vec![format!("the kernel refused to {words}")];
        }
        vec![
            format!("{}: {}", self.zone.name(), zone_words(self.zone)),
            format!("the kernel refused to {words} it"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied() -> Denied {
        Denied {
            pid: i32::MAX,
            comm: "rm".to_owned(),
            operation: Operation::Remove,
            rule: RuleId::OutOfScope,
            zone: Zone::Personal,
            path: "/home/dev/photos/a.jpg".into(),
            truncated: false,
        }
    }

    #[test]
    fn a_program_that_has_ended_is_remembered() {
        let mut memory = Memory::default();
        let argv = ["rm", "photos/a.jpg"].map(OsString::from).to_vec();
        memory.add(
            i32::MAX,
            Started { parent: std::process::id() as i32, argv, cwd: "/home/dev".into(), offer: None },
        );
        let refusal = denied().refusal(&memory);
        assert_eq!(refusal.report.command, "rm photos/a.jpg");
        assert_eq!(refusal.cwd.as_deref(), Some(Path::new("/home/dev")));
        assert!(refusal.text().contains("/home/dev/photos/a.jpg"), "{}", refusal.text());
    }

    #[test]
    fn to_remove_a_directory_that_is_not_empty_is_vain_and_nothing_else_is() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("full/empty")).expect("made");
        std::fs::write(at("file"), "").expect("written");
        std::os::unix::fs::symlink("full", at("link")).expect("made");
        let vain = |name: &str, operation| Denied { path: at(name), operation, ..denied() }.was_vain();
        assert!(vain("full", Operation::Remove));
        for name in ["full/empty", "file", "link", "missing"] {
            assert!(!vain(name, Operation::Remove), "{name}");
        }
        assert!(!vain("full", Operation::MoveOut));
    }

    #[test]
    fn a_stranger_is_named_by_its_task() {
        assert_eq!(denied().refusal(&Memory::default()).report.command, "rm");
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = Memory::default();
        for pid in 0..2 * REMEMBERED as i32 {
            memory.add(
                pid,
                Started {
                    parent: 1,
                    argv: vec!["x".repeat(3 * LONGEST).into()],
                    cwd: "/".into(),
                    offer: None,
                },
            );
        }
        assert_eq!(memory.by_pid.len(), REMEMBERED);
        assert!(memory.by_pid.values().all(|started| started.argv.is_empty()));
    }
}
