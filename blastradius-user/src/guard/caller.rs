//! Who asks, and for what?
//!
//! Everything here is read from another process while it waits for our answer. It is foreign: pointers may lead nowhere,
//! strings may have no end, and another thread may change them while they are read. So every read has a bound, and what
//! cannot be read is an error, never a guess. The caller of this module checks afterwards that the process was still
//! waiting ([`super::notify::Listener::is_waiting`]); only then does a pid mean what it meant when it was received.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use super::notify::Trapped;

/// The kernel's own limit for arguments and environment together: three quarters of 8 MiB (fs/exec.c, bprm_stack_limits).
const MAX_BYTES: usize = 6 << 20;
/// The kernel's limit for one string: MAX_ARG_STRLEN, 32 pages.
const MAX_STRING: usize = 128 << 10;
/// More pointers than [`MAX_BYTES`] of one-byte strings can mean.
const MAX_STRINGS: usize = MAX_BYTES / 8;
/// A path that is longer fails with ENAMETOOLONG before it is looked up.
const MAX_PATH: usize = 4096;

/// Why the caller could not be read. Each is a reason not to let the exec go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A pointer leads nowhere: the exec would fail with EFAULT by itself.
    #[error("an argument of the exec cannot be read")]
    Fault,
    /// More than the kernel would take: the exec would fail with E2BIG by itself.
    #[error("the arguments of the exec are longer than the kernel takes")]
    TooLong,
    /// The same of the path: ENAMETOOLONG.
    #[error("the path of the exec is longer than the kernel takes")]
    PathTooLong,
    /// The process may not be looked at (it made itself undumpable, or a security module forbids it).
    #[error("the process that wants to start a program cannot be looked at ({0})")]
    Hidden(Errno),
}

impl ReadError {
    /// The errno that the kernel would give by itself; `None` where it would let the exec go on.
    pub const fn natural(self) -> Option<Errno> {
        match self {
            Self::Fault => Some(Errno::EFAULT),
            Self::TooLong => Some(Errno::E2BIG),
            Self::PathTooLong => Some(Errno::ENAMETOOLONG),
            Self::Hidden(_) => None,
        }
    }
}

/// A trapped exec, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecRequest {
    /// The calling thread.
    pub tid: libc::pid_t,
    /// The file, as the caller named it; for execveat(2) below its directory descriptor, the absolute path.
    pub path: PathBuf,
    /// The arguments, `argv[0]` first.
    pub argv: Vec<OsString>,
    /// The environment of the new program.
    pub env: Vec<(OsString, OsString)>,
    /// The caller's working directory.
    pub cwd: PathBuf,
    /// Where the caller's `/` can be reached from here, if it is not ours (chroot, mount namespace).
    pub root: Option<PathBuf>,
    /// The caller's effective user.
    pub uid: u32,
}

impl ExecRequest {
    /// Reads it.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(trapped: &Trapped) -> Result<Self, ReadError> {
        let tid = trapped.tid;
        let mut memory = Memory::of(tid);
        // execve(path, argv, envp); execveat(dirfd, path, argv, envp, flags)
        let shift = usize::from(trapped.at);
        let [path, argv, envp] = [0, 1, 2].map(|index| trapped.args[shift + index]);
        let path = match memory.string(path, MAX_PATH) {
            Err(ReadError::TooLong) => return Err(ReadError::PathTooLong),
            path => OsString::from_vec(path?),
        };
        let argv = memory.strings(argv)?;
        let env = memory.strings(envp)?;
        let cwd = working_directory(tid)?;
        let path = if trapped.at { at_directory(tid, trapped.args[0], &path) } else { path.into() };
        Ok(Self {
            tid,
            path,
            argv: argv.into_iter().map(OsString::from_vec).collect(),
            env: env.into_iter().filter_map(variable).collect(),
            cwd,
            root: foreign_root(tid)?,
            uid: std::fs::metadata(format!("/proc/{tid}")).map_or(0, |meta| meta.uid()),
        })
    }
}

impl ExecRequest {
    /// The errno of an exec whose file is not there: a search along PATH asks for many. `None`: it may be there.
    pub fn is_missing(&self) -> Option<Errno> {
        // Through another root an absolute link would lead into ours, so there the kernel finds out by itself.
        if self.root.is_some() {
            return None;
        }
        match std::fs::metadata(self.cwd.join(&self.path)) {
            Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                Some(errno @ (Errno::ENOENT | Errno::ENOTDIR)) => Some(errno),
                _ => None,
            },
            Ok(_) => None,
        }
    }
}

