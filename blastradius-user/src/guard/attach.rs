//! How does a tree of processes that runs already come under the kernel rung?
//!
//! Its tasks are put into the session one by one, each named to the kernel side by signal 0. What a task forks before it is
//! in, a next look finds; what it forks afterwards is born guarded. So when a whole look finds nobody new, nobody is
//! missing. There is no exec layer: a filter can be put on by a task itself alone.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::caller;
use super::denied::{Denied, Memory};
use super::kernel_rung::{Grants, KernelRung};
use super::ladder::Foothold;
use super::log::Log;
use super::refusal::{Folder, thousands};
use super::summary::Summary;

/// Why a tree was not put under guard. What was guarded already stays so.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// There is no such process.
    #[error("there is no process {0}")]
    NoProcess(libc::pid_t),
    /// We would guard ourselves.
    #[error("this process descends from {0}: attach from outside of the tree")]
    Ourselves(libc::pid_t),
    /// A task could not be named to the kernel side, and is still there.
    #[error("task {task} of process {process} cannot be guarded: {error}")]
    Task {
        /// Its process.
        process: libc::pid_t,
        /// The task.
        task: libc::pid_t,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// New tasks came as fast as they were found.
    #[error("the tree grows faster than it can be guarded")]
    Endless,
    /// The runtime of the watch.
    #[error("watching: {0}")]
    Watch(#[from] io::Error),
}

/// Looks at the tree; more than this means that it outruns us.
const LOOKS: usize = 1000;

/// Puts every task of the tree below `root`, itself included, into the session. Returns how many they were.
///
/// # Errors
/// See [`AttachError`].
pub fn enrol(grants: &Grants, root: libc::pid_t) -> Result<usize, AttachError> {
    if caller::parent_of(root).is_none() {
        return Err(AttachError::NoProcess(root));
    }
    let own = std::process::id() as libc::pid_t;
    let mut enrolled = 0;
    for _ in 0..LOOKS {
        let tree = tree(root);
        if tree.contains(&own) {
            return Err(AttachError::Ourselves(root));
        }
        let mut new = 0;
        for process in tree {
            new += enrol_process(grants, process)?;
        }
        if new == 0 {
            return Ok(enrolled);
        }
        enrolled += new;
    }
    Err(AttachError::Endless)
}

/// Every thread, the kernel's own workers for io_uring included: they are threads of the process.
fn enrol_process(grants: &Grants, process: libc::pid_t) -> Result<usize, AttachError> {
    let mut new = 0;
    for task in tasks(process) {
        match grants.enrol(process, task) {
            Ok(true) => new += 1,
            Ok(false) => {}
            // It has ended meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(AttachError::Task { process, task, error }),
        }
    }
    Ok(new)
}

fn tasks(process: libc::pid_t) -> Vec<libc::pid_t> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// `root` and all that descends from it now.
fn tree(root: libc::pid_t) -> Vec<libc::pid_t> {
    let mut children: HashMap<libc::pid_t, Vec<libc::pid_t>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some((pid, parent)) = pid.and_then(|pid| Some((pid, caller::parent_of(pid)?))) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut tree = vec![root];
    let mut at = 0;
    while let Some(pid) = tree.get(at) {
        tree.extend(children.remove(pid).unwrap_or_default());
        at += 1;
    }
    tree
}

/// Hears refusals until the last task of the session has ended, or until we are told to go: the tree stays guarded then.
///
/// # Errors
/// The runtime could not be started.
pub fn watch(mut kernel: KernelRung, mut log: Log, root: libc::pid_t) -> Result<u64, AttachError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut watch =
            Watch { folder: Folder::default(), memory: Arc::default(), summary: Summary::default(), root };
        let mut ended = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        let mut interrupted = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
        let left = loop {
            tokio::select! {
                denied = kernel.next() => watch.hear(denied, &mut log),
                _ = ended.recv() => break true,
                _ = interrupted.recv() => break true,
                () = tokio::time::sleep(LOOK_AGAIN) => {
                    watch.folder.settle(Instant::now(), false);
                    if !kernel.has_tasks() {
                        break false;
                    }
                }
            }
        };
        while let Some(denied) = kernel.try_next() {
            watch.hear(Ok(denied), &mut log);
        }
        watch.folder.settle(Instant::now(), true);
        watch.report(left, &mut log);
        Ok(watch.summary.count())
    })
}

const LOOK_AGAIN: Duration = Duration::from_millis(200);

struct Watch {
    folder: Folder,
    memory: Arc<Mutex<Memory>>,
    summary: Summary,
    root: libc::pid_t,
}

impl Watch {
    fn hear(&mut self, denied: io::Result<Denied>, log: &mut Log) {
        let Some(denied) = Denied::to_tell(denied) else { return };
        let refusal = denied.refusal(&super::bench::lock(&self.memory));
        let mut ears: Vec<_> = refusal.chain.iter().map(|ancestor| ancestor.pid).collect();
        ears.push(self.root);
        self.folder.tell(&ears, &refusal, Instant::now());
        log.write(refusal.event(), refusal.fields());
        self.summary.add(&refusal);
    }

    fn report(&self, left: bool, log: &mut Log) {
        let count = self.summary.count();
        let status = if left { "left guarded" } else { "ended" };
        log.write(
            "end",
            fields([("status", json!(status)), ("refused", json!(count)), ("dropped", json!(log.dropped()))]),
        );
        eprint!("blastradius: {} refused\n{}", thousands(count), self.summary.lines());
        if left {
            eprintln!(
                "blastradius: the tree of {} goes on, and stays guarded; nobody hears its refusals now",
                self.root
            );
        }
    }
}

/// The start record.
pub fn begin(log: &mut Log, foothold: &Foothold, root: libc::pid_t, tasks: usize) {
    let unenforced: Value = foothold.unenforced.iter().map(|gap| json!(gap.sentence())).collect();
    log.write(
        "start",
        fields([
            ("rung", json!(foothold.rung.name())),
            ("audit", json!(false)),
            ("exec_layer", json!(false)),
            ("unenforced", unenforced),
            ("command", json!(format!("attached to {root} ({tasks} tasks)"))),
            ("version", json!(env!("CARGO_PKG_VERSION"))),
        ]),
    );
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_holds_itself_and_its_children_and_a_process_its_threads() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().expect("started");
        let own = std::process::id() as libc::pid_t;
        let found = tree(own);
        assert!(found.contains(&own) && found.contains(&(child.id() as libc::pid_t)));
        assert!(!found.contains(&nix::unistd::getppid().as_raw()));
        assert!(tasks(own).contains(&nix::unistd::gettid().as_raw()));
        child.kill().expect("ours");
        child.wait().expect("ours");
    }
}
