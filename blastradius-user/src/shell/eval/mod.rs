//! The evaluator: what is known while a text is followed.

mod case;
mod compound;
mod dispatch;
mod lists;
mod loops;
mod machine;
mod made;
mod nested;
mod pipeline;
mod redirect;
mod replay;
mod simple;
mod test;
mod variables;

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use blastradius_common::RuleId;

pub(crate) use self::dispatch::base_name;
pub(crate) use self::machine::{Said, field_value};
pub(crate) use self::made::MovedFrom;
pub(crate) use self::redirect::{Stdin, is_below_born_hole};
pub(crate) use self::replay::Choice;
pub(crate) use self::test::variable_of;
pub(crate) use self::variables::{Read, base_text};
use super::glob::Listings;
use super::limits::{EFFECTS, Eval, Limit, SEGMENT_BYTES, Stop, WORLD_CALLS, Work};
use super::state::{Reach, State};
use super::syntax::Span;
use super::trace::{Step, What};
use super::value::{Abstract, Builder, Cause, Field};
use super::world::{GitState, Kind, Look, Meta, MountPoint, Platform, World};
use super::{Called, Evaluation, Options, Problem};
use crate::policy::effect::{Effect, Located, Selection};
use crate::programs::{Dialect, Input};

/// Follows a text and gathers what it would do.
pub(crate) struct Evaluator<'w> {
    pub(crate) world: Counted<'w>,
    pub(crate) work: Work,
    pub(crate) dialect: Dialect,
    /// The parameter that is expanded asks for splitting: zsh's `${=x}`.
    pub(crate) splits_once: bool,
    pub(crate) state: State,
    effects: Vec<Located>,
    problems: Vec<Problem>,
    trace: Option<Vec<Step>>,
    /// Simple commands, if the caller wants them.
    commands: Option<Vec<Called>>,
    depth: u32,
    max_depth: u32,
    /// Above 0: inside a branch that may or may not be taken.
    pub(crate) uncertain: u32,
    /// Inside the condition of `if`, `while`, `&&`: `set -e` does not act.
    in_condition: u32,
    captures: Vec<Capture>,
    pub(crate) stdin: Stdin,
    loops: Vec<LoopFrame>,
    frames: Vec<CallFrame>,
    /// The states in which the present shell may have ended.
    exits: Vec<State>,
    /// The text that spans are offsets into.
    pub(crate) source: Rc<str>,
    segment: Segment,
    elsewhere: Option<Rc<str>>,
    /// Directories of the machine that are seen under other names where the present command runs.
    binds: Vec<(PathBuf, PathBuf)>,
    /// The text stands in a file.
    in_script: bool,
    /// The text runs now.
    pub(crate) runs_now: bool,
    /// A program ran that may have made directories.
    pub(crate) may_be_made: bool,
    /// Script files that the text starts are not looked into.
    pub(crate) leaves_scripts: bool,
    /// The place only reads from a listing what the operand stands for.
    selected: Vec<(Field, Selection)>,
    /// The command reads a variable whose value here a guard has ruled out.
    vacuous: bool,
    /// `${X:?}` or `set -u` ends the shell with this variable.
    aborted_by: Option<Rc<str>>,
    choices: replay::Choices,
    /// What process substitutions of the present command give, by the path that stands for them.
    processes: Vec<(Rc<str>, Input)>,
    /// The directories that globs have read.
    pub(crate) listings: Listings,
    /// Files that are being evaluated as scripts.
    sourcing: Vec<PathBuf>,
    /// What private-use characters of the text stand for, where text was put together from unknown parts.
    splices: Vec<super::value::Piece>,
    /// Pipes and backgrounds that the present command is in.
    forks: u32,
    /// Input that file descriptors above 2 were given.
    fds: Vec<(i32, Stdin)>,
    /// The redirections of the present command stay in force (`exec`).
    pub(crate) keep_fds: bool,
    /// Where standard output of the present command goes, if it is a file that is written anew.
    pub(crate) stdout_file: Option<PathBuf>,
    /// The submitted text held bytes that are not UTF-8.
    lossy: bool,
    /// The present command runs in a place that is thrown away after it.
    throwaway: bool,
}

/// Where the output of commands is gathered.
pub(crate) struct Capture {
    text: Builder,
    other: Option<Input>,
    /// How uncertain things were when it began: what is printed at a higher level may not be printed.
    level: u32,
}

