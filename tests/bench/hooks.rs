//! What a hook costs: the whole process, against `/bin/true`, side by side.
//!
//! Prints ratios; asserts nothing: tests assert work, not time.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use blastradius::hosts::examples;

/// Each is started this often, in turn; the median counts.
const ROUNDS: usize = 101;

fn started(program: &std::path::Path, args: &[&str], input: &str) -> Duration {
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    if let Some(mut stdin) = child.stdin.take() {
        // /bin/true is gone before it has read anything.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait().expect("ended");
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() {
    let hook = blastradius_tests::binary();
    let payload = |command: &str| examples::of("claude-code").expect("an example").with(command);
    let long = format!("echo {}", "word ".repeat(64 * 1024 / 5));
    let payloads = [("ls", payload("ls")), ("rm -rf /", payload("rm -rf /")), ("64 KiB", payload(&long))];
    for (name, payload) in payloads {
        let (mut plain, mut hooked) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            plain.push(started("/bin/true".as_ref(), &[], ""));
            hooked.push(started(&hook, &["hook", "--agent", "claude-code"], &payload));
        }
        let (plain, hooked) = (median(plain), median(hooked));
        let ratio = hooked.as_secs_f64() / plain.as_secs_f64();
        println!("hook, {name}: {hooked:?}, /bin/true {plain:?}, {ratio:.2} times the time");
    }
}