/// `NAME=VALUE`; what has no `=` is no variable. A leading `=` belongs to the name, as in the C library.
fn variable(entry: Vec<u8>) -> Option<(OsString, OsString)> {
    let equals = entry.iter().skip(1).position(|&byte| byte == b'=')? + 1;
    let name = OsStr::from_bytes(&entry[..equals]).to_owned();
    Some((name, OsStr::from_bytes(&entry[equals + 1..]).to_owned()))
}

fn link(tid: libc::pid_t, name: &str) -> Result<PathBuf, ReadError> {
    std::fs::read_link(format!("/proc/{tid}/{name}")).map_err(|error| hidden(&error))
}

/// A directory whose name is longer than a path can be (ENAMETOOLONG, from d_path) is named by its link.
fn working_directory(tid: libc::pid_t) -> Result<PathBuf, ReadError> {
    match link(tid, "cwd") {
        Err(ReadError::Hidden(Errno::ENAMETOOLONG)) => Ok(format!("/proc/{tid}/cwd").into()),
        other => other,
    }
}

fn hidden(error: &std::io::Error) -> ReadError {
    ReadError::Hidden(error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))
}

/// The path of an execveat(2): relative to a descriptor, or the descriptor itself (AT_EMPTY_PATH).
fn at_directory(tid: libc::pid_t, dirfd: u64, path: &OsStr) -> PathBuf {
    // The kernel passes an int; the upper half of the register is the caller's.
    let dirfd = dirfd as u32 as i32;
    if dirfd == libc::AT_FDCWD || path.as_bytes().first() == Some(&b'/') {
        return path.into();
    }
    match std::fs::read_link(format!("/proc/{tid}/fd/{dirfd}")) {
        Ok(directory) if path.is_empty() => directory,
        Ok(directory) => directory.join(path),
        Err(_) => path.into(),
    }
}

/// Where the caller's root is, unless it is ours in our mount namespace.
fn foreign_root(tid: libc::pid_t) -> Result<Option<PathBuf>, ReadError> {
    let ours = std::fs::read_link("/proc/self/ns/mnt").map_err(|error| hidden(&error))?;
    let same = link(tid, "ns/mnt")? == ours && link(tid, "root")? == Path::new("/");
    Ok((!same).then(|| format!("/proc/{tid}/root").into()))
}

const PAGE: usize = 4096;

/// The memory of another process, page by page, each read once.
struct Memory {
    tid: libc::pid_t,
    pages: HashMap<u64, Box<[u8]>>,
    /// Read through `/proc/TID/mem` because process_vm_readv(2) is not allowed here (container profiles).
    slow: Option<std::fs::File>,
    bytes: usize,
}

impl Memory {
    fn of(tid: libc::pid_t) -> Self {
        Self { tid, pages: HashMap::new(), slow: None, bytes: 0 }
    }

    fn charge(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.bytes += bytes;
        if self.bytes > MAX_BYTES { Err(ReadError::TooLong) } else { Ok(()) }
    }

    /// A NULL-terminated array of strings. NULL itself is an empty array, as for the kernel.
    fn strings(&mut self, array: u64) -> Result<Vec<Vec<u8>>, ReadError> {
        if array == 0 {
            return Ok(Vec::new());
        }
        let pointers = self.pointers(array)?;
        self.fetch(&pointers);
        pointers.into_iter().map(|pointer| self.string(pointer, MAX_STRING)).collect()
    }

    fn pointers(&mut self, array: u64) -> Result<Vec<u64>, ReadError> {
        let mut pointers = Vec::new();
        for index in 0..MAX_STRINGS as u64 {
            let mut word = [0; 8];
            let at = array.checked_add(index * 8).ok_or(ReadError::Fault)?;
            self.copy(at, &mut word)?;
            match u64::from_ne_bytes(word) {
                0 => return Ok(pointers),
                pointer => pointers.push(pointer),
            }
        }
        Err(ReadError::TooLong)
    }

