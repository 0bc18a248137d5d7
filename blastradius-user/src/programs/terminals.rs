//! Commands that run in another terminal: script(1), tmux(1), screen(1).

use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::wrappers::{directory_base, run};
use crate::programs::{Call, Dialect, Machine, Program, Surroundings, acts, shells};
use crate::shell::value::{Abstract, Field};

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] =
    &[("script", script), ("tmux", tmux), ("screen", screen), ("expect", expect)];

static SCRIPT: Grammar = Grammar::new(&[
    value("c", "command"),
    flag("a", "append"),
    value("IOBTEmo", "log-in|log-out|log-io|log-timing|echo|logging-format|output-limit"),
    optional("t", "timing"),
    flag("efqdprkF", "return|flush|force|quiet"),
    flag("h", "help"),
    flag("V", "version"),
])
.in_order();

/// `script [-c TEXT] [FILE]`, and `script FILE COMMAND…` of the BSDs. The typescript is written anew.
fn script(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SCRIPT.read(call.args);
    if parsed.informs() {
        return;
    }
    let (file, rest) = match parsed.rest.split_first() {
        Some((file, rest)) => (Some(file), SCRIPT.read(rest)),
        None => (None, SCRIPT.read(&[])),
    };
    if let Some(file) = file.filter(|_| !parsed.has("append")) {
        acts::truncate(machine, file);
        acts::creates(machine, file);
    }
    let text = parsed.value("command").or_else(|| rest.value("command"));
    if let Some(text) = text {
        machine.run_text(&text.text, Dialect::Posix, Vec::new(), Surroundings::default());
    } else if rest.rest.is_empty() {
        shells::run_stdin(machine, Dialect::Bash, Vec::new(), Surroundings::default());
    } else {
        run(machine, rest.rest.to_vec(), Surroundings::default());
    }
}

static TMUX: Grammar = Grammar::new(&[value("c", ""), value("fLST", ""), flag("2CDhlNuUvV", "")]).in_order();

/// Commands of tmux(1) that start a program in a pane, with the options that take an argument.
const PANES: &[&str] = &[
    "new-session",
    "new",
    "new-window",
    "neww",
    "split-window",
    "splitw",
    "respawn-pane",
    "respawnp",
    "respawn-window",
    "respawnw",
    "display-popup",
    "popup",
];
static PANE: Grammar =
    Grammar::new(&[value("c", ""), value("eFfnstxylpbBdhHSTwW", ""), flag("ADEPXZakIvC", "")]).in_order();
/// `-d`, `-h` and `-b` are flags, save for a popup.
static SPLIT: Grammar =
    Grammar::new(&[value("c", ""), value("eFfnstxylpS", ""), flag("ADEPXZakIvCdhbB", "")]).in_order();
static RUN_SHELL: Grammar = Grammar::new(&[value("cdt", ""), flag("bC", "")]).in_order();
static SEND_KEYS: Grammar = Grammar::new(&[value("cNt", ""), flag("FHKlMRX", "")]).in_order();

fn tmux(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = TMUX.read(call.args);
    if let Some(text) = parsed.value("c") {
        machine.run_text(&text.text, Dialect::Posix, Vec::new(), Surroundings::default());
    }
    let ends = |word: &Field| matches!(word.as_known().as_deref(), Some(";" | "\\;"));
    for command in parsed.rest.split(ends) {
        let Some((verb, rest)) = command.split_first() else { continue };
        match verb.as_known().as_deref() {
            Some("display-popup" | "popup") => pane(machine, &PANE, rest),
            Some(name) if PANES.contains(&name) => pane(machine, &SPLIT, rest),
            Some("run-shell" | "run" | "if-shell" | "if") => {
                texts(machine, RUN_SHELL.read(rest).rest.iter().take(1));
            }
            Some("send-keys" | "send") => texts(machine, SEND_KEYS.read(rest).rest.iter().filter(is_text)),
            Some("pipe-pane" | "pipep") => texts(machine, SEND_KEYS.read(rest).rest.iter()),
            _ => {}
        }
    }
}

