//! What is kept now?

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::content::{self, Miss};
use super::limits::{Limits, shown};
use super::name::Name;
use super::object::{Entry, Part, Stamp};
use super::plan::shortest;
use super::predict::{Touch, touches};
use super::repository::{self, Effort};
use super::retention;
use super::set::{Gap, Header, Occasion, Repository, SessionFiles, Set, VERSION, id_of};
use super::store::Store;
use super::tree::Trees;
use super::walk::{Found, Walk};
use crate::guard::acting::Acting;
use crate::guard::child::Identity;
use crate::policy::Policy;
use crate::policy::effect::Located;
use crate::policy::pattern;
use crate::policy::scope::RootKind;
use crate::policy::worktree::WorkTree;
use crate::report::human::clean;
use crate::shell::world::World;

/// So many gaps are named one by one; the rest is counted.
const NAMED_GAPS: usize = 200;

/// Keeps for one session.
pub struct Keeper {
    policy: Arc<Policy>,
    identity: Option<Identity>,
    limits: Limits,
    began: SystemTime,
    state: Mutex<State>,
}

struct State {
    store: Store,
    session: String,
    /// Number of the next set.
    next: u32,
    trees: Trees,
    /// What is kept already, by path, with the state in which it was.
    seen: HashMap<PathBuf, Entry>,
    /// Bytes that may still be added.
    left: u64,
    kept: Vec<Kept>,
    gaps: Vec<Gap>,
}

/// What one keeping did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What `undo` calls it.
    pub id: String,
    /// The command before which it was kept; empty: the start.
    pub command: String,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Kept {
    /// `kept 14 files (2.1 MiB) before …: blastradius undo 7f3a`.
    fn line(&self, store: &Store) -> String {
        let files = if self.files == 1 { "1 file".to_owned() } else { format!("{} files", self.files) };
        let what = if self.files == 0 {
            "what leads to commits".to_owned()
        } else {
            format!("{files} ({})", shown(self.bytes))
        };
        let when = match self.command.is_empty() {
            true => "at the start".to_owned(),
            false => format!("before `{}`", clean(&cut(&self.command, 80))),
        };
        format!("kept {what} {when}: blastradius undo {}", shortest(store, &self.id))
    }
}

fn cut(text: &str, limit: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(limit).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// What became of a command's touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What was kept, if anything needed it.
    pub kept: Option<Kept>,
    /// What could not be.
    pub gaps: Vec<Gap>,
    /// What is to be unreadable for good, and so is not kept.
    pub wiped: Vec<PathBuf>,
    /// Everything that the command will touch is known, and can be given back.
    pub complete: bool,
}

/// What is to be stored.
#[derive(Default)]
struct Wanted {
    objects: Vec<(PathBuf, Metadata, Part)>,
    repositories: Vec<Repository>,
    gaps: Vec<Gap>,
}

impl Keeper {
    /// Opens the store in `state`, the state directory of whoever the agent runs as, and lets go of what is too old.
    ///
    /// # Errors
    /// If the store cannot be made or written.
    pub fn open(
        state: &Path,
        session: &str,
        policy: Arc<Policy>,
        identity: Option<Identity>,
        limits: Limits,
    ) -> io::Result<Self> {
        let _acting = Acting::as_agent(identity.as_ref());
        let store = Store::open(state)?;
        let usage = retention::expire(&store, &limits);
        let left = limits.store.saturating_sub(usage).min(store.room_left(limits.free));
        let state = State {
            store,
            session: session.to_owned(),
            next: 0,
            trees: Trees::default(),
            seen: HashMap::new(),
            left,
            kept: Vec::new(),
            gaps: Vec::new(),
        };
        Ok(Self { policy, identity, limits, began: SystemTime::now(), state: Mutex::new(state) })
    }

    /// What is locked is a record of what is on disk: what a panic left of it is still good.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what lies in scope and nothing else holds.
    pub fn start(&self, world: &dyn World) -> Outcome {
        let _acting = Acting::as_agent(self.identity.as_ref());
        let mut state = self.state();
        let roots = self.roots();
        state.remember_last(&roots);
        let until = Deadlines::within(self.limits.start);
        let mut found = Found::default();
        let mut walk = Walk::new(world, &self.policy, &mut state.trees, until.looking);
        for root in &roots {
            walk.below(root, &|_, _| true, &mut found);
        }
        // A session may begin below the top of its work tree.
        if let Some(tree) = self.policy.work_tree() {
            found.work_trees.push(tree.clone());
        }
        let held = found.work_trees.clone();
        let wanted = self.wanted(found, held, Effort::Light, until.holding, &mut state);
        self.write(&mut state, Occasion::Start, "", wanted, until.keeping)
    }

