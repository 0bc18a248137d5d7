//! What is each host like? Everything that differs between hosts is here, once; detection, reading, answering,
//! installation, the documentation and the tests are driven by it.
//!
//! Facts marked *measured* were seen on the real program; the others are its documentation's.

use serde_json::Value;

/// Seconds that a host is told to wait for the hook. The hook's own deadline is far below
/// ([`super::hook::DEADLINE`]), because most hosts run the command when the hook overruns.
pub const TIMEOUT_SECONDS: u32 = 15;

/// Something that a payload shows.
#[derive(Debug)]
pub enum Sign {
    /// The JSON pointer leads somewhere.
    Has(&'static str),
    /// It leads nowhere.
    Lacks(&'static str),
    /// It leads to one of these strings.
    Is(&'static str, &'static [&'static str]),
}

/// Where a payload names a tool and its arguments, as JSON pointers.
#[derive(Debug)]
pub struct Call {
    /// The tool's name; empty where the event says it all.
    pub tool: &'static str,
    /// Its arguments: an object, or a string that holds one as JSON. Empty: the document itself.
    pub input: &'static str,
}

/// When a question to the human is honoured.
#[derive(Debug)]
pub enum Ask {
    /// Never: the command would run, or the whole run would end.
    Never,
    /// Always: where nobody can answer, the host itself refuses.
    Always,
    /// In these modes, which the string at the pointer names.
    Modes(&'static str, &'static [&'static str]),
    /// When the payload says so, at the pointer: our own plugins know whether they have a UI.
    Payload(&'static str),
}

/// How a host is answered. In the templates `%REASON`, `%RULE` and `%EVENT` stand for JSON strings.
#[derive(Debug)]
pub struct Answer {
    /// Printed for a refusal, with the reason on stderr as well. `None`: stdout is not read.
    pub deny: Option<&'static str>,
    /// The exit status of a refusal. 2 blocks, or is harmless, in most hosts, even when something else reached stdout.
    pub refusal_exit: u8,
    /// Printed to ask, with status 0.
    pub ask: Option<&'static str>,
    /// When [`Self::ask`] is honoured.
    pub ask_in: Ask,
    /// Printed after a tool has run, to add to what the model sees.
    pub context: Option<&'static str>,
    /// Printed for allow where the payload asks for an explicit verdict. Everywhere else allow is silence: an explicit
    /// yes switches off the user's own prompt.
    pub allow: Option<&'static str>,
}

/// The format of a host's hook file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, with or without comments.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
    /// A file that is ours alone; `executable` sets its mode.
    Own {
        /// It is started as a program.
        executable: bool,
    },
}

/// Where a file is: below the directory that a variable names, if it is set, else below the base.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The variable that moves the directory, and the file's path below it.
    pub moved_by: Option<(&'static str, &'static str)>,
    /// Below the home for a global file, below the project for its own.
    pub path: &'static str,
}

/// One change of a hook file. In the texts `%COMMAND` stands for the command as a JSON string, `%PROGRAM` for the
/// program's path as one.
#[derive(Clone, Copy, Debug)]
pub enum Edit {
    /// Appends the value to the array that the keys lead to, which is made if need be.
    Append(&'static [&'static str], &'static str),
    /// Sets the key to the value if it is absent.
    Default(&'static [&'static str], &'static str),
    /// The whole content of a file of our own.
    Content(&'static str),
}

/// A host's hook file.
#[derive(Debug)]
pub struct Config {
    /// Its format.
    pub format: Format,
    /// Of one project.
    pub project: Option<Place>,
    /// Of the user.
    pub global: Option<Place>,
    /// What is put into it.
    pub edits: &'static [Edit],
    /// How a hook that fails is made to refuse, and since when.
    pub fail_closed: Option<FailClosed>,
}

/// The option that turns a hook's failure into a refusal.
#[derive(Debug)]
pub struct FailClosed {
    /// The key in the hook's entry; it is part of [`Config::edits`].
    pub key: &'static str,
    /// The first version that heeds it, and the arguments that make the program print its version.
    pub since: Option<(&'static [u32], &'static [&'static str])>,
}

/// One agent program, or one of the ways in which it calls hooks.
#[derive(Debug)]
pub struct Host {
    /// The name for `--agent` and `install`.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Other spellings of [`Self::name`].
    pub aliases: &'static [&'static str],
    /// How its payload is told: one of these lists holds in full.
    pub signs: &'static [&'static [Sign]],
    /// Other rows whose programs run this host's hook file.
    pub guests: &'static [&'static str],
    /// The events in which a tool is about to run.
    pub before: &'static [&'static str],
    /// The events in which one has run.
    pub after: &'static [&'static str],
    /// Where the tool and its arguments are.
    pub calls: &'static [Call],
    /// The tools whose command a shell reads.
    pub shell_tools: &'static [&'static str],
    /// The keys in the arguments that hold a command.
    pub commands: &'static [&'static str],
    /// Where the working directory is: a key of the arguments, or (with a slash) a pointer into the document. The first
    /// that is there counts; a relative one is below the next.
    pub cwd: &'static [&'static str],
    /// How it is answered.
    pub answer: Answer,
    /// Where its hooks are. `None`: it is installed as another row.
    pub config: Option<Config>,
    /// How its presence is told: its program, and a directory below the home.
    pub present: (&'static [&'static str], &'static str),
    /// What happens to the command when the hook is killed, missing or overruns.
    pub on_failure: &'static str,
    /// What no hook can close there, one sentence each.
    pub holes: &'static [&'static str],
}

