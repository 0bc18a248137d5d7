//! A session: what its start costs, and what memory its supervisor takes.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use blastradius::guard::kernel::Kernel;

use super::{middle, shown};
use crate::program::Stage;

/// Starts of each kind; of those that load the programs, fewer do.
const STARTS: usize = 9;
const LOADS: usize = 3;

/// What an agent does before its supervisor is looked at: programs, births, removals and refusals.
const WORK: &str = "i=0; while [ $i -lt 200 ]; do echo x >made$i; rm made$i; rm $KEPT/file 2>/dev/null; i=$((i+1)); done; \
    echo ready; read line";
/// Mebibytes that a supervisor may have resident.
const RESIDENT: f64 = 20.0;

/// Prints what starting and keeping a session takes of the program at `binary`.
pub(super) fn run(binary: &Path) -> Result<(), String> {
    let stage = Stage::set(binary, "cost");
    let own = starts(STARTS, || {
        let mut command = Command::new("/bin/true");
        command.stdin(Stdio::null());
        command
    });
    let session = || stage.guarded(&["/bin/true"]);
    let loading = starts(LOADS, session);
    let holder = Kernel::load().map_err(|error| error.to_string())?;
    let joining = starts(STARTS, session);
    println!("starting /bin/true: {}", shown(own));
    for (what, time) in [("of the machine's first session", loading), ("beside another session", joining)] {
        println!("the same as the command {what}: {}, {:.0} times", shown(time), time / own);
    }
    supervisor(&stage, binary);
    drop(holder);
    Ok(())
}

/// The median time of a command, in nanoseconds.
fn starts(count: usize, command: impl Fn() -> Command) -> f64 {
    let mut times: Vec<f64> = (0..count)
        .map(|_| {
            let begun = Instant::now();
            let output = command().output().expect("it starts");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            begun.elapsed().as_nanos() as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    middle(&times)
}

fn supervisor(stage: &Stage, binary: &Path) {
    let mut command = stage.guarded(&["sh", "-c", WORK]);
    let mut running = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut said = BufReader::new(running.stdout.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("the agent speaks");
    assert_eq!(line, "ready\n");
    let mut supervisors = 0;
    for process in fs::read_dir("/proc").expect("there").flatten() {
        if fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe == binary) {
            supervisors += 1;
            let status = fs::read_to_string(process.path().join("status")).expect("it lives");
            println!(
                "supervisor: {:.1} MiB resident, {:.1} at most, to be at most {RESIDENT}",
                mebibytes(&status, "VmRSS:"),
                mebibytes(&status, "VmHWM:")
            );
        }
    }
    assert!(supervisors > 0, "a supervisor is seen");
    drop(running.stdin.take());
    running.wait().expect("our child");
}

/// A line of /proc/PID/status.
fn mebibytes(status: &str, name: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the kernel tells it");
    let kibibytes = line.split_whitespace().next().and_then(|number| number.parse::<f64>().ok());
    kibibytes.expect("a number") / 1024.0
}
