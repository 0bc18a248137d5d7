//! What is fuzzed, and what must hold whatever the input.

use std::path::{Path, PathBuf};

use blastradius::analysis::{Report, Subject, analyze};
use blastradius::hosts::examples::EXAMPLES;
use blastradius::hosts::hook;
use blastradius::hosts::judge::{Judge, Question};
use blastradius::policy::mode::{Asker, Mode, Surface};
use blastradius::policy::{Policy, Start};
use blastradius::programs::Dialect;
use blastradius::report::json::Answer;
use blastradius::shell::limits::{EXPANDED_BYTES, STEPS, TEXT_BYTES, VALUE_BYTES, WORLD_CALLS};
use blastradius::shell::world::memory::MemoryWorld;
use blastradius::shell::{Options, evaluate_text};
use blastradius_common::{RuleId, Verdict};
use blastradius_tests::{cases, fixture, hostile};
use serde_json::Value;

/// One thing that reads foreign bytes.
pub(crate) struct Target {
    /// What the command line calls it.
    pub(crate) name: &'static str,
    /// Inputs to begin with.
    pub(crate) corpus: fn() -> Vec<Vec<u8>>,
    /// Words that mean something to it.
    pub(crate) words: &'static [&'static str],
    /// Inputs of the short slice that every test run tries.
    pub(crate) slice: usize,
    /// What is wrong with what the input gave.
    pub(crate) check: fn(&Ground, &[u8]) -> Result<(), String>,
}

/// All of them.
pub(crate) const TARGETS: &[Target] = &[
    Target { name: "parser", corpus: commands, words: SHELL, slice: 400, check: parser },
    Target { name: "evaluator", corpus: commands, words: SHELL, slice: 400, check: evaluator },
    Target { name: "hook", corpus: payloads, words: JSON, slice: 1_000, check: hook_input },
    Target { name: "config", corpus: policies, words: POLICY, slice: 10_000, check: config },
];

const SHELL: &[&str] = &[
    "rm -rf ",
    "/etc",
    "$HOME",
    "~",
    "\"$X\"",
    "${X:-",
    "${X%/*}",
    "$(",
    "`",
    "$((",
    "((",
    "[[ ",
    " ]]",
    "<<E\n",
    "\nE\n",
    "<<<",
    ">(",
    "<(",
    "&&",
    "||",
    "|&",
    ";;",
    ";&",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "case x in ",
    "esac",
    "while ",
    "until ",
    "f() {",
    "}",
    "eval ",
    "exec ",
    "trap '",
    "' EXIT",
    "cd ",
    "set -e",
    "local ",
    "declare -n ",
    "read ",
    "xargs ",
    "sudo ",
    "env -i ",
    "sh -c '",
    "find . -delete",
    "git clean -fdx",
    "{a,b}",
    "{1..9}",
    "*",
    "?",
    "[a-z]",
    "2>&1",
    "&>",
    ">|",
    "\\\n",
    "$'\\x2f'",
    "!",
    "time ",
    "coproc ",
    "select ",
    "function ",
    "return",
    "alias a=",
    "x=(",
    "x+=",
    "${!x}",
    "${x[@]}",
    "${#x}",
    "${x//a/b}",
    "python3 -c \"",
    "perl -e '",
    "awk '",
    "\u{e000}",
    "\u{fffd}",
];

const JSON: &[&str] = &[
    "\"tool_input\":",
    "\"command\":",
    "\"cwd\":",
    "\"hook_event_name\":",
    "\"PreToolUse\"",
    "\"tool_name\":",
    "\"Bash\"",
    "\"permission_mode\":",
    "\"bypassPermissions\"",
    "null",
    "true",
    "-1e999",
    "{}",
    "[]",
    "\\ud800",
    "\\u0000",
    "\u{feff}",
    "rm -rf /",
    "rm -rf ~",
    "\"file_path\":",
    "\"Write\"",
    "\"/etc/passwd\"",
    "{\"a\":",
    "[[[[",
    "\"\":",
];

const POLICY: &[&str] = &[
    "allow ",
    "deny ",
    "deny-command ",
    "confirm-command ",
    "rule ",
    "<repo>",
    "~",
    "$HOME",
    "/**",
    "/",
    "*",
    "**",
    "?",
    "[a-z]",
    "[",
    "..",
    "./",
    "build/**",
    "#",
    "\n",
    "\r\n",
    " ",
    "out-of-scope allow",
    "floor-path allow",
    "/etc/**",
    "/home/**",
    "$UNSET",
    "\\",
    "\"",
    "allow-all",
    "\u{feff}",
    "\0",
];

