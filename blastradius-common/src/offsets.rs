//! Offsets: where the running kernel keeps the fields that the kernel side reads.
//!
//! They differ between kernels (`file.f_mode` lies at 68 in 5.10 and 6.1, at 12 in 6.12, at 4 in 6.18), so they come
//! from the running kernel's BTF. One table makes the structure and the list of what to look up.

/// A field that is to be looked up in BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The kernel structure.
    pub structure: &'static str,
    /// The member; a dot leads into a nested structure. Anonymous members are searched through.
    pub path: &'static str,
}

/// The number of no helper: where the kernel side calls it, the loader puts a cast of its first argument to the type that
/// its second one numbers.
pub const CAST: i32 = 0x0b1a_57ca;

/// What no field can lie at: a program that reads through it is refused by the verifier.
pub const POISON: u32 = u32::MAX;

macro_rules! offsets {
    ($($name:ident: $structure:literal $path:literal,)*) => {
        /// Byte offsets of kernel fields, in `.rodata` of the kernel side and overridden before loading.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C)]
        pub struct Offsets { $(#[doc = concat!("`", $structure, ".", $path, "`")] pub $name: u32,)* }

        impl Offsets {
            /// What a loader that forgets to inject leaves behind.
            pub const POISONED: Self = Self { $($name: POISON,)* };
            /// The fields, in the order of the structure.
            pub const FIELDS: &'static [Field] = &[$(Field { structure: $structure, path: $path },)*];

            /// Builds the structure by asking `find` for each field in turn.
            pub fn try_build<E>(mut find: impl FnMut(Field) -> Result<u32, E>) -> Result<Self, E> {
                Ok(Self { $($name: find(Field { structure: $structure, path: $path })?,)* })
            }
        }
    };
}

offsets! {
    dentry_inode: "dentry" "d_inode",
    dentry_parent: "dentry" "d_parent",
    dentry_name: "dentry" "d_name.name",
    file_inode: "file" "f_inode",
    file_mode: "file" "f_mode",
    file_flags: "file" "f_flags",
    file_dentry: "file" "f_path.dentry",
    inode_sb: "inode" "i_sb",
    inode_ino: "inode" "i_ino",
    inode_generation: "inode" "i_generation",
    inode_mode: "inode" "i_mode",
    inode_nlink: "inode" "i_nlink",
    sb_dev: "super_block" "s_dev",
    sb_magic: "super_block" "s_magic",
    path_dentry: "path" "dentry",
    binprm_file: "linux_binprm" "file",
    task_pid: "task_struct" "pid",
    task_tgid: "task_struct" "tgid",
    task_leader: "task_struct" "group_leader",
    task_thread_pid: "task_struct" "thread_pid",
    pid_level: "pid" "level",
    pid_numbers: "pid" "numbers",
    upid_nr: "upid" "nr",
    upid_namespace: "upid" "ns",
    task_nsproxy: "task_struct" "nsproxy",
    nsproxy_mounts: "nsproxy" "mnt_ns",
    mount_sb: "vfsmount" "mnt_sb",
    mount_root: "vfsmount" "mnt_root",
    mount_shown: "mount" "mnt",
    mount_parent: "mount" "mnt_parent",
    mount_point: "mount" "mnt_mountpoint",
    mount_group: "mount" "mnt_group_id",
    mount_namespace: "mount" "mnt_ns",
    path_mount: "path" "mnt",
    sb_root: "super_block" "s_root",
    user_namespace_level: "user_namespace" "level",
    map_id: "bpf_map" "id",
    prog_aux: "bpf_prog" "aux",
    prog_aux_id: "bpf_prog_aux" "id",
}

/// What else the kernel side must know about the running kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct KernelFacts {
    /// Where fields lie.
    pub offsets: Offsets,
    /// 1 where `path_rename` has the argument `flags` (since 5.19).
    pub rename_has_flags: u32,
    /// Bytes of `struct inode`: overlayfs keeps the upper object of an inode of its own right behind it.
    pub inode_bytes: u32,
    /// Bytes of `struct upid`: a task has one for each pid namespace that it lies in.
    pub upid_bytes: u32,
    /// 1 where `vfs_mkdir` returns a dentry or an error pointer (since 6.15) and not an error number.
    pub mkdir_returns_dentry: u32,
    /// 1 where programs can have `bpf_loop` (since 5.17).
    pub has_loop: u32,
    /// The number of `struct dentry` among the kernel's types.
    pub dentry_type: u32,
}

impl KernelFacts {
    /// As they lie in the memory of the kernel side.
    pub const fn to_bytes(&self) -> [u8; size_of::<Self>()] {
        // SAFETY: `#[repr(C)]`, of `u32` only, so without padding: as many initialised bytes.
        unsafe { core::mem::transmute(*self) }
    }

    /// What a loader that forgets to inject leaves behind.
    pub const POISONED: Self = Self {
        offsets: Offsets::POISONED,
        rename_has_flags: POISON,
        inode_bytes: POISON,
        upid_bytes: POISON,
        mkdir_returns_dentry: POISON,
        has_loop: POISON,
        dentry_type: POISON,
    };
}
