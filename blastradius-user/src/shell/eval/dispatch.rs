//! What an argv calls: a function, a builtin, a known program, a script, or something that is not known.

use std::rc::Rc;

use blastradius_common::RuleId;
use smallvec::SmallVec;

use super::{Evaluator, base_text};
use crate::policy::effect::{Effect, Selection};
use crate::programs::table::{is_destructive, lookup};
use crate::programs::{Dialect, Each, Input, Surroundings};
use crate::shell::builtins;
use crate::shell::fold;
use crate::shell::limits::Eval;
use crate::shell::state::{Outcome, Val};
use crate::shell::trace::What;
use crate::shell::value::{Abstract, Cause, Field, Piece};

/// Programs that only name, search or describe the words they are given.
const TALK: &[&str] = &[
    "man",
    "which",
    "whereis",
    "whatis",
    "apropos",
    "info",
    "help",
    "tldr",
    "cheat",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ack",
    "git",
    "hg",
    "svn",
    "jj",
    "gh",
    "glab",
    "logger",
    "notify-send",
    "say",
    "espeak",
    "figlet",
    "cowsay",
    "banner",
    "wall",
    "mail",
    "expr",
    "dpkg-query",
    "tree",
    "ls",
    "stat",
    "file",
    "diff",
    "cmp",
    "comm",
    "sed",
    "awk",
    "gawk",
    "mawk",
    "jq",
    "yq",
    "tr",
    "cut",
    "sort",
    "head",
    "tail",
    "wc",
    "cat",
    "bat",
    "less",
    "more",
    "vim",
    "vi",
    "nano",
    "emacs",
    "code",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "md5sum",
    "sha256sum",
    "touch",
    "mkdir",
    "pgrep",
    "pkill",
    "killall",
    "ps",
    "top",
    "tmux-help",
    "complete",
    "compgen",
    "history",
    "fc",
    "hash",
    "claude",
    "codex",
    "gemini",
    "aider",
    "llm",
    "curl",
    "wget",
];

/// Option letters of `rm`: a word of these alone, behind a program that nobody knows, is a sign of it.
const RM_LETTERS: &str = "rRfivId";

/// Programs that start many scripts, and make no directory that a later `cd` could enter. What mkdir(1) makes is known.
const MAKE_NO_DIRECTORY: &[&str] = &[
    "basename", "bash", "cat", "chmod", "date", "dash", "dirname", "echo", "find", "grep", "head", "ls",
    "mkdir", "printf", "readlink", "realpath", "rm", "rmdir", "sed", "sh", "sleep", "tail", "test", "touch",
    "tr", "wc", "which", "zsh",
];

