//! git's index: which files can git give back?
//!
//! Read as gitformat-index(5) describes it, versions 2 to 4, without running git: an exec waits for the answer. What is not
//! understood (an index split in two) makes files unknown to git, and then they are kept.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// An object id; SHA-1 fills the first 20 bytes.
pub type ObjectId = [u8; 32];

/// One file in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    path: (u32, u32),
    ctime: (u32, u32),
    mtime: (u32, u32),
    ino: u32,
    mode: u32,
    size: u32,
    /// The blob.
    pub oid: ObjectId,
    /// It is merged, its content was really added, and git does look at it in the tree.
    settled: bool,
}

/// An index, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// All paths, one after the other.
    names: Vec<u8>,
    entries: Vec<IndexEntry>,
    /// When the index itself was written.
    written: (i64, i64),
}

impl IndexEntry {
    /// When the file was modified, when git last looked.
    pub fn modified(&self) -> (i64, i64) {
        (self.mtime.0.into(), self.mtime.1.into())
    }
}

/// `git update-index --assume-unchanged`: git neither sees that the file changed nor that it is gone.
const ASSUME_UNCHANGED: u16 = 0x8000;
const STAGE: u16 = 0x3000;
const EXTENDED: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;
/// Outside a sparse checkout, or hidden from git by hand: what lies there all the same is not given back by git.
const SKIP_WORK_TREE: u16 = 0x4000;
/// Bytes of an entry in front of its object id.
const STAT: usize = 40;

impl Index {
    /// Reads an index whose object ids have this length (20, or 32 for SHA-256).
    ///
    /// `None` if it is none that we understand.
    pub fn parse(bytes: &[u8], id_length: usize, written: (i64, i64)) -> Option<Self> {
        let mut reader = Reader { bytes, at: 0 };
        if reader.take(4)? != b"DIRC" {
            return None;
        }
        let version = reader.number()?;
        let count = reader.number()? as usize;
        if !(2..=4).contains(&version) || count > bytes.len() / STAT {
            return None;
        }
        let mut index = Self { names: Vec::new(), entries: Vec::with_capacity(count), written };
        let mut previous = Vec::new();
        for _ in 0..count {
            let start = reader.at;
            let entry = reader.entry(id_length)?;
            if version == 4 {
                let strip = reader.offset()?;
                previous.truncate(previous.len().checked_sub(strip)?);
                previous.extend_from_slice(reader.until_nul()?);
            } else {
                previous.clear();
                previous.extend_from_slice(reader.until_nul()?);
                // NUL bytes up to a multiple of eight; one of them has been read.
                let length = reader.at - start;
                reader.take((8 - length % 8) % 8)?;
            }
            let from = u32::try_from(index.names.len()).ok()?;
            index.names.extend_from_slice(&previous);
            let path = (from, u32::try_from(index.names.len()).ok()?);
            index.entries.push(IndexEntry { path, ..entry });
        }
        let sorted = index.entries.windows(2).all(|pair| index.name(&pair[0]) <= index.name(&pair[1]));
        sorted.then_some(index)
    }

    fn name(&self, entry: &IndexEntry) -> &[u8] {
        &self.names[entry.path.0 as usize..entry.path.1 as usize]
    }

    /// The paths that end so.
    pub fn ending_with<'s>(&'s self, end: &'s [u8]) -> impl Iterator<Item = &'s [u8]> {
        self.entries.iter().map(|entry| self.name(entry)).filter(move |name| name.ends_with(end))
    }

