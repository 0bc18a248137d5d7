//! Where branches meet: what holds after either of them.

use std::rc::Rc;

use super::limits::ALTERNATIVES;
use super::state::{Names, Reach, Shape, State, Val, Var};
use super::value::{Abstract, Cause, Hole};
use crate::policy::effect::Base;

/// The state after one of two branches. A branch that is not reached, or that has ended the shell, adds nothing but
/// what it did to the file system.
pub(crate) fn join(left: State, right: State, unbound: &dyn Fn(&str) -> Option<Val>) -> State {
    match (left.reach, right.reach) {
        (Reach::Live, Reach::Live) | (Reach::Folded, Reach::Folded) => {}
        (Reach::Live, _) => return with_files_of(left, &right),
        (_, Reach::Live) => return with_files_of(right, &left),
        (Reach::Folded, Reach::Ended) => return with_files_of(left, &right),
        (Reach::Ended, Reach::Folded) => return with_files_of(right, &left),
        (Reach::Ended, Reach::Ended) => {}
    }
    let mut joined = left;
    if !Rc::ptr_eq(&joined.vars, &right.vars) {
        joined.vars = join_vars(&joined, &right, unbound);
    }
    if joined.cwd != right.cwd {
        joined.cwd = join_base(&joined.cwd, &right.cwd);
    }
    if joined.tainted.is_none() {
        joined.tainted.clone_from(&right.tainted);
    }
    if !Rc::ptr_eq(&joined.functions, &right.functions) {
        // Where both define one name, the later branch's body is kept: both bodies were seen when they were called.
        let functions = Rc::make_mut(&mut joined.functions);
        for (name, function) in right.functions.iter() {
            functions.insert(name.clone(), function.clone());
        }
    }
    if !Rc::ptr_eq(&joined.traps, &right.traps) {
        let traps = Rc::make_mut(&mut joined.traps);
        for (name, body) in right.traps.iter() {
            traps.insert(name.clone(), body.clone());
        }
    }
    if !Rc::ptr_eq(&joined.aliases, &right.aliases) {
        let aliases = Rc::make_mut(&mut joined.aliases);
        for (name, body) in right.aliases.iter() {
            aliases.insert(name.clone(), body.clone());
        }
    }
    if joined.positional != right.positional {
        joined.positional = super::state::Positional::Unknown;
    }
    if joined.status != right.status {
        joined.status = None;
    }
    joined.flags = join_flags(joined.flags, right.flags);
    with_files_of(joined, &right)
}

/// Adds what the other branch made and wrote.
fn with_files_of(mut state: State, other: &State) -> State {
    if Rc::ptr_eq(&state.files, &other.files) {
        return state;
    }
    let files = Rc::make_mut(&mut state.files);
    files.born.extend(&other.files.born);
    for path in &other.files.gone {
        if !files.gone.contains(path) {
            files.gone.push(path.clone());
        }
    }
    for place in &other.files.places {
        if !files.places.contains(place) {
            files.places.push(place.clone());
        }
    }
    for moved in &other.files.moves {
        if !files.moves.contains(moved) {
            files.moves.push(moved.clone());
        }
    }
    files.old.extend(&other.files.old);
    for (link, target) in &other.files.targets {
        files.targets.entry(link.clone()).or_insert_with(|| target.clone());
    }
    files.links.extend(&other.files.links);
    for (path, from) in &other.files.fetched {
        files.fetched.insert(path.clone(), from.clone());
    }
    for (path, content) in &other.files.contents {
        match files.contents.get_mut(path) {
            Some(mine) if mine != content => *mine = None,
            Some(_) => {}
            None => {
                files.contents.insert(path.clone(), content.clone());
            }
        }
    }
    state
}

/// Protections count only where both branches have them, hazards where either has.
fn join_flags(left: super::state::Flags, right: super::state::Flags) -> super::state::Flags {
    super::state::Flags {
        errexit: left.errexit && right.errexit,
        nounset: left.nounset && right.nounset,
        noglob: left.noglob && right.noglob,
        noexec: left.noexec && right.noexec,
        pipefail: left.pipefail && right.pipefail,
        nullglob: left.nullglob && right.nullglob,
        failglob: left.failglob && right.failglob,
        dotglob: left.dotglob || right.dotglob,
        globstar: left.globstar || right.globstar,
        nocaseglob: left.nocaseglob || right.nocaseglob,
        nocasematch: left.nocasematch || right.nocasematch,
        lastpipe: left.lastpipe || right.lastpipe,
        expand_aliases: left.expand_aliases || right.expand_aliases,
        sh_word_split: left.sh_word_split || right.sh_word_split,
    }
}

