//! Hook files before, with our hook in them, and after it was taken out.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use blastradius::hosts::install::site::{Scope, Site};
use blastradius::hosts::install::{Change, InstallError, file, install, is_installed, uninstall};
use blastradius::hosts::table::{self, Format, HOSTS, Host};
use tempfile::TempDir;

struct Machine {
    root: TempDir,
    site: Site,
}

impl Machine {
    fn new() -> Self {
        let root = TempDir::new().expect("a temporary directory");
        let at = |name: &str| root.path().join(name);
        for name in ["home", "project"] {
            fs::create_dir(at(name)).expect("made");
        }
        let site = Site {
            home: at("home"),
            project: at("project"),
            state: at("state/blastradius/hosts"),
            program: PathBuf::from("/opt/my tools/blastradius"),
            env: HashMap::new(),
        };
        Self { root, site }
    }

    fn path(&self, host: &Host, scope: Scope) -> PathBuf {
        file(host, scope, &self.site).expect("a hook file").0
    }

    fn with(&self, host: &Host, scope: Scope, text: &str) -> PathBuf {
        let path = self.path(host, scope);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    /// Every file and directory of the home and the project, with contents.
    fn snapshot(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let mut found = Vec::new();
        let mut todo = vec![self.site.home.clone(), self.site.project.clone()];
        while let Some(directory) = todo.pop() {
            for entry in fs::read_dir(&directory).expect("read") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    todo.push(path.clone());
                    found.push((path, None));
                } else {
                    let content = fs::read(&path).expect("read");
                    found.push((path, Some(content)));
                }
            }
        }
        found.sort();
        found
    }
}

fn host(name: &str) -> &'static Host {
    table::find(name).expect("a host")
}

fn all() -> impl Iterator<Item = (&'static Host, Scope)> {
    let both = |host: &'static Host| [Scope::Project, Scope::Global].map(|scope| (host, scope));
    HOSTS.iter().flat_map(both).filter(|(host, scope)| {
        host.config.as_ref().is_some_and(|config| match scope {
            Scope::Project => config.project.is_some(),
            Scope::Global => config.global.is_some(),
        })
    })
}

/// Contents that a hook file of the format may have, none of which an installer may lose a byte of.
fn contents(format: Format) -> Vec<&'static str> {
    match format {
        Format::Json => vec![
            "",
            "{}",
            "{}\n",
            "{ }",
            "{\n\t\"theme\": \"dark\"\n}\n",
            "{\"a\":1,\"hookless\":{}}",
            "{\r\n  \"a\": [1, 2],\r\n  \"b\": {\"c\": null}\r\n}\r\n",
            "// mine\n{\n  // a comment\n  \"z\": 1, /* another */\n  \"a\": 2, // last\n}\n// end\n",
            "{\n    \"é\": \"\\u00e9 \\\"quoted\\\"\",\n    \"n\": 1.50e3\n}",
        ],
        Format::Toml => vec![
            "",
            "# mine\nmodel = \"x\" # why\n",
            "model = 'x'\n\n[table]\nb = 1\na   =   2\n\n[[hooks]]\nevent = \"Stop\"\ncommand = \"say done\"\n",
        ],
        Format::Yaml => vec![
            "",
            "# only a comment\n",
            "model:\n  default: x # why\nlist: [a, b]\n",
            "model: x",
            "hooks:\nmodel: x\n",
            "hooks:\n  on_session_start:\n    - command: say hello\nmodel: x\n",
            "a: 1\nhooks:\n    pre_tool_call:\n    # the other guard\n    - command: /foreign/hook.sh\n      matcher: terminal\n\nb: 2\n",
            "hooks:\n  pre_tool_call:\n    - matcher: terminal\n      command: /foreign/hook.sh\n",
        ],
        Format::Own { .. } => vec![""],
    }
}