    /// Paths and blobs.
    pub fn contents(&self) -> Vec<(Vec<u8>, ObjectId)> {
        self.entries.iter().map(|entry| (self.name(entry).to_vec(), entry.oid)).collect()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of a path relative to the work tree.
    pub fn find(&self, path: &[u8]) -> Option<&IndexEntry> {
        let at = self.entries.partition_point(|entry| self.name(entry) < path);
        self.entries.get(at).filter(|entry| self.name(entry) == path)
    }

    /// Whether anything below a directory is tracked.
    pub fn has_below(&self, directory: &[u8]) -> bool {
        let prefix = [directory, b"/"].concat();
        let at = self.entries.partition_point(|entry| self.name(entry) < &prefix[..]);
        self.entries.get(at).is_some_and(|entry| self.name(entry).starts_with(&prefix))
    }

    /// Whether git holds the content that the file has now.
    ///
    /// Yes: nothing that stat(2) shows has changed since git read it, and git read it before it wrote the index (else a change
    /// in the same tick would not show; git calls that racy). Perhaps: the stat data say nothing, and the content must be asked.
    pub fn holds(&self, entry: &IndexEntry, meta: &Metadata) -> Held {
        let kind = match meta.mode() & libc::S_IFMT {
            libc::S_IFREG => meta.mode() & 0o100 == entry.mode & 0o100 && entry.mode & 0o170_000 == 0o100_000,
            libc::S_IFLNK => entry.mode == 0o120_000,
            _ => false,
        };
        // git writes size 0 for what it must look at again.
        let size = entry.size == meta.len() as u32 || entry.size == 0;
        if !entry.settled || !kind || !size {
            return Held::No;
        }
        let time = |seconds: i64, nanoseconds: i64| (seconds as u32, nanoseconds as u32);
        let (seconds, nanoseconds) = self.written;
        let before =
            (i64::from(entry.mtime.0), i64::from(entry.mtime.1)) < (seconds & 0xffff_ffff, nanoseconds);
        let same = entry.size == meta.len() as u32
            && entry.ino == meta.ino() as u32
            && entry.mtime == time(meta.mtime(), meta.mtime_nsec())
            && entry.ctime == time(meta.ctime(), meta.ctime_nsec());
        if before && same { Held::Yes } else { Held::Perhaps }
    }
}

/// Whether git holds a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It does.
    Yes,
    /// Only the content can tell.
    Perhaps,
    /// It does not.
    No,
}