/// The row of a name or an alias.
pub fn find(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name || host.aliases.contains(&name))
}

/// The pointers at which hosts name the event.
pub const EVENT: &[&str] =
    &["/hook_event_name", "/hookEventName", "/hookName", "/agent_action_name", "/event"];

/// Keys of a command that may be used in tools of any name (MCP and custom tools that shell out).
pub const ANY_TOOL_COMMANDS: &[&str] = &["command", "cmd", "shell_command"];

/// A tool that acts on files.
#[derive(Debug)]
pub struct FileTool {
    /// Its names, in all hosts.
    pub names: &'static [&'static str],
    /// What it does.
    pub act: super::judge::FileAct,
    /// The keys in its arguments that hold a path or a list of paths.
    pub paths: &'static [&'static str],
}

const PATHS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "notebookPath",
    "absolute_path",
    "target_file",
    "TargetFile",
    "AbsolutePath",
    "files",
    "paths",
    "filePaths",
];

/// The tools that act on files, of all hosts together: a name means the same wherever it is used.
pub const FILE_TOOLS: &[FileTool] = &[
    FileTool {
        names: &[
            "Write",
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "Create",
            "write",
            "edit",
            "multiedit",
            "create",
            "write_file",
            "replace",
            "edit_file",
            "create_file",
            "write_to_file",
            "replace_in_file",
            "fs_write",
            "fsWrite",
            "str_replace",
            "editFiles",
            "createFile",
            "search_replace",
            "replace_file_content",
            "insert_edit_into_file",
            "replace_string_in_file",
            "multi_replace_file_content",
            "pre_write_code",
        ],
        act: super::judge::FileAct::Write,
        paths: PATHS,
    },
    FileTool {
        names: &["Delete", "delete", "delete_file", "deleteFile", "remove_file"],
        act: super::judge::FileAct::Delete,
        paths: PATHS,
    },
];

/// The tools whose argument is a patch in the `*** Begin Patch` form, and the keys that hold it.
pub const PATCH_TOOLS: (&[&str], &[&str]) = (
    &["apply_patch", "ApplyPatch", "applyPatch", "patch"],
    &["patch", "input", "command", "patchText", "cmd"],
);

use Sign::{Has, Is, Lacks};

const CLAUDE_CALL: &[Call] =
    &[Call { tool: "/tool_name", input: "/tool_input" }, Call { tool: "/tool_name", input: "/toolInput" }];
const CLAUDE_DENY: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":%REASON}}"#;
const CLAUDE_ASK: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":%REASON}}"#;
const CONTEXT: &str = r#"{"hookSpecificOutput":{"hookEventName":%EVENT,"additionalContext":%REASON}}"#;
const DECISION_DENY: &str = r#"{"decision":"deny","reason":%REASON}"#;
const CURSOR_DENY: &str = r#"{"permission":"deny","user_message":%REASON,"agent_message":%REASON}"#;
const COPILOT_DENY: &str = r#"{"permissionDecision":"deny","permissionDecisionReason":%REASON}"#;
const COPILOT_ASK: &str = r#"{"permissionDecision":"ask","permissionDecisionReason":%REASON}"#;
const GENERIC_DENY: &str = r#"{"verdict":"deny","rule":%RULE,"reason":%REASON}"#;
const GENERIC_ASK: &str = r#"{"verdict":"confirm","rule":%RULE,"reason":%REASON}"#;
const GENERIC_ALLOW: &str = r#"{"verdict":"allow"}"#;
const GENERIC_CONTEXT: &str = r#"{"verdict":"allow","context":%REASON}"#;

const ANSWER_LIKE_CLAUDE: Answer = Answer {
    deny: Some(CLAUDE_DENY),
    refusal_exit: 2,
    ask: Some(CLAUDE_ASK),
    ask_in: Ask::Never,
    context: Some(CONTEXT),
    allow: None,
};
const ANSWER_BY_STATUS: Answer =
    Answer { deny: None, refusal_exit: 2, ask: None, ask_in: Ask::Never, context: None, allow: None };
const ANSWER_GENERIC: Answer = Answer {
    deny: Some(GENERIC_DENY),
    refusal_exit: 2,
    ask: Some(GENERIC_ASK),
    ask_in: Ask::Payload("/ask"),
    context: Some(GENERIC_CONTEXT),
    allow: Some(GENERIC_ALLOW),
};

const NOT_THE_SHELL: &str = "Text that is typed into a running interactive shell raises no event; the start of a bare shell is judged.";
const SCRIPTS: &str = "A program that the command starts is seen only if it is a script that can be read; `blastradius run` closes this.";

