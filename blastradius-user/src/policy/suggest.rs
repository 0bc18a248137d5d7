//! Which lines of a policy file would have let acts pass?
//!
//! Nothing is proposed on trust: each line is put into the file in thought, the policy is read anew, and the line stays
//! only if the file still holds no error and the act passes in both layers. A line names what was touched and nothing
//! that lies beside it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use blastradius_common::{RuleId, Verdict, Zone};

use crate::shell::world::amended::Amended;
use crate::shell::world::{Kind, Look, Meta, World};

use super::config::Waiting;
use super::pattern::Pattern;
use super::trust::TrustStore;
use super::{CONFIG_NAME, Policy, Start, rules, scope};

/// Something that a session did or tried, as its log tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The command, for people.
    pub command: String,
    /// The rule that objected.
    pub rule: String,
    /// The object. For a glob, the directory and the pattern.
    pub path: Option<PathBuf>,
}

/// A line to add, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// `allow ./dist`.
    pub text: String,
    /// Why it is proposed, one sentence each.
    pub because: Vec<String>,
}

/// An act that no line lets pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// What it was.
    pub act: String,
    /// Why not.
    pub why: String,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// The file that the lines are for.
    pub file: PathBuf,
    /// Lines that say what holds without any: a file with an `allow` line replaces the default scope.
    pub keep: Vec<String>,
    /// Lines that let acts pass.
    pub lines: Vec<Line>,
    /// Acts that no line lets pass.
    pub left: Vec<Left>,
    /// A line reaches beyond the work tree, and waits for `blastradius trust`.
    pub needs_trust: bool,
}

/// At most so many lines are proposed: nobody reads more, and what needs more wants another policy.
const LINE_LIMIT: usize = 100;

/// So many objects of one directory are named one by one.
const ONE_BY_ONE: usize = 3;

/// A directory with more entries than this is not summed up.
const ENTRY_LIMIT: usize = 4096;

