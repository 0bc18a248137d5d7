//! `blastradius undo`: what was destroyed inside scope is taken back.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, anyhow, bail};

use super::exit;
use crate::guard::log;
use crate::report::human;
use crate::system::System;
use crate::undo::keep::{Keeper, not_covered};
use crate::undo::limits::{Limits, shown};
use crate::undo::object::{Body, Entry};
use crate::undo::past::{Held, Past, Step, pasts};
use crate::undo::plan::{self, Chosen, Now, Offer, compare};
use crate::undo::restore::{Action, Restorer, Source};
use crate::undo::retention;
use crate::undo::set::{Header, Occasion, Set, id_of};
use crate::undo::store::{Reader, Store};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to take back, by the id of a session or of one keeping; without it, list what there is
    #[arg(value_name = "SESSION")]
    id: Option<OsString>,
    /// Only what lies at or below these paths
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Take back the latest session; all operands are paths then
    #[arg(long)]
    last: bool,
    /// Only what is gone or empty now; leave alone what has other content
    #[arg(long)]
    gone: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Show how files differ, and do nothing
    #[arg(long)]
    diff: bool,
    /// Write everything that was kept below this directory instead of in its place
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Let go of what is too old or belongs to nothing
    #[arg(long, conflicts_with_all = ["id", "last", "forget", "usage"])]
    gc: bool,
    /// Say how much is kept
    #[arg(long, conflicts_with_all = ["id", "last", "forget"])]
    usage: bool,
    /// Drop every copy of what lies at or below this path
    #[arg(long, value_name = "PATH", conflicts_with_all = ["id", "last"])]
    forget: Option<PathBuf>,
}

pub(super) fn main(args: Args) -> ExitCode {
    match act(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => exit::failure(&error, 1),
    }
}

/// `false`: not everything could be given back.
fn act(args: Args) -> Result<bool> {
    let state = log::directory()?;
    let Some(store) = Store::existing(&state) else {
        anstream::eprintln!("blastradius: nothing was kept yet");
        return Ok(args.id.is_none() && !args.last);
    };
    if args.gc {
        return clean(&store);
    }
    if args.usage {
        return usage(&store);
    }
    if let Some(path) = &args.forget {
        let path = absolute(path)?;
        let dropped = retention::forget(&store, &path).context("the store is in use or damaged")?;
        println!("{dropped} kept objects at or below {} are forgotten", path.display());
        return Ok(true);
    }
    let mut paths = args.paths.clone();
    let chosen = if args.last {
        paths.extend(args.id.iter().map(PathBuf::from));
        latest(&store)?
    } else {
        let Some(id) = &args.id else { return list(&store) };
        plan::choose(&store, &id.to_string_lossy()).map_err(|error| anyhow!(error))?
    };
    let paths = paths.iter().map(|path| absolute(path)).collect::<Result<Vec<_>>>()?;
    let to = args.to.as_deref().map(absolute).transpose()?;
    Undo { store: &store, state: &state, args: &args, paths, to, ways: Ways::default() }.take_back(&chosen)
}

/// Absolute, with the links of the directory resolved and the last name as it is: it may be gone, or a link.
fn absolute(path: &Path) -> Result<PathBuf> {
    let path = std::path::absolute(path).with_context(|| path.display().to_string())?;
    let mut rest = Vec::new();
    let mut at = path.as_path();
    while let (Some(parent), Some(name)) = (at.parent(), at.file_name()) {
        rest.push(name);
        if let Ok(real) = fs::canonicalize(parent) {
            return Ok(rest.iter().rev().fold(real, |path, name| path.join(name)));
        }
        at = parent;
    }
    Ok(path)
}

fn latest(store: &Store) -> Result<Chosen> {
    let session = store.sessions().pop().context("nothing was kept yet")?;
    Ok(Chosen { sets: session.sets, whole: true })
}

fn clean(store: &Store) -> Result<bool> {
    let limits = Limits::of_environment()?.unwrap_or_default();
    let before = store.usage();
    retention::expire(store, &limits);
    let swept = retention::sweep(store).context("nothing was let go of")?;
    println!("{} freed, {} kept", shown(before.saturating_sub(swept.after)), shown(swept.after));
    Ok(true)
}

