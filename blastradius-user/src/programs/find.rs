//! find(1): starting points, the expression, and what its actions destroy.
//!
//! The expression is walked once. At each action the walk knows what the tests in front of it have narrowed the tree to;
//! that, and not the presence of some test somewhere, is what the action's effect says.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;

use blastradius_common::RuleId;

use crate::policy::effect::{Act, Base, Follow, Selection};
use crate::programs::rm::is_narrow_pattern;
use crate::programs::{Call, Each, Input, Machine, Program, Selected, Surroundings, acts, words};
use crate::shell::value::{Abstract, Field};
use crate::shell::world::Kind;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[("find", find), ("bfs", find)];

/// Parentheses deeper than this no longer narrow anything.
const MAX_DEPTH: usize = 200;

/// A filter is shown up to about this many bytes.
const MAX_FILTER: usize = 200;

/// Name patterns that are remembered; more than these may select anything.
const MAX_PATTERNS: usize = 64;

/// Starting points times actions that are told one by one.
const MAX_TOLD: usize = 20_000;

/// What a primary of the expression is.
#[derive(Clone, Copy)]
enum Primary {
    /// A test or option without argument that leaves the selection as it is.
    Neutral,
    /// The same with an argument.
    NeutralWith,
    /// Selects by name: the argument is a pattern of the last component.
    Name,
    /// Selects by path: the argument is a pattern of the whole path.
    Path,
    /// The same as a regular expression.
    Regex,
    /// Selects by something else, without argument.
    Other,
    /// Selects by something else, with an argument.
    OtherWith,
    /// Selects empty files and directories: nothing that holds anything.
    Empty,
    /// `-delete`.
    Delete,
    /// `-exec` and `-ok`.
    Exec,
    /// `-execdir` and `-okdir`: run in the directory of the file.
    ExecDir,
    /// Prints names.
    Print,
    /// Prints something else, with an argument.
    Printf,
    /// Writes to the file that is its argument.
    Write,
    /// Writes to the first of two arguments.
    WriteWith,
    /// `-maxdepth`.
    MaxDepth,
    /// `-mindepth`.
    MinDepth,
    /// `-help`, `-version`: nothing else is done.
    Inform,
}

