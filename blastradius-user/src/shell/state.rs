//! What a shell knows at one point of a text: variables, functions, options, the working directory, and what the text
//! has made so far.
//!
//! A state is cloned for every branch, subshell and pipeline stage, so everything that grows is shared until it is
//! written.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use smallvec::SmallVec;

use super::places::Places;
use super::syntax::Statement;
use super::value::{Abstract, Cause, Hole, Piece};
use crate::policy::effect::Base;
use crate::programs::Selected;

/// FNV-1a: names are short, and the order of a map never shows.
#[derive(Clone)]
pub(crate) struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A map from names.
pub(crate) type Names<T> = HashMap<Rc<str>, T, BuildHasherDefault<NameHasher>>;

/// A value of a variable or of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Val {
    pub(crate) text: Abstract,
    pub(crate) kind: Kind,
}

/// What a value stands for beside its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Just the text.
    Plain,
    /// Each of the names that the text matches as a pattern (`for f in *.log`): its wildcards stay active, even in
    /// quotes.
    Active,
    /// Each of the names that a listing gives (`while read f; do …; done < <(find …)`). The text is a hole.
    Selected(Rc<Selected>),
}

impl Val {
    pub(crate) fn plain(text: Abstract) -> Self {
        Self { text, kind: Kind::Plain }
    }

    pub(crate) fn known(text: &str) -> Self {
        Self::plain(Abstract::known(text))
    }

    pub(crate) fn unknown(cause: Cause) -> Self {
        Self::plain(Abstract::unknown(cause))
    }

    pub(crate) fn nothing(cause: Cause) -> Self {
        Self::plain(Abstract::nothing(cause))
    }

    /// A number that is known only at run time.
    pub(crate) fn number(cause: Cause) -> Self {
        let hole = Hole { cause: Rc::new(cause), maybe_empty: false, component: true, born: false };
        Self::plain(Abstract::hole(hole))
    }

    /// The text, if it is known to be just that.
    pub(crate) fn as_known(&self) -> Option<std::borrow::Cow<'_, str>> {
        if self.kind == Kind::Plain { self.text.as_known() } else { None }
    }
}

/// What a name is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Unset by the text: the environment no longer counts.
    Unset,
    Scalar(Val),
    /// One of a few, from branches that were joined. `None`: unset.
    Alternatives(Rc<[Option<Val>]>),
    Indexed(Rc<BTreeMap<i64, Val>>),
    Assoc(Rc<BTreeMap<Rc<str>, Val>>),
    /// An array of which nothing is known.
    UnknownArray(Rc<Cause>),
    /// `declare -n`.
    Reference(Rc<str>),
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Var {
    pub(crate) shape: Shape,
    pub(crate) exported: bool,
    pub(crate) readonly: bool,
    pub(crate) convert: Convert,
    /// A guard has ruled the value out that it has here (`${X:?}` with X unset): code that reads it does not run.
    pub(crate) excluded: bool,
}

/// What `declare -i`, `-l`, `-u` make of an assigned value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Convert {
    #[default]
    Keep,
    Integer,
    Lower,
    Upper,
}

impl Var {
    pub(crate) fn new(shape: Shape) -> Self {
        Self { shape, exported: false, readonly: false, convert: Convert::Keep, excluded: false }
    }

    pub(crate) fn scalar(value: Val) -> Self {
        Self::new(Shape::Scalar(value))
    }
}

/// A function, with the text that it stands in.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) body: Rc<Statement>,
    pub(crate) source: Rc<str>,
    /// Keeps nothing alive but says which text it came from.
    pub(crate) name: Rc<str>,
}

/// Options of `set` and `shopt` that change what a text does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// `set -e`
    pub(crate) errexit: bool,
    /// `set -u`
    pub(crate) nounset: bool,
    /// `set -f`
    pub(crate) noglob: bool,
    /// `set -n`: nothing runs.
    pub(crate) noexec: bool,
    /// `set -o pipefail`
    pub(crate) pipefail: bool,
    pub(crate) nullglob: bool,
    pub(crate) failglob: bool,
    pub(crate) dotglob: bool,
    pub(crate) globstar: bool,
    pub(crate) nocaseglob: bool,
    pub(crate) nocasematch: bool,
    pub(crate) lastpipe: bool,
    pub(crate) expand_aliases: bool,
    /// zsh: `setopt sh_word_split`
    pub(crate) sh_word_split: bool,
}

/// Whether a point of the text is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// As far as is known, yes.
    Live,
    /// A condition that is known says no. It is evaluated all the same: the condition may differ where the text runs.
    Folded,
    /// The shell has ended, or the loop or function was left.
    Ended,
}

impl Reach {
    /// Where a known condition says no. In what is not reached anyway, it still tells the branches apart: the one that
    /// is not taken has no say in what holds behind them.
    pub(crate) fn not_taken(self) -> Self {
        match self {
            Self::Live => Self::Folded,
            Self::Folded | Self::Ended => Self::Ended,
        }
    }
}

