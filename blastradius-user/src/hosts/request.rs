//! What does it want to do, and where?
//!
//! Hosts send `tool_input` and `toolInput`, `command` and `cmd`, sometimes both and with different values, so every
//! spelling that any host uses is read and every command that is found is judged.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::document;
use super::judge::{FileAct, Question};
use super::table::{self, ANY_TOOL_COMMANDS, Call, FILE_TOOLS, HOSTS, Host, PATCH_TOOLS};

/// When the hook was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A tool is about to run. An event that is not known counts as this: a wrong guess must not let a command through.
    Before,
    /// A tool has run.
    After,
}

/// A question and the directory in which it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What the agent wants.
    pub question: Question,
    /// Where.
    pub cwd: PathBuf,
}

/// What a payload says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// When.
    pub moment: Moment,
    /// The event as the host spells it; empty if it does not.
    pub event: String,
    /// All that is to be judged.
    pub asked: Vec<Asked>,
    /// A human typed the command.
    pub human: bool,
    /// The caller takes silence for a crash.
    pub explicit: bool,
}

/// A field has not the form that any host gives it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the payload's {field} {problem}")]
pub struct Malformed {
    field: String,
    problem: String,
}

fn malformed<T>(field: &str, problem: &str) -> Result<T, Malformed> {
    Err(Malformed { field: field.trim_start_matches('/').to_owned(), problem: problem.to_owned() })
}

/// Reads what `document` asks of `host`. A relative directory is below `here`.
///
/// # Errors
/// If a field has the wrong type, or a shell tool has no command.
pub fn read(host: &Host, document: &Value, here: &Path) -> Result<Request, Malformed> {
    let event = event(document)?;
    let moment = if host.after.contains(&event) { Moment::After } else { Moment::Before };
    let mut request = Request {
        moment,
        event: event.to_owned(),
        asked: Vec::new(),
        human: flag(document, "/human")?,
        explicit: flag(document, "/explicit")?,
    };
    if moment == Moment::Before {
        for (tool, input) in calls(host, document, event)? {
            let cwd = cwd(host, document, &input, here)?;
            for question in questions(host, tool.as_deref(), &input)? {
                let asked = Asked { question, cwd: cwd.clone() };
                if !request.asked.contains(&asked) {
                    request.asked.push(asked);
                }
            }
        }
    }
    Ok(request)
}

fn event(document: &Value) -> Result<&str, Malformed> {
    for pointer in table::EVENT {
        match document.pointer(pointer) {
            None | Some(Value::Null) => {}
            Some(Value::String(event)) => return Ok(event),
            Some(_) => return malformed(pointer, "is not a string"),
        }
    }
    Ok("")
}

fn flag(document: &Value, pointer: &str) -> Result<bool, Malformed> {
    match document.pointer(pointer) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => malformed(pointer, "is not true or false"),
    }
}

/// Every tool call of the payload: its tool, if one is named, and its arguments.
fn calls(host: &Host, document: &Value, event: &str) -> Result<Vec<(Option<String>, Value)>, Malformed> {
    let mut seen: Vec<String> = Vec::new();
    let mut found = Vec::new();
    let others = HOSTS.iter().flat_map(|host| host.calls).filter(|call| !call.input.is_empty());
    for call in host.calls.iter().chain(others) {
        for (tool, input) in places(call, document) {
            let Some(value) = document.pointer(&input) else { continue };
            let tool =
                if tool.is_empty() { event.to_owned() } else { name(document, &tool)?.unwrap_or_default() };
            if seen.contains(&input) && !input.is_empty() {
                continue;
            }
            seen.push(input.clone());
            found.push(((!tool.is_empty()).then_some(tool), arguments(value, &input)?));
        }
    }
    let named = named_shell_tool(host, document)?;
    if let (Some(tool), false) = (named, found.iter().any(|(tool, _)| tool.is_some())) {
        return malformed("arguments", &format!("of the tool {tool} are missing"));
    }
    Ok(found)
}

/// The call's pointers with a `*` replaced by every index of the array.
fn places(call: &Call, document: &Value) -> Vec<(String, String)> {
    let Some((array, _)) = call.input.split_once("/*") else {
        return vec![(call.tool.into(), call.input.into())];
    };
    let length = document.pointer(array).and_then(Value::as_array).map_or(0, Vec::len);
    let at = |pointer: &str, index: usize| pointer.replacen('*', &index.to_string(), 1);
    (0..length).map(|index| (at(call.tool, index), at(call.input, index))).collect()
}

fn name(document: &Value, pointer: &str) -> Result<Option<String>, Malformed> {
    match document.pointer(pointer) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some(name.clone())),
        Some(_) => malformed(pointer, "is not a string"),
    }
}

