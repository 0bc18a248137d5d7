//! Anthropic Messages, OpenAI Responses, OpenAI chat completions and Gemini: what a request says, and how a turn is
//! written, whole and as events.

use serde_json::{Value, json};

use super::Tool;

/// What a request says.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) tools: Vec<Tool>,
    /// What the tools that were called gave, as text.
    pub(crate) results: Vec<String>,
    pub(crate) streamed: bool,
}

/// A call of a tool.
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

type Events = Vec<(Option<&'static str>, String)>;

/// One protocol.
pub(crate) struct Protocol {
    path: &'static str,
    pub(crate) call_prefix: &'static str,
    pub(crate) read: fn(&Value) -> Asked,
    /// The turn that makes the call, or else says that it is over.
    pub(crate) write: fn(Option<&Call>) -> (Value, Events),
}

const PROTOCOLS: &[Protocol] = &[
    Protocol { path: "/messages", call_prefix: "toolu_", read: read_anthropic, write: write_anthropic },
    Protocol { path: "/responses", call_prefix: "call_", read: read_responses, write: write_responses },
    Protocol { path: "/chat/completions", call_prefix: "call_", read: read_chat, write: write_chat },
    Protocol { path: "enerateContent", call_prefix: "call_", read: read_gemini, write: write_gemini },
];

const MODEL: &str = "fake-model";
const FINAL: &str = "The scripted run is over.";

/// The protocol that is spoken at a path.
pub(crate) fn of_path(path: &str) -> Option<&'static Protocol> {
    PROTOCOLS.iter().find(|protocol| path.ends_with(protocol.path))
}

fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// All the text in a tool's result, whatever its shape.
fn flat(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(flat).collect::<Vec<_>>().join("\n"),
        Value::Object(map) => {
            let told = ["text", "output", "content", "error"].iter().find_map(|key| map.get(*key));
            told.map_or_else(|| value.to_string(), flat)
        }
        other => other.to_string(),
    }
}

fn read_anthropic(body: &Value) -> Asked {
    let tools = each(&body["tools"]).map(|tool| (text(&tool["name"]), tool["input_schema"].clone()));
    let parts = each(&body["messages"]).flat_map(|message| each(&message["content"]));
    let results = parts.filter(|part| part["type"] == "tool_result").map(|part| flat(&part["content"]));
    Asked { tools: tools.collect(), results: results.collect(), streamed: body["stream"] == true }
}

fn read_responses(body: &Value) -> Asked {
    let name =
        |tool: &Value| if tool["name"].is_string() { text(&tool["name"]) } else { text(&tool["type"]) };
    let tools = each(&body["tools"]).map(|tool| (name(tool), tool["parameters"].clone()));
    let outputs = each(&body["input"]).filter(|item| text(&item["type"]).ends_with("_call_output"));
    let results = outputs.map(|item| flat(&item["output"]));
    Asked { tools: tools.collect(), results: results.collect(), streamed: body["stream"] == true }
}

fn read_chat(body: &Value) -> Asked {
    let functions = each(&body["tools"]).map(|tool| &tool["function"]);
    let tools = functions.map(|function| (text(&function["name"]), function["parameters"].clone()));
    let results = each(&body["messages"]).filter(|message| message["role"] == "tool");
    let results = results.map(|message| flat(&message["content"]));
    Asked { tools: tools.collect(), results: results.collect(), streamed: body["stream"] == true }
}

fn read_gemini(body: &Value) -> Asked {
    let functions = each(&body["tools"]).flat_map(|tool| each(&tool["functionDeclarations"]));
    let schema = |function: &Value| {
        let schema = &function["parametersJsonSchema"];
        if schema.is_null() { function["parameters"].clone() } else { schema.clone() }
    };
    let tools = functions.map(|function| (text(&function["name"]), schema(function)));
    let parts = each(&body["contents"]).flat_map(|content| each(&content["parts"]));
    let results =
        parts.filter_map(|part| part.get("functionResponse")).map(|result| flat(&result["response"]));
    Asked { tools: tools.collect(), results: results.collect(), streamed: false }
}

fn event(name: &'static str, data: &Value) -> (Option<&'static str>, String) {
    (Some(name), data.to_string())
}

fn write_anthropic(call: Option<&Call>) -> (Value, Events) {
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let (block, head, delta, stop) = match call {
        Some(Call { id, name, arguments }) => (
            json!({"type": "tool_use", "id": id, "name": name, "input": arguments}),
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            "tool_use",
        ),
        None => (
            json!({"type": "text", "text": FINAL}),
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": FINAL}),
            "end_turn",
        ),
    };
    let message = |content: Value, stop: Value| {
        json!({"id": "msg_fake", "type": "message", "role": "assistant", "model": MODEL, "content": content,
            "stop_reason": stop, "stop_sequence": null, "usage": usage})
    };
    let events = vec![
        event("message_start", &json!({"type": "message_start", "message": message(json!([]), Value::Null)})),
        event(
            "content_block_start",
            &json!({"type": "content_block_start", "index": 0, "content_block": head}),
        ),
        event("content_block_delta", &json!({"type": "content_block_delta", "index": 0, "delta": delta})),
        event("content_block_stop", &json!({"type": "content_block_stop", "index": 0})),
        event(
            "message_delta",
            &json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 5}}),
        ),
        event("message_stop", &json!({"type": "message_stop"})),
    ];
    (message(json!([block]), json!(stop)), events)
}

