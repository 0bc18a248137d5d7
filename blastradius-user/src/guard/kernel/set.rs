//! The one set of programs and maps that serves every session of the machine.

use std::{
    collections::HashMap,
    fs, io,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
    time::Duration,
};

use aya_obj::{EbpfSectionKind, Object};
use blastradius_common::{
    Below, Common, Guarded, Id, KernelFacts, Member, NameKey, ObjectKey, Offsets, Request, Tally,
    grant::{GrantKey, Order},
    member::PROGRAM_NUMBER,
};

use super::{
    btf::{Btf, BtfError},
    caveats::Caveats,
    effort::{Effort, Weigh},
    error::LoadError,
    place::{self, Lock, Want},
    programs::{self, ENROL, IDENTIFY, Programs, Rung},
    sys::{self, NewMap},
    tables::Table,
};

/// Bytes of a session's ring buffer; the object's own definition is the same.
const RING_BYTES: u32 = 1 << 20;

/// Opened or loaded programs and maps. The machine keeps them by their pins, so dropping this leaves sessions guarded.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) name: String,
    pub(super) rung: Rung,
    pub(super) caveats: Caveats,
    pub(super) tasks: Table<u64, Guarded>,
    pub(super) sessions: Table<u32, Common>,
    pub(super) own: Table<ObjectKey, u32>,
    pub(super) below: Table<ObjectKey, Below>,
    pub(super) denied: Table<ObjectKey, u32>,
    pub(super) names: Table<NameKey, u32>,
    pub(super) roles: Table<ObjectKey, u32>,
    pub(super) born: Table<ObjectKey, u32>,
    pub(super) born_names: Table<NameKey, Id>,
    pub(super) answers: Table<u64, Id>,
    pub(super) tallies: Table<u32, Tally>,
    pub(super) grants: Table<GrantKey, u32>,
    pub(super) orders: Table<u64, Order>,
    pub(super) memberships: Table<u64, Member>,
    taboo: Table<u64, u32>,
    rings: Table<u32, u32>,
    identify: OwnedFd,
    enrol: OwnedFd,
    users: Lock,
    /// Held, so that the programs stay attached also if someone takes the pins' file system away.
    _links: Vec<OwnedFd>,
}

/// What the pins of links begin with.
const LINK: &str = "on_";

/// The maps that another process must find again, by their names in the object.
const MAPS: &[&str] = &[
    "TASKS",
    "SESSIONS",
    "OWN",
    "BELOW",
    "DENIED",
    "NAMES",
    "ROLES",
    "BORN",
    "BORN_NAMES",
    "ANSWERS",
    "TALLIES",
    "GRANTS",
    "ORDERS",
    "MEMBERSHIPS",
    "TABOO",
    "RINGS",
];

/// The pin of the link that must stay where a program cannot be attached twice.
const IDENTIFY_LINK: &str = "on_inode_getattr";

/// The name of the set that the object with this fingerprint makes on `rung`.
pub(super) fn name(fingerprint: u64, rung: Rung) -> String {
    format!("{fingerprint:016x}-{}", rung.name())
}

impl Set {
    /// Opens the set that is pinned already. `None`: there is none, or not all of it.
    pub(super) fn open(name: &str, rung: Rung) -> Result<Option<Self>, LoadError> {
        let directory = place::pins(name);
        // Pinned last, so what is there is whole.
        let enrol = match sys::pinned(&directory.join(ENROL)) {
            Ok(enrol) => enrol,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(not_permitted("opening what is pinned", error)),
        };
        let identify = sys::pinned(&directory.join(IDENTIFY))?;
        let mut maps = HashMap::new();
        for map in MAPS {
            maps.insert((*map).to_owned(), sys::pinned(&directory.join(map))?);
        }
        let caveats = Caveats::from_text(&place::read_notes(name)?);
        Self::assemble(name, rung, caveats, maps, identify, enrol).map(Some)
    }

    /// Loads `object`, attaches its programs and pins everything. On error nothing is left.
    pub(super) fn load(object: &[u8], name: &str, rung: Rung) -> Result<Self, LoadError> {
        place::unpin(name)?;
        let set = Self::load_and_pin(object, name, rung);
        if set.is_err() {
            let _ = place::unpin(name);
        }
        set
    }

    /// Loads the programs of `object` and forgets them again: what does that take?
    pub(super) fn weigh(object: &[u8], rung: Rung) -> Result<Vec<Effort>, LoadError> {
        let (programs, _) = load_programs(object, rung, Weigh::Yes)?;
        Ok(programs.efforts)
    }

