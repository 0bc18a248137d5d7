//! A machine for the families' tests: a made-up file system, and a record of everything it is told.

use std::path::Path;
use std::rc::Rc;

use crate::policy::effect::{Act, Base, Effect};
use crate::programs::{Call, Dialect, Input, Machine, Program, Surroundings};
use crate::shell::value::{Abstract, Cause, Field, Glob, Piece};
use crate::shell::world::memory::MemoryWorld;
use crate::shell::world::{Platform, World};

/// A nested command that was handed over.
#[derive(Debug)]
pub struct Ran {
    /// The argv or the text, as [`show`] prints it.
    pub what: String,
    /// What it differs in.
    pub surroundings: Surroundings,
}

/// Records what a family says.
pub struct Recorder {
    /// The made-up machine.
    pub world: MemoryWorld,
    /// Standard input.
    pub stdin: Input,
    /// Every effect, as said.
    pub effects: Vec<Effect>,
    /// Every argv that was handed over.
    pub argvs: Vec<Ran>,
    /// Every text that was handed over to a shell, followed by its positional parameters in brackets.
    pub texts: Vec<Ran>,
    /// What was printed last.
    pub printed: Option<Input>,
    /// What was created.
    pub created: Vec<String>,
    /// What was linked, and what took in something older.
    pub linked: Vec<String>,
    /// The exit status, where it was said to be certain.
    pub status: Option<u8>,
}

impl Default for Recorder {
    fn default() -> Self {
        let world = MemoryWorld::new(Platform::Linux).account("dev", "/home/dev").cwd("/w");
        Self {
            world,
            stdin: Input::Inherited,
            effects: Vec::new(),
            argvs: Vec::new(),
            texts: Vec::new(),
            printed: None,
            created: Vec::new(),
            linked: Vec::new(),
            status: None,
        }
    }
}

impl Recorder {
    /// With a directory; relative paths lie in the working directory `/w`.
    pub fn directory(self, path: &str) -> Self {
        Self { world: self.world.dir(&absolute(path)), ..self }
    }
    /// With a file that holds `text`.
    pub fn file(self, path: &str, text: &str) -> Self {
        Self { world: self.world.file(&absolute(path), text), ..self }
    }
    /// With a link.
    pub fn link(self, path: &str, target: &str) -> Self {
        Self { world: self.world.link(&absolute(path), target), ..self }
    }
    /// With a variable in the environment.
    pub fn env(self, name: &str, value: &str) -> Self {
        Self { world: self.world.env(name, value), ..self }
    }
    /// With this on standard input.
    pub fn stdin(mut self, input: Input) -> Self {
        self.stdin = input;
        self
    }

    /// Calls a program with this command line, see [`fields`].
    pub fn call(mut self, program: Program, line: &str) -> Self {
        let args = fields(line);
        let (name, args) = args.split_first().expect("a command line has a name");
        let name = name.as_known().expect("a program's name is known").into_owned();
        program(&Call { name: &name, args }, &mut self);
        self
    }

    /// Calls the program of the family that the command line names.
    pub fn call_in(self, family: &[(&str, Program)], line: &str) -> Self {
        let name = line.split(' ').next().unwrap_or_default();
        let program = family.iter().find(|(known, _)| *known == name).expect("a program of the family").1;
        self.call(program, line)
    }

    /// The effects in the short form of [`tell`].
    pub fn told(&self) -> Vec<String> {
        self.effects.iter().map(tell).collect()
    }
    /// The argvs that were handed over.
    pub fn ran(&self) -> Vec<&str> {
        self.argvs.iter().map(|ran| ran.what.as_str()).collect()
    }
    /// The texts that were handed over.
    pub fn sourced(&self) -> Vec<&str> {
        self.texts.iter().map(|ran| ran.what.as_str()).collect()
    }
    /// Whether nothing at all was said that could destroy something.
    pub fn is_harmless(&self) -> bool {
        self.effects.is_empty() && self.argvs.is_empty() && self.texts.is_empty()
    }
}

