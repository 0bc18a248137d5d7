//! What would be lost: entries, and how many of them git could not give back. Counting stops at a budget.

use std::path::{Path, PathBuf};

use blastradius_common::{RuleId, Verdict, Zone};

use crate::policy::effect::Act;
use crate::policy::resolve::Resolved;
use crate::policy::worktree::WorkTree;
use crate::policy::{nested, paths, pattern};
use crate::shell::value::Glob;
use crate::shell::world::{Kind, Tracking, World};

use super::asked::Asked;
use super::verdict::Case;
use super::{Court, Objection};

/// Counting stops here.
const COUNT_BUDGET: usize = 2_000;

/// So many files that git does not have and no tool rebuilds are not lost through a directory, glob or filter without a
/// question. By their names they may go.
const MANY: usize = 3;

/// So many directories above a path are asked whether a tool rebuilds them.
const DEPTH_LIMIT: usize = 64;

/// Directories that a tool rebuilds, with the file that says which tool: next to the directory, or (with a leading `./`)
/// in it. Without a marker the name is enough.
const REBUILDABLE_DIRECTORIES: &[(&str, &[&str])] = &[
    // No person keeps files in a directory of this name, with or without a package.json beside it.
    ("node_modules", &[]),
    ("target", &["Cargo.toml", "pom.xml", "build.sbt", "./CACHEDIR.TAG"]),
    ("build", &[]),
    ("dist", &[]),
    ("out", &["package.json", "build.gradle", "build.gradle.kts", "CMakeLists.txt", "foundry.toml"]),
    ("vendor", &["composer.json", "go.mod", "Gemfile"]),
    ("coverage", &[]),
    ("htmlcov", &[]),
    ("venv", &["./pyvenv.cfg"]),
    ("env", &["./pyvenv.cfg"]),
    (".venv", &[]),
    (".next", &[]),
    (".nuxt", &[]),
    (".output", &["package.json"]),
    (".svelte-kit", &[]),
    (".turbo", &[]),
    (".parcel-cache", &[]),
    (".angular", &[]),
    (".cache", &[]),
    (".gradle", &[]),
    (".tox", &[]),
    (".nox", &[]),
    (".eggs", &[]),
    (".mypy_cache", &[]),
    (".pytest_cache", &[]),
    (".ruff_cache", &[]),
    (".nyc_output", &[]),
    (".terraform", &[]),
    (".dart_tool", &[]),
    ("__pycache__", &[]),
    ("__snapshots__", &[]),
    ("cmake-build-debug", &[]),
    ("cmake-build-release", &[]),
    ("obj", &["*.csproj"]),
    ("bin", &["*.csproj"]),
    ("DerivedData", &[]),
    ("Pods", &["Podfile"]),
    ("_build", &["mix.exs", "dune-project", "rebar.config"]),
    ("deps", &["mix.exs"]),
    ("zig-cache", &[]),
    ("zig-out", &[]),
    (".zig-cache", &[]),
    ("elm-stuff", &[]),
    ("bazel-out", &[]),
    ("dist-newstyle", &[]),
    ("tmp", &[]),
    ("temp", &[]),
    (".tmp", &[]),
    ("scratch", &[]),
    ("logs", &[]),
    ("test-results", &[]),
    ("playwright-report", &[]),
    (".stack-work", &[]),
];

/// Of those, the names that people give to directories of their own, too.
const COMMON_WORDS: &[&str] = &["tmp", "temp", ".tmp", "scratch", "logs"];

/// The names that a build gives, and people do; and the files one of which a directory holds that something is built in.
const BUILT: &[&str] = &["build", "dist", "coverage", "test-results"];
const BUILD_FILES: &[&str] = &[
    "package.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "CMakeLists.txt",
    "meson.build",
    "configure",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.xml",
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "build.zig",
    "pubspec.yaml",
    "composer.json",
    "Gemfile",
    "Rakefile",
    "mix.exs",
    "*.csproj",
    "*.cabal",
    "*.gemspec",
];