/// The machine that everything is judged on.
pub(crate) struct Ground {
    world: MemoryWorld,
    policy: Policy,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let world = fixture::world(&cases::plain("true"));
        let policy = Policy::load(&world, Start::default());
        Self { world, policy }
    }

    fn judge(&self, text: &[u8], dialect: Dialect, mode: Mode) -> Report {
        let subject = Subject::Text { text: text.to_vec(), dialect };
        analyze(&subject, &self.world, &self.policy, Asker { mode, surface: Surface::Text })
    }
}

/// A command that only asks for a file of the project.
impl Judge for Ground {
    fn judge(&self, question: &Question, _: &Path, asker: Asker) -> Report {
        let subject = match question {
            Question::Text(text) => Subject::Text { text: text.clone().into_bytes(), dialect: Dialect::Bash },
            Question::Argv(argv) => Subject::Exec { path: None, argv: argv.iter().map(Into::into).collect() },
            Question::File(_, path) => {
                Subject::Exec { path: None, argv: vec!["rm".into(), "--".into(), path.into()] }
            }
        };
        analyze(&subject, &self.world, &self.policy, asker)
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn commands() -> Vec<Vec<u8>> {
    let cases = cases::read(&data("corpus/text.jsonl")).into_iter().map(|case| case.command.into_bytes());
    let hostile = hostile::inputs().into_iter().map(|input| input.text).filter(|text| text.len() < 1024);
    let scripts = (1..300).map(|seed| crate::grammar::script(seed).into_bytes());
    cases.chain(hostile).chain(scripts).collect()
}

fn payloads() -> Vec<Vec<u8>> {
    let commands = ["ls", "rm -rf ~", "git reset --hard", "rm -rf build"];
    let before =
        EXAMPLES.iter().flat_map(|example| commands.map(|command| example.with(command).into_bytes()));
    let after = EXAMPLES.iter().map(|example| example.after.as_bytes().to_vec());
    before.chain(after).collect()
}

fn policies() -> Vec<Vec<u8>> {
    [
        "",
        "# comment\nallow build/**\ndeny ./keep\n",
        "allow <repo>/out/**\nallow ~/scratch\ndeny **/*.key\n",
        "deny-command git push *\nconfirm-command make *\nrule out-of-scope deny\n",
        "allow $HOME/x\nallow /tmp/[a-z]*/**\n",
        "allow /**\n",
        "allow ../..\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// The verdict without what is only said of places in the text.
fn shape(report: &Report) -> (Verdict, Vec<(RuleId, Verdict, Option<PathBuf>)>) {
    let findings = report.findings.iter().map(|f| (f.rule, f.verdict, f.resolved.clone())).collect();
    (report.verdict, findings)
}

/// The adapter to the parser: a text is read alike whole and piece by piece, in every dialect.
fn parser(ground: &Ground, input: &[u8]) -> Result<(), String> {
    for dialect in [Dialect::Bash, Dialect::Posix, Dialect::Zsh] {
        ground.judge(input, dialect, Mode::Interactive);
    }
    // Padding makes a text long and changes nothing.
    let padding = "# talk that nobody reads, of which there is much\n".repeat(700);
    let padded = [padding.as_bytes(), input].concat();
    let (plain, padded) = (
        ground.judge(input, Dialect::Bash, Mode::Interactive),
        ground.judge(&padded, Dialect::Bash, Mode::Interactive),
    );
    let at_limit =
        |report: &Report| report.findings.iter().any(|finding| finding.rule == RuleId::UnparseableLimit);
    ensure(at_limit(&plain) || at_limit(&padded) || shape(&plain) == shape(&padded), || {
        format!("padding changes the answer from {:?} to {:?}", shape(&plain), shape(&padded))
    })
}

/// The evaluator: bounded, the same each time, closed at every limit, no looser where nobody can answer.
fn evaluator(ground: &Ground, input: &[u8]) -> Result<(), String> {
    let evaluation = evaluate_text(input, Dialect::Bash, &ground.world, &Options::default());
    let work = evaluation.work;
    ensure(
        work.steps <= STEPS + TEXT_BYTES as u64 / 8
            && work.bytes <= EXPANDED_BYTES + VALUE_BYTES as u64
            && work.world_calls <= 2 * WORLD_CALLS,
        || format!("unbounded: {work:?}"),
    )?;
    let report = ground.judge(input, Dialect::Bash, Mode::Interactive);
    ensure(report == ground.judge(input, Dialect::Bash, Mode::Interactive), || {
        "two answers to one text".into()
    })?;
    let at_limit = evaluation.problems.iter().any(|problem| problem.rule == RuleId::UnparseableLimit);
    ensure(!at_limit || report.verdict == Verdict::Deny, || format!("{:?} at a limit", report.verdict))?;
    let unattended = ground.judge(input, Dialect::Bash, Mode::Unattended).verdict;
    let strict = ground.judge(input, Dialect::Bash, Mode::Strict).verdict;
    ensure(unattended >= report.verdict && strict >= unattended && unattended != Verdict::Confirm, || {
        format!("interactive {:?}, unattended {unattended:?}, strict {strict:?}", report.verdict)
    })?;
    let line = Answer::new(&report, None, None).to_line();
    let answer: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
    ensure(answer["verdict"] == report.verdict.name() && !line.contains('\n'), || {
        format!("another answer: {line}")
    })
}

/// The hook: one document or none, a reason for each refusal, no yes to what it could not read.
fn hook_input(ground: &Ground, input: &[u8]) -> Result<(), String> {
    for name in std::iter::once(None).chain(EXAMPLES.iter().map(|example| Some(example.host))) {
        let answer = hook::answer(input, name, Path::new("/home/dev/proj"), ground);
        let who = name.unwrap_or("no host");
        let documents: Result<Vec<Value>, _> =
            serde_json::Deserializer::from_str(&answer.stdout).into_iter().collect();
        let documents = documents.map_err(|error| format!("{who}: {error}: {}", answer.stdout))?;
        ensure(documents.len() <= 1, || format!("{who}: {} documents: {}", documents.len(), answer.stdout))?;
        ensure(matches!(answer.status, 0 | 2), || format!("{who}: exit {}", answer.status))?;
        ensure(answer.status == 0 || !answer.stderr.is_empty(), || format!("{who}: refused in silence"))?;
        let is_document = serde_json::from_slice::<Value>(input).is_ok();
        let says_yes = answer.status == 0 && (documents.is_empty() || answer.stdout.contains("\"allow\""));
        ensure(is_document || !says_yes, || format!("{who}: yes to what is no document: {}", answer.stdout))?;
    }
    Ok(())
}

/// A policy file of a repository: whatever is in it, it opens nothing outside, and a broken one opens nothing at all.
fn config(ground: &Ground, input: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(input);
    let world = ground.world.clone().file("/home/dev/proj/.blastradius", &text);
    let policy = Policy::load(&world, Start::default());
    let verdict = |command: &str| {
        let subject = Subject::Text { text: command.into(), dialect: Dialect::Bash };
        analyze(&subject, &world, &policy, Asker { mode: Mode::Interactive, surface: Surface::Text }).verdict
    };
    for error in policy.errors() {
        ensure(error.file.ends_with(".blastradius") && !error.expected.is_empty(), || {
            format!("unclear: {error}")
        })?;
        ensure(error.line <= text.split('\n').count(), || format!("no such line: {error}"))?;
    }
    ensure(policy.errors().is_empty() || verdict("rm -f build/a.o") == Verdict::Deny, || {
        format!("broken, and yet destructive work passes: {:?}", policy.errors())
    })?;
    for (command, least) in [
        ("rm -rf /", Verdict::Deny),
        ("rm -rf ~", Verdict::Deny),
        ("rm -rf /etc/passwd", Verdict::Deny),
        ("rm -rf ~/Documents", Verdict::Confirm),
        ("rm -f ~/.ssh/file", Verdict::Confirm),
        ("rm -rf /srv/data", Verdict::Confirm),
        ("rm -rf .git", Verdict::Confirm),
        ("rm -f .blastradius", Verdict::Confirm),
    ] {
        let verdict = verdict(command);
        ensure(verdict >= least, || format!("{command} is {}", verdict.name()))?;
    }
    Ok(())
}