/// Primaries by name (find(1) of findutils, BSD find, bfs).
const PRIMARIES: &[(&str, Primary)] = &[
    ("-depth", Primary::Neutral),
    ("-d", Primary::Neutral),
    ("-mount", Primary::Neutral),
    ("-xdev", Primary::Neutral),
    ("-x", Primary::Neutral),
    ("-follow", Primary::Neutral),
    ("-daystart", Primary::Neutral),
    ("-noleaf", Primary::Neutral),
    ("-ignore_readdir_race", Primary::Neutral),
    ("-noignore_readdir_race", Primary::Neutral),
    ("-warn", Primary::Neutral),
    ("-nowarn", Primary::Neutral),
    ("-unique", Primary::Neutral),
    ("-true", Primary::Neutral),
    ("-prune", Primary::Neutral),
    ("-quit", Primary::Neutral),
    ("-readable", Primary::Neutral),
    ("-writable", Primary::Neutral),
    ("-regextype", Primary::NeutralWith),
    ("-fstype", Primary::NeutralWith),
    ("-files0-from", Primary::NeutralWith),
    ("-exclude", Primary::NeutralWith),
    ("-name", Primary::Name),
    ("-iname", Primary::Name),
    ("-lname", Primary::OtherWith),
    ("-ilname", Primary::OtherWith),
    ("-path", Primary::Path),
    ("-ipath", Primary::Path),
    ("-wholename", Primary::Path),
    ("-iwholename", Primary::Path),
    ("-regex", Primary::Regex),
    ("-iregex", Primary::Regex),
    ("-samefile", Primary::OtherWith),
    ("-inum", Primary::OtherWith),
    ("-links", Primary::OtherWith),
    ("-type", Primary::OtherWith),
    ("-xtype", Primary::OtherWith),
    ("-size", Primary::OtherWith),
    ("-perm", Primary::OtherWith),
    ("-user", Primary::OtherWith),
    ("-uid", Primary::OtherWith),
    ("-group", Primary::OtherWith),
    ("-gid", Primary::OtherWith),
    ("-context", Primary::OtherWith),
    ("-flags", Primary::OtherWith),
    ("-xattrname", Primary::OtherWith),
    ("-newer", Primary::OtherWith),
    ("-anewer", Primary::OtherWith),
    ("-cnewer", Primary::OtherWith),
    ("-mnewer", Primary::OtherWith),
    ("-Bnewer", Primary::OtherWith),
    ("-since", Primary::OtherWith),
    ("-amin", Primary::OtherWith),
    ("-cmin", Primary::OtherWith),
    ("-mmin", Primary::OtherWith),
    ("-Bmin", Primary::OtherWith),
    ("-atime", Primary::OtherWith),
    ("-ctime", Primary::OtherWith),
    ("-mtime", Primary::OtherWith),
    ("-Btime", Primary::OtherWith),
    ("-used", Primary::OtherWith),
    ("-executable", Primary::Other),
    ("-nouser", Primary::Other),
    ("-nogroup", Primary::Other),
    ("-acl", Primary::Other),
    ("-capable", Primary::Other),
    ("-hidden", Primary::Other),
    ("-sparse", Primary::Other),
    ("-xattr", Primary::Other),
    ("-false", Primary::Other),
    ("-empty", Primary::Empty),
    ("-delete", Primary::Delete),
    ("-rm", Primary::Delete),
    ("-exec", Primary::Exec),
    ("-ok", Primary::Exec),
    ("-execdir", Primary::ExecDir),
    ("-okdir", Primary::ExecDir),
    ("-print", Primary::Print),
    ("-print0", Primary::Print),
    ("-printf", Primary::Printf),
    ("-printx", Primary::Print),
    ("-ls", Primary::Neutral),
    ("-fprint", Primary::Write),
    ("-fprint0", Primary::Write),
    ("-fls", Primary::Write),
    ("-fprintf", Primary::WriteWith),
    ("-maxdepth", Primary::MaxDepth),
    ("-mindepth", Primary::MinDepth),
    ("-help", Primary::Inform),
    ("--help", Primary::Inform),
    ("-version", Primary::Inform),
    ("--version", Primary::Inform),
];

/// A destructive or printing action with what the tests in front of it select.
struct Action<'a> {
    kind: ActionKind<'a>,
    selection: Selection,
}