impl Evaluator<'_> {
    /// Calls what the shell finds for these fields.
    pub(crate) fn call_fields(&mut self, mut fields: Vec<Field>) -> Eval<Outcome> {
        if fields.is_empty() {
            return Ok(Outcome::ok());
        }
        let Some(name) = known_name(&fields[0]) else { return self.unknown_command(&fields) };
        if name.starts_with('-') {
            // Options without a program: the variable in front of them gave nothing here, and may give something there.
            fields.insert(0, Field::literal(&name));
            return self.unknown_command(&fields);
        }
        if let Some(function) = self.state.functions.get(&*name).cloned() {
            self.called(&name, "function");
            let args = fields.drain(1..).map(super::machine::field_value).collect();
            return self.call_function(&function, args);
        }
        if let Some(body) = self.state.aliases.get(&*name).cloned() {
            self.alias_as_well(&body, &fields[1..])?;
        }
        if let Some(builtin) = builtins::lookup(&name) {
            self.note_command(&name, &fields[1..]);
            self.called(&name, "builtin");
            return builtin(self, &name, &fields[1..]);
        }
        self.run_program(&name, fields)
    }

    /// A shell that expands aliases runs the alias; one that does not, the program: both are looked at.
    fn alias_as_well(&mut self, body: &Val, args: &[Field]) -> Eval<()> {
        let mut text = body.text.clone();
        for arg in args {
            text.push_text(" ");
            match arg.as_known() {
                Some(known) => text.push_text(&crate::shell::parameter::quote(&known)),
                None => text.push(&arg.text),
            }
        }
        let before = self.state.clone();
        Rc::make_mut(&mut self.state.aliases).clear();
        self.uncertain += 1;
        let done = self.in_subshell(|evaluator| evaluator.run_code(&text, "alias"));
        self.uncertain -= 1;
        let files = self.state.files.clone();
        self.state = before;
        self.state.files = files;
        done.map(|_| ())
    }

    fn called(&mut self, name: &str, kind: &'static str) {
        if self.traces() {
            self.step(What::Program { name: name.into(), kind });
        }
    }

    /// Runs an argv that does not go through a shell: no functions, no builtins but those that are programs too.
    pub(crate) fn run_program_argv(&mut self, fields: Vec<Field>) -> Eval<Outcome> {
        let Some(first) = fields.first() else { return Ok(Outcome::ok()) };
        let Some(name) = known_name(first) else { return self.unknown_command(&fields) };
        let base = base_name(&name).to_owned();
        if matches!(&*base, "echo" | "printf" | "test" | "[" | "true" | "false" | "pwd" | "kill")
            && let Some(builtin) = builtins::lookup(&base)
        {
            return builtin(self, &base, &fields[1..]);
        }
        self.run_program(&name, fields)
    }

    /// Runs a program by name or path.
    fn run_program(&mut self, name: &str, fields: Vec<Field>) -> Eval<Outcome> {
        let base = base_name(name);
        let args = &fields[1..];
        self.note_command(base, args);
        let program = lookup(base);
        if program.is_none()
            && name.contains('/')
            && let Some(outcome) = self.run_script_file(&fields)?
        {
            return Ok(outcome);
        }
        self.may_be_made |= !MAKE_NO_DIRECTORY.contains(&base);
        if let Some(program) = program {
            self.called(base, "program");
            if is_destructive(base) && !name.contains('/') && self.path_is_hijacked()? {
                let what = "is looked for in the working directory first: PATH was changed".into();
                self.add_thing(RuleId::UnknownCode, what, name, base);
            }
            let (mut outcome, printed) = self.ask(program, base, args)?;
            if !printed {
                self.print_folded(base, args)?;
            }
            fold::side_effects(self, base, args)?;
            if outcome.status.is_none() && fold::always_succeeds(base) {
                outcome.status = Some(0);
            }
            return Ok(outcome);
        }
        self.called(base, "not known");
        if let Some(handler) = self.state.functions.get("command_not_found_handle").cloned() {
            let values = fields.iter().cloned().map(super::machine::field_value).collect();
            self.uncertain += 1;
            let done = self.call_function(&handler, values);
            self.uncertain -= 1;
            done?;
        }
        if let Some(real) = disguised(base) {
            let what =
                format!("runs a command whose name reads like {real} but is written with other characters");
            self.add_thing(RuleId::UnknownCode, what.into(), name, base);
        }
        self.look_through(base, args)?;
        self.print_folded(base, args)?;
        fold::side_effects(self, base, args)?;
        Ok(Outcome::unknown())
    }

    /// Whether the text has put the working directory in front of `PATH`.
    fn path_is_hijacked(&mut self) -> Eval<bool> {
        if !self.state.vars.contains_key("PATH") {
            return Ok(false);
        }
        let path = self.text_of("PATH")?;
        let prefix = path.known_prefix();
        let first = prefix.split(':').next().unwrap_or("");
        let here = matches!(first, "." | "./") || (first.is_empty() && prefix.starts_with(':'));
        Ok(here || Some(first) == base_text(&self.state.cwd).as_known().as_deref())
    }

    /// Prints what a pure filter prints, or something unknown.
    fn print_folded(&mut self, name: &str, args: &[Field]) -> Eval<()> {
        if !self.is_captured() {
            return Ok(());
        }
        let output = fold::output(self, name, args)?;
        self.print(output)
    }

    /// A file that is executed: a script that can be read is evaluated as what its first line says.
    fn run_script_file(&mut self, fields: &[Field]) -> Eval<Option<Outcome>> {
        let base = self.state.cwd.clone();
        let Some(path) = self.path_of(&fields[0], &base) else { return Ok(None) };
        if self.leaves_scripts || self.sourcing.contains(&path) || self.sourcing.len() > 8 {
            return Ok(Some(Outcome::unknown()));
        }
        self.tick(8)?;
        let shown = path.to_string_lossy().into_owned();
        let Some(text) = self.content_of(&path) else {
            if let Input::Unknown { network: true, from, .. } = self.file_input(&fields[0], &base) {
                let what = "runs code straight from the network".into();
                self.add_thing(RuleId::NetworkCode, what, &from, &shown);
            }
            return Ok(None);
        };
        let Some(known) = text.as_known() else { return Ok(None) };
        if known.contains('\0') {
            return Ok(None);
        }
        let (interpreter, option) = interpreter(&known);
        let dialect = match interpreter {
            "bash" | "" => Dialect::Bash,
            "sh" | "dash" | "ash" | "ksh" => Dialect::Posix,
            "zsh" => Dialect::Zsh,
            other => {
                let Some(program) = lookup(other) else { return Ok(None) };
                let mut args: Vec<Field> = vec![Field::literal(&shown)];
                args.extend_from_slice(&fields[1..]);
                let (outcome, _) = self.ask(program, other, &args)?;
                return Ok(Some(outcome));
            }
        };
        let mut positional = vec![Val::known(&shown)];
        positional.extend(fields[1..].iter().cloned().map(super::machine::field_value));
        let surroundings = Surroundings::default();
        self.sourcing.push(path);
        let text = match option {
            Some(option) => Abstract::known(&format!("set {option}\n{known}")),
            None => text,
        };
        let outcome = self.run_shell_in(&text, dialect, positional, surroundings, true);
        self.sourcing.pop();
        outcome.map(Some)
    }

    /// A program that nobody knows may be a wrapper: what it is handed is looked at.
    fn look_through(&mut self, name: &str, args: &[Field]) -> Eval<()> {
        if TALK.contains(&name) {
            return Ok(());
        }
        for (index, arg) in args.iter().enumerate() {
            let Some(word) = arg.as_known() else { continue };
            let verb = base_name(&word);
            if !is_destructive(verb) || !looks_called(verb, &args[index + 1..]) {
                continue;
            }
            self.uncertain += 1;
            let done = self.run_program(verb, args[index..].to_vec());
            self.uncertain -= 1;
            return done.map(|_| ());
        }
        Ok(())
    }

    /// A command whose name is known only at run time. What it would do as the worst program is asked of a human.
    fn unknown_command(&mut self, fields: &[Field]) -> Eval<Outcome> {
        let taken = if looks_like_rm(&fields[1..]) { lookup("rm") } else { None };
        if let Some(program) = taken {
            let kept = self.effects.len();
            self.ask(program, "rm", &fields[1..])?;
            let found: Vec<_> = self.effects.drain(kept..).collect();
            if let Some(worst) = found.first() {
                let object = match &worst.effect {
                    Effect::Path { target, .. } => target.operand.source.to_string(),
                    _ => String::new(),
                };
                self.add_thing(
                    RuleId::UnknownCode,
                    "runs a program that is known only at run time, with the options of rm".into(),
                    &object,
                    &fields[0].source,
                );
            }
        }
        self.look_through("", &fields[1..])?;
        if self.is_captured() {
            let from = self.segment_text();
            self.print(Input::Unknown { from, network: false, decoded: false })?;
        }
        Ok(Outcome::unknown())
    }

    /// Runs an argv that a carrier hands over.
    pub(crate) fn run_argv(&mut self, mut argv: Vec<Field>, surroundings: Surroundings) -> Eval<Outcome> {
        self.enter()?;
        let each = surroundings.each.clone();
        let outcome = self.in_surroundings(&surroundings, false, |evaluator| match each {
            Some(each) => evaluator.run_each(argv, each, &Surroundings::default()),
            None => {
                while argv.first().is_some_and(|field| field.text.pieces.is_empty()) {
                    argv.remove(0);
                }
                evaluator.run_program_argv(argv)
            }
        })?;
        self.leave();
        Ok(outcome)
    }

    /// Runs an argv once for each of some names.
    pub(crate) fn run_each(
        &mut self,
        argv: Vec<Field>,
        each: Each,
        surroundings: &Surroundings,
    ) -> Eval<Outcome> {
        let Each { placeholder, names } = each;
        match names {
            Input::Names(names) => {
                let kept = self.selected.len();
                let mut all = Vec::new();
                for (index, name) in names.into_iter().enumerate() {
                    // Operands are told apart by how they are written, so each root is marked with its own number.
                    let mut root = name.root;
                    if index > 0 && all.contains(&root) {
                        root.source = format!("{} ", root.source).into();
                    }
                    self.selected.push((root.clone(), self.below(name.selection)));
                    all.push(root);
                }
                let filled = fill(&argv, placeholder.as_deref(), &all);
                let done = self.run_filled(filled, surroundings);
                self.selected.truncate(kept);
                done
            }
            Input::Text(text) => {
                let fields = match text.as_known() {
                    Some(known) => split_names(&known, placeholder.is_some()),
                    None => vec![unknown_field(&text)],
                };
                if fields.is_empty() {
                    return self.run_filled(argv, surroundings);
                }
                if placeholder.is_some() && fields.len() <= crate::shell::limits::COMBINATIONS {
                    for field in &fields {
                        let filled = fill(&argv, placeholder.as_deref(), std::slice::from_ref(field));
                        self.run_filled(filled, surroundings)?;
                    }
                    return Ok(Outcome::unknown());
                }
                self.tick(fields.len() as u64)?;
                let filled = fill(&argv, placeholder.as_deref(), &fields);
                self.run_filled(filled, surroundings)
            }
            other => {
                let from = match &other {
                    Input::Unknown { from, .. } => Cause::CommandOutput(from.clone()),
                    _ => Cause::Input("standard input".into()),
                };
                let text = Abstract::unknown(from);
                let filled = fill(&argv, placeholder.as_deref(), &[unknown_field(&text)]);
                self.run_filled(filled, surroundings)
            }
        }
    }

    /// A listing below several directories reaches less than all of them.
    fn below(&self, selection: Selection) -> Selection {
        selection
    }

    fn run_filled(&mut self, argv: Vec<Field>, _surroundings: &Surroundings) -> Eval<Outcome> {
        // The names arrive as arguments: nothing of them is left on standard input.
        let outer = std::mem::replace(&mut self.stdin, super::Stdin::Input(Input::Inherited));
        let done = self.call_fields(argv);
        self.stdin = outer;
        done
    }
}

