//! xargs(1): what it reads becomes operands of the command that it is given.

use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::{Call, Each, Input, Machine, Program, Surroundings, words};
use crate::shell::value::{Abstract, Cause, Field, Piece};

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[("xargs", xargs)];

/// Calls that are made one by one for a known input.
const MAX_ITEMS: usize = 10_000;

/// xargs(1) of findutils; `J`, `R` and `S` are the BSDs'.
static XARGS: Grammar = Grammar::new(&[
    flag("0", "null"),
    value("a", "arg-file"),
    value("d", "delimiter"),
    value("E", ""),
    optional("e", "eof"),
    value("I", ""),
    optional("i", "replace"),
    value("J", ""),
    value("L", ""),
    optional("l", "max-lines"),
    value("n", "max-args"),
    flag("o", "open-tty"),
    value("P", "max-procs"),
    flag("p", "interactive"),
    value("", "process-slot-var"),
    flag("r", "no-run-if-empty"),
    value("R", ""),
    value("S", ""),
    value("s", "max-chars"),
    flag("", "show-limits"),
    flag("t", "verbose"),
    flag("x", "exit"),
])
.in_order();

fn xargs(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = XARGS.read(call.args);
    if parsed.informs() {
        return;
    }
    let placeholder = placeholder(&parsed);
    let input = match parsed.value("arg-file") {
        None => machine.stdin(),
        Some(file) => match machine.read_file(file) {
            Some(text) => Input::Text(text),
            // An empty special file, as in `xargs -a /dev/null rm -rf /`: the command runs once, with its own operands.
            None if file.as_known().as_deref() == Some("/dev/null") => Input::Text(Abstract::default()),
            None => Input::Unknown { from: file.source.clone(), network: false, decoded: false },
        },
    };
    if parsed.rest.is_empty() {
        // The default command is echo.
        machine.print(input);
        return;
    }
    let argv = parsed.rest;
    match input {
        Input::Names(names) => {
            let argv = match &placeholder {
                Some(placeholder) => argv.iter().map(|word| below_another(word, placeholder)).collect(),
                None => argv.to_vec(),
            };
            let each = Each { placeholder, names: Input::Names(names) };
            let surroundings = Surroundings { each: Some(each), ..fresh() };
            machine.run_argv(argv, surroundings);
        }
        Input::Text(text) => {
            let mut items = Splitting::new(&parsed, placeholder.is_some()).split(&text);
            // Nobody pipes nothing on purpose: a command in front that seems to print nothing may print after all.
            if items.is_empty() && parsed.value("arg-file").is_none() {
                items.push(words::unknown(Cause::Input("standard input".into()), "(standard input)"));
            }
            run_items(machine, argv, placeholder.as_deref(), items, &parsed);
        }
        Input::Inherited => {
            let item = words::unknown(Cause::Input("standard input".into()), "(standard input)");
            run_items(machine, argv, placeholder.as_deref(), vec![item], &parsed);
        }
        Input::Unknown { from, .. } => {
            let item = words::unknown(Cause::CommandOutput(from.clone()), &from);
            run_items(machine, argv, placeholder.as_deref(), vec![item], &parsed);
        }
    }
}

/// `ls DIR | xargs -I{} rm DIR/{}`: behind a directory a name is not the object that was listed, but any entry there.
fn below_another(word: &Field, placeholder: &str) -> Field {
    let is_path = |text: &str| text.contains(&format!("/{placeholder}")) && !text.contains([' ', ';', '\n']);
    if !word.text.as_known().is_some_and(|text| is_path(&text)) {
        return word.clone();
    }
    let mut name = Abstract::unknown(Cause::Input("a listed name".into()));
    for piece in &mut name.pieces {
        if let Piece::Hole(hole) = piece {
            hole.maybe_empty = false;
        }
    }
    substituted(word, placeholder, &words::from_text(name, placeholder))
}

/// The command does not read what xargs has read.
fn fresh() -> Surroundings {
    Surroundings { stdin: Some(Input::Inherited), ..Surroundings::default() }
}

fn placeholder(parsed: &Parsed<'_>) -> Option<String> {
    let seen = parsed.last_of(&["I", "i", "J"])?;
    let text = seen.value.as_ref().and_then(Field::as_known);
    Some(text.filter(|text| !text.is_empty()).map_or_else(|| "{}".to_owned(), std::borrow::Cow::into_owned))
}