    /// Keeps what a command will touch.
    pub fn before(&self, command: &str, effects: &[Located], world: &dyn World) -> Outcome {
        if effects.is_empty() {
            return Outcome { complete: true, ..Outcome::default() };
        }
        self.before_touches(command, touches(effects, &self.policy, world), world, self.limits.exec)
    }

    /// As [`Self::before`], for what is touched, in bounded time.
    pub fn before_touches(
        &self,
        command: &str,
        touches: Vec<Touch>,
        world: &dyn World,
        patience: Duration,
    ) -> Outcome {
        if touches.is_empty() {
            return Outcome { complete: true, ..Outcome::default() };
        }
        let _acting = Acting::as_agent(self.identity.as_ref());
        let mut state = self.state();
        state.trees.refresh();
        let until = Deadlines::within(patience);
        let (mut found, mut commits, mut wiped) = (Found::default(), Vec::new(), Vec::new());
        let mut known = true;
        for touch in touches {
            match touch {
                Touch::Object { path, recursive, swept, names } => {
                    let mut walk = Walk::new(world, &self.policy, &mut state.trees, until.looking);
                    self.object(&mut walk, &path, recursive, swept, &names, &mut found);
                }
                Touch::Work(directory) => {
                    let tree = state.trees.holding(world, &directory.join("x")).map(|tree| tree.work.clone());
                    let Some(tree) = tree else {
                        known = false;
                        continue;
                    };
                    let mut walk = Walk::new(world, &self.policy, &mut state.trees, until.looking);
                    walk.below(&tree.root, &|_, _| true, &mut found);
                }
                Touch::Commits(directory) => {
                    let tree = state.trees.holding(world, &directory.join("x")).map(|tree| tree.work.clone());
                    match tree {
                        Some(tree) => commits.push(tree),
                        None => known = false,
                    }
                }
                Touch::Wiped(path) => wiped.push(path),
                Touch::Unknown => known = false,
            }
        }
        for path in &wiped {
            state.forget(path);
        }
        if found.objects.is_empty()
            && found.work_trees.is_empty()
            && commits.is_empty()
            && found.stopped.is_empty()
        {
            return Outcome { complete: known && wiped.is_empty(), wiped, ..Outcome::default() };
        }
        let wanted = self.wanted(found, commits, Effort::Full, until.holding, &mut state);
        let outcome = self.write(&mut state, Occasion::Command, command, wanted, until.keeping);
        Outcome { complete: outcome.complete && known && wiped.is_empty(), wiped, ..outcome }
    }

    /// Adds one touched object, or what lies below it.
    fn object(
        &self,
        walk: &mut Walk<'_>,
        path: &Path,
        recursive: bool,
        swept: bool,
        names: &[String],
        found: &mut Found,
    ) {
        let Ok(meta) = fs::symlink_metadata(path) else { return };
        let in_project = self.roots().iter().any(|root| path.starts_with(root));
        let began = self.began;
        // What the session made is its own to remove. Where an agent works that is kept all the same, unless it was named by
        // itself: a day of work that was never added is worth more than a test's scratch file.
        let was_there = move |meta: &Metadata| meta.created().map_or(true, |born| born < began);
        let meant = |meta: &Metadata| (in_project && swept) || was_there(meta);
        if !meta.is_dir() {
            if meant(&meta) && walk.needs_keeping(path, &meta) && !walk.is_in_rebuildable(path) {
                found.objects.push((path.to_owned(), meta));
            }
            return;
        }
        if !recursive || walk.is_in_rebuildable(path) {
            return;
        }
        let named = |name: &std::ffi::OsStr| {
            let name = name.to_string_lossy();
            names.is_empty()
                || names.iter().any(|glob| pattern::wildcard(glob.as_bytes(), name.as_bytes(), false))
        };
        // An empty directory is no work.
        let lost = |meta: &Metadata| if meta.is_dir() { was_there(meta) } else { meant(meta) };
        walk.below(path, &|name, meta| named(name) && lost(meta), found);
    }

