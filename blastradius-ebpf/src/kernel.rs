//! The kernel boundary: every read of kernel memory is in this file, behind typed handles.
//!
//! A handle is made from a hook's argument or by following another handle, so the verifier knows its BTF type, and a
//! read at a constant offset compiles to one typed load. The verifier proves at load time what the SAFETY comments say:
//! a wrong offset does not misread, it fails to load, and a null pointer in a chain reads as zero. Where no such chain
//! leads to an object, its handle is [`Copied`]: the same questions, answered by a helper that copies.

use core::{marker::PhantomData, mem::MaybeUninit};

use aya_ebpf::helpers::{
    bpf_get_current_comm, bpf_get_current_pid_tgid, bpf_get_current_task, bpf_ktime_get_ns,
    generated::{bpf_probe_read_kernel, bpf_probe_read_kernel_str},
};
use blastradius_common::{Id, KernelFacts, PidNamespace, identity::NAME_BYTES};

/// What the loader knows about the running kernel. Poisoned until it is injected.
#[unsafe(no_mangle)]
static KERNEL: KernelFacts = KernelFacts::POISONED;

/// A fact as the loader left it, which is not what the compiler saw.
#[inline(always)]
fn fact(value: &'static u32) -> u32 {
    // SAFETY: a reference is readable. Volatile, because the loader replaces the bytes after compilation.
    unsafe { core::ptr::read_volatile(value) }
}

macro_rules! offset {
    ($field:ident) => {
        fact(&KERNEL.offsets.$field)
    };
}

/// Reads a field of a kernel object.
///
/// # Safety
/// `base` must be a pointer that the verifier knows by BTF type, and `offset` must come from [`KERNEL`].
#[inline(always)]
unsafe fn field<T: Copy>(base: *const u8, offset: u32) -> T {
    // SAFETY: the caller's promise; the verifier checks the offset and the width against the structure.
    unsafe { base.add(offset as usize).cast::<T>().read() }
}

/// How the memory behind a handle is read.
pub trait Access: Copy + Eq {
    /// Directories that a walk over such handles visits at most; deeper is refused. Verifies on every kernel of the table
    /// (vm/kernels.toml).
    const STEPS: u32;

    /// Reads a field of a kernel object.
    ///
    /// # Safety
    /// `base` must be such a pointer as the implementation asks for, and `offset` must come from [`KERNEL`].
    unsafe fn field<T: Copy>(base: *const u8, offset: u32) -> T;
}

/// By one load: the verifier knows the pointer by its BTF type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Typed;

/// By a helper that copies: the pointer was read or calculated, and nobody vouches for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Copied;

impl Access for Typed {
    /// Deeper than trees are made.
    const STEPS: u32 = 320;

    #[inline(always)]
    unsafe fn field<T: Copy>(base: *const u8, offset: u32) -> T {
        // SAFETY: the caller's promise.
        unsafe { field(base, offset) }
    }
}

impl Access for Copied {
    /// Deeper than things are mounted: each step costs the verifier, and so the first start, several calls.
    const STEPS: u32 = 64;

    #[inline(always)]
    unsafe fn field<T: Copy>(base: *const u8, offset: u32) -> T {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: the destination is as large as is said; the helper faults safely on the source, and leaves zeros then,
        // which are a value of every type that is read: integers and pointers.
        unsafe {
            let source = base.wrapping_add(offset as usize);
            bpf_probe_read_kernel(value.as_mut_ptr().cast(), size_of::<T>() as u32, source.cast());
            value.assume_init()
        }
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(transparent)]
        pub struct $name(*const u8);
    )*};
}

/// Handles that hooks are called with.
macro_rules! arguments {
    ($($name:ident),*) => {$(
        impl $name {
            /// The handle of a hook's argument.
            ///
            /// # Safety
            /// The argument must be a pointer to this structure in the signature of the hook.
            #[inline(always)]
            pub const unsafe fn from_argument(pointer: *const u8) -> Self {
                Self(pointer)
            }
        }
    )*};
}

/// `struct dentry`: a name in a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Dentry<A = Typed>(*const u8, PhantomData<A>);

