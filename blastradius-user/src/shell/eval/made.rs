//! What the text has made, linked and moved so far: later commands meet it under its new name.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::Evaluator;
use crate::policy::effect::{Act, Base, Effect, PathTarget};
use crate::shell::glob::normal_join;
use crate::shell::limits::Eval;
use crate::shell::value::{Abstract, Field, Glob};
use crate::shell::world::{Look, World};

impl Evaluator<'_> {
    /// The text makes this object. Where the directory above is missing too, it only does so if it makes that as well.
    pub(crate) fn born(&mut self, path: PathBuf, with_parents: bool) {
        let mut highest = path;
        while let Some(parent) = highest.parent() {
            let there = parent.parent().is_none()
                || self.state.files.is_born(parent)
                || !matches!(self.world.look(parent), Look::Absent);
            if there {
                break;
            }
            if !with_parents {
                return;
            }
            highest = parent.to_owned();
        }
        if !self.state.files.is_born(&highest) {
            Rc::make_mut(&mut self.state.files).born.push(highest);
        }
    }

    /// A symbolic link that the text has made.
    pub(crate) fn linked_to(&mut self, link: PathBuf, target: PathBuf) {
        if self.state.files.links.len() < 64 {
            Rc::make_mut(&mut self.state.files).links.push((link, target));
        }
    }

    /// `mv`: what is at the destination from now on was there before under another name.
    pub(crate) fn moved(&mut self, sources: &[&Field], to: PathBuf) -> Eval<()> {
        self.tick(1 + sources.len() as u64)?;
        let base = self.state.cwd.clone();
        let files = Rc::make_mut(&mut self.state.files);
        files.born.retain(|born| !to.starts_with(born));
        if files.moves.len() > 64 {
            return Ok(());
        }
        for &source in sources {
            let from = match &source.glob {
                Some(glob) => Some(glob.base.clone()),
                None => self.path_of(source, &base),
            };
            let files = Rc::make_mut(&mut self.state.files);
            // What came here by an earlier move goes on.
            if let Some(from) = from {
                let on: Vec<_> =
                    files.moves.iter().filter(|(_, _, at)| at.starts_with(&from)).cloned().collect();
                files.moves.extend(on.into_iter().map(|(field, base, _)| (field, base, to.clone())));
            }
            files.moves.push((source.clone(), base.clone(), to.clone()));
        }
        Ok(())
    }

    /// An effect as it falls on what is there now: names that lead through links of this text are followed.
    pub(super) fn through_links(&self, mut target: PathTarget) -> PathTarget {
        if self.state.files.links.is_empty() {
            return target;
        }
        let operand = &target.operand;
        let (path, enters) = match &operand.glob {
            Some(glob) => (Some(glob.base.clone()), true),
            None => {
                let slash = operand.as_known().is_some_and(|text| text.ends_with('/'));
                (
                    self.path_of(operand, &target.base),
                    slash || target.follow == crate::policy::effect::Follow::Last,
                )
            }
        };
        let Some(path) = path else { return target };
        let found = self.state.files.links.iter().rev().find_map(|(link, to)| {
            let rest = path.strip_prefix(link).ok()?;
            (enters || rest.components().next().is_some()).then(|| to.join(rest))
        });
        if let Some(real) = found {
            target.operand = moved_to(operand, &real);
        }
        target
    }

    /// What else a removal takes with it: what this text has moved there.
    pub(super) fn moved_here(&self, act: Act, target: &PathTarget) -> Vec<Effect> {
        if self.state.files.moves.is_empty() || !matches!(act, Act::Remove { recursive: true }) {
            return Vec::new();
        }
        let path = match &target.operand.glob {
            Some(glob) => Some(glob.base.clone()),
            None => self.path_of(&target.operand, &target.base),
        };
        let Some(path) = path else { return Vec::new() };
        let here = self.state.files.moves.iter().filter(|(_, _, at)| at.starts_with(&path));
        here.map(|(field, base, _)| Effect::Path {
            act,
            target: PathTarget { operand: field.clone(), base: base.clone(), ..target.clone() },
        })
        .collect()
    }

    /// Links and moves that a program's call makes.
    pub(crate) fn note_made(&mut self, name: &str, operands: &[&Field], symbolic: bool) -> Eval<()> {
        let base = self.state.cwd.clone();
        let Some((last, sources)) = operands.split_last() else { return Ok(()) };
        let Some(to) = self.path_of(last, &base) else { return Ok(()) };
        match (name, sources) {
            ("ln", [source]) if symbolic => {
                let Some(text) = source.as_known() else { return Ok(()) };
                let parent = to.parent().unwrap_or(Path::new("/")).to_owned();
                let target = normal_join(&parent, &text);
                self.linked_to(to, target);
            }
            ("mv", sources) if !sources.is_empty() => self.moved(sources, to)?,
            _ => {}
        }
        Ok(())
    }
}

/// The same operand under another name.
pub(super) fn moved_to(operand: &Field, real: &Path) -> Field {
    let shown = real.to_string_lossy();
    let shown = if shown.len() > 1 { shown.trim_end_matches('/') } else { &*shown };
    let mut field = Field::literal(shown);
    field.source = operand.source.clone();
    if let Some(glob) = &operand.glob {
        let slash = if shown == "/" { "" } else { "/" };
        field.text = Abstract::known(&format!("{shown}{slash}{}", glob.pattern));
        field.glob = Some(Rc::new(Glob {
            base: real.to_owned(),
            pattern: glob.pattern.clone(),
            matches: Vec::new(),
            count: glob.count.max(1),
        }));
    }
    field
}

/// Where a relative operand of a move was read.
pub(crate) type MovedFrom = (Field, Base, PathBuf);