/// A loop that is being followed.
#[derive(Default)]
struct LoopFrame {
    left: Vec<State>,
    continued: Vec<State>,
}

/// A function, sourced file or nested text that is being followed.
struct CallFrame {
    name: Rc<str>,
    args: Option<Rc<[super::state::Val]>>,
    returned: Vec<State>,
    /// Bindings that `local` has covered, to be restored.
    locals: Vec<(Rc<str>, Option<super::state::Var>)>,
    is_function: bool,
    loops: usize,
    /// How many processes deep, and how uncertain, the call is.
    forks: u32,
    uncertain: u32,
}

/// A text, or the beginning of one that is longer than anybody reads: each of a command's many effects keeps it.
fn beginning(text: &str) -> Cow<'_, str> {
    if text.len() <= SEGMENT_BYTES {
        return text.into();
    }
    let end = (0..=SEGMENT_BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    format!("{}…", &text[..end]).into()
}

/// The command that effects are laid to.
#[derive(Clone)]
enum Segment {
    Span(Span),
    Text(Rc<str>),
}

impl<'w> Evaluator<'w> {
    pub(crate) fn new(world: &'w dyn World, options: &Options, max_depth: u32) -> Self {
        let mut state = State::new(world.cwd());
        if let Some((zero, rest)) = options.positional.split_first() {
            state.zero = super::state::Val::known(zero);
            let rest = rest.iter().map(|text| super::state::Val::known(text)).collect();
            state.positional = super::state::Positional::Known(rest);
        }
        Self {
            world: Counted { inner: world, calls: Cell::new(0) },
            work: Work::bounded(options.most_steps),
            runs_now: options.runs_now,
            may_be_made: false,
            leaves_scripts: options.leaves_scripts,
            dialect: Dialect::default(),
            splits_once: false,
            state,
            effects: Vec::new(),
            problems: Vec::new(),
            trace: options.trace.then(Vec::new),
            commands: options.commands.then(Vec::new),
            depth: 0,
            max_depth,
            uncertain: 0,
            in_condition: 0,
            captures: Vec::new(),
            stdin: Stdin::Input(Input::Inherited),
            loops: Vec::new(),
            frames: Vec::new(),
            exits: Vec::new(),
            source: "".into(),
            segment: Segment::Span(Span::default()),
            elsewhere: None,
            binds: Vec::new(),
            in_script: false,
            selected: Vec::new(),
            vacuous: false,
            aborted_by: None,
            choices: replay::Choices::default(),
            processes: Vec::new(),
            listings: Listings::default(),
            sourcing: Vec::new(),
            splices: Vec::new(),
            forks: 0,
            fds: Vec::new(),
            keep_fds: false,
            stdout_file: None,
            lossy: false,
            throwaway: false,
        }
    }

    /// Ends the evaluation. A bound that was reached becomes a problem with its name.
    pub(crate) fn finish(mut self, ended: Eval<()>) -> Evaluation {
        if let Err(Stop(limit)) = ended {
            let segment = self.segment_text();
            self.problem(RuleId::UnparseableLimit, limit.name(), segment, None);
        }
        self.work.world_calls = self.world.calls.get();
        Evaluation {
            effects: self.effects,
            problems: self.problems,
            trace: self.trace.unwrap_or_default(),
            commands: self.commands.unwrap_or_default(),
            work: self.work,
        }
    }

    /// Notes a simple command for `deny-command` and `confirm-command` lines.
    pub(crate) fn note_command(&mut self, name: &str, args: &[Field]) {
        if self.commands.is_none() {
            return;
        }
        let mut command = name.to_owned();
        for arg in args {
            command.push(' ');
            match arg.text.as_known() {
                Some(text) => command.push_str(&text),
                None => command.push_str(&arg.source),
            }
        }
        let called = Called { command, segment: self.segment_text() };
        if let Some(commands) = &mut self.commands
            && commands.last() != Some(&called)
        {
            commands.push(called);
        }
    }

    /// Evaluates submitted text to its end, exit traps included.
    pub(crate) fn run_submitted(&mut self, text: &str, dialect: Dialect) -> Eval<()> {
        self.dialect = dialect;
        let source: Rc<str> = text.into();
        self.lossy = text.contains('\u{fffd}');
        self.run_source(&source, dialect)?;
        self.run_exit_traps()
    }

