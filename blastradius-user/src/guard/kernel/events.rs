//! Refusals as the kernel side reports them.

use std::{
    ffi::OsStr,
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use aya::maps::{Map, MapData, RingBuf};
use blastradius_common::{
    EventHeader, Operation, RuleId, Zone,
    event::{EVENT_NAME_BYTES, EVENT_NAMES},
};
use tokio::io::unix::AsyncFd;

use super::mounts;

/// One act that the kernel side refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRefusal {
    /// The session whose task was refused.
    pub session: u32,
    /// The thread, as the supervisor's pid namespace numbers it. 0: it does not know it.
    pub pid: u32,
    /// Its process, numbered alike.
    pub tgid: u32,
    /// The task's name (`comm`), lossy.
    pub comm: String,
    /// What was tried.
    pub operation: Operation,
    /// The rule that was broken.
    pub rule: RuleId,
    /// Where the object lies.
    pub zone: Zone,
    /// The object, by the mount through which this process sees its file system; from the root of the file system where
    /// no such mount is found.
    pub path: PathBuf,
    /// `path` lacks its topmost components: the tree is deeper than 64, or its names longer than 4 KiB.
    pub truncated: bool,
    /// No zone was found: the object lies too deep, or something above it was unreadable.
    pub unreadable: bool,
    /// The refusal was provoked by a canary.
    pub canary: bool,
    /// The file system, in the kernel's own encoding (12 bits major, 20 bits minor).
    pub dev: u32,
}

/// Why a record was not understood: a fault of the build, as both sides share one definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record of the kernel side is malformed: {0}")]
pub struct Malformed(&'static str);

impl KernelRefusal {
    /// Decodes a record. The path is left as the file system sees it.
    ///
    /// # Errors
    /// Whatever the kernel side cannot have written.
    pub fn decode(record: &[u8]) -> Result<Self, Malformed> {
        let header = header(record)?;
        let length = usize::from(header.names);
        if length > EVENT_NAME_BYTES {
            return Err(Malformed("names longer than recorded"));
        }
        let names = record
            .get(size_of::<EventHeader>()..size_of::<EventHeader>() + length)
            .ok_or(Malformed("it ends early"))?;
        let comm = header.comm.split(|byte| *byte == 0).next().unwrap_or_default();
        let (path, complete) = path_of(names);
        let zone = Zone::from_u8(header.zone).ok_or(Malformed("an unknown zone"))?;
        let rule = match header.rule {
            EventHeader::RULE_OF_ZONE => zone.rule(),
            rule => RuleId::from_u16(rule).ok_or(Malformed("an unknown rule"))?,
        };
        Ok(Self {
            session: header.session,
            pid: header.pid,
            tgid: header.tgid,
            comm: String::from_utf8_lossy(comm).into_owned(),
            operation: Operation::from_u8(header.operation).ok_or(Malformed("an unknown operation"))?,
            rule,
            zone,
            path,
            truncated: header.flags & EventHeader::CUT != 0 || !complete,
            unreadable: header.flags & EventHeader::UNREADABLE != 0,
            canary: header.flags & EventHeader::CANARY != 0,
            dev: header.dev,
        })
    }

    /// Puts the mount point before the path, where one is known.
    fn located(mut self) -> Self {
        if !self.truncated
            && let Some(path) = mounts::locate(self.dev, &self.path)
        {
            self.path = path;
        }
        self
    }
}

fn header(record: &[u8]) -> Result<EventHeader, Malformed> {
    let bytes = record.get(..size_of::<EventHeader>()).ok_or(Malformed("it ends early"))?;
    // SAFETY: as many bytes as the structure has, which is `#[repr(C)]`, of integers, without padding.
    Ok(unsafe { bytes.as_ptr().cast::<EventHeader>().read_unaligned() })
}

/// The path whose components, leaf first and each followed by a zero, are `names`; and whether all were whole.
fn path_of(names: &[u8]) -> (PathBuf, bool) {
    let complete = names.is_empty() || names.ends_with(&[0]);
    let mut components: Vec<&[u8]> =
        names.split(|byte| *byte == 0).filter(|name| !name.is_empty() && !name.contains(&b'/')).collect();
    components.truncate(EVENT_NAMES);
    components.reverse();
    let mut path = PathBuf::from("/");
    path.extend(components.into_iter().map(|name| Path::new(OsStr::from_bytes(name))));
    (path, complete)
}

/// The refusals of the sessions that one [`super::Kernel`] started.
pub struct EventStream {
    ring: Source,
}

/// A ring that no runtime watches yet, or one that a runtime does.
enum Source {
    Idle(RingBuf<MapData>),
    Watched(AsyncFd<RingBuf<MapData>>),
    /// Between the two.
    Taken,
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EventStream").finish_non_exhaustive()
    }
}