#[test]
fn installed_once_and_taken_out_every_byte_is_as_before() {
    for (host, scope) in all() {
        let config = host.config.as_ref().expect("a config");
        for text in contents(config.format) {
            let machine = Machine::new();
            let path = machine.with(host, scope, text);
            let title = format!("{} {scope} {text:?}", host.name);
            let before = machine.snapshot();
            let done = install(host, scope, &machine.site).unwrap_or_else(|error| panic!("{title}: {error}"));
            assert_eq!(done.change, Change::Written, "{title}");
            let after = fs::read_to_string(&path).expect("read");
            assert_ne!(after, text, "{title}");
            assert!(is_installed(host, scope, &machine.site).expect("read"), "{title}");
            if let Some(backup) = done.backup {
                assert_eq!(fs::read_to_string(backup).expect("a backup"), text, "{title}");
            }
            assert_eq!(
                install(host, scope, &machine.site).expect("installed").change,
                Change::None,
                "{title}"
            );
            assert_eq!(fs::read_to_string(&path).expect("read"), after, "{title}: twice");
            let undone = uninstall(host, scope, &machine.site).expect("taken out");
            assert_eq!(undone.change, Change::Restored, "{title}");
            assert_eq!(machine.snapshot(), before, "{title}");
            assert_eq!(
                uninstall(host, scope, &machine.site).expect("nothing").change,
                Change::None,
                "{title}"
            );
        }
    }
}

#[test]
fn where_nothing_was_nothing_is_left() {
    for (host, scope) in all() {
        let machine = Machine::new();
        let done = install(host, scope, &machine.site).expect("installed");
        assert_eq!((done.change, done.backup), (Change::Written, None), "{}", host.name);
        uninstall(host, scope, &machine.site).expect("taken out");
        assert_eq!(machine.snapshot(), [], "{} {scope}", host.name);
    }
}

#[test]
fn what_others_wrote_since_stays() {
    let machine = Machine::new();
    let claude = host("claude-code");
    let theirs = r#"{"matcher":"Bash","hooks":[{"type":"command","command":"their guard"}]}"#;
    let path = machine.with(
        claude,
        Scope::Global,
        &format!("{{\n  \"hooks\": {{\"PreToolUse\": [{theirs}]}}\n}}\n"),
    );
    install(claude, Scope::Global, &machine.site).expect("installed");
    let text = fs::read_to_string(&path).expect("read");
    fs::write(&path, text.replacen('{', "{\n  \"theme\": \"dark\",", 1)).expect("written");
    let undone = uninstall(claude, Scope::Global, &machine.site).expect("taken out");
    assert_eq!(undone.change, Change::Removed);
    let text = fs::read_to_string(&path).expect("read");
    assert!(text.contains(theirs) && text.contains("\"theme\": \"dark\""), "{text}");
    assert!(!text.contains("blastradius") && !text.contains("PostToolUse"), "{text}");
}

#[test]
fn of_a_group_that_holds_both_only_our_handler_goes() {
    let machine = Machine::new();
    let claude = host("claude-code");
    let ours = "'/opt/my tools/blastradius' hook --agent claude-code";
    let text = format!(
        r#"{{"hooks":{{"PreToolUse":[{{"matcher":"Bash","hooks":[{{"type":"command","command":"their guard"}},{{"type":"command","command":"{ours}"}}]}}]}}}}"#
    );
    let path = machine.with(claude, Scope::Project, &text);
    uninstall(claude, Scope::Project, &machine.site).expect("taken out");
    let text = fs::read_to_string(&path).expect("read");
    assert!(text.contains("their guard") && !text.contains("blastradius"), "{text}");
}

#[test]
fn a_yaml_file_that_was_changed_since_loses_only_our_item() {
    let machine = Machine::new();
    let hermes = host("hermes");
    let path = machine.with(hermes, Scope::Global, "model: x\n");
    install(hermes, Scope::Global, &machine.site).expect("installed");
    let text = fs::read_to_string(&path).expect("read");
    fs::write(&path, format!("{text}later: true\n")).expect("written");
    uninstall(hermes, Scope::Global, &machine.site).expect("taken out");
    assert_eq!(fs::read_to_string(&path).expect("read"), "model: x\nlater: true\n");
}

