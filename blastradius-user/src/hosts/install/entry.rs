//! Which command is ours?

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;

use super::super::table::{Config, Edit, fill};

/// What is put into a host's hook file.
pub struct Entry {
    /// The host's name.
    host: &'static str,
    /// This program.
    program: String,
    /// What is put where.
    pub(super) edits: &'static [Edit],
}

impl Entry {
    /// The entry of `host` for this program.
    pub fn new(host: &'static str, config: &Config, program: &Path) -> Self {
        Self { host, program: program.to_string_lossy().into_owned(), edits: config.edits }
    }

    /// The command that the host is to run. A shell reads it, or something that splits words as a shell does.
    pub fn command(&self) -> String {
        format!("{} hook --agent {}", quote(&self.program), self.host)
    }

    /// A template with the command and the program filled in.
    pub(super) fn fill(&self, template: &str) -> String {
        let template = template.replace("%COMMANDLINE", &self.command());
        fill(&template, &[("%COMMAND", &self.command()), ("%PROGRAM", &self.program)])
    }

    /// A template that is JSON, filled in.
    pub(super) fn value(&self, template: &str) -> Value {
        // The templates are constants, and a test parses each of them.
        serde_json::from_str(&self.fill(template)).unwrap_or(Value::Null)
    }

    /// Whether a string of a hook file is a command of ours: of this program, or of one that was called by our name.
    pub fn is_ours(&self, command: &str) -> bool {
        let Some(program) = command.trim().strip_suffix(&format!(" hook --agent {}", self.host)) else {
            return false;
        };
        program == quote(&self.program)
            || unquote(program).rsplit('/').next().is_some_and(|name| name.starts_with("blastradius"))
    }

    /// Whether a value of a hook file is or holds a command of ours.
    pub(super) fn is_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.is_ours(text),
            Value::Array(items) => items.iter().any(|item| self.is_in(item)),
            Value::Object(map) => map.values().any(|item| self.is_in(item)),
            _ => false,
        }
    }

    /// How the program is spelled in a hook file.
    pub(super) fn program_in_file(&self) -> String {
        let json = Value::from(self.program.as_str()).to_string();
        json.trim_matches('"').to_owned()
    }
}

/// A word as a POSIX shell needs it.
fn quote(word: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@%:,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

fn unquote(word: &str) -> String {
    match word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
        Some(word) => word.replace(r"'\''", "'"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::table::HOSTS;
    use super::*;

    fn entries() -> impl Iterator<Item = (Entry, &'static Config)> {
        let with_config = HOSTS.iter().filter_map(|host| Some((host, host.config.as_ref()?)));
        with_config
            .map(|(host, config)| (Entry::new(host.name, config, Path::new("/opt/my tools/o'br")), config))
    }

    #[test]
    fn every_template_is_what_it_should_be() {
        for (entry, config) in entries() {
            for edit in config.edits {
                match edit {
                    Edit::Append(_, template) => {
                        let value = entry.value(template);
                        assert!(value.is_object() && entry.is_in(&value), "{template}");
                    }
                    Edit::Default(_, template) => assert!(!entry.value(template).is_null(), "{template}"),
                    Edit::Content(template) => {
                        assert!(!entry.fill(template).contains("%COMMAND"), "{}", entry.host)
                    }
                }
            }
        }
    }

    #[test]
    fn a_command_is_ours_by_its_program_and_its_host() {
        let (entry, _) = entries().find(|(entry, _)| entry.host == "codex").expect("an entry");
        assert!(entry.is_ours(&entry.command()));
        assert!(entry.is_ours("/usr/bin/blastradius hook --agent codex"));
        assert!(entry.is_ours("'/a b/blastradius-1.2' hook --agent codex"));
        assert!(!entry.is_ours("/usr/bin/blastradius hook --agent gemini"));
        assert!(!entry.is_ours("/usr/bin/otherguard hook --agent codex"));
        assert!(!entry.is_ours("/usr/bin/blastradius hook"));
    }
}
