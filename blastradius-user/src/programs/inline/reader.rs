//! Tokens → what the code does: a careful reader of assignments, loops over known lists and calls.
//!
//! It walks the code twice. The first time it only learns what names stand for, so that a comprehension or a function
//! may use a name in front of the place that binds it; the second time it tells the machine. Conditions are taken both
//! ways. What it does not model becomes unknown, never a wrong path.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

use blastradius_common::RuleId;

use super::language::{Language, Meaning};
use super::lexer::{Part, Token, tokens};
use super::value::{Value, Values, bounded, concatenated, path_joined, unknown_text};
use crate::policy::effect::Base;
use crate::programs::{Machine, acts};
use crate::shell::value::{Abstract, Field, Piece};

/// Longer code is not read: it is no one-liner, and the bound is told.
const MAX_CODE: usize = 1 << 18;
/// Tokens, calls and values that are looked at before the reader gives up.
const MAX_STEPS: usize = 100_000;
/// A dotted name that is longer names nothing in a table.
const LONGEST_PATH: usize = 200;
/// Nesting of expressions that is followed.
const MAX_DEPTH: usize = 24;

/// A function's body that is being read.
struct Scope {
    name: String,
    /// Python: the indentation of its `def`. Others: how many blocks were open in front of it.
    outside: usize,
}

/// The file in which code stands.
pub(super) struct Script {
    /// As it was named.
    pub(super) source: Rc<str>,
    /// Where it lies, if that is known.
    pub(super) place: Option<PathBuf>,
}

/// The reader's state.
pub(super) struct Reader<'a> {
    pub(super) language: &'static Language,
    pub(super) machine: &'a mut dyn Machine,
    /// Arguments of the code.
    pub(super) args: &'a [Field],
    /// The code stands in a file: only known targets count.
    pub(super) script: Option<Rc<str>>,
    /// Where that file lies.
    place: Option<PathBuf>,
    /// The working directory as the code has left it.
    pub(super) base: Base,
    /// Only learning: nothing is told.
    pub(super) muted: bool,
    /// What stands for the private letters in the code: stretches that are known only at run time.
    pub(super) holes: Vec<Piece>,
    /// What the code printed, as long as it is known.
    pub(super) printed: Option<Abstract>,
    tokens: Rc<[Token]>,
    at: usize,
    variables: HashMap<String, Values>,
    assigned: HashSet<String>,
    functions: HashMap<String, Vec<String>>,
    scopes: Vec<Scope>,
    loops: Vec<String>,
    items: Vec<Values>,
    /// Within the arguments of a call without parentheses: words like `or` end it.
    bare: bool,
    indent: usize,
    blocks: usize,
    depth: usize,
    steps: usize,
}

/// The first of the letters that stand for a hole in code: a private use area of Unicode, which no code uses.
const FIRST_HOLE: u32 = 0xF_0000;

/// The code as text, with a private letter for each stretch that is known only at run time.
fn spelled(code: &Abstract) -> (String, Vec<Piece>) {
    let mut text = String::new();
    let mut holes = Vec::new();
    for piece in &code.pieces {
        match piece {
            Piece::Text(known) => text.push_str(known),
            Piece::Nothing(_) => {}
            Piece::Hole(_) => {
                let letter =
                    u32::try_from(holes.len()).ok().and_then(|place| char::from_u32(FIRST_HOLE + place));
                text.push(letter.unwrap_or('?'));
                holes.push(piece.clone());
            }
        }
    }
    (text, holes)
}

/// Reads code and tells what it does. `script` names the file it stands in, if it stands in one.
pub(super) fn read(
    code: &Abstract,
    language: &'static Language,
    args: &[Field],
    script: Option<Script>,
    machine: &mut dyn Machine,
) {
    let (script, place) = script.map_or((None, None), |script| (Some(script.source), script.place));
    let (code, holes) = spelled(code);
    if code.len() > MAX_CODE {
        return too_long(&script, machine);
    }
    let base = machine.cwd();
    let mut reader = Reader {
        language,
        args,
        script,
        place,
        base: base.clone(),
        muted: true,
        printed: Some(Abstract::default()),
        tokens: significant(tokens(&code, language), language),
        holes,
        at: 0,
        variables: HashMap::new(),
        assigned: HashSet::new(),
        functions: HashMap::new(),
        scopes: Vec::new(),
        loops: Vec::new(),
        items: Vec::new(),
        bare: false,
        indent: 0,
        blocks: 0,
        depth: 0,
        steps: 0,
        machine,
    };
    reader.define();
    reader.walk();
    reader.begin_again(base);
    reader.walk();
    let complete = reader.steps < MAX_STEPS;
    let printed = reader.printed.take().filter(|text| !text.pieces.is_empty());
    let script = reader.script.take();
    if let Some(text) = printed {
        machine.print(crate::programs::Input::Text(text));
    }
    if !complete {
        too_long(&script, machine);
    }
}

fn too_long(script: &Option<Rc<str>>, machine: &mut dyn Machine) {
    if script.is_none() {
        acts::thing(machine, RuleId::UnparseableLimit, "inline code that is too long to be read", "");
    }
}

/// The tokens without the ends of lines that end no statement.
fn significant(tokens: Vec<Token>, language: &Language) -> Rc<[Token]> {
    let mut brackets = 0_usize;
    let keep = |token: &Token| match token {
        Token::Sign("(" | "[" | "{") => {
            brackets += 1;
            true
        }
        Token::Sign(")" | "]" | "}") => {
            brackets = brackets.saturating_sub(1);
            true
        }
        Token::Line(_) => language.lines && (brackets == 0 || language.name != "python"),
        _ => true,
    };
    let mut tokens = tokens;
    tokens.retain(keep);
    tokens.into()
}

/// Python: names under which the first parameter of a call that matters here may be given.
const FIRST_BY_NAME: &[&str] = &["path", "src", "name", "filename", "file", "args", "command", "cmd", "top"];

/// The same of the second.
const SECOND_BY_NAME: &[&str] = &["dst", "mode"];

