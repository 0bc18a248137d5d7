//! The evaluation as programs see it.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::redirect::is_below_born_hole;
use super::variables::{describe_text, text_length};
use super::{Evaluator, Read};
use crate::policy::effect::{Act, Base, Effect, Follow, PathTarget};
use crate::programs::{Call, Dialect, Input, Machine, Program, Surroundings};
use crate::shell::limits::{Eval, Stop};
use crate::shell::places::prefixes;
use crate::shell::state::{Outcome, Val};
use crate::shell::trace::What;
use crate::shell::value::{Abstract, Field, Glob};
use crate::shell::world::{Kind, Look, World};

/// What an abstract text looks like, for steps and for counting.
pub(crate) struct Said;

impl Said {
    /// For people.
    pub(crate) fn text(text: &Abstract) -> String {
        describe_text(text)
    }

    /// The bytes that are known of it.
    pub(crate) fn length(text: &Abstract) -> usize {
        text_length(text)
    }
}

/// One call of a program.
struct Caller<'e, 'w> {
    evaluator: &'e mut Evaluator<'w>,
    program: &'e str,
    /// A bound was reached while the program spoke: the trait has no way to say so at once.
    stopped: Option<Stop>,
    status: Option<u8>,
    printed: bool,
}

impl<'w> Evaluator<'w> {
    /// Asks a program what a call of it does. Gives its outcome, and whether it said what it prints.
    pub(super) fn ask(&mut self, program: Program, name: &str, args: &[Field]) -> Eval<(Outcome, bool)> {
        self.tick(2)?;
        let mut caller =
            Caller { evaluator: self, program: name, stopped: None, status: None, printed: false };
        program(&Call { name, args }, &mut caller);
        let Caller { stopped, status, printed, .. } = caller;
        match stopped {
            Some(stop) => Err(stop),
            None => Ok((Outcome { status, ..Outcome::default() }, printed)),
        }
    }

    /// An effect, unless it falls on what the same text has made, or on what a command's place throws away.
    pub(crate) fn report(&mut self, effect: Effect, program: &str) {
        let effect = match effect {
            Effect::Path { act, target } => {
                let mut target = target;
                let mut act = act;
                if let Some((_, selection)) = self.selected.iter().find(|(field, _)| *field == target.operand)
                {
                    target.selection = selection.clone();
                    if let Act::Remove { recursive } | Act::Metadata { recursive } = &mut act {
                        // The listing does the walking.
                        *recursive = true;
                    }
                }
                for also in self.moved_here(act, &target) {
                    self.add_effect(also, program);
                }
                self.note_gone(act, &target);
                self.follow_made_links(&mut target);
                if self.is_born(&target.operand, &target.base) {
                    if self.traces() {
                        let what = format!("{} was made by this text", describe_text(&target.operand.text));
                        self.step(What::LeftOut(what));
                    }
                    return;
                }
                Effect::Path { act, target }
            }
            other => other,
        };
        if self.binds.is_empty() {
            if !self.in_throwaway(&effect) {
                self.add_effect(effect, program);
            }
            return;
        }
        let places = self.machines_own(&effect);
        if places.is_empty() {
            if !self.in_throwaway(&effect) {
                self.add_effect(effect, program);
            }
            return;
        }
        // What is bound there is the machine's own, under its own name.
        let elsewhere = self.elsewhere.take();
        for effect in places {
            self.add_effect(effect, program);
        }
        self.elsewhere = elsewhere;
    }

    /// The effect on directories of the machine that are seen under another name where the command runs.
    fn machines_own(&self, effect: &Effect) -> Vec<Effect> {
        let Effect::Path { act, target } = effect else { return Vec::new() };
        let operand = &target.operand;
        let place = match &operand.glob {
            Some(glob) => Some(glob.base.clone()),
            None => self.path_of(operand, &target.base),
        };
        let Some(place) = place else { return Vec::new() };
        let mut found = Vec::new();
        for (inside, host) in &self.binds {
            let path = match place.strip_prefix(inside) {
                Ok(rest) => host.join(rest),
                // From above, all of it is reached.
                Err(_) if inside.starts_with(&place) => host.clone(),
                Err(_) => continue,
            };
            let field = super::made::moved_to(operand, &path);
            let target = crate::policy::effect::PathTarget { operand: field, ..target.clone() };
            found.push(Effect::Path { act: *act, target });
        }
        found
    }