    /// Where an agent works: scope less the machine's scratch space.
    fn roots(&self) -> Vec<PathBuf> {
        let scratch: Vec<&Path> = self
            .policy
            .scope()
            .roots
            .iter()
            .filter(|root| root.kind == RootKind::Scratch)
            .map(|root| &*root.path)
            .collect();
        let projects = self.policy.scope().roots.iter().filter(|root| root.kind == RootKind::Project);
        let lines = self.policy.config().allows.iter().map(|line| line.pattern.literal_prefix());
        // Whoever starts an agent in a directory of scratch space works there.
        let started = Some(self.policy.cwd()).filter(|cwd| scratch.iter().any(|root| cwd.starts_with(root)));
        let all: BTreeSet<PathBuf> =
            projects.map(|root| root.path.clone()).chain(lines).chain(started.map(Path::to_owned)).collect();
        let mut roots: Vec<PathBuf> = Vec::new();
        for root in all {
            // A root below another is walked with it; sorted, the upper one comes first.
            if !scratch.contains(&&*root) && !roots.iter().any(|upper| root.starts_with(upper)) {
                roots.push(root);
            }
        }
        roots
    }

    fn wanted(
        &self,
        found: Found,
        commits: Vec<WorkTree>,
        effort: Effort,
        until: Instant,
        state: &mut State,
    ) -> Wanted {
        let Found { objects, mut work_trees, stopped } = found;
        let mut wanted = Wanted::default();
        wanted.gaps.extend(stopped.into_iter().map(|(path, why)| Gap { path: Name::from(&*path), why }));
        for (directory, meta) in parents(&objects, &self.roots()) {
            wanted.objects.push((directory, meta, Part::Tree));
        }
        wanted.objects.extend(objects.into_iter().map(|(path, meta)| (path, meta, Part::Tree)));
        work_trees.extend(commits.iter().cloned());
        work_trees.sort_by(|left, right| left.root.cmp(&right.root));
        work_trees.dedup();
        for work in work_trees {
            let files = repository::files(&work).into_iter();
            let files =
                files.filter_map(|path| Some((path.clone(), fs::symlink_metadata(&path).ok()?, Part::Git)));
            wanted.objects.extend(files);
            let mut described = repository::described(&work);
            if commits.contains(&work) {
                let mut left = state.left;
                // Names of sessions begin with the date.
                let day = state.session.get(..8).unwrap_or(&state.session);
                match repository::hold_objects(
                    &work,
                    &state.store,
                    day,
                    effort,
                    until,
                    &mut left,
                    &mut wanted.gaps,
                ) {
                    Ok(name) => described.objects = Some(name),
                    Err(error) => wanted.gaps.push(Gap {
                        path: Name::from(&*work.common_dir),
                        why: format!("its commits are not, unless a command is seen to drop them ({error})"),
                    }),
                }
                state.left = left;
            }
            wanted.repositories.push(described);
        }
        // Small ones first: most of what people would miss is small.
        wanted.objects.sort_by_key(|(_, meta, _)| meta.len());
        wanted
    }

    fn write(
        &self,
        state: &mut State,
        occasion: Occasion,
        command: &str,
        wanted: Wanted,
        deadline: Instant,
    ) -> Outcome {
        let Wanted { objects, repositories, mut gaps } = wanted;
        let stored = state.store_all(objects, &self.limits, deadline, &mut gaps, |entries, gaps| Set {
            header: Header {
                v: VERSION,
                id: String::new(),
                session: String::new(),
                time: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs(),
                occasion,
                command: crate::guard::secrets::mask(command).to_string(),
                roots: self.roots().iter().map(|root| Name::from(&**root)).collect(),
                files: entries.iter().filter(|entry| entry.part == Part::Tree && entry.is_file()).count()
                    as u64,
                bytes: bytes(&entries),
                repositories,
                gaps,
            },
            entries,
        });
        let kept = match stored {
            Ok(kept) => kept,
            Err(error) => {
                gaps.push(Gap {
                    path: Name(Vec::new()),
                    why: format!("the store cannot be written ({error})"),
                });
                None
            }
        };
        state.gaps.extend(gaps.iter().cloned());
        state.kept.extend(kept.iter().filter(|_| occasion == Occasion::Command).cloned());
        Outcome { complete: gaps.is_empty(), kept, gaps, wiped: Vec::new() }
    }

