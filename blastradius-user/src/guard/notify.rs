//! Which execs are asked about, and how are they answered?
//!
//! A seccomp filter stops execve(2) and execveat(2), and nothing else, until the supervisor has answered
//! (seccomp_unotify(2)). One call it refuses: to put keys into a terminal, with which a program could answer in a person's
//! place. The answer is advice that comes early: between it and the exec another thread of the caller can
//! change what was read, so nothing that must hold depends on it. That is the syscall layer's job.
//!
//! When the supervisor is gone, the kernel answers ENOSYS: a session without a judge can start no more programs.

use std::io::{Read as _, Seek as _};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

use libseccomp::error::SeccompError;
use libseccomp::{
    ScmpAction, ScmpArch, ScmpArgCompare, ScmpCompareOp, ScmpFilterContext, ScmpNotifResp,
    ScmpNotifRespFlags, ScmpSyscall,
};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The system calls that are asked about.
const TRAPPED: [&str; 2] = ["execve", "execveat"];

/// Fake input for a terminal (ioctl_tty(2)).
const TIOCSTI: u64 = 0x5412;

/// Other ABIs in which a process of this machine can make system calls: they are refused these two, because the numbers
/// and the layout of the arguments differ. Everything else of them passes. An ABI that is neither native nor listed
/// (x32) gets ENOSYS for every call, as on a kernel that was built without it.
#[cfg(target_arch = "x86_64")]
const FOREIGN: &[ScmpArch] = &[ScmpArch::X86];
#[cfg(target_arch = "aarch64")]
const FOREIGN: &[ScmpArch] = &[ScmpArch::Arm];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FOREIGN: &[ScmpArch] = &[];

/// Why there is no filter or no listener.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotifyError {
    /// libseccomp refused.
    #[error("building the exec filter: {0}")]
    Filter(#[from] SeccompError),
    /// The filter could not be read back.
    #[error("reading the exec filter: {0}")]
    Export(#[from] std::io::Error),
    /// The child did not hand over a listener.
    #[error("receiving the listener: {0}")]
    Receive(Errno),
}

/// A filter that is known to judge every ABI. There is no other way to make one than [`ArchGuarded::exec_filter`], so a
/// filter that a 32-bit program walks around cannot be installed by mistake.
#[derive(Clone, Debug)]
pub struct ArchGuarded {
    program: Vec<libc::sock_filter>,
}

impl ArchGuarded {
    /// Compiles the filter for this machine.
    ///
    /// # Errors
    /// [`NotifyError::Filter`] or [`NotifyError::Export`].
    pub fn exec_filter() -> Result<Self, NotifyError> {
        let mut filter = for_abi(ScmpArch::native(), ScmpAction::Notify)?;
        for &foreign in FOREIGN {
            filter.merge(for_abi(foreign, ScmpAction::Errno(libc::EACCES))?)?;
        }
        Ok(Self { program: export(&filter)? })
    }

    /// The instructions, for [`super::child::ExecTrap`].
    pub fn into_program(self) -> Vec<libc::sock_filter> {
        self.program
    }
}

fn for_abi(arch: ScmpArch, action: ScmpAction) -> Result<ScmpFilterContext, SeccompError> {
    let mut filter = ScmpFilterContext::new(ScmpAction::Allow)?;
    filter.set_act_badarch(ScmpAction::Errno(libc::ENOSYS))?;
    if arch != ScmpArch::native() {
        filter.add_arch(arch)?;
        filter.remove_arch(ScmpArch::Native)?;
    }
    for name in TRAPPED {
        filter.add_rule(action, ScmpSyscall::from_name(name)?)?;
    }
    // The kernel looks at the lower half of the register alone.
    let types_for_a_person = ScmpArgCompare::new(1, ScmpCompareOp::MaskedEqual(0xffff_ffff), TIOCSTI);
    filter.add_rule_conditional(
        ScmpAction::Errno(libc::EPERM),
        ScmpSyscall::from_name("ioctl")?,
        &[types_for_a_person],
    )?;
    Ok(filter)
}

/// libseccomp 2.5 writes a program to a descriptor only; the instructions are needed in memory, because the filter is
/// installed by seccomp(2) itself (WAIT_KILLABLE_RECV is not in libseccomp before 2.6).
fn export(filter: &ScmpFilterContext) -> Result<Vec<libc::sock_filter>, NotifyError> {
    let memory = nix::sys::memfd::memfd_create(c"filter", nix::sys::memfd::MFdFlags::MFD_CLOEXEC)
        .map_err(std::io::Error::from)?;
    filter.export_bpf(memory.as_fd())?;
    let mut file = std::fs::File::from(memory);
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes.chunks_exact(size_of::<libc::sock_filter>()).map(instruction).collect())
}

