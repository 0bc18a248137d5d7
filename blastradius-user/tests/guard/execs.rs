//! The exec layer under load, and without its supervisor.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;

use crate::ground::{Ground, stderr, stdout};

/// Execs of the load test; `BLASTRADIUS_TEST_EXECS` asks for more.
fn execs() -> usize {
    std::env::var("BLASTRADIUS_TEST_EXECS").ok().and_then(|count| count.parse().ok()).unwrap_or(5000)
}

/// What was seen of a guard at work.
#[derive(Debug, Default)]
struct Memory {
    /// Resident KiB, look by look.
    resident: Vec<u64>,
    /// Children of the guard that had ended and stayed, twice in a row.
    zombies: usize,
}

/// Runs a session to its end and watches its guard.
fn watch(mut session: std::process::Command) -> (std::process::Output, Memory) {
    let child = session.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let front = child.id();
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let over = done.clone();
    let watcher = std::thread::spawn(move || {
        let mut memory = Memory::default();
        let mut before: Vec<u32> = Vec::new();
        while !over.load(std::sync::atomic::Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(200));
            let Some(guard) = children(front).into_iter().next() else { continue };
            // Before there is an agent the guard reads the policy and proves its rung.
            if children(guard).is_empty() {
                continue;
            }
            memory.resident.extend(status(guard, "VmRSS:"));
            let ended: Vec<_> = children(guard).into_iter().filter(|&pid| is_zombie(pid)).collect();
            memory.zombies = memory.zombies.max(ended.iter().filter(|pid| before.contains(pid)).count());
            before = ended;
        }
        memory
    });
    let output = child.wait_with_output().unwrap();
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    (output, watcher.join().unwrap())
}

fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn status(pid: u32, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(field))?.split_whitespace().next()?.parse().ok()
}

fn is_zombie(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|text| text.contains("State:\tZ"))
}

#[test]
fn execs_from_sixteen_workers_are_neither_lost_nor_hung_while_signals_arrive() {
    const WORKERS: usize = 16;
    let ground = Ground::new();
    let each = execs().div_ceil(WORKERS);
    let worker =
        format!("trap : USR1; : > ready.$w; i=0; while [ $i -lt {each} ]; do /bin/echo x; i=$((i+1)); done");
    let script = format!(
        "for w in $(seq {WORKERS}); do ({worker}) > out.$w & pids=\"$pids $!\"; done
         while [ $(ls ready.* | wc -l) -lt {WORKERS} ]; do sleep 0.05; done
         (while :; do for p in $pids; do kill -USR1 $p 2>/dev/null; done; sleep 0.02; done) & noise=$!
         wait $pids; for p in $pids; do while kill -0 $p 2>/dev/null; do wait $p; done; done; kill $noise; cat out.*"
    );
    let child = ground.run(&["--report"], &["bash", "-c", &script]);
    let (output, memory) = watch(child);
    assert!(output.status.success(), "{}", stderr(&output));
    // By a third of the way every judge has met everything that it meets; from there on nothing is added.
    let seen = &memory.resident;
    let median = |part: &[u64]| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part[part.len() / 2]
    };
    let third = seen.len() / 3;
    let (early, late) = (median(&seen[third..=2 * third]), median(&seen[2 * third..]));
    assert!(late < early + early / 4 + 8192, "the guard grew from {early} to {late} KiB: {seen:?}");
    assert_eq!(memory.zombies, 0, "the guard left zombies");
    assert_eq!(stdout(&output).lines().count(), each * WORKERS, "{}", stderr(&output));
    let end = ground.log().pop().unwrap();
    assert!(end["execs"].as_u64().unwrap() >= (each * WORKERS) as u64, "{end}");
}

#[test]
fn without_its_supervisor_a_session_starts_nothing_and_stays_guarded() {
    let ground = Ground::new();
    // The agent reads orders: the guard is its parent.
    let agent = "import os, sys
print(os.getppid(), flush=True)
sys.stdin.readline()
for attempt in (lambda: os.execv('/bin/echo', ['echo', 'started']), lambda: next(getattr(os, name) for name in dir(os) if name.startswith('unl'))(os.environ['HO' + 'ME'] + '/photos/a.jpg')):
    try:
        attempt()
        print('passed', flush=True)
    except OSError as error:
        print(error.errno, flush=True)
";
    let mut child = ground
        .run(&[], &["python3", "-c", agent])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let guard: i32 = lines.next().unwrap().unwrap().parse().unwrap();
    // SAFETY: takes numbers; the pid is that of our own grandchild, which the agent has just named.
    unsafe { libc::kill(guard, libc::SIGKILL) };
    std::thread::sleep(Duration::from_millis(200));
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let answers: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(answers, [libc::ENOSYS.to_string(), libc::EACCES.to_string()]);
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("the supervisor died (SIGKILL)"), "{text}");
    assert_eq!(child.wait().unwrap().code(), Some(125));
    ground.assert_whole();
}

#[test]
fn a_session_in_a_session_works_and_has_one_exec_layer() {
    let ground = Ground::new();
    let inner = env!("CARGO_BIN_EXE_blastradius");
    let output = ground
        .run(&[], &[inner, "run", "--", "sh", "-c", "rm ~/photos/a.jpg; rm src/main && echo inside"])
        .output();
    let output = output.unwrap();
    assert_eq!(stdout(&output), "inside\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("no exec layer"), "{}", stderr(&output));
    ground.assert_whole();
}

#[test]
fn a_process_that_hides_from_its_user_cannot_start_programs_unseen() {
    let ground = Ground::new();
    // Root sees undumpable processes all the same; others do not, and then the exec is refused.
    let script =
        "import ctypes, os\nctypes.CDLL(None).prctl(4, 0)\nos.execv('/bin/echo', ['echo', 'seen'])\n";
    let output = ground.run(&[], &["python3", "-c", script]).output().unwrap();
    let refused = stderr(&output).contains("cannot be looked at");
    assert!(stdout(&output) == "seen\n" || refused, "{}", stderr(&output));
}

#[test]
fn an_exec_of_nonsense_fails_as_it_would_without_us() {
    let ground = Ground::new();
    let script = "import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.execve(ctypes.c_void_p(8), None, None)
print(ctypes.get_errno())
for path in (b'/no/such', b'/', b'x' * 5000):
    libc.execve(path, None, None)
    print(ctypes.get_errno())
";
    let output = ground.run(&[], &["python3", "-c", script]).output().unwrap();
    let expected = [libc::EFAULT, libc::ENOENT, libc::EACCES, libc::ENAMETOOLONG]
        .map(|errno| format!("{errno}\n"))
        .concat();
    assert_eq!(stdout(&output), expected, "{}", stderr(&output));
}
