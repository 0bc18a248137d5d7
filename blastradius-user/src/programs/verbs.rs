//! Programs that are told what to do by verbs (`aws s3 rb`, `zpool destroy`): their words, and tables of what verbs do.

use std::borrow::Cow;
use std::rc::Rc;

use blastradius_common::{RuleId, Verdict};

use crate::policy::effect::Effect;
use crate::programs::{Call, Input, Machine};
use crate::shell::value::{Abstract, Cause, Field, Hole, Piece};

/// The known text of a word, else nothing: for words that are compared with a table.
pub(crate) fn word(field: &Field) -> Cow<'_, str> {
    field.as_known().unwrap_or_default()
}

/// An argv as people would read it.
pub(crate) fn as_written(name: &str, args: &[Field]) -> String {
    let mut line = name.to_owned();
    for arg in args {
        line.push(' ');
        line.push_str(&arg.source);
    }
    line
}

/// The program prints one name that holds no slash: a hash, a number.
pub(crate) fn prints_component(machine: &mut dyn Machine, from: &str) {
    let cause = Rc::new(Cause::CommandOutput(from.into()));
    let hole = Hole { cause, maybe_empty: false, component: true, born: false };
    let mut text = Abstract::default();
    text.pieces.push(Piece::Hole(hole));
    machine.print(Input::Text(text));
}

/// What a verb does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The leading words, `*` standing for any word and `x-*` for any that begins so: `ec2 terminate-*`.
    pub(crate) verbs: &'static str,
    /// Only with one of these options.
    pub(crate) only_with: &'static [&'static str],
    /// The rule that objects; `None`: this spelling is harmless, whatever later rows say.
    pub(crate) rule: Option<RuleId>,
    /// Instead of the rule's default.
    pub(crate) verdict: Option<Verdict>,
    /// What is destroyed or changed, for people.
    pub(crate) what: &'static str,
}

impl Row {
    /// Only with one of these options.
    pub(crate) const fn with(self, only_with: &'static [&'static str]) -> Self {
        Self { only_with, ..self }
    }

    /// With a verdict other than the rule's.
    pub(crate) const fn verdict(self, verdict: Verdict) -> Self {
        Self { verdict: Some(verdict), ..self }
    }
}

/// A verb to which a rule objects.
pub(crate) const fn row(verbs: &'static str, rule: RuleId, what: &'static str) -> Row {
    Row { verbs, only_with: &[], rule: Some(rule), verdict: None, what }
}

/// A verb that is harmless in front of a wider one that is not.
pub(crate) const fn harmless(verbs: &'static str) -> Row {
    Row { verbs, only_with: &[], rule: None, verdict: None, what: "" }
}

/// One program (under several names) and its verbs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    /// The names it goes by.
    pub(crate) names: &'static [&'static str],
    /// Options whose argument is the next word, dashes included. Only those that may stand among the verbs matter.
    pub(crate) valued: &'static [&'static str],
    /// Options that make any verb harmless, besides [`DRY`].
    pub(crate) dry: &'static [&'static str],
    /// The verbs, first match wins.
    pub(crate) rows: &'static [Row],
}

/// Options with which a tool says what it would do, or explains itself.
const DRY: &[&str] =
    &["--help", "--version", "--dry-run", "--dryrun", "--dry", "--simulate", "--what-if", "--noop"];

/// A command line sorted into options and other words, without knowledge of the tool's grammar.
pub(crate) struct Words {
    /// The words that are no options, known ones as text, in order.
    pub(crate) operands: Vec<Field>,
    /// The options, without values: `--force`, `-f`.
    pub(crate) flags: Vec<String>,
}