/// `struct inode`: an object.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Inode<A = Typed>(*const u8, PhantomData<A>);

/// `struct vfsmount`: a file system where it is seen; part of a `struct mount`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Mount<A = Typed>(*const u8, PhantomData<A>);

handles! {
    /// `struct path`: a dentry and the mount through which it is seen.
    Path;
    /// `struct file`: an open object.
    File;
    /// `struct linux_binprm`: an exec under way.
    Exec;
    /// `struct task_struct`: a thread.
    Task;
    /// `struct super_block`: a file system.
    SuperBlock;
    /// `struct user_namespace`.
    UserNamespace;
    /// `struct bpf_map`: a map.
    BpfMap;
    /// `struct bpf_prog`: a program.
    BpfProgram;
}

impl Dentry {
    /// The handle of a hook's argument.
    ///
    /// # Safety
    /// The argument must be a pointer to this structure in the signature of the hook.
    #[inline(always)]
    pub unsafe fn from_argument(pointer: *const u8) -> Self {
        Self(distrusted(pointer), PhantomData)
    }
}

/// The same pointer to a dentry, which the verifier takes for any other that was read.
///
/// Of one that it trusts (6.2 and later), it searches all of the kernel's types by name, several times, whenever a pointer
/// is read through it: to see whether the next one is to be trusted too. Nothing here needs that.
#[inline(always)]
fn distrusted(pointer: *const u8) -> *const u8 {
    // SAFETY: no such helper exists. The loader puts `bpf_rdonly_cast` in its place where the kernel has it, which is a
    // move for the processor, and else a move.
    let cast: unsafe extern "C" fn(*const u8, u32) -> *const u8 =
        unsafe { core::mem::transmute(blastradius_common::offsets::CAST as usize) };
    // SAFETY: a dentry, and the number of its type.
    unsafe { cast(pointer, fact(&KERNEL.dentry_type)) }
}

impl Dentry<Copied> {
    /// No name at all: it reads as its own parent, which is to say as the root of a file system.
    #[inline(always)]
    pub const fn none() -> Self {
        Self(core::ptr::null(), PhantomData)
    }
}

impl Mount {
    /// The handle of a hook's argument.
    ///
    /// # Safety
    /// The argument must be a pointer to this structure in the signature of the hook.
    #[inline(always)]
    pub const unsafe fn from_argument(pointer: *const u8) -> Self {
        Self(pointer, PhantomData)
    }
}

arguments!(Path, File, Exec, Task, SuperBlock, UserNamespace, BpfMap, BpfProgram);

impl<A: Access> Dentry<A> {
    /// The address, to recognise the same dentry later. Not to be followed.
    #[inline(always)]
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// The directory that holds this name; the root of a file system is its own parent.
    #[inline(always)]
    pub fn parent(self) -> Self {
        // SAFETY: a dentry, and an offset of `struct dentry`.
        Self(unsafe { A::field(self.0, offset!(dentry_parent)) }, PhantomData)
    }

    /// The object that bears this name. `None` for a name that nothing bears yet.
    #[inline(always)]
    pub fn inode(self) -> Option<Inode<A>> {
        // SAFETY: a dentry, and an offset of `struct dentry`.
        let inode: *const u8 = unsafe { A::field(self.0, offset!(dentry_inode)) };
        if inode.is_null() { None } else { Some(Inode(inode, PhantomData)) }
    }

    /// The object of a name that holds others, which is never nothing. (If it were, it would read as zero, which no mark
    /// has: one branch less for the verifier to follow.)
    #[inline(always)]
    pub fn directory(self) -> Inode<A> {
        // SAFETY: a dentry, and an offset of `struct dentry`.
        Inode(unsafe { A::field(self.0, offset!(dentry_inode)) }, PhantomData)
    }

    #[inline(always)]
    fn name(self) -> *const core::ffi::c_void {
        // SAFETY: a dentry, and an offset of `struct dentry`.
        unsafe { A::field(self.0, offset!(dentry_name)) }
    }

