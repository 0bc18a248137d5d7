//! `blastradius mcp`: questions of an agent over MCP, on stdin and stdout. Every tool only reads.

use std::io::{BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::exit;
use crate::analysis::{self, Subject};
use crate::policy::mode::{Asker, Mode, Surface};
use crate::programs::Dialect;
use crate::report::json::Answer;
use crate::shell::world::World as _;
use crate::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// The newest revision of the protocol that is spoken; a client that asks for an older one of these gets it.
const REVISIONS: &[&str] = &["2025-06-18", "2025-03-26", "2024-11-05"];
/// A message may be as long as the largest command that is judged, with its escapes.
const MESSAGE_LIMIT: u64 = 8 << 20;

/// JSON-RPC 2.0: not JSON.
const PARSE_ERROR: i32 = -32700;
/// JSON-RPC 2.0: not a request.
const INVALID_REQUEST: i32 = -32600;
/// JSON-RPC 2.0: no such method.
const METHOD_NOT_FOUND: i32 = -32601;
/// JSON-RPC 2.0: no such tool, or wrong arguments.
const INVALID_PARAMS: i32 = -32602;

/// A tool: its name, what it is for, the argument that it cannot do without, and what it does.
struct Tool {
    name: &'static str,
    description: &'static str,
    argument: &'static str,
    required: bool,
    run: fn(&Value, &System) -> Result<Value>,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "check_command",
        description: "Judge a shell command without running it: allow, warn, confirm (a human is asked) or deny, with \
                      the rule, the resolved path, the reason and an alternative.",
        argument: "command",
        required: true,
        run: check,
    },
    Tool {
        name: "explain",
        description: "Judge a shell command without running it, with every step of the evaluation.",
        argument: "command",
        required: true,
        run: explain,
    },
    Tool {
        name: "scope",
        description: "The policy in force here, or what may happen to one path and which line decides it.",
        argument: "path",
        required: false,
        run: scope,
    },
];

pub(super) fn main(Args {}: Args) -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::failure(&error, exit::OWN_FAILURE),
    }
}

/// One message a line, until the other side is gone.
fn serve() -> Result<()> {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(MESSAGE_LIMIT).read_until(b'\n', &mut line).context("stdin")?;
        if read == 0 {
            return Ok(());
        }
        if line.len() as u64 == MESSAGE_LIMIT && !line.ends_with(b"\n") {
            bail!("a message is longer than {MESSAGE_LIMIT} bytes");
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if let Some(answer) = answer(&line) {
            writeln!(output, "{answer}").and_then(|()| output.flush()).context("stdout")?;
        }
    }
}

/// The answer to one message; `None` for a notification.
fn answer(line: &[u8]) -> Option<Value> {
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return Some(error(&Value::Null, PARSE_ERROR, "the message is not JSON"));
    };
    let Some(method) = message["method"].as_str() else {
        return Some(error(&message["id"], INVALID_REQUEST, "the message is not a request"));
    };
    let id = message.get("id")?;
    let params = &message["params"];
    Some(match method {
        "initialize" => result(id, initialize(params)),
        "ping" => result(id, json!({})),
        "tools/list" => result(id, json!({"tools": TOOLS.iter().map(describe).collect::<Vec<_>>()})),
        "tools/call" => call(id, params),
        _ => error(id, METHOD_NOT_FOUND, &format!("there is no method {method}")),
    })
}

fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn initialize(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let revision = REVISIONS.iter().find(|revision| **revision == asked).unwrap_or(&REVISIONS[0]);
    json!({
        "protocolVersion": revision,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "blastradius", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "Ask before a command that removes, overwrites or discards something.",
    })
}

fn describe(tool: &Tool) -> Value {
    let required: Vec<&str> = tool.required.then_some(tool.argument).into_iter().collect();
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {
            "type": "object",
            "properties": {
                tool.argument: {"type": "string"},
                "cwd": {"type": "string", "description": "absolute; the server's directory if absent"},
            },
            "required": required,
            "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false},
    })
}

fn call(id: &Value, params: &Value) -> Value {
    let name = params["name"].as_str().unwrap_or_default();
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        return error(id, INVALID_PARAMS, &format!("there is no tool {name:?}"));
    };
    let arguments = &params["arguments"];
    let answer = machine(arguments).and_then(|system| (tool.run)(arguments, &system));
    let (told, failed) = match answer {
        Ok(told) => (told, false),
        Err(error) => (json!({"error": format!("{error:#}")}), true),
    };
    let text = serde_json::to_string_pretty(&told).unwrap_or_default();
    result(
        id,
        json!({"content": [{"type": "text", "text": text}], "structuredContent": told, "isError": failed}),
    )
}