    /// What is to be said when the session is over: what was kept before which command, and what was not.
    pub fn report(&self) -> Vec<String> {
        let state = self.state();
        let mut lines: Vec<String> =
            state.kept.iter().rev().take(LISTED).map(|kept| kept.line(&state.store)).collect();
        lines.reverse();
        if state.kept.len() > LISTED {
            lines.insert(0, format!("kept before {} commands; the latest:", state.kept.len()));
        }
        lines.extend(not_covered(&state.gaps));
        lines
    }

    /// What one keeping did, for people.
    pub fn line(&self, kept: &Kept) -> String {
        kept.line(&self.state().store)
    }

    /// Keeps exactly these paths, whatever they are: an undo is about to replace them.
    pub fn before_undo(&self, paths: &[PathBuf], repositories: &[WorkTree]) -> Outcome {
        let mut state = self.state();
        let until = Deadlines::within(Duration::from_secs(24 * 3600));
        let there = paths.iter().filter_map(|path| Some((path.clone(), fs::symlink_metadata(path).ok()?)));
        let found = Found { objects: there.collect(), work_trees: Vec::new(), stopped: Vec::new() };
        let wanted = self.wanted(found, repositories.to_vec(), Effort::Full, until.holding, &mut state);
        self.write(&mut state, Occasion::Undo, "blastradius undo", wanted, until.keeping)
    }
}

/// Until when each part of a keeping may last: whoever looks at a million files still keeps some.
#[derive(Clone, Copy)]
struct Deadlines {
    /// Looking for what needs keeping.
    looking: Instant,
    /// Holding what commits are made of.
    holding: Instant,
    /// Keeping the rest.
    keeping: Instant,
}

impl Deadlines {
    fn within(patience: Duration) -> Self {
        let now = Instant::now();
        Self { looking: now + patience / 2, holding: now + patience * 3 / 4, keeping: now + patience }
    }
}

/// So many commands are named in the end report.
const LISTED: usize = 5;
/// So many gaps.
const LISTED_GAPS: usize = 5;

