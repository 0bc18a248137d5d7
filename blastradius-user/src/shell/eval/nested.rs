//! Text within text: substitutions, functions, subshells, `sh -c`, `eval`, sourced files, traps.

use std::borrow::Cow;
use std::rc::Rc;

use blastradius_common::RuleId;

use super::{CallFrame, Evaluator, Stdin};
use crate::policy::effect::Effect;
use crate::programs::table::is_destructive;
use crate::programs::{Dialect, Input, Surroundings};
use crate::shell::limits::{Eval, Limit, PIECE_BYTES, SAME_FUNCTION, Stop, TEXT_BYTES};
use crate::shell::parse::{self, Parsed};
use crate::shell::pieces::Pieces;
use crate::shell::state::{Function, Outcome, Positional, Reach, Shape, State, Val, Var};
use crate::shell::syntax::{Code, Script};
use crate::shell::value::{Abstract, Cause, Hole, Piece};
use crate::shell::world::World;

/// The first of the characters that stand for what is not known in text that is evaluated. Private use: no text that
/// people write has them, and where one is in the text all the same, it only makes a word unknown.
const SPLICE: u32 = 0xE000;
/// How many there are.
const SPLICES: usize = 256;

impl Evaluator<'_> {
    /// Evaluates text in the present shell.
    pub(super) fn run_source(&mut self, source: &Rc<str>, dialect: Dialect) -> Eval<Outcome> {
        if source.len() > PIECE_BYTES {
            return self.run_pieces(source, dialect);
        }
        match self.parse(source, dialect)? {
            Some(script) => self.run_script(&script),
            None => Ok(Outcome::unknown()),
        }
    }

    /// Evaluates a long text, a few statements at a time.
    fn run_pieces(&mut self, source: &Rc<str>, dialect: Dialect) -> Eval<Outcome> {
        if !self.may_be_text(source)? {
            return Ok(Outcome::unknown());
        }
        let mut last = Outcome::ok();
        for piece in Pieces::new(source, dialect, PIECE_BYTES) {
            last = match piece {
                Parsed::Clean(script) => self.run_script(&script)?,
                Parsed::Broken(message) => {
                    self.not_understood(source, &message);
                    Outcome::unknown()
                }
                Parsed::TooMuch => return Err(Stop(Limit::Parser)),
            };
        }
        Ok(last)
    }

    pub(super) fn run_script(&mut self, script: &Script) -> Eval<Outcome> {
        self.enter()?;
        let segment = self.segment.clone();
        let source = std::mem::replace(&mut self.source, script.source.clone());
        let done = self.list(&script.body);
        self.source = source;
        self.segment = segment;
        self.leave();
        done
    }

    /// Parses text; `None`: it is not understood, and that has been said.
    fn parse(&mut self, source: &Rc<str>, dialect: Dialect) -> Eval<Option<Rc<Script>>> {
        if !self.may_be_text(source)? {
            return Ok(None);
        }
        match parse::parse(source, dialect) {
            Parsed::Clean(script) => Ok(Some(Rc::new(script))),
            Parsed::Broken(message) => {
                self.not_understood(source, &message);
                Ok(None)
            }
            Parsed::TooMuch => Err(Stop(Limit::Parser)),
        }
    }

    /// Counts the text's length. `false`: it is none that a shell reads, and that has been said.
    fn may_be_text(&mut self, source: &Rc<str>) -> Eval<bool> {
        if source.len() > TEXT_BYTES {
            return Err(Stop(Limit::TextBytes));
        }
        self.tick(1 + source.len() as u64 / 8)?;
        let has_nul = source.contains('\0');
        if has_nul {
            self.not_understood(source, "the text holds a NUL character");
        }
        Ok(!has_nul)
    }

    /// Text that does not parse is searched for destructive verbs.
    fn not_understood(&mut self, source: &str, message: &str) {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+');
        let verb = source
            .split(|c: char| !word(c))
            .map(super::dispatch::base_name)
            .find(|word| is_destructive(word));
        if let Some(verb) = verb {
            let line = source.lines().find(|line| line.contains(verb)).unwrap_or(source);
            let shown: String = line.trim().chars().take(400).collect();
            self.problem(RuleId::UnparseableCommand, message, shown.into(), Some(verb.into()));
        }
    }

    /// What a command substitution prints.
    pub(crate) fn substitute(&mut self, code: &Code) -> Eval<Input> {
        let parsed = match code.parsed.get() {
            Some(parsed) => parsed.clone(),
            None => {
                let parsed = self.parse(&code.text, self.dialect)?;
                code.parsed.get_or_init(|| parsed).clone()
            }
        };
        let Some(script) = parsed else {
            return Ok(Input::Unknown { from: code.source.clone(), network: false, decoded: false });
        };
        self.capture();
        let (vacuous, aborted) = (self.vacuous, self.aborted_by.take());
        let done = self.in_subshell(|evaluator| evaluator.run_script(&script));
        // What a guard ends inside is only the substitution's own shell.
        self.vacuous = vacuous;
        self.aborted_by = aborted;
        let output = self.captured();
        self.state.status = done?.status;
        Ok(output)
    }

    /// `<(…)` and `>(…)`: a path that stands for the command's output or input.
    pub(crate) fn process_substitution(&mut self, code: &Code, input: bool) -> Eval<Rc<str>> {
        let output = if input {
            self.substitute(code)?
        } else {
            let unknown = Input::Unknown { from: self.segment_text(), network: false, decoded: false };
            let outer = std::mem::replace(&mut self.stdin, Stdin::Input(unknown));
            let done = self.substitute(code);
            self.stdin = outer;
            done?
        };
        let path: Rc<str> = format!("/dev/fd/{}", 63_usize.saturating_sub(self.processes.len() % 48)).into();
        self.processes.push((path.clone(), output));
        Ok(path)
    }

    /// Runs something in a copy of the shell: what it does to files stays, what it does to the shell does not.
    pub(crate) fn in_subshell<T>(&mut self, work: impl FnOnce(&mut Self) -> Eval<T>) -> Eval<T> {
        let before = self.state.clone();
        let exits = std::mem::take(&mut self.exits);
        let loops = std::mem::take(&mut self.loops);
        let returned = self.frames.last().map_or(0, |frame| frame.returned.len());
        // A copy starts without traps (bash(1), "Command Execution Environment"); its own may run until it ends.
        if !self.state.traps.is_empty() {
            self.state.traps = Rc::default();
        }
        let done = work(self)?;
        if !self.state.traps.is_empty() {
            self.run_exit_traps()?;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.returned.truncate(returned);
        }
        self.loops = loops;
        self.exits = exits;
        let after = std::mem::replace(&mut self.state, before);
        self.state.files = after.files;
        Ok(done)
    }

    /// Calls a function of the text.
    pub(super) fn call_function(&mut self, function: &Rc<Function>, args: Vec<Val>) -> Eval<Outcome> {
        self.enter()?;
        let same = self.frames.iter().filter(|frame| frame.is_function && frame.name == function.name);
        let (mut count, mut seen) = (0, false);
        let mut bomb = false;
        for frame in same {
            count += 1;
            let again = frame.args.as_deref() == Some(args.as_slice());
            seen |= again;
            // Nothing decides whether it goes on, and each time it goes on in more processes.
            bomb |= again && self.forks > frame.forks && self.uncertain == frame.uncertain;
        }
        if bomb && self.is_live() {
            let what = "starts copies of itself without end, until the machine stops".into();
            self.add_thing(RuleId::PowerState, what, &function.name, &function.name);
        }
        // Deep in itself, a function is followed once more for whatever arguments, and then no further.
        let args: Vec<Val> = if count >= SAME_FUNCTION {
            let wide = |index: usize| Val::unknown(Cause::Positional((index + 1).to_string().into()));
            (0..args.len()).map(wide).collect()
        } else {
            args
        };
        let widened_before = self.frames.iter().any(|frame| {
            frame.is_function && frame.name == function.name && frame.args.as_deref() == Some(args.as_slice())
        });
        if (seen && count >= 1) || widened_before {
            self.leave();
            self.forget_frame_changes(&function.name);
            return Ok(Outcome::unknown());
        }
        let args: Rc<[Val]> = args.into();
        let positional = std::mem::replace(&mut self.state.positional, Positional::Known(args.clone()));
        let digits = self.take_digit_vars();
        self.frames.push(CallFrame {
            name: function.name.clone(),
            args: Some(args),
            returned: Vec::new(),
            locals: Vec::new(),
            is_function: true,
            loops: self.loops.len(),
            forks: self.forks,
            uncertain: self.uncertain,
        });
        let source = std::mem::replace(&mut self.source, function.source.clone());
        let done = self.statement(&function.body);
        self.source = source;
        let outcome = self.leave_frame(done?);
        self.set_positional(positional);
        for (name, var) in digits {
            self.state.bind(&name, var);
        }
        self.leave();
        Ok(outcome)
    }

    /// What guards have shown about positional parameters belongs to one call.
    fn take_digit_vars(&mut self) -> Vec<(Rc<str>, Var)> {
        let digit = |name: &Rc<str>| super::variables::is_positional(name);
        if !self.state.vars.keys().any(digit) {
            return Vec::new();
        }
        let vars = Rc::make_mut(&mut self.state.vars);
        let names: Vec<Rc<str>> = vars.keys().filter(|name| digit(name)).cloned().collect();
        names.into_iter().filter_map(|name| vars.remove(&name).map(|var| (name, var))).collect()
    }

    /// Ends a function or sourced file: joins the places that it was left from, and uncovers what `local` covered.
    fn leave_frame(&mut self, outcome: Outcome) -> Outcome {
        let Some(frame) = self.frames.pop() else { return outcome };
        let left = !frame.returned.is_empty();
        for state in frame.returned {
            let present = self.state.clone();
            self.state = self.join_two(state, present);
        }
        self.loops.truncate(frame.loops);
        for (name, var) in frame.locals.into_iter().rev() {
            match var {
                Some(var) => self.state.bind(&name, var),
                None => {
                    Rc::make_mut(&mut self.state.vars).remove(&name);
                }
            }
        }
        if left {
            Outcome { status: self.state.status, ..Outcome::default() }
        } else {
            outcome.seen_from_outside()
        }
    }

    /// A recursion that is not followed may have changed whatever the function changes.
    fn forget_frame_changes(&mut self, name: &Rc<str>) {
        let _ = name;
        let assigned: Vec<Rc<str>> = self
            .state
            .vars
            .iter()
            .filter(|(_, var)| matches!(var.shape, Shape::Scalar(_)) && !var.readonly)
            .map(|(name, _)| name.clone())
            .collect();
        for name in assigned {
            let value = Val::unknown(Cause::ManyValues(name.clone()));
            if let Some(var) = Rc::make_mut(&mut self.state.vars).get_mut(&name) {
                var.shape = Shape::Scalar(value);
            }
        }
    }

    /// Whether a function is being followed.
    pub(crate) fn in_function(&self) -> bool {
        self.frames.iter().any(|frame| frame.is_function)
    }

    /// The frame that `return` leaves.
    pub(crate) fn return_from_frame(&mut self) {
        if self.frames.is_empty() {
            self.end_shell();
            return;
        }
        if self.state.reach == Reach::Live {
            let state = self.state.clone();
            if let Some(frame) = self.frames.last_mut() {
                frame.returned.push(state);
            }
        }
        if self.state.reach != Reach::Folded {
            self.state.reach = Reach::Ended;
        }
    }

    /// A new shell reads this text.
    pub(crate) fn run_shell(
        &mut self,
        text: &Abstract,
        dialect: Dialect,
        positional: Vec<Val>,
        surroundings: Surroundings,
    ) -> Eval<Outcome> {
        self.run_shell_in(text, dialect, positional, surroundings, false)
    }

    pub(super) fn run_shell_in(
        &mut self,
        text: &Abstract,
        dialect: Dialect,
        positional: Vec<Val>,
        surroundings: Surroundings,
        in_script: bool,
    ) -> Eval<Outcome> {
        self.enter()?;
        let outer_dialect = std::mem::replace(&mut self.dialect, dialect);
        let outer_script = self.in_script;
        self.in_script |= in_script || surroundings.script.is_some();
        let frames = std::mem::take(&mut self.frames);
        let outcome = self.in_surroundings(&surroundings, true, |evaluator| {
            let mut words = positional.into_iter();
            match words.next() {
                Some(zero) => {
                    evaluator.state.zero = zero;
                    evaluator.state.positional = Positional::Known(words.collect());
                }
                None => evaluator.state.positional = Positional::Known(Rc::from([])),
            }
            let outcome = evaluator.run_code(text, "sh")?;
            evaluator.run_exit_traps()?;
            Ok(outcome)
        });
        self.frames = frames;
        self.in_script = outer_script;
        self.dialect = outer_dialect;
        let outcome = outcome?;
        self.leave();
        Ok(Outcome { status: outcome.status, ..Outcome::default() })
    }

    /// Evaluates text that may hold holes, in the present shell. `who`: what runs it.
    pub(crate) fn run_code(&mut self, text: &Abstract, who: &str) -> Eval<Outcome> {
        self.enter()?;
        let outcome = self.run_code_here(text, who)?;
        self.leave();
        Ok(outcome)
    }

    fn run_code_here(&mut self, text: &Abstract, who: &str) -> Eval<Outcome> {
        if text.pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
            let source: Rc<str> = match text.pieces.as_slice() {
                [Piece::Text(only)] => only.clone(),
                _ => text.as_known().unwrap_or(Cow::Borrowed("")).into(),
            };
            return self.run_source(&source, self.dialect);
        }
        let known =
            text.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if !text.trim().is_empty()));
        if !known {
            if text.has_hole() {
                self.unknown_code(text, who);
            }
            return Ok(Outcome::unknown());
        }
        // What is not known is put into the text as one character that no quoting changes, and comes back as a hole.
        let mut source = String::new();
        let kept = self.splices.len();
        for piece in &text.pieces {
            match piece {
                Piece::Text(text) => source.push_str(text),
                Piece::Nothing(_) | Piece::Hole(_) => {
                    if self.splices.len() >= SPLICES {
                        self.unknown_code(text, who);
                        return Ok(Outcome::unknown());
                    }
                    // Fits: there are fewer than 256.
                    let code = SPLICE + self.splices.len() as u32;
                    source.extend(char::from_u32(code));
                    self.splices.push(piece.clone());
                }
            }
        }
        for (index, piece) in text.pieces.iter().enumerate() {
            if matches!(piece, Piece::Hole(_)) && is_a_line(&text.pieces, index) {
                let line = Abstract { pieces: smallvec::SmallVec::from_iter([piece.clone()]) };
                self.unknown_code(&line, who);
            }
        }
        let done = self.run_source(&source.into(), self.dialect);
        // Functions and traps of the text may hold such characters on.
        if self.state.functions.is_empty() && self.state.traps.is_empty() {
            self.splices.truncate(kept);
        }
        done
    }

    /// Code that is known only at run time runs in the present shell.
    pub(crate) fn unknown_code(&mut self, text: &Abstract, who: &str) {
        let source: Rc<str> = text.causes().next().map_or_else(String::new, named).into();
        if !self.vacuous {
            let (rule, what) = if crate::shell::fold::fetches(&source) {
                (RuleId::NetworkCode, "runs code that another machine sends")
            } else {
                (RuleId::UnknownCode, "runs code that is known only at run time")
            };
            self.add_thing(rule, what.into(), &source, who);
        }
        self.taint(Cause::NotModelled(format!("set by {source}").into()));
    }

    /// The pieces that stand for private-use characters, put back into text.
    pub(crate) fn unsplice(&self, text: &str) -> Option<Abstract> {
        let index = |c: char| {
            let code = u32::from(c).checked_sub(SPLICE)?;
            usize::try_from(code).ok().filter(|&index| index < self.splices.len())
        };
        if !text.chars().any(|c| index(c).is_some() || c == '\u{fffd}') {
            return None;
        }
        let mut out = Abstract::default();
        let mut known = String::new();
        for c in text.chars() {
            let piece = match index(c) {
                Some(index) => Some(self.splices[index].clone()),
                None if c == '\u{fffd}' => Some(Piece::Hole(Hole {
                    cause: Rc::new(Cause::NotModelled("bytes that are not UTF-8".into())),
                    maybe_empty: false,
                    component: false,
                    born: false,
                })),
                None => None,
            };
            match piece {
                Some(piece) => {
                    out.push_text(&known);
                    known.clear();
                    out.pieces.push(piece);
                }
                None => known.push(c),
            }
        }
        out.push_text(&known);
        Some(out)
    }

    /// Text for people: what characters stand for is named.
    pub(crate) fn readable(&self, text: &str) -> Rc<str> {
        if self.splices.is_empty() {
            return text.into();
        }
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            let index = u32::from(c).checked_sub(SPLICE).and_then(|index| usize::try_from(index).ok());
            match index.and_then(|index| self.splices.get(index)) {
                Some(Piece::Nothing(cause)) => out.push_str(&named(cause)),
                Some(Piece::Hole(hole)) => out.push_str(&named(&hole.cause)),
                Some(Piece::Text(_)) | None => out.push(c),
            }
        }
        out.into()
    }

    /// Whether text may hold characters that stand for something else.
    pub(crate) fn may_be_spliced(&self) -> bool {
        self.lossy || !self.splices.is_empty()
    }

    /// Runs something where the shell's surroundings differ. `shell`: a new shell, else a program.
    pub(super) fn in_surroundings(
        &mut self,
        surroundings: &Surroundings,
        shell: bool,
        work: impl FnOnce(&mut Self) -> Eval<Outcome>,
    ) -> Eval<Outcome> {
        let outer = (self.elsewhere.clone(), self.binds.len(), self.throwaway, self.stdin.clone());
        if surroundings.elsewhere.is_some() {
            self.elsewhere.clone_from(&surroundings.elsewhere);
        }
        self.binds.extend(surroundings.binds.iter().cloned());
        self.throwaway |= surroundings.throwaway;
        if let Some(stdin) = &surroundings.stdin {
            self.stdin = Stdin::Input(stdin.clone());
        }
        let outcome = self.in_subshell(|evaluator| {
            evaluator.surround(surroundings, shell)?;
            work(evaluator)
        });
        let (elsewhere, binds, throwaway, stdin) = outer;
        self.elsewhere = elsewhere;
        self.binds.truncate(binds);
        self.throwaway = throwaway;
        self.stdin = stdin;
        outcome
    }

    fn surround(&mut self, surroundings: &Surroundings, shell: bool) -> Eval<()> {
        let Surroundings { cwd, vars, clear_env, user, set_home, .. } = surroundings;
        if shell {
            self.become_new_shell();
        }
        if let Some(cwd) = cwd {
            self.state.cwd = cwd.clone();
        }
        if *clear_env {
            self.state.env_cleared = true;
            self.state.vars = Rc::default();
        }
        if *set_home {
            let home = self.world.home_of(Some(user.as_deref().unwrap_or("root")));
            let value = match home {
                Some(home) => Val::known(&home.to_string_lossy()),
                None => Val::unknown(Cause::NotModelled("the home of another user".into())),
            };
            let mut var = Var::scalar(value);
            var.exported = true;
            self.state.bind("HOME", var);
        }
        for (name, value) in vars {
            let mut var =
                value.clone().map_or_else(|| Var::new(Shape::Unset), |text| Var::scalar(Val::plain(text)));
            var.exported = true;
            self.state.bind(name, var);
        }
        Ok(())
    }

    /// What a new shell process inherits: the environment, the directory, nothing else.
    fn become_new_shell(&mut self) {
        let state = &mut self.state;
        if state.vars.values().any(|var| !var.exported && var.shape != Shape::Unset) {
            Rc::make_mut(&mut state.vars).retain(|_, var| var.exported || var.shape == Shape::Unset);
        }
        state.functions = Rc::default();
        state.aliases = Rc::default();
        state.flags = crate::shell::state::Flags::default();
        state.traps = Rc::default();
        state.stack = Rc::default();
    }

    /// Runs the `EXIT` traps: with what holds at the end, and with what holds where the shell may have ended before.
    pub(crate) fn run_exit_traps(&mut self) -> Eval<()> {
        let exits = std::mem::take(&mut self.exits);
        if self.state.traps.is_empty() && exits.iter().all(|state| state.traps.is_empty()) {
            return Ok(());
        }
        let end = self.state.clone();
        let mut states: Vec<State> = vec![end.clone()];
        for state in exits {
            if states.len() < 4 {
                states.push(state);
            }
        }
        for mut state in states {
            let traps = std::mem::take(&mut state.traps);
            if state.reach == Reach::Ended {
                state.reach = Reach::Live;
            }
            state.files.clone_from(&self.state.files);
            for (body, source) in traps.values() {
                let mut run = state.clone();
                run.files.clone_from(&self.state.files);
                self.state = run;
                let outer = std::mem::replace(&mut self.source, source.clone());
                let done = self.run_code(&body.text, "trap");
                self.source = outer;
                done?;
            }
        }
        let files = self.state.files.clone();
        self.state = end;
        self.state.files = files;
        self.state.traps = Rc::default();
        Ok(())
    }

    /// Runs what a trap may have run up to here.
    pub(crate) fn run_trap_aside(&mut self, body: &Val, source: Rc<str>) -> Eval<()> {
        let present = self.state.clone();
        self.state.traps = Rc::default();
        let outer = std::mem::replace(&mut self.source, source);
        self.uncertain += 1;
        let done = self.in_subshell(|evaluator| evaluator.run_code(&body.text, "trap"));
        self.uncertain -= 1;
        self.source = outer;
        let files = self.state.files.clone();
        self.state = present;
        self.state.files = files;
        done.map(|_| ())
    }

    /// Reads a file's commands into the present shell.
    pub(crate) fn source_file(
        &mut self,
        path: std::path::PathBuf,
        text: &Abstract,
        args: Vec<Val>,
    ) -> Eval<Outcome> {
        if self.sourcing.contains(&path) || self.sourcing.len() > 8 {
            return Ok(Outcome::unknown());
        }
        let positional = if args.is_empty() {
            None
        } else {
            Some(std::mem::replace(&mut self.state.positional, Positional::Known(args.into())))
        };
        self.frames.push(CallFrame {
            name: path.to_string_lossy().into(),
            args: None,
            returned: Vec::new(),
            locals: Vec::new(),
            is_function: false,
            loops: self.loops.len(),
            forks: self.forks,
            uncertain: self.uncertain,
        });
        self.sourcing.push(path);
        let done = self.run_code(text, "source");
        self.sourcing.pop();
        let outcome = self.leave_frame(done?);
        if let Some(positional) = positional {
            self.set_positional(positional);
        }
        Ok(outcome)
    }

    /// Whether an effect falls into a place that is thrown away after the command.
    pub(super) fn in_throwaway(&self, effect: &Effect) -> bool {
        if !self.throwaway {
            return false;
        }
        match effect {
            Effect::Path { target, .. } => {
                let path = self.path_of(&target.operand, &target.base);
                // What reaches a bound directory, from above or from below, is the machine's own.
                path.is_none_or(|path| {
                    !self
                        .binds
                        .iter()
                        .any(|(inside, _)| path.starts_with(inside) || inside.starts_with(&path))
                })
            }
            Effect::Git { .. } | Effect::Thing { .. } => false,
        }
    }
}

/// What is missing or not known, as it was written.
fn named(cause: &Cause) -> String {
    match cause {
        Cause::CommandOutput(from) | Cause::Input(from) | Cause::NotModelled(from) => from.to_string(),
        Cause::Positional(name) | Cause::Unset(name) | Cause::Empty(name) | Cause::ManyValues(name) => {
            format!("${name}")
        }
    }
}

/// Whether what is not known at `index` stands on lines of its own, so that it is commands and no word of one.
fn is_a_line(pieces: &[Piece], index: usize) -> bool {
    let before = pieces[..index].iter().rev().find_map(|piece| match piece {
        Piece::Text(text) => Some(text.trim_end_matches([' ', '\t'])),
        _ => None,
    });
    let after = pieces[index + 1..].iter().find_map(|piece| match piece {
        Piece::Text(text) => Some(text.trim_start_matches([' ', '\t'])),
        _ => None,
    });
    before.is_none_or(|text| text.is_empty() || text.ends_with(['\n', ';']))
        && after.is_none_or(|text| text.is_empty() || text.starts_with(['\n', ';']))
}