#[test]
fn a_moved_program_replaces_its_old_entry() {
    let mut machine = Machine::new();
    let cursor = host("cursor");
    let path = machine.with(cursor, Scope::Global, "{\n  \"version\": 1\n}\n");
    let before = machine.snapshot();
    install(cursor, Scope::Global, &machine.site).expect("installed");
    machine.site.program = "/usr/bin/blastradius".into();
    assert!(!is_installed(cursor, Scope::Global, &machine.site).expect("read"));
    install(cursor, Scope::Global, &machine.site).expect("installed again");
    let text = fs::read_to_string(&path).expect("read");
    assert_eq!(text.matches("hook --agent cursor").count(), 2, "one for each event: {text}");
    assert!(!text.contains("my tools"), "{text}");
    uninstall(cursor, Scope::Global, &machine.site).expect("taken out");
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn a_file_that_is_not_understood_is_left_as_it_is() {
    let cases = [
        ("claude-code", "{\"hooks\": "),
        ("claude-code", "[]"),
        ("claude-code", "{\"hooks\": []}"),
        ("claude-code", "{\"hooks\": {\"PreToolUse\": {}}}"),
        ("claude-code", "{\"hooks\": {}, \"hooks\": {}}"),
        ("claude-code", "{hooks: {}}"),
        ("claude-code", "{'hooks': {}}"),
        ("kimi", "model = "),
        ("kimi", "hooks = 7"),
        ("hermes", "a: [1,"),
        ("hermes", "- a\n- b\n"),
        ("hermes", "hooks: {pre_tool_call: []}\n"),
        ("hermes", "hooks: &anchor\n  x: 1\n"),
        ("hermes", "hooks: 1\n"),
        ("cline", "#!/bin/sh\nexit 0\n"),
        ("pi", "export default function () {}\n"),
    ];
    for (name, text) in cases {
        let machine = Machine::new();
        machine.with(host(name), Scope::Global, text);
        let before = machine.snapshot();
        let error = install(host(name), Scope::Global, &machine.site).expect_err(text);
        assert!(
            matches!(error, InstallError::NotUnderstood { .. } | InstallError::NotOurs { .. }),
            "{name} {text}: {error}"
        );
        assert_eq!(machine.snapshot(), before, "{name} {text}");
        assert!(!machine.site.state.exists(), "{name} {text}: nothing was recorded");
    }
    let machine = Machine::new();
    let path = machine.with(host("gemini"), Scope::Global, "");
    fs::write(&path, b"{\"a\":\"\xFF\"}").expect("written");
    assert!(install(host("gemini"), Scope::Global, &machine.site).is_err());
    assert_eq!(fs::read(&path).expect("read"), b"{\"a\":\"\xFF\"}");
}

#[test]
fn a_link_stays_a_link_and_a_mode_stays_a_mode() {
    let machine = Machine::new();
    let claude = host("claude-code");
    let real = machine.root.path().join("dotfiles.json");
    fs::write(&real, "{}\n").expect("written");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).expect("set");
    let path = machine.path(claude, Scope::Global);
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    symlink(&real, &path).expect("linked");
    install(claude, Scope::Global, &machine.site).expect("installed");
    assert!(path.is_symlink());
    assert!(fs::read_to_string(&real).expect("read").contains("hook --agent claude-code"));
    assert_eq!(fs::metadata(&real).expect("there").permissions().mode() & 0o777, 0o600);
    uninstall(claude, Scope::Global, &machine.site).expect("taken out");
    assert!(path.is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("read"), "{}\n");
}

#[test]
fn a_script_is_executable_and_names_the_program() {
    let machine = Machine::new();
    let cline = host("cline");
    install(cline, Scope::Project, &machine.site).expect("installed");
    let path = machine.path(cline, Scope::Project);
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o111, 0o111);
    let text = fs::read_to_string(&path).expect("read");
    assert!(text.ends_with("exec '/opt/my tools/blastradius' hook --agent cline\n"), "{text}");
}

#[test]
fn a_variable_that_moves_the_hosts_directory_is_heeded() {
    let mut machine = Machine::new();
    let elsewhere = machine.root.path().join("elsewhere");
    machine.site.env.insert("CLAUDE_CONFIG_DIR".into(), elsewhere.clone().into());
    let path = machine.path(host("claude-code"), Scope::Global);
    assert_eq!(path, elsewhere.join("settings.json"));
    machine.site.env.insert("CLAUDE_CONFIG_DIR".into(), "relative".into());
    let path = machine.path(host("claude-code"), Scope::Global);
    assert_eq!(path, Path::new(&machine.site.home).join(".claude/settings.json"));
}

#[test]
fn what_claude_code_gets_is_what_was_measured_to_hold() {
    let machine = Machine::new();
    let claude = host("claude-code");
    install(claude, Scope::Global, &machine.site).expect("installed");
    let text = fs::read_to_string(machine.path(claude, Scope::Global)).expect("read");
    let settings: serde_json::Value = serde_json::from_str(&text).expect("plain JSON");
    let handler = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(handler["command"], "'/opt/my tools/blastradius' hook --agent claude-code");
    assert_eq!(handler["onFailure"], "block");
    assert!(handler["timeout"].as_u64().is_some_and(|seconds| seconds == u64::from(table::TIMEOUT_SECONDS)));
    for event in ["PostToolUse", "PostToolUseFailure"] {
        assert!(settings["hooks"][event][0]["hooks"][0]["command"].is_string(), "{event}");
    }
}
