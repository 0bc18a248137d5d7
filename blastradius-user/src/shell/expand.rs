//! Words → arguments: tilde, parameters, substitutions, splitting and globs, with quotes kept until the end.

use std::path::PathBuf;
use std::rc::Rc;

use smallvec::SmallVec;

use super::arith;
use super::eval::{Choice, Evaluator};
use super::glob;
use super::limits::{Eval, Limit, Stop};
use super::pattern;
use super::state::{Kind, Val};
use super::syntax::{Code, Part, Word};
use super::trace::What;
use super::value::{Abstract, Cause, Field, Hole, Piece};
use super::world::World;
use crate::policy::effect::Base;
use crate::programs::{Dialect, Input, Selected};

/// An argument, with what only the command line knows of it.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub(crate) field: Field,
    /// bash would pass no argument here: an unquoted expansion gave nothing. It is kept so that a refusal can say so.
    pub(crate) elided: bool,
    /// It stands for each of these names.
    pub(crate) selected: Option<Rc<Selected>>,
}

/// A stretch of a word that has been expanded.
#[derive(Clone, Debug)]
pub(crate) enum Frag {
    /// `active`: wildcards in it count.
    Text {
        text: Rc<str>,
        active: bool,
    },
    Nothing {
        cause: Rc<Cause>,
        quoted: bool,
    },
    Hole(Hole),
    Selected(Rc<Selected>, Hole),
    /// `""`: an argument, even if there is nothing else.
    Quotes,
    /// The argument ends here, if there is one.
    Split,
    /// The argument ends here, even if it is empty.
    Separator,
}

/// What an expansion is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Arguments: split, and matched against files.
    Arguments,
    /// One text: an assignment, a redirection, a here-string.
    Text,
}

/// The fragments of one word.
pub(crate) type Frags = SmallVec<[Frag; 4]>;

/// The words of a command, gathered.
#[derive(Default)]
struct Expanded {
    frags: Frags,
    tilde: bool,
}

