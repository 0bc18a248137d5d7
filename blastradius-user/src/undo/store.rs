//! The store: where it lies, who may use it at once, and what is in it.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::blob::Digest;
use super::pack::{self, Pack, Writer};
use super::set::SessionFiles;

/// The store's name in the state directory.
pub const NAME: &str = "undo";

/// A pack is closed when it has grown to this: what is lost by a full disk is at most one pack.
const ROLL: u64 = 32 << 20;

/// The directories of the store.
const ROOMS: &[&str] = &["packs", "clones", "objects", "sessions", "drafts"];

/// An open store.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    /// The digests in all packs, once they were asked for, and the generation in which they were read.
    known: Option<(Vec<u8>, HashSet<Digest>)>,
}

/// A lock on the store, as long as it lives; a process that is killed gives it back.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Store {
    /// Opens the store in `state`, the state directory, and makes what is not there.
    ///
    /// # Errors
    /// If it cannot be made or written.
    pub fn open(state: &Path) -> io::Result<Self> {
        let root = state.join(NAME);
        for room in ROOMS {
            DirBuilder::new().recursive(true).mode(0o700).create(root.join(room))?;
        }
        let store = Self { root, known: None };
        // Asked now: that nothing can be kept must be known before anything is lost.
        drop(store.share()?);
        let probe = store.draft();
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&probe)?;
        fs::remove_file(probe)?;
        Ok(store)
    }

    /// The store in `state` for reading; `None` if nothing was ever kept.
    pub fn existing(state: &Path) -> Option<Self> {
        let root = state.join(NAME);
        root.join("sessions").is_dir().then_some(Self { root, known: None })
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// One of its rooms.
    pub fn room(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A name for something that is not finished.
    pub fn draft(&self) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.root.join("drafts").join(format!("{}-{number}", std::process::id()))
    }

    /// Holds the store with others who add to it or read it.
    ///
    /// # Errors
    /// If the lock cannot be had.
    pub fn share(&self) -> io::Result<Lock> {
        self.lock(libc::LOCK_SH)
    }

    /// Holds the store alone.
    ///
    /// # Errors
    /// EWOULDBLOCK if others hold it.
    pub fn hold(&self) -> io::Result<Lock> {
        self.lock(libc::LOCK_EX | libc::LOCK_NB)
    }

    fn lock(&self, how: libc::c_int) -> io::Result<Lock> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.root.join("lock"))?;
        // SAFETY: takes a descriptor, which is open.
        match unsafe { libc::flock(file.as_raw_fd(), how) } {
            0 => Ok(Lock { _file: file }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The sessions, oldest first: their names begin with the time.
    pub fn sessions(&self) -> Vec<SessionFiles> {
        let entries = fs::read_dir(self.root.join("sessions")).into_iter().flatten();
        let mut sessions: Vec<SessionFiles> =
            entries.filter_map(|entry| SessionFiles::read(entry.ok()?.path())).collect();
        sessions.sort_by(|left, right| left.name.cmp(&right.name));
        sessions
    }

    /// The files of all packs.
    pub fn packs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root.join("packs")).into_iter().flatten();
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.filter(|path| path.extension().is_some_and(|ext| ext == pack::EXTENSION)).collect()
    }

    /// Which cleaning the packs have seen: after another one, digests that were known may be gone.
    fn generation(&self) -> Vec<u8> {
        fs::read(self.root.join("generation")).unwrap_or_default()
    }

    /// Notes that contents were let go of.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn advance(&self) -> io::Result<()> {
        let draft = self.draft();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        fs::write(&draft, format!("{}-{}", now.as_nanos(), std::process::id()))?;
        fs::rename(draft, self.root.join("generation"))
    }

    /// The digests that need not be stored again. To be asked under a lock.
    fn known(&mut self) -> &mut HashSet<Digest> {
        let generation = self.generation();
        let stale = self.known.as_ref().is_none_or(|(read, _)| *read != generation);
        if stale {
            let mut digests = HashSet::new();
            for path in self.packs() {
                // A damaged pack gives nothing, so what it held is stored again.
                if let Ok(pack) = Pack::open(&path) {
                    digests.extend(pack.places().keys().copied());
                }
            }
            self.known = Some((generation, digests));
        }
        // Just set, if it was not there.
        &mut self.known.get_or_insert_with(Default::default).1
    }

    /// Whether a kept object can still be given back. To be asked under a lock.
    pub fn holds(&mut self, entry: &super::object::Entry) -> bool {
        if let super::object::Body::Clone(digest) = &entry.body {
            return self.clone_path(digest).exists();
        }
        let known = self.known();
        entry.blobs().all(|blob| known.contains(&blob))
    }

    /// Where a clone lies.
    pub fn clone_path(&self, digest: &Digest) -> PathBuf {
        self.root.join("clones").join(digest.hex())
    }

    /// Begins to add contents.
    ///
    /// # Errors
    /// If the store cannot be locked.
    pub fn batch(&mut self) -> io::Result<Batch<'_>> {
        let lock = self.share()?;
        Ok(Batch { store: self, writer: None, pending: HashSet::new(), added: 0, _lock: lock })
    }

    /// Bytes that the store takes.
    pub fn usage(&self) -> u64 {
        ["packs", "clones", "sessions"].iter().map(|room| disk_usage(&self.root.join(room))).sum()
    }

    /// Bytes that may still be written, if so many per cent of the file system are to stay free.
    pub fn room_left(&self, free_percent: u64) -> u64 {
        match nix::sys::statvfs::statvfs(&self.root) {
            Ok(fs) => {
                let unit = fs.fragment_size();
                let floor = fs.blocks() * unit / 100 * free_percent;
                (fs.blocks_available() * unit).saturating_sub(floor)
            }
            // The writes themselves will tell.
            Err(_) => u64::MAX,
        }
    }
}