    /// Evaluates an argv that is executed as it is.
    pub(crate) fn run_exact(&mut self, argv: &[Field], joined: &str) -> Eval<()> {
        self.segment = Segment::Text(joined.into());
        self.run_program_argv(argv.to_vec()).map(|_| ())
    }

    /// One level deeper: the way back is [`Self::leave`].
    pub(crate) fn enter(&mut self) -> Eval<()> {
        self.work.step(1)?;
        self.depth += 1;
        if self.depth > self.max_depth { Err(Stop(Limit::Depth)) } else { Ok(()) }
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Counts work, and stops at the bound of questions to the world.
    pub(crate) fn tick(&mut self, units: u64) -> Eval<()> {
        if self.world.calls.get() > WORLD_CALLS {
            return Err(Stop(Limit::WorldCalls));
        }
        if self.effects.len() > EFFECTS {
            return Err(Stop(Limit::Effects));
        }
        self.work.step(units)
    }

    /// Whether the present place is not reached for sure.
    pub(crate) fn is_conditional(&self) -> bool {
        self.uncertain > 0 || self.state.reach != Reach::Live
    }

    /// The present simple command as written, or the beginning of a very long one.
    pub(crate) fn segment_text(&self) -> Rc<str> {
        match &self.segment {
            Segment::Text(text) if text.len() > SEGMENT_BYTES => beginning(text).into(),
            Segment::Text(text) => text.clone(),
            Segment::Span(span) => {
                let range = span.start as usize..span.end as usize;
                let text = self.source.get(range).unwrap_or("");
                let text = text.trim_end_matches([';', '&', '|', ' ', '\t', '\n']).trim_start();
                self.readable(&beginning(text))
            }
        }
    }

    /// Records an effect of `program`.
    pub(crate) fn add_effect(&mut self, effect: Effect, program: &str) {
        if self.trace.is_some() {
            self.step(What::Effect(effect.to_string()));
        }
        let located = Located {
            effect,
            segment: self.segment_text(),
            program: program.into(),
            conditional: self.is_conditional(),
            elsewhere: self.elsewhere.clone(),
        };
        // Loops and replays say the same thing again and again.
        let recent = self.effects.len().saturating_sub(64);
        let same = |other: &Located| other.effect == located.effect && other.segment == located.segment;
        if let Some(earlier) = self.effects[recent..].iter_mut().find(|other| same(other)) {
            earlier.conditional &= located.conditional;
            return;
        }
        self.effects.push(located);
    }

    /// A thing that a rule objects to, rather than a path.
    pub(crate) fn add_thing(&mut self, rule: RuleId, what: Cow<'static, str>, object: &str, program: &str) {
        let object = Cow::Owned(object.to_owned());
        self.add_effect(Effect::Thing { rule, verdict: None, what, object }, program);
    }

    pub(crate) fn problem(&mut self, rule: RuleId, what: &str, segment: Rc<str>, verb: Option<Rc<str>>) {
        let problem = Problem { rule, what: Cow::Owned(what.to_owned()), segment, verb };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Records a step, if anyone listens.
    pub(crate) fn step(&mut self, what: What) {
        let segment = match self.trace {
            Some(_) => self.segment_text(),
            None => return,
        };
        let depth = self.depth;
        if let Some(trace) = &mut self.trace {
            trace.push(Step { depth, segment, what });
        }
    }

    pub(crate) fn traces(&self) -> bool {
        self.trace.is_some()
    }

    /// Begins to gather output.
    pub(crate) fn capture(&mut self) {
        let level = self.uncertain;
        self.captures.push(Capture { text: Builder::default(), other: None, level });
    }

    /// Ends gathering: what was printed since.
    pub(crate) fn captured(&mut self) -> Input {
        match self.captures.pop() {
            Some(Capture { text, other: None, .. }) => Input::Text(text.finish()),
            Some(Capture { text, other: Some(other), .. }) if text.is_empty() => other,
            Some(Capture { other: Some(Input::Unknown { from, network, decoded }), .. }) => {
                Input::Unknown { from, network, decoded }
            }
            _ => Input::Unknown { from: self.segment_text(), network: false, decoded: false },
        }
    }

    pub(crate) fn is_captured(&self) -> bool {
        !self.captures.is_empty()
    }

    /// A command prints.
    pub(crate) fn print(&mut self, output: Input) -> Eval<()> {
        let conditional = self.uncertain;
        let from = |evaluator: &Self| evaluator.segment_text();
        let Some(capture) = self.captures.last() else { return Ok(()) };
        let output = match output {
            Input::Text(text) if text.pieces.is_empty() => return Ok(()),
            Input::Text(_) | Input::Names(_) if conditional > capture.level => {
                Input::Unknown { from: from(self), network: false, decoded: false }
            }
            Input::Inherited => Input::Unknown { from: from(self), network: false, decoded: false },
            output => output,
        };
        let segment = if capture.other.is_some() { Some(from(self)) } else { None };
        let Some(capture) = self.captures.last_mut() else { return Ok(()) };
        match (output, &mut capture.other) {
            (Input::Text(text), None) => {
                capture.text.push(&text);
                let bytes: usize = text
                    .pieces
                    .iter()
                    .map(|piece| if let super::value::Piece::Text(text) = piece { text.len() } else { 8 })
                    .sum();
                self.work.expand(bytes)?;
            }
            (Input::Text(_), Some(_)) => {}
            (output, other @ None) => *other = Some(output),
            (
                Input::Unknown { network, decoded, from },
                Some(Input::Unknown { network: n, decoded: d, .. }),
            ) => {
                *n |= network;
                *d |= decoded;
                let _ = from;
            }
            (Input::Names(more), Some(Input::Names(names))) => names.extend(more),
            (_, Some(other)) => {
                let from = segment.unwrap_or_else(|| "".into());
                *other = Input::Unknown { from, network: false, decoded: false };
            }
        }
        Ok(())
    }

    /// A value that is known only at run time, because of the present command.
    pub(crate) fn not_modelled(&self, what: &str) -> Abstract {
        Abstract::unknown(Cause::NotModelled(what.into()))
    }
}

/// The world, with its questions counted.
pub(crate) struct Counted<'w> {
    inner: &'w dyn World,
    calls: Cell<u64>,
}

impl Counted<'_> {
    fn count(&self) -> &dyn World {
        self.calls.set(self.calls.get() + 1);
        self.inner
    }
}

