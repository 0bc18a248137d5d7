//! What can be given back, and what is there now?

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::blob::Digest;
use super::content::stretches;
use super::object::{Body, Entry, Part, Stamp};
use super::set::{Occasion, Repository, SessionFiles, Set};
use super::store::{Reader, Store};
use super::xattr::{self, is_peoples};
use crate::system::regular;

/// What stands in an object's place now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    /// Nothing.
    Gone,
    /// Nothing is left of its content.
    Emptied,
    /// Something else.
    Changed,
    /// The same content with another mode, owner or time.
    Attributes,
}

impl Now {
    /// One word, for lists.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Emptied => "emptied",
            Self::Changed => "changed",
            Self::Attributes => "attributes",
        }
    }
}

/// What a session, or one keeping of it, can give back.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// The first kept state of each object: for a session, how it was when that began.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// The latest kept state of what came later. Given back only where it is gone.
    pub later: BTreeMap<PathBuf, Entry>,
    /// Where scope began.
    pub roots: Vec<PathBuf>,
    /// Files of git directories, oldest set first.
    pub git: Vec<(Repository, Vec<Entry>)>,
    /// Whole sessions give back what git holds, too.
    pub whole: bool,
}

/// Which sets an id names.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Their files, oldest first.
    pub sets: Vec<PathBuf>,
    /// It is a whole session.
    pub whole: bool,
}

/// Finds a session or a set by its id, the beginning of it, or the session's name.
///
/// # Errors
/// A sentence, if nothing or several things are called so.
pub fn choose(store: &Store, id: &str) -> Result<Chosen, String> {
    let mut found: Vec<Chosen> = Vec::new();
    for session in store.sessions() {
        let SessionFiles { name, sets, .. } = session;
        if name == id || super::set::id_of(&name, None).starts_with(id) {
            found.push(Chosen { sets: sets.clone(), whole: true });
        }
        for set in sets {
            if Set::read_header(&set).is_ok_and(|header| header.id.starts_with(id)) {
                found.push(Chosen { sets: vec![set], whole: false });
            }
        }
    }
    match found.len() {
        0 => Err(format!("nothing kept is called {id}; `blastradius undo` lists what there is")),
        1 => Ok(found.remove(0)),
        several => Err(format!("{id} is the beginning of {several} ids; give more of it")),
    }
}

/// Reads what the chosen sets can give back.
///
/// # Errors
/// If a set cannot be read.
pub fn offer(chosen: &Chosen) -> io::Result<Offer> {
    let mut offer = Offer { whole: chosen.whole, ..Offer::default() };
    let mut started = false;
    for path in &chosen.sets {
        let Set { header, entries } = Set::read(path)?;
        for root in header.roots {
            let root = root.into_path();
            if !offer.roots.contains(&root) {
                offer.roots.push(root);
            }
        }
        let (tree, git): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|entry| entry.part == Part::Tree);
        let tree = tree.into_iter().map(|entry| (entry.path.path().to_owned(), entry));
        match header.occasion {
            _ if chosen.whole && started => offer.later.extend(tree),
            _ => tree.for_each(|(path, entry)| {
                offer.entries.entry(path).or_insert(entry);
            }),
        }
        started |= header.occasion == Occasion::Start;
        for repository in header.repositories {
            let (own, common) = (repository.git_dir.path(), repository.common_dir.path());
            let inside = |entry: &&Entry| {
                let path = entry.path.path();
                path.starts_with(own) || path.starts_with(common)
            };
            offer.git.push((repository.clone(), git.iter().filter(inside).cloned().collect()));
        }
    }
    offer.later.retain(|path, _| !offer.entries.contains_key(path));
    Ok(offer)
}

