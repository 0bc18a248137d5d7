//! git's configuration, as far as a call's meaning depends on it: aliases, and what `-c` sets.

use crate::policy::effect::Base;
use crate::programs::Machine;
use crate::programs::git::Git;
use crate::programs::words;
use crate::shell::value::{Abstract, Field};

/// `-c NAME=VALUE`. Section and key are case-insensitive; without `=` the value is true (git(1)).
pub(crate) fn setting(field: &Field) -> Option<(String, Abstract)> {
    let lead = words::lead(&field.text);
    match lead.split_once('=') {
        Some((name, _)) => Some((name.to_lowercase(), words::without_prefix(field, name.len() + 1).text)),
        None if field.text.has_hole() => None,
        None => Some((lead.to_lowercase(), Abstract::known("true"))),
    }
}

/// What the alias stands for that the call's verb names, looked for where git looks, nearest first.
pub(crate) fn alias(call: &Git<'_>, machine: &mut dyn Machine) -> Option<Abstract> {
    if let Some(text) = call.setting(&format!("alias.{}", call.verb.to_lowercase())) {
        return Some(text.clone());
    }
    let found = files(call, machine).iter().find_map(|path| in_file(machine, path, "alias", call.verb));
    found.map(|text| Abstract::known(&text))
}

/// Whether the configuration files switch `section.key` off.
pub(crate) fn is_off(call: &Git<'_>, machine: &mut dyn Machine, section: &str, key: &str) -> bool {
    let said = match call.setting(&format!("{section}.{key}")) {
        Some(text) => text.as_known().map(|known| known.into_owned()),
        None => files(call, machine).iter().find_map(|path| in_file(machine, path, section, key)),
    };
    said.is_some_and(|value| matches!(value.to_lowercase().as_str(), "false" | "no" | "off" | "0" | ""))
}

fn in_file(machine: &mut dyn Machine, path: &str, section: &str, key: &str) -> Option<String> {
    let text = machine.read_file(&Field::literal(path))?;
    lookup(&text.as_known()?, section, key)
}

/// The configuration files of one call, nearest first: the repository's, the user's, the system's.
fn files(call: &Git<'_>, machine: &dyn Machine) -> Vec<String> {
    let mut files = Vec::new();
    if let Base::Known(start) = &call.base {
        // A directory without `.git/config` reads as absent; the walk is as deep as the path.
        files.extend(start.ancestors().map(|above| above.join(".git/config").to_string_lossy().into_owned()));
    }
    let home = machine.variable("HOME");
    if let Some(home) = home.as_ref().and_then(Abstract::as_known).filter(|home| !home.is_empty()) {
        files.extend([format!("{home}/.gitconfig"), format!("{home}/.config/git/config")]);
    }
    files.push("/etc/gitconfig".to_owned());
    files
}

/// The last value of `key` in `[section]`, by git-config(1), "Syntax". Includes are not followed.
fn lookup(text: &str, section: &str, key: &str) -> Option<String> {
    let mut inside = false;
    let mut found = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            inside = header.split(']').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(section));
            continue;
        }
        if !inside || line.starts_with(['#', ';']) {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "true"));
        let mut value = value.trim().to_owned();
        while value.ends_with('\\') {
            value.pop();
            value.push_str(lines.next().unwrap_or_default().trim());
        }
        if name.trim().eq_ignore_ascii_case(key) {
            found = Some(unquote(&value));
        }
    }
    found
}

/// A value without its quotes, escapes and trailing comment.
fn unquote(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut quoted = false;
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '\\' => match letters.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some(other) => plain.push(other),
                None => {}
            },
            '#' | ';' if !quoted => break,
            _ => plain.push(letter),
        }
    }
    plain.trim_end().to_owned()
}

/// The words of an alias, quotes as a shell reads them (git splits with split_cmdline, which knows `'`, `"` and `\`).
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, Some(open)) if open == letter => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(letters.next()),
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[test]
fn an_alias_is_split_as_a_shell_would() {
    assert_eq!(split(r#"reset  --hard 'a b' "c \"d" ''"#), ["reset", "--hard", "a b", "c \"d", ""]);
}

#[test]
fn the_last_value_of_a_section_counts() {
    let text = "[core]\n\twipe = no\n[alias] # mine\n\tst = status\n\tWipe = \"reset --hard\" ; gone\n\tx = !rm \\\n -rf y\n";
    assert_eq!(lookup(text, "alias", "wipe").as_deref(), Some("reset --hard"));
    assert_eq!(lookup(text, "alias", "x").as_deref(), Some("!rm -rf y"));
    assert_eq!(lookup(text, "alias", "none"), None);
}
