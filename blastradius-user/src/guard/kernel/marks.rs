//! Marks: from the plan's paths to identities in the kernel side's maps.
//!
//! Identities are the kernel's own, never stat(2)'s: the supervisor opens the object `O_PATH`, asks under a token, stats
//! the descriptor, and a program on `inode_getattr` answers.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::AsRawFd as _,
        unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use blastradius_common::{Below, Id, NameKey, ObjectKey, Request, Zone};

use super::set::Set;
use crate::policy::plan::{Mark, NameMark, Plan};

/// Why a plan could not be put into the kernel. Nothing of the session is left behind.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// A marked object cannot be opened.
    #[error("cannot mark {path}: {error}", path = path.display())]
    Open {
        /// The object.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// The kernel side did not say what the object is.
    #[error("the kernel side did not identify {path}: {error}", path = path.display())]
    Identify {
        /// The object.
        path: PathBuf,
        /// What is known.
        #[source]
        error: io::Error,
    },
    /// A name that no file can bear.
    #[error("{name:?} in {parent} is no name", parent = parent.display())]
    Name {
        /// The directory.
        parent: PathBuf,
        /// The name.
        name: std::ffi::OsString,
    },
    /// The maps are full, or otherwise refused.
    #[error("cannot store the marks of the session: {0}")]
    Store(#[from] io::Error),
}

/// What is in the kernel for one session.
#[derive(Debug, Default)]
pub(super) struct Marked {
    /// Objects without a generation keep their identity only while they are in memory, so they are held.
    pub(super) held: Vec<File>,
    /// Places that were gone when they were to be marked.
    pub(super) gone: Vec<PathBuf>,
    /// Entries written.
    pub(super) entries: usize,
}

/// Writes the marks of `plan` for `session`.
pub(super) fn write(set: &Set, session: u32, plan: &Plan) -> Result<Marked, MarkError> {
    let _answering = set.attach_identify()?;
    let mut marked = Marked::default();
    let lines = compile(plan);
    let compared = compared(&lines);
    let mut found: HashMap<&Path, Found> = HashMap::new();
    for Line { path, .. } in &lines {
        if let Some(object) = marked.identify(set, path, compared.contains(&**path))? {
            found.insert(path, object);
        }
    }
    let mut values: HashMap<Id, Compiled> = HashMap::new();
    for Line { path, value, speaker } in &lines {
        let Some(object) = found.get(&**path) else { continue };
        let speaker = speaker.as_deref().and_then(|speaker| found.get(speaker));
        let is_inherited =
            speaker.is_some_and(|speaker| speaker.mount.is_some() && speaker.mount == object.mount);
        let value = Compiled { is_inherited, ..*value };
        values.entry(object.id).and_modify(|other| *other = other.strictest(&value)).or_insert(value);
    }
    for NameMark { parent, name, zone, .. } in &plan.names {
        let Some(object) = found.get(&**parent) else { continue };
        let key = NameKey::new(ObjectKey::new(session, object.id), name.as_bytes())
            .ok_or_else(|| MarkError::Name { parent: parent.clone(), name: name.clone() })?;
        set.names.insert(&key, &u32::from(*zone as u8))?;
    }
    for (id, value) in &values {
        value.store(set, &ObjectKey::new(session, *id))?;
    }
    marked.entries = values.len() + plan.names.len();
    Ok(marked)
}

/// What lies at a path.
#[derive(Clone, Copy)]
struct Found {
    id: Id,
    /// The mount through which it is seen, as /proc/PID/mountinfo numbers it, if that was asked and is to be had. What is said of one
    /// object holds for another below it by their paths; by their dentries only within one mount.
    mount: Option<u64>,
}

impl Marked {
    /// What lies at `path`, and if it will be `compared`, through which mount; `None`: nothing does any more.
    fn identify(&mut self, set: &Set, path: &Path, compared: bool) -> Result<Option<Found>, MarkError> {
        let open = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path);
        let file = match open {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.gone.push(path.to_owned());
                return Ok(None);
            }
            Err(error) => return Err(MarkError::Open { path: path.to_owned(), error }),
        };
        let id =
            identify(set, &file).map_err(|error| MarkError::Identify { path: path.to_owned(), error })?;
        let mount = if compared { mount_of(&file) } else { None };
        if id.generation == 0 {
            self.held.push(file);
        }
        Ok(Some(Found { id, mount }))
    }
}