/// The positional parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Positional {
    /// Whoever runs the text decides.
    Unknown,
    Known(Rc<[Val]>),
}

/// What the text has done to the file system so far. Not undone when a subshell ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// Objects that were not there before and that the text has made.
    pub(crate) born: Places,
    /// What the text has written into files; `None`: something unknown.
    pub(crate) contents: BTreeMap<PathBuf, Option<Abstract>>,
    /// Files that hold what came from another machine, with the command that fetched it.
    pub(crate) fetched: BTreeMap<PathBuf, Rc<str>>,
    /// Links that the text has made: operands below them are somewhere else.
    pub(crate) links: Places,
    /// Where those lead whose target is known.
    pub(crate) targets: BTreeMap<PathBuf, PathBuf>,
    /// Places that the text has moved something into which was there before.
    pub(crate) old: Places,
    /// Directories that the text has removed or moved away, and has not made again.
    pub(crate) gone: Vec<PathBuf>,
    /// What the text has moved: the operand, where it was read, and where it is now.
    pub(crate) moves: Vec<super::eval::MovedFrom>,
    /// Working directories that the text has made under a name that nobody knows (`cd "$(mktemp -d)"`), by the reason
    /// for which they are not known.
    pub(crate) places: Vec<Rc<str>>,
}

impl Files {
    /// Whether the text has taken `path` away: what the world shows there was there before.
    pub(crate) fn is_gone(&self, path: &Path) -> bool {
        self.gone.iter().any(|gone| path.starts_with(gone))
    }

    /// Whether the text made `path` or a directory above it. Neither may hold a `..`.
    pub(crate) fn is_born(&self, path: &Path) -> bool {
        !path.components().any(|part| part == std::path::Component::ParentDir)
            && self.born.hold(path)
            && !self.links.hold_below(path)
            && !self.old.hold(path)
            && !self.old.lie_in(path)
    }

    /// How much there is to copy.
    pub(crate) fn len(&self) -> usize {
        let Self { born, contents, fetched, links, targets, old, gone, moves, places } = self;
        born.len()
            + contents.len()
            + fetched.len()
            + links.len()
            + targets.len()
            + old.len()
            + gone.len()
            + moves.len()
            + places.len()
    }
}

/// Trap bodies by signal, with the text that each stands in.
pub(crate) type Traps = BTreeMap<Rc<str>, (Val, Rc<str>)>;

/// Which values a fact leaves possible. `None` among them: unset.
type Keeps = dyn Fn(&Option<Val>) -> bool;

/// The shell at one point of a text.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) vars: Rc<Names<Var>>,
    /// The world's environment is not seen (`env -i`).
    pub(crate) env_cleared: bool,
    /// Code that is not known has run in this shell: names that are not bound since are unknown.
    pub(crate) tainted: Option<Rc<Cause>>,
    pub(crate) functions: Rc<Names<Rc<Function>>>,
    pub(crate) aliases: Rc<BTreeMap<Rc<str>, Val>>,
    pub(crate) flags: Flags,
    pub(crate) cwd: Base,
    pub(crate) previous: Option<Base>,
    pub(crate) stack: Rc<Vec<Base>>,
    pub(crate) zero: Val,
    pub(crate) positional: Positional,
    pub(crate) traps: Rc<Traps>,
    pub(crate) status: Option<u8>,
    pub(crate) reach: Reach,
    pub(crate) files: Rc<Files>,
}

impl State {
    pub(crate) fn new(cwd: PathBuf) -> Self {
        Self {
            vars: Rc::default(),
            env_cleared: false,
            tainted: None,
            functions: Rc::default(),
            aliases: Rc::default(),
            flags: Flags::default(),
            cwd: Base::Known(Rc::new(cwd)),
            previous: None,
            stack: Rc::default(),
            zero: Val::unknown(Cause::Positional("0".into())),
            positional: Positional::Unknown,
            traps: Rc::default(),
            status: Some(0),
            reach: Reach::Live,
            files: Rc::default(),
        }
    }

    pub(crate) fn bind(&mut self, name: &str, var: Var) {
        // `read "$X"` of what is not known: no variable has no name.
        if !name.is_empty() {
            Rc::make_mut(&mut self.vars).insert(name.into(), var);
        }
    }