/// What undo cannot give back, for people.
pub fn not_covered(gaps: &[Gap]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // What stands for many comes first.
    let (many, single): (Vec<&Gap>, Vec<&Gap>) = gaps.iter().partition(|gap| gap.path.0.is_empty());
    for gap in many.into_iter().chain(single).take(LISTED_GAPS) {
        let line = match gap.path.0.is_empty() {
            true => format!("undo does not cover everything: {}", gap.why),
            false => {
                format!("undo does not cover {}: {}", clean(&gap.path.path().to_string_lossy()), gap.why)
            }
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if gaps.len() > LISTED_GAPS {
        lines.push(format!("undo does not cover {} more", gaps.len() - LISTED_GAPS));
    }
    lines
}

fn bytes(entries: &[Entry]) -> u64 {
    let files = entries.iter().filter(|entry| entry.part == Part::Tree && entry.is_file());
    files.map(|entry| entry.stamp.size).sum()
}

/// The directories between the roots and the objects, which must be there before these can come back.
fn parents(objects: &[(PathBuf, Metadata)], roots: &[PathBuf]) -> Vec<(PathBuf, Metadata)> {
    let mut directories = BTreeSet::new();
    for (path, _) in objects {
        for parent in path.ancestors().skip(1) {
            let below = roots.iter().any(|root| parent.starts_with(root) && parent != root);
            if !below || !directories.insert(parent.to_path_buf()) {
                break;
            }
        }
    }
    directories.into_iter().filter_map(|dir| Some((dir.clone(), fs::symlink_metadata(&dir).ok()?))).collect()
}

impl State {
    /// Takes over what the last session in the same place kept: a file that did not change is not read again.
    fn remember_last(&mut self, roots: &[PathBuf]) {
        const LOOK_BACK: usize = 16;
        let roots: Vec<Name> = roots.iter().map(|root| Name::from(&**root)).collect();
        let sessions = self.store.sessions();
        let last =
            sessions.iter().rev().take(LOOK_BACK).filter(|session| session.name != self.session).find_map(
                |session| {
                    let first = session.sets.first()?;
                    let header = Set::read_header(first).ok()?;
                    let same = header.occasion == Occasion::Start && header.roots == roots;
                    same.then(|| Set::read(first).ok()).flatten()
                },
            );
        let entries = last.map(|set| set.entries).unwrap_or_default();
        self.seen.extend(entries.into_iter().map(|entry| (entry.path.path().to_owned(), entry)));
    }

    /// Drops every trace of a path.
    fn forget(&mut self, path: &Path) {
        self.seen.retain(|kept, _| !kept.starts_with(path));
        if let Err(error) = retention::forget(&self.store, path) {
            let why = format!("it was to be wiped, and its copies could not be ({error})");
            self.gaps.push(Gap { path: Name::from(path), why });
        }
    }

    /// Stores the objects and writes the set that names them.
    fn store_all(
        &mut self,
        objects: Vec<(PathBuf, Metadata, Part)>,
        limits: &Limits,
        deadline: Instant,
        gaps: &mut Vec<Gap>,
        set_of: impl FnOnce(Vec<Entry>, Vec<Gap>) -> Set,
    ) -> io::Result<Option<Kept>> {
        let mut missed = Missed::new(gaps);
        let mut batch = self.store.batch()?;
        let mut entries: Vec<(Entry, bool)> = Vec::with_capacity(objects.len());
        let mut safe = 0;
        let mut broken = None;
        for (path, meta, part) in objects {
            if let Some(error) = &broken {
                missed.add(&path, &format!("the store cannot be written ({error})"));
                continue;
            }
            if entries.len() >= limits.count {
                missed.add(&path, &format!("more than {} objects", limits.count));
                continue;
            }
            if let Some(seen) = self.seen.get(&path).filter(|seen| seen.stamp == Stamp::of(&meta)) {
                entries.push((Entry { part, ..seen.clone() }, false));
                continue;
            }
            if Instant::now() >= deadline {
                missed.add(&path, "no time was left");
                continue;
            }
            let left = self.left.saturating_sub(batch.added());
            match content::keep(&path, limits, left, &mut batch) {
                Ok(entry) => entries.push((Entry { part, ..entry }, true)),
                Err(Miss::Gone) => {}
                Err(Miss::Skip(why)) => missed.add(&path, &why),
                Err(Miss::Store(error)) => {
                    missed.add(&path, &format!("the store cannot be written ({error})"));
                    broken = Some(error);
                }
            }
            if broken.is_none() && batch.is_full() {
                match batch.close() {
                    Ok(()) => safe = entries.len(),
                    Err(error) => broken = Some(error),
                }
            }
        }
        if broken.is_none() {
            match batch.close() {
                Ok(()) => safe = entries.len(),
                Err(error) => broken = Some(error),
            }
        }
        if let Some(error) = broken {
            batch.abandon();
            let mut number = 0;
            entries.retain(|(entry, new)| {
                number += 1;
                let stays = number <= safe || !new;
                if !stays {
                    missed.add(entry.path.path(), &format!("the store cannot be written ({error})"));
                }
                stays
            });
        }
        missed.finish();
        let fresh = entries.iter().any(|(_, new)| *new);
        let entries: Vec<Entry> = entries.into_iter().map(|(entry, _)| entry).collect();
        let added = batch.added();
        if entries.is_empty() && gaps.is_empty() {
            return Ok(None);
        }
        let mut set = set_of(entries, gaps.clone());
        set.header.session.clone_from(&self.session);
        set.header.id = id_of(&self.session, Some(self.next));
        let directory = batch.store().room("sessions").join(&self.session);
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let draft = batch.store().draft();
        set.write(&SessionFiles::set_path(&directory, self.next), &draft, fresh)?;
        drop(batch);
        self.left = self.left.saturating_sub(added);
        self.next += 1;
        let Header { id, command, files, bytes, .. } = set.header;
        self.seen.extend(set.entries.into_iter().map(|entry| (entry.path.path().to_owned(), entry)));
        Ok(Some(Kept { id, command, files, bytes }))
    }
}

/// Gaps being collected: the first by name, the rest by number.
struct Missed<'g> {
    gaps: &'g mut Vec<Gap>,
    more: u64,
    why: String,
}

impl<'g> Missed<'g> {
    fn new(gaps: &'g mut Vec<Gap>) -> Self {
        Self { gaps, more: 0, why: String::new() }
    }

    fn add(&mut self, path: &Path, why: &str) {
        if self.gaps.len() < NAMED_GAPS {
            self.gaps.push(Gap { path: Name::from(path), why: why.to_owned() });
        } else {
            self.more += 1;
            why.clone_into(&mut self.why);
        }
    }

    fn finish(self) {
        if self.more > 0 {
            let why = format!("{} more objects ({})", self.more, self.why);
            self.gaps.push(Gap { path: Name(Vec::new()), why });
        }
    }
}
