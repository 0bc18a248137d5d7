//! Makefiles, as far as recipes depend on them: variables, rules, and what a line of a recipe expands to (GNU make).

use std::collections::HashMap;

use crate::programs::Machine;
use crate::shell::value::{Abstract, Cause};

/// Expansion of a variable within a variable is followed so far.
const MAX_DEPTH: usize = 16;
/// Rules that are followed from the targets that are asked for.
const MAX_RULES: usize = 200;
/// What one line may expand to.
const MAX_LINE: usize = 1 << 14;

#[derive(Debug, Default)]
struct Rule {
    prerequisites: Vec<String>,
    recipe: Vec<String>,
}

/// A Makefile.
#[derive(Debug, Default)]
pub(super) struct Makefile {
    variables: HashMap<String, String>,
    given: HashMap<String, Abstract>,
    rules: HashMap<String, Rule>,
    first: Option<String>,
    /// Texts that make has a shell run while it reads the file: `$(shell TEXT)`, `NAME != TEXT`.
    shells: Vec<String>,
    /// Other files are read in: what is not set here may be set there.
    includes: bool,
}

impl Makefile {
    /// Reads a Makefile's text.
    pub(super) fn read(text: &str) -> Self {
        let mut makefile = Self::default();
        let mut targets: Vec<String> = Vec::new();
        for line in logical_lines(text) {
            if let Some(recipe) = line.strip_prefix('\t') {
                for target in &targets {
                    makefile.rules.entry(target.clone()).or_default().recipe.push(recipe.to_owned());
                }
                continue;
            }
            let line = line.split(" #").next().unwrap_or_default().trim_end();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            makefile.shells.extend(shell_calls(line));
            if line.starts_with("include ") || line.starts_with("-include ") || line.starts_with("sinclude ")
            {
                makefile.includes = true;
            } else if let Some((name, value, appends)) = assignment(line) {
                makefile.assign(name, value, appends);
            } else if let Some((left, right)) = line.split_once(':') {
                targets = makefile.rule(left, right);
            }
        }
        makefile
    }

    fn assign(&mut self, name: &str, value: &str, appends: bool) {
        let slot = self.variables.entry(name.to_owned()).or_default();
        if appends && !slot.is_empty() {
            slot.push(' ');
            slot.push_str(value);
        } else {
            value.clone_into(slot);
        }
    }

    fn rule(&mut self, left: &str, right: &str) -> Vec<String> {
        let targets: Vec<String> = left.split_whitespace().map(str::to_owned).collect();
        let (right, inline) =
            right.split_once(';').map_or((right, None), |(right, recipe)| (right, Some(recipe)));
        let right = right.trim_start_matches(':');
        for target in &targets {
            let rule = self.rules.entry(target.clone()).or_default();
            rule.prerequisites
                .extend(right.split_whitespace().filter(|word| *word != "|").map(str::to_owned));
            rule.recipe.extend(inline.map(|recipe| recipe.trim().to_owned()));
            if self.first.is_none() && !target.starts_with('.') {
                self.first = Some(target.clone());
            }
        }
        targets
    }

    /// Sets a variable from the command line, where it overrides the Makefile's.
    pub(super) fn set(&mut self, name: &str, value: Abstract) {
        self.given.insert(name.to_owned(), value);
    }

    /// The lines of the recipes of these targets, expanded, in the order in which they run; without targets, of the first.
    pub(super) fn recipes(&self, targets: &[String], machine: &dyn Machine) -> Vec<Abstract> {
        let mut order = Vec::new();
        let default: Vec<String> = self.first.iter().cloned().collect();
        for target in if targets.is_empty() { &default } else { targets } {
            self.visit(target, &mut order, 0);
        }
        let mut lines = Vec::new();
        for target in &order {
            let Some(rule) = self.rules.get(target) else { continue };
            let recipe = rule.recipe.iter().map(|line| line.trim_start_matches(['@', '-', '+', ' ', '\t']));
            lines.extend(recipe.map(|line| self.expand(line, target, rule, machine, 0)));
        }
        lines
    }

    /// What make has a shell run while it reads the file, expanded.
    pub(super) fn read_time(&self, machine: &dyn Machine) -> Vec<Abstract> {
        let nothing = Rule::default();
        self.shells.iter().map(|text| self.expand(text, "", &nothing, machine, 0)).collect()
    }

    fn visit(&self, target: &str, order: &mut Vec<String>, depth: usize) {
        let Some(rule) = self.rules.get(target) else { return };
        if depth > MAX_DEPTH || order.len() > MAX_RULES || order.iter().any(|seen| seen == target) {
            return;
        }
        for prerequisite in &rule.prerequisites {
            self.visit(prerequisite, order, depth + 1);
        }
        if !order.iter().any(|seen| seen == target) {
            order.push(target.to_owned());
        }
    }