    fn copy(&mut self, at: u64, into: &mut [u8]) -> Result<(), ReadError> {
        let mut at = at;
        let mut left = into;
        while !left.is_empty() {
            let page = self.page(at)?;
            let offset = at as usize % PAGE;
            let count = left.len().min(PAGE - offset);
            let (now, later) = left.split_at_mut(count);
            now.copy_from_slice(&page[offset..offset + count]);
            left = later;
            at = at.checked_add(count as u64).ok_or(ReadError::Fault)?;
        }
        Ok(())
    }

    /// A NUL-terminated string of at most `limit` bytes.
    fn string(&mut self, at: u64, limit: usize) -> Result<Vec<u8>, ReadError> {
        let mut string = Vec::new();
        let mut at = at;
        loop {
            let offset = at as usize % PAGE;
            let page = self.page(at)?;
            let rest = &page[offset..];
            let end = rest.iter().position(|&byte| byte == 0);
            string.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            if string.len() >= limit {
                return Err(ReadError::TooLong);
            }
            if end.is_some() {
                self.charge(string.len() + 1)?;
                return Ok(string);
            }
            at = at.checked_add((PAGE - offset) as u64).ok_or(ReadError::Fault)?;
        }
    }

    fn page(&mut self, at: u64) -> Result<&[u8], ReadError> {
        let base = at - at % PAGE as u64;
        if !self.pages.contains_key(&base) {
            let mut page = vec![0; PAGE].into_boxed_slice();
            self.read(base, &mut page)?;
            self.pages.insert(base, page);
        }
        Ok(&self.pages[&base])
    }

    /// Reads the pages of many strings in few calls. What cannot be read is left to [`Self::page`] to report.
    fn fetch(&mut self, pointers: &[u64]) {
        const AT_ONCE: usize = 64;
        let mut bases: Vec<u64> = pointers.iter().map(|at| at - at % PAGE as u64).collect();
        bases.sort_unstable();
        bases.dedup();
        bases.retain(|base| !self.pages.contains_key(base));
        for bases in bases.chunks(AT_ONCE) {
            let mut pages = vec![0u8; bases.len() * PAGE];
            let local = [std::io::IoSliceMut::new(&mut pages)];
            let read = vm_read(self.tid, local, bases).unwrap_or(0);
            for (base, page) in bases.iter().zip(pages.chunks_exact(PAGE)).take(read / PAGE) {
                self.pages.insert(*base, page.into());
            }
        }
    }

    fn read(&mut self, base: u64, page: &mut [u8]) -> Result<(), ReadError> {
        if self.slow.is_none() {
            match vm_read(self.tid, [std::io::IoSliceMut::new(page)], &[base]) {
                Ok(PAGE) => return Ok(()),
                Ok(_) | Err(Errno::EFAULT | Errno::EIO) => return Err(ReadError::Fault),
                // Refused or not there: the other road is judged by its own permissions.
                Err(_) => {
                    let file = std::fs::File::open(format!("/proc/{}/mem", self.tid));
                    self.slow = Some(file.map_err(|error| hidden(&error))?);
                }
            }
        }
        match &self.slow {
            Some(file) => file.read_exact_at(page, base).map_err(|_| ReadError::Fault),
            None => Err(ReadError::Fault),
        }
    }
}

fn vm_read<const N: usize>(
    tid: libc::pid_t,
    mut local: [std::io::IoSliceMut<'_>; N],
    bases: &[u64],
) -> Result<usize, Errno> {
    use nix::sys::uio::{RemoteIoVec, process_vm_readv};
    let remote: Vec<_> = bases.iter().map(|&base| RemoteIoVec { base: base as usize, len: PAGE }).collect();
    process_vm_readv(nix::unistd::Pid::from_raw(tid), &mut local, &remote)
}

/// One process of the chain from the offender up to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Process id.
    pub pid: libc::pid_t,
    /// The program that it runs, if it can be told.
    pub exe: Option<PathBuf>,
    /// Its arguments, cut to a bound.
    pub argv: Vec<OsString>,
}

/// The processes from `tid` upwards, at most `LONGEST`, ending below `stop` (the guard).
pub fn chain(tid: libc::pid_t, stop: libc::pid_t) -> Vec<Ancestor> {
    const LONGEST: usize = 32;
    let mut chain = Vec::new();
    let mut next = process_of(tid);
    while let Some(pid) = next.filter(|&pid| pid > 1 && pid != stop && chain.len() < LONGEST) {
        chain.push(Ancestor {
            pid,
            exe: std::fs::read_link(format!("/proc/{pid}/exe")).ok(),
            argv: command_line(pid),
        });
        next = parent_of(pid);
    }
    chain
}