/// The shell tool that the host's own fields name.
fn named_shell_tool(host: &Host, document: &Value) -> Result<Option<String>, Malformed> {
    for call in host.calls.iter().filter(|call| !call.tool.is_empty() && !call.tool.contains('*')) {
        if let Some(tool) = name(document, call.tool)?.filter(|tool| is_shell(host, tool)) {
            return Ok(Some(tool));
        }
    }
    Ok(None)
}

/// The arguments as an object. A string is read as JSON, or is a patch.
fn arguments(value: &Value, pointer: &str) -> Result<Value, Malformed> {
    match value {
        Value::Object(_) => Ok(value.clone()),
        Value::Null => Ok(Value::Object(Map::new())),
        Value::String(text) if is_patch(text) => Ok(serde_json::json!({"patch": text})),
        Value::String(text) => match document::parse(text) {
            Ok(object @ Value::Object(_)) => Ok(object),
            Ok(_) => malformed(pointer, "holds no JSON object"),
            Err(error) => malformed(pointer, &format!("cannot be read: {error}")),
        },
        _ => malformed(pointer, "is not an object"),
    }
}

fn is_shell(host: &Host, tool: &str) -> bool {
    host.shell_tools.contains(&tool) || HOSTS.iter().any(|host| host.shell_tools.contains(&tool))
}

fn questions(host: &Host, tool: Option<&str>, input: &Value) -> Result<Vec<Question>, Malformed> {
    let named = tool.unwrap_or_default();
    if let Some(patch) = patch(named, input) {
        return Ok(of_patch(patch));
    }
    if let Some(files) = FILE_TOOLS.iter().find(|files| files.names.contains(&named)) {
        let paths = files.paths.iter().filter_map(|key| input.get(key)).flat_map(strings);
        return Ok(paths.map(|path| Question::File(files.act, path.into())).collect());
    }
    let shell = tool.is_some_and(|tool| is_shell(host, tool));
    let found = commands(host, shell || tool.is_none(), input)?;
    if shell && found.is_empty() {
        return malformed("arguments", &format!("of the tool {named} hold no command"));
    }
    Ok(found)
}

/// The commands in the arguments. Those of a tool that is no shell count under the names that nothing else bears.
fn commands(host: &Host, shell: bool, input: &Value) -> Result<Vec<Question>, Malformed> {
    let all = HOSTS.iter().flat_map(|host| host.commands);
    let mut keys: Vec<&str> = ANY_TOOL_COMMANDS.to_vec();
    if shell {
        keys.extend(host.commands.iter().chain(all));
    }
    keys.sort_unstable();
    keys.dedup();
    let mut found = Vec::new();
    for key in keys {
        match input.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => found.push(Question::Text(text.clone())),
            Some(Value::Array(words)) => found.extend(of_list(key, words)?),
            Some(_) if shell => return malformed(key, "is not a string"),
            // Another tool's own idea of the word.
            Some(_) => {}
        }
    }
    Ok(found)
}

/// A list is an argv, save for the key that says that it holds several texts.
fn of_list(key: &str, words: &[Value]) -> Result<Vec<Question>, Malformed> {
    let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
    let Some(words) = words else { return malformed(key, "holds something else than strings") };
    Ok(match key {
        "commands" => words.into_iter().map(Question::Text).collect(),
        _ if words.is_empty() => Vec::new(),
        _ => vec![Question::Argv(words)],
    })
}

/// The strings of a value that is one, or a list of them, or a list of objects that have a path.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(map) => {
            map.get("path").or_else(|| map.get("file_path")).map(strings).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn is_patch(text: &str) -> bool {
    text.trim_start().starts_with("*** Begin Patch")
}

fn patch<'a>(tool: &str, input: &'a Value) -> Option<&'a str> {
    let (names, keys) = PATCH_TOOLS;
    if !names.contains(&tool) && !tool.is_empty() {
        return None;
    }
    keys.iter().filter_map(|key| input.get(key)).filter_map(Value::as_str).find(|text| is_patch(text))
}

/// What a patch does to files, by its header lines.
fn of_patch(patch: &str) -> Vec<Question> {
    let mut found = Vec::new();
    let mut current = "";
    for line in patch.lines() {
        let header =
            |name: &str| line.strip_prefix("*** ")?.strip_prefix(name)?.strip_prefix(": ").map(str::trim);
        if let Some(path) = header("Delete File") {
            found.push(Question::File(FileAct::Delete, path.into()));
        } else if let Some(path) = header("Update File").or_else(|| header("Add File")) {
            current = path;
            found.push(Question::File(FileAct::Write, path.into()));
        } else if let Some(path) = header("Move to") {
            found.push(Question::File(FileAct::Move, current.into()));
            found.push(Question::File(FileAct::Write, path.into()));
        }
    }
    found
}