/// The name in command position, if it is known.
fn known_name(field: &Field) -> Option<Rc<str>> {
    match field.text.pieces.as_slice() {
        [Piece::Text(text)] if field.glob.is_none() => Some(text.clone()),
        _ => field.as_known().map(|text| Rc::from(&*text)),
    }
}

/// A path without its directory.
pub(crate) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The interpreter that a script's first line names, and an option that it sets.
fn interpreter(text: &str) -> (&str, Option<&str>) {
    let Some(line) = text.strip_prefix("#!").and_then(|rest| rest.lines().next()) else { return ("", None) };
    let mut words: SmallVec<[&str; 4]> = line.split_whitespace().collect();
    if words.first().is_some_and(|word| base_name(word) == "env") {
        words.remove(0);
        while words.first().is_some_and(|word| word.starts_with('-') || word.contains('=')) {
            words.remove(0);
        }
    }
    let name = words.first().map_or("", |word| base_name(word));
    let option = words.get(1).filter(|word| word.starts_with('-') && word.len() > 1 && !word.contains("--"));
    (name, option.copied())
}

/// Whether a destructive program's name is followed by what it would be called with.
fn looks_called(verb: &str, rest: &[Field]) -> bool {
    let known: Vec<_> = rest.iter().filter_map(Field::as_known).collect();
    let path = |word: &str| word.starts_with('/') || word.starts_with('~');
    let tilde_or_root =
        rest.iter().any(|field| field.tilde || field.as_known().is_some_and(|word| path(&word)));
    match verb {
        "rm" => looks_like_rm(rest) || tilde_or_root,
        "dd" => known.iter().any(|word| word.starts_with("of=")),
        "rmdir" | "unlink" | "shred" | "truncate" | "wipefs" | "blkdiscard" => tilde_or_root,
        verb if verb.starts_with("mkfs") => tilde_or_root,
        _ => false,
    }
}

