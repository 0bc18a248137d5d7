//! How is each agent set up and called?
//!
//! Versions are pinned: what a hook is to a program changes between them. In the texts `PORT` is the endpoint's.

/// One agent program.
pub(crate) struct Agent {
    /// The row of the host table, and what `install` is given.
    pub(crate) name: &'static str,
    /// The npm package.
    pub(crate) package: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// The program in `node_modules/.bin`, or below `node_modules` if there is a slash in it.
    pub(crate) program: &'static str,
    /// Its arguments; the prompt comes last.
    pub(crate) args: &'static [&'static str],
    /// Variables besides HOME, PATH and the like.
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// Files below the home.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

/// The Node that runs agents written in JavaScript.
pub(crate) const NODE: (&str, &str) = ("node", "24.21.0");

/// The port of the endpoint, in a network of its own.
pub(crate) const PORT: u16 = 8931;

/// The agents, the quickest first.
pub(crate) const AGENTS: &[Agent] = &[
    Agent {
        name: "claude-code",
        package: "@anthropic-ai/claude-code",
        version: "2.1.332",
        program: "claude",
        args: &["--dangerously-skip-permissions", "-p"],
        env: &[
            ("ANTHROPIC_API_KEY", "test"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:PORT"),
            ("IS_SANDBOX", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
        ],
        files: &[],
    },
    Agent {
        name: "pi",
        package: "@earendil-works/pi-coding-agent",
        version: "1.6.0",
        program: "pi",
        args: &["-p", "--model", "fake/fake-model"],
        env: &[("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0"), ("PI_SKIP_VERSION_CHECK", "1")],
        files: &[(
            ".pi/agent/models.json",
            r#"{"providers":{"fake":{"baseUrl":"http://127.0.0.1:PORT/v1","api":"openai-completions","apiKey":"test","models":[{"id":"fake-model"}]}}}"#,
        )],
    },
    Agent {
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        program: "opencode",
        args: &["run"],
        env: &[
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ],
        files: &[
            (
                ".config/opencode/opencode.json",
                r#"{"model":"fake/fake-model","autoupdate":false,"permission":{"external_directory":"allow","bash":"allow"},"provider":{"fake":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"http://127.0.0.1:PORT/v1","apiKey":"test"},"models":{"fake-model":{}}}}}"#,
            ),
            // At start it asks its registry for a package; an answer of 404 is enough, silence makes it wait.
            (".npmrc", "registry=http://127.0.0.1:PORT/\nfetch-retries=0\n"),
        ],
    },
    Agent {
        name: "codex",
        package: "@openai/codex",
        version: "0.171.0",
        program: "codex",
        // Whether a hook is trusted is the user's to decide; here it is.
        args: &[
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-hook-trust",
            "-s",
            "danger-full-access",
        ],
        env: &[("FAKE_KEY", "test")],
        files: &[(
            ".codex/config.toml",
            "model = \"fake-model\"\nmodel_provider = \"fake\"\ncheck_for_update_on_startup = false\n\n[model_providers.fake]\nname = \"fake\"\nbase_url = \"http://127.0.0.1:PORT/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\nsupports_websockets = false\n\n[analytics]\nenabled = false\n",
        )],
    },
    Agent {
        name: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        program: "gemini",
        args: &["--yolo", "-p"],
        env: &[
            ("GEMINI_API_KEY", "test"),
            ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:PORT"),
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
            // Else it asks another model which model to ask, and again when the answer is none it understands.
            ("GEMINI_MODEL", "gemini-2.5-flash"),
            ("GEMINI_TELEMETRY_ENABLED", "false"),
        ],
        files: &[(
            ".gemini/settings.json",
            r#"{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}"#,
        )],
    },
    Agent {
        name: "qwen",
        package: "@qwen-code/qwen-code",
        version: "0.24.4",
        program: "qwen",
        args: &["--yolo", "-p"],
        env: &[
            ("OPENAI_API_KEY", "test"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:PORT/v1"),
            ("OPENAI_MODEL", "fake-model"),
        ],
        files: &[],
    },
    Agent {
        name: "copilot",
        package: "@github/copilot",
        version: "1.0.102",
        program: "copilot",
        args: &[
            "--disable-client-telemetry",
            "--no-auto-update",
            "--allow-all-tools",
            "--allow-all-paths",
            "-p",
        ],
        env: &[
            ("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:PORT/v1"),
            ("COPILOT_PROVIDER_TYPE", "openai"),
            ("COPILOT_PROVIDER_API_KEY", "test"),
            ("COPILOT_MODEL", "fake-model"),
            ("COPILOT_OFFLINE", "true"),
        ],
        files: &[],
    },
    Agent {
        name: "droid",
        package: "@factory/cli-linux-x64",
        version: "0.225.2",
        program: "@factory/cli-linux-x64/bin/droid",
        args: &["exec", "--skip-permissions-unsafe", "-m", "custom:fake-model"],
        env: &[("FACTORY_API_KEY", "test")],
        files: &[(
            ".factory/settings.json",
            r#"{"customModels":[{"model":"fake-model","baseUrl":"http://127.0.0.1:PORT/v1","apiKey":"test","provider":"generic-chat-completion-api"}]}"#,
        )],
    },
];