impl Machine for Recorder {
    fn world(&self) -> &dyn World {
        &self.world
    }
    fn cwd(&self) -> Base {
        Base::Known(Rc::new("/w".into()))
    }
    fn variable(&self, name: &str) -> Option<Abstract> {
        World::env(&self.world, name).map(|value| Abstract::known(&value))
    }
    fn stdin(&self) -> Input {
        self.stdin.clone()
    }
    fn read_file(&mut self, operand: &Field) -> Option<Abstract> {
        let name = operand.as_known()?;
        let text = self.world.read_file(Path::new(&absolute(&name)), usize::MAX)?;
        Some(Abstract::known(&String::from_utf8_lossy(&text)))
    }
    fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
    fn print(&mut self, output: Input) {
        self.printed = Some(output);
    }
    fn creates(&mut self, operand: &Field, _base: Base) {
        self.created.push(show(&operand.text));
    }
    fn links(&mut self, link: &Field, target: &Field) {
        self.linked.push(format!("{} -> {}", show(&link.text), show(&target.text)));
    }
    fn takes_in(&mut self, operand: &Field) {
        self.linked.push(format!("{} <-", show(&operand.text)));
    }
    fn run_argv(&mut self, argv: Vec<Field>, surroundings: Surroundings) {
        let words: Vec<String> = argv.iter().map(|field| show(&field.text)).collect();
        self.argvs.push(Ran { what: words.join(" "), surroundings });
    }
    fn run_text(&mut self, text: &Abstract, _: Dialect, positional: Vec<Field>, surroundings: Surroundings) {
        let mut what = show(text);
        if !positional.is_empty() {
            let words: Vec<String> = positional.iter().map(|field| show(&field.text)).collect();
            what = format!("{what} [{}]", words.join(" "));
        }
        self.texts.push(Ran { what, surroundings });
    }
    fn exit_status(&mut self, status: Option<u8>) {
        self.status = status;
    }
}

fn absolute(path: &str) -> String {
    Path::new("/w").join(path).to_string_lossy().into_owned()
}

/// A command line for tests: words are separated by blanks, `'…'` keeps blanks, a `?` at
/// the start of a word is a hole, and a word with `*` is a glob without matches.
pub fn fields(line: &str) -> Vec<Field> {
    let mut words = vec![(String::new(), false)];
    let mut quoted = false;
    for letter in line.chars() {
        let last = words.last_mut().expect("never empty");
        match letter {
            '\'' => {
                quoted = !quoted;
                last.1 = true;
            }
            ' ' if !quoted => words.push((String::new(), false)),
            _ => last.0.push(letter),
        }
    }
    words.retain(|(word, was_quoted)| !word.is_empty() || *was_quoted);
    words
        .into_iter()
        .map(|(word, was_quoted)| if was_quoted { Field::literal(&word) } else { field(&word) })
        .collect()
}

fn field(word: &str) -> Field {
    if let Some(rest) = word.strip_prefix('?') {
        let mut text = Abstract::unknown(Cause::Input(word.into()));
        text.push_text(rest);
        return Field { text, glob: None, source: word.into(), tilde: false };
    }
    let mut field = Field::literal(word);
    if word.contains('*') {
        let pattern = word.rsplit('/').next().unwrap_or(word).to_owned();
        field.glob = Some(Rc::new(Glob { base: "/w".into(), pattern, matches: Vec::new(), count: 0 }));
    }
    field
}

/// A text for tests: holes are `?`.
pub fn show(text: &Abstract) -> String {
    text.pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.to_string(),
            Piece::Nothing(_) => String::new(),
            Piece::Hole(_) => "?".into(),
        })
        .collect()
}

/// An effect in a few words: `remove-tree a`, `truncate b`, `[storage-stack deny] vg0`.
pub fn tell(effect: &Effect) -> String {
    match effect {
        Effect::Path { act, target } => {
            let act = match act {
                Act::Remove { recursive: true } => "remove-tree",
                Act::Remove { recursive: false } => "remove",
                Act::Truncate => "truncate",
                Act::Append => "append",
                Act::Replace => "replace",
                Act::Move => "move",
                Act::Metadata { recursive: true } => "metadata-tree",
                Act::Metadata { recursive: false } => "metadata",
                Act::Device => "device",
            };
            let mut told = format!("{act} {}", show(&target.operand.text));
            if !target.selection.filter.is_empty() {
                told = format!("{told} ({})", target.selection.filter);
            }
            if target.selection.contents_only {
                told.push_str(" contents");
            }
            told
        }
        Effect::Git { discard, what, .. } => format!("{what}: {discard:?}"),
        Effect::Thing { rule, verdict, object, .. } => {
            let verdict = verdict.map_or("default", |verdict| verdict.name());
            format!("[{} {verdict}] {object}", rule.id())
        }
    }
}