/// Proposes lines for the policy that applies in the world's working directory.
pub fn suggest(world: &dyn World, wishes: &[Wish]) -> Suggestion {
    let policy = Policy::load(world, Start { session: true, trust: Some(&Everyone), ..Start::default() });
    let file = place(world, &policy);
    let mut suggestion = Suggestion { file, ..Suggestion::default() };
    if !policy.errors().is_empty() {
        let why = "the policy must be mended first: see `blastradius scope`".to_owned();
        suggestion.left.push(Left { act: "every act".into(), why });
        return suggestion;
    }
    let mut asked: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for wish in wishes {
        match liftable(world, &policy, wish) {
            Ok(Some(path)) => push_new(asked.entry(path).or_default(), wish.command.clone()),
            Ok(None) => {}
            Err(why) => push_new(&mut suggestion.left, Left { act: wish.command.clone(), why }),
        }
    }
    let before = world.read_file(&suggestion.file, 1 << 20).unwrap_or_default();
    if !policy.config().replaces_scope {
        suggestion.keep = keep(world, &policy, &suggestion.file);
    }
    let draft = Draft { world, file: &suggestion.file, before: &before, keep: &suggestion.keep };
    for (pattern, targets) in sum_up(world, &asked) {
        let acts = told(&asked, &targets);
        let text = written(world, &suggestion.file, &pattern).map(|pattern| format!("allow {pattern}"));
        let tried = text.and_then(|text| draft.passes(&text, &targets).map(|waits| (text, waits)));
        match tried {
            Ok(_) if suggestion.lines.len() >= LINE_LIMIT => {
                let why = format!("{LINE_LIMIT} lines are proposed already");
                push_new(&mut suggestion.left, Left { act: acts.join("; "), why });
            }
            Ok((text, waits)) => {
                suggestion.needs_trust |= waits;
                suggestion.lines.push(Line { text, because: because(&policy, world, &targets, &acts) });
            }
            Err(why) => suggestion.left.push(Left { act: acts.join("; "), why }),
        }
    }
    if suggestion.lines.is_empty() {
        suggestion.keep.clear();
    }
    suggestion
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// The file that applies here, or where it would lie.
fn place(world: &dyn World, policy: &Policy) -> PathBuf {
    let is_there = |path: &&PathBuf| !matches!(world.look(path), Look::Absent);
    let named = policy.config().places.iter().filter(|path| path.ends_with(CONFIG_NAME));
    let root = policy.work_tree().map_or(policy.cwd(), |tree| &*tree.root);
    named.clone().find(is_there).cloned().unwrap_or_else(|| root.join(CONFIG_NAME))
}

/// The object that a line could speak of; `None`: nothing stands in its way now; an error: no line lifts it.
fn liftable(world: &dyn World, policy: &Policy, wish: &Wish) -> Result<Option<PathBuf>, String> {
    let rule = RuleId::ALL.iter().copied().find(|rule| rule.id() == wish.rule);
    let of_place = matches!(rule, Some(RuleId::OutOfScope | RuleId::ScopeRoot));
    let path = wish.path.as_ref().filter(|path| path.is_absolute());
    let (true, Some(path)) = (of_place, path) else { return Err(why_not(rule, &wish.rule)) };
    if passes(world, policy, path) {
        return Ok(None);
    }
    let zone = policy.zone(world, &sample(world, path));
    match zone.zone {
        Zone::Denied => return Err(format!("{} denies it, and deny wins", zone.origin)),
        Zone::Floor => return Err("it is a floor object, which no line makes destructible".into()),
        Zone::Own => return Err("it is the guard's own".into()),
        Zone::History => return Err("it is a repository's history: git alone changes it".into()),
        _ => {}
    }
    if is_too_much(world, policy, path) {
        return Err("it is a home's own, filled by people or by many programs (or was, before it went): \
                    allow what lies in it, or let a person do this"
            .into());
    }
    Ok(Some(path.clone()))
}

/// Why a rule that does not speak of a place is lifted by no line, and what lifts it.
fn why_not(rule: Option<RuleId>, name: &str) -> String {
    match rule.map(rules::rule) {
        Some(row) if row.overridable => format!(
            "rule {name}: a repository's file only raises it; the user's own file may say `rule {name} allow`"
        ),
        _ => format!("rule {name}: no line lifts it"),
    }
}

/// Directories directly in a home that hold what many programs, or a person, put there.
fn is_too_much(world: &dyn World, policy: &Policy, path: &Path) -> bool {
    let platform = world.platform();
    let in_home = policy.homes().iter().any(|home| path.parent() == Some(home));
    let dotted = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
    let is_file = matches!(world.look(path), Look::Found(Meta { kind: Kind::File | Kind::Link, .. }));
    let wild = path.file_name().is_some_and(is_wild) && !exists(world, path);
    scope::is_standard_user_directory(platform, policy.homes(), path)
        || in_home && (dotted && !is_file || wild)
}

/// Whether the object may be removed, moved, truncated and replaced, unattended, in both layers.
fn passes(world: &dyn World, policy: &Policy, path: &Path) -> bool {
    let path = sample(world, path);
    let answer = policy.explain_path(world, Path::new("/"), &path.to_string_lossy());
    answer.path == path
        && answer.outcomes.iter().all(|outcome| outcome.unattended <= Verdict::Warn && outcome.syscall)
}

/// An object that a glob of the log means: itself, where something bears that very name, else a name that it matches.
fn sample(world: &dyn World, path: &Path) -> PathBuf {
    let wild = path.file_name().is_some_and(is_wild) && !exists(world, path);
    let (Some(dir), true) = (path.parent(), wild) else { return path.to_path_buf() };
    let pattern = Pattern::new(&path.to_string_lossy(), false);
    let entries = world.read_dir(dir, ENTRY_LIMIT).unwrap_or_default();
    let found =
        entries.into_iter().map(|(name, _)| dir.join(name)).find(|at| pattern.match_depth(at).is_some());
    found.unwrap_or_else(|| path.to_path_buf())
}

fn exists(world: &dyn World, path: &Path) -> bool {
    !matches!(world.look(path), Look::Absent)
}

fn is_wild(name: &OsStr) -> bool {
    name.as_bytes().iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// What a line could say: an object, everything in a directory, or the entries with a common beginning or end.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    Object(PathBuf),
    /// `D/**`.
    Content(PathBuf),
    /// `D/` and a name with one `*`.
    Alike(PathBuf, OsString, OsString),
    /// A glob, as it was written.
    Glob(PathBuf),
}

/// Sums up what lies in one directory, where that takes in nothing that was not touched.
fn sum_up(world: &dyn World, asked: &BTreeMap<PathBuf, Vec<String>>) -> Vec<(Shape, Vec<PathBuf>)> {
    let mut by_dir: BTreeMap<&Path, Vec<&PathBuf>> = BTreeMap::new();
    let is_inside = |path: &Path| path.ancestors().skip(1).any(|above| asked.contains_key(above));
    for path in asked.keys().filter(|path| !is_inside(path)) {
        by_dir.entry(path.parent().unwrap_or(Path::new("/"))).or_default().push(path);
    }
    let mut shapes = Vec::new();
    for (dir, paths) in by_dir {
        let (globs, objects): (Vec<&PathBuf>, Vec<&PathBuf>) =
            paths.into_iter().partition(|path| path.file_name().is_some_and(is_wild) && !exists(world, path));
        shapes.extend(globs.into_iter().map(|path| (Shape::Glob(path.clone()), vec![path.clone()])));
        let all = || objects.iter().map(|path| (*path).clone()).collect::<Vec<_>>();
        let summed = (objects.len() > ONE_BY_ONE).then(|| summary(world, dir, &objects)).flatten();
        match summed {
            Some(shape) => shapes.push((shape, all())),
            None => shapes.extend(all().into_iter().map(|path| (Shape::Object(path.clone()), vec![path]))),
        }
    }
    shapes
}

fn summary(world: &dyn World, dir: &Path, objects: &[&PathBuf]) -> Option<Shape> {
    let names: Vec<&[u8]> = objects.iter().filter_map(|path| path.file_name()).map(OsStr::as_bytes).collect();
    let present = world.read_dir(dir, ENTRY_LIMIT).unwrap_or_default();
    let others: Vec<&[u8]> =
        present.iter().map(|(name, _)| name.as_bytes()).filter(|name| !names.contains(name)).collect();
    let start = common(&names, <[u8]>::to_vec);
    let end = common(&names, |name| name.iter().rev().copied().collect());
    let end: Vec<u8> = end.into_iter().rev().collect();
    let shortest = names.iter().map(|name| name.len()).min().unwrap_or(0);
    let end = if start.len() + end.len() > shortest { Vec::new() } else { end };
    // A name that stands for nothing but itself takes no other in by chance.
    let telling = start.len() + end.len() >= 3;
    let takes_in = |name: &&[u8]| name.starts_with(&start) && name.ends_with(&end);
    if telling && present.len() < ENTRY_LIMIT && !others.iter().any(takes_in) {
        let (start, end) = (OsStr::from_bytes(&start).to_owned(), OsStr::from_bytes(&end).to_owned());
        return Some(Shape::Alike(dir.to_path_buf(), start, end));
    }
    let emptied = present.len() < ENTRY_LIMIT && others.is_empty();
    emptied.then(|| Shape::Content(dir.to_path_buf()))
}

/// The longest beginning that all names have, of their bytes in the order that `order` gives.
fn common(names: &[&[u8]], order: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut ordered = names.iter().map(|name| order(name));
    let first = ordered.next().unwrap_or_default();
    ordered.fold(first, |common, name| {
        common.iter().zip(&name).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect()
    })
}

/// The pattern as a policy file spells it.
fn written(world: &dyn World, file: &Path, shape: &Shape) -> Result<String, String> {
    let dir = file.parent().unwrap_or(Path::new("/"));
    let home = world.home_of(None).filter(|home| super::paths::depth(home) > 0);
    let anchored = |path: &Path| -> Result<String, String> {
        let (anchor, rest) = match (path.strip_prefix(dir), home.as_ref().map(|home| path.strip_prefix(home)))
        {
            (Ok(rest), _) => (".", rest),
            (_, Some(Ok(rest))) => ("~", rest),
            _ => ("", path.strip_prefix("/").unwrap_or(path)),
        };
        let mut text = anchor.to_owned();
        for name in rest {
            text.push('/');
            text.push_str(&escaped(name)?);
        }
        Ok(text)
    };
    let text = match shape {
        Shape::Object(path) => anchored(path)?,
        Shape::Content(dir) => format!("{}/**", anchored(dir)?),
        Shape::Alike(dir, start, end) => {
            format!("{}/{}*{}", anchored(dir)?, escape_always(start)?, escape_always(end)?)
        }
        Shape::Glob(path) => {
            let dir = anchored(path.parent().unwrap_or(Path::new("/")))?;
            let name = path.file_name().and_then(OsStr::to_str).ok_or(UNWRITABLE)?;
            format!("{dir}/{name}")
        }
    };
    let plain = !text.chars().any(char::is_control) && text.trim() == text;
    if plain { Ok(text) } else { Err(UNWRITABLE.into()) }
}

const UNWRITABLE: &str =
    "a policy file cannot spell its name (control characters, blanks at an end, or no text)";

/// A component that means itself. A backslash is one only beside wildcards.
fn escaped(name: &OsStr) -> Result<String, String> {
    if is_wild(name) {
        escape_always(name)
    } else {
        name.to_str().map(str::to_owned).ok_or(UNWRITABLE.into())
    }
}

fn escape_always(name: &OsStr) -> Result<String, String> {
    let name = name.to_str().ok_or(UNWRITABLE)?;
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
    Ok(text)
}

/// The default scope as lines.
fn keep(world: &dyn World, policy: &Policy, file: &Path) -> Vec<String> {
    let roots = &policy.scope().roots;
    let inner = |path: &Path| roots.iter().any(|root| path != root.path && path.starts_with(&root.path));
    let mut lines: Vec<String> = roots
        .iter()
        .filter(|root| exists(world, &root.path) && !inner(&root.path))
        .filter_map(|root| written(world, file, &Shape::Content(root.path.clone())).ok())
        .map(|pattern| format!("allow {pattern}"))
        .collect();
    lines.extend(policy.scope().patterns.iter().map(|pattern| format!("allow {pattern}")));
    lines.sort_by_key(|line| !line.starts_with("allow ./"));
    lines
}

/// The commands of these objects, each once.
fn told(asked: &BTreeMap<PathBuf, Vec<String>>, targets: &[PathBuf]) -> Vec<String> {
    let mut commands = Vec::new();
    for command in targets.iter().filter_map(|target| asked.get(target)).flatten() {
        push_new(&mut commands, command.clone());
    }
    commands
}

/// So many commands are named above a line.
const NAMED: usize = 3;

fn because(policy: &Policy, world: &dyn World, targets: &[PathBuf], commands: &[String]) -> Vec<String> {
    let mut because: Vec<String> = commands.iter().take(NAMED).cloned().collect();
    if commands.len() > NAMED {
        because.push(format!("and {} more", commands.len() - NAMED));
    }
    if let Some(first) = targets.first() {
        let zone = policy.zone(world, &sample(world, first));
        because.push(format!("{}: {}", zone.zone.name(), zone.origin));
    }
    because
}

/// The policy file with lines added, in thought.
struct Draft<'a> {
    world: &'a dyn World,
    file: &'a Path,
    before: &'a [u8],
    keep: &'a [String],
}