/// Whether arguments begin with options that recurse and force, and name something.
fn looks_like_rm(args: &[Field]) -> bool {
    let mut letters = String::new();
    let mut operands = false;
    for arg in args {
        match arg.as_known() {
            Some(word) if word.len() > 1 && word.starts_with('-') && !word.starts_with("--") => {
                if !word[1..].chars().all(|c| RM_LETTERS.contains(c)) {
                    return false;
                }
                letters.push_str(&word[1..]);
            }
            Some(word) if word == "--recursive" => letters.push('r'),
            Some(word) if word == "--force" => letters.push('f'),
            Some(word) if word.starts_with("--") => {}
            _ => operands = true,
        }
    }
    operands && letters.contains(['r', 'R']) && letters.contains('f')
}

/// Puts names in place of the placeholder, or behind the argv.
fn fill(argv: &[Field], placeholder: Option<&str>, names: &[Field]) -> Vec<Field> {
    let Some(placeholder) = placeholder else {
        return argv.iter().chain(names).cloned().collect();
    };
    let mut filled = Vec::with_capacity(argv.len() + names.len());
    for field in argv {
        let Some(text) = field.as_known().filter(|text| text.contains(placeholder)) else {
            filled.push(field.clone());
            continue;
        };
        for name in names {
            if text == placeholder {
                filled.push(name.clone());
                continue;
            }
            let mut joined = Abstract::default();
            for (index, part) in text.split(placeholder).enumerate() {
                if index > 0 {
                    joined.push(&name.text);
                }
                joined.push_text(part);
            }
            filled.push(Field { text: joined, glob: None, source: field.source.clone(), tilde: field.tilde });
        }
    }
    filled
}