    /// Whether the name begins with a dot. `None`: unreadable.
    #[inline(always)]
    pub fn is_dot_name(self) -> Option<bool> {
        let mut first = 0u8;
        // SAFETY: one byte of the stack as destination; the helper faults safely on the source.
        let status = unsafe { bpf_probe_read_kernel((&raw mut first).cast(), 1, self.name()) };
        if status == 0 { Some(first == b'.') } else { None }
    }

    /// Copies the name and its terminating zero. `None`: unreadable.
    #[inline(always)]
    pub fn copy_name(self, name: &mut [u64; NAME_BYTES / 8]) -> Option<()> {
        // SAFETY: the destination holds NAME_BYTES bytes; the helper faults safely on the source.
        let copied =
            unsafe { bpf_probe_read_kernel_str(name.as_mut_ptr().cast(), NAME_BYTES as u32, self.name()) };
        if copied > 0 { Some(()) } else { None }
    }

    /// Copies the name and its terminating zero to `destination`; the bytes written, not positive if unreadable.
    ///
    /// # Safety
    /// NAME_BYTES bytes must be writable at `destination`.
    #[inline(always)]
    pub unsafe fn copy_name_to(self, destination: *mut u8) -> i64 {
        // SAFETY: the caller's promise; the helper faults safely on the source.
        unsafe { bpf_probe_read_kernel_str(destination.cast(), NAME_BYTES as u32, self.name()) as i64 }
    }
}

impl<A: Access> Inode<A> {
    /// The address, to recognise the same inode later. Not to be followed.
    #[inline(always)]
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// The number of the object on its device: `inode.i_ino`.
    #[inline(always)]
    pub fn number(self) -> u64 {
        // SAFETY: an inode, and an offset of `struct inode`.
        unsafe { A::field(self.0, offset!(inode_ino)) }
    }

    /// What identifies the object, of which number and device are known.
    #[inline(always)]
    pub fn id_of(self, ino: u64, dev: u32) -> Id {
        // SAFETY: an inode, and an offset of `struct inode`.
        Id { ino, dev, generation: unsafe { A::field(self.0, offset!(inode_generation)) } }
    }

    /// What identifies the object.
    #[inline(always)]
    pub fn id(self) -> Id {
        self.id_of(self.number(), self.device())
    }

    /// Whether it is a block device.
    #[inline(always)]
    pub fn is_block_device(self) -> bool {
        // S_IFMT and S_IFBLK (include/uapi/linux/stat.h).
        const KIND: u16 = 0o170_000;
        const BLOCK: u16 = 0o060_000;
        // SAFETY: an inode, and an offset of `struct inode`.
        let mode: u16 = unsafe { A::field(self.0, offset!(inode_mode)) };
        mode & KIND == BLOCK
    }

    /// The number of names that the object has.
    #[inline(always)]
    pub fn links(self) -> u32 {
        // SAFETY: an inode, and an offset of `struct inode`.
        unsafe { A::field(self.0, offset!(inode_nlink)) }
    }

    /// The device of the file system, in the kernel's own encoding.
    #[inline(always)]
    pub fn device(self) -> u32 {
        // SAFETY: an inode, and offsets of `struct inode` and `struct super_block`.
        unsafe {
            let sb: *const u8 = A::field(self.0, offset!(inode_sb));
            A::field(sb, offset!(sb_dev))
        }
    }
}

impl<A: Access> Inode<A> {
    /// What kind of file system the object lies in (include/uapi/linux/magic.h).
    #[inline(always)]
    pub fn magic(self) -> u64 {
        // SAFETY: an inode, and offsets of `struct inode` and `struct super_block`.
        unsafe {
            let sb: *const u8 = A::field(self.0, offset!(inode_sb));
            A::field(sb, offset!(sb_magic))
        }
    }
}

impl Task {
    /// The address, as the session maps know the task: a number, with which the verifier lets one calculate.
    #[inline(always)]
    pub fn address(self) -> u64 {
        let mut word = [self.0 as u64];
        forget(&mut word);
        word[0]
    }

    /// The process that the thread belongs to, as the initial pid namespace numbers it.
    #[inline(always)]
    pub fn process(self) -> u32 {
        // SAFETY: a task, and an offset of `struct task_struct`.
        unsafe { field(self.0, offset!(task_tgid)) }
    }
}