fn join_base(left: &Base, right: &Base) -> Base {
    let mut all: Vec<_> = Vec::new();
    for base in [left, right] {
        match base {
            // Another reason than before: nothing that was known of that place holds where it may be another.
            Base::Unknown(why) => return Base::Unknown(format!("{why}, or somewhere else").into()),
            Base::Known(path) => all.push(path.clone()),
            Base::OneOf(paths) => all.extend(paths.iter().cloned()),
        }
    }
    let mut distinct: Vec<Rc<std::path::PathBuf>> = Vec::new();
    for path in all {
        if !distinct.contains(&path) {
            distinct.push(path);
        }
    }
    match distinct.len() {
        1 => Base::Known(distinct.remove(0)),
        2..=ALTERNATIVES => Base::OneOf(distinct),
        _ => Base::Unknown("the working directory has too many possible values".into()),
    }
}

fn join_vars(left: &State, right: &State, unbound: &dyn Fn(&str) -> Option<Val>) -> Rc<Names<Var>> {
    let mut joined = left.vars.clone();
    let outside = |state: &State, name: &str| match &state.tainted {
        Some(cause) => Var::scalar(Val::unknown((**cause).clone())),
        None => unbound(name).map_or_else(|| Var::new(Shape::Unset), Var::scalar),
    };
    for (name, var) in right.vars.iter() {
        match left.vars.get(name) {
            Some(mine) if mine == var => {}
            mine => {
                let mine = mine.cloned().unwrap_or_else(|| outside(left, name));
                let both = join_var(name, &mine, var);
                Rc::make_mut(&mut joined).insert(name.clone(), both);
            }
        }
    }
    for (name, var) in left.vars.iter() {
        if !right.vars.contains_key(name) {
            let both = join_var(name, var, &outside(right, name));
            Rc::make_mut(&mut joined).insert(name.clone(), both);
        }
    }
    joined
}

fn join_var(name: &Rc<str>, left: &Var, right: &Var) -> Var {
    if left == right {
        return left.clone();
    }
    // What a guard has ruled out on one side is only what the other side has.
    if left.excluded != right.excluded {
        return if left.excluded { right.clone() } else { left.clone() };
    }
    Var {
        shape: join_shape(name, &left.shape, &right.shape),
        exported: left.exported || right.exported,
        readonly: left.readonly && right.readonly,
        convert: if left.convert == right.convert { left.convert } else { super::state::Convert::Keep },
        excluded: left.excluded,
    }
}

fn join_shape(name: &Rc<str>, left: &Shape, right: &Shape) -> Shape {
    let mut values: Vec<Option<Val>> = Vec::new();
    for shape in [left, right] {
        match shape {
            Shape::Unset => values.push(None),
            Shape::Scalar(value) => values.push(Some(value.clone())),
            Shape::Alternatives(all) => values.extend(all.iter().cloned()),
            // bash reads an array without subscript as its first element; two arrays are not followed.
            Shape::Indexed(_) | Shape::Assoc(_) | Shape::UnknownArray(_) | Shape::Reference(_) => {
                return if left == right {
                    left.clone()
                } else {
                    Shape::UnknownArray(Rc::new(Cause::ManyValues(name.clone())))
                };
            }
        }
    }
    let mut distinct: Vec<Option<Val>> = Vec::new();
    for value in values {
        // Two ways of being empty differ only in what they blame.
        let same = |other: &Option<Val>| {
            *other == value
                || matches!((other, &value), (Some(a), Some(b))
                    if a.text.is_known_empty() && b.text.is_known_empty())
        };
        if !distinct.iter().any(same) {
            distinct.push(value);
        }
    }
    if distinct.len() == 1 {
        return distinct.remove(0).map_or(Shape::Unset, Shape::Scalar);
    }
    if distinct.len() <= ALTERNATIVES {
        return Shape::Alternatives(distinct.into());
    }
    Shape::Scalar(Val::plain(many_values(name, &distinct)))
}

/// A hole in place of more values than are followed.
pub(crate) fn many_values(name: &Rc<str>, values: &[Option<Val>]) -> Abstract {
    let known = |test: fn(&str) -> bool| {
        values.iter().all(|value| value.as_ref().and_then(Val::as_known).is_some_and(|text| test(&text)))
    };
    Abstract::hole(Hole {
        cause: Rc::new(Cause::ManyValues(name.clone())),
        maybe_empty: values.iter().any(|value| value.as_ref().is_none_or(|value| value.text.may_be_empty())),
        component: known(|text| !text.is_empty() && !text.contains('/') && text != "." && text != ".."),
        born: false,
    })
}
