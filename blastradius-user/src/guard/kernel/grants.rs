//! Grants: a human's yes, put into the kernel, and what git is lent without one.
//!
//! What was approved is listed by identity under a number of the session, and one task is told that its next program
//! carries that number. The task is named to the kernel side by signal 0, whose hook sees both tasks: no pid that another
//! process could have taken over, and no pid namespace, comes between.

use std::{
    collections::HashMap,
    fs::File,
    io,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use blastradius_common::{
    Id, Member, ObjectKey, Request,
    grant::{Cover, GrantKey, Order},
};

use super::{marks, set::Set};

/// What the judges of a session use to put a yes into the kernel. Usable from any thread.
#[derive(Clone, Debug)]
pub struct Grants {
    // Not an Arc: a judge must not keep the programs on the machine when the session has gone.
    set: Weak<Set>,
    session: u32,
    last: Arc<AtomicU32>,
    lent: Arc<Mutex<Lent>>,
}

/// What is lent already, and under which number: a repository that is pushed to all day takes up one.
type Lent = HashMap<Vec<(Id, Cover)>, u32>;

/// How long a task may take from the answer to the exec that was asked about.
const TAKEN_UP_WITHIN: Duration = Duration::from_secs(10);

impl Grants {
    pub(super) fn new(set: &Arc<Set>, session: u32) -> Self {
        Self { set: Arc::downgrade(set), session, last: Arc::default(), lent: Arc::default() }
    }

    fn set(&self) -> io::Result<Arc<Set>> {
        self.set.upgrade().ok_or_else(|| io::Error::other("the session is over"))
    }

    /// The identity of what lies at `path`, which must hold no link: `root` is where the path begins.
    ///
    /// # Errors
    /// Nothing lies there, a link is on the way, or the kernel side does not answer.
    pub fn identify(&self, root: &Path, path: &Path) -> io::Result<Id> {
        let set = self.set()?;
        let _answering = set.attach_identify()?;
        marks::identify(&set, &open_without_links(root, path)?)
    }

    /// The identity of the program that an exec of `path` runs in the end: that of the interpreter, for a script.
    ///
    /// # Errors
    /// As [`Self::identify`]; here links are followed, as execve(2) follows them.
    pub fn identify_program(&self, root: &Path, path: &Path) -> io::Result<Id> {
        let set = self.set()?;
        let _answering = set.attach_identify()?;
        let mut program = below(root, path);
        // The kernel itself goes four scripts deep (BINPRM_MAX_RECURSION counts five files).
        for _ in 0..5 {
            let file = File::open(&program)?;
            match interpreter(&file)? {
                Some(next) => program = below(root, &next),
                None => return marks::identify(&set, &file),
            }
        }
        Err(io::Error::from_raw_os_error(libc::ELOOP))
    }

    /// Whether the session itself made the object.
    ///
    /// # Errors
    /// bpf(2) is refused.
    pub fn is_born(&self, id: Id) -> io::Result<bool> {
        Ok(self.set()?.born.get(&ObjectKey::new(self.session, id))?.is_some())
    }

    /// The membership of a thread, whatever pid it has where: `None` is no member of any session.
    ///
    /// # Errors
    /// It is not there, may not be signalled, or the kernel side does not answer. Nothing is known then.
    pub fn member(&self, process: libc::pid_t, thread: libc::pid_t) -> io::Result<Option<Member>> {
        let member = self.probe(process, thread, Order::default())?;
        Ok((member.session != 0).then_some(member))
    }

    /// Lists what a new grant covers, and returns its number.
    ///
    /// # Errors
    /// The map is full, or the session has given away all its numbers.
    pub fn list(&self, objects: &[(Id, Cover)]) -> io::Result<u32> {
        let grant = self.next()?;
        self.put(grant, objects)
    }

    /// The same for what git is lent: it holds in no other program, however it is passed on.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn lend(&self, objects: &[(Id, Cover)]) -> io::Result<u32> {
        // Only ever added to, entry by entry.
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grant) = lent.get(objects) {
            return Ok(*grant);
        }
        let grant = self.put(self.next()? | Member::LENT, objects)?;
        lent.insert(objects.to_vec(), grant);
        Ok(grant)
    }

    fn next(&self) -> io::Result<u32> {
        let next = |last: u32| (last < Member::LAST_GRANT).then_some(last + 1);
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        last.map(|last| last + 1).map_err(|_| io::Error::other("the session has used up its grants"))
    }

    fn put(&self, grant: u32, objects: &[(Id, Cover)]) -> io::Result<u32> {
        let set = self.set()?;
        let key = |id: &Id| GrantKey { id: *id, session: self.session, grant };
        let listed = objects.iter().try_for_each(|(id, cover)| {
            let before = set.grants.get(&key(id))?.unwrap_or_default();
            set.grants.insert(&key(id), &(before | cover.0))
        });
        if listed.is_err() {
            let _ = objects.iter().try_for_each(|(id, _)| set.grants.remove(&key(id)));
        }
        listed.map(|()| grant)
    }

    /// The next exec of the thread, if it is one of `binary` and comes soon, carries `grant`, and so does everything that
    /// is started by it.
    ///
    /// # Errors
    /// As [`Self::member`]; or the thread is no member of the session.
    pub fn expect(
        &self,
        grant: u32,
        process: libc::pid_t,
        thread: libc::pid_t,
        binary: Id,
    ) -> io::Result<()> {
        let until = monotonic_now() + TAKEN_UP_WITHIN.as_nanos() as u64;
        let member = self.probe(process, thread, Order { binary, until, session: self.session, grant })?;
        if member.session == self.session {
            Ok(())
        } else {
            Err(io::Error::other("it is not in the session"))
        }
    }

    /// Makes a task that runs already a member of the session. `false`: it is one.
    ///
    /// # Errors
    /// As [`Self::member`]; or it is a member of another session, or the table of tasks is full.
    pub fn enrol(&self, process: libc::pid_t, thread: libc::pid_t) -> io::Result<bool> {
        let order = Order { session: self.session, grant: Order::ENROL, ..Order::default() };
        let before = self.probe(process, thread, order)?;
        if before.session == self.session {
            return Ok(false);
        }
        match self.member(process, thread)? {
            Some(member) if member.session == self.session => Ok(true),
            Some(_) => Err(io::Error::other("it is in another session")),
            None => Err(io::Error::other("the table of guarded tasks is full")),
        }
    }

    fn probe(&self, process: libc::pid_t, thread: libc::pid_t, order: Order) -> io::Result<Member> {
        let set = self.set()?;
        let token = marks::next_token();
        set.orders.insert(&token, &order)?;
        let found = signal_nothing(&set, process, thread, token);
        let answer = set.memberships.get(&token);
        let _ = set.orders.remove(&token);
        let _ = set.memberships.remove(&token);
        found?;
        answer?.ok_or_else(|| io::Error::other("signal 0 was not seen"))
    }
}