/// The id that git gives a blob.
pub fn blob_id(content: &[u8], sha256: bool) -> ObjectId {
    let header = format!("blob {}\0", content.len());
    let mut id = ObjectId::default();
    if sha256 {
        let hex = crate::policy::digest::sha256(&[header.as_bytes(), content].concat());
        id.copy_from_slice(&super::name::unhex(&hex).unwrap_or_default());
    } else {
        use sha1::Digest as _;
        let mut hash = sha1::Sha1::new();
        hash.update(header.as_bytes());
        hash.update(content);
        id[..20].copy_from_slice(&hash.finalize());
    }
    id
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn until_nul(&mut self) -> Option<&'a [u8]> {
        let length = self.bytes.get(self.at..)?.iter().position(|byte| *byte == 0)?;
        let taken = self.take(length)?;
        self.take(1)?;
        Some(taken)
    }

    /// The variable-width number of packs' deltas (gitformat-pack(5), "offset encoding").
    fn offset(&mut self) -> Option<usize> {
        let mut byte = *self.take(1)?.first()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.take(1)?.first()?;
            value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        }
        Some(value)
    }

    /// Everything of an entry but its path.
    fn entry(&mut self, id_length: usize) -> Option<IndexEntry> {
        let ctime = (self.number()?, self.number()?);
        let mtime = (self.number()?, self.number()?);
        self.number()?; // the device, which git itself does not trust
        let ino = self.number()?;
        let mode = self.number()?;
        self.number()?; // owner
        self.number()?; // group
        let size = self.number()?;
        let mut oid = ObjectId::default();
        oid.get_mut(..id_length)?.copy_from_slice(self.take(id_length)?);
        let flags = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        let extended = match flags & EXTENDED {
            0 => 0,
            _ => u16::from_be_bytes(self.take(2)?.try_into().ok()?),
        };
        let settled =
            flags & (STAGE | ASSUME_UNCHANGED) == 0 && extended & (INTENT_TO_ADD | SKIP_WORK_TREE) == 0;
        Some(IndexEntry { path: (0, 0), ctime, mtime, ino, mode, size, oid, settled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(dir).args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"]).args(args);
        let done = command.env("GIT_CONFIG_GLOBAL", "/dev/null").status().expect("git runs");
        assert!(done.success(), "git {args:?}");
    }

    fn read(dir: &Path, id_length: usize) -> Index {
        let path = dir.join(".git/index");
        let meta = fs::metadata(&path).expect("an index");
        let bytes = fs::read(&path).expect("readable");
        Index::parse(&bytes, id_length, (meta.mtime(), meta.mtime_nsec())).expect("understood")
    }

    fn holds(dir: &Path, index: &Index, name: &str) -> bool {
        let meta = fs::symlink_metadata(dir.join(name)).expect("there");
        index.find(name.as_bytes()).is_some_and(|entry| index.holds(entry, &meta) == Held::Yes)
    }

    #[test]
    fn every_version_and_hash_tells_what_git_holds() {
        for (version, format, id_length) in
            [("2", "sha1", 20), ("3", "sha1", 20), ("4", "sha1", 20), ("4", "sha256", 32)]
        {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let dir = dir.path();
            git(dir, &["init", "-q", "--object-format", format]);
            fs::create_dir(dir.join("src")).expect("made");
            for name in ["a", "src/changed", "src/clean", "with space"] {
                fs::write(dir.join(name), name).expect("written");
            }
            std::os::unix::fs::symlink("a", dir.join("link")).expect("made");
            git(dir, &["add", "."]);
            fs::write(dir.join("later"), "x").expect("written");
            git(dir, &["add", "-N", "later"]);
            // So that no file is as young as the index.
            std::thread::sleep(std::time::Duration::from_millis(30));
            git(dir, &["update-index", "--index-version", version, "--force-write-index"]);
            fs::write(dir.join("src/changed"), "other").expect("written");
            let index = read(dir, id_length);
            assert_eq!(index.len(), 6, "version {version}");
            for clean in ["a", "src/clean", "with space", "link"] {
                assert!(holds(dir, &index, clean), "version {version}: {clean}");
            }
            assert!(!holds(dir, &index, "src/changed"), "version {version}");
            let known = index.find(b"src/clean").expect("tracked").oid;
            assert_eq!(blob_id(b"src/clean", format == "sha256"), known);
            assert!(!holds(dir, &index, "later"), "version {version}: intent to add");
            assert!(index.find(b"sr").is_none() && index.find(b"src/none").is_none());
            assert!(index.has_below(b"src") && !index.has_below(b"sr") && !index.has_below(b"a"));
        }
    }

    #[test]
    fn a_file_as_young_as_the_index_is_not_trusted() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dir = dir.path();
        git(dir, &["init", "-q"]);
        fs::write(dir.join("a"), "1").expect("written");
        git(dir, &["add", "a"]);
        let meta = fs::metadata(dir.join("a")).expect("there");
        let bytes = fs::read(dir.join(".git/index")).expect("readable");
        let index = Index::parse(&bytes, 20, (meta.mtime(), meta.mtime_nsec())).expect("understood");
        let entry = index.find(b"a").expect("tracked");
        assert_eq!(index.holds(entry, &meta), Held::Perhaps);
    }

    #[test]
    fn any_cut_of_an_index_is_refused_or_read_without_harm() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dir = dir.path();
        git(dir, &["init", "-q"]);
        for name in ["a", "b"] {
            fs::write(dir.join(name), name).expect("written");
        }
        git(dir, &["add", "."]);
        let bytes = fs::read(dir.join(".git/index")).expect("readable");
        for length in 0..bytes.len() {
            let _ = Index::parse(&bytes[..length], 20, (0, 0));
            let mut changed = bytes.clone();
            changed[length] = !changed[length];
            let _ = Index::parse(&changed, 32, (0, 0));
            let _ = Index::parse(&changed, 20, (0, 0));
        }
        assert!(Index::parse(b"DIRC\0\0\0\x02\xff\xff\xff\xff", 20, (0, 0)).is_none());
    }
}