fn machine(arguments: &Value) -> Result<System> {
    let system = System::current().context("the working directory cannot be read")?;
    match &arguments["cwd"] {
        Value::Null => Ok(system),
        Value::String(cwd) if Path::new(cwd).is_absolute() => Ok(system.with_cwd(PathBuf::from(cwd))),
        other => bail!("cwd: expected an absolute path, found {other}"),
    }
}

fn subject(arguments: &Value) -> Result<Subject> {
    let text = arguments["command"].as_str().context("command: expected a string")?;
    Ok(Subject::Text { text: text.as_bytes().to_vec(), dialect: Dialect::Bash })
}

const ASKER: Asker = Asker { mode: Mode::Interactive, surface: Surface::Text };

fn check(arguments: &Value, system: &System) -> Result<Value> {
    let policy = system.policy();
    let report = analysis::analyze(&subject(arguments)?, system, &policy, ASKER);
    Ok(serde_json::to_value(Answer::new(&report, None, None))?)
}

fn explain(arguments: &Value, system: &System) -> Result<Value> {
    let policy = system.policy();
    let (report, steps) = analysis::explain(&subject(arguments)?, system, &policy, ASKER);
    let mut told = serde_json::to_value(Answer::new(&report, None, None))?;
    told["steps"] = steps.iter().map(ToString::to_string).collect();
    Ok(told)
}

fn scope(arguments: &Value, system: &System) -> Result<Value> {
    let policy = system.policy();
    let path = match &arguments["path"] {
        Value::Null => {
            let lines = policy.describe(system);
            let line = |line: &crate::policy::describe::Described| json!({"kind": line.kind, "what": line.what, "origin": line.origin});
            return Ok(json!({"lines": lines.iter().map(line).collect::<Vec<_>>()}));
        }
        Value::String(path) => path,
        other => bail!("path: expected a string, found {other}"),
    };
    let answer = policy.explain_path(system, &system.cwd(), path);
    let outcomes: Vec<Value> = answer
        .outcomes
        .iter()
        .map(|outcome| json!({"act": outcome.act, "interactive": outcome.interactive.name(), "unattended": outcome.unattended.name()}))
        .collect();
    Ok(json!({
        "path": answer.path.to_string_lossy(),
        "zone": answer.zone.name(),
        "origin": answer.origin,
        "outcomes": outcomes,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(message: &Value) -> Value {
        answer(message.to_string().as_bytes()).expect("an answer")
    }

    fn call_tool(name: &str, arguments: Value) -> Value {
        ask(
            &json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}}),
        )
    }

    #[test]
    fn a_client_can_get_to_a_verdict() {
        let hello = ask(
            &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}),
        );
        assert_eq!(hello["result"]["protocolVersion"], "2025-03-26");
        assert!(answer(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).is_none());
        let tools = ask(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"}));
        assert_eq!(tools["id"], "a");
        assert_eq!(tools["result"]["tools"].as_array().map(Vec::len), Some(3));
        let denied = call_tool("check_command", json!({"command": "rm -rf /"}));
        assert_eq!(denied["result"]["structuredContent"]["verdict"], "deny");
        assert_eq!(denied["result"]["isError"], false);
        let explained = call_tool("explain", json!({"command": "rm -rf /tmp/x", "cwd": "/"}));
        assert!(explained["result"]["structuredContent"]["steps"].is_array());
        let root = call_tool("scope", json!({"path": "/"}));
        assert_eq!(root["result"]["structuredContent"]["zone"], "floor");
        assert!(call_tool("scope", json!({}))["result"]["structuredContent"]["lines"].is_array());
    }

    #[test]
    fn what_makes_no_sense_is_an_error_and_never_a_yes() {
        assert_eq!(answer(b"{").expect("an answer")["error"]["code"], PARSE_ERROR);
        assert_eq!(ask(&json!({"id": 1, "method": "resources/list"}))["error"]["code"], METHOD_NOT_FOUND);
        assert_eq!(call_tool("rm", json!({}))["error"]["code"], INVALID_PARAMS);
        for arguments in [json!({}), json!({"command": 7}), json!({"command": "ls", "cwd": "relative"})] {
            assert_eq!(call_tool("check_command", arguments)["result"]["isError"], true);
        }
    }
}