/// `mnt_id` of proc_pid_fdinfo(5).
fn mount_of(file: &File) -> Option<u64> {
    let told = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
    told.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// The identity of an open object. [`Set::attach_identify`] must be in effect.
pub(super) fn identify(set: &Set, file: &File) -> io::Result<Id> {
    let token = next_token();
    set.request(Request::Identify, token)?;
    file.metadata()?;
    let id = set.answers.get(&token)?.ok_or_else(|| io::Error::other("stat(2) was not answered"))?;
    set.answers.remove(&token)?;
    Ok(id)
}

/// A number for one question to the kernel side.
pub(super) fn next_token() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Other processes ask too: the pid, from the namespace that all who may ask share, keeps the tokens apart.
    u64::from(std::process::id()) << 32 | NEXT.fetch_add(1, Ordering::Relaxed) & 0xffff_ffff
}

/// What the plan says about one object, as the maps want it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Compiled {
    own: Option<Zone>,
    below: Option<Zone>,
    dots: Option<Zone>,
    /// Names in the directory are marked.
    names: bool,
    /// Nothing above is denied.
    is_final: bool,
    /// `below` is what a directory above says, and the kernel side can find that again from here.
    is_inherited: bool,
}

impl Compiled {
    fn is_denied(&self) -> bool {
        [self.own, self.below].contains(&Some(Zone::Denied))
    }

    /// One object reached by two paths (a bind mount): the stricter word wins, so that a mark never widens.
    fn strictest(&self, other: &Self) -> Self {
        let stricter = |a: Option<Zone>, b: Option<Zone>| a.max_by_severity(b);
        Self {
            own: stricter(self.own, other.own),
            below: stricter(self.below, other.below),
            dots: stricter(self.dots, other.dots),
            names: self.names || other.names,
            is_final: self.is_final && other.is_final,
            is_inherited: self.is_inherited && other.is_inherited,
        }
    }

    fn store(&self, set: &Set, key: &ObjectKey) -> io::Result<()> {
        let number = |zone: Option<Zone>| zone.map_or(0, |zone| zone as u8);
        if let Some(own) = self.own {
            set.own.insert(key, &u32::from(own as u8))?;
        }
        if self.below.is_some() {
            let flags = [
                (self.names, Below::NAMES),
                (self.is_final && !self.is_inherited, Below::FINAL),
                (self.is_inherited, Below::INHERITED),
            ];
            let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
            let below = Below { zone: number(self.below), dots: number(self.dots), flags, reserved: 0 };
            set.below.insert(key, &below)?;
        }
        if self.is_denied() { set.denied.insert(key, &1) } else { Ok(()) }
    }
}

/// What the plan says about one path.
struct Line {
    path: PathBuf,
    value: Compiled,
    /// No mark of this path says what lies in it: this directory does, of all that lies in it.
    speaker: Option<PathBuf>,
}

/// The paths of which is asked whether they are seen through one mount: those for which another speaks, and those others. All
/// the rest, which is most, need not be asked.
fn compared(lines: &[Line]) -> HashSet<&Path> {
    let pair = |line| {
        let Line { path, speaker, .. }: &Line = line;
        speaker.as_deref().map(|speaker| [&**path, speaker])
    };
    lines.iter().filter_map(pair).flatten().collect()
}