fn write_responses(call: Option<&Call>) -> (Value, Events) {
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15});
    let response = |status: &str, output: Value, usage: Value| {
        json!({"id": "resp_fake", "object": "response", "created_at": 1, "model": MODEL, "status": status,
            "output": output, "usage": usage, "error": null, "incomplete_details": null})
    };
    let item = match call {
        Some(Call { id, name, arguments }) => {
            json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id,
            "name": name, "arguments": arguments.to_string(), "status": "completed"})
        }
        None => json!({"type": "message", "id": "msg_fake", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": FINAL, "annotations": []}]}),
    };
    let whole = response("completed", json!([item]), usage);
    let mut steps =
        vec![("response.created", json!({"response": response("in_progress", json!([]), Value::Null)}))];
    match call {
        Some(Call { arguments, .. }) => {
            let mut begun = item.clone();
            begun["arguments"] = json!("");
            begun["status"] = json!("in_progress");
            let at = json!({"item_id": item["id"], "output_index": 0});
            steps.push(("response.output_item.added", json!({"output_index": 0, "item": begun})));
            steps.push((
                "response.function_call_arguments.delta",
                with(&at, "delta", &json!(arguments.to_string())),
            ));
            steps.push((
                "response.function_call_arguments.done",
                with(&at, "arguments", &json!(arguments.to_string())),
            ));
        }
        None => {
            let mut begun = item.clone();
            begun["content"] = json!([]);
            begun["status"] = json!("in_progress");
            let at = json!({"item_id": "msg_fake", "output_index": 0, "content_index": 0});
            let part = json!({"type": "output_text", "text": "", "annotations": []});
            steps.push(("response.output_item.added", json!({"output_index": 0, "item": begun})));
            steps.push(("response.content_part.added", with(&at, "part", &part)));
            steps.push(("response.output_text.delta", with(&at, "delta", &json!(FINAL))));
            steps.push(("response.output_text.done", with(&at, "text", &json!(FINAL))));
            steps
                .push(("response.content_part.done", with(&at, "part", &with(&part, "text", &json!(FINAL)))));
        }
    }
    steps.push(("response.output_item.done", json!({"output_index": 0, "item": item})));
    steps.push(("response.completed", json!({"response": whole})));
    let numbered = steps.into_iter().enumerate().map(|(number, (name, data))| {
        event(name, &with(&with(&data, "type", &json!(name)), "sequence_number", &json!(number)))
    });
    (whole, numbered.collect())
}

fn with(object: &Value, key: &str, value: &Value) -> Value {
    let mut object = object.clone();
    object[key] = value.clone();
    object
}

fn write_chat(call: Option<&Call>) -> (Value, Events) {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let head = json!({"id": "chatcmpl-fake", "created": 1, "model": MODEL});
    let (told, stop) = match call {
        Some(Call { id, name, arguments }) => (
            json!({"tool_calls": [{"index": 0, "id": id, "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}}]}),
            "tool_calls",
        ),
        None => (json!({"content": FINAL}), "stop"),
    };
    let mut message = json!({"role": "assistant", "content": null});
    for (key, value) in told.as_object().into_iter().flatten() {
        message[key] = value.clone();
    }
    let whole = with(
        &with(&with(&head, "object", &json!("chat.completion")), "usage", &usage),
        "choices",
        &json!([
            {"index": 0, "message": message, "finish_reason": stop}
        ]),
    );
    let chunk = with(&head, "object", &json!("chat.completion.chunk"));
    let choice = |delta: Value, stop: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": stop}]);
        (None, with(&chunk, "choices", &choices).to_string())
    };
    let events = vec![
        choice(json!({"role": "assistant", "content": ""}), Value::Null),
        choice(told, Value::Null),
        choice(json!({}), json!(stop)),
        (None, with(&with(&chunk, "choices", &json!([])), "usage", &usage).to_string()),
        (None, "[DONE]".to_owned()),
    ];
    (whole, events)
}

fn write_gemini(call: Option<&Call>) -> (Value, Events) {
    let part = match call {
        Some(Call { id, name, arguments }) => {
            json!({"functionCall": {"id": id, "name": name, "args": arguments}})
        }
        None => json!({"text": FINAL}),
    };
    let whole = json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": MODEL,
        "responseId": "fake",
    });
    let events = vec![(None, whole.to_string())];
    (whole, events)
}