impl Draft<'_> {
    /// Whether all targets pass with this line; `true`: once a human has approved it.
    fn passes(&self, line: &str, targets: &[PathBuf]) -> Result<bool, String> {
        let mut content = self.before.to_vec();
        if !content.is_empty() && !content.ends_with(b"\n") {
            content.push(b'\n');
        }
        for line in self.keep.iter().map(String::as_str).chain([line]) {
            content.extend_from_slice(line.as_bytes());
            content.push(b'\n');
        }
        let world = Amended::new(self.world, self.file, &content);
        let policy =
            Policy::load(&world, Start { session: true, trust: Some(&Everyone), ..Start::default() });
        if let Some(error) = policy.errors().first() {
            return Err(format!("no line may say so: found {}", error.found));
        }
        if let Some(Waiting { reason, .. }) = policy.config().waiting.first() {
            return Err(reason.clone());
        }
        if !targets.iter().all(|target| passes(&world, &policy, target)) {
            return Err("a line that names it does not let it pass: see `blastradius scope`".into());
        }
        let alone = Policy::load(&world, Start { session: true, ..Start::default() });
        Ok(!alone.config().waiting.is_empty())
    }
}

/// Approves whatever is asked: what a line would do once a human has approved it.
struct Everyone;

impl TrustStore for Everyone {
    fn is_trusted(&self, _path: &Path, _content: &[u8]) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::config::fingerprint;
    use crate::shell::world::Platform;
    use crate::shell::world::memory::MemoryWorld;

