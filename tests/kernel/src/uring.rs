//! One `IORING_OP_UNLINKAT`, by raw system calls: io_uring(7).

use std::{
    ffi::CString,
    io,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use crate::calls::{Outcome, outcome};

/// Where the kernel executes the request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Executor {
    /// In the system call of the submitter.
    Inline,
    /// In a worker of the kernel.
    Worker,
    /// By the kernel's polling thread.
    Poller,
}

const SYS_IO_URING_SETUP: libc::c_long = 425;
const SYS_IO_URING_ENTER: libc::c_long = 426;
const IORING_SETUP_SQPOLL: u32 = 1 << 1;
const IORING_ENTER_GETEVENTS: u32 = 1;
const IORING_ENTER_SQ_WAKEUP: u32 = 2;
const IORING_OP_UNLINKAT: u8 = 36;
const IOSQE_ASYNC: u8 = 1 << 4;
const SUBMISSIONS: libc::off_t = 0;
const COMPLETIONS: libc::off_t = 0x800_0000;
const ENTRIES: libc::off_t = 0x1000_0000;

#[repr(C)]
#[derive(Default)]
struct Offsets {
    head: u32,
    tail: u32,
    mask: u32,
    entries: u32,
    flags: u32,
    fifth: u32,
    sixth: u32,
    reserved: [u32; 3],
}

#[repr(C)]
#[derive(Default)]
struct Parameters {
    submissions: u32,
    completions: u32,
    flags: u32,
    cpu: u32,
    idle: u32,
    features: u32,
    queue: u32,
    reserved: [u32; 3],
    submission: Offsets,
    completion: Offsets,
}

/// Removes `path`; `None` where the kernel has no io_uring, or not this request.
pub(crate) fn unlink(path: &Path, executor: Executor) -> Option<Outcome> {
    let path = CString::new(path.as_os_str().as_bytes()).expect("no zero in a test's path");
    let mut parameters = Parameters::default();
    if let Executor::Poller = executor {
        parameters.flags = IORING_SETUP_SQPOLL;
        parameters.idle = 100;
    }
    // SAFETY: a structure of the size that the kernel fills (120 bytes).
    let ring = unsafe { libc::syscall(SYS_IO_URING_SETUP, 4, &raw mut parameters) } as i32;
    if ring < 0 {
        return None;
    }
    let result = submit(ring, &parameters, &path, executor);
    // SAFETY: our own descriptor.
    unsafe { libc::close(ring) };
    (result != -libc::EINVAL).then(|| Outcome::from_errno(-result.min(0)))
}

fn map(ring: i32, length: usize, offset: libc::off_t) -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of what the kernel says is there.
    let address =
        unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, ring, offset) };
    assert_ne!(address, libc::MAP_FAILED, "mapping an io_uring: {}", io::Error::last_os_error());
    address.cast()
}

fn submit(ring: i32, parameters: &Parameters, path: &CString, executor: Executor) -> i32 {
    let (sq, cq) = (&parameters.submission, &parameters.completion);
    // `array` of the submission ring and `cqes` of the completion ring are at different places of the structure.
    let (array, cqes) = (sq.sixth as usize, cq.fifth as usize);
    let submission = map(ring, array + parameters.submissions as usize * 4, SUBMISSIONS);
    let completion = map(ring, cqes + parameters.completions as usize * 16, COMPLETIONS);
    let entries = map(ring, parameters.submissions as usize * 64, ENTRIES);
    // SAFETY: all inside the mappings; the kernel reads the entry only after the tail is published.
    unsafe {
        let flags = if let Executor::Worker = executor { IOSQE_ASYNC } else { 0 };
        entries.write_bytes(0, 64);
        entries.write(IORING_OP_UNLINKAT);
        entries.add(1).write(flags);
        entries.add(4).cast::<i32>().write(libc::AT_FDCWD);
        entries.add(16).cast::<u64>().write(path.as_ptr() as u64);
        submission.add(array).cast::<u32>().write(0);
        let tail = &*submission.add(sq.tail as usize).cast::<AtomicU32>();
        tail.store(1, Ordering::Release);
        let mut how = IORING_ENTER_GETEVENTS;
        if let Executor::Poller = executor {
            how |= IORING_ENTER_SQ_WAKEUP;
        }
        let entered = libc::syscall(SYS_IO_URING_ENTER, ring, 1, 1, how, 0usize, 0usize);
        if entered < 0 {
            return -outcome(entered).errno();
        }
        let finished = &*completion.add(cq.tail as usize).cast::<AtomicU32>();
        let deadline = Instant::now() + Duration::from_secs(20);
        while finished.load(Ordering::Acquire) == 0 {
            assert!(Instant::now() < deadline, "io_uring did not answer");
            std::thread::sleep(Duration::from_millis(1));
        }
        completion.add(cqes + 8).cast::<i32>().read()
    }
}