/// Sends signal 0 in the name of the token.
fn signal_nothing(set: &Set, process: libc::pid_t, thread: libc::pid_t, token: u64) -> io::Result<()> {
    set.request(Request::Probe, token)?;
    // SAFETY: takes numbers; signal 0 is none.
    match unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What `bpf_ktime_get_ns` gives.
fn monotonic_now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid for the call, which cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// `path`, seen from `root`.
fn below(root: &Path, path: &Path) -> std::path::PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// What stands behind `#!`.
fn interpreter(file: &File) -> io::Result<Option<std::path::PathBuf>> {
    use std::os::unix::fs::FileExt as _;
    // BINPRM_BUF_SIZE (include/uapi/linux/binfmts.h).
    let mut head = [0; 256];
    let length = file.read_at(&mut head, 0)?;
    let Some(line) = head[..length].strip_prefix(b"#!") else { return Ok(None) };
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut words = line.split(blank).filter(|word| !word.is_empty());
    Ok(words.next().map(|word| std::ffi::OsStr::from_bytes(word).into()))
}

/// openat2(2) with RESOLVE_NO_SYMLINKS: what was looked at is what is opened, or nothing is.
fn open_without_links(root: &Path, path: &Path) -> io::Result<File> {
    const NO_MAGIC_LINKS: u64 = 0x02;
    const NO_SYMLINKS: u64 = 0x04;
    // The way to another root leads through a link of /proc, which is followed on purpose.
    let root = File::open(root)?;
    let path = path.strip_prefix("/").unwrap_or(path);
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // struct open_how (include/uapi/linux/openat2.h): flags, mode, resolve.
    let how: [u64; 3] =
        [(libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC) as u64, 0, NO_MAGIC_LINKS | NO_SYMLINKS];
    // O_NOFOLLOW with O_PATH opens a link itself; RESOLVE_NO_SYMLINKS permits that for the last component.
    // SAFETY: the path is NUL-terminated, `how` is as long as is said, and both outlive the call.
    let fd = unsafe {
        libc::syscall(libc::SYS_openat2, root.as_raw_fd(), path.as_ptr(), how.as_ptr(), size_of_val(&how))
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_object_behind_a_link_is_not_opened_and_a_link_itself_is() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let base = dir.path().canonicalize().expect("it is there");
        std::fs::create_dir(base.join("real")).expect("made");
        std::fs::write(base.join("real/file"), "").expect("made");
        symlink("real", base.join("link")).expect("made");
        let opens = |path: &str| open_without_links(Path::new("/"), &base.join(path)).is_ok();
        assert!(opens("real/file") && opens("real") && opens("link"));
        assert!(!opens("link/file") && !opens("nothing"));
        assert!(open_without_links(&base, Path::new("/real/file")).is_ok());
    }

    #[test]
    fn the_interpreter_is_what_the_kernel_would_run() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let of = |text: &str| {
            let path = dir.path().join("script");
            std::fs::write(&path, text).expect("made");
            interpreter(&File::open(&path).expect("there")).expect("readable")
        };
        assert_eq!(of("#!/bin/sh -e\nrm x\n"), Some("/bin/sh".into()));
        assert_eq!(of("#! \t/usr/bin/env python3"), Some("/usr/bin/env".into()));
        assert_eq!(of("\x7fELF"), None);
        assert_eq!(of("#!"), None);
    }
}