impl Reader<'_> {
    fn begin_again(&mut self, base: Base) {
        self.at = 0;
        self.base = base;
        self.muted = false;
        self.printed = Some(Abstract::default());
        self.assigned.clear();
        self.scopes.clear();
        self.loops.clear();
        self.indent = 0;
        self.blocks = 0;
    }

    fn token(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    fn is_sign(&self, ahead: usize, signs: &[&str]) -> bool {
        matches!(self.token(ahead), Some(Token::Sign(sign)) if signs.contains(sign))
    }

    fn is_word(&self, ahead: usize, words: &[&str]) -> bool {
        matches!(self.token(ahead), Some(Token::Name(name)) if words.contains(&&**name))
    }

    fn name_at(&self, ahead: usize) -> Option<Rc<str>> {
        match self.token(ahead) {
            Some(Token::Name(name)) => Some(Rc::clone(name)),
            _ => None,
        }
    }

    fn is(&self, language: &str) -> bool {
        self.language.name == language
    }

    /// Whether the work is still within its bound.
    fn may_go_on(&mut self) -> bool {
        self.steps += 1;
        self.steps < MAX_STEPS
    }

    /// Learns the names of functions and of their parameters.
    fn define(&mut self) {
        for place in 0..self.tokens.len() {
            self.at = place;
            let name = if self.is_word(0, &[self.language.definition]) {
                self.name_at(1).map(|name| (name, 2))
            } else if self.is_sign(1, &["="])
                && (self.is_sign(2, &["("]) || self.is_word(2, &["function", "async"]))
            {
                self.name_at(0)
                    .map(|name| (name, if self.is_word(2, &["function", "async"]) { 3 } else { 2 }))
            } else {
                None
            };
            let Some((name, ahead)) = name else { continue };
            let parameters =
                if self.is("perl") { self.perl_parameters(ahead) } else { self.parameters(ahead) };
            if !parameters.is_empty() {
                self.functions.insert(name.to_string(), parameters);
            }
        }
        self.at = 0;
    }

    /// The names between the parentheses that open `ahead` tokens from here.
    fn parameters(&self, ahead: usize) -> Vec<String> {
        const LONGEST: usize = 64;
        if !self.is_sign(ahead, &["("]) {
            return Vec::new();
        }
        let mut names = Vec::new();
        let mut expects_name = true;
        for place in ahead + 1..ahead + LONGEST {
            match self.token(place) {
                Some(Token::Sign(")")) | None => break,
                Some(Token::Sign(",")) => expects_name = true,
                Some(Token::Name(name)) if expects_name && &**name != "self" => {
                    names.push(name.to_string());
                    expects_name = false;
                }
                _ => {}
            }
        }
        names
    }

    /// `sub f { my ($a, $b) = @_; …`, `sub f { my $a = shift; …`.
    fn perl_parameters(&self, ahead: usize) -> Vec<String> {
        if !self.is_sign(ahead, &["{"]) || !self.is_word(ahead + 1, &["my"]) {
            return Vec::new();
        }
        if self.is_sign(ahead + 2, &["("]) {
            return self.parameters(ahead + 2);
        }
        let shifted = self.is_sign(ahead + 3, &["="]) && self.is_word(ahead + 4, &["shift"]);
        self.name_at(ahead + 2).filter(|_| shifted).map(|name| name.to_string()).into_iter().collect()
    }

    /// Reads statement after statement to the end.
    fn walk(&mut self) {
        while self.at < self.tokens.len() && self.may_go_on() {
            let start = self.at;
            self.statement();
            if self.at == start {
                self.at += 1;
            }
        }
    }

    fn statement(&mut self) {
        match self.token(0).cloned() {
            Some(Token::Line(indent)) => {
                self.at += 1;
                self.new_line(indent);
            }
            Some(Token::Sign("{")) => {
                self.at += 1;
                self.blocks += 1;
            }
            Some(Token::Sign("}")) => {
                self.at += 1;
                self.blocks = self.blocks.saturating_sub(1);
                let blocks = self.blocks;
                self.scopes.retain(|scope| scope.outside < blocks);
            }
            Some(Token::Name(_)) if self.keyword() => {}
            Some(_) if self.assignment() => {}
            Some(_) => {
                let values = self.expression();
                self.alias(values);
            }
            None => {}
        }
    }

    /// `with EXPR as NAME`.
    fn alias(&mut self, values: Values) {
        if self.is_word(0, &["as"])
            && let Some(name) = self.name_at(1)
        {
            self.at += 2;
            self.assign(&name, values);
        }
    }

    fn new_line(&mut self, indent: usize) {
        // A blank line ends no block.
        if self.is("python") && !matches!(self.token(0), Some(Token::Line(_)) | None) {
            self.indent = indent;
            self.scopes.retain(|scope| scope.outside < indent);
            if indent == 0 {
                self.loops.clear();
            }
        }
    }

    /// Whether what stands here may not be reached, or be reached again.
    fn is_conditional(&self) -> bool {
        self.indent > 0 || self.blocks > 0 || self.depth > 0
    }

    /// Statements that begin with a word of the language. Returns whether one was read.
    fn keyword(&mut self) -> bool {
        let Some(word) = self.name_at(0) else { return false };
        match &*word {
            "import" if self.is("python") => self.python_import(),
            "from" if self.is("python") => self.python_from(),
            "import" if self.is("javascript") && !self.is_sign(1, &["("]) => self.javascript_import(),
            "use" if self.is("perl") => self.perl_use(),
            "for" | "foreach" if self.for_loop() => {}
            "if" | "elif" | "unless" | "elsif" if !self.is("ruby") || !self.is_sign(1, &[")"]) => {
                self.at += 1;
                self.narrow();
                self.expression();
            }
            word if word == self.language.definition => self.definition(),
            _ => return false,
        }
        true
    }

    fn definition(&mut self) {
        let outside = if self.is("python") { self.indent } else { self.blocks };
        if let Some(name) = self.name_at(1).filter(|name| self.functions.contains_key(&**name)) {
            self.scopes.push(Scope { name: name.to_string(), outside });
        }
        // Parameters are no calls: `def rmtree(path)`.
        self.at += if self.name_at(1).is_some() { 2 } else { 1 };
        if self.is_sign(0, &["("]) {
            self.skip_brackets();
        }
    }

    /// Steps over a bracketed stretch.
    fn skip_brackets(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.token(0) {
            match token {
                Token::Sign("(" | "[" | "{") => depth += 1,
                Token::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 || !self.may_go_on() {
                break;
            }
        }
    }

    /// `import a.b as c, d`.
    fn python_import(&mut self) {
        self.at += 1;
        while let Some(module) = self.dotted() {
            if self.is_word(0, &["as"])
                && let Some(name) = self.name_at(1)
            {
                self.at += 2;
                self.assign(&name, vec![Value::Object(module)]);
            }
            if !self.is_sign(0, &[","]) {
                break;
            }
            self.at += 1;
        }
    }

    /// `from m import a as b, (c, d)`.
    fn python_from(&mut self) {
        self.at += 1;
        let module = self.dotted().unwrap_or_else(|| "".into());
        if !self.is_word(0, &["import"]) {
            return;
        }
        self.at += 1;
        if self.is_sign(0, &["*"]) {
            self.at += 1;
            let prefix = format!("{module}.");
            for (path, _) in self.language.functions {
                if let Some(name) = path.strip_prefix(&prefix).filter(|name| !name.contains('.')) {
                    self.variables.insert(name.to_owned(), vec![Value::Object((*path).into())]);
                }
            }
            return;
        }
        loop {
            if self.is_sign(0, &["(", ")", ","]) {
                self.at += 1;
                continue;
            }
            let Some(name) = self.name_at(0) else { break };
            self.at += 1;
            let path: Rc<str> = format!("{module}.{name}").into();
            let bound = if self.is_word(0, &["as"]) { self.name_at(1) } else { None };
            self.at += if bound.is_some() { 2 } else { 0 };
            self.assign(&bound.unwrap_or(name), vec![Value::Object(path)]);
        }
    }

    fn dotted(&mut self) -> Option<Rc<str>> {
        let mut path = self.name_at(0)?.to_string();
        self.at += 1;
        while self.is_sign(0, &[".", "::"])
            && path.len() < LONGEST_PATH
            && let Some(name) = self.name_at(1)
        {
            path.push('.');
            path.push_str(&name);
            self.at += 2;
        }
        Some(path.into())
    }

    /// `import x from "m"`, `import {a as b} from "m"`, `import * as x from "m"`.
    fn javascript_import(&mut self) {
        let mut names: Vec<(Option<Rc<str>>, Rc<str>)> = Vec::new();
        let mut within = false;
        self.at += 1;
        while let Some(token) = self.token(0) {
            match token {
                Token::Sign("{") => within = true,
                Token::Sign("}") => within = false,
                Token::Name(name) if &**name == "from" => {}
                Token::Name(name) if &**name == "as" => {
                    if let Some(alias) = self.name_at(1) {
                        match names.last_mut() {
                            Some(last) if within => last.1 = alias,
                            _ => names.push((None, alias)),
                        }
                        self.at += 1;
                    }
                }
                Token::Name(name) => names.push((within.then(|| Rc::clone(name)), Rc::clone(name))),
                Token::Text(parts) => {
                    if let [Part::Text(module)] = parts.as_slice() {
                        let module = module_name(module);
                        for (member, name) in names {
                            let path =
                                member.map_or_else(|| module.clone(), |member| format!("{module}.{member}"));
                            self.assign(&name, vec![Value::Object(path.into())]);
                        }
                    }
                    self.at += 1;
                    return;
                }
                Token::Line(_) if !within => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// `use File::Path qw(rmtree)`.
    fn perl_use(&mut self) {
        self.at += 1;
        let module = self.dotted();
        let names: Vec<String> = match self.token(0) {
            Some(Token::Words(names)) => names.clone(),
            Some(Token::Text(parts)) => match parts.as_slice() {
                [Part::Text(name)] => vec![name.clone()],
                _ => Vec::new(),
            },
            _ => return,
        };
        self.at += 1;
        let Some(module) = module else { return };
        for name in names {
            self.variables.insert(name.clone(), vec![Value::Object(format!("{module}.{name}").into())]);
        }
    }

    /// A loop over a list. Returns whether its head was one.
    fn for_loop(&mut self) -> bool {
        match self.language.name {
            "php" => self.php_foreach(),
            "perl" => self.perl_foreach(),
            _ => self.for_in(),
        }
    }

    /// `for a, (b, c) in EXPR`, `for (const a of EXPR)`.
    fn for_in(&mut self) -> bool {
        const LONGEST: usize = 24;
        let mut names = Vec::new();
        for ahead in 1..LONGEST {
            match self.token(ahead) {
                Some(Token::Name(name)) if matches!(&**name, "in" | "of") => {
                    self.at += ahead + 1;
                    let list = self.expression();
                    self.bind_each(&names, &list);
                    return true;
                }
                Some(Token::Name(name)) if matches!(&**name, "const" | "let" | "var" | "await") => {}
                Some(Token::Name(name)) => names.push(Rc::clone(name)),
                Some(Token::Sign("(" | ")" | "," | "[" | "]" | "{" | "}")) => {}
                _ => return false,
            }
        }
        false
    }

    /// `foreach (EXPR as $k => $v)`.
    fn php_foreach(&mut self) -> bool {
        if !self.is_sign(1, &["("]) {
            return false;
        }
        self.at += 2;
        let list = self.expression();
        if self.is_word(0, &["as"]) {
            let keyed = self.is_sign(2, &["=>"]);
            if let Some(name) = self.name_at(if keyed { 3 } else { 1 }) {
                self.bind_each(&[name], &list);
            }
        }
        true
    }

    /// `for my $x (LIST)`, `foreach (LIST)`: the latter binds `$_`.
    fn perl_foreach(&mut self) -> bool {
        let mut ahead = 1;
        if self.is_word(ahead, &["my", "our"]) {
            ahead += 1;
        }
        let name = self.name_at(ahead);
        if name.is_some() {
            ahead += 1;
        }
        if !self.is_sign(ahead, &["("]) {
            return false;
        }
        self.at += ahead;
        let list = self.expression();
        self.bind_each(&[name.unwrap_or_else(|| "$_".into())], &list);
        true
    }

    /// Binds the names of a loop's head to what the list may give.
    fn bind_each(&mut self, names: &[Rc<str>], list: &Values) {
        let elements: Values = list.iter().flat_map(Value::elements).collect();
        self.loops = names.iter().map(ToString::to_string).collect();
        if let [name] = names {
            return self.rebind(name, elements);
        }
        for (place, name) in names.iter().enumerate() {
            let at_place = |element: &Value| match element {
                Value::List(items) => items.get(place).cloned().unwrap_or_default(),
                other => vec![other.clone()],
            };
            let values = elements.iter().flat_map(at_place).collect();
            self.rebind(name, values);
        }
    }

    fn rebind(&mut self, name: &str, values: Values) {
        let key = self.key(name);
        self.assigned.insert(key.clone());
        self.variables.insert(key, bounded(values, name));
    }

    /// A condition inside a loop: not every entry is meant.
    fn narrow(&mut self) {
        for name in self.loops.clone() {
            let key = self.key(&name);
            for value in self.variables.entry(key).or_default() {
                if let Value::Below(below) = value {
                    below.selection.narrow_by_other = true;
                }
            }
        }
    }

    /// A condition on how names end: what is meant ends so.
    pub(super) fn narrow_to(&mut self, tested: &Value, suffix: &str) {
        let Value::Below(_) = tested else { return };
        for values in self.variables.values_mut() {
            for value in values.iter_mut().filter(|value| *value == tested) {
                if let Value::Below(below) = value {
                    below.selection.names.push(format!("*{suffix}"));
                    below.selection.narrow_by_name = true;
                }
            }
        }
    }

    /// The key under which a name is kept: a parameter belongs to its function.
    fn key(&self, name: &str) -> String {
        let owner = self.scopes.iter().rev().find(|scope| {
            self.functions
                .get(&scope.name)
                .is_some_and(|parameters| parameters.iter().any(|parameter| parameter == name))
        });
        owner.map_or_else(|| name.to_owned(), |scope| format!("{}/{name}", scope.name))
    }

    fn assign(&mut self, name: &str, values: Values) {
        let key = self.key(name);
        let is_parameter = key.contains('/');
        if is_parameter && values.iter().all(|value| matches!(value, Value::Unknown(_) | Value::Object(_))) {
            return;
        }
        let again = !self.assigned.insert(key.clone());
        let values = match self.variables.get(&key) {
            Some(before) if again && self.is_conditional() => before.iter().cloned().chain(values).collect(),
            _ => values,
        };
        self.variables.insert(key, bounded(values, name));
    }

    /// `NAME = EXPR` in its many spellings. Returns whether one was read.
    fn assignment(&mut self) -> bool {
        const ASSIGNS: &[&str] = &["=", ":=", "||=", "??=", "//="];
        let start = self.at;
        while self
            .is_word(0, &["my", "our", "local", "const", "let", "var", "global", "export", "static", "final"])
        {
            self.at += 1;
        }
        if let Some(names) = self.pattern_of_names()
            && self.is_sign(0, &["="])
        {
            self.at += 1;
            let values = self.expression();
            self.destructure(&names, &values);
            return true;
        }
        if let Some(name) = self.dotted() {
            // `x: str = …`
            if self.is("python") && self.is_sign(0, &[":"]) && self.is_sign(2, &["="]) {
                self.at += 2;
            }
            if self.is_sign(0, ASSIGNS) {
                self.at += 1;
                let values = self.tuple();
                self.assign(&name, values);
                return true;
            }
            if self.is_sign(0, &["+=", ".=", "/="]) {
                self.at += 1;
                let more = self.expression();
                let before = self.lookup(&name).unwrap_or_else(|| vec![Value::Unknown(Rc::clone(&name))]);
                let values = cross(&before, &more, concatenated);
                self.assign(&name, values);
                return true;
            }
        }
        self.at = start;
        false
    }

    /// The right side of an assignment: several expressions are a tuple.
    fn tuple(&mut self) -> Values {
        let first = self.expression();
        if !self.is_sign(0, &[","]) || !(self.is("python") || self.is("ruby")) {
            return first;
        }
        let mut items = vec![first];
        while self.is_sign(0, &[","]) && self.may_go_on() {
            self.at += 1;
            items.push(self.expression());
        }
        vec![Value::List(items)]
    }

    /// `a, b`, `(a, b)`, `[a, b]`, `{a, b: c}` in front of an `=`: (member, name) pairs.
    fn pattern_of_names(&mut self) -> Option<Vec<(Rc<str>, Rc<str>)>> {
        const LONGEST: usize = 40;
        let start = self.at;
        let bracketed = self.is_sign(0, &["(", "[", "{"]);
        let mut names: Vec<(Rc<str>, Rc<str>)> = Vec::new();
        let mut ahead = usize::from(bracketed);
        let mut several = bracketed;
        while ahead < LONGEST {
            let name = self.name_at(ahead)?;
            ahead += 1;
            if self.is_sign(ahead, &[":"]) {
                let alias = self.name_at(ahead + 1)?;
                names.push((name, alias));
                ahead += 2;
            } else {
                names.push((Rc::clone(&name), name));
            }
            if self.is_sign(ahead, &[","]) {
                several = true;
                ahead += 1;
                continue;
            }
            break;
        }
        if bracketed {
            if !self.is_sign(ahead, &[")", "]", "}"]) {
                return None;
            }
            ahead += 1;
        }
        if !several || !self.is_sign(ahead, &["="]) {
            self.at = start;
            return None;
        }
        self.at += ahead;
        Some(names)
    }

    fn destructure(&mut self, names: &[(Rc<str>, Rc<str>)], values: &Values) {
        for (place, (member, name)) in names.iter().enumerate() {
            let part = |value: &Value| match value {
                Value::List(items) => items.get(place).cloned().unwrap_or_default(),
                Value::Object(path) => vec![Value::Object(format!("{path}.{member}").into())],
                _ => vec![Value::Unknown(Rc::clone(name))],
            };
            let parts = values.iter().flat_map(part).collect();
            self.assign(name, parts);
        }
    }

    fn lookup(&self, name: &str) -> Option<Values> {
        self.variables.get(&self.key(name)).cloned()
    }

    /// One expression: alternatives of sums.
    pub(super) fn expression(&mut self) -> Values {
        if self.depth >= MAX_DEPTH || !self.may_go_on() {
            self.at += 1;
            return vec![Value::Unknown("a deeply nested expression".into())];
        }
        self.depth += 1;
        let mut values = self.sum();
        while self.may_go_on() {
            if self.bare && self.name_at(0).is_some_and(|name| STATEMENT_WORDS.contains(&&*name)) {
                break;
            }
            if self.is_sign(0, &["||", "??"]) || self.is_word(0, &["or"]) {
                self.at += 1;
                let other = self.sum();
                // `getenv("X") or "default"`: either may be what it gives.
                values.extend(other);
            } else if self.is_sign(0, &["&&"]) || self.is_word(0, &["and"]) {
                self.at += 1;
                values = self.sum();
            } else if self.is_sign(0, &["?"]) && !self.is("python") {
                values = self.ternary(values);
            } else if self.is_word(0, &["if", "unless"]) && !self.is("javascript") && !self.is("php") {
                self.at += 1;
                self.narrow();
                self.expression();
                if self.is_word(0, &["else"]) && self.is("python") {
                    self.at += 1;
                    let other = self.expression();
                    values.extend(other);
                }
            } else if self.is_word(0, &["for", "foreach"]) && (self.is("perl") || self.is("python")) {
                self.trailing_for();
            } else if self.is_sign(0, &["==", "!=", "===", "!==", "<", ">", "<=", ">=", "<=>", "=~", "!~"])
                || self.is_word(0, &["in", "is", "not", "instanceof", "eq", "ne"])
            {
                self.at += 1;
                self.sum();
                values = vec![Value::Unknown("a comparison".into())];
            } else {
                break;
            }
        }
        self.depth -= 1;
        bounded(values, "a value")
    }

    /// `A ? B : C`, `A ?: C`.
    fn ternary(&mut self, condition: Values) -> Values {
        self.at += 1;
        let mut values = if self.is_sign(0, &[":"]) { condition } else { self.expression() };
        if self.is_sign(0, &[":"]) {
            self.at += 1;
            let other = self.expression();
            values.extend(other);
        }
        values
    }

    /// `EXPR for LIST` of Perl, `EXPR for x in LIST` of Python: bound here, used in front of it the second time.
    fn trailing_for(&mut self) {
        if self.is("python") {
            if !self.for_in() {
                self.at += 1;
            }
            return;
        }
        self.at += 1;
        let list = self.expression();
        self.bind_each(&["$_".into()], &list);
    }

    /// Values joined by operators, from left to right.
    fn sum(&mut self) -> Values {
        let mut left = self.unary();
        while self.may_go_on() {
            let Some(Token::Sign(sign)) = self.token(0) else { break };
            let sign = *sign;
            let is_path = left.iter().any(|value| matches!(value, Value::Path(_)));
            if self.language.concat.contains(&sign) {
                self.at += 1;
                self.skip_lines();
                let right = self.unary();
                left =
                    cross(&left, &right, if is_path && self.is("ruby") { path_joined } else { concatenated });
            } else if sign == "/" && (is_path || self.is("python") && left.iter().all(may_be_path)) {
                self.at += 1;
                let right = self.unary();
                left = cross(&left, &right, path_joined);
            } else if sign == "%" && self.is("python") {
                self.at += 1;
                let right = self.unary();
                left = left.iter().map(|format| formatted(format, &right)).collect();
            } else if matches!(sign, "-" | "*" | "/" | "%" | "**" | "//" | ">>" | "&" | "^" | ".." | "...") {
                self.at += 1;
                self.unary();
                left = vec![Value::Unknown("a calculation".into())];
            } else {
                break;
            }
        }
        left
    }

    fn unary(&mut self) -> Values {
        const SIGNS: &[&str] = &["!", "-", "+", "~", "\\", "&", "@", "*", "**", "...", "++", "--", "$"];
        let mut negated = false;
        while (self.is_sign(0, SIGNS)
            || self.name_at(0).is_some_and(|name| self.language.prefixes.contains(&&*name)))
            && self.may_go_on()
        {
            negated |= self.is_sign(0, &["!"]);
            self.at += 1;
        }
        let value = self.primary();
        let value = self.postfix(value);
        if negated { vec![Value::Unknown("a negation".into())] } else { value }
    }

    pub(super) fn skip_lines(&mut self) {
        while matches!(self.token(0), Some(Token::Line(_))) {
            self.at += 1;
        }
    }

    fn primary(&mut self) -> Values {
        let Some(token) = self.token(0).cloned() else { return vec![Value::Unknown("nothing".into())] };
        match token {
            Token::Text(parts) => {
                self.at += 1;
                let mut values = self.parts(&parts);
                // Adjacent strings are one string (Python, and Ruby).
                while let Some(Token::Text(parts)) = self.token(0).cloned().filter(|_| !self.is("javascript"))
                {
                    self.at += 1;
                    let more = self.parts(&parts);
                    values = cross(&values, &more, concatenated);
                }
                values
            }
            Token::Command(parts) => {
                self.at += 1;
                for text in self.parts(&parts) {
                    self.shell(&text.as_text(), None);
                }
                vec![Value::Unknown("the output of a command".into())]
            }
            Token::Words(words) => {
                self.at += 1;
                vec![Value::List(words.iter().map(|word| vec![Value::text(word)]).collect())]
            }
            Token::Glob(parts) => {
                self.at += 1;
                let patterns = self.parts(&parts);
                patterns.iter().map(|pattern| self.globbed(pattern)).collect()
            }
            Token::Number(number) => {
                self.at += 1;
                vec![Value::text(&number)]
            }
            Token::Pattern => {
                self.at += 1;
                vec![Value::Unknown("a pattern".into())]
            }
            Token::Sign("(") if self.arrow_ahead() => self.arrow(),
            Token::Sign("(") => self.parenthesised(),
            Token::Sign("[") => {
                self.at += 1;
                let (items, _) = self.list("]");
                vec![Value::List(items)]
            }
            Token::Sign("{") => self.braces(),
            Token::Sign(":") if self.is("ruby") && self.name_at(1).is_some() => {
                let name = self.name_at(1).unwrap_or_else(|| "".into());
                self.at += 2;
                vec![Value::text(&name)]
            }
            Token::Sign(")" | "]" | "}" | "," | ";" | ":" | "=>") | Token::Line(_) => {
                vec![Value::Unknown("nothing".into())]
            }
            Token::Sign(_) => {
                self.at += 1;
                vec![Value::Unknown("an operator".into())]
            }
            Token::Name(name) => self.named(&name),
        }
    }

    /// A name: a variable, a word of the language, or an object that is looked up by its dotted name.
    fn named(&mut self, name: &Rc<str>) -> Values {
        match &**name {
            "function" if self.is("javascript") || self.is("php") => return self.anonymous_function(),
            "lambda" if self.is("python") => {
                while !self.is_sign(0, &[":"]) && self.token(0).is_some() && self.may_go_on() {
                    self.at += 1;
                }
                self.at += 1;
                self.expression();
                return vec![Value::Unknown("a function".into())];
            }
            _ if self.is("javascript") && self.is_sign(1, &["=>"]) => return self.arrow(),
            _ => {}
        }
        self.at += 1;
        // Perl: an element of `@x` is `$x[0]`, of `%x` `$x{a}`.
        let plain = name.trim_start_matches(['$', '@', '%']);
        let is_element = self.is("perl") && name.starts_with('$');
        let whole = match self.token(0) {
            Some(Token::Sign("[")) if is_element => format!("@{plain}"),
            Some(Token::Sign("{")) if is_element => format!("%{plain}"),
            _ => name.to_string(),
        };
        if let Some(values) = self.lookup(&whole) {
            return values;
        }
        if let Some(value) = self.constant(&whole) {
            return vec![value];
        }
        // `unlink for …`, `unlink;` of Perl act on `$_`.
        let alone = self.is_word(0, &["for", "foreach", "if"])
            || self.is_sign(0, &[";", "}"])
            || self.token(0).is_none();
        if self.is("perl") && alone && matches!(&*whole, "unlink" | "rmdir") {
            let topic = self.lookup("$_").unwrap_or_default();
            let arguments = Arguments { given: vec![topic], named: Vec::new() };
            return self.apply(&Value::Object(whole.into()), &arguments);
        }
        vec![Value::Object(whole.into())]
    }

    /// What a name stands for without having been assigned.
    fn constant(&self, name: &str) -> Option<Value> {
        if let Some((_, skipped)) = self.language.arguments.iter().find(|(known, _)| *known == name) {
            let unknown = vec![Value::Unknown("the program's name".into())];
            let given = self.args.iter().map(|arg| vec![Value::Text(arg.text.clone())]);
            let items = std::iter::repeat_n(unknown, *skipped).chain(given).collect();
            return Some(Value::List(items));
        }
        let is = |names: &[(&str, bool)]| names.iter().find(|(known, _)| *known == name).map(|(_, dir)| *dir);
        if let (Some(place), Some(directory)) = (&self.place, is(self.language.own_place)) {
            let place = if directory { place.parent().unwrap_or(place) } else { place };
            return Some(Value::text(&place.to_string_lossy()));
        }
        matches!(name, "os.sep" | "path.sep" | "File.SEPARATOR" | "DIRECTORY_SEPARATOR")
            .then(|| Value::text("/"))
    }

    fn parenthesised(&mut self) -> Values {
        self.at += 1;
        let (mut items, commas) = self.list(")");
        match items.pop() {
            Some(only) if items.is_empty() && commas == 0 => only,
            Some(last) => {
                items.push(last);
                vec![Value::List(items)]
            }
            None => vec![Value::List(Vec::new())],
        }
    }

    /// Expressions separated by commas up to the closing bracket, and how many commas there were.
    fn list(&mut self, close: &str) -> (Vec<Values>, usize) {
        let mut items = Vec::new();
        let mut commas = 0;
        let bare = std::mem::replace(&mut self.bare, false);
        while self.may_go_on() {
            self.skip_lines();
            if self.token(0).is_none() {
                break;
            }
            if self.is_sign(0, &[close]) {
                self.at += 1;
                break;
            }
            if self.is_sign(0, &[",", ";"]) {
                commas += 1;
                self.at += 1;
                continue;
            }
            let start = self.at;
            if !(self.token(1).is_some() && self.is_sign(1, &["="]) && self.assignment()) {
                items.push(self.expression());
            }
            if self.at == start {
                self.at += 1;
            }
        }
        self.bare = bare;
        (items, commas)
    }

    /// An object literal, a hash or a block of statements.
    fn braces(&mut self) -> Values {
        self.at += 1;
        self.block_parameters();
        let mut pairs = Vec::new();
        while self.may_go_on() {
            self.skip_lines();
            if self.token(0).is_none() {
                break;
            }
            if self.is_sign(0, &["}"]) {
                self.at += 1;
                break;
            }
            if self.is_sign(0, &[",", ";"]) {
                self.at += 1;
                continue;
            }
            let start = self.at;
            if let Some(pair) = self.pair() {
                pairs.push(pair);
            } else if self.depth < MAX_DEPTH && self.is_sign(0, &["{"]) {
                self.depth += 1;
                self.braces();
                self.depth -= 1;
            } else {
                self.statement();
            }
            if self.at == start {
                self.at += 1;
            }
        }
        vec![Value::Map(pairs)]
    }

    /// `key: value`, `"key" => value`.
    fn pair(&mut self) -> Option<(Rc<str>, Values)> {
        let key: Rc<str> = match self.token(0)? {
            Token::Name(name) | Token::Number(name) => Rc::clone(name),
            Token::Text(parts) => match parts.as_slice() {
                [Part::Text(text)] => text.as_str().into(),
                _ => return None,
            },
            Token::Sign(":") if self.is_sign(2, &["=>"]) => {
                let name = self.name_at(1)?;
                self.at += 3;
                return Some((name, self.expression()));
            }
            _ => return None,
        };
        let separated = self.is_sign(1, &[":"]) && !self.is("perl") && !self.is("php")
            || self.is_sign(1, &["=>"]) && !self.is("javascript");
        if !separated {
            return None;
        }
        self.at += 2;
        Some((key, self.expression()))
    }

    /// Whether the parenthesis here holds the parameters of an arrow function.
    fn arrow_ahead(&self) -> bool {
        const LONGEST: usize = 40;
        if !self.is("javascript") {
            return false;
        }
        let mut depth = 0_usize;
        for ahead in 0..LONGEST {
            match self.token(ahead) {
                Some(Token::Sign("(")) => depth += 1,
                Some(Token::Sign(")")) => {
                    depth -= 1;
                    if depth == 0 {
                        return self.is_sign(ahead + 1, &["=>"]);
                    }
                }
                Some(_) => {}
                None => return false,
            }
        }
        false
    }

    /// `x => …`, `(x, y) => …`: the first parameter is what the caller hands to a callback.
    fn arrow(&mut self) -> Values {
        let first = if self.is_sign(0, &["("]) { self.name_at(1) } else { self.name_at(0) };
        if self.is_sign(0, &["("]) {
            self.skip_brackets();
        } else {
            self.at += 1;
        }
        self.at += 1;
        self.bind_item(first.as_deref());
        self.skip_lines();
        self.body();
        vec![Value::Unknown("a function".into())]
    }

    /// `function (x) { … }` as a value.
    fn anonymous_function(&mut self) -> Values {
        self.at += 1;
        if self.name_at(0).is_some() {
            self.at += 1;
        }
        let first = if self.is_sign(0, &["("]) { self.name_at(1) } else { None };
        if self.is_sign(0, &["("]) {
            self.skip_brackets();
        }
        self.bind_item(first.as_deref());
        if self.is_sign(0, &["{"]) {
            self.body();
        }
        vec![Value::Unknown("a function".into())]
    }

    fn body(&mut self) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        if self.is_sign(0, &["{"]) {
            self.braces();
        } else {
            self.expression();
        }
        self.depth -= 1;
    }

    fn bind_item(&mut self, name: Option<&str>) {
        let Some(name) = name else { return };
        // A named function's parameter is bound by its calls.
        if self.variables.contains_key(&self.key(name)) && self.items.is_empty() {
            return;
        }
        let values = self.items.last().cloned().unwrap_or_else(|| vec![Value::Unknown(name.into())]);
        self.loops = vec![name.to_owned()];
        self.rebind(name, values);
    }

    /// Ruby's `|f|` at the beginning of a block.
    fn block_parameters(&mut self) {
        if !self.is_sign(0, &["|"]) {
            return;
        }
        let name = self.name_at(1);
        self.at += 1;
        while !self.is_sign(0, &["|"]) && self.token(0).is_some() && self.may_go_on() {
            self.at += 1;
        }
        self.at += 1;
        self.bind_item(name.as_deref());
    }

    /// Members, calls and indices behind a value.
    fn postfix(&mut self, mut values: Values) -> Values {
        while self.may_go_on() {
            if matches!(self.token(0), Some(Token::Line(_)))
                && self.is_sign(1, &[".", "?."])
                && self.language.member.contains(&".")
            {
                self.at += 1;
            }
            if self.token(0).is_some_and(
                |token| matches!(token, Token::Sign(sign) if self.language.member.contains(sign)),
            ) && let Some(name) = self.name_at(1)
            {
                self.at += 2;
                values = values.iter().flat_map(|value| self.member(value, &name)).collect();
            } else if self.is_sign(0, &["("]) {
                self.at += 1;
                values = self.call(&values, Some(")"));
            } else if self.is_sign(0, &["["]) {
                self.at += 1;
                let (index, _) = self.list("]");
                values = self.index(&values, index.first());
            } else if self.is_sign(0, &["{"]) && self.is("perl") && self.is_subscripted() {
                values = self.subscript(&values);
            } else if self.is_sign(0, &["->"]) && self.is_sign(1, &["[", "{"]) {
                self.at += 1;
            } else if self.takes_bare_arguments(&values) {
                values = self.call(&values, None);
            } else if self.block_follows(&values) {
                self.ruby_block(&values);
            } else {
                break;
            }
        }
        values
    }

    /// Whether the brace here is a subscript: directly behind a name with a sigil, an arrow or another subscript.
    fn is_subscripted(&self) -> bool {
        match self.at.checked_sub(1).and_then(|before| self.tokens.get(before)) {
            Some(Token::Name(name)) => name.starts_with('$'),
            Some(Token::Sign("->" | "}" | "]")) => true,
            _ => false,
        }
    }

    /// `{HOME}`, `{'HOME'}`.
    fn subscript(&mut self, values: &Values) -> Values {
        let bare = self.name_at(1).filter(|_| self.is_sign(2, &["}"]));
        let key = match bare {
            Some(name) => {
                self.at += 3;
                vec![Value::text(&name)]
            }
            None => {
                self.at += 1;
                let (items, _) = self.list("}");
                items.into_iter().next().unwrap_or_default()
            }
        };
        self.index(values, Some(&key))
    }

    fn member(&mut self, value: &Value, name: &Rc<str>) -> Values {
        let Value::Object(path) = value else { return self.property(value, name) };
        if path.len() > LONGEST_PATH {
            return vec![Value::Unknown("a member of a member".into())];
        }
        let full = format!("{path}.{name}");
        if let Some(values) = self.lookup(&full) {
            return values;
        }
        // `process.env.HOME`; elsewhere the environment has keys, and its members are methods.
        if self.is("javascript") && self.language.environment.contains(&&**path) {
            return vec![self.env(name)];
        }
        if let Some(value) = self.constant(&full) {
            return vec![value];
        }
        // `Dir.home` of Ruby is a call.
        let gives =
            |meaning| matches!(meaning, Meaning::Home | Meaning::Cwd | Meaning::Temporary | Meaning::Fresh);
        let object = Value::Object(full.as_str().into());
        if self.is("ruby") && !self.is_sign(0, &["("]) && self.language.function(&full).is_some_and(gives) {
            return self.apply(&object, &Arguments::default());
        }
        vec![object]
    }

    fn property(&self, value: &Value, name: &Rc<str>) -> Values {
        match (value, &**name) {
            // Chains of methods are not followed: they would nest without end.
            (Value::Method(..), _) => vec![Value::Unknown(Rc::clone(name))],
            (Value::Map(pairs), _) => match pairs.iter().find(|(key, _)| key == name) {
                Some((_, values)) => values.clone(),
                None => vec![Value::Method(Box::new(value.clone()), Rc::clone(name))],
            },
            (Value::Path(path), "parent") => vec![Value::Path(super::calls::dirname(path))],
            (Value::Path(path), "parents") => {
                const HIGHEST: usize = 16;
                let above = std::iter::successors(Some(super::calls::dirname(path)), |path| {
                    Some(super::calls::dirname(path))
                });
                vec![Value::List(above.take(HIGHEST).map(|path| vec![Value::Path(path)]).collect())]
            }
            (Value::Path(path), "name") => vec![super::calls::basename(&Value::Path(path.clone()))],
            // Entries of a scan: `entry.path`, `entry.name`.
            (Value::Below(below), "path") => {
                vec![Value::Below(super::value::Below { bare: false, ..below.clone() })]
            }
            _ => vec![Value::Method(Box::new(value.clone()), Rc::clone(name))],
        }
    }

    fn index(&mut self, values: &Values, index: Option<&Values>) -> Values {
        let key = index.and_then(|values| values.first()).and_then(Value::known);
        let Some(key) = key else { return vec![Value::Unknown("an element".into())] };
        let element = |value: &Value| match value {
            Value::Object(path) if self.language.environment.contains(&&**path) => vec![self.env(&key)],
            // `Dir["*.o"]` of Ruby.
            Value::Object(path) if &**path == "Dir" => vec![self.globbed(&Value::text(&key))],
            Value::List(items) => match key.parse::<usize>().ok().and_then(|place| items.get(place)) {
                Some(values) => values.clone(),
                None => vec![Value::Unknown("an element".into())],
            },
            Value::Map(pairs) => match pairs.iter().find(|(known, _)| **known == *key) {
                Some((_, values)) => values.clone(),
                None => vec![Value::Unknown("an element".into())],
            },
            _ => vec![Value::Unknown("an element".into())],
        };
        values.iter().flat_map(element).collect()
    }

    /// A variable of the environment; what is not set is empty where the language makes it so, else unknown.
    pub(super) fn env(&self, name: &str) -> Value {
        match self.machine.variable(name) {
            Some(text) => Value::Text(text),
            None => Value::Text(unknown_text(name)),
        }
    }

    /// Whether a call without parentheses begins here: `system "x"`, `unlink $f`.
    fn takes_bare_arguments(&self, values: &Values) -> bool {
        let Some(token) = self.token(0) else { return false };
        let is_call = values.iter().any(|value| match value {
            Value::Object(path) => self.language.function(path).is_some(),
            Value::Method(_, name) => self.language.method(name).is_some(),
            _ => false,
        });
        let tagged = self.is("javascript") && matches!(token, Token::Text(_));
        if !is_call || !(self.language.bare_calls || tagged) {
            return false;
        }
        match token {
            Token::Text(_) | Token::Words(_) | Token::Glob(_) | Token::Command(_) => true,
            Token::Name(name) => !STATEMENT_WORDS.contains(&&**name) && !tagged,
            Token::Sign("[" | "@" | "\\" | "$") => self.is("perl"),
            _ => false,
        }
    }

    /// Whether a block of Ruby follows a call.
    fn block_follows(&self, values: &Values) -> bool {
        let is_call = values
            .iter()
            .any(|value| matches!(value, Value::Method(..) | Value::Below(_) | Value::Object(_)));
        self.is("ruby")
            && is_call
            && (self.is_sign(0, &["{"]) && self.is_sign(1, &["|"])
                || self.is_word(0, &["do"]) && self.is_sign(1, &["|"]))
    }

    fn ruby_block(&mut self, values: &Values) {
        let items = values.iter().flat_map(receiver_elements).collect();
        self.items.push(items);
        if self.is_sign(0, &["{"]) && self.depth < MAX_DEPTH {
            self.depth += 1;
            self.braces();
            self.depth -= 1;
        } else {
            self.at += 1;
            self.block_parameters();
        }
        self.items.pop();
    }

    /// A call: its arguments up to the closing parenthesis, or to the end of a bare call.
    fn call(&mut self, callees: &Values, close: Option<&str>) -> Values {
        let items = callees.iter().flat_map(receiver_elements).collect();
        self.items.push(items);
        let bare = std::mem::replace(&mut self.bare, close.is_none());
        let arguments = self.arguments(close);
        self.bare = bare;
        self.items.pop();
        let results = callees.iter().flat_map(|callee| self.apply(callee, &arguments)).collect();
        bounded(results, "the result of a call")
    }

    fn arguments(&mut self, close: Option<&str>) -> Arguments {
        let mut arguments = Arguments::default();
        while self.may_go_on() {
            let ends = match close {
                Some(close) => {
                    self.skip_lines();
                    self.is_sign(0, &[close])
                }
                None => {
                    matches!(self.token(0), Some(Token::Line(_)) | None)
                        || self.is_sign(0, &[";", "}", ")", "]"])
                        || self.name_at(0).is_some_and(|name| STATEMENT_WORDS.contains(&&*name))
                }
            };
            if self.token(0).is_none() || ends {
                self.at += usize::from(ends && close.is_some());
                break;
            }
            if self.is_sign(0, &[","]) {
                self.at += 1;
                continue;
            }
            let start = self.at;
            let named = self.is("python") && self.is_sign(1, &["="]);
            if named && let Some(name) = self.name_at(0) {
                self.at += 2;
                let values = self.expression();
                arguments.named.push((name, values));
            } else if let Some(pair) = self.pair_argument() {
                arguments.named.push(pair);
            } else {
                let values = if self.is_sign(0, &["{"]) { self.braces() } else { self.expression() };
                arguments.given.push(values);
            }
            if self.at == start {
                self.at += 1;
            }
        }
        if self.is("python") && arguments.given.is_empty() {
            let named = |key: &&str| arguments.named.iter().find(|(name, _)| &**name == *key);
            arguments.given =
                FIRST_BY_NAME.iter().find_map(|key| Some(vec![named(key)?.1.clone()])).unwrap_or_default();
            let second = SECOND_BY_NAME.iter().find_map(|key| Some(named(key)?.1.clone()));
            arguments.given.extend(second.filter(|_| !arguments.given.is_empty()));
        }
        arguments
    }

    /// `key: value` of Ruby and PHP, `key => value` of Perl, PHP and Ruby.
    fn pair_argument(&mut self) -> Option<(Rc<str>, Values)> {
        let is_pair = self.is_sign(1, &[":"]) && self.is("ruby") && self.name_at(0).is_some()
            || self.is_sign(1, &["=>"]) && !self.is("javascript");
        if is_pair || self.is_sign(0, &[":"]) && self.is_sign(2, &["=>"]) { self.pair() } else { None }
    }

    /// Remembers what a function that the code defines is called with.
    pub(super) fn bind_parameters(&mut self, function: &str, arguments: &Arguments) -> bool {
        let Some(parameters) = self.functions.get(function).cloned() else { return false };
        for (place, parameter) in parameters.iter().enumerate() {
            let named =
                arguments.named.iter().find(|(name, _)| **name == **parameter).map(|(_, values)| values);
            let Some(values) = arguments.given.get(place).or(named) else { continue };
            let known = self.variables.entry(format!("{function}/{parameter}")).or_default();
            let new: Values = values.iter().filter(|value| !known.contains(value)).cloned().collect();
            known.extend(new);
            *known = bounded(std::mem::take(known), parameter);
        }
        true
    }

    /// Evaluates a string: its text, and the code within it.
    pub(super) fn parts(&mut self, parts: &[Part]) -> Values {
        let mut values = vec![Value::text("")];
        for part in parts {
            let next = match part {
                Part::Text(text) => vec![Value::Text(self.with_holes(text))],
                Part::Code(code) => self.embedded(code),
            };
            values = cross(&values, &next, concatenated);
        }
        values
    }

    /// The text with its holes put back in place of the letters that stand for them.
    fn with_holes(&self, text: &str) -> Abstract {
        let mut result = Abstract::default();
        let mut known = String::new();
        for letter in text.chars() {
            let place =
                u32::from(letter).checked_sub(FIRST_HOLE).and_then(|place| usize::try_from(place).ok());
            match place.and_then(|place| self.holes.get(place)) {
                Some(hole) => {
                    result.push_text(&std::mem::take(&mut known));
                    result.pieces.push(hole.clone());
                }
                None => known.push(letter),
            }
        }
        result.push_text(&known);
        result
    }

    /// Evaluates an expression that stands within a string.
    fn embedded(&mut self, code: &str) -> Values {
        if self.depth >= MAX_DEPTH {
            return vec![Value::Unknown(code.into())];
        }
        let inner = significant(tokens(code, self.language), self.language);
        let outer = std::mem::replace(&mut self.tokens, inner);
        let at = std::mem::replace(&mut self.at, 0);
        self.depth += 1;
        let values = self.expression();
        self.depth -= 1;
        self.tokens = outer;
        self.at = at;
        let described = |value: Value| match value {
            Value::Object(_) | Value::Unknown(_) => Value::Unknown(code.into()),
            other => other,
        };
        values.into_iter().map(described).collect()
    }

    /// Reads code of the same language that is handed over as text.
    pub(super) fn code(&mut self, code: &str) {
        if self.depth >= MAX_DEPTH || code.len() > MAX_CODE {
            return;
        }
        let inner = significant(tokens(code, self.language), self.language);
        let outer = std::mem::replace(&mut self.tokens, inner);
        let at = std::mem::replace(&mut self.at, 0);
        self.depth += 1;
        self.walk();
        self.depth -= 1;
        self.tokens = outer;
        self.at = at;
    }
}

/// Words that end a call without parentheses.
const STATEMENT_WORDS: &[&str] = &[
    "if", "unless", "for", "foreach", "while", "until", "or", "and", "do", "then", "end", "else", "elsif",
    "rescue", "in",
];

/// What a call is handed.
#[derive(Default)]
pub(super) struct Arguments {
    /// In order.
    pub(super) given: Vec<Values>,
    /// By name.
    pub(super) named: Vec<(Rc<str>, Values)>,
}

/// What a callback of this method is handed: the elements of what the method belongs to.
fn receiver_elements(callee: &Value) -> Values {
    match callee {
        Value::Method(receiver, _) => receiver.elements(),
        Value::Below(_) => callee.elements(),
        // `import("fs").then(fs => …)`
        Value::Object(path) if path.ends_with(".then") => {
            vec![Value::Object(path.trim_end_matches(".then").into())]
        }
        _ => vec![Value::Unknown("what a callback is handed".into())],
    }
}

/// Every combination of two values.
pub(super) fn cross(left: &Values, right: &Values, join: fn(&Value, &Value) -> Value) -> Values {
    let all = left.iter().flat_map(|left| right.iter().map(move |right| join(left, right))).collect();
    bounded(all, "a combination")
}

/// Python divides no texts: what stands in front of a `/` is a number or a path.
fn may_be_path(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.as_known().is_none_or(|known| known.parse::<f64>().is_err()),
        Value::Path(_) | Value::Fresh | Value::Below(_) => true,
        _ => false,
    }
}

/// `'%s/%s' % (a, b)`: each `%s` gives one value.
fn formatted(format: &Value, right: &Values) -> Value {
    let Some(text) = format.known() else { return Value::Unknown("a calculation".into()) };
    let mut given: Vec<&Value> = Vec::new();
    for value in right.iter().take(1) {
        match value {
            Value::List(items) => given.extend(items.iter().filter_map(|values| values.first())),
            other => given.push(other),
        }
    }
    let mut given = given.into_iter();
    let mut pieces = text.split("%s");
    let mut result = Value::text(pieces.next().unwrap_or_default());
    for piece in pieces {
        let unknown = Value::Unknown("a formatted value".into());
        let value = given.next().unwrap_or(&unknown);
        result = concatenated(&concatenated(&result, &Value::Text(value.as_text())), &Value::text(piece));
    }
    result
}

/// `node:fs/promises` and `fs-extra` are `fs`.
pub(super) fn module_name(module: &str) -> String {
    let name = module.strip_prefix("node:").unwrap_or(module);
    match name {
        "fs/promises" | "fs-extra" | "graceful-fs" => "fs".to_owned(),
        other => other.to_owned(),
    }
}