/// A line for each path that the plan names, in the plan's order.
fn compile(plan: &Plan) -> Vec<Line> {
    let mut order: Vec<PathBuf> = Vec::new();
    let mut values: HashMap<PathBuf, Compiled> = HashMap::new();
    let mut value_of = |path: &Path, change: &dyn Fn(&mut Compiled)| {
        let value = values.entry(path.to_owned()).or_insert_with(|| {
            order.push(path.to_owned());
            Compiled::default()
        });
        change(value);
    };
    for Mark { path, own, below, dots, .. } in &plan.marks {
        value_of(path, &|value| {
            add(&mut value.own, *own);
            add(&mut value.below, *below);
            add(&mut value.dots, *dots);
        });
    }
    for name in &plan.names {
        value_of(&name.parent, &|value| value.names = true);
    }
    let denied = denied_places(plan);
    let said = values.clone();
    let mut speakers: HashMap<PathBuf, PathBuf> = HashMap::new();
    for (path, value) in &mut values {
        if denied.iter().any(|place| path.starts_with(place)) {
            value.own = Some(Zone::Denied);
            value.below = Some(Zone::Denied);
        }
        value.is_final = denied.iter().all(|place| place != path && place.starts_with(path));
        if value.below.is_none() && (value.names || value.dots.is_some()) {
            let (zone, speaker) = inherited(path, &said, plan);
            value.below = Some(zone);
            speakers.extend(speaker.map(|speaker| (path.clone(), speaker)));
        }
    }
    let line = |path: PathBuf| {
        let (value, speaker) = (values.remove(&path)?, speakers.remove(&path));
        Some(Line { path, value, speaker })
    };
    order.into_iter().filter_map(line).collect()
}

/// What entries of `path` lie in where its own mark is silent about them: what the nearest speaking one above says, and
/// which directory that is if it says so of all that lies in it.
fn inherited(path: &Path, said: &HashMap<PathBuf, Compiled>, plan: &Plan) -> (Zone, Option<PathBuf>) {
    let mut child = path;
    while let Some(parent) = child.parent() {
        let name = child.file_name().unwrap_or_default();
        if let Some(mark) = plan.names.iter().find(|mark| mark.parent == parent && mark.name == name) {
            return (mark.zone, None);
        }
        let said = said.get(parent);
        let dots = said.and_then(|value| value.dots).filter(|_| name.as_bytes().starts_with(b"."));
        if let Some(zone) = dots.or(said.and_then(|value| value.below)) {
            return (zone, Some(parent.to_owned()));
        }
        child = parent;
    }
    (Zone::Other, None)
}

/// The places that the plan denies as a whole.
fn denied_places(plan: &Plan) -> Vec<PathBuf> {
    let denies = |mark: &&Mark| [mark.own, mark.below].contains(&Some(Zone::Denied));
    let objects = plan.marks.iter().filter(denies).map(|mark| mark.path.clone());
    let names = plan.names.iter().filter(|name| name.zone == Zone::Denied);
    objects.chain(names.map(|name| name.parent.join(&name.name))).collect()
}

/// A later mark adds to an earlier one on the same path, and never takes a zone away that nothing lifts.
fn add(field: &mut Option<Zone>, zone: Option<Zone>) {
    if zone.is_some() && !field.is_some_and(|old| severity(old) >= FIRM) {
        *field = zone;
    } else {
        *field = field.max_by_severity(zone);
    }
}

trait BySeverity {
    fn max_by_severity(self, other: Self) -> Self;
}

impl BySeverity for Option<Zone> {
    /// The stricter of both.
    fn max_by_severity(self, other: Self) -> Self {
        if other.map_or(0, severity) > self.map_or(0, severity) { other } else { self }
    }
}

/// From here on, a zone stays whatever a later line says.
const FIRM: u8 = 8;