/// One word is a text for the shell; several are an argv.
fn pane(machine: &mut dyn Machine, grammar: &Grammar, rest: &[Field]) {
    let parsed = grammar.read(rest);
    let cwd = parsed.value("c").map(|directory| directory_base(machine, directory));
    let surroundings = Surroundings { cwd, ..Surroundings::default() };
    match parsed.rest {
        [text] => machine.run_text(&text.text, Dialect::Posix, Vec::new(), surroundings),
        argv => run(machine, argv.to_vec(), surroundings),
    }
}

fn texts<'a>(machine: &mut dyn Machine, texts: impl Iterator<Item = &'a Field>) {
    for text in texts {
        machine.run_text(&text.text, Dialect::Bash, Vec::new(), Surroundings::default());
    }
}

/// What is typed into a terminal, and not the name of a key.
fn is_text(key: &&Field) -> bool {
    let name = key.as_known();
    let is_key =
        matches!(name.as_deref(), Some("Enter" | "Space" | "Escape" | "Tab" | "Up" | "Down" | "KPEnter"))
            || name.as_deref().is_some_and(|name| name.starts_with("C-") || name.starts_with("M-"));
    !is_key
}

/// Letters that take an optional argument do so only as a word of its own: `-dmS name` is four letters.
static SCREEN: Grammar =
    Grammar::new(&[value("cehpsStT", ""), flag("drRxaADfilmnOqQUvwL", "ls|list|wipe"), flag("X", "")])
        .in_order();

/// `screen -dm COMMAND…`, `screen -X stuff TEXT`.
fn screen(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = SCREEN.read(call.args);
    if !parsed.has("X") {
        run(machine, parsed.rest.to_vec(), Surroundings::default());
        return;
    }
    match parsed.rest {
        [verb, text] if verb.as_known().as_deref() == Some("stuff") => texts(machine, std::iter::once(text)),
        [verb, argv @ ..] if verb.as_known().as_deref() == Some("exec") => {
            run(machine, argv.to_vec(), Surroundings::default());
        }
        _ => {}
    }
}

/// expect(1): `spawn ARGV` and `exec ARGV` of the code behind `-c`.
fn expect(call: &Call<'_>, machine: &mut dyn Machine) {
    static EXPECT: Grammar = Grammar::new(&[value("cDf", ""), flag("dinNvb", "")]).in_order();
    let parsed = EXPECT.read(call.args);
    for code in parsed.values("c").filter_map(Field::as_known) {
        for command in code.split([';', '\n']).map(str::trim) {
            let spawned = ["spawn ", "exec "].iter().find_map(|verb| command.strip_prefix(verb));
            if let Some(text) = spawned {
                let text = Abstract::known(text);
                machine.run_text(&text, Dialect::Posix, Vec::new(), Surroundings::default());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    #[track_caller]
    fn runs(program: Program, line: &str) {
        let recorder = Recorder::default().call(program, line);
        assert_eq!([recorder.ran(), recorder.sourced()].concat(), ["rm -rf x"], "{line}");
    }

    #[test]
    fn terminals_run_their_command() {
        runs(script, "script -c 'rm -rf x' /dev/null");
        runs(script, "script -q /dev/null rm -rf x");
        runs(script, "script -q log -c 'rm -rf x'");
        runs(tmux, "tmux new-session -ds probe 'rm -rf x'");
        runs(tmux, "tmux -L s new -d -s a -c /w rm -rf x");
        runs(tmux, "tmux start-server ; split-window -h 'rm -rf x'");
        runs(tmux, "tmux send-keys -t a 'rm -rf x' Enter");
        runs(tmux, "tmux run-shell -b 'rm -rf x'");
        runs(screen, "screen -dm rm -rf x");
        runs(screen, "screen -dmS name rm -rf x");
        runs(screen, "screen -S name -X stuff 'rm -rf x'");
    }

    #[test]
    fn a_typescript_is_written_anew() {
        assert_eq!(Recorder::default().call(script, "script log").told(), ["truncate log"]);
        assert!(Recorder::default().call(script, "script -a log").told().is_empty());
    }

    #[test]
    fn attaching_runs_nothing() {
        assert!(Recorder::default().call(tmux, "tmux attach -t rm").is_harmless());
        assert!(Recorder::default().call(screen, "screen -ls").is_harmless());
        assert!(Recorder::default().call(tmux, "tmux kill-session -t a").is_harmless());
    }
}