fn run_items(
    machine: &mut dyn Machine,
    argv: &[Field],
    placeholder: Option<&str>,
    items: Vec<Field>,
    parsed: &Parsed<'_>,
) {
    if items.is_empty() && parsed.has("no-run-if-empty") {
        return;
    }
    let Some(placeholder) = placeholder else {
        let most = parsed.known("max-args").and_then(|number| number.parse().ok()).unwrap_or(usize::MAX);
        // Past the limit all of them go to one call.
        let most = most.clamp((items.len() / MAX_ITEMS).max(1), items.len().max(1));
        let mut rest = items.as_slice();
        loop {
            let (now, later) = rest.split_at(most.min(rest.len()));
            machine.run_argv([argv, now].concat(), fresh());
            rest = later;
            if rest.is_empty() {
                return;
            }
        }
    };
    for item in items.iter().take(MAX_ITEMS) {
        let argv = argv.iter().map(|word| substituted(word, placeholder, item)).collect();
        machine.run_argv(argv, fresh());
    }
    if items.len() > MAX_ITEMS {
        let rest = words::unknown(Cause::ManyValues("items of xargs".into()), placeholder);
        let argv = argv.iter().map(|word| substituted(word, placeholder, &rest)).collect();
        machine.run_argv(argv, fresh());
    }
}

/// A word with the placeholder replaced by an item.
pub fn substituted(word: &Field, placeholder: &str, item: &Field) -> Field {
    Field { text: words::replaced(&word.text, placeholder, &item.text), glob: None, ..word.clone() }
}

/// How input is taken apart.
enum Splitting {
    /// At one character, nothing is special.
    At(char),
    /// Lines, with quotes and backslashes (`-I`).
    Lines,
    /// Words, with quotes and backslashes.
    Words,
}

impl Splitting {
    fn new(parsed: &Parsed<'_>, by_line: bool) -> Self {
        if parsed.has("null") {
            return Self::At('\0');
        }
        if let Some(delimiter) = parsed.known("delimiter") {
            let delimiter = match &*delimiter {
                "\\n" => '\n',
                "\\t" => '\t',
                "\\0" => '\0',
                other => other.chars().next().unwrap_or('\n'),
            };
            return Self::At(delimiter);
        }
        if by_line { Self::Lines } else { Self::Words }
    }

    fn split(&self, text: &Abstract) -> Vec<Field> {
        let mut splitter = Splitter::default();
        for piece in &text.pieces {
            match piece {
                Piece::Text(known) => known.chars().for_each(|letter| splitter.letter(self, letter)),
                Piece::Nothing(_) => splitter.piece(piece),
                Piece::Hole(_) => {
                    splitter.piece(piece);
                    splitter.open = true;
                }
            }
        }
        splitter.end(matches!(self, Self::At(_)));
        splitter.items
    }
}

#[derive(Default)]
struct Splitter {
    items: Vec<Field>,
    word: Abstract,
    /// The known end of the word, collected before it is pushed: a text is not grown letter by letter.
    tail: String,
    /// There is a word, be it empty.
    open: bool,
    quote: Option<char>,
    escaped: bool,
}

impl Splitter {
    fn letter(&mut self, splitting: &Splitting, letter: char) {
        if let Splitting::At(delimiter) = splitting {
            if letter == *delimiter {
                self.open = true;
                self.end(true);
            } else {
                self.push(letter);
            }
            return;
        }
        if std::mem::take(&mut self.escaped) {
            self.push(letter);
            return;
        }
        match (self.quote, letter) {
            (Some(quote), _) if quote == letter => self.quote = None,
            (Some(_), _) => self.push(letter),
            (None, '\'' | '"') => {
                self.quote = Some(letter);
                self.open = true;
            }
            (None, '\\') => self.escaped = true,
            (None, '\n') => self.end(false),
            (None, ' ' | '\t') if matches!(splitting, Splitting::Words) || !self.open => self.end(false),
            (None, _) => self.push(letter),
        }
    }

    fn push(&mut self, letter: char) {
        self.tail.push(letter);
        self.open = true;
    }

    fn piece(&mut self, piece: &Piece) {
        self.word.push_text(&std::mem::take(&mut self.tail));
        self.word.pieces.push(piece.clone());
    }