    /// `$(NAME)`, `${NAME}`, `$@`, `$$`: functions are not known.
    fn expand(&self, line: &str, target: &str, rule: &Rule, machine: &dyn Machine, depth: usize) -> Abstract {
        if line.len() > MAX_LINE {
            return unknown("a long line");
        }
        let mut result = Abstract::default();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('$') {
            result.push_text(before);
            let (value, behind) = match after.chars().next() {
                Some('$') => (Abstract::known("$"), after.get(1..)),
                Some('@') => (Abstract::known(target), after.get(1..)),
                Some('<') => {
                    (Abstract::known(rule.prerequisites.first().map_or("", String::as_str)), after.get(1..))
                }
                Some('^') => (Abstract::known(&rule.prerequisites.join(" ")), after.get(1..)),
                Some(open @ ('(' | '{')) => {
                    let length = closing(after, open);
                    let name = after.get(1..length.saturating_sub(1)).unwrap_or_default();
                    (self.value(name, target, rule, machine, depth), after.get(length..))
                }
                Some(letter) => {
                    let length = letter.len_utf8();
                    let name = after.get(..length).unwrap_or_default();
                    (self.value(name, target, rule, machine, depth), after.get(length..))
                }
                None => (Abstract::default(), Some("")),
            };
            result.push(&value);
            rest = behind.unwrap_or_default();
            if result.pieces.len() > MAX_RULES || result.known_prefix().len() > MAX_LINE {
                return unknown(line);
            }
        }
        result.push_text(rest);
        result
    }

    fn value(&self, name: &str, target: &str, rule: &Rule, machine: &dyn Machine, depth: usize) -> Abstract {
        if depth >= MAX_DEPTH {
            return unknown(name);
        }
        if let Some(value) = self.given.get(name) {
            return value.clone();
        }
        if let Some(value) = self.variables.get(name) {
            return self.expand(value, target, rule, machine, depth + 1);
        }
        let is_function = name.contains([' ', ':', ',', '$']);
        match machine.variable(name) {
            Some(value) if !is_function => value,
            // make expands what nobody has set to nothing: then the text around it is what the shell gets.
            None if !is_function && !self.includes => Abstract::default(),
            Some(_) | None => unknown(name),
        }
    }
}

/// The texts of `$(shell TEXT)` and `NAME != TEXT` on a line.
fn shell_calls(line: &str) -> Vec<String> {
    const CALL: &str = "$(shell ";
    let mut calls = Vec::new();
    if let Some((name, text)) = line.split_once("!=")
        && !name.trim().contains(' ')
    {
        calls.push(text.trim().to_owned());
    }
    let mut rest = line;
    while let Some(place) = rest.find(CALL) {
        let whole = &rest[place + 1..];
        let text = whole.get(CALL.len() - 1..closing(whole, '(').saturating_sub(1)).unwrap_or_default();
        calls.push(text.to_owned());
        rest = &rest[place + CALL.len()..];
    }
    calls
}

fn unknown(name: &str) -> Abstract {
    Abstract::unknown(Cause::NotModelled(format!("$({name})").into()))
}

/// The length of `(…)` or `{…}`, nested ones included.
fn closing(text: &str, open: char) -> usize {
    let close = if open == '(' { ')' } else { '}' };
    let mut depth = 0_usize;
    for (place, letter) in text.char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == close {
            depth -= 1;
            if depth == 0 {
                return place + 1;
            }
        }
    }
    text.len()
}

/// Lines with their continuations; the white space around a continuation is one blank.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut continued = false;
    for line in text.lines() {
        let (body, continues) = line.strip_suffix('\\').map_or((line, false), |body| (body, true));
        match lines.last_mut().filter(|_| continued) {
            Some(last) => {
                let kept = last.trim_end().len();
                last.truncate(kept);
                last.push(' ');
                last.push_str(body.trim_start());
            }
            None => lines.push(body.to_owned()),
        }
        continued = continues;
    }
    lines
}

/// `NAME = VALUE` with any of make's assignment operators: name, value, and whether it appends.
fn assignment(line: &str) -> Option<(&str, &str, bool)> {
    let (left, value) = line.split_once('=')?;
    let appends = left.ends_with('+');
    let name = left.trim_end_matches([':', '+', '?', '!']).trim();
    let name = name.strip_prefix("export ").or_else(|| name.strip_prefix("override ")).unwrap_or(name).trim();
    let is_name = !name.is_empty() && !name.contains([' ', '\t', ':', '$']);
    is_name.then(|| (name, value.trim(), appends))
}