/// Bytes on disk below a directory, links not followed.
pub fn disk_usage(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => disk_usage(&entry.path()),
        Ok(meta) => meta.blocks() * 512,
        Err(_) => 0,
    });
    sizes.sum()
}

/// Contents being added.
pub struct Batch<'s> {
    store: &'s mut Store,
    writer: Option<Writer>,
    pending: HashSet<Digest>,
    added: u64,
    _lock: Lock,
}

impl Batch<'_> {
    /// The store.
    pub fn store(&mut self) -> &mut Store {
        self.store
    }

    /// Adds a content, if it is not there.
    ///
    /// # Errors
    /// If it cannot be written. What was not closed before is then not kept.
    pub fn put(&mut self, content: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(content);
        if self.pending.contains(&digest) || self.store.known().contains(&digest) {
            return Ok(digest);
        }
        if self.writer.is_none() {
            self.writer = Some(Writer::begin(&self.store.room("packs"), self.store.draft())?);
        }
        if let Some(writer) = &mut self.writer {
            writer.add(digest, content)?;
            self.pending.insert(digest);
        }
        Ok(digest)
    }

    /// Whether the pack is large enough to be closed.
    pub fn is_full(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.size() >= ROLL)
    }

    /// Bytes that were added to the disk.
    pub fn added(&self) -> u64 {
        self.added + self.writer.as_ref().map_or(0, Writer::size)
    }

    /// Counts bytes that were added by other ways.
    pub fn count(&mut self, bytes: u64) {
        self.added += bytes;
    }

    /// Closes the pack: what was put is safe now.
    ///
    /// # Errors
    /// If it cannot be written; what was put since the last closing is then not kept.
    pub fn close(&mut self) -> io::Result<()> {
        self.pending.clear();
        let Some(writer) = self.writer.take() else { return Ok(()) };
        self.added += writer.size();
        let digests = writer.finish()?;
        self.store.known().extend(digests);
        Ok(())
    }

    /// Gives up what was not closed.
    pub fn abandon(&mut self) {
        self.pending.clear();
        self.writer = None;
    }
}

/// Reads contents back.
pub struct Reader {
    packs: Vec<Pack>,
    place: HashMap<Digest, usize>,
    clones: PathBuf,
    _lock: Lock,
}

impl Reader {
    /// Opens all packs of a store, which is not cleaned meanwhile.
    ///
    /// # Errors
    /// If the store cannot be locked. A pack that cannot be read gives nothing.
    pub fn open(store: &Store) -> io::Result<Self> {
        let lock = store.share()?;
        let packs: Vec<Pack> = store.packs().iter().filter_map(|path| Pack::open(path).ok()).collect();
        let digests = |(number, pack): (usize, &Pack)| -> Vec<(Digest, usize)> {
            pack.places().keys().map(|digest| (*digest, number)).collect()
        };
        let place = packs.iter().enumerate().flat_map(digests).collect();
        Ok(Self { packs, place, clones: store.room("clones"), _lock: lock })
    }

    /// A content.
    ///
    /// # Errors
    /// If it is not there or damaged.
    pub fn get(&self, digest: &Digest) -> io::Result<Vec<u8>> {
        let pack = self.place.get(digest).map(|&number| &self.packs[number]);
        let content = pack.map(|pack| pack.get(digest)).transpose()?.flatten();
        content.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "its content is not in the store"))
    }

    /// The file of a clone.
    ///
    /// # Errors
    /// If it is not there.
    pub fn clone_file(&self, digest: &Digest) -> io::Result<File> {
        File::open(self.clones.join(digest.hex()))
    }
}