/// The process that a thread belongs to.
pub fn process_of(tid: libc::pid_t) -> Option<libc::pid_t> {
    status_field(tid, "Tgid:")
}

/// Its parent.
pub fn parent_of(pid: libc::pid_t) -> Option<libc::pid_t> {
    status_field(pid, "PPid:")
}

/// When the process started, in ticks since boot: with its pid it names a process for good (proc_pid_stat(5), field 22).
pub fn start_time(pid: libc::pid_t) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses, which may hold anything; the third is the first behind it.
    stat.rsplit_once(") ")?.1.split_whitespace().nth(19)?.parse().ok()
}

fn status_field(pid: libc::pid_t, name: &str) -> Option<libc::pid_t> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

fn command_line(pid: libc::pid_t) -> Vec<OsString> {
    use std::io::Read as _;
    const LONGEST: u64 = 4096;
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open(format!("/proc/{pid}/cmdline")) {
        // What was read before an error is kept: it is for people.
        let _ = file.take(LONGEST).read_to_end(&mut bytes);
    }
    let words = bytes.strip_suffix(&[0]).unwrap_or(&bytes).split(|&byte| byte == 0);
    if bytes.is_empty() { Vec::new() } else { words.map(|word| OsStr::from_bytes(word).to_owned()).collect() }
}

/// A copy of the process's standard error: pidfd_getfd(2), which shares the offset of a file and works for sockets.
pub fn stderr_of(tid: libc::pid_t) -> Option<OwnedFd> {
    let pid = process_of(tid)?;
    // SAFETY: pidfd_open takes numbers; a non-negative result is a new descriptor that only we know.
    let pidfd = unsafe { owned(libc::syscall(libc::SYS_pidfd_open, pid, 0)) }?;
    // SAFETY: the same for pidfd_getfd; `pidfd` is open.
    unsafe { owned(libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), libc::STDERR_FILENO, 0)) }
}

/// # Safety
/// `fd` must be negative or a descriptor that nobody else owns.
unsafe fn owned(fd: libc::c_long) -> Option<OwnedFd> {
    // SAFETY: upheld by the caller.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    fn ourselves() -> Memory {
        Memory::of(nix::unistd::gettid().as_raw())
    }

    #[test]
    fn strings_are_read_across_pages() {
        let long = CString::new(vec![b'x'; 3 * PAGE]).expect("no NUL");
        let short = CString::new("short").expect("no NUL");
        let array = [long.as_ptr() as u64, short.as_ptr() as u64, 0];
        let read = ourselves().strings(array.as_ptr() as u64).expect("readable");
        assert_eq!(read, [long.to_bytes().to_vec(), short.to_bytes().to_vec()]);
    }

    #[test]
    fn the_slow_road_reads_the_same() {
        let mut memory = ourselves();
        memory.slow = Some(std::fs::File::open("/proc/self/mem").expect("our own memory"));
        let text = CString::new("through the file").expect("no NUL");
        assert_eq!(memory.string(text.as_ptr() as u64, 100), Ok(text.to_bytes().to_vec()));
    }

    #[test]
    fn a_pointer_that_leads_nowhere_and_a_string_without_end_are_errors() {
        assert_eq!(ourselves().string(8, 100), Err(ReadError::Fault));
        assert_eq!(ourselves().strings(u64::MAX - 3), Err(ReadError::Fault));
        let endless = vec![b'x'; MAX_STRING + PAGE];
        assert_eq!(ourselves().string(endless.as_ptr() as u64, MAX_STRING), Err(ReadError::TooLong));
    }

    #[test]
    fn variables_keep_what_the_c_library_keeps() {
        let variable = |text: &str| variable(text.as_bytes().to_vec());
        assert_eq!(variable("A=b=c"), Some(("A".into(), "b=c".into())));
        assert_eq!(variable("A="), Some(("A".into(), "".into())));
        assert_eq!(variable("=C:=x"), Some(("=C:".into(), "x".into())));
        assert_eq!(variable("junk"), None);
    }

    #[test]
    fn the_chain_of_this_test_begins_with_it() {
        let tid = nix::unistd::gettid().as_raw();
        let chain = chain(tid, 0);
        assert_eq!(chain.first().map(|ancestor| ancestor.pid), Some(std::process::id() as i32));
    }
}
