//! `cargo xtask bench`: what the guard costs, as ratios measured side by side in one run, and what it saves.
//!
//! A ratio says the same on every machine; a time does not. Each bench is a row of the table.

mod execs;
mod guests;
mod spawn;
mod undo;

use anyhow::{Result, bail};
use clap::Args;

use crate::{
    cargo, house, proc, program,
    setup::{self, requirements::Job},
    test::{
        BINARY,
        actions::GUEST_BINARY,
        steps::{INCIDENTS, WHOLE_TESTS},
    },
};

/// Measure what the guard costs
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Only the benches with this in their name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Show the benches
    #[arg(long)]
    list: bool,
}

/// One row.
struct Bench {
    name: &'static str,
    what: &'static str,
    jobs: &'static [Job],
    /// What the ratio is to be at most.
    at_most: Option<f64>,
    measure: fn() -> Result<Measured>,
}

/// What a bench found.
enum Measured {
    /// Guarded over unguarded.
    Ratio(spawn::Ratio),
    /// It printed its ratios itself.
    Printed,
}

/// The program that costs nothing but to be started.
const TRUE: &str = "/bin/true";

const BENCHES: &[Bench] = &[
    Bench {
        name: "start",
        what: "starting the program without work, against starting /bin/true",
        jobs: &[Job::Build],
        at_most: Some(1.5),
        measure: || spawn::ratio(&program::build()?, &["--version"], TRUE, ""),
    },
    Bench {
        name: "check",
        what: "`blastradius check` on one line, against starting /bin/true",
        jobs: &[Job::Build],
        at_most: Some(2.0),
        measure: || spawn::ratio(&program::build()?, &["check", "rm -rf build && make -j4"], TRUE, ""),
    },
    Bench {
        name: "hook",
        what: "the hook on one line, whole process, against starting /bin/true",
        jobs: &[Job::Build],
        at_most: Some(2.0),
        measure: || spawn::ratio(&program::build()?, HOOK, TRUE, &payload("rm -rf build && make -j4")),
    },
    Bench {
        name: "hook-64k",
        what: "the hook on a command of 64 KiB, which is to be done in 20 ms",
        jobs: &[Job::Build],
        at_most: None,
        measure: || {
            let command = "printf '%s' words\n".repeat((64 << 10) / 18);
            spawn::ratio(&program::build()?, HOOK, TRUE, &payload(&command))
        },
    },
    Bench {
        name: "wrapper",
        what: "starting a program through `blastradius -- CMD`, against starting it",
        jobs: &[Job::Build],
        at_most: None,
        measure: || spawn::ratio(&program::build()?, &["--", TRUE], TRUE, ""),
    },
    Bench {
        name: "exec",
        what: "starting a program inside a session on this machine's best rung, against starting it outside",
        jobs: &[Job::Build],
        at_most: None,
        measure: || execs::ratio(&program::build()?),
    },
    Bench {
        name: "text",
        what: "a verdict of the text layer, in CPU time; loading a policy; hostile inputs",
        jobs: &[Job::Build],
        at_most: None,
        measure: text,
    },
    Bench {
        name: "undo",
        what: "keeping what could be lost, against `git status` and `cp -a`",
        jobs: &[Job::Build],
        at_most: None,
        measure: || undo::ratios(&program::build()?),
    },
    Bench {
        name: "kernel",
        what: "calls under the kernel rung and under Landlock, against calls without either: in instructions, then by the clock",
        jobs: &[Job::Build, Job::Vm],
        at_most: None,
        measure: || {
            guests::measure(&["calls"], guests::Clock::Instructions)?;
            guests::measure(&["calls"], guests::Clock::Wall)
        },
    },
    Bench {
        name: "kernel-tree",
        what: "a git clone, a build and a clean of 5,000 files while a session runs: in instructions, then by the clock",
        jobs: &[Job::Build, Job::Vm],
        at_most: None,
        measure: || {
            guests::measure(&["tree"], guests::Clock::Instructions)?;
            guests::measure(&["tree"], guests::Clock::Wall)
        },
    },
    Bench {
        name: "kernel-session",
        what: "starting a session under the kernel rung, against starting /bin/true; its supervisor's memory",
        jobs: &[Job::Build, Job::Vm],
        at_most: None,
        measure: || guests::measure(&["session", GUEST_BINARY], guests::Clock::Instructions),
    },
    Bench {
        name: "compare",
        what: "the battery under nothing, a sandbox, a judge of commands alone, and blastradius on this machine's best rung",
        jobs: &[Job::Build, Job::Programs],
        at_most: None,
        measure: compare,
    },
];

/// Measures and prints.
pub(crate) fn run(request: &Request) -> Result<i32> {
    let wanted = |bench: &&Bench| request.only.as_ref().is_none_or(|word| bench.name.contains(word.as_str()));
    let benches: Vec<&Bench> = BENCHES.iter().filter(wanted).collect();
    if benches.is_empty() {
        let names: Vec<_> = BENCHES.iter().map(|bench| bench.name).collect();
        bail!("there is no such bench; there are {}", names.join(", "));
    }
    for Bench { name, what, jobs, at_most, measure } in benches {
        if request.list {
            println!("{name:<10} {what}");
            continue;
        }
        setup::ensure(jobs)?;
        println!("\n== {name}: {what}");
        match measure()? {
            Measured::Ratio(ratio) => {
                let bound = at_most.map(|bound| format!(", to be at most {bound}")).unwrap_or_default();
                println!("{name}: {ratio}{bound}");
            }
            Measured::Printed => {}
        }
    }
    Ok(0)
}

/// The text layer is measured in its own process.
fn text() -> Result<Measured> {
    proc::run(&mut cargo::cargo(&["bench", "--locked", "--package", WHOLE_TESTS, "--bench", "text"]))?;
    Ok(Measured::Printed)
}

/// A measurement of what is saved, not of what it costs.
fn compare() -> Result<Measured> {
    let test = ["test", "--locked", "--package", WHOLE_TESTS, "--test", INCIDENTS];
    let mut command = cargo::cargo(&test);
    command.args(["--", "--ignored", "--exact", "peers::how_it_compares", "--nocapture"]);
    proc::run(command.env(BINARY, program::build()?))?;
    Ok(Measured::Printed)
}

/// What an agent calls before a command.
const HOOK: &[&str] = &["hook", "--agent", "claude-code"];

/// What it hands over.
fn payload(command: &str) -> String {
    serde_json::json!({
        "session_id": "s",
        "cwd": house::root(),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
    })
    .to_string()
}