enum ActionKind<'a> {
    Delete,
    Exec { argv: &'a [Field], in_directory: bool },
    Print { names: bool },
    Write { file: &'a Field },
}

fn find(call: &Call<'_>, machine: &mut dyn Machine) {
    let (start, follow) = read_global_options(call.args);
    let (roots, expression) = split_roots(call.args, start);
    let mut walk =
        Walk { words: expression, next: 0, actions: Vec::new(), depth: Depth::default(), informs: false };
    let whole = walk.list(&Selection::default(), 0);
    if walk.informs {
        return;
    }
    let Walk { mut actions, depth, .. } = walk;
    let acts_itself = actions.iter().any(|action| !matches!(action.kind, ActionKind::Write { .. }));
    if !acts_itself {
        actions.push(Action { kind: ActionKind::Print { names: true }, selection: whole });
    }
    let roots = if expression.iter().any(|word| word.as_known().as_deref() == Some("-files0-from")) {
        vec![acts::output_word("-files0-from")]
    } else if roots.is_empty() {
        vec![Field::literal(".")]
    } else {
        roots.to_vec()
    };
    if roots.len().saturating_mul(actions.len()) > MAX_TOLD {
        acts::thing(
            machine,
            RuleId::UnparseableLimit,
            "more starting points and actions than are followed",
            "find",
        );
        return;
    }
    let mut printed = Vec::new();
    let mut prints_names = true;
    for Action { kind, mut selection } in actions {
        selection.contents_only = depth.min > 0;
        match kind {
            ActionKind::Delete => {
                let act = Act::Remove { recursive: depth.max != Some(0) };
                for root in &roots {
                    acts::selected(machine, act, root, follow, selection.clone());
                }
            }
            ActionKind::Exec { argv, in_directory: false } => {
                run(machine, argv, names(&roots, &selection), None);
            }
            ActionKind::Exec { argv, in_directory: true } => {
                for root in &roots {
                    run_in_directory(machine, argv, root, &selection);
                }
            }
            ActionKind::Print { names: whole_paths } => {
                prints_names &= whole_paths;
                printed.extend(names(&roots, &selection));
            }
            ActionKind::Write { file } => {
                acts::truncate(machine, file);
                acts::creates(machine, file);
            }
        }
    }
    if !printed.is_empty() {
        machine.print(if prints_names {
            Input::Names(printed)
        } else {
            Input::Unknown { from: Rc::from("find -printf"), network: false, decoded: false }
        });
    }
}

/// `-H -L -P -D debugopts -Olevel`, and BSD's `-E -X -d -s -x -f path` in front of the starting points.
fn read_global_options(args: &[Field]) -> (usize, Follow) {
    let mut place = 0;
    let mut follow = Follow::Never;
    while let Some(word) = args.get(place).and_then(Field::as_known) {
        match &*word {
            "-L" | "-H" => follow = Follow::Last,
            "-P" => follow = Follow::Never,
            "-D" => place += 1,
            "-E" | "-X" | "-s" | "-x" | "-d" => {}
            _ if word.starts_with("-O") => {}
            _ => break,
        }
        place += 1;
    }
    (place, follow)
}

fn split_roots(args: &[Field], start: usize) -> (&[Field], &[Field]) {
    let rest = args.get(start..).unwrap_or_default();
    // A first `--` or BSD's `-f` only introduces the starting points.
    let rest = match rest.first().and_then(Field::as_known).as_deref() {
        Some("--" | "-f") => rest.get(1..).unwrap_or_default(),
        _ => rest,
    };
    let starts_expression = |word: &Field| {
        let lead = words::lead(&word.text);
        (lead.starts_with('-') && lead.len() > 1) || matches!(&*lead, "(" | ")" | "!" | ",")
    };
    let end = rest.iter().position(starts_expression).unwrap_or(rest.len());
    rest.split_at(end)
}

#[derive(Default)]
struct Depth {
    min: u32,
    max: Option<u32>,
}

/// The walk over the expression.
struct Walk<'a> {
    words: &'a [Field],
    next: usize,
    actions: Vec<Action<'a>>,
    depth: Depth,
    informs: bool,
}