/// Files that a tool makes again.
const REBUILDABLE_FILES: &[&str] = &[
    "*.log",
    "*.tmp",
    "*.temp",
    "*.pyc",
    "*.pyo",
    "*.o",
    "*.obj",
    "*.a",
    "*.so",
    "*.class",
    "*.d",
    "*.gcda",
    "*.gcno",
    "*.swp",
    "*.swo",
    "*~",
    "*.bak",
    "*.orig",
    "*.rej",
    "*.cache",
    "*.tsbuildinfo",
    "*.egg-info",
    "*.pid",
    "*.lock",
    "*.map",
    "*.whl",
    ".DS_Store",
    "Thumbs.db",
    ".coverage",
    ".eslintcache",
    "core",
    "core.*",
    "nohup.out",
];

/// Whether a name is one that a tool rebuilds, where the tool's marker is.
pub(crate) fn is_rebuildable_directory(world: &dyn World, path: &Path) -> bool {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else { return false };
    let name = name.to_string_lossy();
    let Some((_, markers)) = REBUILDABLE_DIRECTORIES.iter().find(|(known, _)| *known == name) else {
        return name.ends_with(".egg-info");
    };
    markers.is_empty() || markers.iter().any(|marker| is_marked(world, path, parent, marker))
}

/// Whether more than a name that people use, too, says that a tool rebuilds the directory: nobody is asked about a name, but
/// what is lost without a copy is lost.
pub(crate) fn is_surely_rebuildable_directory(world: &dyn World, path: &Path) -> bool {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else { return false };
    let name = name.to_string_lossy();
    let is_no_persons = if BUILT.contains(&&*name) {
        BUILD_FILES.iter().any(|marker| is_marked(world, path, parent, marker))
    } else {
        !COMMON_WORDS.contains(&&*name)
    };
    is_no_persons && is_rebuildable_directory(world, path)
}

/// Whether a marker is there: in the directory with a leading `./`, else next to it.
fn is_marked(world: &dyn World, path: &Path, parent: &Path, marker: &str) -> bool {
    let there = |path: PathBuf| matches!(world.look(&path), crate::shell::world::Look::Found(_));
    match marker.strip_prefix("./") {
        Some(inside) => there(path.join(inside)),
        None if marker.starts_with('*') => world.read_dir(parent, 256).is_some_and(|entries| {
            entries.iter().any(|(entry, _)| matches(marker, &entry.to_string_lossy()))
        }),
        None => there(parent.join(marker)),
    }
}

/// Of those, what people write or set aside themselves, too: records of a run, copies from before a change.
const COMMON_FILES: &[&str] = &[
    "*.log",
    "*.tmp",
    "*.temp",
    "*.bak",
    "*.orig",
    "*~",
    "*.lock",
    "*.map",
    "*.d",
    "*.a",
    "*.so",
    "*.whl",
    "nohup.out",
];

/// Whether no file of this name is a person's.
pub(crate) fn is_surely_rebuildable_file(name: &str) -> bool {
    is_rebuildable_file(name) && !COMMON_FILES.iter().any(|glob| matches(glob, name))
}

/// Whether a file's name is one that a tool makes again.
pub(crate) fn is_rebuildable_file(name: &str) -> bool {
    REBUILDABLE_FILES.iter().any(|glob| matches(glob, name))
}

fn matches(glob: &str, name: &str) -> bool {
    pattern::wildcard(glob.as_bytes(), name.as_bytes(), false)
}

/// A count that may have stopped at its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    files: usize,
    stopped: bool,
}

