//! YAML, changed by lines: nothing writes YAML back as it was read. Every change is proved by reading both texts and
//! comparing what they say.

use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

use super::super::table::Edit;
use super::Refusal;
use super::entry::Entry;

pub(super) fn add(text: Option<&str>, entry: &Entry) -> Result<String, Refusal> {
    let mut text = text.unwrap_or_default().to_owned();
    for edit in entry.edits {
        let Edit::Append(keys, template) = edit else { continue };
        let item = entry.value(template);
        let changed = insert(&text, keys, &item);
        let proved = parse(&changed).is_ok_and(|after| {
            parse(&text)
                .is_ok_and(|before| with_item(before, keys, &item).is_some_and(|wanted| wanted == after))
        });
        if !proved {
            parse(&text)?;
            let keys = keys.join(": ");
            return Err(Refusal::NotUnderstood(format!(
                "{keys:?} is written in a way that cannot be added to"
            )));
        }
        text = changed;
    }
    Ok(text)
}

pub(super) fn remove(text: &str, entry: &Entry) -> Result<Option<String>, Refusal> {
    parse(text)?;
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut found = false;
    while let Some((start, end)) = our_item(&lines, entry) {
        found = true;
        lines.drain(start..end);
        // The keys above it, as long as nothing is below them.
        let mut above = start;
        while let Some(index) = above.checked_sub(1).filter(|index| is_childless_key(&lines, *index)) {
            lines.remove(index);
            above = index;
        }
    }
    Ok(found.then(|| lines.concat()))
}

fn parse(text: &str) -> Result<Yaml, Refusal> {
    let documents =
        YamlLoader::load_from_str(text).map_err(|error| Refusal::NotUnderstood(error.to_string()))?;
    match documents.as_slice() {
        [] | [Yaml::Null] => Ok(Yaml::Hash(Default::default())),
        [document @ Yaml::Hash(_)] => Ok(document.clone()),
        [_] => Err(Refusal::NotUnderstood("it is not a mapping".into())),
        _ => Err(Refusal::NotUnderstood("it holds several documents".into())),
    }
}

/// What the text should say afterwards: the item is the first of the list. Keys that were missing stand where
/// [`insert`] puts them, last at the top and first below.
fn with_item(before: Yaml, keys: &[&str], item: &Value) -> Option<Yaml> {
    let top = before.into_hash()?;
    let (key, rest) = keys.split_first()?;
    let name = Yaml::String((*key).to_owned());
    let inner = below(top.get(&name).cloned().unwrap_or(Yaml::Null), rest, item)?;
    let mut top = top;
    match top.get_mut(&name) {
        Some(slot) => *slot = inner,
        None => {
            top.insert(name, inner);
        }
    }
    Some(Yaml::Hash(top))
}

fn below(before: Yaml, keys: &[&str], item: &Value) -> Option<Yaml> {
    let Some((key, rest)) = keys.split_first() else {
        let items = if before.is_null() { Vec::new() } else { before.into_vec()? };
        return Some(Yaml::Array(std::iter::once(yaml(item)).chain(items).collect()));
    };
    let map = if before.is_null() { Default::default() } else { before.into_hash()? };
    let name = Yaml::String((*key).to_owned());
    let inner = below(map.get(&name).cloned().unwrap_or(Yaml::Null), rest, item)?;
    if map.contains_key(&name) {
        let replaced =
            map.into_iter().map(|(key, value)| if key == name { (key, inner.clone()) } else { (key, value) });
        return Some(Yaml::Hash(replaced.collect()));
    }
    Some(Yaml::Hash(std::iter::once((name, inner)).chain(map).collect()))
}

fn yaml(value: &Value) -> Yaml {
    match value {
        Value::Null => Yaml::Null,
        Value::Bool(flag) => Yaml::Boolean(*flag),
        Value::Number(number) => number.as_i64().map_or(Yaml::BadValue, Yaml::Integer),
        Value::String(text) => Yaml::String(text.clone()),
        Value::Array(items) => Yaml::Array(items.iter().map(yaml).collect()),
        Value::Object(map) => {
            Yaml::Hash(map.iter().map(|(key, value)| (Yaml::String(key.clone()), yaml(value))).collect())
        }
    }
}

