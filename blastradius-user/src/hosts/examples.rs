//! What does a payload look like? One of each host, as the real program (or, where none was run, its documentation) has
//! it: for the canary, the documentation and the tests.

use super::table::fill;

/// The payloads of one row of the host table.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The row.
    pub host: &'static str,
    /// Before a shell command runs. `"COMMAND"` stands for it.
    pub before: &'static str,
    /// After one has run; empty where nothing can be added then.
    pub after: &'static str,
}

impl Example {
    /// The payload for a command.
    pub fn with(&self, command: &str) -> String {
        fill(&self.before.replace("\"COMMAND\"", "%COMMAND"), &[("%COMMAND", command)])
    }
}

/// The example of a row.
pub fn of(host: &str) -> Option<&'static Example> {
    EXAMPLES.iter().find(|example| example.host == host)
}

/// One of each row, in the table's order.
pub const EXAMPLES: &[Example] = &[
    Example {
        host: "pi",
        before: r#"{"agent":"pi","event":"tool_call","explicit":true,"ask":true,"cwd":"/p","tool_name":"bash","tool_input":{"command":"COMMAND","timeout":10}}"#,
        after: "",
    },
    Example {
        host: "opencode",
        before: r#"{"agent":"opencode","event":"tool.execute.before","explicit":true,"ask":false,"cwd":"/p","tool_name":"bash","tool_input":{"command":"COMMAND","workdir":"/p/sub"}}"#,
        after: "",
    },
    Example {
        host: "amp",
        before: r#"{"agent":"amp","event":"tool.call","explicit":true,"ask":false,"cwd":"/p","tool_name":"Bash","tool_input":{"cmd":"COMMAND","cwd":"/p"}}"#,
        after: "",
    },
    Example {
        host: "cursor-claude",
        before: r#"{"session_id":"s","cursor_version":"3.21.16","hook_event_name":"PreToolUse","cwd":"/p","tool_name":"Shell","tool_input":{"command":"COMMAND"}}"#,
        after: "",
    },
    Example {
        host: "cursor",
        before: r#"{"hook_event_name":"preToolUse","conversation_id":"c","generation_id":"g","model":"m","cursor_version":"3.21.16","workspace_roots":["/p"],"cwd":"/p","tool_name":"Shell","tool_input":{"command":"COMMAND","working_directory":"/p"}}"#,
        after: "",
    },
    Example {
        host: "codex",
        before: r#"{"session_id":"s","turn_id":"t","transcript_path":null,"cwd":"/p","hook_event_name":"PreToolUse","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"COMMAND"},"tool_use_id":"call_1"}"#,
        after: r#"{"session_id":"s","turn_id":"t","transcript_path":null,"cwd":"/p","hook_event_name":"PostToolUse","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"COMMAND"},"tool_response":"","tool_use_id":"call_1"}"#,
    },
    Example {
        host: "gemini",
        before: r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"BeforeTool","timestamp":"2026-11-01T00:00:00Z","tool_name":"run_shell_command","tool_input":{"command":"COMMAND","dir_path":"sub"}}"#,
        after: r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"AfterTool","timestamp":"2026-11-01T00:00:00Z","tool_name":"run_shell_command","tool_input":{"command":"COMMAND"},"tool_response":{}}"#,
    },
    Example {
        host: "copilot",
        before: r#"{"sessionId":"s","timestamp":1796028601572,"cwd":"/p","toolName":"bash","toolArgs":{"command":"COMMAND","description":"d"}}"#,
        after: r#"{"sessionId":"s","timestamp":1796028601572,"cwd":"/p","hook_event_name":"postToolUse","toolName":"bash","toolArgs":{"command":"COMMAND"},"toolResult":{"resultType":"success","textResultForLlm":""}}"#,
    },
    Example {
        host: "grok",
        before: r#"{"hookEventName":"pre_tool_use","sessionId":"s","workspaceRoot":"/p","toolName":"run_terminal_cmd","toolInput":{"command":"COMMAND"}}"#,
        after: "",
    },
    Example {
        host: "antigravity",
        before: r#"{"conversationId":"c","stepIdx":2,"toolCall":{"name":"run_command","args":{"CommandLine":"COMMAND","Cwd":"/p"}}}"#,
        after: "",
    },
    Example {
        host: "cline",
        before: r#"{"clineVersion":"3.40.0","hookName":"PreToolUse","timestamp":"1796028601572","taskId":"t","workspaceRoots":["/p"],"userId":"u","preToolUse":{"toolName":"execute_command","parameters":{"command":"COMMAND","requires_approval":"false"}}}"#,
        after: "",
    },
    Example {
        host: "windsurf",
        before: r#"{"agent_action_name":"pre_run_command","trajectory_id":"t","execution_id":"e","timestamp":"2026-11-01T00:00:00Z","tool_info":{"command_line":"COMMAND","cwd":"/p"}}"#,
        after: "",
    },
    Example {
        host: "hermes",
        before: r#"{"hook_event_name":"pre_tool_call","session_id":"s","cwd":"/p","tool_name":"terminal","tool_input":{"command":"COMMAND"}}"#,
        after: "",
    },
    Example {
        host: "droid",
        before: r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","permission_mode":"auto-low","hook_event_name":"PreToolUse","tool_name":"Execute","tool_input":{"command":"COMMAND","summary":"s"}}"#,
        after: r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","permission_mode":"auto-low","hook_event_name":"PostToolUse","tool_name":"Execute","tool_input":{"command":"COMMAND"},"tool_response":{}}"#,
    },
    Example {
        host: "kimi",
        before: r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/p","tool_name":"Bash","tool_input":{"command":"COMMAND"},"tool_call_id":"c"}"#,
        after: "",
    },
    Example {
        host: "qwen",
        before: r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"PreToolUse","timestamp":"2026-11-01T00:00:00Z","permission_mode":"default","tool_name":"run_shell_command","tool_input":{"command":"COMMAND","is_background":false},"tool_use_id":"u","tool_call_id":"c"}"#,
        after: r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"PostToolUse","timestamp":"2026-11-01T00:00:00Z","permission_mode":"default","tool_name":"run_shell_command","tool_input":{"command":"COMMAND"},"tool_response":{},"tool_use_id":"u","tool_call_id":"c"}"#,
    },
    Example {
        host: "kiro",
        before: r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/p","tool_name":"execute_bash","tool_input":{"command":"COMMAND"}}"#,
        after: "",
    },
    Example {
        host: "vscode",
        before: r#"{"timestamp":"2026-11-01T00:00:00Z","cwd":"/p","sessionId":"s","hookEventName":"PreToolUse","transcript_path":"/t","tool_name":"run_in_terminal","tool_input":{"command":"COMMAND","isBackground":false},"tool_use_id":"u"}"#,
        after: r#"{"timestamp":"2026-11-01T00:00:00Z","cwd":"/p","sessionId":"s","hookEventName":"PostToolUse","transcript_path":"/t","tool_name":"run_in_terminal","tool_input":{"command":"COMMAND"},"tool_response":"","tool_use_id":"u"}"#,
    },
    Example {
        host: "crush",
        before: r#"{"event":"PreToolUse","session_id":"s","cwd":"/p","tool_name":"bash","tool_input":{"command":"COMMAND","description":"d"}}"#,
        after: "",
    },
    Example {
        host: "copilot-claude",
        before: r#"{"hook_event_name":"PreToolUse","session_id":"s","timestamp":"2026-11-01T00:00:00Z","cwd":"/p","tool_name":"Bash","tool_input":{"command":"COMMAND"}}"#,
        after: r#"{"hook_event_name":"PostToolUse","session_id":"s","timestamp":"2026-11-01T00:00:00Z","cwd":"/p","tool_name":"Bash","tool_input":{"command":"COMMAND"},"tool_result":{}}"#,
    },
    Example {
        host: "claude-code",
        before: r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","prompt_id":"p","permission_mode":"bypassPermissions","effort":{"level":"high"},"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"COMMAND","description":"d"},"tool_use_id":"toolu_1"}"#,
        after: r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","prompt_id":"p","permission_mode":"default","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"COMMAND"},"tool_use_id":"toolu_1","error":"e"}"#,
    },
    Example { host: "generic", before: r#"{"command":"COMMAND","cwd":"/p"}"#, after: "" },
];