    fn world() -> MemoryWorld {
        MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .env("HOME", "/home/dev")
            .env("PATH", "/usr/bin")
            .dir("/tmp")
            .dir("/home/dev/Documents")
            .dir("/home/dev/scratch/old")
            .dir("/home/dev/scratch/kept")
            .dir("/srv/jobs/1")
            .work_tree("/home/dev/p")
            .dir("/home/dev/p/src")
            .cwd("/home/dev/p")
    }

    fn wish(rule: &str, path: &str) -> Wish {
        Wish { command: format!("rm -rf {path}"), rule: rule.into(), path: Some(path.into()) }
    }

    fn lines(world: &MemoryWorld, paths: &[&str]) -> Vec<String> {
        let wishes: Vec<Wish> = paths.iter().map(|path| wish("out-of-scope", path)).collect();
        suggest(world, &wishes).lines.into_iter().map(|line| line.text).collect()
    }

    /// The file as it is after the proposal was taken over.
    fn applied(world: MemoryWorld, suggestion: &Suggestion) -> (MemoryWorld, Policy) {
        let lines = suggestion.keep.iter().chain(suggestion.lines.iter().map(|line| &line.text));
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        let world = world.file(&suggestion.file.to_string_lossy(), &text);
        let policy = Policy::load(&world, Start { trust: Some(&Everyone), ..Start::default() });
        (world, policy)
    }

