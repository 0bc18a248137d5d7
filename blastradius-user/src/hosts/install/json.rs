//! JSON with or without comments, changed so that every other byte stays.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::super::table::Edit;
use super::Refusal;
use super::entry::Entry;

/// Comments and trailing commas, which settings files have; nothing of JSON5 besides.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn add(text: Option<&str>, entry: &Entry) -> Result<String, Refusal> {
    let text = text.unwrap_or_default();
    let fresh = text.trim().is_empty();
    let root = parse(if fresh { "{}\n" } else { text })?;
    let top = top(&root)?;
    for edit in entry.edits {
        match edit {
            Edit::Append(keys, template) => {
                array(&top, keys)?.append(input(&entry.value(template)));
            }
            Edit::Default(keys, template) => {
                let (last, path) = split(keys);
                let object = object(&top, path)?;
                if object.get(last).is_none() {
                    object.append(last, input(&entry.value(template)));
                }
            }
            Edit::Content(_) => {}
        }
    }
    Ok(root.to_string())
}

pub(super) fn remove(text: &str, entry: &Entry) -> Result<Option<String>, Refusal> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let root = parse(text)?;
    let top = top(&root)?;
    let mut found = false;
    for edit in entry.edits {
        let Edit::Append(keys, _) = edit else { continue };
        let Some(array) = existing(&top, keys) else { continue };
        if take_out(&array, entry) {
            found = true;
            prune(&top, keys);
        }
    }
    Ok(found.then(|| root.to_string()))
}

fn parse(text: &str) -> Result<CstRootNode, Refusal> {
    let root =
        CstRootNode::parse(text, &OPTIONS).map_err(|error| Refusal::NotUnderstood(error.to_string()))?;
    if let Some(twice) = root.value().and_then(|value| equal_keys(&value)) {
        return Err(Refusal::NotUnderstood(format!("the key {twice:?} occurs twice")));
    }
    Ok(root)
}

/// A key that two readers could understand differently.
fn equal_keys(node: &CstNode) -> Option<String> {
    let mut seen = Vec::new();
    if let Some(object) = node.as_object() {
        for property in object.properties() {
            let name = property.name()?.decoded_value().ok()?;
            if seen.contains(&name) {
                return Some(name);
            }
            seen.push(name);
            if let Some(twice) = property.value().and_then(|value| equal_keys(&value)) {
                return Some(twice);
            }
        }
    }
    node.as_array()?.elements().iter().find_map(equal_keys)
}

fn top(root: &CstRootNode) -> Result<CstObject, Refusal> {
    root.object_value_or_create().ok_or_else(|| Refusal::NotUnderstood("it is not a JSON object".into()))
}

fn split<'a>(keys: &'a [&'a str]) -> (&'a str, &'a [&'a str]) {
    keys.split_last().map_or(("", keys), |(last, path)| (*last, path))
}

fn wrong(key: &str, expected: &str) -> Refusal {
    Refusal::NotUnderstood(format!("{key:?} is not {expected}"))
}

/// The object at the end of the keys, made if it is not there.
fn object(top: &CstObject, keys: &[&str]) -> Result<CstObject, Refusal> {
    keys.iter().try_fold(top.clone(), |object, key| {
        object.object_value_or_create(key).ok_or_else(|| wrong(key, "an object"))
    })
}

/// The array at the end of the keys, made if it is not there.
fn array(top: &CstObject, keys: &[&str]) -> Result<CstArray, Refusal> {
    let (last, path) = split(keys);
    object(top, path)?.array_value_or_create(last).ok_or_else(|| wrong(last, "an array"))
}

fn existing(top: &CstObject, keys: &[&str]) -> Option<CstArray> {
    let (last, path) = split(keys);
    path.iter().try_fold(top.clone(), |object, key| object.object_value(key))?.array_value(last)
}

/// Takes our handlers out, and with the last handler the group that held it.
fn take_out(array: &CstArray, entry: &Entry) -> bool {
    let mut found = false;
    for element in array.elements() {
        if !element.to_serde_value().is_some_and(|value| entry.is_in(&value)) {
            continue;
        }
        found = true;
        let handlers = element.as_object().and_then(|group| group.array_value("hooks"));
        let others = handlers.as_ref().is_some_and(|handlers| {
            handlers
                .elements()
                .iter()
                .any(|handler| !handler.to_serde_value().is_some_and(|value| entry.is_in(&value)))
        });
        match handlers {
            Some(handlers) if others => {
                take_out(&handlers, entry);
            }
            _ => element.remove(),
        }
    }
    found
}

/// Removes what the keys lead to as long as it is empty.
fn prune(top: &CstObject, keys: &[&str]) {
    let (last, path) = split(keys);
    let Some(parent) = path.iter().try_fold(top.clone(), |object, key| object.object_value(key)) else {
        return;
    };
    let Some(property) = parent.get(last) else { return };
    let empty = property.value().is_some_and(|value| {
        value.as_array().is_some_and(|array| array.elements().is_empty())
            || value.as_object().is_some_and(|object| object.properties().is_empty())
    });
    if empty {
        property.remove();
        if !path.is_empty() {
            prune(top, path);
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
