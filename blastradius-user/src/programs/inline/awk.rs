//! awk programs: what `system()` runs, what a pipe is handed, and what a redirection overwrites (awk(1)).

use super::lexer::{Part, Token, tokens};
use super::tables::AWK;
use super::value::unknown_text;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::{Call, Dialect, Input, Machine, Surroundings, acts};
use crate::shell::value::{Abstract, Field};

static GRAMMAR: Grammar = Grammar::new(&[
    value("F", "field-separator"),
    value("v", "assign"),
    value("f", "file"),
    value("e", "source"),
    value("i", "include"),
    value("l", "load"),
    value("W", ""),
    value("E", "exec"),
    flag("", "posix|traditional|re-interval|sandbox|csv|bignum|lint"),
    optional("d", "dump-variables"),
])
.in_order();

/// awk, gawk, mawk, nawk.
pub(super) fn awk(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = GRAMMAR.read(call.args);
    if parsed.informs() {
        return;
    }
    let mut programs: Vec<Abstract> = parsed.values("source").map(|field| field.text.clone()).collect();
    let files: Vec<Field> = parsed.values("file").chain(parsed.values("exec")).cloned().collect();
    programs.extend(files.iter().filter_map(|file| machine.read_file(file)));
    if programs.is_empty() && files.is_empty() {
        programs.extend(parsed.rest.first().map(|field| field.text.clone()));
    }
    for program in programs {
        if let Some(code) = program.as_known() {
            Walker { tokens: tokens(&code, &AWK), at: 0, machine }.walk();
        }
    }
}

struct Walker<'a> {
    tokens: Vec<Token>,
    at: usize,
    machine: &'a mut dyn Machine,
}

impl Walker<'_> {
    fn walk(&mut self) {
        // What the last print statement prints, if it is a literal.
        let mut printed: Option<Abstract> = None;
        while let Some(token) = self.tokens.get(self.at).cloned() {
            self.at += 1;
            match token {
                Token::Name(name) if matches!(&*name, "print" | "printf") => {
                    printed = Some(self.expression());
                }
                Token::Name(name) if &*name == "system" => {
                    let text = self.expression();
                    self.runs(&text, None);
                }
                Token::Sign("|") => {
                    let command = self.expression();
                    let stdin = printed.take().map(Input::Text);
                    if !command.pieces.is_empty() && !command.has_hole() {
                        self.runs(&command, stdin);
                    }
                }
                Token::Text(parts) if self.pipes_into_getline() => {
                    let text = text_of(&parts);
                    self.runs(&text, None);
                }
                Token::Sign(">") if printed.is_some() => {
                    let file = self.expression();
                    self.overwrites(&file);
                }
                Token::Sign(";" | "}") | Token::Line(_) => printed = None,
                _ => {}
            }
        }
    }

    /// `"command" | getline`.
    fn pipes_into_getline(&self) -> bool {
        matches!(self.tokens.get(self.at), Some(Token::Sign("|")))
            && matches!(self.tokens.get(self.at + 1), Some(Token::Name(name)) if &**name == "getline")
    }

    /// Texts put behind each other, up to a sign that ends the expression; fields and variables are not known.
    fn expression(&mut self) -> Abstract {
        let mut text = Abstract::default();
        let mut depth = 0_usize;
        while let Some(token) = self.tokens.get(self.at) {
            match token {
                Token::Sign("(") => depth += 1,
                Token::Sign(")") if depth == 0 => break,
                Token::Sign(")") => depth -= 1,
                Token::Sign(";" | "}" | "|" | ">" | ">>" | "{") | Token::Line(_) => break,
                Token::Text(parts) => text.push(&text_of(parts)),
                Token::Sign(",") => text.push_text(" "),
                // A field: `$1`, `$NF`.
                Token::Sign("$") => {
                    text.push(&unknown_text("a field of the input"));
                    self.at += 1;
                }
                Token::Name(name) => text.push(&unknown_text(name)),
                Token::Number(number) => text.push_text(number),
                _ => {}
            }
            self.at += 1;
        }
        text
    }

    fn runs(&mut self, text: &Abstract, stdin: Option<Input>) {
        let surroundings = Surroundings { stdin, ..Surroundings::default() };
        self.machine.run_text(text, Dialect::Posix, Vec::new(), surroundings);
    }

    fn overwrites(&mut self, file: &Abstract) {
        let Some(known) = file.as_known().filter(|known| !known.is_empty() && !known.starts_with("/dev/"))
        else {
            return;
        };
        acts::truncate(self.machine, &Field::literal(&known));
    }
}

fn text_of(parts: &[Part]) -> Abstract {
    let mut text = Abstract::default();
    for part in parts {
        match part {
            Part::Text(known) => text.push_text(known),
            Part::Code(code) => text.push(&unknown_text(code)),
        }
    }
    text
}
