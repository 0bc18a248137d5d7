//! `cargo xtask test`: everything that must hold before a change goes in.

pub(crate) mod actions;
pub(crate) mod steps;

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use clap::Args;

pub(crate) use actions::BINARY;

use crate::setup;
use steps::{STEPS, Step, Tier};

/// Run the tests: format, lints, unit tests, cases, and kernels in virtual machines
///
/// Each step is told with its time as it ends, and again in a summary. The last line counts them.
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// All that takes long, too: more kernels, more file systems
    #[arg(long)]
    long: bool,
    /// Only the real agents, all of them: `--only hosts`
    #[arg(long, conflicts_with_all = ["only", "long"])]
    hosts: bool,
    /// Only the steps of these groups, or those with this in their name
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    only: Vec<String>,
    /// Show the steps that would be run
    #[arg(long)]
    list: bool,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is as it should be.
    Passed,
    /// It is not, and what is known of why.
    Failed(String),
    /// It could not be found out on this machine, and why.
    Skipped(String),
}

struct Done {
    step: &'static Step,
    outcome: Outcome,
    took: Duration,
}

/// Runs them and returns the exit code.
pub(crate) fn run(request: &Request) -> Result<i32> {
    let steps: Vec<&'static Step> = STEPS.iter().filter(|step| wanted(request, step)).collect();
    if steps.is_empty() {
        let mut groups: Vec<_> = STEPS.iter().map(|step| step.group).collect();
        groups.dedup();
        bail!("--only {} fits no step; the groups are {}", request.only.join(","), groups.join(", "));
    }
    if request.list {
        for Step { group, name, tier, .. } in steps {
            let tier = if *tier == Tier::Long { " (long)" } else { "" };
            println!("{group:<8} {name}{tier}");
        }
        return Ok(0);
    }
    let done: Vec<Done> = steps.into_iter().map(perform).collect();
    print!("{}", summary(&done));
    Ok(i32::from(done.iter().any(|done| matches!(done.outcome, Outcome::Failed(_)))))
}

fn wanted(Request { long, hosts, only, .. }: &Request, step: &Step) -> bool {
    if *hosts {
        return step.group == "hosts";
    }
    let is_group = |word: &String| STEPS.iter().any(|step| step.group == word);
    let named = |word: &String| {
        if is_group(word) { step.group == word } else { step.name.contains(word.as_str()) }
    };
    // What someone names, they get, however long it takes.
    if only.is_empty() { *long || step.tier == Tier::Short } else { only.iter().any(named) }
}

fn perform(step: &'static Step) -> Done {
    println!("\n== {}: {}", step.group, step.name);
    // The commands write to the same place without our buffer.
    let _ = std::io::stdout().flush();
    let started = Instant::now();
    let outcome = setup::ensure(step.jobs)
        .and_then(|()| actions::perform(&step.action, step.limit))
        .unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
    let done = Done { step, outcome, took: started.elapsed() };
    println!("{}", line(&done));
    done
}

fn line(Done { step, outcome, took }: &Done) -> String {
    let what = match outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed(why) => format!("FAILED: {why}"),
        Outcome::Skipped(why) => format!("not run here: {why}"),
    };
    format!("{:>7.1} s  {:<8} {}: {what}", took.as_secs_f64(), step.group, step.name)
}

fn summary(done: &[Done]) -> String {
    let count = |wanted: fn(&Outcome) -> bool| done.iter().filter(|done| wanted(&done.outcome)).count();
    let total: Duration = done.iter().map(|done| done.took).sum();
    let mut text = String::from("\n== summary\n");
    for done in done {
        text.push_str(&line(done));
        text.push('\n');
    }
    text.push_str(&format!("{:>7.1} s  in all\n", total.as_secs_f64()));
    // Others read this line: its form is fixed.
    text.push_str(&format!(
        "{} passed, {} failed, {} skipped\n",
        count(|outcome| *outcome == Outcome::Passed),
        count(|outcome| matches!(outcome, Outcome::Failed(_))),
        count(|outcome| matches!(outcome, Outcome::Skipped(_)))
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(long: bool, only: &[&str]) -> Request {
        Request {
            long,
            hosts: false,
            only: only.iter().map(|word| (*word).to_owned()).collect(),
            list: false,
        }
    }

    fn names(request: &Request) -> Vec<&'static str> {
        STEPS.iter().filter(|step| wanted(request, step)).map(|step| step.name).collect()
    }

    #[test]
    fn the_last_line_counts() {
        let took = Duration::from_millis(1500);
        let outcomes =
            [Outcome::Passed, Outcome::Failed("exit 1".into()), Outcome::Skipped("no such thing".into())];
        let done: Vec<Done> =
            STEPS.iter().zip(outcomes).map(|(step, outcome)| Done { step, outcome, took }).collect();
        let text = summary(&done);
        assert_eq!(text.lines().last(), Some("1 passed, 1 failed, 1 skipped"));
        assert!(text.contains("FAILED: exit 1") && text.contains("not run here: no such thing"));
        assert!(text.contains("    1.5 s  lint     format: passed"), "{text}");
    }

    #[test]
    fn tiers_and_groups_select() {
        assert!(!names(&request(false, &[])).contains(&"Linux 6.18, ext4"));
        assert_eq!(names(&request(true, &[])).len(), STEPS.len());
        assert_eq!(names(&request(false, &["6.18"])), ["Linux 6.18, ext4"]);
        assert_eq!(names(&request(false, &["demo", "macos"])).len(), 2);
        assert!(!names(&request(false, &["kernel"])).contains(&"format of the kernel side"));
    }
}