/// The payload's directory, not the hook's: an agent that has changed its own tells only here.
fn cwd(host: &Host, document: &Value, input: &Value, here: &Path) -> Result<PathBuf, Malformed> {
    let mut cwd = PathBuf::new();
    for place in host.cwd {
        let found = match place.starts_with('/') {
            true => document.pointer(place),
            // The arguments may be the document itself, and then this is what the pointer leads to.
            false if input == document => continue,
            false => input.get(place),
        };
        match found {
            None | Some(Value::Null) => {}
            Some(Value::String(path)) if path.is_empty() => {}
            Some(Value::String(path)) if cwd.as_os_str().is_empty() => cwd = path.into(),
            Some(Value::String(path)) => cwd = Path::new(path).join(&cwd),
            Some(_) => return malformed(place, "is not a string"),
        }
        if cwd.is_absolute() {
            return Ok(cwd);
        }
    }
    Ok(here.join(cwd))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(host: &str, document: &Value) -> Result<Vec<(Question, String)>, String> {
        let host = table::find(host).expect("a host");
        let request = read(host, document, Path::new("/here")).map_err(|error| error.to_string())?;
        Ok(request.asked.into_iter().map(|asked| (asked.question, asked.cwd.display().to_string())).collect())
    }

    fn text(text: &str) -> Question {
        Question::Text(text.into())
    }

    #[test]
    fn both_spellings_are_judged_when_they_differ() {
        let document = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/p",
            "tool_input": {"command": "true", "cmd": "rm -rf /"}, "toolInput": {"command": "rm -rf ~"}});
        let found = asked("claude-code", &document).expect("read");
        let texts: Vec<_> = found.into_iter().map(|(question, _)| question).collect();
        assert_eq!(texts, [text("rm -rf /"), text("true"), text("rm -rf ~")]);
    }

    #[test]
    fn a_relative_directory_is_below_the_next() {
        let document = json!({"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "cwd": "/p",
            "tool_input": {"command": "ls", "dir_path": "sub"}});
        assert_eq!(asked("gemini", &document), Ok(vec![(text("ls"), "/p/sub".into())]));
        let nowhere = json!({"command": "ls", "cwd": "x"});
        assert_eq!(asked("generic", &nowhere), Ok(vec![(text("ls"), "/here/x".into())]));
    }

    #[test]
    fn arguments_that_are_a_string_are_read_as_strictly_as_the_payload() {
        let call = |args: &str| json!({"toolName": "bash", "toolArgs": args, "cwd": "/p"});
        assert_eq!(asked("copilot", &call(r#"{"command":"ls"}"#)), Ok(vec![(text("ls"), "/p".into())]));
        for broken in [r#"{"command":"ls","command":"rm -rf /"}"#, "{", "7", ""] {
            assert!(asked("copilot", &call(broken)).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_patch_is_read_by_its_headers() {
        let patch = "*** Begin Patch\n*** Delete File: a\n*** Update File: b\n*** Move to: c\n*** End Patch";
        let document = json!({"hook_event_name": "PreToolUse", "turn_id": "t", "tool_name": "apply_patch", "cwd": "/p",
            "tool_input": {"command": patch}});
        let found = asked("codex", &document).expect("read");
        let questions: Vec<_> = found.into_iter().map(|(question, _)| question).collect();
        let file = |act, path: &str| Question::File(act, path.into());
        assert_eq!(
            questions,
            [
                file(FileAct::Delete, "a"),
                file(FileAct::Write, "b"),
                file(FileAct::Move, "b"),
                file(FileAct::Write, "c")
            ]
        );
    }

    #[test]
    fn a_shell_tool_without_a_command_is_malformed_and_another_tool_is_not() {
        let call = |tool: &str, input: Value| json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
        for input in [json!({}), json!({"command": 7}), json!(null), json!([]), json!(7)] {
            assert!(asked("claude-code", &call("Bash", input.clone())).is_err(), "{input}");
        }
        assert_eq!(asked("claude-code", &call("Read", json!({"file_path": "/etc/passwd"}))), Ok(vec![]));
        assert_eq!(asked("claude-code", &call("mcp__x__y", json!({"command": 7}))), Ok(vec![]));
        assert!(
            asked("claude-code", &json!({"hook_event_name": "PreToolUse", "tool_name": "Bash"})).is_err()
        );
    }
}