fn usage(store: &Store) -> Result<bool> {
    let limits = Limits::of_environment()?.unwrap_or_default();
    for (room, bytes) in retention::usage(store) {
        println!("{room:<9} {}", shown(bytes));
    }
    println!("limit     {} for {}", shown(limits.store), humantime::format_duration(limits.age));
    println!("in        {}", store.root().display());
    Ok(true)
}

fn list(store: &Store) -> Result<bool> {
    let mut out = io::stdout().lock();
    for session in store.sessions().iter().rev() {
        let id = plan::shortest(store, &id_of(&session.name, None));
        let headers: Vec<(&PathBuf, io::Result<Header>)> =
            session.sets.iter().map(|path| (path, Set::read_header(path))).collect();
        let first = headers.iter().find_map(|(_, header)| header.as_ref().ok());
        let place = first.and_then(|header| header.roots.first()).map(|root| named(root.path()));
        let time = first.map_or_else(String::new, |header| when(header.time));
        writeln!(out, "{id}  {time}  {}", place.unwrap_or_default())?;
        for (path, header) in headers {
            match header {
                Ok(header) => writeln!(out, "  {}", line(store, &header))?,
                Err(error) => writeln!(out, "  {}: {error}", named(path))?,
            }
        }
    }
    Ok(true)
}

/// A name that an agent may have chosen, safe for a terminal.
fn named(path: &Path) -> String {
    human::clean(&path.to_string_lossy())
}

fn when(seconds: u64) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    humantime::format_rfc3339_seconds(time).to_string()
}

fn line(store: &Store, header: &Header) -> String {
    let id = plan::shortest(store, &header.id);
    let noun = if header.files == 1 { "file" } else { "files" };
    let files = format!("{} {noun} ({})", header.files, shown(header.bytes));
    let git = if header.repositories.is_empty() { "" } else { ", git state" };
    let missing = match header.gaps.len() {
        0 => String::new(),
        count => format!(", {count} not kept"),
    };
    let occasion = match header.occasion {
        Occasion::Start => "at the start".to_owned(),
        Occasion::Command => {
            format!("before `{}`", human::clean(header.command.lines().next().unwrap_or_default()))
        }
        Occasion::Undo => "replaced by an undo".to_owned(),
    };
    format!("{id}  {files}{git}{missing}  {occasion}")
}

struct Undo<'a> {
    store: &'a Store,
    state: &'a Path,
    args: &'a Args,
    paths: Vec<PathBuf>,
    /// Where to instead of in place.
    to: Option<PathBuf>,
    ways: Ways,
}

