//! Bounds: whatever the input, an answer, for a bounded amount of work, and never `allow` because a limit was reached.

mod policy;

use std::process::Command;
use std::time::Instant;

use blastradius::analysis::{Subject, analyze};
use blastradius::policy::mode::{Asker, Mode, Surface};
use blastradius::policy::{Policy, Start};
use blastradius::programs::Dialect;
use blastradius::shell::limits::{EXPANDED_BYTES, GLOB_ENTRIES, STEPS, TEXT_BYTES, VALUE_BYTES, WORLD_CALLS};
use blastradius::shell::{Options, evaluate_text};
use blastradius_common::{RuleId, Verdict};
use blastradius_tests::counting::Counting;
use blastradius_tests::hostile::{self, Expected, Input};

const ASKER: Asker = Asker { mode: Mode::Interactive, surface: Surface::Text };

/// One count of work may pass a bound before it is seen: the length of a text counts at once.
const LAST_STEP: u64 = TEXT_BYTES as u64 / 8;
/// Questions that judging may add, whatever it judges.
const JUDGING: u64 = 150_000;
/// Entries of directories that judging may look at.
const COUNTED: u64 = 110_000;
/// Runs of git for one command.
const GIT: u64 = 3;

/// What is wrong with the answer to an input, and with what it cost.
fn objections(input: &Input, world: &dyn blastradius::shell::world::World, policy: &Policy) -> Vec<String> {
    let Input { text, expected, .. } = input;
    let evaluation = evaluate_text(text, Dialect::Bash, world, &Options::default());
    let work = evaluation.work;
    let counting = Counting::new(world);
    let subject = Subject::Text { text: text.clone(), dialect: Dialect::Bash };
    let report = analyze(&subject, &counting, policy, ASKER);
    let again = analyze(&subject, world, policy, ASKER);

    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    must(work.steps <= STEPS + LAST_STEP, format!("{} steps", work.steps));
    must(work.bytes <= EXPANDED_BYTES + VALUE_BYTES as u64, format!("{} bytes expanded", work.bytes));
    must(work.world_calls <= 2 * WORLD_CALLS, format!("{} questions by the evaluation", work.world_calls));
    must(counting.asked() <= 2 * WORLD_CALLS + JUDGING, format!("{} questions", counting.asked()));
    must(counting.entries() <= GLOB_ENTRIES + 50_000 + COUNTED, format!("{} entries", counting.entries()));
    must(counting.git() <= GIT, format!("git was asked {} times", counting.git()));
    must(report == again, "the same text has two answers".into());

    let verdict = report.verdict;
    let reached = evaluation.problems.iter().find(|problem| problem.rule == RuleId::UnparseableLimit);
    if let Some(limit) = reached {
        let named =
            report.findings.iter().any(|finding| finding.reasons.iter().any(|reason| *reason == limit.what));
        must(
            verdict == Verdict::Deny && named,
            format!("{} at the limit {}, named: {named}", verdict.name(), limit.what),
        );
    }
    let right = match expected {
        Expected::Stopped => verdict >= Verdict::Confirm,
        Expected::Allowed => verdict <= Verdict::Warn,
        Expected::Answered => true,
    };
    must(right, format!("{} {:?}", verdict.name(), reached.map(|limit| &limit.what)));
    wrong
}

#[test]
fn every_hostile_input_gets_a_right_answer_for_bounded_work() {
    let world = hostile::world();
    let policy = Policy::load(&world, Start::default());
    let inputs = hostile::inputs();
    let wrong: Vec<String> = inputs
        .iter()
        .flat_map(|input| {
            let name = input.name;
            let began = Instant::now();
            let wrong = objections(input, &world, &policy);
            println!("{name}: {:.1?}", began.elapsed());
            wrong.into_iter().map(move |what| format!("{name}: {what}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn many_directories_that_git_is_asked_about_are_one_question_to_it() {
    let mut world = blastradius_tests::fixture::world(&blastradius_tests::cases::plain("true"));
    for at in 0..200 {
        for file in 0..5 {
            world = world.file(&format!("/home/dev/proj/results/{at}/{file}.csv"), "");
        }
    }
    let policy = Policy::load(&world, Start::default());
    let operands: String = (0..200).map(|at| format!(" results/{at}")).collect();
    let subject = Subject::Text { text: format!("rm -rf{operands}").into(), dialect: Dialect::Bash };
    let counting = Counting::new(&world);
    assert_eq!(analyze(&subject, &counting, &policy, ASKER).verdict, Verdict::Allow);
    assert!(counting.git() <= GIT, "git was asked {} times", counting.git());
}

#[test]
fn without_memory_for_the_evaluation_the_answer_is_no() {
    let text = "(".repeat(30) + "echo harmless" + &")".repeat(30);
    let check = |room: &str| {
        let script = format!("ulimit -v {room} && exec \"$0\" check -- \"$1\"");
        let done = Command::new("/bin/sh")
            .arg("-c")
            .arg(script)
            .arg(blastradius_tests::binary())
            .arg(&text)
            .output();
        let done = done.expect("a shell");
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    assert_eq!(check("unlimited").0, Some(0), "with memory it is harmless");
    let (code, said) = check("150000");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("evaluation-stack"), "{said}");
}
