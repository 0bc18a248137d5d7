//! The whole text layer in one call: a command in, a report out.

#[cfg(test)]
mod documented;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use blastradius_common::{RuleId, Verdict};

use crate::policy::effect::{Act, Base, Effect, Located, PathTarget};
use crate::policy::finding::{Finding, worst};
use crate::policy::judge::{self, judge, judge_command, judge_problems};
use crate::policy::mode::{Asker, Surface};
use crate::policy::{Policy, rules};
use crate::programs::Dialect;
use crate::shell::trace::Step;
use crate::shell::value::Field;
use crate::shell::world::{Look, World};
use crate::shell::{Evaluation, Options, Problem, evaluate_argv, evaluate_text};

/// What is about to run.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Text that a shell will read. Bytes that are not UTF-8 make the words that hold them unknown.
    Text {
        /// The text.
        text: Vec<u8>,
        /// The shell that will read it.
        dialect: Dialect,
    },
    /// An argv that the kernel will execute as it is.
    Exec {
        /// The file that is executed; `None`: looked up on PATH by `argv[0]`.
        path: Option<PathBuf>,
        /// The arguments, `argv[0]` first.
        argv: Vec<OsString>,
    },
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The command, for people: the text, or the argv quoted as a shell would need it.
    pub command: String,
    /// The worst verdict of the findings; `allow` without any.
    pub verdict: Verdict,
    /// Worst first, then in the order of the text. Findings of verdict `allow` are not kept.
    pub findings: Vec<Finding>,
}

/// Judges a command.
pub fn analyze(subject: &Subject, world: &dyn World, policy: &Policy, asker: Asker) -> Report {
    report(subject, &evaluate(subject, world, &options(policy)), world, policy, asker)
}

/// Judges a command and gives the effects that were judged, too.
pub fn analyze_with_effects(
    subject: &Subject,
    world: &dyn World,
    policy: &Policy,
    asker: Asker,
) -> (Report, Vec<Located>) {
    let evaluation = evaluate(subject, world, &options(policy));
    (report(subject, &evaluation, world, policy, asker), evaluation.effects)
}

/// What a command will do, for several judgements.
pub struct Foreseen<'a> {
    subject: &'a Subject,
    evaluation: Evaluation,
}

impl<'a> Foreseen<'a> {
    /// Evaluates it. With `leaves_scripts`, a script that it will start is left to its own exec.
    pub fn new(subject: &'a Subject, world: &dyn World, policy: &Policy, leaves_scripts: bool) -> Self {
        Self { subject, evaluation: evaluate(subject, world, &Options { leaves_scripts, ..options(policy) }) }
    }

    /// Judges it.
    pub fn report(&self, world: &dyn World, policy: &Policy, asker: Asker) -> Report {
        report(self.subject, &self.evaluation, world, policy, asker)
    }

    /// What it will do.
    pub fn effects(&self) -> &[Located] {
        &self.evaluation.effects
    }

    /// The same, when all is judged.
    pub fn into_effects(self) -> Vec<Located> {
        self.evaluation.effects
    }
}

/// So many steps are worth looking ahead into a script, a few milliseconds: what comes later is judged when it comes.
const FORESIGHT: u64 = 5_000;

/// What a script that is about to start is certain to do, and only its text shows: not what hangs on a condition, nor on a
/// value or a working directory that is known only when it runs. The judge's rules about a single act are left to that act.
pub fn foresee(subject: &Subject, world: &dyn World, policy: &Policy, asker: Asker) -> Report {
    let options = Options { most_steps: Some(FORESIGHT), runs_now: true, ..Options::default() };
    let mut effects = evaluate(subject, world, &options).effects;
    effects.retain(is_certain);
    let mut findings = judge(&effects, policy, world, asker);
    findings.retain(|finding| FORESEEN.contains(&finding.rule));
    Report { command: command_line(subject), verdict: worst(&findings), findings }
}

/// Rules about what no single exec shows: that each name of a directory goes, what a program finds on its standard input, what a
/// shell itself writes to.
const FORESEEN: &[RuleId] = &[RuleId::ScopeRoot, RuleId::RemoteResource, RuleId::BlockDevice];

fn is_certain(located: &Located) -> bool {
    let known = match &located.effect {
        Effect::Path { target, .. } => {
            matches!(target.base, Base::Known(_)) && target.operand.text.as_known().is_some()
        }
        Effect::Git { .. } | Effect::Thing { .. } => true,
    };
    known && !located.conditional && located.elsewhere.is_none()
}

/// Judges a command and keeps every step of the evaluation.
pub fn explain(subject: &Subject, world: &dyn World, policy: &Policy, asker: Asker) -> (Report, Vec<Step>) {
    let mut evaluation = evaluate(subject, world, &Options { trace: true, ..options(policy) });
    let steps = std::mem::take(&mut evaluation.trace);
    (report(subject, &evaluation, world, policy, asker), steps)
}

/// Simple commands are kept only where a line of the policy speaks of them.
fn options(policy: &Policy) -> Options {
    Options { commands: !policy.config().commands.is_empty(), ..Options::default() }
}

fn evaluate(subject: &Subject, world: &dyn World, options: &Options) -> Evaluation {
    match subject {
        Subject::Text { text, dialect } => evaluate_text(text, *dialect, world, options),
        Subject::Exec { path, argv } => evaluate_argv(&fields(path.as_deref(), argv), world, options),
    }
}

