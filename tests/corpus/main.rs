//! Every case of the corpus gets the answer that it asks for.

mod peers;
mod real;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use blastradius::analysis::{Report, Subject, analyze};
use blastradius::policy::mode::{Asker, Mode, Surface};
use blastradius::policy::rules::RULES;
use blastradius::policy::{Policy, Start};
use blastradius::programs::Dialect;
use blastradius_tests::cases::{self, Answer, Case};
use blastradius_tests::fixture;

/// The shell that reads the case.
fn dialect(case: &Case) -> Dialect {
    match case.shell.as_deref() {
        None | Some("bash") => Dialect::Bash,
        Some("sh" | "dash") => Dialect::Posix,
        Some("zsh") => Dialect::Zsh,
        Some(other) => panic!("{}: expected bash, sh, dash or zsh, found {other:?}", case.id),
    }
}

fn answer(case: &Case) -> Report {
    let world = fixture::world(case);
    let policy = Policy::load(&world, Start::default());
    let subject = Subject::Text { text: case.command.clone().into_bytes(), dialect: dialect(case) };
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

/// The cases of a file beside this one.
fn cases_of(file: &str) -> Vec<Case> {
    cases::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(file))
}

/// What was answered otherwise than asked, by how bad it is.
#[derive(Default)]
struct Differences {
    cases: usize,
    missed: Vec<String>,
    stopped: Vec<String>,
    other: Vec<String>,
}

impl Differences {
    fn of(file: &str) -> Self {
        let mut found = Self::default();
        for case in cases_of(file) {
            found.cases += 1;
            let report = answer(&case);
            let got = Answer::of(report.verdict);
            if case.accepts(got) {
                continue;
            }
            let line = describe(&case, &report);
            match (case.expected(), got) {
                (Answer::Deny, Answer::Allow) => found.missed.push(line),
                (Answer::Allow, _) => found.stopped.push(line),
                _ => found.other.push(line),
            }
        }
        println!("{found}");
        found
    }

    fn count(&self) -> usize {
        self.missed.len() + self.stopped.len() + self.other.len()
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cases, {} wrong", self.cases, self.count())?;
        for (kind, lines) in
            [("deny allowed", &self.missed), ("allow stopped", &self.stopped), ("otherwise", &self.other)]
        {
            write!(f, "\n{kind} ({}):\n  {}", lines.len(), lines.join("\n  "))?;
        }
        Ok(())
    }
}

#[test]
fn no_deny_is_allowed_no_allow_is_stopped_and_ninety_nine_in_a_hundred_are_equal() {
    let found = Differences::of("text.jsonl");
    assert!(
        found.missed.is_empty() && found.stopped.is_empty() && found.count() * 100 <= found.cases,
        "{found}"
    );
}

#[test]
fn every_further_case_gets_the_answer_that_it_asks_for() {
    let found = Differences::of("more.jsonl");
    assert!(found.count() == 0, "{found}");
}

#[test]
fn every_suggestion_is_itself_allowed() {
    let mut stopped = Vec::new();
    let mut tried = HashSet::new();
    for case in ["text.jsonl", "more.jsonl"].into_iter().flat_map(cases_of) {
        for advice in answer(&case).findings.into_iter().filter_map(|finding| finding.advice) {
            if !tried.insert((advice.clone(), case.cwd.clone(), case.env.clone())) {
                continue;
            }
            let instead = answer(&Case { command: advice.clone(), ..case.clone() });
            if Answer::of(instead.verdict) != Answer::Allow {
                let rules: Vec<&str> = instead.findings.iter().map(|finding| finding.rule.id()).collect();
                stopped.push(format!(
                    "{} {:?}: {advice:?} is {} {rules:?}",
                    case.id,
                    case.command,
                    instead.verdict.name()
                ));
            }
        }
    }
    assert!(stopped.is_empty(), "{} suggestions are stopped:\n{}", stopped.len(), stopped.join("\n"));
}

/// The answer where nobody can be asked: there every rule of the table binds.
fn unattended(command: &str) -> Report {
    let case = cases::plain(command);
    let world = fixture::world(&case);
    let policy = Policy::load(&world, Start::default());
    let subject = Subject::Text { text: command.into(), dialect: Dialect::Bash };
    analyze(&subject, &world, &policy, Asker { mode: Mode::Strict, surface: Surface::Text })
}

#[test]
fn the_examples_of_the_rule_table_are_answered_as_it_says() {
    let mut wrong = Vec::new();
    for rule in RULES {
        // Examples that need a file or another door say so behind the command.
        let plain = !rule.refused.contains("    (with") && !rule.refused.starts_with("blastradius");
        if plain && !unattended(rule.refused).findings.iter().any(|finding| finding.rule == rule.id) {
            wrong.push(format!("{}: {:?} is not stopped by it", rule.id.id(), rule.refused));
        }
        let passes = answer(&cases::plain(rule.allowed)).verdict;
        if !rule.allowed.starts_with("blastradius") && Answer::of(passes) != Answer::Allow {
            wrong.push(format!("{}: {:?} is {}", rule.id.id(), rule.allowed, passes.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