impl EventStream {
    pub(super) fn new(ring: &OwnedFd) -> io::Result<Self> {
        let data = MapData::from_fd(ring.as_fd().try_clone_to_owned()?).map_err(io::Error::other)?;
        let ring = RingBuf::try_from(Map::RingBuf(data)).map_err(io::Error::other)?;
        Ok(Self { ring: Source::Idle(ring) })
    }

    /// The next refusal that is no canary's; waits for it. Cancel safe. Must be called inside a tokio runtime with I/O.
    ///
    /// # Errors
    /// The runtime has no I/O driver, or a record is malformed (the next call goes on after it).
    pub async fn next(&mut self) -> io::Result<KernelRefusal> {
        loop {
            if let Some(refusal) = self.try_next()? {
                return Ok(refusal);
            }
            let ring = self.watched()?;
            let mut ready = ring.readable_mut().await?;
            // Cleared before the ring is read again: what arrives meanwhile makes it ready anew.
            ready.clear_ready();
        }
    }

    /// The next refusal that is already there and is no canary's.
    ///
    /// # Errors
    /// A record is malformed; the next call goes on after it.
    pub fn try_next(&mut self) -> io::Result<Option<KernelRefusal>> {
        loop {
            match self.try_next_of_any() {
                Some(Ok(refusal)) if refusal.canary => {}
                other => return other.transpose().map_err(io::Error::other),
            }
        }
    }

    /// As [`EventStream::try_next`], canaries included.
    pub(super) fn try_next_of_any(&mut self) -> Option<Result<KernelRefusal, Malformed>> {
        let ring = match &mut self.ring {
            Source::Idle(ring) => ring,
            Source::Watched(ring) => ring.get_mut(),
            Source::Taken => return None,
        };
        let record = ring.next()?;
        Some(KernelRefusal::decode(&record).map(KernelRefusal::located))
    }

    fn watched(&mut self) -> io::Result<&mut AsyncFd<RingBuf<MapData>>> {
        if let Source::Idle(_) = self.ring
            && let Source::Idle(ring) = std::mem::replace(&mut self.ring, Source::Taken)
        {
            // SAFETY: the ring owns its descriptor and gives the same one for as long as it lives.
            self.ring = Source::Watched(unsafe { AsyncFd::register(ring) }?);
        }
        match &mut self.ring {
            Source::Watched(ring) => Ok(ring),
            _ => Err(io::Error::other("the ring was lost when no runtime could watch it")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(change: impl FnOnce(&mut EventHeader), names: &[u8]) -> Vec<u8> {
        let mut header = EventHeader {
            session: 7,
            pid: 11,
            tgid: 10,
            dev: 0xfe00_0001,
            operation: Operation::Remove as u8,
            zone: Zone::Personal as u8,
            rule: EventHeader::RULE_OF_ZONE,
            names: names.len() as u16,
            ..EventHeader::default()
        };
        header.comm[..2].copy_from_slice(b"rm");
        change(&mut header);
        // SAFETY: `#[repr(C)]`, of integers, without padding.
        let bytes: [u8; 40] = unsafe { std::mem::transmute(header) };
        [&bytes[..], names, &[0xaa; 300]].concat()
    }

    #[test]
    fn names_come_leaf_first() {
        let refusal = KernelRefusal::decode(&record(|_| (), b"file\0dir\0top\0")).expect("well formed");
        assert_eq!(refusal.path, Path::new("/top/dir/file"));
        assert_eq!((refusal.session, refusal.pid, refusal.tgid, refusal.comm.as_str()), (7, 11, 10, "rm"));
        assert_eq!((refusal.operation, refusal.zone), (Operation::Remove, Zone::Personal));
        assert_eq!(refusal.rule, RuleId::OutOfScope);
        assert!(!refusal.truncated && !refusal.unreadable && !refusal.canary);
    }

    #[test]
    fn a_cut_path_says_so() {
        let cut = |header: &mut EventHeader| header.flags = EventHeader::CUT;
        assert!(KernelRefusal::decode(&record(cut, b"file\0")).expect("well formed").truncated);
        assert!(KernelRefusal::decode(&record(|_| (), b"file")).expect("no final zero").truncated);
    }

    #[test]
    fn a_name_with_a_slash_leads_nowhere_else() {
        let refusal = KernelRefusal::decode(&record(|_| (), b"x\0/etc\0top\0")).expect("well formed");
        assert_eq!(refusal.path, Path::new("/top/x"));
    }

    #[test]
    fn what_the_kernel_side_cannot_have_written_is_an_error() {
        let whole = record(|_| (), b"file\0");
        for end in 0..45 {
            assert!(KernelRefusal::decode(&whole[..end]).is_err(), "{end} bytes");
        }
        assert!(KernelRefusal::decode(&record(|header| header.zone = 0, b"")).is_err());
        assert!(KernelRefusal::decode(&record(|header| header.operation = 99, b"")).is_err());
        assert!(KernelRefusal::decode(&record(|header| header.rule = u16::MAX - 1, b"")).is_err());
        assert!(KernelRefusal::decode(&record(|header| header.names = u16::MAX, b"")).is_err());
    }
}