fn instruction(bytes: &[u8]) -> libc::sock_filter {
    let [a, b, jt, jf, c, d, e, f] = *bytes else {
        unreachable!("chunks of the size of an instruction, which is eight bytes")
    };
    libc::sock_filter { code: u16::from_ne_bytes([a, b]), jt, jf, k: u32::from_ne_bytes([c, d, e, f]) }
}

/// What came through the socket on which the child hands over its listener.
#[derive(Debug)]
pub enum Handover {
    /// The listener.
    Listener(Listener),
    /// The child installed no filter, for this reason (EBUSY: another listener serves this tree already).
    Without(Errno),
    /// The child ended before it came to that.
    Ended,
}

/// Waits for the child to hand over its listener.
///
/// # Errors
/// [`NotifyError::Receive`] if recvmsg(2) fails.
pub fn receive_listener(socket: &OwnedFd) -> Result<Handover, NotifyError> {
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
    let mut word = [0u8; 4];
    let mut space = nix::cmsg_space!(RawFd);
    let mut iov = [std::io::IoSliceMut::new(&mut word)];
    let (bytes, fd) = loop {
        match recvmsg::<()>(socket.as_raw_fd(), &mut iov, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC) {
            Ok(message) => {
                let fds = message.cmsgs().map_err(NotifyError::Receive)?.find_map(|cmsg| match cmsg {
                    ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
                    _ => None,
                });
                break (message.bytes, fds);
            }
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(NotifyError::Receive(errno)),
        }
    };
    Ok(match fd {
        // SAFETY: the kernel has just installed this descriptor for us, and nobody else knows its number.
        Some(fd) => Handover::Listener(Listener::new(unsafe { OwnedFd::from_raw_fd(fd) })),
        None if bytes == word.len() => Handover::Without(Errno::from_raw(i32::from_ne_bytes(word))),
        None => Handover::Ended,
    })
}

/// The receiving end of the filter.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A trapped exec. Answering it consumes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trapped {
    /// The kernel's cookie.
    pub id: u64,
    /// The calling thread, in our pid namespace.
    pub tid: libc::pid_t,
    /// execveat(2), not execve(2).
    pub at: bool,
    /// The arguments.
    pub args: [u64; 6],
}

/// Why nothing was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The caller was killed in between, or a signal came: ask again.
    Again,
    /// No task with this filter is left.
    Over,
    /// The kernel or a security module does not let us receive.
    Broken(Errno),
}

impl Listener {
    fn new(fd: OwnedFd) -> Self {
        let listener = Self(fd);
        listener.prefer_one_cpu();
        listener
    }

    /// SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (6.6): caller and judge take turns on one CPU. Older kernels do without.
    fn prefer_one_cpu(&self) {
        const SET_FLAGS: libc::c_ulong = 0x4008_2104;
        const SYNC_WAKE_UP: libc::c_ulong = 1;
        // SAFETY: SECCOMP_IOCTL_NOTIF_SET_FLAGS takes its flags by value.
        unsafe { libc::ioctl(self.0.as_raw_fd(), SET_FLAGS as _, SYNC_WAKE_UP) };
    }

