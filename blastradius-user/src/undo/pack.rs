//! Packs: many contents in one file, so that keeping a thousand files costs one sync.
//!
//! ```text
//! "brpack01"  content…  entry…  number of entries (8)  digest of the entries (32)  "brpackXX"
//! entry = digest (32)  offset (8)  stored length (8)  length (8)  form (1)
//! ```
//!
//! A pack is never changed. It gets its name only when it is whole and on disk.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::blob::{Digest, Form, expand, squeeze};

const HEAD: &[u8; 8] = b"brpack01";
const TAIL: &[u8; 8] = b"brpackXX";
const ENTRY: usize = Digest::SIZE + 8 + 8 + 8 + 1;
const FOOTER: usize = 8 + Digest::SIZE + 8;
/// More entries than this are in no pack that we wrote.
const MOST: u64 = 10_000_000;

/// What a pack's file is called.
pub const EXTENSION: &str = "pack";

/// Where a content lies in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    offset: u64,
    /// Bytes in the pack.
    pub stored: u64,
    /// Bytes of the content.
    pub length: u64,
    form: Form,
}

/// A pack being written.
pub struct Writer {
    draft: PathBuf,
    directory: PathBuf,
    file: BufWriter<File>,
    at: u64,
    entries: Vec<(Digest, Place)>,
}

impl Writer {
    /// Begins a pack in `directory`.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn begin(directory: &Path, draft: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        let mut writer = Self {
            draft,
            directory: directory.to_owned(),
            file: BufWriter::with_capacity(256 << 10, file),
            at: 0,
            entries: Vec::new(),
        };
        writer.put(HEAD)?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Bytes so far.
    pub fn size(&self) -> u64 {
        self.at
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a content.
    ///
    /// # Errors
    /// If it cannot be written; the pack is then good for nothing.
    pub fn add(&mut self, digest: Digest, content: &[u8]) -> io::Result<()> {
        let (form, stored) = squeeze(content);
        let place =
            Place { offset: self.at, stored: stored.len() as u64, length: content.len() as u64, form };
        self.put(&stored)?;
        self.entries.push((digest, place));
        Ok(())
    }

    /// Adds a content in the form in which another pack holds it.
    fn add_stored(&mut self, digest: Digest, place: Place, stored: &[u8]) -> io::Result<()> {
        let place = Place { offset: self.at, ..place };
        self.put(stored)?;
        self.entries.push((digest, place));
        Ok(())
    }

    /// Writes the table, syncs and gives the pack its name. Returns the digests in it.
    ///
    /// # Errors
    /// If it cannot be written; then there is no pack.
    pub fn finish(mut self) -> io::Result<Vec<Digest>> {
        let mut table = Vec::with_capacity(self.entries.len() * ENTRY);
        for (digest, place) in &self.entries {
            table.extend_from_slice(&digest.0);
            for number in [place.offset, place.stored, place.length] {
                table.extend_from_slice(&number.to_le_bytes());
            }
            table.push(place.form.number());
        }
        let digest = Digest::of(&table);
        let count = (self.entries.len() as u64).to_le_bytes();
        for part in [&table[..], &count, &digest.0, TAIL] {
            self.put(part)?;
        }
        self.file.flush()?;
        self.file.get_ref().sync_data()?;
        let name = self.directory.join(digest.hex()).with_extension(EXTENSION);
        fs::rename(&self.draft, name)?;
        Ok(std::mem::take(&mut self.entries).into_iter().map(|(digest, _)| digest).collect())
    }
}

impl Drop for Writer {
    /// What was not finished leaves nothing behind; after [`Writer::finish`] the name is gone already.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.draft);
    }
}

/// A finished pack.
pub struct Pack {
    file: File,
    path: PathBuf,
    places: HashMap<Digest, Place>,
}

