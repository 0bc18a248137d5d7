//! bpf(2), as thinly as it can be called from safe code.
//!
//! Only the commands that the loader needs and that aya does not offer for programs that it cannot load itself
//! (`fmod_ret`), or for maps and programs that another process pinned. Layouts: `union bpf_attr` in
//! include/uapi/linux/bpf.h.

use std::{
    ffi::{CStr, CString},
    io,
    os::{
        fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
};

use super::functions::Functions;

const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_long = 1;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_MAP_DELETE_ELEM: libc::c_long = 3;
const BPF_MAP_GET_NEXT_KEY: libc::c_long = 4;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_OBJ_PIN: libc::c_long = 6;
const BPF_OBJ_GET: libc::c_long = 7;
const BPF_PROG_TEST_RUN: libc::c_long = 10;
const BPF_OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const BPF_RAW_TRACEPOINT_OPEN: libc::c_long = 17;
const BPF_BTF_LOAD: libc::c_long = 18;
const BPF_MAP_FREEZE: libc::c_long = 22;
pub(super) const BPF_MAP_TYPE_RINGBUF: u32 = 27;

/// Calls bpf(2) with an attribute of any of the layouts below.
fn bpf<T>(command: libc::c_long, attribute: &mut T) -> io::Result<i32> {
    // SAFETY: the attribute is a live value of the size given, and the kernel writes inside it only. The pointers that it
    // holds are live for the call: each caller below borrows what they point to.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attribute, size_of::<T>()) };
    i32::try_from(result).ok().filter(|result| *result >= 0).ok_or_else(io::Error::last_os_error)
}

fn owned(fd: i32) -> OwnedFd {
    // SAFETY: a descriptor that bpf(2) just returned to us, so nobody else owns it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn path_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

#[repr(C)]
struct ElementAttribute {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl ElementAttribute {
    fn new<K>(map: BorrowedFd<'_>, key: Option<&K>, value: u64) -> Self {
        let key = key.map_or(0, |key| std::ptr::from_ref(key) as u64);
        Self { map: map.as_raw_fd() as u32, padding: 0, key, value, flags: 0 }
    }
}

/// Reads the value under `key` of a map whose key and value have the layouts `K` and `V`.
///
/// # Errors
/// `ENOENT` where there is none.
///
/// # Safety
/// `K` and `V` must be as large as the map's key and value, without padding, and `V` valid in every bit pattern.
pub(super) unsafe fn map_lookup<K, V: Copy + Default>(map: BorrowedFd<'_>, key: &K) -> io::Result<V> {
    let mut value = V::default();
    bpf(BPF_MAP_LOOKUP_ELEM, &mut ElementAttribute::new(map, Some(key), &raw mut value as u64))?;
    Ok(value)
}

/// Writes `value` under `key`.
///
/// # Safety
/// As for [`map_lookup`].
pub(super) unsafe fn map_update<K, V>(map: BorrowedFd<'_>, key: &K, value: &V) -> io::Result<()> {
    let value = std::ptr::from_ref(value) as u64;
    bpf(BPF_MAP_UPDATE_ELEM, &mut ElementAttribute::new(map, Some(key), value)).map(drop)
}

/// Removes `key`.
///
/// # Safety
/// `K` must be as large as the map's key.
pub(super) unsafe fn map_delete<K>(map: BorrowedFd<'_>, key: &K) -> io::Result<()> {
    bpf(BPF_MAP_DELETE_ELEM, &mut ElementAttribute::new(map, Some(key), 0)).map(drop)
}

/// The key after `key`, or the first one.
///
/// # Safety
/// `K` must be as large as the map's key, and valid in every bit pattern.
pub(super) unsafe fn map_next_key<K: Copy>(map: BorrowedFd<'_>, key: Option<&K>) -> io::Result<Option<K>> {
    let mut next = std::mem::MaybeUninit::<K>::uninit();
    match bpf(BPF_MAP_GET_NEXT_KEY, &mut ElementAttribute::new(map, key, next.as_mut_ptr() as u64)) {
        // SAFETY: the kernel has written a whole key.
        Ok(_) => Ok(Some(unsafe { next.assume_init() })),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What a map is to be.
#[repr(C)]
#[derive(Default)]
pub(super) struct NewMap {
    pub(super) map_type: u32,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) max_entries: u32,
    pub(super) flags: u32,
    /// For a map of maps: one such as it will hold, or 0.
    pub(super) inner: u32,
    pub(super) node: u32,
    pub(super) name: [u8; 16],
}

impl NewMap {
    /// The same with a name, for tools that list maps.
    pub(super) fn named(mut self, name: &str) -> Self {
        copy_name(&mut self.name, name);
        self
    }
}

/// Makes a map.
pub(super) fn create_map(mut map: NewMap) -> io::Result<OwnedFd> {
    match bpf(BPF_MAP_CREATE, &mut map) {
        // Before 5.11 maps and programs count against a limit on locked memory that is far too small for them.
        Err(error) if error.raw_os_error() == Some(libc::EPERM) && lift_memory_limit() => {
            bpf(BPF_MAP_CREATE, &mut map).map(owned)
        }
        made => made.map(owned),
    }
}

/// Lets the process lock as much memory as it likes. Whether it could not before, and can now.
fn lift_memory_limit() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: live structures, which the calls fill and read.
    unsafe {
        libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) == 0
            && limit.rlim_cur != libc::RLIM_INFINITY
            && libc::setrlimit(libc::RLIMIT_MEMLOCK, &unlimited) == 0
    }
}

/// Makes a ring buffer of `bytes`, a power of two and a multiple of the page size.
pub(super) fn create_ring(bytes: u32) -> io::Result<OwnedFd> {
    create_map(NewMap { map_type: BPF_MAP_TYPE_RINGBUF, max_entries: bytes, ..Default::default() })
}

/// Writes the one value of a map that holds data of a program.
///
/// # Errors
/// Too few bytes for the map's value among others.
pub(super) fn fill(map: BorrowedFd<'_>, bytes: &[u8], value_size: u32) -> io::Result<()> {
    if bytes.len() != value_size as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    bpf(BPF_MAP_UPDATE_ELEM, &mut ElementAttribute::new(map, Some(&0u32), bytes.as_ptr() as u64)).map(drop)
}

/// Lets nobody write to the map through bpf(2) any more: the verifier takes what it holds for constant then.
pub(super) fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    bpf(BPF_MAP_FREEZE, &mut [map.as_raw_fd() as u32]).map(drop)
}

/// `BPF_OBJ_NAME_LEN` includes a terminating zero.
fn copy_name(to: &mut [u8; 16], name: &str) {
    for (to, from) in to[..15].iter_mut().zip(name.bytes()) {
        *to = from;
    }
}

/// How a program is loaded and attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramKind {
    /// Judges an LSM hook; fires only where `bpf` is in the lsm list.
    Lsm,
    /// Changes the return value of a `security_*` function.
    ModifyReturn,
    /// Runs before a function; its return value is ignored.
    Entry,
    /// Runs after a function returned.
    Exit,
    /// Runs on request only.
    RawTracepoint,
}