    #[test]
    fn a_line_names_the_object_lets_it_pass_and_nothing_beside_it_and_keeps_what_was_scope() {
        let world = world();
        let suggestion = suggest(
            &world,
            &[wish("out-of-scope", "/home/dev/scratch/old"), wish("out-of-scope", "/srv/jobs/1")],
        );
        let texts: Vec<&str> = suggestion.lines.iter().map(|line| &*line.text).collect();
        assert_eq!(texts, ["allow ~/scratch/old", "allow /srv/jobs/1"]);
        assert_eq!(suggestion.keep, ["allow ./**", "allow /tmp/**"]);
        assert!(suggestion.needs_trust && suggestion.left.is_empty());
        assert!(suggestion.lines[0].because[0].contains("rm -rf"), "{:?}", suggestion.lines[0]);
        let (world, policy) = applied(world, &suggestion);
        assert_eq!(policy.errors(), []);
        let zone = |path: &str| policy.zone(&world, Path::new(path)).zone;
        assert_eq!([zone("/home/dev/scratch/old"), zone("/srv/jobs/1/x")], [Zone::Scope, Zone::Scope]);
        assert_eq!([zone("/home/dev/p/src"), zone("/tmp/x")], [Zone::Scope, Zone::Scope], "kept");
        for beside in ["/home/dev/scratch/kept", "/home/dev/scratch", "/srv/jobs/2", "/srv/jobs", "/home/dev"]
        {
            assert!(!zone(beside).permits(blastradius_common::Operation::Remove), "{beside}");
        }
    }