    /// An operand that goes through a link which the text has made names what the link leads to.
    fn follow_made_links(&self, target: &mut PathTarget) {
        if self.state.files.targets.is_empty() {
            return;
        }
        let follows = target.follow == Follow::Last
            || target.operand.as_known().is_some_and(|text| text.ends_with('/') || text.ends_with("/."));
        let place = match &target.operand.glob {
            Some(glob) => Some(glob.base.clone()),
            None => self.path_of(&target.operand, &target.base),
        };
        let Some(place) = place else { return };
        let targets = &self.state.files.targets;
        let through = prefixes(&place, self.state.files.links.deepest()).find_map(|link| {
            let leads = targets.get(&link)?;
            let rest = place.strip_prefix(&link).ok()?;
            let reached = !rest.as_os_str().is_empty() || follows || target.operand.glob.is_some();
            reached.then(|| if rest.as_os_str().is_empty() { leads.clone() } else { leads.join(rest) })
        });
        let Some(path) = through else { return };
        let shown = path.to_string_lossy();
        match &target.operand.glob {
            None => target.operand.text = Abstract::known(&shown),
            Some(glob) => {
                let slash = if shown.ends_with('/') { "" } else { "/" };
                target.operand.text = Abstract::known(&format!("{shown}{slash}{}", glob.pattern));
                let count = glob.count.max(1);
                let glob =
                    Glob { base: path.clone(), pattern: glob.pattern.clone(), matches: Vec::new(), count };
                target.operand.glob = Some(Rc::new(glob));
            }
        }
    }

    /// Whether the operand names something that the text has made.
    pub(crate) fn is_born(&mut self, operand: &Field, base: &Base) -> bool {
        if is_below_born_hole(&operand.text) {
            return true;
        }
        if let Base::Unknown(why) = base
            && self.state.files.places.contains(why)
            && let Some(text) = operand.text.as_known()
        {
            return !text.starts_with('/') && !text.split('/').any(|part| part == "..");
        }
        if self.state.files.born.is_empty() {
            return false;
        }
        if let Some(glob) = &operand.glob {
            return self.state.files.is_born(&glob.base) && !glob.pattern.contains("..");
        }
        // A trailing slash on a link means another place; `..` does too.
        match self.path_of(operand, base) {
            Some(path) => self.state.files.is_born(&path) && self.climbs_as_written(operand, base),
            None => false,
        }
    }

    /// Whether every `..` of an operand leads where its text says: behind a link it leads elsewhere.
    pub(crate) fn climbs_as_written(&self, operand: &Field, base: &Base) -> bool {
        let Some(text) = operand.as_known() else { return false };
        if !text.split('/').any(|part| part == "..") {
            return true;
        }
        let mut at = match base {
            _ if text.starts_with('/') => PathBuf::from("/"),
            Base::Known(base) => base.to_path_buf(),
            Base::OneOf(_) | Base::Unknown(_) => return false,
        };
        let is_link = |path: &Path| match self.world.look(path) {
            Look::Found(meta) => meta.kind == Kind::Link || self.state.files.links.hold(path),
            Look::Absent => self.state.files.links.hold(path),
            Look::Unreadable => true,
        };
        text.split('/').all(|part| match part {
            "" | "." => true,
            ".." => !is_link(&at) && at.pop(),
            name => {
                at.push(name);
                true
            }
        })
    }
}

impl Caller<'_, '_> {
    /// Counts work. `false`: a bound was reached, and what the program says from now on is not heard.
    fn goes_on(&mut self) -> bool {
        if self.stopped.is_none() {
            let done = self.evaluator.tick(2);
            self.note(done);
        }
        self.stopped.is_none()
    }

    fn note(&mut self, done: Eval<()>) {
        if let Err(stop) = done {
            self.stopped.get_or_insert(stop);
        }
    }
}

impl Machine for Caller<'_, '_> {
    fn world(&self) -> &dyn World {
        &self.evaluator.world
    }

    fn cwd(&self) -> Base {
        self.evaluator.state.cwd.clone()
    }

    fn variable(&self, name: &str) -> Option<Abstract> {
        use crate::shell::state::Shape;
        let var = self.evaluator.binding(name)?;
        match var.shape {
            Shape::Unset => None,
            Shape::Scalar(value) => Some(value.text),
            Shape::Alternatives(values) => Some(crate::shell::join::many_values(&name.into(), &values)),
            Shape::Indexed(items) => items.get(&0).map(|value| value.text.clone()),
            _ => Some(Abstract::unknown(crate::shell::value::Cause::ManyValues(name.into()))),
        }
    }

    fn stdin(&self) -> Input {
        match &self.evaluator.stdin {
            super::Stdin::Input(input) => input.clone(),
            super::Stdin::File(field, base) => self.evaluator.peek_file(field, base),
        }
    }

    fn enters_scripts(&self) -> bool {
        !self.evaluator.leaves_scripts
    }

    fn read_file(&mut self, operand: &Field) -> Option<Abstract> {
        let base = self.evaluator.state.cwd.clone();
        match self.evaluator.file_input(operand, &base) {
            Input::Text(text) => Some(text),
            // What a substitution gives, or what the text itself has put there, is code that nobody knows.
            input @ Input::Unknown { .. } if self.evaluator.is_made_here(operand, &base) => {
                Some(self.evaluator.input_text(&input))
            }
            _ => None,
        }
    }