impl Words {
    /// Sorts; `valued` options take the next word.
    pub(crate) fn sort(args: &[Field], valued: &[&str]) -> Self {
        let mut sorted = Self { operands: Vec::new(), flags: Vec::new() };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let known = word(arg);
            if known == "--" {
                sorted.operands.extend(rest.cloned());
                break;
            }
            if !known.starts_with('-') || known == "-" {
                sorted.operands.push(arg.clone());
                continue;
            }
            let (name, setting) =
                known.split_once('=').map_or((&*known, None), |(name, value)| (name, Some(value)));
            if setting.is_none() && valued.contains(&name) {
                rest.next();
            }
            // `--dry-run=none` and `--force=false` switch off what they name.
            if !matches!(setting, Some("none" | "false" | "no" | "0")) {
                sorted.flags.push(name.to_owned());
            }
        }
        sorted
    }

    /// Whether one of these options was given; a letter (`-f`) may be combined with others (`-rf`).
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| match name.strip_prefix('-') {
            Some(letter) if letter.len() == 1 => self
                .flags
                .iter()
                .any(|flag| !flag.starts_with("--") && flag.get(1..).is_some_and(|all| all.contains(letter))),
            _ => self.flags.iter().any(|flag| flag == name),
        })
    }

    /// Whether the words begin with these verbs.
    pub(crate) fn begin_with(&self, verbs: &str) -> bool {
        let wanted: Vec<&str> = verbs.split(' ').filter(|verb| !verb.is_empty()).collect();
        wanted.len() <= self.operands.len()
            && wanted.iter().zip(&self.operands).all(|(wanted, operand)| fits(wanted, &word(operand)))
    }

    /// The words from the `from`th on, for people.
    pub(crate) fn objects(&self, from: usize) -> String {
        let words: Vec<&str> = self.operands.iter().skip(from).map(|field| &*field.source).collect();
        words.join(" ")
    }
}

/// Whether a word fits a pattern: itself, `*`, `prefix*`, `*suffix`, or several separated by `|`. Case does not count:
/// diskutil(8) and others read verbs so, and no tool has two verbs that differ in case only.
fn fits(pattern: &str, word: &str) -> bool {
    let (pattern, word) = (&pattern.to_ascii_lowercase(), &*word.to_ascii_lowercase());
    pattern.split('|').any(|pattern| match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(""), _) => true,
        (Some(prefix), _) => word.starts_with(prefix),
        (None, Some(suffix)) => word.ends_with(suffix),
        (None, None) => word == pattern,
    })
}

/// Reads a call against a table of tools. Returns whether a row spoke.
pub(crate) fn read(tools: &[Tool], call: &Call<'_>, machine: &mut dyn Machine) -> bool {
    let Some(tool) = tools.iter().find(|tool| tool.names.contains(&call.name)) else { return false };
    let words = Words::sort(call.args, tool.valued);
    let asks_for_help = words.operands.last().is_some_and(|last| word(last) == "help");
    if words.has(DRY) || words.has(tool.dry) || asks_for_help {
        return true;
    }
    let acts =
        |row: &&Row| words.begin_with(row.verbs) && (row.only_with.is_empty() || words.has(row.only_with));
    let Some(row) = tool.rows.iter().find(acts) else { return false };
    let Some(rule) = row.rule else { return true };
    let verbs = row.verbs.split(' ').filter(|verb| !verb.is_empty()).count();
    let object = words.objects(verbs);
    machine.effect(Effect::Thing {
        rule,
        verdict: row.verdict,
        what: row.what.into(),
        object: object.into(),
    });
    true
}

#[test]
fn patterns_stand_for_words() {
    assert!(
        fits("delete-*", "delete-bucket")
            && fits("*", "x")
            && fits("rm|rb", "rb")
            && fits("*delete", "batch-delete")
    );
    assert!(!fits("delete-*", "describe") && !fits("rm|rb", "r"));
}

#[test]
fn options_and_their_arguments_are_no_verbs() {
    let args: Vec<Field> =
        "--profile x -rf s3 rb --dry-run=none -- --y".split(' ').map(Field::literal).collect();
    let words = Words::sort(&args, &["--profile"]);
    assert!(words.begin_with("s3 rb") && words.begin_with("* r*") && !words.begin_with("s3 ls"));
    assert!(words.has(&["-f"]) && words.has(&["--profile"]) && !words.has(&["--dry-run"]));
    assert_eq!(words.objects(2), "--y");
}