impl Evaluator<'_> {
    /// The arguments that a word gives.
    pub(crate) fn expand_arguments(&mut self, word: &Word, out: &mut Vec<Argument>) -> Eval<()> {
        self.expand_one(word, out)?;
        if word.overflow {
            return Err(Stop(Limit::BraceWords));
        }
        for sibling in &word.siblings {
            self.expand_one(sibling, out)?;
        }
        Ok(())
    }

    /// Text in which characters stand for what is not known; `None`: none do.
    fn unspliced(&self, text: &str) -> Option<Abstract> {
        if self.may_be_spliced() { self.unsplice(text) } else { None }
    }

    fn plain_text(&self, plain: &Rc<str>) -> Abstract {
        match self.unspliced(plain) {
            Some(text) => text,
            None => Abstract { pieces: SmallVec::from_iter([Piece::Text(plain.clone())]) },
        }
    }

    /// One part of a word, for the operand of an expansion.
    pub(crate) fn push_part(&mut self, part: &Part, purpose: Purpose, out: &mut Frags) -> Eval<()> {
        let mut expanded = Expanded::default();
        self.expand_part(part, purpose, &mut expanded, false)?;
        out.extend(expanded.frags);
        Ok(())
    }

    fn expand_one(&mut self, word: &Word, out: &mut Vec<Argument>) -> Eval<()> {
        self.tick(1)?;
        if let Some(plain) = &word.plain {
            if let Some(text) = self.unspliced(plain) {
                let source = self.readable(&word.source);
                let field = Field { text, glob: None, source, tilde: false };
                out.push(Argument { field, elided: false, selected: None });
                return Ok(());
            }
            let text = Abstract { pieces: SmallVec::from_iter([Piece::Text(plain.clone())]) };
            let field = Field { text, glob: None, source: word.source.clone(), tilde: false };
            out.push(Argument { field, elided: false, selected: None });
            return Ok(());
        }
        let first = out.len();
        let expanded = self.expand_parts(word, Purpose::Arguments)?;
        let source = if self.may_be_spliced() { self.readable(&word.source) } else { word.source.clone() };
        self.split_fields(&expanded, &source, out)?;
        if self.traces() {
            let shown = |argument: &Argument| super::eval::Said::text(&argument.field.text);
            let after = out[first..].iter().map(shown).collect();
            self.step(What::Word { before: word.source.clone(), after });
        }
        Ok(())
    }

    /// The values that a word of an array assignment or a `for` gives.
    pub(crate) fn expand_values(&mut self, word: &Word) -> Eval<Vec<Val>> {
        let mut arguments = Vec::new();
        self.expand_arguments(word, &mut arguments)?;
        Ok(arguments.into_iter().filter(|argument| !argument.elided).map(Argument::into_value).collect())
    }

    /// A word as one text.
    pub(crate) fn expand_text(&mut self, word: &Word) -> Eval<Abstract> {
        if let Some(plain) = &word.plain {
            return Ok(self.plain_text(plain));
        }
        let expanded = self.expand_parts(word, Purpose::Text)?;
        let text = joined(&expanded.frags);
        self.work.expand(super::eval::Said::length(&text))?;
        Ok(text)
    }

    /// The value of an assignment: what a value stands for beside its text stays with it.
    pub(crate) fn expand_assigned(&mut self, word: &Word) -> Eval<Val> {
        if let Some(plain) = &word.plain {
            return Ok(Val::plain(self.plain_text(plain)));
        }
        // A value that is handed on whole keeps what it stands for.
        if let [Part::Param { param, .. }] = word.parts.as_slice()
            && matches!(param.op, super::syntax::ParamOp::Plain)
            && param.subscript.is_none()
            && !param.indirect
            && !matches!(&*param.name, "@" | "*")
        {
            let read = self.parameter_value(&param.name, &param.source)?;
            return Ok(read);
        }
        let expanded = self.expand_parts(word, Purpose::Text)?;
        let mut value = Val::plain(joined(&expanded.frags));
        if let [Frag::Selected(selected, _)] = expanded.frags.as_slice() {
            value.kind = Kind::Selected(selected.clone());
        }
        self.work.expand(super::eval::Said::length(&value.text))?;
        Ok(value)
    }

    /// A word as a pattern: what is quoted is escaped. `None`: known only at run time.
    pub(crate) fn expand_pattern(&mut self, word: &Word) -> Eval<Option<String>> {
        if let Some(plain) = &word.plain {
            return Ok(self.unspliced(plain).is_none().then(|| plain.to_string()));
        }
        let mut pattern = String::new();
        // What is quoted in a pattern is text; what is expanded outside quotes is pattern.
        for part in &word.parts {
            let quoted = match part {
                Part::Text { quoted, .. }
                | Part::Param { quoted, .. }
                | Part::Command { quoted, .. }
                | Part::Arith { quoted, .. } => *quoted,
                Part::Tilde(_) | Part::Process { .. } => true,
            };
            let mut frags = Expanded::default();
            self.expand_part(part, Purpose::Text, &mut frags, false)?;
            for frag in &frags.frags {
                match frag {
                    Frag::Text { text, .. } if quoted => pattern::escape_into(text, &mut pattern),
                    Frag::Text { text, .. } => pattern.push_str(text),
                    Frag::Hole(_) | Frag::Selected(..) => return Ok(None),
                    _ => {}
                }
            }
        }
        self.work.expand(pattern.len())?;
        Ok(Some(pattern))
    }

    fn expand_parts(&mut self, word: &Word, purpose: Purpose) -> Eval<Expanded> {
        let mut out = Expanded::default();
        // `$(find …)` alone and unquoted stands for each of the names.
        let alone = word.parts.len() == 1;
        for part in &word.parts {
            self.expand_part(part, purpose, &mut out, alone)?;
        }
        Ok(out)
    }

    fn expand_part(&mut self, part: &Part, purpose: Purpose, out: &mut Expanded, alone: bool) -> Eval<()> {
        match part {
            Part::Text { text, quoted } => {
                if text.is_empty() {
                    out.frags.push(Frag::Quotes);
                } else if let Some(text) = self.unspliced(text) {
                    self.push_value(&Val::plain(text), *quoted, purpose, &mut out.frags)?;
                } else {
                    out.frags.push(Frag::Text { text: text.clone(), active: !quoted });
                }
            }
            Part::Tilde(user) => {
                out.tilde = self.expand_tilde(user, out)?;
            }
            Part::Param { param, quoted } => {
                self.expand_param(param, *quoted, purpose, &mut out.frags)?;
            }
            Part::Command { code, quoted } => self.expand_command(code, *quoted, purpose, alone, out)?,
            Part::Arith { text, .. } => {
                let value = self.expand_arithmetic(text)?;
                self.push_value(&value, true, Purpose::Text, &mut out.frags)?;
            }
            Part::Process { code, input } => {
                let path = self.process_substitution(code, *input)?;
                out.frags.push(Frag::Text { text: path, active: false });
            }
        }
        Ok(())
    }

    /// `~`, `~user`, `~+`, `~-`. Gives whether a tilde was expanded.
    fn expand_tilde(&mut self, user: &str, out: &mut Expanded) -> Eval<bool> {
        let value = match user {
            "" => match self.read("HOME")? {
                super::eval::Read::Unset => {
                    self.world.home_of(None).map(|home| Val::known(&home.to_string_lossy()))
                }
                read => Some(read.value("HOME")),
            },
            "+" => Some(Val::plain(super::eval::base_text(&self.state.cwd))),
            "-" => Some(self.read("OLDPWD")?.value("OLDPWD")),
            user => self.world.home_of(Some(user)).map(|home| Val::known(&home.to_string_lossy())),
        };
        let Some(value) = value else {
            let text = format!("~{user}");
            out.frags.push(if is_account_name(user) {
                // Where the text runs, the account may be known.
                let cause = Rc::new(Cause::NotModelled(text.into()));
                Frag::Hole(Hole { cause, maybe_empty: false, component: false, born: false })
            } else {
                Frag::Text { text: text.into(), active: false }
            });
            return Ok(false);
        };
        self.push_value(&value, true, Purpose::Text, &mut out.frags)?;
        Ok(true)
    }

    fn expand_command(
        &mut self,
        code: &Code,
        quoted: bool,
        purpose: Purpose,
        alone: bool,
        out: &mut Expanded,
    ) -> Eval<()> {
        let output = self.substitute(code)?;
        if let Input::Names(names) = &output
            && alone
            && !quoted
            && purpose == Purpose::Arguments
        {
            for selected in names {
                let hole = output_hole(code);
                out.frags.push(Frag::Selected(Rc::new(selected.clone()), hole));
                out.frags.push(Frag::Split);
            }
            return Ok(());
        }
        let value = self.output_value(code, output);
        self.push_value(&value, quoted, purpose, &mut out.frags)
    }

    /// What a substitution gives as a value: final newlines are cut.
    pub(crate) fn output_value(&mut self, code: &Code, output: Input) -> Val {
        match output {
            Input::Text(text) => {
                let text = trim_newlines(text);
                if text.pieces.is_empty() {
                    return Val::nothing(Cause::CommandOutput(code.source.clone()));
                }
                Val::plain(text)
            }
            Input::Names(names) if names.len() == 1 => {
                let text = Abstract::hole(output_hole(code));
                let mut names = names.into_iter();
                match names.next() {
                    Some(selected) => Val { text, kind: Kind::Selected(Rc::new(selected)) },
                    None => Val::plain(text),
                }
            }
            Input::Names(_) | Input::Unknown { .. } | Input::Inherited => {
                Val::plain(Abstract::hole(output_hole(code)))
            }
        }
    }

    /// `$((…))` as a value.
    pub(crate) fn expand_arithmetic(&mut self, text: &Word) -> Eval<Val> {
        let expanded = self.expand_text(text)?;
        match expanded.as_known() {
            Some(expression) => {
                let expression = expression.into_owned();
                self.tick(1 + expression.len() as u64 / 16)?;
                Ok(match arith::evaluate(&expression, self) {
                    Some(number) => Val::known(&number.to_string()),
                    None => Val::number(Cause::NotModelled(text.source.clone())),
                })
            }
            None => {
                self.forget_assigned(&text.source)?;
                Ok(Val::number(Cause::NotModelled(text.source.clone())))
            }
        }
    }

    /// Whatever an expression that cannot be read may assign is unknown afterwards.
    pub(crate) fn forget_assigned(&mut self, expression: &str) -> Eval<()> {
        for name in arith::assigned_names(expression) {
            let cause = Cause::ManyValues(name.as_str().into());
            self.assign(&name, Val::number(cause))?;
        }
        Ok(())
    }

    /// Adds a value to a word: split outside quotes where arguments are wanted.
    pub(crate) fn push_value(
        &mut self,
        value: &Val,
        quoted: bool,
        purpose: Purpose,
        out: &mut Frags,
    ) -> Eval<()> {
        let splits = self.dialect != Dialect::Zsh || self.state.flags.sh_word_split || self.splits_once;
        let split = !quoted && purpose == Purpose::Arguments && splits;
        let length = super::eval::Said::length(&value.text);
        self.work.expand(length)?;
        if let Kind::Selected(selected) = &value.kind
            && let [Piece::Hole(hole)] = value.text.pieces.as_slice()
        {
            out.push(Frag::Selected(selected.clone(), hole.clone()));
            return Ok(());
        }
        if value.text.pieces.is_empty() && quoted {
            out.push(Frag::Quotes);
        }
        for piece in &value.text.pieces {
            match piece {
                Piece::Text(text) if split && value.kind == Kind::Plain => self.split_text(text, out)?,
                Piece::Text(text) => {
                    let active = value.kind == Kind::Active || (!quoted && self.dialect != Dialect::Zsh);
                    out.push(Frag::Text { text: text.clone(), active });
                }
                Piece::Nothing(cause) => out.push(Frag::Nothing { cause: cause.clone(), quoted }),
                Piece::Hole(hole) => out.push(Frag::Hole(hole.clone())),
            }
        }
        Ok(())
    }

    /// Splits text at the characters of `IFS`.
    fn split_text(&mut self, text: &Rc<str>, out: &mut Frags) -> Eval<()> {
        let ifs = match self.state.vars.get("IFS") {
            None => " \t\n".into(),
            Some(_) => match self.read("IFS")? {
                super::eval::Read::Unset => " \t\n".into(),
                // Where it is not known, both kinds of white space are the best guess for what splits.
                read => read
                    .value("IFS")
                    .as_known()
                    .map_or_else(|| " \t\n".to_owned(), std::borrow::Cow::into_owned),
            },
        };
        if !text.contains(|c| ifs.contains(c)) {
            out.push(Frag::Text { text: text.clone(), active: true });
            return Ok(());
        }
        let mut rest = &**text;
        while let Some(at) = rest.find(|c| ifs.contains(c)) {
            let (word, tail) = rest.split_at(at);
            if !word.is_empty() {
                out.push(Frag::Text { text: word.into(), active: true });
            }
            // A run of white space with at most one other separator in it ends one word.
            let mut hard = 0;
            let mut end = tail.len();
            for (offset, c) in tail.char_indices() {
                if !ifs.contains(c) || (!c.is_ascii_whitespace() && hard == 1) {
                    end = offset;
                    break;
                }
                hard += usize::from(!c.is_ascii_whitespace());
            }
            out.push(if hard > 0 { Frag::Separator } else { Frag::Split });
            rest = &tail[end..];
            self.tick(1)?;
        }
        if !rest.is_empty() {
            out.push(Frag::Text { text: rest.into(), active: true });
        }
        Ok(())
    }

    /// Makes arguments of the fragments of one word.
    fn split_fields(&mut self, expanded: &Expanded, source: &Rc<str>, out: &mut Vec<Argument>) -> Eval<()> {
        let mut start = 0;
        let frags = &expanded.frags;
        for at in 0..=frags.len() {
            let ends = at == frags.len() || matches!(frags[at], Frag::Split | Frag::Separator);
            if !ends {
                continue;
            }
            let hard = matches!(frags.get(at), Some(Frag::Separator));
            if at > start || hard {
                let tilde = expanded.tilde && start == 0;
                let argument = self.make_argument(&frags[start..at], source, tilde)?;
                out.push(argument);
                self.tick(1)?;
            }
            start = at + 1;
        }
        Ok(())
    }

    fn make_argument(&mut self, frags: &[Frag], source: &Rc<str>, tilde: bool) -> Eval<Argument> {
        let text = joined(frags);
        let mut wild = false;
        let mut elided = !frags.is_empty();
        let mut selected = None;
        for frag in frags {
            match frag {
                Frag::Text { text, active } => {
                    wild |= *active && text.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'('));
                    elided = false;
                }
                Frag::Nothing { quoted, .. } => elided &= !quoted,
                Frag::Selected(from, _) if frags.len() == 1 => {
                    selected = Some(from.clone());
                    elided = false;
                }
                _ => elided = false,
            }
        }
        let glob = if wild && !self.state.flags.noglob { self.look_up(frags)? } else { None };
        let field = Field { text, glob, source: source.clone(), tilde };
        Ok(Argument { field, elided, selected })
    }

    /// Looks a word with wildcards up in the file system.
    fn look_up(&mut self, frags: &[Frag]) -> Eval<Option<Rc<super::value::Glob>>> {
        let mut pattern = String::new();
        for frag in frags {
            match frag {
                Frag::Text { text, active: true } => pattern.push_str(text),
                Frag::Text { text, active: false } => pattern::escape_into(text, &mut pattern),
                Frag::Hole(_) | Frag::Selected(..) => return Ok(None),
                _ => {}
            }
        }
        if !pattern::has_wildcard(&pattern, pattern.contains('(')) {
            return Ok(None);
        }
        let cwd = if pattern.starts_with('/') { Some(Rc::default()) } else { self.settled_cwd() };
        let Some(cwd) = cwd else { return Ok(None) };
        self.tick(4)?;
        let found = glob::look_up(&self.world, &cwd, &pattern, self.state.flags, &mut self.listings)?;
        Ok(Some(Rc::new(found)))
    }

    /// The directory that a glob ranges over. Where it is one of a few (a `cd` that may fail), the present command is
    /// followed in each of them: what a wildcard reaches is not to be told from its text.
    fn settled_cwd(&mut self) -> Option<Rc<PathBuf>> {
        let path = match &self.state.cwd {
            Base::Known(path) => return Some(path.clone()),
            Base::Unknown(_) => return None,
            Base::OneOf(paths) => {
                let paths = paths.clone();
                match self.choose(paths.len()) {
                    Choice::Pick(index) => paths[index].clone(),
                    Choice::TooMany => return None,
                }
            }
        };
        self.state.cwd = Base::Known(path.clone());
        Some(path)
    }
}