    #[test]
    fn no_line_is_proposed_for_what_no_line_lifts() {
        let world = world()
            .dir("/home/dev/.config")
            .dir("/home/dev/.ssh")
            .file("/home/dev/p/.blastradius", "deny ./keep");
        for (rule, path) in [
            ("out-of-scope", "/home/dev/Documents"),
            ("out-of-scope", "/home/dev/.config"),
            ("out-of-scope", "/home/dev/.ssh"),
            ("out-of-scope", "/home/dev"),
            ("out-of-scope", "/home/dev/*"),
            ("out-of-scope", "/etc"),
            ("out-of-scope", "/"),
            ("scope-root", "/home/dev/p"),
            ("floor-path", "/home/dev"),
            ("denied-path", "/home/dev/p/keep"),
            ("git-history", "/home/dev/p/.git"),
            ("git-discard", "/home/dev/p"),
            ("no-such-rule", "/srv/jobs/1"),
        ] {
            let suggestion = suggest(&world, &[wish(rule, path)]);
            assert_eq!(suggestion.lines, [], "{rule} {path}");
            assert_eq!(suggestion.left.len(), 1, "{rule} {path}: {suggestion:?}");
            assert_eq!(suggestion.keep, [""; 0], "{path}");
        }
        let why = &suggest(&world, &[wish("git-discard", "/home/dev/p")]).left[0].why;
        assert!(why.contains("rule git-discard allow"), "{why}");
    }

    #[test]
    fn what_passes_already_needs_no_line() {
        let suggestion = suggest(&world(), &[wish("out-of-scope", "/home/dev/p/src")]);
        assert_eq!((suggestion.lines, suggestion.left), (vec![], vec![]));
    }

    #[test]
    fn many_of_one_directory_become_one_line_only_where_it_takes_in_nothing_else() {
        let named =
            |dir: &str, names: &[&str]| names.iter().map(|n| format!("{dir}/{n}")).collect::<Vec<_>>();
        let mut world = world();
        let runs = named("/srv/jobs", &["run-1", "run-2", "run-3", "run-4"]);
        let mixed = named("/srv/all", &["a", "bb", "ccc", "dddd"]);
        for path in runs.iter().chain(&mixed) {
            world = world.dir(path);
        }
        let of = |world: &MemoryWorld, paths: &[String]| {
            lines(world, &paths.iter().map(|path| &**path).collect::<Vec<_>>())
        };
        assert_eq!(of(&world, &runs), ["allow /srv/jobs/run-*"]);
        assert_eq!(of(&world, &mixed), ["allow /srv/all/**"]);
        let more = world.dir("/srv/jobs/run-keep").dir("/srv/all/keep");
        assert_eq!(of(&more, &runs).len(), 4, "run-keep was not touched");
        assert_eq!(of(&more, &mixed).len(), 4);
        assert_eq!(of(&more, &runs[..2]), ["allow /srv/jobs/run-1", "allow /srv/jobs/run-2"]);
    }

    #[test]
    fn what_lies_below_another_object_needs_no_line_of_its_own() {
        assert_eq!(lines(&world(), &["/srv/jobs/1/a/b", "/srv/jobs/1"]), ["allow /srv/jobs/1"]);
    }