/// Every host. The order decides where a payload shows the signs of several.
pub const HOSTS: &[Host] = &[
    Host {
        name: "pi",
        title: "pi",
        aliases: &[],
        signs: &[&[Is("/agent", &["pi"])]],
        guests: &[],
        before: &["tool_call", "user_bash"],
        after: &["tool_result"],
        calls: &[Call { tool: "/tool_name", input: "/tool_input" }],
        shell_tools: &["bash"],
        commands: &["command", "cmd", "shell_command"],
        cwd: &["cwd", "/cwd"],
        answer: ANSWER_GENERIC,
        config: Some(Config {
            format: Format::Own { executable: false },
            project: Some(Place { moved_by: None, path: ".pi/extensions/blastradius/index.ts" }),
            global: Some(Place {
                moved_by: Some(("PI_CODING_AGENT_DIR", "extensions/blastradius/index.ts")),
                path: ".pi/agent/extensions/blastradius/index.ts",
            }),
            edits: &[Edit::Content(concat!(include_str!("embedded/ask.js"), include_str!("embedded/pi.ts")))],
            fail_closed: None,
        }),
        present: (&["pi"], ".pi"),
        on_failure: "The extension blocks whenever there is no explicit verdict. If it fails to load, pi refuses to start (measured).",
        holes: &["`--no-extensions` starts pi without it (measured).", SCRIPTS],
    },
    Host {
        name: "opencode",
        title: "opencode",
        aliases: &[],
        signs: &[&[Is("/agent", &["opencode"])]],
        guests: &[],
        before: &["tool.execute.before"],
        after: &["tool.execute.after"],
        calls: &[Call { tool: "/tool_name", input: "/tool_input" }],
        shell_tools: &["bash"],
        commands: &["command"],
        cwd: &["workdir", "/cwd"],
        answer: ANSWER_GENERIC,
        config: Some(Config {
            format: Format::Own { executable: false },
            project: Some(Place { moved_by: None, path: ".opencode/plugins/blastradius.js" }),
            global: Some(Place {
                moved_by: Some(("XDG_CONFIG_HOME", "opencode/plugins/blastradius.js")),
                path: ".config/opencode/plugins/blastradius.js",
            }),
            edits: &[Edit::Content(concat!(
                include_str!("embedded/ask.js"),
                include_str!("embedded/opencode.js")
            ))],
            fail_closed: None,
        }),
        present: (&["opencode"], ".config/opencode"),
        on_failure: "The plugin throws, which blocks, whenever there is no explicit verdict (measured).",
        holes: &[
            "A plugin that fails to load leaves every tool unguarded, without a word and with status 0 (measured).",
            "`OPENCODE_PURE=1` and `--pure` start it without plugins (measured).",
            "There is no way to ask: what would be asked is refused (the ask event never fired, measured).",
            SCRIPTS,
        ],
    },
    Host {
        name: "amp",
        title: "Amp",
        aliases: &[],
        signs: &[&[Is("/agent", &["amp"])]],
        guests: &[],
        before: &["tool.call"],
        after: &["tool.result"],
        calls: &[Call { tool: "/tool_name", input: "/tool_input" }],
        shell_tools: &["Bash", "bash", "shell_command", "run_shell_command"],
        commands: &["cmd", "command"],
        cwd: &["cwd", "dir", "/cwd"],
        answer: ANSWER_GENERIC,
        config: Some(Config {
            format: Format::Own { executable: false },
            project: Some(Place { moved_by: None, path: ".amp/plugins/blastradius.ts" }),
            global: Some(Place {
                moved_by: Some(("XDG_CONFIG_HOME", "amp/plugins/blastradius.ts")),
                path: ".config/amp/plugins/blastradius.ts",
            }),
            edits: &[Edit::Content(concat!(
                include_str!("embedded/ask.js"),
                include_str!("embedded/amp.ts")
            ))],
            fail_closed: None,
        }),
        present: (&["amp"], ".config/amp"),
        on_failure: "The plugin rejects whenever there is no explicit verdict.",
        holes: &["What Amp does with a plugin that fails to load was not measured.", SCRIPTS],
    },
    Host {
        name: "cursor-claude",
        title: "Cursor, running Claude Code's hook file",
        aliases: &[],
        signs: &[&[
            Has("/cursor_version"),
            Is("/hook_event_name", &["PreToolUse", "PostToolUse", "PostToolUseFailure"]),
        ]],
        guests: &[],
        before: &["PreToolUse"],
        after: &["PostToolUse", "PostToolUseFailure"],
        calls: CLAUDE_CALL,
        shell_tools: &["Shell", "Bash"],
        commands: &["command", "cmd"],
        cwd: &["cwd", "working_directory", "/cwd", "/workspace_roots/0"],
        answer: Answer { context: None, ..ANSWER_LIKE_CLAUDE },
        config: None,
        present: (&[], ""),
        on_failure: "The command runs.",
        holes: &[],
    },
    Host {
        name: "cursor",
        title: "Cursor",
        aliases: &["cursor-agent"],
        signs: &[
            &[
                Is("/hook_event_name", &["preToolUse", "beforeShellExecution", "beforeMCPExecution"]),
                Has("/conversation_id"),
            ],
            &[
                Is("/hook_event_name", &["preToolUse", "postToolUse", "beforeShellExecution"]),
                Has("/cursor_version"),
            ],
            &[Is("/hook_event_name", &["beforeShellExecution"])],
        ],
        guests: &[],
        before: &["preToolUse", "beforeShellExecution", "beforeMCPExecution"],
        after: &["postToolUse", "postToolUseFailure", "afterShellExecution"],
        calls: &[
            Call { tool: "/tool_name", input: "/tool_input" },
            Call { tool: "/tool_name", input: "/toolInput" },
            Call { tool: "", input: "" },
        ],
        shell_tools: &["Shell", "beforeShellExecution"],
        commands: &["command"],
        cwd: &["cwd", "working_directory", "/cwd", "/workspace_roots/0"],
        answer: Answer {
            deny: Some(CURSOR_DENY),
            refusal_exit: 2,
            ask: None,
            ask_in: Ask::Never,
            context: None,
            allow: None,
        },
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".cursor/hooks.json" }),
            global: Some(Place { moved_by: None, path: ".cursor/hooks.json" }),
            edits: &[
                Edit::Default(&["version"], "1"),
                Edit::Append(
                    &["hooks", "preToolUse"],
                    r#"{"command":%COMMAND,"matcher":"Shell|Write|Delete|MCP.*","timeout":15,"failClosed":true}"#,
                ),
                Edit::Append(
                    &["hooks", "beforeShellExecution"],
                    r#"{"command":%COMMAND,"timeout":15,"failClosed":true}"#,
                ),
            ],
            fail_closed: Some(FailClosed { key: "failClosed", since: None }),
        }),
        present: (&["cursor", "cursor-agent"], ".cursor"),
        on_failure: "The command is refused (`failClosed`).",
        holes: &[
            "A question to the human was seen to be ignored in Auto-review mode, which the payload does not tell: what would be asked is refused.",
            SCRIPTS,
        ],
    },
    Host {
        name: "codex",
        title: "Codex CLI",
        aliases: &["codex-cli"],
        signs: &[&[Has("/turn_id"), Is("/hook_event_name", &["PreToolUse", "PostToolUse"])]],
        guests: &[],
        before: &["PreToolUse"],
        after: &["PostToolUse"],
        calls: CLAUDE_CALL,
        shell_tools: &["Bash", "exec_command", "shell", "local_shell", "shell_command"],
        commands: &["command", "cmd"],
        cwd: &["workdir", "/cwd"],
        answer: ANSWER_LIKE_CLAUDE,
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".codex/hooks.json" }),
            global: Some(Place { moved_by: Some(("CODEX_HOME", "hooks.json")), path: ".codex/hooks.json" }),
            edits: &[
                Edit::Append(
                    &["hooks", "PreToolUse"],
                    r#"{"matcher":"Bash|apply_patch|Edit|Write|mcp__.*","hooks":[{"type":"command","command":%COMMAND,"timeout":15}]}"#,
                ),
                Edit::Append(
                    &["hooks", "PostToolUse"],
                    r#"{"matcher":"Bash","hooks":[{"type":"command","command":%COMMAND,"timeout":15}]}"#,
                ),
            ],
            fail_closed: None,
        }),
        present: (&["codex"], ".codex"),
        on_failure: "The command runs (measured; `onFailure` is accepted and does nothing).",
        holes: &[
            "A hook that the user has not trusted with `/hooks` is skipped without a word (measured); trust is lost when its definition changes.",
            NOT_THE_SHELL,
            SCRIPTS,
        ],
    },
    Host {
        name: "gemini",
        title: "Gemini CLI",
        aliases: &["gemini-cli"],
        signs: &[&[Is("/hook_event_name", &["BeforeTool", "AfterTool"])]],
        guests: &[],
        before: &["BeforeTool"],
        after: &["AfterTool"],
        calls: CLAUDE_CALL,
        shell_tools: &["run_shell_command"],
        commands: &["command"],
        cwd: &["dir_path", "directory", "/cwd"],
        answer: Answer {
            deny: Some(DECISION_DENY),
            refusal_exit: 2,
            ask: None,
            ask_in: Ask::Never,
            context: Some(CONTEXT),
            allow: None,
        },
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".gemini/settings.json" }),
            global: Some(Place { moved_by: None, path: ".gemini/settings.json" }),
            edits: &[
                Edit::Append(
                    &["hooks", "BeforeTool"],
                    r#"{"matcher":"run_shell_command|write_file|replace|mcp_.*","hooks":[{"name":"blastradius","type":"command","command":%COMMAND,"timeout":15000}]}"#,
                ),
                Edit::Append(
                    &["hooks", "AfterTool"],
                    r#"{"matcher":"run_shell_command","hooks":[{"name":"blastradius","type":"command","command":%COMMAND,"timeout":15000}]}"#,
                ),
            ],
            fail_closed: None,
        }),
        present: (&["gemini"], ".gemini"),
        on_failure: "The command runs (measured).",
        holes: &[
            "A question to the human ends a headless run without a word (measured): what would be asked is refused.",
            SCRIPTS,
        ],
    },
    Host {
        name: "copilot",
        title: "GitHub Copilot CLI",
        aliases: &["copilot-cli", "github-copilot"],
        signs: &[&[Has("/toolName"), Has("/toolArgs")], &[Has("/toolCalls/0/name")]],
        guests: &[],
        before: &["preToolUse", "permissionRequest", ""],
        after: &["postToolUse"],
        calls: &[
            Call { tool: "/toolName", input: "/toolArgs" },
            Call { tool: "/toolName", input: "/toolInput" },
            Call { tool: "/toolCalls/*/name", input: "/toolCalls/*/args" },
        ],
        shell_tools: &["bash", "shell", "write_bash", "powershell", "run_in_terminal"],
        commands: &["command", "input"],
        cwd: &["cwd", "/cwd"],
        answer: Answer {
            deny: Some(COPILOT_DENY),
            refusal_exit: 0,
            ask: Some(COPILOT_ASK),
            ask_in: Ask::Always,
            context: Some(r#"{"additionalContext":%REASON}"#),
            allow: None,
        },
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".github/hooks/blastradius.json" }),
            global: Some(Place {
                moved_by: Some(("COPILOT_HOME", "hooks/blastradius.json")),
                path: ".copilot/hooks/blastradius.json",
            }),
            edits: &[
                Edit::Default(&["version"], "1"),
                Edit::Append(
                    &["hooks", "preToolUse"],
                    r#"{"type":"command","bash":%COMMAND,"timeoutSec":15}"#,
                ),
                Edit::Append(
                    &["hooks", "postToolUse"],
                    r#"{"type":"command","bash":%COMMAND,"timeoutSec":15}"#,
                ),
            ],
            fail_closed: None,
        }),
        present: (&["copilot"], ".copilot"),
        on_failure: "The command is refused when the hook dies (measured), and runs when it overruns its time (measured).",
        holes: &[SCRIPTS],
    },
    Host {
        name: "grok",
        title: "Grok Build",
        aliases: &["grok-build"],
        signs: &[
            &[Has("/toolInput"), Has("/workspaceRoot")],
            &[Is("/hook_event_name", &["pre_tool_use", "post_tool_use"])],
            &[Is("/hookEventName", &["pre_tool_use", "post_tool_use"])],
        ],
        guests: &[],
        before: &["pre_tool_use", "PreToolUse"],
        after: &["post_tool_use", "PostToolUse"],
        calls: &[
            Call { tool: "/toolName", input: "/toolInput" },
            Call { tool: "/tool_name", input: "/tool_input" },
        ],
        shell_tools: &["run_terminal_cmd", "run_terminal_command"],
        commands: &["command"],
        cwd: &["cwd", "/cwd", "/workspaceRoot"],
        answer: Answer {
            deny: Some(DECISION_DENY),
            refusal_exit: 2,
            ask: None,
            ask_in: Ask::Never,
            context: None,
            allow: None,
        },
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".grok/hooks/blastradius.json" }),
            global: Some(Place {
                moved_by: Some(("GROK_HOME", "hooks/blastradius.json")),
                path: ".grok/hooks/blastradius.json",
            }),
            edits: &[Edit::Append(
                &["hooks", "PreToolUse"],
                r#"{"hooks":[{"type":"command","command":%COMMAND,"timeout":15}]}"#,
            )],
            fail_closed: None,
        }),
        present: (&["grok"], ".grok"),
        on_failure: "The command runs.",
        holes: &["Hooks of a project load only after `/hooks-trust`; the user's own always load.", SCRIPTS],
    },
    Host {
        name: "antigravity",
        title: "Google Antigravity",
        aliases: &["agy"],
        signs: &[&[Has("/toolCall")]],
        guests: &[],
        before: &["PreToolUse", ""],
        after: &["PostToolUse"],
        calls: &[Call { tool: "/toolCall/name", input: "/toolCall/args" }],
        shell_tools: &["run_command"],
        commands: &["CommandLine", "command"],
        cwd: &["Cwd", "/cwd", "/workspacePaths/0"],
        answer: Answer {
            deny: Some(DECISION_DENY),
            // A status other than 0 was reported not to block, and to drop the answer.
            refusal_exit: 0,
            ask: None,
            ask_in: Ask::Never,
            context: None,
            allow: None,
        },
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".agents/hooks.json" }),
            global: Some(Place { moved_by: None, path: ".gemini/config/hooks.json" }),
            edits: &[Edit::Append(
                &["blastradius", "PreToolUse"],
                r#"{"matcher":"run_command|write_to_file|replace_file_content|multi_replace_file_content","hooks":[{"type":"command","command":%COMMAND,"timeout":15}]}"#,
            )],
            fail_closed: None,
        }),
        present: (&["agy", "antigravity"], ".gemini/config"),
        on_failure: "Not documented; a status other than 0 was reported not to block.",
        holes: &["A question stalls where there is no terminal: what would be asked is refused.", SCRIPTS],
    },
    Host {
        name: "cline",
        title: "Cline",
        aliases: &[],
        signs: &[&[Has("/preToolUse")], &[Has("/clineVersion")], &[Has("/postToolUse"), Has("/taskId")]],
        guests: &[],
        before: &["PreToolUse", ""],
        after: &["PostToolUse"],
        calls: &[
            Call { tool: "/preToolUse/toolName", input: "/preToolUse/parameters" },
            Call { tool: "/preToolUse/tool", input: "/preToolUse/parameters" },
        ],
        shell_tools: &["execute_command", "run_commands"],
        commands: &["command", "commands"],
        cwd: &["cwd", "/cwd", "/workspaceRoots/0"],
        answer: Answer {
            deny: Some(r#"{"cancel":true,"errorMessage":%REASON}"#),
            // A failed hook is ignored by the IDE, and a valid answer is kept by both.
            refusal_exit: 0,
            ask: None,
            ask_in: Ask::Never,
            context: None,
            allow: None,
        },
        config: Some(Config {
            format: Format::Own { executable: true },
            project: Some(Place { moved_by: None, path: ".clinerules/hooks/PreToolUse" }),
            global: Some(Place { moved_by: None, path: ".cline/hooks/PreToolUse" }),
            edits: &[Edit::Content(
                "#!/bin/sh\n# Written by `blastradius install cline`; `blastradius uninstall cline` removes it.\nexec %COMMANDLINE\n",
            )],
            fail_closed: None,
        }),
        present: (&["cline"], ".cline"),
        on_failure: "The command runs in the IDE.",
        holes: &["The IDE also reads hooks from `Documents/Cline/Hooks`; one there is not ours.", SCRIPTS],
    },
    Host {
        name: "windsurf",
        title: "Windsurf",
        aliases: &["cascade"],
        signs: &[&[Has("/agent_action_name")]],
        guests: &[],
        before: &["pre_run_command", "pre_write_code", "pre_mcp_tool_use"],
        after: &["post_run_command"],
        calls: &[Call { tool: "/agent_action_name", input: "/tool_info" }],
        shell_tools: &["pre_run_command"],
        commands: &["command_line", "command"],
        cwd: &["cwd", "/cwd"],
        answer: ANSWER_BY_STATUS,
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".windsurf/hooks.json" }),
            global: Some(Place { moved_by: None, path: ".codeium/windsurf/hooks.json" }),
            edits: &[
                Edit::Append(&["hooks", "pre_run_command"], r#"{"command":%COMMAND,"show_output":true}"#),
                Edit::Append(&["hooks", "pre_write_code"], r#"{"command":%COMMAND,"show_output":true}"#),
            ],
            fail_closed: None,
        }),
        present: (&["windsurf"], ".codeium/windsurf"),
        on_failure: "The command runs.",
        holes: &["There is no way to ask: what would be asked is refused.", SCRIPTS],
    },
    Host {
        name: "hermes",
        title: "Hermes Agent",
        aliases: &[],
        signs: &[&[Is("/hook_event_name", &["pre_tool_call", "post_tool_call"])]],
        guests: &[],
        before: &["pre_tool_call"],
        after: &["post_tool_call"],
        calls: CLAUDE_CALL,
        shell_tools: &["terminal"],
        commands: &["command"],
        cwd: &["workdir", "/cwd"],
        answer: Answer {
            deny: Some(r#"{"decision":"block","reason":%REASON}"#),
            // Older builds read the answer only with status 0.
            refusal_exit: 0,
            ask: None,
            ask_in: Ask::Never,
            context: None,
            allow: None,
        },
        config: Some(Config {
            format: Format::Yaml,
            project: None,
            global: Some(Place {
                moved_by: Some(("HERMES_HOME", "config.yaml")),
                path: ".hermes/config.yaml",
            }),
            edits: &[Edit::Append(
                &["hooks", "pre_tool_call"],
                r#"{"matcher":"terminal|write_file|patch","command":%COMMAND,"timeout":15,"fail_closed":true}"#,
            )],
            fail_closed: Some(FailClosed { key: "fail_closed", since: None }),
        }),
        present: (&["hermes"], ".hermes"),
        on_failure: "The command is refused by builds that know `fail_closed`, and runs in older ones.",
        holes: &["Hermes asks once whether it may run a new hook; until then it is skipped.", SCRIPTS],
    },
    Host {
        name: "droid",
        title: "Factory Droid",
        aliases: &["factory", "factory-droid"],
        signs: &[
            &[Is("/tool_name", &["Execute", "Create", "ApplyPatch"]), Has("/hook_event_name")],
            &[
                Is("/permission_mode", &["auto-low", "auto-medium", "auto-high", "off", "spec"]),
                Has("/hook_event_name"),
            ],
        ],
        guests: &[],
        before: &["PreToolUse"],
        after: &["PostToolUse"],
        calls: CLAUDE_CALL,
        shell_tools: &["Execute"],
        commands: &["command"],
        cwd: &["cwd", "/cwd"],
        answer: ANSWER_LIKE_CLAUDE,
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".factory/settings.json" }),
            global: Some(Place { moved_by: None, path: ".factory/settings.json" }),
            edits: &[
                Edit::Append(
                    &["hooks", "PreToolUse"],
                    r#"{"matcher":"Execute|Create|Edit|ApplyPatch|mcp__.*","hooks":[{"type":"command","command":%COMMAND,"timeout":15}]}"#,
                ),
                Edit::Append(
                    &["hooks", "PostToolUse"],
                    r#"{"matcher":"Execute","hooks":[{"type":"command","command":%COMMAND,"timeout":15}]}"#,
                ),
            ],
            fail_closed: None,
        }),
        present: (&["droid"], ".factory"),
        on_failure: "The command runs (measured).",
        holes: &[
            "A question to the human is ignored and the command runs (measured): what would be asked is refused.",
            SCRIPTS,
        ],
    },
    Host {
        name: "kimi",
        title: "Kimi Code",
        aliases: &["kimi-code"],
        signs: &[&[
            Is("/hook_event_name", &["PreToolUse", "PostToolUse", "PostToolUseFailure"]),
            Has("/tool_call_id"),
            Lacks("/tool_use_id"),
        ]],
        guests: &[],
        before: &["PreToolUse"],
        after: &["PostToolUse", "PostToolUseFailure"],
        calls: CLAUDE_CALL,
        shell_tools: &["Bash", "Shell"],
        commands: &["command"],
        cwd: &["cwd", "/cwd"],
        answer: Answer { context: None, ..ANSWER_LIKE_CLAUDE },
        config: Some(Config {
            format: Format::Toml,
            project: None,
            global: Some(Place {
                moved_by: Some(("KIMI_CODE_HOME", "config.toml")),
                path: ".kimi-code/config.toml",
            }),
            edits: &[Edit::Append(
                &["hooks"],
                r#"{"event":"PreToolUse","matcher":"Bash|Shell|Write|Edit|WriteFile|StrReplaceFile","command":%COMMAND,"timeout":15}"#,
            )],
            fail_closed: None,
        }),
        present: (&["kimi"], ".kimi-code"),
        on_failure: "The command runs.",
        holes: &["A question to the human cannot be put by a hook: what would be asked is refused.", SCRIPTS],
    },
    Host {
        name: "qwen",
        title: "Qwen Code",
        aliases: &["qwen-code"],
        signs: &[
            &[
                Is("/hook_event_name", &["PreToolUse", "PostToolUse", "PostToolUseFailure"]),
                Has("/tool_call_id"),
            ],
            &[
                Is("/hook_event_name", &["PreToolUse", "PostToolUse", "PostToolUseFailure"]),
                Is("/tool_name", &["run_shell_command"]),
            ],
        ],
        guests: &[],
        before: &["PreToolUse"],
        after: &["PostToolUse", "PostToolUseFailure"],
        calls: CLAUDE_CALL,
        shell_tools: &["run_shell_command"],
        commands: &["command"],
        cwd: &["directory", "dir_path", "/cwd"],
        // Headless it refuses by itself (measured); whether a question is put in `yolo` was not measured.
        answer: Answer {
            ask_in: Ask::Modes("/permission_mode", &["default", "plan", "auto-edit", "auto_edit"]),
            ..ANSWER_LIKE_CLAUDE
        },
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".qwen/settings.json" }),
            global: Some(Place { moved_by: None, path: ".qwen/settings.json" }),
            edits: &[
                Edit::Append(
                    &["hooks", "PreToolUse"],
                    r#"{"matcher":"run_shell_command|write_file|edit|replace|mcp_.*","hooks":[{"type":"command","command":%COMMAND,"timeout":15}]}"#,
                ),
                Edit::Append(
                    &["hooks", "PostToolUse"],
                    r#"{"matcher":"run_shell_command","hooks":[{"type":"command","command":%COMMAND,"timeout":15}]}"#,
                ),
            ],
            fail_closed: None,
        }),
        present: (&["qwen"], ".qwen"),
        on_failure: "The command runs (measured).",
        holes: &[SCRIPTS],
    },
    Host {
        name: "kiro",
        title: "Kiro CLI",
        aliases: &["kiro-cli"],
        signs: &[&[
            Is("/hook_event_name", &["PreToolUse", "preToolUse", "PostToolUse", "postToolUse"]),
            Is("/tool_name", &["execute_bash", "execute_cmd", "shell", "fs_write", "fsWrite"]),
        ]],
        guests: &[],
        before: &["PreToolUse", "preToolUse"],
        after: &["PostToolUse", "postToolUse"],
        calls: CLAUDE_CALL,
        shell_tools: &["execute_bash", "execute_cmd", "shell"],
        commands: &["command"],
        cwd: &["working_dir", "/cwd"],
        answer: ANSWER_BY_STATUS,
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".kiro/hooks/blastradius.json" }),
            global: Some(Place {
                moved_by: Some(("KIRO_HOME", "hooks/blastradius.json")),
                path: ".kiro/hooks/blastradius.json",
            }),
            edits: &[
                Edit::Default(&["version"], r#""v1""#),
                Edit::Append(
                    &["hooks"],
                    r#"{"name":"blastradius","trigger":"PreToolUse","matcher":"^(execute_bash|execute_cmd|shell|fs_write|fsWrite|write)$","action":{"type":"command","command":%COMMAND},"timeout":15}"#,
                ),
            ],
            fail_closed: None,
        }),
        present: (&["kiro-cli", "kiro"], ".kiro"),
        on_failure: "The command runs.",
        holes: &[
            "Version 2 reads hooks from its agent files only; this file is read from version 3 on.",
            SCRIPTS,
        ],
    },
    Host {
        name: "vscode",
        title: "VS Code agent (Copilot)",
        aliases: &["vs-code"],
        signs: &[
            &[Is("/hookEventName", &["PreToolUse", "PostToolUse"]), Has("/tool_name")],
            &[
                Is("/hook_event_name", &["PreToolUse", "PostToolUse"]),
                Is("/tool_name", &["run_in_terminal", "runInTerminal", "runTerminalCommand", "editFiles"]),
            ],
        ],
        guests: &[],
        before: &["PreToolUse"],
        after: &["PostToolUse"],
        calls: CLAUDE_CALL,
        shell_tools: &["run_in_terminal", "runInTerminal", "runTerminalCommand"],
        commands: &["command"],
        cwd: &["cwd", "/cwd"],
        answer: Answer {
            // The reason is shown to the user only; the model reads the context.
            deny: Some(
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":%REASON,"additionalContext":%REASON}}"#,
            ),
            ask_in: Ask::Always,
            ..ANSWER_LIKE_CLAUDE
        },
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".github/hooks/blastradius-vscode.json" }),
            global: None,
            edits: &[
                Edit::Append(
                    &["hooks", "PreToolUse"],
                    r#"{"type":"command","command":%COMMAND,"timeout":15}"#,
                ),
                Edit::Append(
                    &["hooks", "PostToolUse"],
                    r#"{"type":"command","command":%COMMAND,"timeout":15}"#,
                ),
            ],
            fail_closed: None,
        }),
        present: (&["code"], ".vscode"),
        on_failure: "The command runs.",
        holes: &[
            "Hooks are a preview feature there and can be switched off by the organisation.",
            NOT_THE_SHELL,
            SCRIPTS,
        ],
    },
    Host {
        name: "crush",
        title: "Crush",
        aliases: &["charm-crush"],
        signs: &[
            &[Is("/tool_name", &["bash"]), Has("/hook_event_name")],
            &[Is("/tool_name", &["bash"]), Is("/event", &["PreToolUse"])],
        ],
        guests: &[],
        before: &["PreToolUse"],
        after: &["PostToolUse"],
        calls: CLAUDE_CALL,
        shell_tools: &["bash"],
        commands: &["command"],
        cwd: &["working_dir", "/cwd"],
        answer: Answer {
            deny: Some(r#"{"version":1,"decision":"deny","reason":%REASON}"#),
            refusal_exit: 2,
            ask: None,
            ask_in: Ask::Never,
            context: None,
            allow: None,
        },
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: "crush.json" }),
            global: Some(Place {
                moved_by: Some(("XDG_CONFIG_HOME", "crush/crush.json")),
                path: ".config/crush/crush.json",
            }),
            edits: &[Edit::Append(
                &["hooks", "PreToolUse"],
                r#"{"matcher":"^(bash|write|edit|multiedit|mcp_.*)$","command":%COMMAND,"timeout":15}"#,
            )],
            fail_closed: None,
        }),
        present: (&["crush"], ".config/crush"),
        on_failure: "The command runs.",
        holes: &[
            "Tools of sub-agents raise no event.",
            "There is no way to ask: what would be asked is refused.",
            SCRIPTS,
        ],
    },
    Host {
        name: "copilot-claude",
        title: "GitHub Copilot CLI, running Claude Code's hook file",
        aliases: &[],
        signs: &[&[
            Is("/hook_event_name", &["PreToolUse", "PostToolUse"]),
            Lacks("/tool_use_id"),
            Lacks("/transcript_path"),
            Has("/tool_name"),
            Has("/timestamp"),
        ]],
        guests: &[],
        before: &["PreToolUse"],
        after: &["PostToolUse"],
        calls: CLAUDE_CALL,
        shell_tools: &["Bash"],
        commands: &["command"],
        cwd: &["cwd", "/cwd"],
        answer: Answer { refusal_exit: 0, ask_in: Ask::Always, ..ANSWER_LIKE_CLAUDE },
        config: None,
        present: (&[], ""),
        on_failure: "The command is refused when the hook dies (measured), and runs when it overruns its time (measured).",
        holes: &[],
    },
    Host {
        name: "claude-code",
        title: "Claude Code",
        aliases: &["claude"],
        signs: &[&[
            Is("/hook_event_name", &["PreToolUse", "PostToolUse", "PostToolUseFailure"]),
            Has("/tool_name"),
            Has("/session_id"),
        ]],
        guests: &["cursor-claude", "copilot", "copilot-claude", "grok", "vscode"],
        before: &["PreToolUse"],
        after: &["PostToolUse", "PostToolUseFailure"],
        calls: CLAUDE_CALL,
        shell_tools: &["Bash", "PowerShell", "Monitor"],
        commands: &["command", "cmd"],
        cwd: &["cwd", "/cwd"],
        // In every mode, `bypassPermissions` included, the terminal interface asks; headless it refuses (measured).
        answer: Answer { ask_in: Ask::Always, ..ANSWER_LIKE_CLAUDE },
        config: Some(Config {
            format: Format::Json,
            project: Some(Place { moved_by: None, path: ".claude/settings.json" }),
            global: Some(Place {
                moved_by: Some(("CLAUDE_CONFIG_DIR", "settings.json")),
                path: ".claude/settings.json",
            }),
            edits: &[
                Edit::Append(
                    &["hooks", "PreToolUse"],
                    r#"{"matcher":"Bash|PowerShell|Monitor|Write|Edit|MultiEdit|NotebookEdit|mcp__.*","hooks":[{"type":"command","command":%COMMAND,"timeout":15,"onFailure":"block"}]}"#,
                ),
                Edit::Append(
                    &["hooks", "PostToolUse"],
                    r#"{"matcher":"Bash","hooks":[{"type":"command","command":%COMMAND,"timeout":15}]}"#,
                ),
                Edit::Append(
                    &["hooks", "PostToolUseFailure"],
                    r#"{"matcher":"Bash","hooks":[{"type":"command","command":%COMMAND,"timeout":15}]}"#,
                ),
            ],
            fail_closed: Some(FailClosed {
                key: "onFailure",
                since: Some((&[2, 1, 295], &["claude", "--version"])),
            }),
        }),
        present: (&["claude"], ".claude"),
        on_failure: "The command is refused from version 2.1.295 on (`onFailure`, measured) and runs in older ones (measured).",
        holes: &[
            "A hook that is replaced by something that prints garbage and exits 0 lets the command run, `onFailure` or not (measured).",
            "`disableAllHooks`, `--safe-mode` and `--bare` start it without hooks.",
            SCRIPTS,
        ],
    },
    Host {
        name: "generic",
        title: "any other host",
        aliases: &[],
        signs: &[&[Has("/command"), Lacks("/hook_event_name")]],
        guests: &[],
        before: &["", "before"],
        after: &["after"],
        calls: &[Call { tool: "/tool_name", input: "/tool_input" }, Call { tool: "", input: "" }],
        shell_tools: &["shell"],
        commands: &["command"],
        cwd: &["cwd", "/cwd"],
        answer: ANSWER_GENERIC,
        config: None,
        present: (&[], ""),
        on_failure: "What the caller makes of it.",
        holes: &[],
    },
];

/// A template with its place-holders replaced by JSON strings, in one pass: a value may hold a place-holder's name.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                text.push_str(&Value::from(*value).to_string());
                rest = &rest[name.len()..];
            }
            None => {
                text.push('%');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}