impl<'a> Walk<'a> {
    fn word(&self) -> Option<std::borrow::Cow<'a, str>> {
        self.words.get(self.next).map(|field| words::lead(&field.text))
    }

    fn argument(&mut self) -> Option<&'a Field> {
        let field = self.words.get(self.next);
        self.next += 1;
        field
    }

    /// `and ( -o and | , and )*` up to a closing parenthesis or the end; what any of the alternatives selects.
    fn list(&mut self, outer: &Selection, depth: usize) -> Selection {
        let mut selected: Option<Selection> = None;
        loop {
            let alternative = self.conjunction(outer, depth);
            selected = Some(match selected {
                None => alternative,
                Some(earlier) => either(earlier, alternative),
            });
            match self.word().as_deref() {
                Some("-o" | "-or" | ",") => self.next += 1,
                _ => return selected.unwrap_or_default(),
            }
        }
    }

    /// Primaries joined by `-a` or nothing; what all of them select together.
    fn conjunction(&mut self, outer: &Selection, depth: usize) -> Selection {
        let mut selected = outer.clone();
        loop {
            match self.word().as_deref() {
                // One that nothing opened is an error to find; what stands behind it is read all the same.
                Some(")") if depth == 0 => self.next += 1,
                None | Some("-o" | "-or" | "," | ")") => return selected,
                Some("-a" | "-and") => self.next += 1,
                Some(_) => selected = self.negation(&selected, depth),
            }
        }
    }

    fn negation(&mut self, outer: &Selection, depth: usize) -> Selection {
        let mut negated = false;
        while matches!(self.word().as_deref(), Some("!" | "-not")) {
            negated = !negated;
            self.next += 1;
        }
        if !negated {
            return self.primary(outer, depth);
        }
        let inner = self.primary(&Selection::default(), depth);
        if inner.filter.is_empty() {
            return outer.clone();
        }
        // What a name test leaves out is little; what an age or a type leaves out may be most.
        let narrow_by_other = inner.narrow_by_other && !inner.narrow_by_name;
        let filter = format!("! {}", inner.filter);
        both(outer, Selection { filter, narrow_by_other, ..Selection::default() })
    }

    fn primary(&mut self, outer: &Selection, depth: usize) -> Selection {
        let Some(name) = self.word() else { return outer.clone() };
        self.next += 1;
        if name == "(" {
            if depth >= MAX_DEPTH {
                return Selection::default();
            }
            let inner = self.list(outer, depth + 1);
            if self.word().as_deref() == Some(")") {
                self.next += 1;
            }
            return inner;
        }
        let Some(primary) = primary_named(&name) else {
            // find stops at a primary that it does not know; another version may take it as a test.
            return outer.clone();
        };
        self.act_or_narrow(&name, primary, outer)
    }

    fn act_or_narrow(&mut self, name: &str, primary: Primary, outer: &Selection) -> Selection {
        let kind = match primary {
            Primary::Neutral => return outer.clone(),
            Primary::NeutralWith => {
                self.next += 1;
                return outer.clone();
            }
            Primary::Inform => {
                self.informs = true;
                return outer.clone();
            }
            Primary::MaxDepth => {
                self.depth.max = self.number().or(self.depth.max);
                return outer.clone();
            }
            Primary::MinDepth => {
                self.depth.min = self.number().unwrap_or(self.depth.min);
                return outer.clone();
            }
            Primary::Other => return both(outer, by_other(name.to_owned())),
            Primary::Empty => {
                let filter = name.to_owned();
                return both(outer, Selection { filter, narrow_by_name: true, ..Selection::default() });
            }
            Primary::OtherWith => {
                let argument = self.argument();
                let filter = described(name, argument);
                // Empty files and links that lead nowhere are few, and hold nothing.
                let holds_nothing =
                    matches!(filter.as_str(), "-size 0" | "-size 0c" | "-size 0b" | "-xtype l");
                let narrow = Selection { narrow_by_name: holds_nothing, ..by_other(filter) };
                return both(outer, narrow);
            }
            Primary::Name | Primary::Path | Primary::Regex => {
                let argument = self.argument();
                return both(outer, by_pattern(name, primary, argument));
            }
            Primary::Delete => ActionKind::Delete,
            Primary::Exec => ActionKind::Exec { argv: self.command(), in_directory: false },
            Primary::ExecDir => ActionKind::Exec { argv: self.command(), in_directory: true },
            Primary::Print => ActionKind::Print { names: true },
            Primary::Printf => ActionKind::Print { names: prints_paths(self.argument()) },
            Primary::Write => match self.argument() {
                Some(file) => ActionKind::Write { file },
                None => return outer.clone(),
            },
            Primary::WriteWith => {
                let file = self.argument();
                self.next += 1;
                match file {
                    Some(file) => ActionKind::Write { file },
                    None => return outer.clone(),
                }
            }
        };
        self.actions.push(Action { kind, selection: outer.clone() });
        outer.clone()
    }

    fn number(&mut self) -> Option<u32> {
        self.argument().and_then(Field::as_known).and_then(|number| number.parse().ok())
    }

    /// The argv of an `-exec`: up to `;`, or up to a `+` behind `{}`.
    fn command(&mut self) -> &'a [Field] {
        let rest = self.words.get(self.next..).unwrap_or_default();
        let ends = |place: usize| match rest[place].as_known().as_deref() {
            Some(";") => true,
            Some("+") => place > 0 && rest[place - 1].as_known().as_deref() == Some("{}"),
            _ => false,
        };
        let end = (0..rest.len()).find(|place| ends(*place)).unwrap_or(rest.len());
        self.next += end + 1;
        rest.get(..end).unwrap_or_default()
    }
}

