//! Where the shell stands: `cd`, `pushd`, `popd`, `pwd`.

use std::path::PathBuf;
use std::rc::Rc;

use crate::policy::effect::Base;
use crate::programs::Input;
use crate::shell::eval::{Evaluator, base_text, is_below_born_hole, look_through};
use crate::shell::glob::normal_join;
use crate::shell::limits::{COMBINATIONS, Eval};
use crate::shell::state::{Fact, Facts, Outcome};
use crate::shell::value::{Abstract, Cause, Field};
use crate::shell::world::{Kind, Look, World as _};

pub(super) fn cd(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let mut operands = args;
    let mut physical = false;
    while let Some(option) = operands.first().and_then(Field::as_known) {
        if option.len() < 2 || !option.starts_with('-') {
            break;
        }
        physical = if option.contains('L') { false } else { physical || option.contains('P') };
        operands = &operands[1..];
        if option == "--" {
            break;
        }
    }
    let target = match operands.first() {
        None => home(evaluator)?,
        Some(field) if field.as_known().as_deref() == Some("-") => {
            // The text may have put another directory there; else it is where the shell came from.
            return match evaluator.state.previous.clone() {
                Some(base) if !evaluator.state.vars.contains_key("OLDPWD") => Ok(go(evaluator, base, true)),
                _ => {
                    let text = evaluator.text_of("OLDPWD")?;
                    change(evaluator, &Field { text, glob: None, source: "-".into(), tilde: false })
                }
            };
        }
        Some(field) => field.clone(),
    };
    match target.as_known() {
        Some(known) if physical && known.contains("..") => go_physically(evaluator, &known),
        _ => change(evaluator, &target),
    }
}

/// `cd -P`: `..` leads out of where a link leads to, not out of where it lies.
fn go_physically(evaluator: &mut Evaluator<'_>, target: &str) -> Eval<Outcome> {
    let mut place = match &evaluator.state.cwd {
        _ if target.starts_with('/') => PathBuf::from("/"),
        Base::Known(from) => PathBuf::clone(from),
        other => {
            let other = other.clone();
            return Ok(go(evaluator, other, false));
        }
    };
    for component in std::path::Path::new(target).components() {
        evaluator.tick(2)?;
        let (real, _) = look_through(&evaluator.world, &place);
        place = match component {
            std::path::Component::ParentDir => normal_join(&real, ".."),
            std::path::Component::Normal(name) => real.join(name),
            _ => real,
        };
    }
    let (real, look) = look_through(&evaluator.world, &place);
    let sure = matches!(look, Look::Found(meta) if meta.kind == Kind::Directory);
    Ok(go(evaluator, Base::Known(Rc::new(real)), sure))
}

fn home(evaluator: &mut Evaluator<'_>) -> Eval<Field> {
    let text = evaluator.text_of("HOME")?;
    Ok(Field { text, glob: None, source: "~".into(), tilde: true })
}

/// Changes the directory to what the operand names.
fn change(evaluator: &mut Evaluator<'_>, field: &Field) -> Eval<Outcome> {
    evaluator.tick(2)?;
    let text = match &field.glob {
        // One match is where it goes; several are an error, or the turns of a loop.
        Some(glob) if glob.count == 1 && glob.matches.len() == 1 => Abstract::known(&glob.matches[0]),
        Some(glob) if glob.count == glob.matches.len() && glob.count <= COMBINATIONS => {
            return Ok(change_to_one_of(evaluator, &glob.matches, &field.text));
        }
        Some(_) => Abstract::unknown(Cause::NotModelled(field.source.clone())),
        None => field.text.clone(),
    };
    let Some(known) = text.as_known() else {
        let why = describe(&text, &field.source);
        let made = is_below_born_hole(&text);
        if made {
            evaluator.files_mut().places.push(why.clone());
        }
        return Ok(go(evaluator, Base::Unknown(why), made));
    };
    if known.is_empty() {
        // `cd ""` goes nowhere, and succeeds.
        return Ok(Outcome::ok());
    }
    if let Some(places) = search_path(evaluator, &known)? {
        return Ok(go(evaluator, places, false));
    }
    let from: Vec<Rc<PathBuf>> = match &evaluator.state.cwd {
        Base::Known(path) => vec![path.clone()],
        Base::OneOf(paths) => paths.clone(),
        Base::Unknown(_) if known.starts_with('/') => vec![Rc::new(PathBuf::from("/"))],
        Base::Unknown(why) => {
            let base = Base::Unknown(why.clone());
            return Ok(go(evaluator, base, false));
        }
    };
    let mut targets: Vec<Rc<PathBuf>> = Vec::new();
    let (mut sure, mut nowhere) = (true, evaluator.runs_now && !evaluator.may_be_made);
    for base in from {
        let path = normal_join(&base, &known);
        let made = evaluator.state.files.is_born(&path);
        let gone = evaluator.state.files.is_gone(&path);
        let (_, look) = look_through(&evaluator.world, &path);
        sure &= !gone && (made || matches!(look, Look::Found(meta) if meta.kind == Kind::Directory));
        nowhere &= !made && matches!(look, Look::Absent);
        let path = Rc::new(path);
        if !targets.contains(&path) {
            targets.push(path);
        }
    }
    if nowhere {
        return Ok(Outcome::status(1));
    }
    let base = if targets.len() == 1 { Base::Known(targets.remove(0)) } else { Base::OneOf(targets) };
    Ok(go(evaluator, base, sure))
}

