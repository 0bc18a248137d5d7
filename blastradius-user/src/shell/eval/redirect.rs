//! Redirections: where input comes from, where output goes, and what that destroys.

use std::path::PathBuf;

use super::{Evaluator, look_through};
use crate::policy::effect::{Act, Base, Effect, Follow, PathTarget, Selection};
use crate::programs::Input;
use crate::shell::glob::normal_join;
use crate::shell::limits::{Eval, FILE_BYTES};
use crate::shell::state::Kind;
use crate::shell::syntax::{Redirection, RedirectionKind};
use crate::shell::value::{Abstract, Cause, Field, Piece};
use crate::shell::world::{self, Look, World};

/// Where standard input comes from.
#[derive(Clone, Debug)]
pub(crate) enum Stdin {
    Input(Input),
    /// A file, read when someone wants it.
    File(Field, Base),
}

/// What became of standard output while redirections held.
struct Held {
    stdin: Option<Stdin>,
    /// Output is gathered for this file, or thrown away.
    output: Option<Option<(PathBuf, bool)>>,
}

impl Evaluator<'_> {
    /// Runs `work` under redirections.
    pub(super) fn with_redirections<T>(
        &mut self,
        redirections: &[Redirection],
        work: impl FnOnce(&mut Self) -> Eval<T>,
    ) -> Eval<T> {
        if redirections.is_empty() {
            return work(self);
        }
        let mut held = Held { stdin: None, output: None };
        let descriptors = self.fds.len();
        self.keep_fds = false;
        for redirection in redirections {
            self.redirect(redirection, &mut held)?;
        }
        if held.output.is_some() {
            self.capture();
        }
        let outer = self.stdout_file.clone();
        if let Some(target) = &held.output {
            self.stdout_file = target.as_ref().filter(|(_, append)| !append).map(|(path, _)| path.clone());
        }
        let done = work(self);
        self.stdout_file = outer;
        if let Some(target) = held.output {
            let written = self.captured();
            if let Some((path, append)) = target {
                self.write_file(path, append, written);
            }
        }
        if std::mem::take(&mut self.keep_fds) {
            return done;
        }
        self.fds.truncate(descriptors);
        if let Some(stdin) = held.stdin {
            self.stdin = stdin;
        }
        done
    }

    fn redirect(&mut self, redirection: &Redirection, held: &mut Held) -> Eval<()> {
        let stdin = |evaluator: &mut Self, held: &mut Held, input: Stdin| {
            let old = std::mem::replace(&mut evaluator.stdin, input);
            held.stdin.get_or_insert(old);
        };
        let fd = self.descriptor(redirection)?;
        let for_input = fd.is_none_or(|fd| fd == 0);
        match redirection.kind {
            RedirectionKind::HereDoc => {
                let text = self.expand_text(&redirection.target)?;
                let input = Stdin::Input(Input::Text(text));
                if for_input { stdin(self, held, input) } else { self.give_descriptor(fd, input) }
            }
            RedirectionKind::HereString => {
                let value = self.expand_assigned(&redirection.target)?;
                let input = match value.kind {
                    Kind::Selected(selected) => Input::Names(vec![(*selected).clone()]),
                    _ => {
                        let mut text = value.text;
                        text.push_text("\n");
                        Input::Text(text)
                    }
                };
                let input = Stdin::Input(input);
                if for_input { stdin(self, held, input) } else { self.give_descriptor(fd, input) }
            }
            RedirectionKind::Input => {
                let field = self.redirection_target(redirection)?;
                let input = Stdin::File(field, self.state.cwd.clone());
                if for_input { stdin(self, held, input) } else { self.give_descriptor(fd, input) }
            }
            RedirectionKind::Duplicate => self.duplicate(redirection, fd, held)?,
            RedirectionKind::Output | RedirectionKind::Both | RedirectionKind::Append => {
                let append = redirection.kind == RedirectionKind::Append;
                let field = self.redirection_target(redirection)?;
                let file = self.write_effect(&field, append)?;
                if redirection.kind == RedirectionKind::Both || fd.is_none_or(|fd| fd == 1) {
                    held.output = Some(file.map(|file| (file, append)));
                } else if let Some(file) = file {
                    // Errors: what they say is not known.
                    let written =
                        Input::Unknown { from: self.segment_text(), network: false, decoded: false };
                    self.write_file(file, append, written);
                }
            }
            RedirectionKind::ReadWrite => {
                let field = self.redirection_target(redirection)?;
                self.device_effect(&field);
                if for_input {
                    let base = self.state.cwd.clone();
                    stdin(self, held, Stdin::File(field, base));
                }
            }
        }
        Ok(())
    }

    /// `2>&1`, `>&-`, `>&file`
    fn duplicate(&mut self, redirection: &Redirection, fd: Option<i32>, held: &mut Held) -> Eval<()> {
        let field = self.redirection_target(redirection)?;
        let known = field.as_known().unwrap_or_default().into_owned();
        let given = known.trim_end_matches('-').parse::<i32>().ok();
        if let Some(input) = given.and_then(|given| self.given_to(given)) {
            if fd.is_none_or(|fd| fd == 0) {
                let old = std::mem::replace(&mut self.stdin, input);
                held.stdin.get_or_insert(old);
            } else {
                self.give_descriptor(fd, input);
            }
            return Ok(());
        }
        let is_fd = known == "-" || known.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        if is_fd {
            if fd.is_none_or(|fd| fd == 1) && known != "1" {
                held.output.get_or_insert(None);
            }
            return Ok(());
        }
        if !field.text.has_hole() {
            let file = self.write_effect(&field, false)?;
            held.output = Some(file.map(|file| (file, false)));
        }
        Ok(())
    }

    /// The descriptor that is meant; one that the shell picks gets a number of its own.
    fn descriptor(&mut self, redirection: &Redirection) -> Eval<Option<i32>> {
        let Some(name) = &redirection.fd_name else { return Ok(redirection.fd) };
        let taken = i32::try_from(self.fds.len()).unwrap_or(i32::MAX - 10);
        let fd = 10 + taken;
        self.assign(name, crate::shell::state::Val::known(&fd.to_string()))?;
        Ok(Some(fd))
    }

    /// Something is read through this descriptor from now on.
    fn give_descriptor(&mut self, fd: Option<i32>, input: Stdin) {
        if let Some(fd) = fd
            && self.fds.len() < 64
        {
            self.fds.push((fd, input));
        }
    }

    fn given_to(&self, fd: i32) -> Option<Stdin> {
        self.fds.iter().rev().find(|(given, _)| *given == fd).map(|(_, input)| input.clone())
    }

    fn redirection_target(&mut self, redirection: &Redirection) -> Eval<Field> {
        let mut arguments = Vec::new();
        self.expand_arguments(&redirection.target, &mut arguments)?;
        if arguments.len() == 1 && !arguments[0].elided {
            // The match of a pattern with one match is meant; with several the shell refuses.
            return Ok(arguments.remove(0).field);
        }
        let text = self.expand_text(&redirection.target)?;
        Ok(Field { text, glob: None, source: redirection.target.source.clone(), tilde: false })
    }

    /// Says what opening a file for writing destroys, and gives the file if it is known.
    fn write_effect(&mut self, field: &Field, append: bool) -> Eval<Option<PathBuf>> {
        self.tick(2)?;
        let path = self.path_of(field, &self.state.cwd.clone());
        if let Some(path) = &path {
            let shown = path.to_string_lossy();
            if is_sink(&shown) || self.processes.iter().any(|(process, _)| **process == *shown) {
                return Ok(None);
            }
            if shown == "/proc/sysrq-trigger" && !self.vacuous {
                let what = "tells the kernel to stop or restart at once".into();
                self.add_thing(blastradius_common::RuleId::PowerState, what, &shown, ">");
                return Ok(None);
            }
            let (_, look) = look_through(&self.world, path);
            match look {
                Look::Absent => {
                    // What a new file means where it lies is the judge's to say; from here on the text owns it.
                    self.path_effect(if append { Act::Append } else { Act::Truncate }, field, ">");
                    self.born(path.clone(), false);
                    return Ok(Some(path.clone()));
                }
                Look::Found(meta) if meta.kind == world::Kind::BlockDevice => {
                    self.device_effect(field);
                    return Ok(None);
                }
                Look::Found(meta) if meta.kind == world::Kind::Special && shown.starts_with("/dev/") => {
                    return Ok(None);
                }
                _ => {}
            }
        }
        let act = if append { Act::Append } else { Act::Truncate };
        self.path_effect(act, field, if append { ">>" } else { ">" });
        Ok(path)
    }

    fn device_effect(&mut self, field: &Field) {
        self.path_effect(Act::Device, field, ">");
    }

    fn path_effect(&mut self, act: Act, field: &Field, program: &str) {
        if self.vacuous {
            return;
        }
        let target = PathTarget {
            operand: field.clone(),
            base: self.state.cwd.clone(),
            follow: Follow::Last,
            selection: Selection::default(),
        };
        self.report(Effect::Path { act, target }, program);
    }

    /// The absolute path that a wholly known operand names, lexically resolved.
    pub(crate) fn path_of(&self, field: &Field, base: &Base) -> Option<PathBuf> {
        let text = field.as_known()?;
        if text.is_empty() {
            return None;
        }
        if text.starts_with('/') {
            return Some(normal_join(std::path::Path::new("/"), &text));
        }
        match base {
            Base::Known(base) => Some(normal_join(base, &text)),
            Base::OneOf(_) | Base::Unknown(_) => None,
        }
    }

    /// What the text has written into a file.
    pub(crate) fn write_file(&mut self, path: PathBuf, append: bool, written: Input) {
        if let Input::Unknown { network: true, from, .. } = &written {
            let from = from.clone();
            self.files_mut().fetched.insert(path.clone(), from);
        }
        let old = if append { self.content_of(&path) } else { Some(Abstract::default()) };
        let content = match (old, written) {
            (Some(mut old), Input::Text(text)) if self.uncertain == 0 => {
                old.push(&text);
                Some(old)
            }
            (_, Input::Text(text)) if !append => Some(text),
            _ => None,
        };
        self.files_mut().contents.insert(path, content);
    }

    /// The content of a file as the text left it, else as the world has it.
    pub(crate) fn content_of(&mut self, path: &std::path::Path) -> Option<Abstract> {
        if let Some(content) = self.state.files.contents.get(path) {
            return content.clone();
        }
        if self.state.files.is_born(path) {
            return None;
        }
        let bytes = self.world.read_file(path, FILE_BYTES)?;
        let text = String::from_utf8(bytes).ok()?;
        Some(Abstract::known(&text))
    }

    /// Standard input, read if it is a file.
    pub(crate) fn standard_input(&mut self) -> Input {
        match self.stdin.clone() {
            Stdin::Input(input) => input,
            Stdin::File(field, base) => self.file_input(&field, &base),
        }
    }

    /// The content of a file operand as input.
    pub(crate) fn file_input(&mut self, field: &Field, base: &Base) -> Input {
        let unknown = Input::Unknown { from: field.source.clone(), network: false, decoded: false };
        if let Some(text) = field.as_known() {
            if let Some((_, input)) = self.processes.iter().rev().find(|(path, _)| **path == *text) {
                return input.clone();
            }
            let fd = text.strip_prefix("/dev/fd/").or_else(|| text.strip_prefix("/proc/self/fd/"));
            match fd.and_then(|fd| fd.parse().ok()).and_then(|fd| self.given_to(fd)) {
                Some(Stdin::Input(input)) => return input,
                Some(Stdin::File(field, base)) if *field.source != *text => {
                    return self.file_input(&field, &base);
                }
                _ => {}
            }
            if matches!(&*text, "/dev/stdin" | "/dev/fd/0" | "-") {
                return match self.stdin.clone() {
                    Stdin::Input(input) => input,
                    Stdin::File(..) => unknown,
                };
            }
            if text == "/dev/null" {
                return Input::Text(Abstract::default());
            }
        }
        let Some(path) = self.path_of(field, base) else { return unknown };
        if let Some(from) = self.state.files.fetched.get(&path) {
            return Input::Unknown { from: from.clone(), network: true, decoded: false };
        }
        self.content_of(&path).map_or(unknown, Input::Text)
    }

    /// Whether the operand names what a substitution of this command gives, or a file that the text has filled.
    pub(crate) fn is_made_here(&self, field: &Field, base: &Base) -> bool {
        if field.as_known().is_some_and(|text| self.processes.iter().any(|(path, _)| **path == *text)) {
            return true;
        }
        self.path_of(field, base).is_some_and(|path| self.state.files.contents.contains_key(&path))
    }

    /// What input looks like as one text; what is not known is a hole.
    pub(crate) fn input_text(&self, input: &Input) -> Abstract {
        match input {
            Input::Text(text) => text.clone(),
            Input::Inherited => Abstract::unknown(Cause::Input("standard input".into())),
            Input::Unknown { from, .. } => Abstract::unknown(Cause::CommandOutput(from.clone())),
            Input::Names(names) => {
                let from = names.first().map_or_else(|| "a listing".into(), |name| name.root.source.clone());
                Abstract::unknown(Cause::CommandOutput(from))
            }
        }
    }
}

/// Places that swallow what is written, or hand it to a terminal.
fn is_sink(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/full" | "/dev/zero")
        || path.starts_with("/dev/fd/")
        || path.starts_with("/dev/tcp/")
        || path.starts_with("/dev/udp/")
        || path.starts_with("/dev/pts/")
        || (path.starts_with("/proc/") && path.contains("/fd/"))
}

/// Whether a text begins with a hole that names an object which the text has made, and stays below it.
pub(crate) fn is_below_born_hole(text: &Abstract) -> bool {
    let mut pieces = text.pieces.iter().filter(|piece| !matches!(piece, Piece::Nothing(_)));
    match pieces.next() {
        Some(Piece::Hole(hole)) if hole.born => {}
        _ => return false,
    }
    pieces.all(|piece| match piece {
        Piece::Text(text) => !text.split('/').any(|part| part == ".."),
        Piece::Hole(hole) => hole.component,
        Piece::Nothing(_) => true,
    })
}
