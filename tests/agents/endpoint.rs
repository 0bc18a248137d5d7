//! What does the scripted model say, in four protocols?
//!
//! No model is behind it. Turn n of a conversation asks the agent's shell tool to run the n-th command, and the turn
//! after the last is text. Which turn it is follows from the request alone: it carries the results so far.

mod http;
mod protocols;

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use http::{Reply, Request};
use protocols::Protocol;

/// The names of shell tools, in order of preference.
const SHELL_TOOLS: &[&str] = &[
    "Bash",
    "bash",
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "run_shell_command",
    "Execute",
];

/// The endpoint of one trial.
#[derive(Clone)]
pub(crate) struct Endpoint {
    commands: Arc<Vec<String>>,
    results: Arc<Mutex<Vec<String>>>,
}

/// A tool that the agent offers, and the schema of its arguments.
pub(crate) type Tool = (String, Value);

impl Endpoint {
    /// Listens on `port` until the process ends.
    pub(crate) fn start(port: u16, commands: Vec<String>) -> std::io::Result<Running> {
        let endpoint = Self { commands: Arc::new(commands), results: Arc::default() };
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let stop = Arc::new(Mutex::new(false));
        let serving = endpoint.clone();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if *stopped.lock().unwrap_or_else(PoisonError::into_inner) {
                    return;
                }
                let endpoint = serving.clone();
                std::thread::spawn(move || endpoint.serve(&stream));
            }
        });
        Ok(Running { endpoint, stop, port, thread: Some(thread) })
    }

    fn serve(&self, stream: &TcpStream) {
        while let Ok(Some(request)) = http::read(stream) {
            // The agent may have hung up; there is nobody to tell.
            if http::write(stream, &self.answer(&request)).is_err() {
                return;
            }
        }
    }

    fn answer(&self, request: &Request) -> Reply {
        if request.method != "POST" {
            let models =
                json!({"object": "list", "data": [{"id": "fake-model", "object": "model"}], "models": []});
            let found = request.path.trim_end_matches('/').ends_with("/models");
            return if found { Reply::json(200, models) } else { Reply::json(404, json!({})) };
        }
        if request.path.ends_with("/count_tokens") || request.path.ends_with(":countTokens") {
            return Reply::json(200, json!({"input_tokens": 10, "totalTokens": 10}));
        }
        let Some(protocol) = protocols::of_path(&request.path) else { return Reply::json(404, json!({})) };
        self.turn(protocol, request)
    }

    fn turn(&self, protocol: &Protocol, request: &Request) -> Reply {
        let asked = (protocol.read)(&request.body);
        self.results.lock().unwrap_or_else(PoisonError::into_inner).extend(asked.results.iter().cloned());
        let turn = asked.results.len();
        let tool = SHELL_TOOLS.iter().find_map(|name| asked.tools.iter().find(|(tool, _)| tool == name));
        // Without a shell tool it is a side request, for a title or the like.
        let call = tool.zip(self.commands.get(turn)).map(|((name, schema), command)| protocols::Call {
            id: format!("{}{turn:02}", protocol.call_prefix),
            name: name.clone(),
            arguments: arguments(schema, command),
        });
        let streamed = asked.streamed || request.path.contains(":streamGenerateContent");
        let (whole, events) = (protocol.write)(call.as_ref());
        if streamed { Reply::Events(events) } else { Reply::json(200, whole) }
    }
}

/// An endpoint that is listening.
pub(crate) struct Running {
    endpoint: Endpoint,
    stop: Arc<Mutex<bool>>,
    port: u16,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    /// Stops it, and gives everything that the model was told about its calls.
    pub(crate) fn stop(mut self) -> String {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            // Its panic is reported by the trial that misses its results.
            let _ = thread.join();
        }
        self.endpoint.results.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }
}

/// The tool's arguments: the command, and some value for whatever else is required.
fn arguments(schema: &Value, command: &str) -> Value {
    let properties = &schema["properties"];
    let key = ["command", "cmd", "script"]
        .into_iter()
        .find(|key| properties.get(key).is_some())
        .unwrap_or("command");
    let listed = kind(&properties[key]) == "array";
    let command = if listed { json!(["bash", "-lc", command]) } else { json!(command) };
    let mut arguments = json!({key: command});
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if arguments.get(required).is_none() {
            arguments[required] = some_value(&properties[required]);
        }
    }
    arguments
}

fn kind(schema: &Value) -> String {
    let kind = if schema["type"].is_array() { &schema["type"][0] } else { &schema["type"] };
    kind.as_str().unwrap_or("string").to_lowercase()
}

fn some_value(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match kind(schema).as_str() {
        "number" | "integer" => json!(10_000),
        "boolean" => json!(false),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!("scripted test"),
    }
}
