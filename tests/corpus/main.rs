//! Every case of `text.jsonl` gets the answer that it asks for.

use std::path::Path;

use blastradius::analysis::{Report, Subject, analyze};
use blastradius::policy::mode::{Asker, Mode, Surface};
use blastradius::policy::{Policy, Start};
use blastradius::programs::Dialect;
use blastradius_tests::cases::{self, Answer, Case};
use blastradius_tests::fixture;

fn answer(case: &Case) -> Report {
    let world = fixture::world(case);
    let policy = Policy::load(&world, Start::default());
    let subject = Subject::Text { text: case.command.clone().into_bytes(), dialect: Dialect::Bash };
    analyze(&subject, &world, &policy, Asker { mode: Mode::Interactive, surface: Surface::Text })
}

/// One case that was answered otherwise than it asks.
fn describe(case: &Case, report: &Report) -> String {
    let rules: Vec<&str> = report.findings.iter().map(|finding| finding.rule.id()).collect();
    format!(
        "{} wants {} got {} {rules:?}: {:?}  ({})",
        case.id,
        case.expect,
        report.verdict.name(),
        case.command,
        case.why
    )
}

#[test]
fn no_deny_is_allowed_no_allow_is_stopped_and_ninety_nine_in_a_hundred_are_equal() {
    let cases = cases::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/text.jsonl"));
    let (mut missed, mut stopped, mut other) = (Vec::new(), Vec::new(), Vec::new());
    for case in &cases {
        let report = answer(case);
        let got = Answer::of(report.verdict);
        if case.accepts(got) {
            continue;
        }
        let line = describe(case, &report);
        match (case.expected(), got) {
            (Answer::Deny, Answer::Allow) => missed.push(line),
            (Answer::Allow, _) => stopped.push(line),
            _ => other.push(line),
        }
    }
    let wrong = missed.len() + stopped.len() + other.len();
    let summary = format!(
        "{} cases, {} wrong\ndeny allowed ({}):\n  {}\nallow stopped ({}):\n  {}\notherwise ({}):\n  {}",
        cases.len(),
        wrong,
        missed.len(),
        missed.join("\n  "),
        stopped.len(),
        stopped.join("\n  "),
        other.len(),
        other.join("\n  "),
    );
    println!("{summary}");
    assert!(missed.is_empty() && stopped.is_empty() && wrong * 100 <= cases.len(), "{summary}");
}
