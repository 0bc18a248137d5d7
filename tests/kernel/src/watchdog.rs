//! A test that does not end: what every task waits for is told, and the run ends with it.
//!
//! Otherwise the guest would be stopped from outside when its time is up, and nobody would know what had hung.

use std::{
    fs,
    path::Path,
    process,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// Several times what the slowest test takes on a busy emulated machine.
const LIMIT: Duration = Duration::from_secs(240);
/// So many tasks are told of.
const TOLD: usize = 60;

/// Calls `body`; ends the process when that takes too long.
pub(crate) fn over<T>(name: &'static str, body: impl FnOnce() -> T) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    let dog = thread::spawn(move || {
        if waiting.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            println!("STUCK   {name}: not done after {} s", LIMIT.as_secs());
            tell_of_tasks();
            process::exit(1);
        }
    });
    let result = body();
    drop(done);
    // It has nothing left to do but to end; it panics nowhere.
    let _ = dog.join();
    result
}

/// The tasks that are no kernel thread, or that cannot be interrupted: proc_pid_stat(5), proc_pid_wchan(5), proc_pid_stack(5).
fn tell_of_tasks() {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let threads =
        processes.flat_map(|dir| fs::read_dir(dir.path().join("task")).into_iter().flatten().flatten());
    let told = threads.filter_map(|dir| description(&dir.path())).take(TOLD);
    told.for_each(|task| println!("{task}"));
}

fn description(task: &Path) -> Option<String> {
    let read = |name: &str| fs::read_to_string(task.join(name)).unwrap_or_default();
    let stat = read("stat");
    // PID (COMM) STATE PPID …; the name may hold anything.
    let (head, tail) = stat.rsplit_once(')')?;
    let mut fields = tail.split_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?);
    if parent == "2" && state != "D" {
        return None;
    }
    let stack = read("stack").lines().map(|line| format!("\n          {line}")).collect::<String>();
    Some(format!("        {head}) {state}, child of {parent}, waits in {}{stack}", read("wchan")))
}