static BY_NAME: LazyLock<HashMap<&'static str, Primary>> =
    LazyLock::new(|| PRIMARIES.iter().copied().collect());

fn primary_named(name: &str) -> Option<Primary> {
    if let Some(primary) = BY_NAME.get(name) {
        return Some(*primary);
    }
    // -newerXY compares any two of a file's times.
    let newer = name.strip_prefix("-newer").is_some_and(|times| times.len() == 2);
    newer.then_some(Primary::OtherWith)
}

fn described(name: &str, argument: Option<&Field>) -> String {
    argument.map_or_else(|| name.to_owned(), |field| format!("{name} {}", field.source))
}

fn by_other(filter: String) -> Selection {
    Selection { filter, narrow_by_other: true, ..Selection::default() }
}

fn by_pattern(name: &str, primary: Primary, argument: Option<&Field>) -> Selection {
    let filter = described(name, argument);
    let pattern = argument.and_then(Field::as_known);
    let narrow = pattern.as_deref().is_some_and(|pattern| match primary {
        // A regular expression of find is matched against the whole path.
        Primary::Regex => pattern.chars().any(char::is_alphanumeric),
        _ => is_narrow_pattern(pattern),
    });
    let names = match (primary, pattern) {
        (Primary::Name, Some(pattern)) if narrow => vec![pattern.into_owned()],
        _ => Vec::new(),
    };
    Selection { filter, narrow_by_name: narrow, names, ..Selection::default() }
}

fn both(outer: &Selection, inner: Selection) -> Selection {
    let filter = match (outer.filter.as_str(), inner.filter.as_str()) {
        ("", filter) | (filter, "") => filter.to_owned(),
        (outer, _) if outer.len() > MAX_FILTER => outer.to_owned(),
        (outer, inner) => format!("{outer} {inner}"),
    };
    Selection {
        filter,
        narrow_by_name: outer.narrow_by_name || inner.narrow_by_name,
        narrow_by_other: outer.narrow_by_other || inner.narrow_by_other,
        names: if outer.names.is_empty() { inner.names } else { outer.names.clone() },
        contents_only: false,
    }
}

fn either(left: Selection, right: Selection) -> Selection {
    let narrows = |selection: &Selection| selection.narrow_by_name || selection.narrow_by_other;
    let narrow_by_name = left.narrow_by_name && right.narrow_by_name;
    let narrow_by_other =
        narrows(&left) && narrows(&right) && !narrow_by_name || left.narrow_by_other && right.narrow_by_other;
    let filter = match (left.filter.as_str(), right.filter.as_str()) {
        ("", _) | (_, "") => String::new(),
        (left, _) if left.len() > MAX_FILTER => left.to_owned(),
        (left, right) => format!("( {left} -o {right} )"),
    };
    let mut names = left.names;
    // A side that selects without names may select any.
    let known = !names.is_empty() && !right.names.is_empty() && names.len() < MAX_PATTERNS;
    if !narrow_by_name || !known {
        names.clear();
    } else {
        names.extend(right.names);
    }
    Selection { filter, narrow_by_name, narrow_by_other, names, contents_only: false }
}