impl Count {
    fn shown(self) -> String {
        let files = thousands(self.files);
        let unit = if self.files == 1 { "file" } else { "files" };
        if self.stopped { format!("at least {files} {unit}") } else { format!("{files} {unit}") }
    }
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Counts what lies below a directory, links not followed.
fn count_below(world: &dyn World, asked: &Asked, dir: &Path) -> Count {
    if asked.has_looked_enough() {
        return Count { files: MANY, stopped: true };
    }
    let mut count = Count::default();
    let mut todo = vec![dir.to_path_buf()];
    let mut looked = 0;
    while let Some(dir) = todo.pop() {
        let entries = world.read_dir(&dir, COUNT_BUDGET).unwrap_or_default();
        looked += entries.len() + 1;
        asked.looked(entries.len() + 1);
        for (name, kind) in entries {
            if kind == Kind::Directory {
                todo.push(dir.join(name));
            } else {
                count.files += 1;
            }
        }
        if count.files >= COUNT_BUDGET || looked >= 2 * COUNT_BUDGET {
            count.stopped = true;
            count.files = count.files.min(COUNT_BUDGET);
            break;
        }
    }
    count
}

impl Court<'_> {
    /// Adds what would be lost to an objection.
    pub(super) fn with_facts(&self, objection: Objection, case: Case<'_>, object: &Resolved) -> Objection {
        if !matches!(case.act, Act::Remove { .. } | Act::Move) || objection.critical {
            return objection;
        }
        let Some(meta) = object.meta else {
            return objection.because("nothing bears the name now");
        };
        if meta.kind != Kind::Directory || case.act == Act::Move {
            return objection;
        }
        let count = count_below(self.world, self.asked, &object.path);
        let verb = if case.selection.filter.is_empty() { "would remove" } else { "would search" };
        let objection = objection.because(format!("{verb} {}", count.shown()));
        if object.path.join(".git").parent().is_some_and(|root| self.is_other_work_tree(root)) {
            return objection.because("it is a git work tree of its own");
        }
        objection
    }

    fn is_other_work_tree(&self, root: &Path) -> bool {
        matches!(self.world.look(&root.join(".git")), crate::shell::world::Look::Found(_))
            && self.policy.work_tree().is_none_or(|tree| tree.root != root)
    }

    /// Removing a directory of the project that is, or holds, a repository of its own.
    fn repository_removal(&self, path: &Path) -> Option<Objection> {
        let project = self.policy.project()?;
        if !paths::starts_with(self.policy.platform(), path, project) || self.is_rebuildable(project, path) {
            return None;
        }
        let objection = Objection::new(RuleId::ScopeRoot, Verdict::Confirm);
        if self.is_other_work_tree(path) {
            return Some(objection.because(format!("{} is a git work tree of its own", path.display())));
        }
        if nested::is_repository(self.world, path) {
            return Some(objection.because(format!("{} is a git repository of its own", path.display())));
        }
        if self.asked.has_looked_enough() {
            return None;
        }
        let (found, looked) = nested::git_dirs(self.world, path, COUNT_BUDGET);
        self.asked.looked(looked);
        let nearest = found.first()?;
        Some(objection.because(format!("it holds the history of the repository {}", nearest.display())))
    }

    /// Removing an object in scope: what git and the tools cannot give back.
    pub(super) fn scope_removal(&self, case: Case<'_>, object: &Resolved) -> Option<Objection> {
        if case.selection.narrow_by_name {
            return self.filtered_removal(case, &object.path);
        }
        let removes_tree = matches!(case.act, Act::Remove { recursive: true }) && object.is_dir();
        let Some(tree) = self.project_at(&object.path) else {
            return if removes_tree { self.repository_removal(&object.path) } else { None };
        };
        if let Some(objection) = self.nested_history(&object.path, tree) {
            return Some(objection);
        }
        if !removes_tree || self.is_rebuildable(&tree.root, &object.path) {
            return None;
        }
        if let Some(objection) = self.repository_removal(&object.path) {
            return Some(objection);
        }
        // Asking git is dear, and a directory that holds next to nothing need not be asked about.
        let total = count_below(self.world, self.asked, &object.path);
        if total.files < MANY {
            return None;
        }
        let untracked = self.untracked(tree, &object.path, &|_| true)?;
        (untracked.files >= MANY).then(|| {
            Objection::new(RuleId::UntrackedFiles, Verdict::Confirm).because(format!(
                "would remove {}, {} of them not in git",
                total.shown(),
                thousands(untracked.files)
            ))
        })
    }