impl Undo<'_> {
    fn take_back(&self, chosen: &Chosen) -> Result<bool> {
        let offer = plan::offer(chosen)?;
        let reader = Reader::open(self.store)?;
        let pasts = pasts(&offer.git, self.store, &reader);
        let in_place = self.to.is_none();
        let mut steps: Vec<(&Past<'_>, Vec<Step>)> = Vec::new();
        if self.paths.is_empty() && in_place {
            steps.extend(
                pasts
                    .iter()
                    .map(|past| (past, self.steps(past, &offer)))
                    .filter(|(_, steps)| !steps.is_empty()),
            );
        }
        let stage = Stage(self.store.draft());
        let mut actions = self.kept(&offer, &reader);
        actions.extend(self.held(&offer, &pasts, &stage, &actions)?);
        actions.extend(self.later(&offer, &reader, &actions));
        self.tell(&actions, &steps);
        if self.args.diff {
            self.diff(&actions, &reader, &offer)?;
        }
        let nothing = actions.is_empty() && steps.is_empty();
        if nothing || self.args.dry_run || self.args.diff {
            return Ok(true);
        }
        self.ask()?;
        self.go(&offer, &reader, actions, steps, &pasts, &stage)
    }

    fn steps(&self, past: &Past<'_>, offer: &Offer) -> Vec<Step> {
        let steps = past.steps().into_iter();
        // An index says what was staged; one keeping of many is no reason to unstage what was added since.
        steps.filter(|step| offer.whole || *step != Step::Index).collect()
    }

    fn is_meant(&self, path: &Path) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|meant| path.starts_with(meant))
    }

    /// Where an object goes.
    fn place(&self, path: &Path, offer: &Offer) -> PathBuf {
        let Some(to) = &self.to else { return path.to_owned() };
        let root = offer.roots.iter().find(|root| path.starts_with(root));
        let below = root.and_then(|root| path.strip_prefix(root).ok());
        to.join(below.unwrap_or_else(|| path.strip_prefix("/").unwrap_or(path)))
    }

    fn wants(&self, now: Now) -> bool {
        !self.args.gone || matches!(now, Now::Gone | Now::Emptied)
    }

    /// How an object differs from what was kept. Behind a link that stands in a directory's place lies another one.
    fn now(&self, entry: &Entry, at: &Path, offer: &Offer, reader: &Reader) -> Option<Now> {
        if self.is_cut_off(at, offer) { Some(Now::Gone) } else { compare(entry, at, reader) }
    }

    fn is_cut_off(&self, path: &Path, offer: &Offer) -> bool {
        let roots = self.to.as_ref().map_or(&*offer.roots, std::slice::from_ref);
        path.parent().is_some_and(|parent| self.ways.are_blocked(parent, roots))
    }

    fn kept(&self, offer: &Offer, reader: &Reader) -> Vec<Action> {
        let entries = offer.entries.iter().filter(|(path, _)| self.is_meant(path));
        let action = |(path, entry): (&PathBuf, &Entry)| {
            let path = self.place(path, offer);
            let now = self.now(entry, &path, offer, reader)?;
            self.wants(now).then(|| Action { path, now, source: Source::Kept(entry.clone()) })
        };
        entries.filter_map(action).collect()
    }

    /// What was kept after the session had begun, is gone now, and was not there or is not known otherwise.
    fn later(&self, offer: &Offer, reader: &Reader, known: &[Action]) -> Vec<Action> {
        let known: BTreeSet<&Path> = known.iter().map(|action| &*action.path).collect();
        // What only moved comes back where it was.
        let first: Vec<&Body> =
            offer.entries.values().filter(|entry| entry.stamp.size > 0).map(|entry| &entry.body).collect();
        let moved = |entry: &Entry| entry.is_file() && first.contains(&&entry.body);
        let later = offer.later.iter().filter(|(path, entry)| self.is_meant(path) && !moved(entry));
        let action = |(path, entry): (&PathBuf, &Entry)| {
            let path = self.place(path, offer);
            let now = self.now(entry, &path, offer, reader)?;
            let lost = matches!(now, Now::Gone | Now::Emptied) && !known.contains(&*path);
            lost.then(|| Action { path, now, source: Source::Kept(entry.clone()) })
        };
        later.filter_map(action).collect()
    }

    /// What git holds and is not so now.
    fn held(&self, offer: &Offer, pasts: &[Past<'_>], stage: &Stage, kept: &[Action]) -> Result<Vec<Action>> {
        if !offer.whole {
            return Ok(Vec::new());
        }
        let ours: BTreeSet<&Path> = kept.iter().map(|action| &*action.path).collect();
        let mut actions = Vec::new();
        for (number, past) in pasts.iter().enumerate() {
            let wanted = |path: &Path| {
                self.is_meant(path) && !offer.entries.contains_key(path) && !ours.contains(path)
            };
            let stage = stage.0.join(number.to_string());
            let held = past.held(&stage, &wanted).context("git, asked for what it holds")?;
            for Held { path, staged, mtime } in held {
                let path = self.place(&path, offer);
                let now = match fs::symlink_metadata(&path) {
                    _ if self.is_cut_off(&path, offer) => Now::Gone,
                    Err(_) => Now::Gone,
                    Ok(meta) if meta.is_file() && meta.len() == 0 => Now::Emptied,
                    Ok(_) => Now::Changed,
                };
                if self.wants(now) {
                    actions.push(Action { path, now, source: Source::Staged(staged, mtime) });
                }
            }
        }
        Ok(actions)
    }

    fn tell(&self, actions: &[Action], steps: &[(&Past<'_>, Vec<Step>)]) {
        const LISTED: usize = 200;
        let full = self.args.dry_run;
        let files = actions.iter().filter(|action| !is_directory(action)).take(if full {
            usize::MAX
        } else {
            LISTED
        });
        for action in files {
            println!("{:<10} {}", action.now.word(), named(&action.path));
        }
        let more = actions.iter().filter(|action| !is_directory(action)).count();
        if more > LISTED && !full {
            println!("and {} more", more - LISTED);
        }
        for (past, steps) in steps {
            for step in steps {
                println!("{:<10} {} ({})", "git", human::clean(&step.line()), named(past.root()));
            }
        }
        if actions.is_empty() && steps.is_empty() {
            match &self.paths[..] {
                [] => println!("everything that was kept is as it was"),
                paths => {
                    let names: Vec<String> = paths.iter().map(|path| named(path)).collect();
                    println!("of {} nothing was kept, or it is as it was", names.join(", "));
                }
            }
        }
    }

    fn diff(&self, actions: &[Action], reader: &Reader, offer: &Offer) -> Result<()> {
        let restorer = Restorer::new(reader, &offer.roots);
        let stage = Stage(self.store.draft());
        fs::create_dir_all(&stage.0)?;
        for (number, action) in actions.iter().enumerate().filter(|(_, action)| !is_directory(action)) {
            let file = match &action.source {
                Source::Kept(entry) => {
                    let file = stage.0.join(number.to_string());
                    restorer.show(entry, &file)?;
                    file
                }
                Source::Staged(file, _) => file.clone(),
            };
            // A link would lead elsewhere, and a FIFO has nothing to compare with, and would wait.
            let is_file = fs::symlink_metadata(&action.path).is_ok_and(|meta| meta.is_file());
            let now = if is_file && action.now != Now::Gone { &action.path } else { Path::new("/dev/null") };
            let label = named(&action.path);
            let status = Command::new("diff")
                .args([
                    "-u",
                    "--label",
                    &format!("{label} (now)"),
                    "--label",
                    &format!("{label} (kept)"),
                    "--",
                ])
                .arg(now)
                .arg(&file)
                .status();
            status.context("diff(1) is needed to show differences")?;
        }
        Ok(())
    }

    fn ask(&self) -> Result<()> {
        if self.args.yes || self.to.is_some() {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            bail!("nothing was done: add --yes, or --dry-run to look first");
        }
        eprint!("take it back? What is replaced is kept first. [y/N] ");
        io::stderr().flush()?;
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        match line.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => bail!("nothing was done"),
        }
    }

    fn go(
        &self,
        offer: &Offer,
        reader: &Reader,
        mut actions: Vec<Action>,
        steps: Vec<(&Past<'_>, Vec<Step>)>,
        pasts: &[Past<'_>],
        stage: &Stage,
    ) -> Result<bool> {
        let in_place = self.to.is_none();
        let roots = match &self.to {
            Some(to) => {
                fs::create_dir_all(to)?;
                vec![fs::canonicalize(to)?]
            }
            None => offer.roots.clone(),
        };
        let first = self.keep_first(&actions, &steps, &roots)?;
        // What could not be kept first is not replaced.
        let unkept: BTreeSet<PathBuf> = first.gaps.iter().map(|gap| gap.path.path().to_owned()).collect();
        let before = actions.len();
        actions.retain(|action| action.now == Now::Gone || !unkept.contains(&action.path));
        let mut failed = before - actions.len();
        for line in not_covered(&first.gaps) {
            eprintln!("blastradius: left as it is: {line}");
        }
        for (past, steps) in &steps {
            for (what, error) in past.apply(steps) {
                eprintln!("blastradius: {}: {error}", human::clean(&what));
                failed += 1;
            }
        }
        // Lives until the files in it are in their places.
        let again = Stage(stage.0.join("again"));
        if !steps.is_empty() {
            // A git directory that came back can give more.
            let more = self.held(offer, pasts, &again, &actions)?;
            let more = more.into_iter().filter(|action| action.now == Now::Gone).collect::<Vec<_>>();
            let known: BTreeSet<PathBuf> = actions.iter().map(|action| action.path.clone()).collect();
            actions.extend(more.into_iter().filter(|action| !known.contains(&action.path)));
        }
        let mut restorer = Restorer::new(reader, &roots);
        let changed: BTreeSet<&Path> = actions.iter().map(|action| &*action.path).collect();
        for (path, entry) in offer.entries.iter().filter(|(path, _)| in_place && !changed.contains(&***path))
        {
            restorer.is_there(entry, path);
        }
        for (path, error) in restorer.apply(&actions) {
            eprintln!("blastradius: {}: {error}", named(&path));
            failed += 1;
        }
        let files = actions.iter().filter(|action| !is_directory(action)).count();
        let state: usize = steps.iter().map(|(_, steps)| steps.len()).sum();
        if files > 0 || state == 0 {
            println!("{} of {files} files given back", files.saturating_sub(failed));
        }
        if state > 0 {
            println!("git state given back");
        }
        if let Some(kept) = first.kept.filter(|kept| kept.files > 0) {
            println!("what they replaced: blastradius undo {}", plan::shortest(self.store, &kept.id));
        }
        Ok(failed == 0)
    }

    /// Keeps what is about to be replaced, as a session of its own.
    fn keep_first(
        &self,
        actions: &[Action],
        steps: &[(&Past<'_>, Vec<Step>)],
        roots: &[PathBuf],
    ) -> Result<crate::undo::keep::Outcome> {
        let there = actions.iter().filter(|action| action.now != Now::Gone && !is_directory(action));
        let mut paths: BTreeSet<PathBuf> = there.map(|action| action.path.clone()).collect();
        paths.extend(actions.iter().filter_map(|action| in_the_way(&action.path, roots)));
        let paths: Vec<PathBuf> = paths.into_iter().collect();
        let trees: Vec<_> =
            steps.iter().map(|(past, _)| past.work_tree()).filter(|tree| tree.git_dir.exists()).collect();
        if paths.is_empty() && trees.is_empty() {
            return Ok(crate::undo::keep::Outcome { complete: true, ..Default::default() });
        }
        let system = System::current().context("the working directory cannot be read")?;
        let limits = Limits::of_environment()?.unwrap_or_default();
        let name = format!("{}-undo", log::session_name(SystemTime::now(), std::process::id()));
        let keeper = Keeper::open(self.state, &name, Arc::new(system.policy()), None, limits).context(
            "what would be replaced cannot be kept, so nothing was done (--to DIR writes elsewhere)",
        )?;
        Ok(keeper.before_undo(&paths, &trees))
    }
}

fn is_directory(action: &Action) -> bool {
    matches!(&action.source, Source::Kept(entry) if entry.body == Body::Directory)
}

/// A file or link that stands where a directory above the path was.
fn in_the_way(path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    let below = |dir: &&Path| roots.iter().any(|root| dir.starts_with(root) && *dir != root);
    path.ancestors()
        .skip(1)
        .take_while(below)
        .find(|dir| fs::symlink_metadata(dir).is_ok_and(|meta| !meta.is_dir()))
        .map(Path::to_owned)
}

/// Which directories something else stands in the way of. Asked for each object, so what is known is kept.
#[derive(Default)]
struct Ways(RefCell<HashMap<PathBuf, bool>>);

impl Ways {
    /// Whether a link or a file stands where this directory or one above it was, below a root.
    fn are_blocked(&self, directory: &Path, roots: &[PathBuf]) -> bool {
        if !roots.iter().any(|root| directory.starts_with(root) && directory != root) {
            return false;
        }
        if let Some(known) = self.0.borrow().get(directory) {
            return *known;
        }
        let here = fs::symlink_metadata(directory).is_ok_and(|meta| !meta.is_dir());
        let blocked = here || directory.parent().is_some_and(|parent| self.are_blocked(parent, roots));
        self.0.borrow_mut().insert(directory.to_owned(), blocked);
        blocked
    }
}

/// A directory of the store that goes when we are done.
struct Stage(PathBuf);

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
