//! What is let go of?

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use super::blob::Digest;
use super::limits::Limits;
use super::object::Body;
use super::pack::{Pack, Writer};
use super::set::{SessionFiles, Set};
use super::store::{Store, disk_usage};

/// A store is cleared down to so many quarters of its limit, so that a new session finds room.
const QUARTERS: u64 = 3;

/// How long a lock that others hold is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lets go of sessions that are too old, and of the oldest while the store is too large. Returns what it takes now.
///
/// Whoever holds the store goes on; then nothing is let go of now.
pub fn expire(store: &Store, limits: &Limits) -> u64 {
    let sessions = store.sessions();
    let mut usage = store.usage();
    let old = sessions.iter().take_while(|session| is_older(session, limits.age)).count();
    let target = limits.store / 4 * QUARTERS;
    let mut gone = old;
    if (old > 0 || usage > target) && !sessions.is_empty() {
        let Ok(_lock) = store.hold() else { return usage };
        let mut step = 1;
        remove(&sessions[..old]);
        let _ = sweep_held(store, false);
        usage = store.usage();
        while usage > target && gone < sessions.len() {
            let end = sessions.len().min(gone + step);
            remove(&sessions[gone..end]);
            (gone, step) = (end, step * 2);
            let _ = sweep_held(store, false);
            usage = store.usage();
        }
    }
    usage
}

fn is_older(session: &SessionFiles, age: Duration) -> bool {
    let written = session.sets.last().and_then(|path| fs::metadata(path).ok()?.modified().ok());
    let since = written.and_then(|written| SystemTime::now().duration_since(written).ok());
    since.is_some_and(|since| since > age)
}

fn remove(sessions: &[SessionFiles]) {
    for session in sessions {
        // What cannot be removed stays, and is counted.
        let _ = fs::remove_dir_all(&session.directory);
    }
}

/// What cleaning gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Bytes on disk before.
    pub before: u64,
    /// And after.
    pub after: u64,
}

/// Removes what no set names.
///
/// # Errors
/// If others hold the store, or a set cannot be read: then nothing may be removed.
pub fn sweep(store: &Store) -> io::Result<Swept> {
    let _lock = wait(store)?;
    sweep_held(store, false)
}

fn wait(store: &Store) -> io::Result<super::store::Lock> {
    let begun = Instant::now();
    loop {
        match store.hold() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other,
        }
    }
}

#[derive(Default)]
struct Live {
    blobs: HashSet<Digest>,
    clones: HashSet<Digest>,
    objects: HashSet<String>,
}

fn live(store: &Store) -> io::Result<Live> {
    let mut live = Live::default();
    for path in store.sessions().iter().flat_map(|session| &session.sets) {
        let set = Set::read(path)?;
        live.objects.extend(set.header.repositories.into_iter().filter_map(|repository| repository.objects));
        for entry in &set.entries {
            live.blobs.extend(entry.blobs());
            if let Body::Clone(digest) = entry.body {
                live.clones.insert(digest);
            }
        }
    }
    Ok(live)
}

/// Removes what no set names; `thorough`: also what shares a pack with something that is still named.
fn sweep_held(store: &Store, thorough: bool) -> io::Result<Swept> {
    let before = store.usage();
    let live = live(store)?;
    // Before anything goes: whoever knew these contents must look again.
    store.advance()?;
    for path in store.packs() {
        sweep_pack(store, &path, &live, thorough)?;
    }
    for entry in fs::read_dir(store.room("clones"))?.filter_map(Result::ok) {
        let digest = entry.file_name().to_str().and_then(Digest::from_hex);
        if digest.is_none_or(|digest| !live.clones.contains(&digest)) {
            fs::remove_file(entry.path())?;
        }
    }
    for entry in fs::read_dir(store.room("objects"))?.filter_map(Result::ok) {
        if entry.file_name().to_str().is_none_or(|name| !live.objects.contains(name)) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    // Nobody writes while we hold the store, so these were left by someone who was killed.
    for entry in fs::read_dir(store.room("drafts"))?.filter_map(Result::ok) {
        let path = entry.path();
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    Ok(Swept { before, after: store.usage() })
}

fn sweep_pack(store: &Store, path: &Path, live: &Live, thorough: bool) -> io::Result<()> {
    // A damaged pack may hold something that a later repair finds; it stays.
    let Ok(pack) = Pack::open(path) else { return Ok(()) };
    let size = |wanted: bool| -> u64 {
        let places = pack.places().iter().filter(|(digest, _)| live.blobs.contains(digest) == wanted);
        places.map(|(_, place)| place.stored).sum()
    };
    let is_live = |digest: &Digest| live.blobs.contains(digest);
    let any_live = pack.places().keys().any(is_live);
    let any_dead = !pack.places().keys().all(is_live);
    if !any_live {
        return fs::remove_file(path);
    }
    if any_dead && (thorough || size(false) > size(true)) {
        let mut writer = Writer::begin(&store.room("packs"), store.draft())?;
        pack.copy_to(&mut writer, &is_live)?;
        writer.finish()?;
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Drops every kept trace of what lies at or below a path. Returns how many objects that were.
///
/// # Errors
/// If others hold the store, or a set cannot be read or written.
pub fn forget(store: &Store, path: &Path) -> io::Result<usize> {
    let _lock = wait(store)?;
    let mut dropped = 0;
    for file in store.sessions().iter().flat_map(|session| &session.sets) {
        let mut set = Set::read(file)?;
        let before = set.entries.len();
        set.entries.retain(|entry| !entry.path.path().starts_with(path));
        if set.entries.len() < before {
            dropped += before - set.entries.len();
            let files =
                set.entries.iter().filter(|entry| entry.part == super::object::Part::Tree && entry.is_file());
            (set.header.files, set.header.bytes) =
                files.fold((0, 0), |(files, bytes), entry| (files + 1, bytes + entry.stamp.size));
            set.write(file, &store.draft(), true)?;
        }
    }
    if dropped > 0 {
        sweep_held(store, true)?;
    }
    Ok(dropped)
}

/// What each room takes, for people.
pub fn usage(store: &Store) -> Vec<(&'static str, u64)> {
    ["packs", "clones", "objects", "sessions"].map(|room| (room, disk_usage(&store.room(room)))).into()
}
