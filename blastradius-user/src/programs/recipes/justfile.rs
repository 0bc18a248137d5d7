//! Justfiles, as far as recipes depend on them: variables, parameters with defaults, dependencies, and what `{{…}}` gives.

use std::collections::HashMap;

use crate::programs::Machine;
use crate::programs::verbs::word;
use crate::shell::value::{Abstract, Cause, Field};

/// Recipes that are followed from those that are asked for.
const MAX_RECIPES: usize = 100;

/// Bytes of text that all lines may come to, with what is filled in.
const MAX_TEXT: usize = 1 << 20;

#[derive(Debug, Default)]
struct Recipe<'t> {
    /// Parameters with what they are by default.
    parameters: Vec<(&'t str, Option<&'t str>)>,
    /// Recipes that run before it, and whether they are given arguments.
    before: Vec<(&'t str, bool)>,
    /// Those that run after it: what follows `&&`.
    after: Vec<(&'t str, bool)>,
    lines: Vec<&'t str>,
}

/// What the parameters of one run of a recipe are.
enum Arguments {
    /// What was asked for, in order; the rest is as by default.
    Given(Vec<Abstract>),
    /// Something that another recipe makes up.
    Unknown,
}

/// A recipe that runs, by name.
type Run<'n> = (&'n str, Arguments);

/// The lines of the recipes that are asked for and of what they depend on, in the order in which they run; of the first
/// recipe, if none is.
pub(super) fn lines(text: &str, asked: &[&Field], machine: &dyn Machine) -> Vec<Abstract> {
    let mut file = Justfile::read(text);
    let words: Vec<_> = asked.iter().map(|field| word(field)).collect();
    let mut runs = Vec::new();
    let mut rest = 0;
    while let Some(operand) = words.get(rest) {
        rest += 1;
        // `NAME=VALUE` sets a variable for all of them.
        if let Some((name, _)) = operand.split_once('=') {
            file.variables.remove(name);
            continue;
        }
        let name = file.aliases.get(&**operand).copied().unwrap_or(operand);
        let count = file.recipes.get(name).map_or(0, |recipe| recipe.parameters.len());
        let given = asked[rest..].iter().take(count).map(|field| field.text.clone()).collect::<Vec<_>>();
        rest += given.len();
        file.visit(name, Arguments::Given(given), &mut Vec::new(), &mut runs);
    }
    if let Some(first) =
        file.first.filter(|_| runs.is_empty() && asked.iter().all(|field| word(field).contains('=')))
    {
        file.visit(first, Arguments::Given(Vec::new()), &mut Vec::new(), &mut runs);
    }
    let mut lines = Vec::new();
    let mut length = 0;
    for (name, arguments) in &runs {
        let Some(recipe) = file.recipes.get(name) else { continue };
        for line in &recipe.lines {
            let line = file.filled(line, recipe, arguments, machine);
            length += line.known_prefix().len();
            if length > MAX_TEXT {
                return lines;
            }
            lines.push(line);
        }
    }
    lines
}

#[derive(Debug, Default)]
struct Justfile<'t> {
    variables: HashMap<&'t str, &'t str>,
    aliases: HashMap<&'t str, &'t str>,
    recipes: HashMap<&'t str, Recipe<'t>>,
    first: Option<&'t str>,
}

impl<'t> Justfile<'t> {
    fn read(text: &'t str) -> Self {
        let mut file = Self::default();
        let mut inside: Option<&str> = None;
        for line in text.lines() {
            if line.starts_with([' ', '\t']) {
                if let Some(recipe) = inside.and_then(|name| file.recipes.get_mut(name)) {
                    recipe.lines.push(line.trim_start().trim_start_matches(['@', '-']));
                }
                continue;
            }
            if line.trim().is_empty() || line.starts_with(['#', '[']) {
                continue;
            }
            inside = None;
            if let Some((name, value)) = line.split_once(":=") {
                let value = value.trim();
                match name.trim().split_once(' ') {
                    Some(("alias", name)) => file.aliases.insert(name.trim(), value),
                    Some(("export", name)) => file.variables.insert(name.trim(), value),
                    Some(_) => None,
                    None => file.variables.insert(name.trim(), value),
                };
            } else if let Some((head, behind)) = line.split_once(':') {
                inside = file.head(head, behind);
            }
        }
        file
    }