/// The names in known text: one a line for a placeholder, else as `xargs` splits them.
fn split_names(text: &str, lines: bool) -> Vec<Field> {
    if text.contains('\0') {
        return text.split('\0').filter(|name| !name.is_empty()).map(Field::literal).collect();
    }
    if lines {
        return text
            .lines()
            .map(str::trim_start)
            .filter(|line| !line.is_empty())
            .map(Field::literal)
            .collect();
    }
    let mut names = Vec::new();
    let mut name = String::new();
    let mut open = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                open = true;
                name.extend(chars.by_ref().take_while(|&next| next != c));
            }
            '\\' => {
                open = true;
                name.extend(chars.next());
            }
            c if c.is_ascii_whitespace() => {
                if open {
                    names.push(Field::literal(&std::mem::take(&mut name)));
                    open = false;
                }
            }
            c => {
                open = true;
                name.push(c);
            }
        }
    }
    if open {
        names.push(Field::literal(&name));
    }
    names
}

fn unknown_field(text: &Abstract) -> Field {
    let source = match text.causes().next() {
        Some(Cause::CommandOutput(from)) => from.clone(),
        _ => "standard input".into(),
    };
    Field { text: text.clone(), glob: None, source, tilde: false }
}

/// Characters of other scripts that read like the Latin letter.
const LOOK_ALIKES: &[(char, char)] = &[
    ('а', 'a'),
    ('с', 'c'),
    ('ԁ', 'd'),
    ('е', 'e'),
    ('һ', 'h'),
    ('і', 'i'),
    ('ј', 'j'),
    ('ӏ', 'l'),
    ('м', 'm'),
    ('ո', 'n'),
    ('о', 'o'),
    ('р', 'p'),
    ('ԛ', 'q'),
    ('г', 'r'),
    ('ѕ', 's'),
    ('т', 't'),
    ('υ', 'u'),
    ('ν', 'v'),
    ('ѡ', 'w'),
    ('х', 'x'),
    ('у', 'y'),
    ('ο', 'o'),
    ('α', 'a'),
    ('ρ', 'p'),
    ('ι', 'i'),
];

/// The destructive program that a name reads like, if it only looks like one: letters of other scripts, full-width
/// forms, characters that show nothing, blanks that do not separate words.
fn disguised(name: &str) -> Option<String> {
    if name.is_ascii() {
        return None;
    }
    let mut plain = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            // Blanks that the shell takes for letters.
            '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => break,
            // Shown as nothing.
            '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{feff}' => {}
            '\u{ff01}'..='\u{ff5e}' => plain.extend(char::from_u32(u32::from(c) - 0xfee0)),
            c => plain.push(LOOK_ALIKES.iter().find(|(other, _)| *other == c).map_or(c, |(_, latin)| *latin)),
        }
    }
    (plain != name && is_destructive(&plain)).then_some(plain)
}