/// Whether a word behind `~` may name an account (useradd(8), "CAVEATS").
fn is_account_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.-$".contains(letter))
}

impl Argument {
    /// The argument as a value that a variable may hold.
    pub(crate) fn into_value(self) -> Val {
        let kind = match (self.selected, &self.field.glob) {
            (Some(selected), _) => Kind::Selected(selected),
            (None, Some(_)) => Kind::Active,
            (None, None) => Kind::Plain,
        };
        Val { text: self.field.text, kind }
    }
}

/// The fragments as one text. What is known is put together once for each stretch: there may be very many fragments.
fn joined(frags: &[Frag]) -> Abstract {
    let mut text = Abstract::default();
    let mut rest = frags;
    while let Some(first) = rest.first() {
        let known = rest.iter().map_while(as_text).count();
        let (stretch, behind) = rest.split_at(known);
        rest = behind;
        match (stretch, first) {
            ([Frag::Text { text: only, .. }], _) if text.pieces.is_empty() => {
                text.pieces.push(Piece::Text(only.clone()));
            }
            ([], Frag::Nothing { cause, .. }) => {
                text.pieces.push(Piece::Nothing(cause.clone()));
                rest = &behind[1..];
            }
            ([], Frag::Hole(hole) | Frag::Selected(_, hole)) => {
                text.pieces.push(Piece::Hole(hole.clone()));
                rest = &behind[1..];
            }
            _ => {
                let whole: String = stretch.iter().filter_map(as_text).collect();
                let is_text = stretch.iter().any(|frag| matches!(frag, Frag::Text { .. }));
                if text.pieces.is_empty() && is_text {
                    text.pieces.push(Piece::Text(whole.into()));
                } else {
                    text.push_text(&whole);
                }
            }
        }
    }
    text
}