    fn end(&mut self, keep_empty: bool) {
        self.word.push_text(&std::mem::take(&mut self.tail));
        let word = std::mem::take(&mut self.word);
        let open = std::mem::take(&mut self.open);
        if open && (keep_empty || !word.pieces.is_empty()) || word.has_hole() {
            let source = crate::programs::words::shown(&word);
            self.items.push(words::from_text(word, &source));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::{Recorder, show};

    fn ran(input: &str, line: &str) -> Vec<String> {
        let text = Input::Text(Abstract::known(input));
        let recorder = Recorder::default().stdin(text).call(xargs, line);
        recorder.argvs.iter().map(|ran| ran.what.clone()).collect()
    }

    #[test]
    fn known_input_becomes_operands() {
        assert_eq!(ran("/\n", "xargs rm -rf"), ["rm -rf /"]);
        assert_eq!(ran("a 'b c'\nd\\ e\n", "xargs rm"), ["rm a b c d e"]);
        assert_eq!(ran("a b\n", "xargs -d '\\n' rm"), ["rm a b"]);
        assert_eq!(ran("a\0b\0", "xargs -0 rm"), ["rm a b"]);
        assert_eq!(ran("a b c", "xargs -n 2 rm"), ["rm a b", "rm c"]);
    }

    #[test]
    fn a_placeholder_is_replaced_line_by_line() {
        assert_eq!(ran("1\n2\n", "xargs -I{} rm -f build/{}.o"), ["rm -f build/1.o", "rm -f build/2.o"]);
        assert_eq!(ran("/", "xargs -I% bash -c 'rm -rf %'"), ["bash -c rm -rf /"]);
        assert_eq!(ran("a b\n", "xargs -i rm {}"), ["rm a b"]);
        assert_eq!(ran("a\n", "xargs --replace=X mv X Y"), ["mv a Y"]);
    }

    #[test]
    fn a_file_of_nothing_runs_the_command_once_unless_told_not_to() {
        let ran = |line| Recorder::default().call(xargs, line).argvs.len();
        assert_eq!(ran("xargs -a /dev/null rm -rf /"), 1);
        assert_eq!(ran("xargs -r -a /dev/null rm -rf /"), 0);
        assert_eq!(ran("xargs -a /dev/null -I{} rm -rf {}"), 0);
    }

    #[test]
    fn input_that_seems_empty_may_hold_anything() {
        assert_eq!(ran("", "xargs rm -rf"), ["rm -rf ?"]);
        assert_eq!(ran("\n", "xargs -I{} rm {}"), ["rm ?"]);
    }

    #[test]
    fn unknown_input_is_an_unknown_operand() {
        let recorder = Recorder::default().call(xargs, "xargs -P 4 rm -rf /etc");
        assert_eq!(recorder.ran(), ["rm -rf /etc ?"]);
        let input = Input::Unknown { from: "cat list".into(), network: false, decoded: false };
        assert_eq!(Recorder::default().stdin(input).call(xargs, "xargs -I{} rm {}").ran(), ["rm ?"]);
    }

    #[test]
    fn an_argument_file_is_read() {
        let recorder = Recorder::default().file("list", "a b").call(xargs, "xargs -a list rm");
        assert_eq!(recorder.ran(), ["rm a b"]);
        let recorder = Recorder::default().call(xargs, "xargs -a /dev/null rm -rf /");
        assert_eq!(recorder.ran(), ["rm -rf /"]);
    }

    #[test]
    fn names_are_handed_on_as_names() {
        let selected =
            crate::programs::Selected { root: Field::literal("src"), selection: Default::default() };
        let recorder = Recorder::default().stdin(Input::Names(vec![selected])).call(xargs, "xargs rm");
        let each = recorder.argvs[0].surroundings.each.as_ref().expect("names are handed on");
        assert!(each.placeholder.is_none());
        let selected =
            crate::programs::Selected { root: Field::literal("src"), selection: Default::default() };
        let recorder = Recorder::default().stdin(Input::Names(vec![selected]));
        assert_eq!(recorder.call(xargs, "xargs -I{} rm /etc/{} {}").ran(), ["rm /etc/? {}"]);
        assert!(matches!(&each.names, Input::Names(names) if show(&names[0].root.text) == "src"));
    }
}