    /// Waits for the next exec.
    ///
    /// # Errors
    /// See [`Silence`].
    pub fn receive(&self) -> Result<Trapped, Silence> {
        // By ioctl(2) itself: libseccomp's wrapper hides the errno, and ENOENT and EPERM mean different things here.
        // SECCOMP_IOCTL_NOTIF_RECV; the number carries the size of the structure, so the kernel writes no more than that.
        const RECEIVE: libc::c_ulong = 0xc050_2100;
        // SAFETY: the kernel wants the structure zeroed, and zero is valid for each field.
        let mut request: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: `request` is of the size that the number states.
        if unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE as _, &raw mut request) } == -1 {
            return Err(self.silence(Errno::last()));
        }
        Ok(Trapped {
            id: request.id,
            tid: request.pid as libc::pid_t,
            at: libc::c_long::from(request.data.nr) == libc::SYS_execveat,
            args: request.data.args,
        })
    }

    fn silence(&self, errno: Errno) -> Silence {
        match errno {
            // Since 6.11 receiving ends with ENOENT when the last user has gone; a caller killed in between gives the same.
            Errno::ENOENT if self.is_over() => Silence::Over,
            Errno::EINTR | Errno::ENOENT | Errno::EAGAIN => Silence::Again,
            errno => Silence::Broken(errno),
        }
    }

    /// Whether no task with this filter is left (5.9).
    pub fn is_over(&self) -> bool {
        self.poll(PollTimeout::ZERO).contains(PollFlags::POLLHUP)
    }

    /// Waits until there is something to receive, or to learn.
    pub fn has_something_within(&self, time: Duration) -> bool {
        !self.poll(PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX)).is_empty()
    }

    fn poll(&self, timeout: PollTimeout) -> PollFlags {
        let mut fds = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        // An interrupted wait has seen nothing, which is what it says.
        let _ = poll(&mut fds, timeout);
        fds[0].revents().unwrap_or(PollFlags::empty())
    }

    /// Whether the caller still waits for the answer: what was read of it by pid was read of no other process.
    pub fn is_waiting(&self, trapped: &Trapped) -> bool {
        libseccomp::notify_id_valid(self.0.as_raw_fd(), trapped.id).is_ok()
    }

    /// Lets the exec go on. A caller that has gone is not an error.
    pub fn allow(&self, trapped: &Trapped) {
        let response = ScmpNotifResp::new_continue(trapped.id, ScmpNotifRespFlags::empty());
        let _ = response.respond(self.0.as_raw_fd());
    }

    /// Makes the exec fail.
    pub fn fail(&self, trapped: &Trapped, errno: Errno) {
        let response = ScmpNotifResp::new_error(trapped.id, -(errno as i32), ScmpNotifRespFlags::empty());
        let _ = response.respond(self.0.as_raw_fd());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTIFY: u32 = 0x7fc0_0000;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    const X86_64: u32 = 0xc000_003e;
    const I386: u32 = 0x4000_0003;
    const ARM: u32 = 0x4000_0028;
    const X32: u32 = 0x4000_0000;

    fn answer(program: &[libc::sock_filter], arch: u32, nr: u32) -> u32 {
        answer_to(program, arch, nr, 0)
    }

    /// What the kernel would answer: the instructions that libseccomp uses, evaluated. `second` is the second argument.
    fn answer_to(program: &[libc::sock_filter], arch: u32, nr: u32, second: u64) -> u32 {
        // struct seccomp_data (include/uapi/linux/seccomp.h), in words.
        let mut data = [0; 16];
        (data[0], data[1]) = (nr, arch);
        (data[6], data[7]) = (second as u32, (second >> 32) as u32);
        let mut accumulator = 0u32;
        let mut at = 0;
        loop {
            let step = program[at];
            at += 1;
            let (yes, no) = (usize::from(step.jt), usize::from(step.jf));
            let mut jump = |taken: bool| at += if taken { yes } else { no };
            match step.code {
                0x20 => accumulator = data[step.k as usize / 4],
                0x54 => accumulator &= step.k,
                0x15 => jump(accumulator == step.k),
                0x25 => jump(accumulator > step.k),
                0x35 => jump(accumulator >= step.k),
                0x05 => at += step.k as usize,
                0x06 => return step.k,
                other => panic!("an instruction that libseccomp did not use before: {other:#x}"),
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn every_road_to_an_exec_is_asked_about_or_refused() {
        let filter = ArchGuarded::exec_filter().expect("a filter").into_program();
        for exec in [libc::SYS_execve, libc::SYS_execveat] {
            assert_eq!(answer(&filter, X86_64, exec as u32), NOTIFY);
            for x32 in [exec as u32 | X32, 520 | X32, 545 | X32] {
                assert_eq!(answer(&filter, X86_64, x32), ERRNO | libc::ENOSYS as u32);
            }
        }
        for i386_exec in [11, 358] {
            assert_eq!(answer(&filter, I386, i386_exec), ERRNO | libc::EACCES as u32);
        }
        assert_eq!(answer(&filter, ARM, 11), ERRNO | libc::ENOSYS as u32);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn nobody_types_for_a_person() {
        let filter = ArchGuarded::exec_filter().expect("a filter").into_program();
        for (arch, ioctl) in [(X86_64, libc::SYS_ioctl as u32), (I386, 54)] {
            for request in [TIOCSTI, TIOCSTI | 0xabcd << 32] {
                assert_eq!(answer_to(&filter, arch, ioctl, request), ERRNO | libc::EPERM as u32);
            }
            // TCGETS, TIOCGWINSZ, FIONREAD: what programs ask a terminal all day.
            for request in [0x5401, 0x5413, 0x541b] {
                assert_eq!(answer_to(&filter, arch, ioctl, request), ALLOW);
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn nothing_else_is_touched() {
        let filter = ArchGuarded::exec_filter().expect("a filter").into_program();
        for nr in (0..500).filter(|nr| ![libc::SYS_execve, libc::SYS_execveat].contains(&i64::from(*nr))) {
            assert_eq!(answer(&filter, X86_64, nr), ALLOW, "x86-64 call {nr}");
        }
        for nr in (0..500).filter(|nr| ![11, 358].contains(nr)) {
            assert_eq!(answer(&filter, I386, nr), ALLOW, "i386 call {nr}");
        }
    }
}