impl World for Counted<'_> {
    fn platform(&self) -> Platform {
        self.inner.platform()
    }
    fn env(&self, name: &str) -> Option<Rc<str>> {
        self.inner.env(name)
    }
    fn env_names(&self) -> Vec<String> {
        self.inner.env_names()
    }
    fn cwd(&self) -> PathBuf {
        self.inner.cwd()
    }
    fn uid(&self) -> u32 {
        self.inner.uid()
    }
    fn home_of(&self, user: Option<&str>) -> Option<PathBuf> {
        self.count().home_of(user)
    }
    fn homes(&self) -> Vec<PathBuf> {
        self.count().homes()
    }
    fn look(&self, path: &Path) -> Look {
        self.count().look(path)
    }
    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        self.count().read_link(path)
    }
    fn read_dir(&self, path: &Path, limit: usize) -> Option<Vec<(OsString, Kind)>> {
        self.count().read_dir(path, limit)
    }
    fn read_file(&self, path: &Path, limit: usize) -> Option<Vec<u8>> {
        self.count().read_file(path, limit)
    }
    fn mounts(&self) -> Rc<[MountPoint]> {
        self.count().mounts()
    }
    fn git_state(&self, root: &Path, below: &Path) -> Option<GitState> {
        self.count().git_state(root, below)
    }
    fn which(&self, name: &str) -> Option<PathBuf> {
        self.count().which(name)
    }
}

/// What lstat(2) tells of a directory, a file or a link, links followed a few times.
pub(crate) fn look_through(world: &dyn World, path: &Path) -> (PathBuf, Look) {
    let mut path = path.to_owned();
    for _ in 0..16 {
        match world.look(&path) {
            Look::Found(Meta { kind: Kind::Link, .. }) => match world.read_link(&path) {
                Some(target) => {
                    let parent = path.parent().unwrap_or(Path::new("/")).to_owned();
                    path = super::glob::normal_join(&parent, &target.to_string_lossy());
                }
                None => return (path, Look::Unreadable),
            },
            look => return (path, look),
        }
    }
    (path, Look::Unreadable)
}