/// How strict a zone is, compared with others.
const fn severity(zone: Zone) -> u8 {
    match zone {
        Zone::Born => 1,
        Zone::Scope => 2,
        Zone::State => 3,
        Zone::Config => 4,
        Zone::Other => 5,
        Zone::System => 6,
        Zone::Personal => 7,
        Zone::Root => FIRM,
        Zone::History => 9,
        Zone::Own => 10,
        Zone::Floor => 11,
        Zone::Denied => 12,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(path: &str, own: Option<Zone>, below: Option<Zone>) -> Mark {
        Mark { path: path.into(), own, below, dots: None, origin: String::new() }
    }

    fn head(parent: &str) -> NameMark {
        NameMark { parent: parent.into(), name: "HEAD".into(), zone: Zone::History, origin: String::new() }
    }

    fn line(plan: &Plan, path: &str) -> Line {
        compile(plan).into_iter().find(|line| line.path == Path::new(path)).expect("marked")
    }

    fn value(plan: &Plan, path: &str) -> Compiled {
        line(plan, path).value
    }

    #[test]
    fn a_later_mark_adds_to_an_earlier_one() {
        let plan = Plan {
            marks: vec![
                mark("/w", None, Some(Zone::Scope)),
                mark("/w", Some(Zone::Root), None),
                mark("/w", Some(Zone::Scope), None),
            ],
            ..Plan::default()
        };
        let value = value(&plan, "/w");
        assert_eq!((value.own, value.below), (Some(Zone::Root), Some(Zone::Scope)));
    }

    #[test]
    fn a_directory_with_named_entries_speaks_for_the_others_too() {
        let mut plan = Plan {
            marks: vec![mark("/w", None, Some(Zone::Scope))],
            names: vec![head("/w/.git")],
            ..Plan::default()
        };
        let Line { value: git, speaker, .. } = line(&plan, "/w/.git");
        assert!(git.names);
        assert_eq!((git.own, git.below), (None, Some(Zone::Scope)));
        assert_eq!(speaker, Some("/w".into()), "until it is moved");
        plan.marks[0].dots = Some(Zone::Config);
        assert_eq!(value(&plan, "/w/.git").below, Some(Zone::Config));
        plan.marks.clear();
        let Line { value: git, speaker, .. } = line(&plan, "/w/.git");
        assert_eq!((git.below, speaker), (Some(Zone::Other), None));
    }

    #[test]
    fn only_who_is_spoken_for_and_who_speaks_is_asked_for_its_mount() {
        let plan = Plan {
            marks: vec![
                mark("/", Some(Zone::Floor), Some(Zone::Other)),
                mark("/etc", Some(Zone::Floor), Some(Zone::System)),
                mark("/w", Some(Zone::Root), Some(Zone::Scope)),
                mark("/w/vault", Some(Zone::Denied), Some(Zone::Denied)),
            ],
            names: vec![head("/w/.git"), head("/w/modules/x/.git"), head("/etc")],
            ..Plan::default()
        };
        let lines = compile(&plan);
        let mut asked: Vec<&Path> = compared(&lines).into_iter().collect();
        asked.sort();
        assert_eq!(lines.len(), 6);
        assert_eq!(asked, ["/w", "/w/.git", "/w/modules/x/.git"].map(Path::new));
    }

    #[test]
    fn a_walk_may_stop_where_nothing_above_or_beside_is_denied() {
        let mut plan = Plan {
            marks: vec![mark("/w", None, Some(Zone::Scope)), mark("/tmp", None, Some(Zone::Scope))],
            ..Plan::default()
        };
        assert!(value(&plan, "/w").is_final && value(&plan, "/tmp").is_final);
        plan.marks.push(mark("/w/secrets", Some(Zone::Denied), Some(Zone::Denied)));
        assert!(value(&plan, "/w").is_final);
        assert!(!value(&plan, "/tmp").is_final, "it may be reachable below the denied place");
        assert!(!value(&plan, "/w/secrets").is_final);
    }

    #[test]
    fn nothing_below_a_denied_place_is_anything_else() {
        let name =
            NameMark { parent: "/w".into(), name: "vault".into(), zone: Zone::Denied, origin: String::new() };
        let plan = Plan {
            marks: vec![mark("/w/vault/build", None, Some(Zone::Scope))],
            names: vec![name],
            ..Plan::default()
        };
        let build = value(&plan, "/w/vault/build");
        assert_eq!((build.own, build.below), (Some(Zone::Denied), Some(Zone::Denied)));
    }

    #[test]
    fn one_object_under_two_paths_gets_the_stricter_word() {
        let home = Compiled {
            own: Some(Zone::Floor),
            below: Some(Zone::Personal),
            is_final: true,
            ..Compiled::default()
        };
        let scope = Compiled { below: Some(Zone::Scope), names: true, is_final: true, ..Compiled::default() };
        let both = home.strictest(&scope);
        assert_eq!(both, scope.strictest(&home));
        assert_eq!((both.own, both.below), (Some(Zone::Floor), Some(Zone::Personal)));
        assert!(both.names && both.is_final);
    }
}
