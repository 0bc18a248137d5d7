//! Scripts of other desktops' automation: AppleScript and PowerShell, as far as they run shells, delete or stop the
//! machine.

use blastradius_common::{RuleId, Verdict};

use crate::policy::effect::{Act, Follow};
use crate::programs::options::{Grammar, flag, value};
use crate::programs::verbs::word;
use crate::programs::{Call, Dialect, Input, Machine, Program, Surroundings, acts};
use crate::shell::value::{Abstract, Field};

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] =
    &[("osascript", osascript), ("pwsh", powershell), ("powershell", powershell), ("cmd", cmd)];

/// osascript(1): `-e LINE …`, a file, or standard input.
fn osascript(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar =
        Grammar::new(&[value("e", ""), value("l", ""), value("s", ""), flag("i", "")]).in_order();
    let parsed = GRAMMAR.read(call.args);
    let mut lines: Vec<Abstract> = parsed.values("e").map(|field| field.text.clone()).collect();
    if lines.is_empty() {
        match parsed.rest.first() {
            Some(file) if word(file) != "-" => lines.extend(machine.read_file(file)),
            _ => {
                if let Input::Text(text) = machine.stdin() {
                    lines.push(text);
                }
            }
        }
    }
    for line in lines {
        let known = line.as_known();
        if let Some(known) = known {
            applescript(&known, machine);
        }
    }
}

/// What System Events and Finder are told, and what a shell is.
fn applescript(text: &str, machine: &mut dyn Machine) {
    for script in shell_scripts(text) {
        machine.run_text(&Abstract::known(&script), Dialect::Posix, Vec::new(), Surroundings::default());
    }
    let lower = without_strings(text).to_lowercase();
    if ["shut down", "restart", "log out"].iter().any(|verb| lower.contains(verb)) {
        acts::thing(machine, RuleId::PowerState, "asks the system to stop or to log out", "");
    }
    if lower.contains("empty trash") || lower.contains("empty the trash") {
        let trash = Field { source: "~/.Trash".into(), tilde: true, ..Field::literal("~/.Trash") };
        let what = "empties the trash";
        acts::judged_thing(machine, RuleId::OutOfScope, Verdict::Confirm, what, trash.source.to_string());
    } else if lower.contains("delete ") && lower.contains("finder") {
        acts::judged_thing(
            machine,
            RuleId::UnknownOperand,
            Verdict::Confirm,
            "has Finder delete something",
            "",
        );
    }
}

/// The literal text behind each `do shell script`.
fn shell_scripts(text: &str) -> Vec<String> {
    text.split("do shell script").skip(1).filter_map(|rest| literal(rest.trim_start())).collect()
}

/// A string that begins here, escapes undone.
fn literal(text: &str) -> Option<String> {
    let mut letters = text.strip_prefix('"')?.chars();
    let mut plain = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some(plain),
            '\\' => plain.extend(letters.next()),
            _ => plain.push(letter),
        }
    }
    Some(plain)
}

/// The text with the names of applications kept and other strings taken out: what is displayed is no command.
fn without_strings(text: &str) -> String {
    text.split('"')
        .enumerate()
        .filter(|(place, part)| place % 2 == 0 || matches!(*part, "Finder" | "System Events" | "loginwindow"))
        .map(|(_, part)| part)
        .collect()
}

/// pwsh(1): `-Command TEXT`.
fn powershell(call: &Call<'_>, machine: &mut dyn Machine) {
    let words: Vec<_> = call.args.iter().map(word).collect();
    let command = words.iter().position(|arg| {
        let lower = arg.to_lowercase();
        lower.len() > 1 && ("-command".starts_with(&lower) || lower == "/c") && lower.starts_with(['-', '/'])
    });
    let text = match command {
        Some(place) => words.get(place + 1..).unwrap_or_default().join(" "),
        None if words.iter().all(|arg| !arg.starts_with('-')) => words.join(" "),
        None => return,
    };
    for statement in text.split([';', '|', '\n', '{', '}']) {
        cmdlet(statement, machine);
    }
}