/// Whether and how an object differs from what was kept; `None`: it does not.
pub fn compare(entry: &Entry, at: &Path, reader: &Reader) -> Option<Now> {
    let Ok(meta) = fs::symlink_metadata(at) else { return Some(Now::Gone) };
    if Stamp::of(&meta) == entry.stamp {
        return None;
    }
    let same = match &entry.body {
        Body::Directory => meta.is_dir(),
        Body::Link(target) => fs::read_link(at).is_ok_and(|now| now == target.path()),
        Body::Fifo => meta.mode() & libc::S_IFMT == libc::S_IFIFO,
        Body::File(_) | Body::Clone(_) if !meta.is_file() => false,
        Body::File(_) | Body::Clone(_) if meta.len() == 0 && entry.stamp.size > 0 => {
            return Some(Now::Emptied);
        }
        Body::File(_) | Body::Clone(_) if meta.len() != entry.stamp.size => false,
        Body::File(pieces) => regular::open(at).is_ok_and(|file| {
            let equal = pieces.iter().all(|piece| {
                let mut now = vec![0; piece.length as usize];
                file.read_exact_at(&mut now, piece.at).is_ok() && Digest::of(&now) == piece.blob
            });
            let covered = |(start, end): (u64, u64)| {
                let reach = |at: u64, piece: &super::object::Piece| {
                    if piece.at <= at { at.max(piece.at + piece.length) } else { at }
                };
                pieces.iter().fold(start, reach) >= end
            };
            equal && stretches(&file, &meta).into_iter().all(covered)
        }),
        Body::Clone(digest) => reader.clone_file(digest).is_ok_and(|kept| same_content(&kept, at)),
    };
    if !same {
        return Some(Now::Changed);
    }
    let attributes = match entry.body {
        Body::Directory => is_as(entry, &meta, false) && has_xattrs(entry, at),
        // A link's mode says nothing.
        Body::Link(_) => true,
        _ => is_as(entry, &meta, true) && has_xattrs(entry, at),
    };
    (!attributes).then_some(Now::Attributes)
}

fn is_as(entry: &Entry, meta: &Metadata, times: bool) -> bool {
    let mode = meta.permissions().mode() & 0o7777 == entry.mode & 0o7777;
    // Only root can give a file back to whom it belonged.
    let owner = !nix::unistd::geteuid().is_root() || (meta.uid(), meta.gid()) == (entry.uid, entry.gid);
    mode && owner && (!times || (meta.mtime(), meta.mtime_nsec()) == entry.stamp.mtime)
}

/// Whether the extended attributes are those that were kept, no more and no less.
fn has_xattrs(entry: &Entry, at: &Path) -> bool {
    let mut kept: Vec<(&[u8], &[u8])> = entry
        .xattrs
        .iter()
        .map(|(name, value)| (&*name.0, &*value.0))
        .filter(|(name, _)| is_peoples(name))
        .collect();
    let mut now = xattr::read(at);
    now.retain(|(name, _)| is_peoples(name));
    kept.sort_unstable();
    now.sort_unstable();
    kept.into_iter().eq(now.iter().map(|(name, value)| (&**name, &**value)))
}

fn same_content(kept: &File, at: &Path) -> bool {
    let Ok(now) = regular::open(at) else { return false };
    let (mut left, mut right) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    let mut offset = 0;
    loop {
        let (Ok(a), Ok(b)) = (kept.read_at(&mut left, offset), now.read_at(&mut right, offset)) else {
            return false;
        };
        if a != b || left[..a] != right[..b] {
            return false;
        }
        if a == 0 {
            return true;
        }
        offset += a as u64;
    }
}

/// The shortest beginning of an id that is no other's, four digits at least.
pub fn shortest(store: &Store, id: &str) -> String {
    let mut others = Vec::new();
    for session in store.sessions() {
        others.push(super::set::id_of(&session.name, None));
        others.extend(
            (0..session.sets.len() as u32).map(|number| super::set::id_of(&session.name, Some(number))),
        );
    }
    let clash = |length: &usize| others.iter().any(|other| other != id && other.starts_with(&id[..*length]));
    let length = (4..id.len()).find(|length| !clash(length)).unwrap_or(id.len());
    id[..length].to_owned()
}