    /// Removing what a filter selects below a directory in scope.
    pub(super) fn filtered_removal(&self, case: Case<'_>, dir: &Path) -> Option<Objection> {
        let names = &case.selection.names;
        if names.iter().any(|name| matches(name, ".git") && name.contains("git")) {
            return Some(
                Objection::new(RuleId::GitHistory, Verdict::Confirm)
                    .because("the filter selects .git: the history of every repository below would go"),
            );
        }
        let tree = self.project_at(dir)?;
        if names.is_empty()
            || names.iter().all(|name| is_rebuildable_file(name))
            || self.is_rebuildable(&tree.root, dir)
        {
            return None;
        }
        let untracked = self.untracked(tree, dir, &|name| names.iter().any(|glob| matches(glob, name)))?;
        (untracked.files >= MANY).then(|| {
            Objection::new(RuleId::UntrackedFiles, Verdict::Confirm)
                .because(format!("would remove {} that are not in git", untracked.shown()))
        })
    }

    /// The matches of a wildcard that git does not have.
    pub(super) fn untracked_matches(&self, glob: &Glob, dir: &Path) -> Option<Objection> {
        if glob.count < MANY || is_rebuildable_file(&glob.pattern) {
            return None;
        }
        let tree = self.project_at(dir)?;
        if self.is_rebuildable(&tree.root, dir) {
            return None;
        }
        let pattern = glob.pattern.rsplit('/').next().unwrap_or_default();
        let untracked = self.untracked(tree, dir, &|name| matches(pattern, name))?;
        (untracked.files >= MANY).then(|| {
            Objection {
                resolved: Some(dir.join(&glob.pattern)),
                ..Objection::new(RuleId::UntrackedFiles, Verdict::Confirm)
            }
            .because(format!("would remove {} that are not in git", untracked.shown()))
        })
    }

    /// The work tree of the session, if the path lies in it and it is scope.
    fn project_at(&self, path: &Path) -> Option<&WorkTree> {
        let tree = self.policy.work_tree()?;
        paths::starts_with(self.policy.platform(), path, &tree.root).then_some(tree)
    }

    /// Whether the path lies in a directory that a tool rebuilds, or is one.
    fn is_rebuildable(&self, project: &Path, path: &Path) -> bool {
        path.ancestors()
            .take(DEPTH_LIMIT)
            .take_while(|dir| *dir != project)
            .any(|dir| is_rebuildable_directory(self.world, dir))
    }

    /// The history of a repository inside the work tree: `lib/.git`, `backup.git/objects`.
    fn nested_history(&self, path: &Path, tree: &WorkTree) -> Option<Objection> {
        let below = path.strip_prefix(&tree.root).ok()?;
        let names: Vec<_> = below.iter().map(|name| name.to_string_lossy()).collect();
        let repository =
            names.iter().position(|name| name == ".git" || name.len() > 4 && name.ends_with(".git"))?;
        let whole = names.len() == repository + 1 && names[repository] == ".git";
        let part = names
            .get(repository + 1)
            .is_some_and(|name| crate::policy::worktree::HISTORY_NAMES.contains(&&**name));
        let ordinary = self.is_rebuildable(&tree.root, path);
        ((whole || part) && !ordinary && self.zone(path).zone == Zone::Scope).then(|| {
            Objection::new(RuleId::GitHistory, Verdict::Confirm)
                .because("history of a repository: it may exist nowhere else")
        })
    }

    /// How many untracked files below a path no tool rebuilds. `None`: none at all. Where git cannot be asked, it may
    /// have none of them.
    fn untracked(&self, tree: &WorkTree, path: &Path, selects: &dyn Fn(&str) -> bool) -> Option<Count> {
        let below = path.strip_prefix(&tree.root).ok()?;
        let Some(state) = self.asked.git(self.world, &tree.root, below) else {
            return Some(count_selected(self.world, self.asked, path, selects))
                .filter(|count| count.files > 0);
        };
        let mut count = Count { files: 0, stopped: state.truncated };
        for (name, tracking) in &state.dirty {
            if *tracking != Tracking::Untracked {
                continue;
            }
            let Some(dir) = name.strip_suffix('/') else {
                let last = name.rsplit('/').next().unwrap_or(name);
                count.files += usize::from(selects(last) && !is_rebuildable_file(last));
                continue;
            };
            // A wholly untracked directory: what of it lies below the path.
            let dir = tree.root.join(dir);
            let from = if path.starts_with(&dir) { path } else { &dir };
            if !is_rebuildable_directory(self.world, from) {
                let inside = count_selected(self.world, self.asked, from, selects);
                count.files += inside.files;
                count.stopped |= inside.stopped;
            }
        }
        (count.files > 0).then_some(count)
    }
}