/// One command of PowerShell.
fn cmdlet(statement: &str, machine: &mut dyn Machine) {
    let mut words = crate::programs::git::split(statement).into_iter();
    let Some(name) = words.next() else { return };
    match name.to_lowercase().as_str() {
        "remove-item" | "rm" | "ri" | "del" | "erase" | "rd" | "rmdir" => {
            let (options, paths): (Vec<String>, Vec<String>) = words.partition(|word| word.starts_with('-'));
            let recursive = options.iter().any(|option| "-recurse".starts_with(&option.to_lowercase()));
            if options.iter().any(|option| option.eq_ignore_ascii_case("-whatif")) {
                return;
            }
            for path in paths.iter().flat_map(|paths| paths.split(',')).filter(|path| !path.is_empty()) {
                let operand = expanded(path, machine);
                acts::path(machine, Act::Remove { recursive }, &operand, Follow::Never);
            }
        }
        "stop-computer" | "restart-computer" => {
            acts::thing(machine, RuleId::PowerState, "stops the machine", name)
        }
        "format-volume" | "clear-disk" | "initialize-disk" | "remove-partition" => {
            acts::thing(machine, RuleId::StorageStack, "erases a disk or partition", name);
        }
        "clear-content" | "set-content" => {
            for path in words.filter(|word| !word.starts_with('-')).take(1) {
                let operand = expanded(&path, machine);
                acts::truncate(machine, &operand);
            }
        }
        _ => {}
    }
}

/// `~`, `$HOME` and `$env:HOME` are the home; other variables are not known.
fn expanded(path: &str, machine: &dyn Machine) -> Field {
    let home = || machine.variable("HOME").unwrap_or_default();
    for prefix in ["~", "$env:HOME", "$HOME"] {
        if let Some(rest) = path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        {
            let mut text = home();
            text.push_text(rest);
            return Field { text, glob: None, source: path.into(), tilde: false };
        }
    }
    if path.contains('$') {
        let text = Abstract::unknown(crate::shell::value::Cause::NotModelled(path.into()));
        return Field { text, glob: None, source: path.into(), tilde: false };
    }
    drive(path).map_or_else(|| Field::literal(path), |path| Field::literal(&path))
}

/// `C:\Users` is `/mnt/c/Users` where Windows' programs are called from Linux.
fn drive(path: &str) -> Option<String> {
    let mut letters = path.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?.to_ascii_lowercase();
    let rest = letters.as_str().strip_prefix(':')?;
    Some(format!("/mnt/{letter}/{}", rest.replace('\\', "/").trim_start_matches('/')))
}

/// cmd.exe: `/c TEXT`.
fn cmd(call: &Call<'_>, machine: &mut dyn Machine) {
    let words: Vec<_> = call.args.iter().map(word).collect();
    let Some(place) = words.iter().position(|arg| matches!(&*arg.to_lowercase(), "/c" | "/k")) else {
        return;
    };
    let text = words.get(place + 1..).unwrap_or_default().join(" ");
    for statement in text.split(['&', '|', '\n']) {
        let mut words = statement.split_whitespace();
        let Some(name) = words.next() else { continue };
        let (switches, paths): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with('/'));
        let recursive = switches.iter().any(|switch| switch.eq_ignore_ascii_case("/s"));
        match name.to_lowercase().as_str() {
            "rd" | "rmdir" | "del" | "erase" => {
                for path in paths {
                    let path = path.trim_matches('"');
                    let operand =
                        drive(path).map_or_else(|| Field::literal(path), |path| Field::literal(&path));
                    acts::path(machine, Act::Remove { recursive }, &operand, Follow::Never);
                }
            }
            "format" => {
                acts::thing(machine, RuleId::StorageStack, "erases a disk or partition", paths.join(" "))
            }
            "shutdown" => acts::thing(machine, RuleId::PowerState, "stops the machine", name.to_owned()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    #[test]
    fn applescript_runs_shells_and_stops_machines() {
        let run = |line: &str| Recorder::default().call(osascript, line);
        assert_eq!(run("osascript -e 'do shell script \"rm -rf /x\"'").sourced(), ["rm -rf /x"]);
        assert_eq!(
            run("osascript -e 'tell app \"System Events\" to shut down'").told(),
            ["[power-state default] "]
        );
        assert_eq!(run("osascript -e 'tell app \"Finder\" to empty trash'").told().len(), 1);
        assert!(run("osascript -e 'display notification \"restart done\"'").is_harmless());
        assert!(run("osascript -e 'tell app \"Safari\" to activate'").is_harmless());
    }

    #[test]
    fn powershell_removes_items() {
        let told = |line: &str| Recorder::default().env("HOME", "/home/dev").call(powershell, line).told();
        assert_eq!(told("pwsh -c 'Remove-Item -Recurse -Force /etc'"), ["remove-tree /etc"]);
        assert_eq!(told("pwsh -NoProfile -Command 'rm ~/x; Get-Date'"), ["remove /home/dev/x"]);
        assert_eq!(told("pwsh -c 'Restart-Computer'"), ["[power-state default] Restart-Computer"]);
        assert!(told("pwsh -c 'Get-ChildItem /etc'").is_empty());
        assert!(told("pwsh -c 'Remove-Item /etc -WhatIf'").is_empty());
        assert!(told("pwsh -File x.ps1").is_empty());
    }
}