    fn effect(&mut self, effect: Effect) {
        if !self.goes_on() {
            return;
        }
        self.evaluator.report(effect, self.program);
    }

    fn print(&mut self, output: Input) {
        self.printed = true;
        let done = self.evaluator.print(output);
        self.note(done);
    }

    fn stdout_file(&self) -> Option<PathBuf> {
        self.evaluator.stdout_file.clone()
    }

    fn creates(&mut self, operand: &Field, base: Base) {
        if !self.goes_on() {
            return;
        }
        let Some(path) = self.evaluator.path_of(operand, &base) else { return };
        if !self.evaluator.climbs_as_written(operand, &base) {
            return;
        }
        self.evaluator.made_again(&path);
        if matches!(self.evaluator.world.look(&path), Look::Absent) {
            self.evaluator.born(path, false);
        }
    }

    fn links(&mut self, link: &Field, target: &Field) {
        if !self.goes_on() {
            return;
        }
        let base = self.evaluator.state.cwd.clone();
        let Some(path) = self.evaluator.path_of(link, &base) else { return };
        let parent = path.parent().unwrap_or(Path::new("/")).to_path_buf();
        let leads = self.evaluator.path_of(target, &Base::Known(Rc::new(parent)));
        let is_new = matches!(self.evaluator.world.look(&path), Look::Absent);
        if is_new && leads.is_some() {
            self.evaluator.born(path.clone(), false);
        }
        let files = self.evaluator.files_mut();
        files.links.insert(path.clone());
        if let Some(leads) = leads {
            files.targets.insert(path, leads);
        }
    }

    fn takes_in(&mut self, operand: &Field) {
        if !self.goes_on() {
            return;
        }
        let base = self.evaluator.state.cwd.clone();
        if let Some(path) = self.evaluator.path_of(operand, &base) {
            self.evaluator.files_mut().old.insert(path);
        }
    }

    fn run_argv(&mut self, argv: Vec<Field>, surroundings: Surroundings) {
        if self.stopped.is_some() {
            return;
        }
        let done = self.evaluator.run_argv(argv, surroundings);
        match done {
            Ok(outcome) => {
                self.status = outcome.status;
                self.printed = true;
            }
            Err(stop) => self.stopped = Some(stop),
        }
    }

    fn run_text(
        &mut self,
        text: &Abstract,
        dialect: Dialect,
        positional: Vec<Field>,
        surroundings: Surroundings,
    ) {
        if self.stopped.is_some() {
            return;
        }
        let positional = positional.into_iter().map(field_value).collect();
        let done = self.evaluator.run_shell(text, dialect, positional, surroundings);
        match done {
            Ok(outcome) => {
                self.status = outcome.status;
                self.printed = true;
            }
            Err(stop) => self.stopped = Some(stop),
        }
    }

    fn exit_status(&mut self, status: Option<u8>) {
        self.status = status;
    }
}

/// An argument as the value of a parameter.
pub(crate) fn field_value(field: Field) -> Val {
    let kind = if field.glob.is_some() {
        crate::shell::state::Kind::Active
    } else {
        crate::shell::state::Kind::Plain
    };
    Val { text: field.text, kind }
}

impl Evaluator<'_> {
    /// The content of a file as input, for those who may not change anything.
    fn peek_file(&self, field: &Field, base: &Base) -> Input {
        let unknown = Input::Unknown { from: field.source.clone(), network: false, decoded: false };
        if let Some(text) = field.as_known() {
            if let Some((_, input)) = self.processes.iter().rev().find(|(path, _)| **path == *text) {
                return input.clone();
            }
            if text == "/dev/null" {
                return Input::Text(Abstract::default());
            }
        }
        let Some(path) = self.path_of(field, base) else { return unknown };
        if let Some(content) = self.state.files.contents.get(&path) {
            return content.clone().map_or(unknown, Input::Text);
        }
        let bytes = self.world.read_file(&path, crate::shell::limits::FILE_BYTES);
        match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(text) => Input::Text(Abstract::known(&text)),
            None => unknown,
        }
    }

    /// The variable's value as text; for builtins that read one by name.
    pub(crate) fn text_of(&mut self, name: &str) -> Eval<Abstract> {
        let read: Read = self.read(name)?;
        Ok(read.value(name).text)
    }

    /// Marks the present command as one that never runs with the values that it has here.
    pub(crate) fn vacuous_read(&mut self) {
        self.vacuous = true;
    }

    /// Names the variable that ends the shell.
    pub(crate) fn set_aborted(&mut self, name: Rc<str>) {
        self.aborted_by = Some(name);
    }
}
