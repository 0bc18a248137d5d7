//! Editors and pagers that are handed their commands: what they save, remove, and have a shell run.

use super::options::{Grammar, flag, optional, value};
use super::{Call, Dialect, Input, Machine, Program, Surroundings, acts, words};
use crate::policy::effect::{Act, Follow};
use crate::shell::value::{Abstract, Field};

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("vim", editor),
    ("vi", editor),
    ("nvim", editor),
    ("view", editor),
    ("ex", ex),
    ("ed", line_editor),
    ("red", line_editor),
    ("emacs", emacs),
    ("less", pager),
    ("more", pager),
    ("man", man),
];

static EDITOR: Grammar = Grammar::new(&[
    value("c", "cmd"),
    value("SuUiTWw", ""),
    // Behind `-e` it means silence, elsewhere a file of commands follows.
    optional("s", ""),
    flag("eEnRmMbldvVyZNAHFr", "clean|noplugin|headless|not-a-term|embed"),
])
.plus();

static EX: Grammar = Grammar::new(&[
    value("c", "cmd"),
    value("SuUiTWw", ""),
    flag("seEnRmMbldvVyZNAHFr", "clean|noplugin|headless|not-a-term"),
])
.plus();

/// Ex commands that save what is edited: in the file that they name, or else in the one that was opened.
const SAVES: &[&str] = &[
    "w", "wr", "write", "wq", "x", "xit", "exi", "exit", "up", "update", "wn", "wnext", "sav", "saveas",
    "wa", "wall", "wqa", "wqall", "xa", "xall",
];

/// Ex commands that hand the rest of the line to a shell.
const SHELLS: &[&str] = &["!", "silent !", "sil !", "silent! !", "r !", "read !", "w !", "%!"];

/// `vim -c COMMAND FILE`, `vim +COMMAND FILE`.
fn editor(call: &Call<'_>, machine: &mut dyn Machine) {
    command_line(&EDITOR, call, machine);
}

/// ex(1) takes its commands from the command line, too, or from standard input.
fn ex(call: &Call<'_>, machine: &mut dyn Machine) {
    command_line(&EX, call, machine);
    line_editor(call, machine);
}

fn command_line(grammar: &Grammar, call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = grammar.read(call.args);
    if parsed.informs() {
        return;
    }
    let is_plus = |word: &&Field| words::lead(&word.text).starts_with('+');
    let plus = call.args.iter().filter(is_plus).map(|word| words::without_prefix(word, 1));
    let commands: Vec<Field> = parsed.values("c").cloned().chain(plus).collect();
    let files: Vec<&Field> = parsed.operands.iter().copied().filter(|word| !is_plus(word)).collect();
    for command in commands {
        delete_by_function(machine, &command);
        let lead = words::lead(&command.text);
        let colons = lead.len() - lead.trim_start_matches([':', ' ']).len();
        let behind = lead.get(colons..).unwrap_or_default();
        match SHELLS.iter().find(|bang| behind.starts_with(**bang)) {
            Some(bang) => {
                let text = words::without_prefix(&command, colons + bang.len()).text;
                machine.run_text(&text, Dialect::Posix, Vec::new(), Surroundings::default());
            }
            None => behind.split('|').for_each(|part| save(machine, part, &files)),
        }
    }
}

/// What one command of an editor saves. `files`: what was opened.
fn save(machine: &mut dyn Machine, command: &str, files: &[&Field]) {
    // A range: `%w`, `1,5w`.
    let command = command.trim_start_matches(|c: char| c.is_ascii_digit() || " :%,.$'".contains(c));
    let end = command.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(command.len());
    let (name, behind) = command.split_at(end);
    if !SAVES.contains(&name) {
        return;
    }
    let target = behind.trim_start_matches('!').trim();
    if target.is_empty() {
        for file in files {
            acts::path(machine, Act::Replace, file, Follow::Last);
        }
        return;
    }
    let (act, name) = match target.strip_prefix(">>") {
        Some(name) => (Act::Append, name.trim_start()),
        None => (Act::Replace, target),
    };
    acts::path(machine, act, &Field::literal(name), Follow::Last);
}

/// `:call delete("x", "rf")` of Vim's own functions.
fn delete_by_function(machine: &mut dyn Machine, command: &Field) {
    if let Some(known) = command.as_known()
        && let Some((_, arguments)) = known.split_once("call delete(")
        && let Some(name) = first_quoted(arguments)
    {
        let recursive = arguments.contains("rf");
        acts::remove(machine, &Field::literal(name), recursive);
    }
}

/// What stands between the first pair of quotes.
fn first_quoted(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once(['"', '\''])?;
    behind.split(['"', '\'']).next()
}

/// ed(1), and ex(1) with its commands on standard input: `!TEXT` has a shell run text, `w` saves.
fn line_editor(call: &Call<'_>, machine: &mut dyn Machine) {
    let is_operand = |word: &&Field| !words::lead(&word.text).starts_with(['-', '+']);
    let files: Vec<&Field> = call.args.iter().filter(is_operand).collect();
    let known = match machine.stdin() {
        Input::Text(text) => text.as_known().map(|known| known.into_owned()),
        Input::Inherited => return,
        _ => None,
    };
    // Commands that cannot be read are there to change the file.
    for line in known.as_deref().unwrap_or("w").lines() {
        match line.trim_start().strip_prefix('!') {
            Some(text) => {
                let text = Abstract::known(text);
                machine.run_text(&text, Dialect::Posix, Vec::new(), Surroundings::default());
            }
            None => save(machine, line, &files),
        }
    }
}

