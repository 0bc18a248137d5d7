//! Handing a request to the collector.

use std::{fs, time::Duration};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use ureq::Agent;

/// A collector.
pub(crate) struct Sender {
    agent: Agent,
    endpoint: String,
    headers: Vec<(String, String)>,
}

/// What the collector made of a request.
pub(crate) enum Sent {
    /// It has all of it.
    Wholly,
    /// It will not take some of it, ever, and says why.
    Partly(String),
}

/// `NAME=VALUE` or `NAME=@FILE`.
pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a header is NAME=VALUE")?;
    let value = match value.strip_prefix('@') {
        // A token in a file is not seen in the list of processes.
        Some(file) => {
            let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
            text.lines().next().unwrap_or_default().to_owned()
        }
        None => value.to_owned(),
    };
    Ok((name.to_owned(), value))
}

impl Sender {
    pub(crate) fn new(endpoint: &str, headers: &[(String, String)]) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(10)))
            .http_status_as_error(false)
            .max_redirects(0)
            .build();
        Self { agent: config.into(), endpoint: endpoint.to_owned(), headers: headers.to_vec() }
    }

    /// Sends it. An error means that it may be sent again.
    pub(crate) fn send(&self, export: &Value) -> Result<Sent> {
        let mut request = self.agent.post(&self.endpoint).header("content-type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response =
            request.send(export.to_string()).with_context(|| format!("the collector at {}", self.endpoint))?;
        let status = response.status().as_u16();
        let said = response.body_mut().read_to_string().unwrap_or_default();
        match status {
            200..300 => Ok(partly(&said)),
            // Bad data stays bad: sending it again would stop everything behind it for good.
            400 | 413 => Ok(Sent::Partly(format!("status {status}: {}", said.trim()))),
            _ => bail!("the collector at {} answers with status {status}: {}", self.endpoint, said.trim()),
        }
    }
}

/// A success may still tell of records that were rejected.
fn partly(said: &str) -> Sent {
    let answer: Value = serde_json::from_str(said).unwrap_or_default();
    let partial = &answer["partialSuccess"];
    let rejected = match &partial["rejectedLogRecords"] {
        Value::String(number) => number.parse().unwrap_or(0),
        number => number.as_u64().unwrap_or(0),
    };
    match rejected {
        0 => Sent::Wholly,
        some => Sent::Partly(format!("{some} records: {}", partial["errorMessage"].as_str().unwrap_or_default())),
    }
}