fn count_selected(world: &dyn World, asked: &Asked, dir: &Path, selects: &dyn Fn(&str) -> bool) -> Count {
    if asked.has_looked_enough() {
        return Count { files: MANY, stopped: true };
    }
    let mut count = Count::default();
    let mut todo = vec![dir.to_path_buf()];
    let mut looked = 0;
    while let Some(dir) = todo.pop() {
        let entries = world.read_dir(&dir, COUNT_BUDGET).unwrap_or_default();
        looked += entries.len() + 1;
        asked.looked(entries.len() + 1);
        for (name, kind) in entries {
            let at = dir.join(&name);
            let name = name.to_string_lossy();
            if kind == Kind::Directory {
                if !is_rebuildable_directory(world, &at) {
                    todo.push(at);
                }
            } else if selects(&name) && !is_rebuildable_file(&name) {
                count.files += 1;
            }
        }
        if looked >= COUNT_BUDGET {
            count.stopped = true;
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::world::Platform;
    use crate::shell::world::memory::MemoryWorld;

    #[test]
    fn a_rebuildable_name_counts_with_its_tools_marker_only() {
        let world =
            MemoryWorld::new(Platform::Linux).dir("/p/target").dir("/q/target").file("/q/Cargo.toml", "");
        assert!(!is_rebuildable_directory(&world, Path::new("/p/target")));
        assert!(is_rebuildable_directory(&world, Path::new("/q/target")));
        assert!(is_rebuildable_directory(&world, Path::new("/p/.pytest_cache")));
        assert!(!is_rebuildable_directory(&world, Path::new("/p/results")));
    }

    #[test]
    fn a_name_that_people_use_too_is_surely_rebuildable_only_where_something_is_built() {
        let world = MemoryWorld::new(Platform::Linux)
            .dir("/thesis/build")
            .dir("/app/build")
            .dir("/app/tmp")
            .file("/app/package.json", "")
            .dir("/net/dist")
            .file("/net/a.csproj", "");
        for (path, name, surely) in [
            ("/thesis/build", true, false),
            ("/app/build", true, true),
            ("/app/tmp", true, false),
            ("/net/dist", true, true),
            ("/thesis/node_modules", true, true),
            ("/thesis/target", false, false),
            ("/thesis/chapters", false, false),
        ] {
            assert_eq!(is_rebuildable_directory(&world, Path::new(path)), name, "{path}");
            assert_eq!(is_surely_rebuildable_directory(&world, Path::new(path)), surely, "{path}");
        }
        assert!(is_surely_rebuildable_file("a.pyc") && is_rebuildable_file("run.log"));
        assert!(!is_surely_rebuildable_file("run.log") && !is_surely_rebuildable_file("a.txt"));
    }

    #[test]
    fn counting_stops_at_its_budget() {
        let mut world = MemoryWorld::new(Platform::Linux);
        for at in 0..2_500 {
            world = world.file(&format!("/p/d{}/f{at}", at % 7), "");
        }
        assert_eq!(count_below(&world, &Asked::default(), Path::new("/p")).shown(), "at least 2,000 files");
        assert_eq!(count_below(&world, &Asked::default(), Path::new("/p/d0")).shown(), "358 files");
        assert_eq!(thousands(1_234_567), "1,234,567");
        let asked = Asked::default();
        let asks = |_| count_below(&world, &asked, Path::new("/p"));
        let counts: Vec<Count> = (0..200).map(asks).collect();
        assert_eq!(
            counts.last(),
            Some(&Count { files: MANY, stopped: true }),
            "and over all objects together"
        );
    }
}
