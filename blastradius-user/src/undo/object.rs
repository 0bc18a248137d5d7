//! One object of the file system, as it is kept.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use serde::{Deserialize, Serialize};

use super::blob::Digest;
use super::name::Name;

/// What stat(2) tells of an object's identity and state: equal stamps mean that nothing was written in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Modification: seconds and nanoseconds.
    pub mtime: (i64, i64),
    /// Change of the inode: seconds and nanoseconds.
    pub ctime: (i64, i64),
}

impl Stamp {
    /// Of this object.
    pub fn of(meta: &Metadata) -> Self {
        Self {
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.len(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
            ctime: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// A stretch of a file's content. What no piece covers is a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Offset in the file.
    pub at: u64,
    /// Bytes.
    pub length: u64,
    /// The content.
    pub blob: Digest,
}

/// What an object holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// A regular file.
    File(Vec<Piece>),
    /// A regular file of which the store holds a clone.
    Clone(Digest),
    /// A symbolic link, by its target.
    Link(Name),
    /// A directory.
    Directory,
    /// A named pipe.
    Fifo,
}

/// To what an object belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The tree that people see.
    #[default]
    Tree,
    /// A git directory: given back by git's own rules.
    Git,
}

fn is_tree(part: &Part) -> bool {
    *part == Part::Tree
}

/// A kept object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Where it was, canonical.
    pub path: Name,
    /// Type and permission bits of stat(2).
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Hard links that it had.
    pub links: u64,
    /// Its state when it was read.
    pub stamp: Stamp,
    /// Its content.
    pub body: Body,
    /// Extended attributes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xattrs: Vec<(Name, Name)>,
    /// To what it belongs.
    #[serde(default, skip_serializing_if = "is_tree")]
    pub part: Part,
}

impl Entry {
    /// What stat(2) says of it.
    pub fn new(path: Name, meta: &Metadata, body: Body) -> Self {
        Self {
            path,
            mode: meta.mode(),
            uid: meta.uid(),
            gid: meta.gid(),
            links: meta.nlink(),
            stamp: Stamp::of(meta),
            body,
            xattrs: Vec::new(),
            part: Part::Tree,
        }
    }

    /// Whether people call it a file: everything but a directory.
    pub fn is_file(&self) -> bool {
        self.body != Body::Directory
    }

    /// The contents that it needs in the packs.
    pub fn blobs(&self) -> impl Iterator<Item = Digest> + '_ {
        let pieces = match &self.body {
            Body::File(pieces) => &pieces[..],
            _ => &[],
        };
        pieces.iter().map(|piece| piece.blob)
    }
}

/// Whether such an object can be kept at all: devices and sockets hold nothing.
pub fn is_kept_kind(meta: &Metadata) -> bool {
    let kind = meta.file_type();
    kind.is_file() || kind.is_dir() || kind.is_symlink() || kind.is_fifo()
}
