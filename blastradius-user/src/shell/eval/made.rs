//! What the text has made, linked and moved so far: later commands meet it under its new name.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::Evaluator;
use crate::policy::effect::{Act, Base, Effect, PathTarget, Selection};
use crate::shell::limits::Eval;
use crate::shell::state::Files;
use crate::shell::value::{Abstract, Field, Glob};
use crate::shell::world::{Look, World};

/// Directories taken away that are remembered.
const GONE: usize = 64;

impl Evaluator<'_> {
    /// What the text has done to files, to be written to. Where a branch shares it that copies it, which is work; the
    /// next step meets the bound.
    pub(crate) fn files_mut(&mut self) -> &mut Files {
        if Rc::strong_count(&self.state.files) > 1 {
            self.work.steps += self.state.files.len() as u64 / 2;
        }
        Rc::make_mut(&mut self.state.files)
    }

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
        self.made_again(&highest);
        if !self.state.files.is_born(&highest) {
            self.files_mut().born.insert(highest);
        }
    }

    /// `mv`: what is at the destination from now on was there before under another name.
    pub(crate) fn moved(&mut self, sources: &[&Field], to: PathBuf) -> Eval<()> {
        self.tick(1 + sources.len() as u64)?;
        let base = self.state.cwd.clone();
        let files = self.files_mut();
        files.born.forget_above(&to);
        if files.moves.len() > 64 {
            return Ok(());
        }
        for &source in sources {
            let from = match &source.glob {
                Some(glob) => Some(glob.base.clone()),
                None => self.path_of(source, &base),
            };
            let files = self.files_mut();
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

    /// The text makes again what it had taken away.
    pub(crate) fn made_again(&mut self, path: &Path) {
        if self.state.files.is_gone(path) {
            self.files_mut().gone.retain(|gone| !path.starts_with(gone));
        }
    }

    /// A directory is taken away: to enter it later may fail.
    pub(super) fn note_gone(&mut self, act: Act, target: &PathTarget) {
        let whole = matches!(act, Act::Remove { recursive: true } | Act::Move)
            && target.operand.glob.is_none()
            && target.selection == Selection::default();
        if !whole || self.state.files.gone.len() >= GONE {
            return;
        }
        if let Some(path) = self.path_of(&target.operand, &target.base)
            && !self.state.files.gone.contains(&path)
        {
            self.files_mut().gone.push(path);
        }
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

    /// What a call of `mv` moves.
    pub(crate) fn note_moves(&mut self, operands: &[&Field]) -> Eval<()> {
        let base = self.state.cwd.clone();
        let Some((last, sources)) = operands.split_last() else { return Ok(()) };
        match self.path_of(last, &base) {
            Some(to) if !sources.is_empty() => self.moved(sources, to),
            _ => Ok(()),
        }
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