/// Whether a `-printf` format prints whole paths, one a line or NUL-separated, and nothing else.
fn prints_paths(format: Option<&Field>) -> bool {
    let format = format.and_then(Field::as_known);
    matches!(format.as_deref(), Some("%p\\n" | "%p\\0" | "%p\\000" | "%p\n"))
}

fn names(roots: &[Field], selection: &Selection) -> Vec<Selected> {
    roots.iter().map(|root| Selected { root: root.clone(), selection: selection.clone() }).collect()
}

fn run(machine: &mut dyn Machine, argv: &[Field], names: Vec<Selected>, cwd: Option<Base>) {
    if argv.is_empty() {
        return;
    }
    let each = Each { placeholder: Some("{}".to_owned()), names: Input::Names(names) };
    let surroundings = Surroundings { cwd, each: Some(each), ..Surroundings::default() };
    machine.run_argv(argv.to_vec(), surroundings);
}

/// `-execdir` runs in the directory that holds the file. The deepest that is certain is the starting point, where it
/// is a directory: `find / -execdir rm -rf etc \;` removes /etc.
fn run_in_directory(machine: &mut dyn Machine, argv: &[Field], root: &Field, selection: &Selection) {
    let base = machine.cwd();
    let directory = acts::location(root, &base)
        .filter(|_| acts::named(machine, root, &base) == acts::Named::Object(Kind::Directory));
    let (root, cwd) = match directory {
        None => (root.clone(), None),
        Some(path) => {
            let text = Abstract::known(&path.to_string_lossy());
            (Field { text, glob: None, ..root.clone() }, Some(Base::Known(Rc::new(path))))
        }
    };
    run(machine, argv, names(&[root], selection), cwd);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::{Recorder, show};

    fn told(line: &str) -> Vec<String> {
        Recorder::default().call(find, line).told()
    }

    fn names_of(input: &Input) -> Vec<String> {
        let Input::Names(names) = input else { panic!("{input:?} is no list of names") };
        names.iter().map(|name| format!("{} ({})", show(&name.root.text), name.selection.filter)).collect()
    }

    #[test]
    fn delete_removes_every_starting_point() {
        assert_eq!(told("find a b -delete"), ["remove-tree a", "remove-tree b"]);
        assert_eq!(told("find -delete"), ["remove-tree ."]);
        assert_eq!(told("find -L a -delete"), ["remove-tree a"]);
        assert_eq!(told("find -H -O3 -D exec a -depth -delete"), ["remove-tree a"]);
    }

    #[test]
    fn listing_removes_nothing() {
        for line in ["find .", "find . -name x", "find / -name foo -print", "find . -name -delete"] {
            assert!(Recorder::default().call(find, line).is_harmless(), "{line}");
        }
        assert!(Recorder::default().call(find, "find . -delete --help").is_harmless());
    }

    #[test]
    fn a_word_that_is_an_arguments_is_no_help() {
        assert_eq!(told("find / -name --help -delete"), ["remove-tree / (-name --help)"]);
    }

    #[test]
    fn tests_in_front_of_the_action_narrow_it() {
        assert_eq!(told("find . -name *.pyc -delete"), ["remove-tree . (-name *.pyc)"]);
        assert_eq!(told("find . -delete -name *.pyc"), ["remove-tree ."]);
    }

    fn selection_of(line: &str) -> Selection {
        let recorder = Recorder::default().call(find, line);
        let [crate::policy::effect::Effect::Path { target, .. }] = recorder.effects.as_slice() else {
            panic!("{line} has not one effect")
        };
        target.selection.clone()
    }

    #[test]
    fn names_narrow_only_where_every_alternative_has_one() {
        let selection = selection_of("find . ( -name '*.o' -o -name '*.a' ) -delete");
        assert!(selection.narrow_by_name);
        assert_eq!(selection.names, ["*.o", "*.a"]);
        assert!(!selection_of("find . ( -name '*.o' -o -type f ) -delete").narrow_by_name);
        assert!(!selection_of("find . -name '*.o' -o -delete").narrow_by_name);
        assert!(!selection_of("find . -name '*' -delete").narrow_by_name);
        assert!(!selection_of("find . ! -name '*.o' -delete").narrow_by_name);
        assert!(!selection_of("find . -not -name .git -delete").narrow_by_other);
        assert!(selection_of("find . -xtype l -delete").narrow_by_name);
        assert!(!selection_of("find . -type l -delete").narrow_by_name);
        assert!(selection_of("find . -mtime +7 -delete").narrow_by_other);
        assert!(selection_of("find . -name node_modules -prune -o -name '*.tmp' -delete").names == ["*.tmp"]);
    }

    #[test]
    fn depth_decides_whether_the_starting_point_goes() {
        assert_eq!(told("find a -mindepth 1 -delete"), ["remove-tree a contents"]);
        assert_eq!(told("find a -delete -mindepth 1"), ["remove-tree a contents"]);
        assert_eq!(told("find a -maxdepth 0 -delete"), ["remove a"]);
    }

    #[test]
    fn exec_hands_names_to_a_command() {
        for line in ["find a -exec rm -rf {} ;", "find a -exec rm -rf {} +", "find a -ok rm -rf {} ;"] {
            let recorder = Recorder::default().call(find, line);
            assert_eq!(recorder.ran(), ["rm -rf {}"], "{line}");
            let each = recorder.argvs[0].surroundings.each.as_ref().expect("find hands names over");
            assert_eq!(each.placeholder.as_deref(), Some("{}"));
            assert_eq!(names_of(&each.names), ["a ()"]);
        }
    }

    #[test]
    fn several_actions_run_with_what_precedes_each() {
        let recorder =
            Recorder::default().call(find, "find . -name a -exec x {} ; -exec y + {} + -name b -delete");
        assert_eq!(recorder.ran(), ["x {}", "y + {}"]);
        assert_eq!(recorder.told(), ["remove-tree . (-name a -name b)"]);
    }

    #[test]
    fn execdir_runs_where_the_file_lies() {
        let recorder = Recorder::default().call(find, "find / -execdir rm -rf etc ;");
        assert_eq!(recorder.argvs[0].surroundings.cwd, Some(Base::Known(Rc::new("/".into()))));
    }

    #[test]
    fn fprint_truncates_its_file_whether_or_not_anything_matches() {
        assert_eq!(told("find . -fprint /etc/passwd"), ["truncate /etc/passwd"]);
        assert_eq!(told("find . -name x -fprintf out %p"), ["truncate out"]);
    }

    #[test]
    fn what_is_printed_is_a_selection_of_names() {
        let recorder = Recorder::default().call(find, "find a b -type f -name '*.orig' -print0");
        let printed = recorder.printed.expect("find prints");
        assert_eq!(names_of(&printed), ["a (-type f -name *.orig)", "b (-type f -name *.orig)"]);
        let recorder = Recorder::default().call(find, "find a -printf %f");
        assert!(matches!(recorder.printed, Some(Input::Unknown { .. })));
    }

    #[test]
    fn unbalanced_and_deep_parentheses_get_an_answer() {
        assert_eq!(told("find . ) -delete"), ["remove-tree ."]);
        let line = format!("find . {} -delete", "( ".repeat(3000));
        assert_eq!(told(&line), ["remove-tree ."]);
        let line = format!("find . ( {} -false ) -delete", "-name x -o ".repeat(3000));
        assert_eq!(Recorder::default().call(find, &line).effects.len(), 1);
        let line = format!("find {} {}", "a ".repeat(300), "-delete ".repeat(300));
        assert_eq!(told(&line), ["[unparseable-command-limit default] find"]);
        let line = format!("find . {}-delete", "! ".repeat(3000));
        assert_eq!(told(&line), ["remove-tree ."]);
    }
}