    /// `name a b='x': first (second "y") && third`
    fn head(&mut self, head: &'t str, behind: &'t str) -> Option<&'t str> {
        let mut words = head.split_whitespace();
        let name = words.next()?.trim_start_matches('@');
        let parameters = words.map(|word| {
            let (name, default) =
                word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            (name.trim_start_matches(['+', '*', '$']), default)
        });
        let behind = behind.split(" #").next().unwrap_or_default();
        let (before, after) = behind.split_once("&&").unwrap_or((behind, ""));
        let recipe = Recipe {
            parameters: parameters.collect(),
            before: dependencies(before),
            after: dependencies(after),
            lines: Vec::new(),
        };
        self.recipes.insert(name, recipe);
        self.first = self.first.or(Some(name));
        Some(name)
    }

    /// Those that a recipe depends on come first, and each runs once.
    fn visit<'n>(&self, name: &'n str, arguments: Arguments, seen: &mut Vec<&'n str>, runs: &mut Vec<Run<'n>>)
    where
        't: 'n,
    {
        let Some(recipe) = self.recipes.get(name) else { return };
        if seen.len() >= MAX_RECIPES || seen.contains(&name) {
            return;
        }
        seen.push(name);
        let arguments_of =
            |given: bool| if given { Arguments::Unknown } else { Arguments::Given(Vec::new()) };
        for (dependency, given) in &recipe.before {
            self.visit(dependency, arguments_of(*given), seen, runs);
        }
        runs.push((name, arguments));
        for (dependency, given) in &recipe.after {
            self.visit(dependency, arguments_of(*given), seen, runs);
        }
    }

    /// A line with what its `{{…}}` give.
    fn filled(
        &self,
        line: &str,
        recipe: &Recipe<'_>,
        arguments: &Arguments,
        machine: &dyn Machine,
    ) -> Abstract {
        let mut result = Abstract::default();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("{{") {
            let (code, behind) = after.split_once("}}").unwrap_or((after, ""));
            result.push_text(before);
            match recipe.parameters.iter().position(|(name, _)| *name == code.trim()) {
                Some(at) => result.push(&self.parameter(recipe, at, arguments, machine)),
                None => result.push(&self.value(code.trim(), machine, 0)),
            }
            rest = if result.known_prefix().len() > MAX_TEXT { "" } else { behind };
        }
        result.push_text(rest);
        result
    }

    /// What the parameter at this place of the head is.
    fn parameter(
        &self,
        recipe: &Recipe<'_>,
        at: usize,
        arguments: &Arguments,
        machine: &dyn Machine,
    ) -> Abstract {
        let (name, default) = recipe.parameters[at];
        let unknown = || Abstract::unknown(Cause::NotModelled(name.into()));
        match arguments {
            Arguments::Unknown => unknown(),
            Arguments::Given(given) => match (given.get(at), default) {
                (Some(given), _) => given.clone(),
                (None, Some(default)) => self.value(default, machine, 0),
                (None, None) => unknown(),
            },
        }
    }

    /// A quoted text, a variable, an environment variable, or several joined by `+` or `/`. Else unknown.
    fn value(&self, code: &str, machine: &dyn Machine, depth: usize) -> Abstract {
        const DEEPEST: usize = 8;
        const LONGEST: usize = 1024;
        let unknown = || Abstract::unknown(Cause::NotModelled(code.into()));
        if depth > DEEPEST || code.len() > LONGEST {
            return unknown();
        }
        let again = |code: &str| self.value(code.trim(), machine, depth + 1);
        if let Some(text) = quoted(code) {
            return Abstract::known(text);
        }
        for (sign, between) in [("/", "/"), ("+", "")] {
            if let Some((left, right)) =
                code.split_once(sign).filter(|(left, _)| !left.contains(['"', '\'', '(']))
            {
                let mut joined = again(left);
                joined.push_text(between);
                joined.push(&again(right));
                return joined;
            }
        }
        let variable = ["env_var", "env", "env_var_or_default"]
            .iter()
            .find_map(|name| quoted(code.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?.trim()));
        if let Some(value) = variable.and_then(|name| machine.variable(name)) {
            return value;
        }
        if matches!(code, "justfile_directory()" | "invocation_directory()")
            && let crate::policy::effect::Base::Known(here) = machine.cwd()
        {
            return Abstract::known(&here.to_string_lossy());
        }
        self.variables.get(code).map_or_else(unknown, |value| again(value))
    }
}

/// `first (second "y")`: names, and whether arguments stand behind them.
fn dependencies(text: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let behind = match rest.strip_prefix('(') {
            Some(inside) => {
                let (call, behind) = inside.split_once(')').unwrap_or((inside, ""));
                found.extend(call.split_whitespace().next().map(|name| (name, true)));
                behind
            }
            None => {
                let end =
                    rest.find(|letter: char| letter.is_whitespace() || letter == '(').unwrap_or(rest.len());
                found.push((&rest[..end], false));
                &rest[end..]
            }
        };
        rest = behind.trim_start();
    }
    found
}

fn quoted(code: &str) -> Option<&str> {
    ['"', '\''].iter().find_map(|quote| {
        let inner = code.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inner.contains(*quote)).then_some(inner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::{Recorder, show};

    fn read(text: &str, asked: &[&str]) -> Vec<String> {
        let recorder = Recorder::default().env("HOME", "/home/dev");
        let asked: Vec<Field> = asked.iter().map(|name| Field::literal(name)).collect();
        lines(text, &asked.iter().collect::<Vec<_>>(), &recorder).iter().map(show).collect()
    }

    #[test]
    fn what_is_written_down_is_known_and_the_rest_is_not() {
        let text = "out := 'build'\nhome := env_var('HOME')\nwhole := out / \"x\"\n\
                    clean a='y' b='z':\n    @rm -rf {{out}} {{ whole }} {{home}}/z {{a}} {{b}} {{uuid()}}\n";
        assert_eq!(read(text, &["clean"]), ["rm -rf build build/x /home/dev/z y z ?"]);
        assert_eq!(read(text, &["clean", "/srv"]), ["rm -rf build build/x /home/dev/z /srv z ?"]);
        assert_eq!(read(text, &["out=/srv", "clean"]), ["rm -rf ? ?/x /home/dev/z y z ?"]);
        assert_eq!(read("a := b\nb := a\nx:\n  rm {{a}}\n", &[]), ["rm ?"]);
    }

    #[test]
    fn what_a_recipe_depends_on_runs_first_and_once() {
        let text = "all: one (two '/x') && last\n  echo all\none: all\n  rm one\ntwo y='z':\n  rm {{y}}\n\
                    last:\n  rm last\nother:\n  rm other\nalias o := other\n";
        assert_eq!(read(text, &[]), ["rm one", "rm ?", "echo all", "rm last"]);
        assert_eq!(read(text, &["o", "last"]), ["rm other", "rm last"]);
        assert_eq!(read(text, &["nothing"]), [""; 0]);
    }
}