/// `emacs --batch --eval '(shell-command "TEXT")'`, and Lisp's own removal.
fn emacs(call: &Call<'_>, machine: &mut dyn Machine) {
    let code = call.args.iter().filter_map(Field::as_known).filter(|word| word.contains('('));
    for code in code.map(std::borrow::Cow::into_owned).collect::<Vec<_>>() {
        for form in code.split('(').skip(1) {
            let name = form.split_whitespace().next().unwrap_or_default();
            let Some(argument) = first_quoted(form) else { continue };
            match name {
                "shell-command"
                | "shell-command-to-string"
                | "call-process-shell-command"
                | "async-shell-command" => {
                    let text = Abstract::known(argument);
                    machine.run_text(&text, Dialect::Posix, Vec::new(), Surroundings::default());
                }
                "delete-directory" => acts::remove(machine, &Field::literal(argument), true),
                "delete-file" => acts::remove(machine, &Field::literal(argument), false),
                _ => {}
            }
        }
    }
}

/// less(1), more(1): `+!TEXT` has a shell run text as soon as the first file is open.
fn pager(call: &Call<'_>, machine: &mut dyn Machine) {
    for arg in call.args {
        let lead = words::lead(&arg.text);
        let bang = ["+!", "++!", "+#"].iter().find(|bang| lead.starts_with(**bang));
        if let Some(bang) = bang {
            let text = words::without_prefix(arg, bang.len()).text;
            machine.run_text(&text, Dialect::Posix, Vec::new(), Surroundings::default());
        }
    }
}

static MAN: Grammar = Grammar::new(&[
    value("P", "pager"),
    value(
        "CRLmMSserpEH",
        "config-file|recode|locale|systems|manpath|sections|extension|preprocessor|prompt|encoding",
    ),
    flag("dDfklwWVKaiIutXZT", "debug|whatis|apropos|local-file|where|all|update|troff"),
]);

/// man(1): a shell runs the pager that it is told, by option or environment.
fn man(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = MAN.read(call.args);
    if parsed.informs() || parsed.operands.is_empty() {
        return;
    }
    let told = parsed.value("pager").map(|pager| pager.text.clone());
    let pager = told.or_else(|| ["MANPAGER", "PAGER"].iter().find_map(|name| machine.variable(name)));
    // One that is not known is the user's own, and was there before this command.
    if let Some(pager) = pager.filter(|pager| !pager.has_hole() && !pager.is_known_empty()) {
        machine.run_text(&pager, Dialect::Posix, Vec::new(), Surroundings::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(program: Program, line: &str, stdin: Option<&str>) -> Vec<String> {
        let recorder = Recorder::default();
        let recorder = match stdin {
            Some(text) => recorder.stdin(Input::Text(Abstract::known(text))),
            None => recorder,
        };
        recorder.call(program, line).told()
    }

    #[test]
    fn what_is_saved_is_replaced_and_what_is_only_looked_at_is_not() {
        for line in ["vim -c wq x", "vim -es -c '%d|wq!' x", "vim +x x", "vim -c ':1,5w x'"] {
            assert_eq!(told(editor, line, None).len(), 1, "{line}");
        }
        assert_eq!(told(ex, "ex -sc '%d|x' x", None).len(), 1);
        assert_eq!(told(line_editor, "ed -s x", Some("1,$d\nw\nq\n")).len(), 1);
        assert_eq!(told(line_editor, "ed x", Some("w y\n")).len(), 1);
        for line in ["vim x", "vim -c q x", "vim -c '%s/a/b/g' x", "vim -c 'set wrap' x", "view x"] {
            assert_eq!(told(editor, line, None), [""; 0], "{line}");
        }
        assert_eq!(told(line_editor, "ed -s x", Some("1,$p\nq\n")), [""; 0]);
    }

    #[test]
    fn a_shell_runs_what_stands_behind_an_exclamation_mark() {
        for line in ["vim -c ':!rm -rf x' -c ':q'", "vim +'!rm -rf x' +q", "nvim -c 'silent !rm -rf x'"] {
            assert_eq!(Recorder::default().call(editor, line).sourced(), ["rm -rf x"], "{line}");
        }
        assert_eq!(Recorder::default().call(pager, "less '+!rm -rf x' y").sourced(), ["rm -rf x"]);
        assert!(Recorder::default().call(pager, "less +/rm y").is_harmless());
        assert_eq!(Recorder::default().call(man, "man -P 'rm -rf x' ls").sourced(), ["rm -rf x"]);
        assert_eq!(Recorder::default().env("PAGER", "rm x").call(man, "man ls").sourced(), ["rm x"]);
        assert!(Recorder::default().call(man, "man rm").is_harmless());
        let text = Input::Text(Abstract::known("!rm -rf x\n"));
        assert_eq!(Recorder::default().stdin(text).call(line_editor, "ed y").sourced(), ["rm -rf x"]);
    }
}
