//! A line of the log as a log record of OTLP, in the protocol's JSON encoding.

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

/// The version of the log's schema that is understood. Fields may be added within it.
const SCHEMA: u64 = 1;

/// How severe an event is: OTLP's number and text. Others are of interest only.
const SEVERITIES: &[(&str, u8, &str)] =
    &[("refused", 13, "WARN"), ("warned", 10, "INFO2"), ("audited", 10, "INFO2"), ("start", 9, "INFO"), ("end", 9, "INFO")];

/// The record of a line.
pub(crate) fn record(line: &str) -> Result<Value> {
    let mut fields: Map<String, Value> = serde_json::from_str(line).context("this is no record")?;
    match fields.remove("v").and_then(|v| v.as_u64()) {
        Some(SCHEMA) => {}
        found => bail!("schema {found:?} instead of {SCHEMA}"),
    }
    let time = fields.get("time").and_then(Value::as_str).context("no time")?;
    let since = humantime::parse_rfc3339(time)?.duration_since(std::time::UNIX_EPOCH)?;
    let event = fields.get("event").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let (number, text) = SEVERITIES
        .iter()
        .find(|(name, ..)| *name == event)
        .map_or((9, "INFO"), |(_, number, text)| (*number, *text));
    let body = body(&event, &fields);
    fields.remove("time");
    let attributes: Vec<Value> = fields
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| json!({ "key": format!("blastradius.{key}"), "value": any(value) }))
        .collect();
    Ok(json!({
        // 64-bit numbers are strings in this encoding.
        "timeUnixNano": since.as_nanos().to_string(),
        "severityNumber": number,
        "severityText": text,
        "eventName": format!("blastradius.{event}"),
        "body": { "stringValue": body },
        "attributes": attributes,
    }))
}

/// One line for people.
fn body(event: &str, fields: &Map<String, Value>) -> String {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let what = text("resolved").or(text("target")).or(text("command")).unwrap_or_default();
    match text("rule") {
        Some(rule) => format!("{event}: {rule}: {what}"),
        None => format!("{event} {what}").trim_end().to_owned(),
    }
}

/// A value with its type beside it.
fn any(value: Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(value) => json!({ "boolValue": value }),
        Value::Number(number) if number.is_i64() || number.is_u64() => json!({ "intValue": number.to_string() }),
        Value::Number(number) => json!({ "doubleValue": number }),
        Value::String(text) => json!({ "stringValue": text }),
        Value::Array(values) => {
            json!({ "arrayValue": { "values": values.into_iter().map(any).collect::<Vec<_>>() } })
        }
        Value::Object(fields) => {
            let pairs = fields.into_iter().map(|(key, value)| json!({ "key": key, "value": any(value) }));
            json!({ "kvlistValue": { "values": pairs.collect::<Vec<_>>() } })
        }
    }
}

/// A request that exports records of this machine.
pub(crate) fn export(host: &str, records: Vec<Value>) -> Value {
    let attribute = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    json!({
        "resourceLogs": [{
            "resource": { "attributes": [attribute("service.name", "blastradius"), attribute("host.name", host)] },
            "scopeLogs": [{
                "scope": { "name": "blastradius-otlp", "version": env!("CARGO_PKG_VERSION") },
                "logRecords": records,
            }],
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_warning_with_everything_that_is_known() {
        let line = r#"{"v":1,"time":"2026-01-02T03:04:05.678Z","session":"s","event":"refused","rule":"floor-path","resolved":"/home","pid":7,"reasons":["a","b"],"operation":null}"#;
        let record = record(line).unwrap();
        assert_eq!(record["timeUnixNano"], "1767323045678000000");
        assert_eq!((&record["severityNumber"], &record["body"]["stringValue"]), (&json!(13), &json!("refused: floor-path: /home")));
        let attributes = record["attributes"].as_array().unwrap();
        let of = |key: &str| attributes.iter().find(|one| one["key"] == key).map(|one| one["value"].clone());
        assert_eq!(of("blastradius.pid"), Some(json!({"intValue": "7"})));
        assert_eq!(of("blastradius.reasons").unwrap()["arrayValue"]["values"][1]["stringValue"], "b");
        assert_eq!(of("blastradius.operation"), None);
        assert_eq!(of("blastradius.time"), None, "it is the record's own");
    }

    #[test]
    fn what_is_no_record_of_this_schema_is_refused() {
        for line in ["", "[]", "{}", r#"{"v":2,"time":"2026-01-02T03:04:05Z"}"#, r#"{"v":1,"time":"yesterday"}"#] {
            assert!(record(line).is_err(), "{line}");
        }
    }
}