impl Task {
    /// Whether it is the thread that its process is named after.
    #[inline(always)]
    pub fn leads(self) -> bool {
        // SAFETY: a task, and offsets of `struct task_struct`.
        unsafe { field::<u32>(self.0, offset!(task_pid)) == field::<u32>(self.0, offset!(task_tgid)) }
    }
}

impl Mount {
    /// What kind of file system it shows (include/uapi/linux/magic.h).
    #[inline(always)]
    pub fn magic(self) -> u64 {
        // SAFETY: a mount, and offsets of `struct vfsmount` and `struct super_block`.
        unsafe {
            let sb: *const u8 = field(self.0, offset!(mount_sb));
            field(sb, offset!(sb_magic))
        }
    }

    /// The object that it shows at its place.
    #[inline(always)]
    pub fn root(self) -> Dentry {
        // SAFETY: a mount, and an offset of `struct vfsmount`.
        Dentry(unsafe { field(self.0, offset!(mount_root)) }, PhantomData)
    }
}

impl<A: Access> Mount<A> {
    /// The `struct mount` around it. The verifier lets nobody follow a pointer backwards, so it is made a number.
    #[inline(always)]
    fn whole(self) -> *const u8 {
        let mut word = [self.0 as u64];
        forget(&mut word);
        (word[0] - u64::from(offset!(mount_shown))) as *const u8
    }

    #[inline(always)]
    fn of_whole<T: Copy>(self, offset: u32) -> T {
        // SAFETY: the callers give offsets of `struct mount`; what cannot be read is zero.
        unsafe { Copied::field(self.whole(), offset) }
    }

    /// The mount that it is mounted on; the root of a namespace is its own parent.
    #[inline(always)]
    pub fn parent(self) -> Mount<Copied> {
        let parent: u64 = self.of_whole(offset!(mount_parent));
        Mount((parent + u64::from(offset!(mount_shown))) as *const u8, PhantomData)
    }

    /// The name in the parent that it covers.
    #[inline(always)]
    pub fn point(self) -> Dentry<Copied> {
        Dentry(self.of_whole(offset!(mount_point)), PhantomData)
    }

    /// The number of the peers that changes below it propagate to; 0: none.
    #[inline(always)]
    pub fn peer_group(self) -> u32 {
        self.of_whole(offset!(mount_group))
    }

    /// Whether it is mounted in the namespace of the current task.
    #[inline(always)]
    pub fn is_attached(self) -> bool {
        let namespace: u64 = self.of_whole(offset!(mount_namespace));
        namespace != 0 && namespace == current_mount_namespace()
    }
}

impl SuperBlock {
    /// The object that the file system begins with.
    #[inline(always)]
    pub fn root(self) -> Dentry {
        // SAFETY: a file system, and an offset of `struct super_block`.
        Dentry(unsafe { field(self.0, offset!(sb_root)) }, PhantomData)
    }

    /// For an overlay: the directory that takes what is written to it. `None` for others, and for one that is read-only.
    ///
    /// `struct ovl_inode` (fs/overlayfs/ovl_entry.h) is a module's own, so no offset of it is published: since 4.13
    /// the upper dentry follows the inode.
    #[inline(always)]
    pub fn upper_directory(self) -> Option<Dentry<Copied>> {
        /// `OVERLAYFS_SUPER_MAGIC` (include/uapi/linux/magic.h).
        const OVERLAY: u64 = 0x794c_7630;
        // SAFETY: a file system, and an offset of `struct super_block`.
        let magic: u64 = unsafe { field(self.0, offset!(sb_magic)) };
        if magic != OVERLAY {
            return None;
        }
        let mut inode = [self.root().directory().0 as u64];
        forget(&mut inode);
        // SAFETY: what cannot be read is zero.
        let upper: *const u8 = unsafe { Copied::field(inode[0] as *const u8, fact(&KERNEL.inode_bytes)) };
        if upper.is_null() { None } else { Some(Dentry(upper, PhantomData)) }
    }
}