impl Pack {
    /// Opens a pack and reads its table.
    ///
    /// # Errors
    /// If it cannot be read, or is no pack.
    pub fn open(path: &Path) -> io::Result<Self> {
        let damaged =
            |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()));
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let footer_at = size.checked_sub(FOOTER as u64).ok_or_else(|| damaged("too short for a pack"))?;
        let mut footer = [0; FOOTER];
        file.read_exact_at(&mut footer, footer_at)?;
        let (count, rest) = footer.split_at(8);
        let count = u64::from_le_bytes(count.try_into().unwrap_or_default());
        if &rest[Digest::SIZE..] != TAIL || count > MOST {
            return Err(damaged("does not end as a pack does"));
        }
        let table_at = footer_at
            .checked_sub(count * ENTRY as u64)
            .ok_or_else(|| damaged("names more contents than it can hold"))?;
        let mut table = vec![0; count as usize * ENTRY];
        file.read_exact_at(&mut table, table_at)?;
        if Digest::of(&table).0 != rest[..Digest::SIZE] {
            return Err(damaged("its table is damaged"));
        }
        let places = table.chunks_exact(ENTRY).filter_map(entry).collect();
        Ok(Self { file, path: path.to_owned(), places })
    }

    /// What it holds.
    pub fn places(&self) -> &HashMap<Digest, Place> {
        &self.places
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A content; `None`: it is not here.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn get(&self, digest: &Digest) -> io::Result<Option<Vec<u8>>> {
        let Some(place) = self.places.get(digest) else { return Ok(None) };
        let content = expand(place.form, self.stored(place)?, place.length as usize)?;
        match Digest::of(&content) == *digest {
            true => Ok(Some(content)),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{}: a content is damaged", self.path.display()),
            )),
        }
    }

    fn stored(&self, place: &Place) -> io::Result<Vec<u8>> {
        let mut stored = Vec::new();
        // Not read_exact into a buffer of the stated size: a damaged size must not allocate it.
        let mut part = FilePart { file: &self.file, at: place.offset }.take(place.stored);
        part.read_to_end(&mut stored)?;
        Ok(stored)
    }

    /// Writes the contents that `wanted` names into another pack.
    ///
    /// # Errors
    /// If one cannot be read or written.
    pub fn copy_to(&self, writer: &mut Writer, wanted: &dyn Fn(&Digest) -> bool) -> io::Result<()> {
        for (digest, place) in self.places.iter().filter(|(digest, _)| wanted(digest)) {
            writer.add_stored(*digest, *place, &self.stored(place)?)?;
        }
        Ok(())
    }
}

struct FilePart<'a> {
    file: &'a File,
    at: u64,
}

impl io::Read for FilePart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn entry(bytes: &[u8]) -> Option<(Digest, Place)> {
    let (digest, rest) = bytes.split_at(Digest::SIZE);
    let number =
        |at: usize| rest.get(at * 8..at * 8 + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    let form = Form::by_number(*rest.last()?)?;
    let place = Place { offset: number(0)?, stored: number(1)?, length: number(2)?, form };
    Some((Digest(digest.try_into().ok()?), place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(dir: &Path, contents: &[&[u8]]) -> PathBuf {
        let mut writer = Writer::begin(dir, dir.join("draft")).expect("begun");
        for content in contents {
            writer.add(Digest::of(content), content).expect("added");
        }
        writer.finish().expect("finished");
        let mut packs = fs::read_dir(dir).expect("there").map(|entry| entry.expect("readable").path());
        packs.find(|path| path.extension().is_some()).expect("a pack")
    }

    #[test]
    fn contents_are_found_by_their_digest_and_nothing_else_is() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let long = b"again and again ".repeat(5_000);
        let path = written(dir.path(), &[b"one", b"", &long]);
        let pack = Pack::open(&path).expect("a pack");
        for content in [&b"one"[..], b"", &long] {
            assert_eq!(pack.get(&Digest::of(content)).expect("whole").as_deref(), Some(content));
        }
        assert!(pack.get(&Digest::of(b"two")).expect("readable").is_none());
        assert!(fs::metadata(&path).expect("there").len() < long.len() as u64 / 2, "it is squeezed");
    }

    #[test]
    fn a_cut_or_changed_pack_is_an_error_and_never_a_wrong_content() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = written(dir.path(), &[b"some content that is stored as it is"]);
        let whole = fs::read(&path).expect("readable");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("written");
            assert!(Pack::open(&path).is_err(), "cut to {length}");
        }
        let mut wrong = 0;
        for at in 8..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x20;
            fs::write(&path, &bytes).expect("written");
            let got = Pack::open(&path)
                .and_then(|pack| pack.get(&Digest::of(b"some content that is stored as it is")));
            wrong += usize::from(matches!(got, Ok(Some(_))));
        }
        assert_eq!(wrong, 0);
    }

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut writer = Writer::begin(dir.path(), dir.path().join("draft")).expect("begun");
        writer.add(Digest::of(b"x"), b"x").expect("added");
        drop(writer);
        assert_eq!(fs::read_dir(dir.path()).expect("there").count(), 0);
    }
}