    fn load_and_pin(object: &[u8], name: &str, rung: Rung) -> Result<Self, LoadError> {
        let (programs, maps) = load_programs(object, rung, Weigh::No)?;

        let directory = place::pins(name);
        place::private_directory(&directory)?;
        let pin = |fd: BorrowedFd<'_>, name: &str| {
            sys::pin(fd, &directory.join(name))
                .map_err(|error| LoadError::Io { what: format!("pinning {name}"), error })
        };
        for map in MAPS {
            let fd = maps.get(*map).ok_or_else(|| LoadError::Object(format!("it has no map {map}")))?;
            pin(fd.as_fd(), map)?;
        }
        for loaded in &programs.attached {
            let link = sys::attach(loaded.program.as_fd())
                .map_err(|error| not_permitted(&format!("attaching {}", loaded.name), error))?;
            pin(link.as_fd(), &format!("{LINK}{}", loaded.name))?;
        }
        if let Some(link) = &programs.identify_link {
            pin(link.as_fd(), IDENTIFY_LINK)?;
        }
        pin(programs.identify.as_fd(), IDENTIFY)?;
        place::write_notes(name, &programs.caveats.to_text())?;
        pin(programs.enrol.as_fd(), ENROL)?;
        let mut taboo = Vec::new();
        for map in maps.values() {
            taboo.push(u64::from(sys::object_id(map.as_fd())?));
        }
        let loaded = programs.attached.iter().map(|loaded| &loaded.program);
        for program in loaded.chain([&programs.identify, &programs.enrol]) {
            taboo.push(PROGRAM_NUMBER + u64::from(sys::object_id(program.as_fd())?));
        }
        let set = Self::assemble(name, rung, programs.caveats, maps, programs.identify, programs.enrol)?;
        taboo.iter().try_for_each(|number| set.taboo.insert(number, &1))?;
        Ok(set)
    }

    fn assemble(
        name: &str,
        rung: Rung,
        caveats: Caveats,
        mut maps: HashMap<String, OwnedFd>,
        identify: OwnedFd,
        enrol: OwnedFd,
    ) -> Result<Self, LoadError> {
        let mut take = |map: &'static str| {
            maps.remove(map).ok_or_else(|| LoadError::Object(format!("it has no map {map}")))
        };
        let users = Lock::take(&place::pins(name), Want::Shared)?;
        let mut links = Vec::new();
        for pin in fs::read_dir(place::pins(name))? {
            let pin = pin?;
            if pin.file_name().to_string_lossy().starts_with(LINK) {
                links.push(sys::pinned(&pin.path())?);
            }
        }
        Ok(Self {
            name: name.to_owned(),
            rung,
            caveats,
            tasks: Table::new(take("TASKS")?)?,
            sessions: Table::new(take("SESSIONS")?)?,
            own: Table::new(take("OWN")?)?,
            below: Table::new(take("BELOW")?)?,
            denied: Table::new(take("DENIED")?)?,
            names: Table::new(take("NAMES")?)?,
            roles: Table::new(take("ROLES")?)?,
            born: Table::new(take("BORN")?)?,
            born_names: Table::new(take("BORN_NAMES")?)?,
            answers: Table::new(take("ANSWERS")?)?,
            tallies: Table::new(take("TALLIES")?)?,
            grants: Table::new(take("GRANTS")?)?,
            orders: Table::new(take("ORDERS")?)?,
            memberships: Table::new(take("MEMBERSHIPS")?)?,
            taboo: Table::new(take("TABOO")?)?,
            rings: Table::new(take("RINGS")?)?,
            identify,
            enrol,
            users,
            _links: links,
        })
    }

    /// Asks the kernel side something on behalf of the calling thread.
    pub(super) fn request(&self, request: Request, word: u64) -> io::Result<()> {
        match sys::run(self.enrol.as_fd(), &[request as u64, word])? {
            0 => Ok(()),
            refused => Err(io::Error::other(format!("the kernel side refuses {request:?}: {refused}"))),
        }
    }

    /// Lets stat(2) be answered with identities until what is returned is closed. It costs every stat of the machine.
    pub(super) fn attach_identify(&self) -> io::Result<OwnedFd> {
        match sys::pinned(&place::pins(&self.name).join(IDENTIFY_LINK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                in_turn(|| sys::attach(self.identify.as_fd()))
            }
            attached => attached,
        }
    }

    /// A new ring buffer, and what makes the kernel side write the refusals of `session` there.
    pub(super) fn new_ring() -> io::Result<OwnedFd> {
        sys::create_ring(RING_BYTES)
    }

    /// Sends the refusals of `session` to `ring`.
    pub(super) fn connect_ring(&self, session: u32, ring: BorrowedFd<'_>) -> io::Result<()> {
        self.rings.insert(&session, &(ring.as_raw_fd() as u32))
    }

    /// The number of live tasks of `session`.
    pub(super) fn live_tasks(&self, session: u32) -> io::Result<usize> {
        let mut live = 0;
        for task in self.tasks.keys()? {
            if self.tasks.get(&task)?.is_some_and(|task| task.member.session == session) {
                live += 1;
            }
        }
        Ok(live)
    }

    /// Removes everything that is kept for `session`, which has no task.
    pub(super) fn forget(&self, session: u32) -> io::Result<()> {
        self.own.retain(|key| key.session != session)?;
        self.below.retain(|key| key.session != session)?;
        self.denied.retain(|key| key.session != session)?;
        self.names.retain(|key| key.parent.session != session)?;
        self.roles.retain(|key| key.session != session)?;
        self.born.retain(|key| key.session != session)?;
        self.born_names.retain(|key| key.parent.session != session)?;
        self.grants.retain(|key| key.session != session)?;
        self.rings.remove(&session)?;
        self.sessions.remove(&session)?;
        self.tallies.remove(&session)
    }

    /// Forgets the sessions whose supervisor is gone and which have no task left. The caller holds the machine's lock.
    /// Returns the number of sessions that remain.
    pub(super) fn reap(&self) -> io::Result<usize> {
        let mut remaining = 0;
        for session in self.tallies.keys()? {
            let directory = place::session_directory(&self.name, session);
            let orphan = match Lock::take(&directory, Want::AloneNow) {
                Ok(_) => true,
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            if orphan && self.live_tasks(session)? == 0 {
                self.forget(session)?;
                let _ = fs::remove_dir(directory);
            } else {
                remaining += 1;
            }
        }
        Ok(remaining)
    }

    /// Takes the set off the machine if no session and no other process needs it.
    pub(super) fn release(self) -> io::Result<()> {
        let remaining = self.reap()?;
        let Self { name, users, .. } = self;
        drop(users);
        if remaining == 0 && Lock::take(&place::pins(&name), Want::AloneNow).is_ok() {
            place::unpin(&name)?;
        }
        Ok(())
    }
}