/// The text with the item as the first of the list that the keys lead to.
fn insert(text: &str, keys: &[&str], item: &Value) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // From the outermost key inwards, as far as the keys are there: the line after the last one found, its indent.
    let (mut from, mut to, mut indent) = (0, lines.len(), 0);
    let mut missing = keys;
    while let Some((key, rest)) = missing.split_first() {
        let child = child_indent(&lines[from..to], if from == 0 { 0 } else { indent + 1 });
        let Some(at) = (from..to).find(|at| indent_of(lines[*at]) == child && is_key(lines[*at], key)) else {
            break;
        };
        indent = child.unwrap_or(0);
        from = at + 1;
        to = (from..to)
            .find(|at| {
                indent_of(lines[*at])
                    .is_some_and(|found| found <= indent && !is_item_of(lines[*at], found, indent))
            })
            .unwrap_or(to);
        missing = rest;
    }
    let at_top = missing.len() == keys.len();
    let base = if at_top { 0 } else { child_indent(&lines[from..to], 0).unwrap_or(indent + 2) };
    let mut block = String::new();
    for (depth, key) in missing.iter().enumerate() {
        block.push_str(&format!("{}{key}:\n", " ".repeat(base + 2 * depth)));
    }
    let dash = if missing.is_empty() { base } else { base + 2 * missing.len() };
    for (index, (key, value)) in item.as_object().into_iter().flatten().enumerate() {
        let lead = if index == 0 { "- " } else { "  " };
        block.push_str(&format!("{}{lead}{key}: {value}\n", " ".repeat(dash)));
    }
    if at_top {
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return format!("{text}{newline}{block}");
    }
    let (head, tail) = lines.split_at(from);
    let newline = if head.last().is_some_and(|line| line.ends_with('\n')) { "" } else { "\n" };
    format!("{}{newline}{block}{}", head.concat(), tail.concat())
}

/// The indent of a line that says something.
fn indent_of(line: &str) -> Option<usize> {
    let text = line.trim_start_matches(' ');
    let says = !text.trim().is_empty() && !text.starts_with('#');
    says.then(|| line.len() - text.len())
}

/// The indent of the first line that says something, if it is deep enough.
fn child_indent(lines: &[&str], least: usize) -> Option<usize> {
    lines.iter().find_map(|line| indent_of(line)).filter(|indent| *indent >= least)
}

/// Items of a list may stand at the indent of their key.
fn is_item_of(line: &str, found: usize, indent: usize) -> bool {
    found == indent && line.trim_start().starts_with("- ")
}

/// `key:` with nothing but a comment after it.
fn is_key(line: &str, key: &str) -> bool {
    let Some(rest) = line.trim().strip_prefix(key).and_then(|rest| rest.strip_prefix(':')) else {
        return false;
    };
    rest.trim().is_empty() || rest.trim().starts_with('#')
}

/// The lines of the first list item that holds a command of ours.
fn our_item(lines: &[&str], entry: &Entry) -> Option<(usize, usize)> {
    let at = lines.iter().position(|line| {
        let value = line.trim().trim_start_matches("- ").strip_prefix("command:").map(str::trim);
        let text =
            value.map(|value| serde_json::from_str::<String>(value).unwrap_or_else(|_| value.to_owned()));
        text.is_some_and(|text| entry.is_ours(&text))
    })?;
    let start = (0..=at).rev().find(|index| lines[*index].trim_start().starts_with("- "))?;
    let dash = indent_of(lines[start])?;
    let end = (start + 1..lines.len())
        .find(|index| indent_of(lines[*index]).is_some_and(|indent| indent <= dash))
        .unwrap_or(lines.len());
    Some((start, end))
}

/// A key with nothing deeper, and no item, below it.
fn is_childless_key(lines: &[&str], index: usize) -> bool {
    let line = lines[index];
    let Some(indent) = indent_of(line) else { return false };
    let next = lines[index + 1..].iter().find_map(|line| Some((indent_of(line)?, *line)));
    let childless =
        next.is_none_or(|(found, line)| found < indent || found == indent && !line.trim().starts_with("- "));
    line.trim_end().ends_with(':') && childless
}