    #[test]
    fn a_name_with_wildcards_means_itself_and_a_glob_means_what_it_matches() {
        let world =
            world().dir("/srv/x/a[1]*").dir("/srv/x/a1b").dir("/srv/logs/a.log").dir("/srv/logs/keep");
        let suggestion = suggest(&world, &[wish("out-of-scope", "/srv/x/a[1]*")]);
        assert_eq!(suggestion.lines[0].text, r"allow /srv/x/a\[1\]\*");
        let (applied_world, policy) = applied(world.clone(), &suggestion);
        let zone = |path: &str| policy.zone(&applied_world, Path::new(path)).zone;
        assert_eq!([zone("/srv/x/a[1]*"), zone("/srv/x/a1b")], [Zone::Scope, Zone::Other]);
        assert_eq!(lines(&world, &["/srv/logs/*.log"]), ["allow /srv/logs/*.log"]);
    }

    #[test]
    fn a_name_that_no_file_can_spell_is_left_with_the_reason() {
        let suggestion =
            suggest(&world().dir("/srv/x/two\nlines"), &[wish("out-of-scope", "/srv/x/two\nlines")]);
        assert_eq!(suggestion.lines, []);
        assert!(suggestion.left[0].why.contains("cannot spell"), "{suggestion:?}");
    }

    #[test]
    fn every_line_parses_is_narrow_and_lets_its_act_pass() {
        let mut seed = 7_u64;
        let mut roll = |sides: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % sides
        };
        let tops = [
            "/home/dev",
            "/home/dev/.config",
            "/srv",
            "/etc",
            "/usr/local",
            "/home/ann",
            "/home/dev/q",
            "/data",
        ];
        let names = ["a", "b c", "#d", "$e", "~f", "x[1]", "y*", "z\\w", "-g", "ü"];
        let floor =
            ["/", "/home", "/home/dev", "/home/ann", "/etc", "/usr", "/usr/local", "/srv", "/var", "/data"];
        let mut proposed = 0;
        for round in 0..60 {
            let mut world = world().account("ann", "/home/ann");
            let mut paths = Vec::new();
            for _ in 0..8 {
                let mut path = tops[roll(tops.len())].to_owned();
                for _ in 0..roll(3) + 1 {
                    path = format!("{path}/{}", names[roll(names.len())]);
                }
                world = world.dir(&path);
                paths.push(path);
            }
            let wishes: Vec<Wish> =
                paths.iter().take(roll(5) + 1).map(|path| wish("out-of-scope", path)).collect();
            let suggestion = suggest(&world, &wishes);
            proposed += suggestion.lines.len();
            let told = suggestion.lines.len();
            let (world, policy) = applied(world, &suggestion);
            assert_eq!(policy.errors(), [], "round {round}: {suggestion:?}");
            assert_eq!(policy.config().waiting, [], "round {round}");
            for object in floor {
                let zone = policy.zone(&world, Path::new(object)).zone;
                assert!(!zone.permits(blastradius_common::Operation::Remove), "round {round}: {object}");
            }
            let asked = |path: &str| {
                wishes.iter().any(|w| w.path.as_deref().is_some_and(|p| Path::new(path).starts_with(p)))
            };
            for path in &paths {
                let scope = policy.zone(&world, Path::new(path)).zone == Zone::Scope;
                assert!(!scope || asked(path), "round {round}: {path} was not asked for: {suggestion:?}");
                let lifted = asked(path) && suggestion.left.is_empty() && told > 0;
                assert!(scope || !lifted, "round {round}: {path} does not pass: {suggestion:?}");
            }
        }
        assert!(proposed > 50, "{proposed}");
    }

    #[test]
    fn an_approval_of_a_content_is_no_approval_of_what_it_comes_to_reach() {
        let waiting = |reach: &str| Waiting {
            origin: String::new(),
            reason: String::new(),
            reach: Some(Pattern::new(reach, false)),
        };
        let print = |reach: &str| fingerprint(b"allow $OUT/**\n", &[waiting(reach)]);
        assert_ne!(print("/srv/out/**"), print("/home/dev/**"));
    }
}