impl UserNamespace {
    /// Whether it is the one that the machine began with: what is permitted there is permitted on the machine.
    #[inline(always)]
    pub fn is_initial(self) -> bool {
        // SAFETY: a user namespace, and an offset of `struct user_namespace`.
        let level: i32 = unsafe { field(self.0, offset!(user_namespace_level)) };
        level == 0
    }
}

impl BpfMap {
    /// The number by which bpf(2) knows the map.
    #[inline(always)]
    pub fn id(self) -> u32 {
        // SAFETY: a map, and an offset of `struct bpf_map`.
        unsafe { field(self.0, offset!(map_id)) }
    }
}

impl BpfProgram {
    /// The number by which bpf(2) knows the program.
    #[inline(always)]
    pub fn id(self) -> u32 {
        // SAFETY: a program, and offsets of `struct bpf_prog` and `struct bpf_prog_aux`.
        unsafe {
            let aux: *const u8 = field(self.0, offset!(prog_aux));
            field(aux, offset!(prog_aux_id))
        }
    }
}

impl Path {
    /// The mount through which it leads.
    #[inline(always)]
    pub fn mount(self) -> Mount {
        // SAFETY: a path, and an offset of `struct path`.
        Mount(unsafe { field(self.0, offset!(path_mount)) }, PhantomData)
    }

    /// The name at the end of the path.
    #[inline(always)]
    pub fn dentry(self) -> Dentry {
        // SAFETY: a path, and an offset of `struct path`.
        Dentry(unsafe { field(self.0, offset!(path_dentry)) }, PhantomData)
    }
}

impl File {
    /// `FMODE_WRITE` (include/linux/fs.h).
    const WRITE: u32 = 1 << 1;
    /// `FMODE_CREATED` (include/linux/fs.h): this open made the file.
    const CREATED: u32 = 1 << 20;
    /// `__O_TMPFILE` (include/uapi/asm-generic/fcntl.h): this open made a file without a name.
    const TMPFILE: u32 = 0o20_000_000;

    /// The name under which it was opened.
    #[inline(always)]
    pub fn dentry(self) -> Dentry {
        // SAFETY: a file, and an offset of `struct file`.
        Dentry(unsafe { field(self.0, offset!(file_dentry)) }, PhantomData)
    }

    /// The object.
    #[inline(always)]
    pub fn inode(self) -> Inode {
        // SAFETY: a file, and an offset of `struct file`.
        Inode(unsafe { field(self.0, offset!(file_inode)) }, PhantomData)
    }

    /// Whether it is open for writing.
    #[inline(always)]
    pub fn is_writable(self) -> bool {
        // SAFETY: a file, and an offset of `struct file`.
        let mode: u32 = unsafe { field(self.0, offset!(file_mode)) };
        mode & Self::WRITE != 0
    }

    /// Whether this open created the object.
    #[inline(always)]
    pub fn is_new(self) -> bool {
        // SAFETY: a file, and offsets of `struct file`.
        let (mode, flags): (u32, u32) =
            unsafe { (field(self.0, offset!(file_mode)), field(self.0, offset!(file_flags))) };
        mode & Self::CREATED != 0 || flags & Self::TMPFILE != 0
    }
}

impl Exec {
    /// The binary that will run.
    #[inline(always)]
    pub fn binary(self) -> Inode {
        // SAFETY: a `linux_binprm`, and an offset of it.
        File(unsafe { field(self.0, offset!(binprm_file)) }).inode()
    }
}

/// Lets the verifier forget what it knows of `words`: what follows is verified once, and not once for each way in which
/// they came about.
#[inline(always)]
pub fn forget<const N: usize>(words: &mut [u64; N]) {
    let address = words.as_mut_ptr();
    // SAFETY: the words are copied onto themselves, by a helper whose effect the verifier does not follow.
    unsafe { bpf_probe_read_kernel(address.cast(), size_of::<[u64; N]>() as u32, address.cast()) };
}

/// The running task, as the session maps know it. Not to be followed.
#[inline(always)]
pub fn current() -> u64 {
    // SAFETY: no arguments.
    unsafe { bpf_get_current_task() }
}

