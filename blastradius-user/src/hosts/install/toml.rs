//! TOML, changed so that every other byte stays.

use serde_json::Value;
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike};

use super::super::table::Edit;
use super::Refusal;
use super::entry::Entry;

pub(super) fn add(text: Option<&str>, entry: &Entry) -> Result<String, Refusal> {
    let mut document = parse(text.unwrap_or_default())?;
    for edit in entry.edits {
        let Edit::Append(keys, template) = edit else { continue };
        let tables = tables(&mut document, keys)?;
        tables.push(table(&entry.value(template)));
    }
    Ok(document.to_string())
}

pub(super) fn remove(text: &str, entry: &Entry) -> Result<Option<String>, Refusal> {
    let mut document = parse(text)?;
    let mut found = false;
    for edit in entry.edits {
        let Edit::Append(keys, _) = edit else { continue };
        let Ok(tables) = tables(&mut document, keys) else { continue };
        let before = tables.len();
        tables.retain(|table| !holds(table, entry));
        found |= tables.len() < before;
        if let ([key], true) = (keys, tables.is_empty()) {
            document.remove(key);
        }
    }
    Ok(found.then(|| document.to_string()))
}

fn parse(text: &str) -> Result<DocumentMut, Refusal> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        Refusal::NotUnderstood(error.to_string().trim_end().to_owned())
    })
}

/// The array of tables at the end of the keys, made if it is not there.
fn tables<'a>(document: &'a mut DocumentMut, keys: &[&str]) -> Result<&'a mut ArrayOfTables, Refusal> {
    let mut item = document.as_item_mut();
    for (index, key) in keys.iter().enumerate() {
        let wrong = || Refusal::NotUnderstood(format!("{key:?} is not an array of tables"));
        let table: &mut dyn TableLike = item.as_table_like_mut().ok_or_else(wrong)?;
        let last = index + 1 == keys.len();
        item = table.entry(key).or_insert_with(|| {
            if last { Item::ArrayOfTables(ArrayOfTables::new()) } else { Item::Table(Table::new()) }
        });
    }
    item.as_array_of_tables_mut().ok_or_else(|| {
        Refusal::NotUnderstood(format!(
            "{:?} is not an array of tables",
            keys.last().copied().unwrap_or_default()
        ))
    })
}

fn holds(table: &Table, entry: &Entry) -> bool {
    table.iter().any(|(_, item)| item.as_str().is_some_and(|text| entry.is_ours(text)))
}

fn table(value: &Value) -> Table {
    let mut table = Table::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        if let Some(value) = scalar(value) {
            table.insert(key, Item::Value(value));
        }
    }
    table
}

fn scalar(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_i64()?.into(),
        Value::String(text) => text.as_str().into(),
        Value::Object(map) => {
            let mut table = InlineTable::new();
            table.extend(map.iter().filter_map(|(key, value)| Some((key.as_str(), scalar(value)?))));
            table.into()
        }
        Value::Array(items) => items.iter().filter_map(scalar).collect::<toml_edit::Array>().into(),
        Value::Null => return None,
    })
}