/// What a fragment gives where one text is wanted, if that is known.
fn as_text(frag: &Frag) -> Option<&str> {
    match frag {
        Frag::Text { text, .. } => Some(text),
        // Only where one text is wanted: `"$*"` and the like have put their separator already.
        Frag::Separator | Frag::Split => Some(" "),
        Frag::Quotes => Some(""),
        Frag::Nothing { .. } | Frag::Hole(_) | Frag::Selected(..) => None,
    }
}

/// The output of a command that is not known.
pub(crate) fn output_hole(code: &Code) -> Hole {
    Hole {
        cause: Rc::new(Cause::CommandOutput(code.source.clone())),
        maybe_empty: true,
        component: false,
        born: false,
    }
}

/// Cuts the newlines at the end.
pub(crate) fn trim_newlines(mut text: Abstract) -> Abstract {
    while let Some(last) = text.pieces.last_mut() {
        match last {
            Piece::Text(known) => {
                let trimmed = known.trim_end_matches('\n');
                if trimmed.len() == known.len() {
                    break;
                }
                if trimmed.is_empty() {
                    text.pieces.pop();
                    continue;
                }
                *last = Piece::Text(trimmed.into());
                break;
            }
            Piece::Nothing(_) | Piece::Hole(_) => break,
        }
    }
    text
}