/// The address of the mount namespace of the running task, to recognise it. 0: it cannot be told.
#[inline(always)]
pub fn current_mount_namespace() -> u64 {
    // SAFETY: offsets of `struct task_struct` and `struct nsproxy`; what cannot be read is zero.
    unsafe {
        let proxy: *const u8 = Copied::field(current() as *const u8, offset!(task_nsproxy));
        Copied::field(proxy, offset!(nsproxy_mounts))
    }
}

/// The process of the running thread, as the initial pid namespace numbers it.
#[inline(always)]
pub fn current_process() -> u32 {
    (bpf_get_current_pid_tgid() >> 32) as u32
}

/// The pid namespace that the running task lives in.
#[inline(always)]
pub fn current_pid_namespace() -> PidNamespace {
    // SAFETY: the running task, and offsets of `struct task_struct` and `struct pid`; what cannot be read is zero.
    unsafe {
        let pid: *const u8 = Copied::field(current() as *const u8, offset!(task_thread_pid));
        let level = u64::from(Copied::field::<u32>(pid, offset!(pid_level)));
        PidNamespace { address: Copied::field(number_at(pid, level), offset!(upid_namespace)), level }
    }
}

/// The running thread and its process, as that pid namespace numbers them. 0: they do not lie in it.
#[inline(always)]
pub fn current_pids_in(namespace: PidNamespace) -> (u32, u32) {
    let thread = current() as *const u8;
    // SAFETY: the running task, and an offset of `struct task_struct`; what cannot be read is zero.
    let leader = unsafe { Copied::field(thread, offset!(task_leader)) };
    let mut numbers = [number_in(thread, namespace).into(), number_in(leader, namespace).into()];
    forget(&mut numbers);
    (numbers[0] as u32, numbers[1] as u32)
}

/// A task has a number in the pid namespace that it lives in, and in each one around it.
#[inline(always)]
fn number_in(task: *const u8, namespace: PidNamespace) -> u32 {
    // SAFETY: a task, and offsets of `struct task_struct`, `struct pid` and `struct upid`; what cannot be read is zero.
    unsafe {
        let pid: *const u8 = Copied::field(task, offset!(task_thread_pid));
        let number = number_at(pid, namespace.level);
        // A task that lives above has no number at that level: what lies there is not its own.
        let is_deep_enough = u64::from(Copied::field::<u32>(pid, offset!(pid_level))) >= namespace.level;
        let is_in_it = Copied::field::<u64>(number, offset!(upid_namespace)) == namespace.address;
        if is_deep_enough && is_in_it { Copied::field(number, offset!(upid_nr)) } else { 0 }
    }
}

/// The `struct upid` of that level.
#[inline(always)]
fn number_at(pid: *const u8, level: u64) -> *const u8 {
    let bytes = fact(&KERNEL.upid_bytes) as usize * level as usize;
    pid.wrapping_add(offset!(pid_numbers) as usize).wrapping_add(bytes)
}

/// Nanoseconds since boot, without those asleep.
#[inline(always)]
pub fn now() -> u64 {
    // SAFETY: no arguments.
    unsafe { bpf_ktime_get_ns() }
}

/// The name of the running task, empty where it cannot be told.
#[inline(always)]
pub fn current_comm() -> [u8; 16] {
    bpf_get_current_comm().unwrap_or([0; 16])
}

/// Whether programs can have `bpf_loop`.
#[inline(always)]
pub fn has_loop() -> bool {
    fact(&KERNEL.has_loop) == 1
}

/// Whether `path_rename` has the argument `flags`.
#[inline(always)]
pub fn rename_has_flags() -> bool {
    fact(&KERNEL.rename_has_flags) == 1
}

/// Whether `value`, returned by `vfs_mkdir`, says that the directory was made.
#[inline(always)]
pub fn mkdir_succeeded(value: u64) -> bool {
    /// `MAX_ERRNO` (include/linux/err.h): the last 4095 addresses are error numbers.
    const FIRST_ERROR: u64 = -4095i64 as u64;
    // The verifier lets nobody calculate with a pointer, as the compiler does for both cases at once.
    let mut word = [value];
    forget(&mut word);
    if fact(&KERNEL.mkdir_returns_dentry) == 1 { word[0] < FIRST_ERROR } else { word[0] as i32 == 0 }
}