impl ProgramKind {
    /// `BPF_PROG_TYPE_*` and `BPF_*` attach type.
    const fn numbers(self) -> (u32, u32) {
        match self {
            Self::Lsm => (29, 27),
            Self::ModifyReturn => (26, 26),
            Self::Entry => (26, 24),
            Self::Exit => (26, 25),
            Self::RawTracepoint => (17, 0),
        }
    }
}

#[repr(C)]
#[derive(Default)]
struct ProgramLoadAttribute {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
    btf: u32,
    function_info_size: u32,
    function_info: u64,
    function_info_count: u32,
    line_info_size: u32,
    line_info: u64,
    line_info_count: u32,
    attach_btf_id: u32,
    attach_program: u32,
    padding: u32,
}

/// A program to be loaded.
#[derive(Clone, Copy)]
pub(super) struct Program<'a> {
    pub(super) kind: ProgramKind,
    pub(super) name: &'a str,
    /// As the kernel reads them.
    pub(super) instructions: &'a [u8],
    /// The BTF id of the kernel function that it is for.
    pub(super) target: u32,
    /// What is said of its functions.
    pub(super) functions: Option<&'a Functions>,
}

impl Program<'_> {
    fn attribute(&self) -> ProgramLoadAttribute {
        /// Bytes of an eBPF instruction.
        const INSTRUCTION: usize = 8;
        const LICENSE: &CStr = c"Dual MIT/GPL";
        let (program_type, attach_type) = self.kind.numbers();
        let mut attribute = ProgramLoadAttribute {
            program_type,
            attach_type,
            instruction_count: u32::try_from(self.instructions.len() / INSTRUCTION).unwrap_or(u32::MAX),
            instructions: self.instructions.as_ptr() as u64,
            license: LICENSE.as_ptr() as u64,
            attach_btf_id: self.target,
            ..Default::default()
        };
        if let Some(Functions { types, records }) = self.functions {
            attribute.btf = types.as_raw_fd() as u32;
            attribute.function_info_size = size_of::<[u32; 2]>() as u32;
            attribute.function_info = records.as_ptr() as u64;
            attribute.function_info_count = records.len() as u32;
        }
        copy_name(&mut attribute.name, self.name);
        attribute
    }
}