/// The arguments as fields. The file that is executed counts as the command's name: `argv[0]` may say anything.
fn fields(path: Option<&Path>, argv: &[OsString]) -> Vec<Field> {
    let mut fields: Vec<Field> =
        argv.iter().map(|argument| Field::literal(&argument.to_string_lossy())).collect();
    if let (Some(path), Some(first)) = (path, fields.first_mut())
        && !is_multicall(path)
    {
        *first = Field::literal(&path.to_string_lossy());
    }
    fields
}

/// Whether the file decides by `argv[0]` which program it is.
fn is_multicall(path: &Path) -> bool {
    const MULTICALL: [&str; 3] = ["busybox", "toybox", "coreutils"];
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| MULTICALL.contains(&name))
}

fn report(
    subject: &Subject,
    evaluation: &Evaluation,
    world: &dyn World,
    policy: &Policy,
    asker: Asker,
) -> Report {
    let mut findings = judge(&evaluation.effects, policy, world, asker);
    let problems: Vec<judge::Problem> = evaluation.problems.iter().map(in_the_judges_words).collect();
    findings.extend(judge_problems(&problems, policy, asker));
    findings.extend(by_command_lines(evaluation, policy, asker));
    if asker.surface == Surface::Wrapper && matches!(subject, Subject::Exec { .. }) {
        findings.extend(quoted_too_much(&evaluation.effects, world));
    }
    findings.retain(|finding| finding.verdict != Verdict::Allow);
    findings.dedup();
    // Stable: within a verdict the order of the text stays.
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    Report { command: command_line(subject), verdict: worst(&findings), findings }
}

/// What `deny-command` and `confirm-command` lines say of each simple command.
fn by_command_lines(evaluation: &Evaluation, policy: &Policy, asker: Asker) -> Vec<Finding> {
    let commands = evaluation.commands.iter();
    commands.filter_map(|command| judge_command(&command.command, &command.segment, policy, asker)).collect()
}

fn in_the_judges_words(problem: &Problem) -> judge::Problem {
    let Problem { rule, what, segment, verb } = problem;
    let verb = verb.as_ref().map(|verb| format!("the text holds {verb}, which destroys"));
    let reasons = std::iter::once(what.clone().into_owned()).chain(verb).collect();
    judge::Problem { rule: *rule, verdict: None, segment: segment.to_string(), reasons }
}

/// Operands of a destructive argv that still hold shell syntax and name nothing: somebody quoted too much, and what was
/// meant is not what would be destroyed.
fn quoted_too_much(effects: &[Located], world: &dyn World) -> Vec<Finding> {
    let suspicious = |located: &Located| {
        let Effect::Path { act, target } = &located.effect else { return None };
        let destroys = !matches!(act, Act::Append | Act::Metadata { .. });
        let operand = target.operand.as_known()?.into_owned();
        (destroys && holds_syntax(&operand) && !exists(&operand, target, world)).then(|| Finding {
            rule: RuleId::QuotedTooMuch,
            verdict: rules::rule(RuleId::QuotedTooMuch).verdict,
            target: operand.clone(),
            resolved: None,
            segment: located.segment.to_string(),
            reasons: vec![format!(
                "{operand} is passed on as it is: no shell expands it, and no file bears that name"
            )],
            advice: Some("leave the quotes away, or hand over the whole command as one argument".into()),
        })
    };
    effects.iter().filter_map(suspicious).collect()
}

/// `~` in front, `$NAME`, a backquote or a wildcard.
fn holds_syntax(operand: &str) -> bool {
    let variable = |(at, _): (usize, &str)| {
        operand[at + 1..]
            .starts_with(|next: char| next == '{' || next == '(' || next == '_' || next.is_ascii_alphabetic())
    };
    operand.starts_with('~')
        || operand.contains(['`', '*', '?'])
        || (operand.contains('[') && operand.contains(']'))
        || operand.match_indices('$').any(variable)
}

fn exists(operand: &str, target: &PathTarget, world: &dyn World) -> bool {
    let base = match &target.base {
        Base::Known(base) => base.as_path().to_path_buf(),
        Base::OneOf(_) | Base::Unknown(_) => world.cwd(),
    };
    matches!(world.look(&base.join(operand)), Look::Found(_))
}

/// The command, for people.
fn command_line(subject: &Subject) -> String {
    match subject {
        Subject::Text { text, .. } => String::from_utf8_lossy(text).into_owned(),
        Subject::Exec { argv, .. } => quote_all(argv),
    }
}

/// Words quoted as a POSIX shell needs them; bytes that are no text are shown as such.
pub fn quote_all(words: &[OsString]) -> String {
    words.iter().map(|word| quote(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// One word quoted as a POSIX shell needs it (POSIX.1-2024, 2.2).
pub fn quote(word: &str) -> String {
    const PLAIN: &str = "-_./:,@%+=";
    let plain = |c: char| c.is_alphanumeric() || PLAIN.contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_where_a_shell_needs_it() {
        assert_eq!(quote("a/b.c"), "a/b.c");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("$HOME"), "'$HOME'");
    }

    #[test]
    fn shell_syntax_in_an_operand_is_told_from_plain_names() {
        for syntax in ["~/x", "$HOME", "${X}/y", "*.log", "`pwd`", "a?", "[ab].c", "$(pwd)"] {
            assert!(holds_syntax(syntax), "{syntax}");
        }
        for plain in ["x", "a~", "price$", "a$1", "[draft", "./a b"] {
            assert!(!holds_syntax(plain), "{plain}");
        }
    }
}
