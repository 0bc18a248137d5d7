//! How is an object read into the store?

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::blob::Digest;
use super::clone::reflink;
use super::limits::{Limits, shown};
use super::name::Name;
use super::object::{Body, Entry, Piece, Stamp};
use super::store::Batch;
use super::xattr;

/// Contents are stored in pieces of this size, so that memory stays bounded and a file that grew shares what it had.
const PIECE: usize = 4 << 20;

/// Below this a clone costs more than a copy.
const CLONE_FROM: u64 = 1 << 20;

/// A file that changes while it is read is read again so often.
const ATTEMPTS: usize = 3;

/// Why an object could not be kept.
#[derive(Debug)]
pub enum Miss {
    /// It is gone: there is nothing to keep.
    Gone,
    /// For this reason; others may be kept.
    Skip(String),
    /// The store cannot be written: nothing more can be kept.
    Store(io::Error),
}

/// Reads one object into the store.
///
/// # Errors
/// See [`Miss`].
pub fn keep(path: &Path, limits: &Limits, left: u64, batch: &mut Batch<'_>) -> Result<Entry, Miss> {
    let meta = fs::symlink_metadata(path).map_err(|error| missing(&error))?;
    let kind = meta.file_type();
    let body = if kind.is_symlink() {
        let target = fs::read_link(path).map_err(|error| missing(&error))?;
        Body::Link(Name::from(&*target))
    } else if kind.is_dir() {
        Body::Directory
    } else if kind.is_fifo() {
        Body::Fifo
    } else if kind.is_file() {
        return file(path, limits, left, batch);
    } else {
        return Err(Miss::Skip("it is a device or a socket".into()));
    };
    Ok(with_attributes(path, Entry::new(Name::from(path), &meta, body)))
}

fn with_attributes(path: &Path, mut entry: Entry) -> Entry {
    entry.xattrs = xattr::read(path).into_iter().map(|(name, value)| (Name(name), Name(value))).collect();
    entry
}

fn missing(error: &io::Error) -> Miss {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Miss::Gone,
        _ => Miss::Skip(format!("it cannot be read ({error})")),
    }
}

fn file(path: &Path, limits: &Limits, left: u64, batch: &mut Batch<'_>) -> Result<Entry, Miss> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let file = open(path).map_err(|error| missing(&error))?;
        let meta = file.metadata().map_err(|error| missing(&error))?;
        if !meta.is_file() {
            return Err(Miss::Gone);
        }
        let body = match cloned(&file, path, &meta, batch)? {
            Some(body) => body,
            None => copied(&file, &meta, limits, left, batch)?,
        };
        let after = file.metadata().map_err(|error| missing(&error))?;
        if Stamp::of(&meta) == Stamp::of(&after) {
            return Ok(with_attributes(path, Entry::new(Name::from(path), &meta, body)));
        }
        if attempt == ATTEMPTS {
            return Err(Miss::Skip("it changed each time it was read".into()));
        }
    }
}

/// Opens for reading what may be anything by now: never waits for a writer, never follows a link, leaves the access time.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let open = |flags| OpenOptions::new().read(true).custom_flags(flags).open(path);
    match open(flags | libc::O_NOATIME) {
        // Only the owner may leave the access time alone.
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => open(flags),
        other => other,
    }
}

/// A clone of a large file, where the file system can. Its name says which state of which file it is, so that a file that
/// did not change is not cloned twice.
fn cloned(file: &File, path: &Path, meta: &Metadata, batch: &mut Batch<'_>) -> Result<Option<Body>, Miss> {
    if meta.len() < CLONE_FROM {
        return Ok(None);
    }
    let identity = format!("{:?} {}", Stamp::of(meta), path.display());
    let digest = Digest::of(identity.as_bytes());
    let name = batch.store().clone_path(&digest);
    if name.exists() {
        return Ok(Some(Body::Clone(digest)));
    }
    let draft = batch.store().draft();
    let to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).map_err(Miss::Store)?;
    let done = reflink(file, &to).and_then(|()| to.sync_data()).and_then(|()| fs::rename(&draft, &name));
    if done.is_err() {
        let _ = fs::remove_file(&draft);
        return Ok(None);
    }
    Ok(Some(Body::Clone(digest)))
}

fn copied(
    file: &File,
    meta: &Metadata,
    limits: &Limits,
    left: u64,
    batch: &mut Batch<'_>,
) -> Result<Body, Miss> {
    let on_disk = (meta.blocks() * 512).min(meta.len());
    if on_disk > limits.file {
        return Err(Miss::Skip(format!("{} are more than {}", shown(on_disk), shown(limits.file))));
    }
    if on_disk > left {
        return Err(Miss::Skip("the store is full, or too little of its disk is free".into()));
    }
    let mut pieces = Vec::new();
    let mut buffer = Vec::new();
    for (start, end) in stretches(file, meta) {
        let mut at = start;
        while at < end {
            let want = ((end - at) as usize).min(PIECE);
            buffer.resize(want, 0);
            let got = read_fully(file, &mut buffer, at).map_err(|error| missing(&error))?;
            if got == 0 {
                break;
            }
            let blob = batch.put(&buffer[..got]).map_err(Miss::Store)?;
            pieces.push(Piece { at, length: got as u64, blob });
            at += got as u64;
        }
    }
    Ok(Body::File(pieces))
}

fn read_fully(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], at + got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// Where a file holds data: all of it, unless it takes less room on disk than its size.
pub(super) fn stretches(file: &File, meta: &Metadata) -> Vec<(u64, u64)> {
    let size = meta.len();
    if meta.blocks() * 512 >= size {
        return vec![(0, size)];
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < size {
        let seek = |at: u64, whence| {
            // SAFETY: takes a descriptor, which is open, and numbers.
            let offset = unsafe { libc::lseek(file.as_raw_fd(), at as libc::off_t, whence) };
            u64::try_from(offset).ok()
        };
        // ENXIO: only a hole is left. Where holes cannot be asked for, the whole file is data by definition.
        let Some(start) = seek(at, libc::SEEK_DATA) else { break };
        let end = seek(start, libc::SEEK_HOLE).unwrap_or(size).min(size);
        if end <= start {
            break;
        }
        found.push((start, end));
        at = end;
    }
    found
}