    /// Follows `declare -n`.
    pub(crate) fn resolve<'n>(&self, name: &'n str) -> std::borrow::Cow<'n, str> {
        let mut name = std::borrow::Cow::Borrowed(name);
        for _ in 0..8 {
            match self.vars.get(&*name) {
                Some(Var { shape: Shape::Reference(target), .. }) => name = target.to_string().into(),
                _ => break,
            }
        }
        name
    }

    /// Applies what a guard has shown. `false`: it rules out what is known, so the place is reached by no value that
    /// the variable has here.
    pub(crate) fn learn(&mut self, fact: &Fact, current: Option<Var>) {
        let (name, keep): (&Rc<str>, Box<Keeps>) = match fact {
            Fact::Cwd(base) => {
                self.cwd = base.clone();
                return;
            }
            Fact::All(snapshot) => {
                let reach = self.reach;
                *self = (*snapshot.0).clone();
                if reach != Reach::Live && self.reach == Reach::Live {
                    self.reach = reach;
                }
                return;
            }
            Fact::NotEmpty(name) => {
                (name, Box::new(|value| value.as_ref().is_some_and(|value| !value.text.is_known_empty())))
            }
            Fact::Empty(name) => {
                (name, Box::new(|value| value.as_ref().is_none_or(|value| value.text.may_be_empty())))
            }
            Fact::Set(name) => (name, Box::new(Option::is_some)),
            Fact::Is(name, text) => {
                let text = text.clone();
                (
                    name,
                    Box::new(move |value| match value.as_ref().map(Val::as_known) {
                        None => text.is_empty(),
                        Some(Some(known)) => *known == *text,
                        Some(None) => true,
                    }),
                )
            }
            Fact::IsNot(name, text) => {
                let text = text.clone();
                (
                    name,
                    Box::new(move |value| match value.as_ref().map(Val::as_known) {
                        None => !text.is_empty(),
                        Some(Some(known)) => *known != *text,
                        Some(None) => true,
                    }),
                )
            }
        };
        let mut var = current.unwrap_or_else(|| Var::new(Shape::Unset));
        let values: SmallVec<[Option<Val>; 4]> = match &var.shape {
            Shape::Unset => SmallVec::from_iter([None]),
            Shape::Scalar(value) => SmallVec::from_iter([Some(value.clone())]),
            Shape::Alternatives(values) => values.iter().cloned().collect(),
            _ => return,
        };
        let mut kept: SmallVec<[Option<Val>; 4]> = values.into_iter().filter(|value| keep(value)).collect();
        for value in kept.iter_mut().flatten() {
            narrow(value, fact);
        }
        match kept.as_slice() {
            [] => var.excluded = true,
            [None] => var.shape = Shape::Unset,
            [Some(value)] => var.shape = Shape::Scalar(value.clone()),
            _ => var.shape = Shape::Alternatives(kept.into_iter().collect()),
        }
        self.bind(name, var);
    }
}

/// Narrows a value that is not wholly known.
fn narrow(value: &mut Val, fact: &Fact) {
    match fact {
        Fact::NotEmpty(_) => {
            let mut holes = value.text.pieces.iter_mut().filter(|piece| !matches!(piece, Piece::Nothing(_)));
            if let (Some(Piece::Hole(hole)), None) = (holes.next(), holes.next()) {
                hole.maybe_empty = false;
            }
        }
        Fact::Is(_, text) if value.text.has_hole() => *value = Val::known(text),
        Fact::Empty(name) if value.text.has_hole() => *value = Val::nothing(Cause::Empty(name.clone())),
        _ => {}
    }
}

/// What the outcome of a command shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    NotEmpty(Rc<str>),
    Empty(Rc<str>),
    Set(Rc<str>),
    Is(Rc<str>, Rc<str>),
    IsNot(Rc<str>, Rc<str>),
    Cwd(Base),
    /// All of this holds.
    All(Snapshot),
}

/// A state as it was at one point; equal only to itself.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot(Rc<State>);

impl Snapshot {
    pub(crate) fn of(state: &State) -> Self {
        Self(Rc::new(state.clone()))
    }
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Snapshot {}

/// Facts, in the order in which they were shown.
pub(crate) type Facts = SmallVec<[Fact; 1]>;

/// How a command ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// `None`: known only at run time.
    pub(crate) status: Option<u8>,
    pub(crate) if_ok: Facts,
    pub(crate) if_fail: Facts,
}

impl Outcome {
    pub(crate) fn unknown() -> Self {
        Self::default()
    }

    pub(crate) fn status(status: u8) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    pub(crate) fn ok() -> Self {
        Self::status(0)
    }

    pub(crate) fn truth(truth: Option<bool>) -> Self {
        Self { status: truth.map(|truth| u8::from(!truth)), ..Self::default() }
    }

    /// Whether it succeeds, as far as is known.
    pub(crate) fn succeeds(&self) -> Option<bool> {
        self.status.map(|status| status == 0)
    }

    /// Without what holds only inside the shell or function that the outcome comes from.
    pub(crate) fn seen_from_outside(mut self) -> Self {
        for facts in [&mut self.if_ok, &mut self.if_fail] {
            facts.retain(|fact| !matches!(fact, Fact::All(_) | Fact::Cwd(_)));
        }
        self
    }

    /// `!`
    pub(crate) fn negated(self) -> Self {
        let Self { status, if_ok, if_fail } = self;
        Self { status: status.map(|status| u8::from(status == 0)), if_ok: if_fail, if_fail: if_ok }
    }
}