#[repr(C)]
#[derive(Default)]
struct TypesLoadAttribute {
    types: u64,
    log: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
    padding: u32,
}

/// Hands over a set of types that programs can be described by.
pub(super) fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    let mut attribute =
        TypesLoadAttribute { types: types.as_ptr() as u64, size: types.len() as u32, ..Default::default() };
    bpf(BPF_BTF_LOAD, &mut attribute).map(owned)
}

/// Loads a program.
///
/// # Errors
/// What the kernel says, and the verifier's last words where it has any.
pub(super) fn load_program(program: &Program<'_>) -> Result<OwnedFd, (io::Error, String)> {
    match bpf(BPF_PROG_LOAD, &mut program.attribute()) {
        Ok(fd) => Ok(owned(fd)),
        // Once more, to hear why: a log slows the verifier down, so the first try goes without.
        Err(first) => load_program_aloud(program).map(|(fd, _)| fd).map_err(|(_, log)| (first, log)),
    }
}

/// As [`load_program`], with what the verifier says in the end: the reason and the numbers alone (BPF_LOG_STATS,
/// include/linux/bpf_verifier.h), as a whole trace does not fit any buffer.
pub(super) fn load_program_aloud(program: &Program<'_>) -> Result<(OwnedFd, String), (io::Error, String)> {
    let mut log = vec![0u8; 1 << 16];
    let mut attribute = program.attribute();
    attribute.log_level = 4;
    attribute.log_size = log.len() as u32;
    attribute.log = log.as_mut_ptr() as u64;
    let loaded = bpf(BPF_PROG_LOAD, &mut attribute);
    let words = last_words(&log);
    match loaded {
        Ok(fd) => Ok((owned(fd), words)),
        Err(error) => Err((error, words)),
    }
}

/// The end of a verifier log, where the reason is.
fn last_words(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[end.saturating_sub(1500)..end]).into_owned()
}

#[repr(C)]
struct RawTracepointAttribute {
    name: u64,
    program: u32,
    padding: u32,
}

/// Attaches a loaded program to what it was loaded for, until the returned link is closed and not pinned.
pub(super) fn attach(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let program = program.as_raw_fd() as u32;
    bpf(BPF_RAW_TRACEPOINT_OPEN, &mut RawTracepointAttribute { name: 0, program, padding: 0 }).map(owned)
}

#[repr(C)]
struct ObjectAttribute {
    path: u64,
    fd: u32,
    flags: u32,
}

/// Keeps a map, program or link alive under a path of a bpffs.
pub(super) fn pin(fd: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = path_string(path)?;
    let fd = fd.as_raw_fd() as u32;
    bpf(BPF_OBJ_PIN, &mut ObjectAttribute { path: path.as_ptr() as u64, fd, flags: 0 }).map(drop)
}

/// Opens what is pinned under `path`.
pub(super) fn pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = path_string(path)?;
    bpf(BPF_OBJ_GET, &mut ObjectAttribute { path: path.as_ptr() as u64, fd: 0, flags: 0 }).map(owned)
}

#[repr(C)]
struct InfoAttribute {
    fd: u32,
    length: u32,
    info: u64,
}

/// The number by which bpf(2) knows a map or a program.
pub(super) fn object_id(fd: BorrowedFd<'_>) -> io::Result<u32> {
    // `bpf_map_info` and `bpf_prog_info` both begin with the type and the id; the kernel fills as much as there is room for.
    let mut info = [0u32; 2];
    let length = size_of_val(&info) as u32;
    let fd = fd.as_raw_fd() as u32;
    bpf(BPF_OBJ_GET_INFO_BY_FD, &mut InfoAttribute { fd, length, info: info.as_mut_ptr() as u64 })?;
    Ok(info[1])
}

#[repr(C)]
#[derive(Default)]
struct TestRunAttribute {
    program: u32,
    returned: u32,
    data_sizes: [u32; 2],
    data: [u64; 2],
    repeat: u32,
    duration: u32,
    context_size: u32,
    context_size_out: u32,
    context: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch: u32,
    padding: u32,
}

/// Runs a raw tracepoint program in the calling thread's own context, and returns what it returned.
pub(super) fn run(program: BorrowedFd<'_>, arguments: &[u64; 2]) -> io::Result<i32> {
    let mut attribute = TestRunAttribute {
        program: program.as_raw_fd() as u32,
        context_size: size_of_val(arguments) as u32,
        context: arguments.as_ptr() as u64,
        ..Default::default()
    };
    bpf(BPF_PROG_TEST_RUN, &mut attribute)?;
    Ok(attribute.returned as i32)
}