/// Each turn of a loop over a pattern goes to one of its matches; without a match, to what bears the pattern's name.
fn change_to_one_of(evaluator: &mut Evaluator<'_>, matches: &[String], pattern: &Abstract) -> Outcome {
    let literal = pattern.as_known().map(std::borrow::Cow::into_owned);
    let names = if matches.is_empty() { literal.as_slice() } else { matches };
    let Base::Known(from) = evaluator.state.cwd.clone() else {
        let why = Base::Unknown(pattern.as_known().unwrap_or_default().into_owned().into());
        return go(evaluator, why, false);
    };
    let mut places: Vec<Rc<PathBuf>> = names.iter().map(|name| Rc::new(normal_join(&from, name))).collect();
    places.dedup();
    let base = if places.len() == 1 { Base::Known(places.remove(0)) } else { Base::OneOf(places) };
    go(evaluator, base, false)
}

/// Where `cd` goes by way of `$CDPATH`: any of its directories that may hold the name, or the working directory.
fn search_path(evaluator: &mut Evaluator<'_>, name: &str) -> Eval<Option<Base>> {
    let is_searched = !name.starts_with('/') && !matches!(name.split('/').next(), Some("." | ".."));
    if !is_searched {
        return Ok(None);
    }
    let is_set = evaluator.state.vars.contains_key("CDPATH") || evaluator.world.env("CDPATH").is_some();
    if !is_set {
        return Ok(None);
    }
    let searched = evaluator.text_of("CDPATH")?;
    if searched.is_known_empty() {
        return Ok(None);
    }
    let Base::Known(here) = evaluator.state.cwd.clone() else { return Ok(None) };
    let Some(searched) = searched.as_known() else {
        return Ok(Some(Base::Unknown("cd by way of CDPATH".into())));
    };
    let mut places: Vec<Rc<PathBuf>> = Vec::new();
    for directory in searched.split(':').take(COMBINATIONS).chain([""]) {
        let place = normal_join(&normal_join(&here, directory), name);
        let (_, look) = look_through(&evaluator.world, &place);
        let may = !matches!(look, Look::Absent) || evaluator.state.files.is_born(&place);
        if may && !places.iter().any(|known| **known == place) {
            places.push(Rc::new(place));
        }
    }
    Ok(match places.len() {
        0 => None,
        1 => Some(Base::Known(places.remove(0))),
        _ => Some(Base::OneOf(places)),
    })
}

fn describe(text: &Abstract, source: &str) -> Rc<str> {
    let cause = text.causes().next();
    match cause.and_then(Cause::variable) {
        Some(name) => format!("cd {source}: {name} is known only at run time").into(),
        None => format!("cd {source}").into(),
    }
}

/// Goes there. Unless it is sure that it succeeds, the shell may stay where it is.
fn go(evaluator: &mut Evaluator<'_>, to: Base, sure: bool) -> Outcome {
    let from = evaluator.state.cwd.clone();
    evaluator.state.previous = Some(from.clone());
    if evaluator.state.vars.contains_key("OLDPWD") {
        Rc::make_mut(&mut evaluator.state.vars).remove("OLDPWD");
    }
    if sure {
        evaluator.state.cwd = to;
        return Outcome::ok();
    }
    let mut stays = evaluator.state.clone();
    stays.cwd = from.clone();
    evaluator.state.cwd = to.clone();
    let goes = evaluator.state.clone();
    evaluator.state = evaluator.join_two(goes, stays);
    Outcome {
        status: None,
        if_ok: Facts::from_iter([Fact::Cwd(to)]),
        if_fail: Facts::from_iter([Fact::Cwd(from)]),
    }
}

pub(super) fn pushd(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let from = evaluator.state.cwd.clone();
    let operand = args.iter().find(|field| field.as_known().is_none_or(|text| !text.starts_with(['-', '+'])));
    match operand {
        Some(field) => {
            let outcome = change(evaluator, field)?;
            Rc::make_mut(&mut evaluator.state.stack).push(from);
            evaluator.print_unknown()?;
            Ok(outcome)
        }
        None => {
            let Some(top) = Rc::make_mut(&mut evaluator.state.stack).pop() else {
                return Ok(Outcome::unknown());
            };
            Rc::make_mut(&mut evaluator.state.stack).push(from);
            evaluator.print_unknown()?;
            Ok(go(evaluator, top, true))
        }
    }
}

pub(super) fn popd(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    evaluator.print_unknown()?;
    if !args.is_empty() {
        let why = "popd to another place of the stack".into();
        return Ok(go(evaluator, Base::Unknown(why), false));
    }
    match Rc::make_mut(&mut evaluator.state.stack).pop() {
        Some(base) => Ok(go(evaluator, base, true)),
        None => Ok(Outcome::status(1)),
    }
}

pub(super) fn pwd(evaluator: &mut Evaluator<'_>, _: &str, _: &[Field]) -> Eval<Outcome> {
    if evaluator.is_captured() {
        let mut text = base_text(&evaluator.state.cwd);
        text.push_text("\n");
        evaluator.print(Input::Text(text))?;
    }
    Ok(Outcome::ok())
}