/// The programs and the maps of `object`, both loaded, nothing attached.
fn load_programs(
    object: &[u8],
    rung: Rung,
    weigh: Weigh,
) -> Result<(Programs, HashMap<String, OwnedFd>), LoadError> {
    let btf = Btf::of_running_kernel().map_err(LoadError::NoBtf)?.map_err(LoadError::Btf)?;
    let facts = facts(&btf).map_err(LoadError::Btf)?.to_bytes();
    let wrong = |error: aya_obj::ParseError| LoadError::Object(error.to_string());
    let mut object = Object::parse(object).map_err(wrong)?;
    object.patch_map_data([("KERNEL", (facts.as_slice(), true))].into()).map_err(wrong)?;
    let maps = object
        .maps
        .iter()
        .map(|(name, map)| Ok((name.clone(), make_map(name, map)?)))
        .collect::<io::Result<_>>()
        .map_err(|error| not_permitted("making the maps", error))?;
    programs::relocate(&mut object, &maps)?;
    Ok((programs::load(&object, &btf, rung, weigh)?, maps))
}

/// Makes a map, with the data that the object gives it.
fn make_map(name: &str, map: &aya_obj::Map) -> io::Result<OwnedFd> {
    let like_inside = map.inner().map(|inner| sys::create_map(definition(&inner))).transpose()?;
    let inner = like_inside.as_ref().map_or(0, |fd| fd.as_raw_fd() as u32);
    let made = sys::create_map(NewMap { inner, ..definition(map) }.named(name))?;
    if !map.data().is_empty() {
        sys::fill(made.as_fd(), map.data(), map.value_size())?;
    }
    if map.section_kind() == EbpfSectionKind::Rodata {
        sys::freeze(made.as_fd())?;
    }
    Ok(made)
}

fn definition(map: &aya_obj::Map) -> NewMap {
    NewMap {
        map_type: map.map_type(),
        key_size: map.key_size(),
        // The object says what a ring's records are; the kernel wants no word of it.
        value_size: if map.map_type() == sys::BPF_MAP_TYPE_RINGBUF { 0 } else { map.value_size() },
        max_entries: map.max_entries(),
        flags: map.map_flags(),
        ..Default::default()
    }
}

fn facts(btf: &Btf) -> Result<KernelFacts, BtfError> {
    let offsets = Offsets::try_build(|field| btf.offset(field.structure, field.path))?;
    let (mkdir_returns_dentry, rename_has_flags) = programs::signature_facts(btf);
    Ok(KernelFacts {
        offsets,
        rename_has_flags: rename_has_flags.into(),
        inode_bytes: btf.size("inode")?,
        upid_bytes: btf.size("upid")?,
        mkdir_returns_dentry: mkdir_returns_dentry.into(),
        has_loop: programs::has_loop(btf).into(),
        dentry_type: btf.structure("dentry")?,
    })
}

fn not_permitted(what: &str, error: io::Error) -> LoadError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => LoadError::NotPermitted { what: what.to_owned(), error },
        _ => LoadError::Io { what: what.to_owned(), error },
    }
}

/// How long the turn of others may take, which is while they lay their marks, and how often it is looked whether it is over.
const TURN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(5);

/// Attaches what is attached to the machine only once at a time: another session that starts just now has it, and lets go.
fn in_turn<T>(mut attach: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..TURN.as_millis() / LOOK.as_millis() {
        match attach() {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => std::thread::sleep(LOOK),
            done => return done,
        }
    }
    attach()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_session_has_attached_is_waited_for_and_no_other_failure_is() {
        let attached = |errno: i32, times: u32| {
            let mut tried = 0;
            let done = in_turn(|| {
                tried += 1;
                if tried > times { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
            });
            (done.map_err(|error| error.raw_os_error()), tried)
        };
        assert_eq!(attached(libc::EBUSY, 3), (Ok(()), 4));
        assert_eq!(attached(libc::EPERM, 3), (Err(Some(libc::EPERM)), 1));
    }
}
