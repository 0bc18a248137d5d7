//! The kernel side: one function per hook, each answering one question about a guarded task.
//!
//! Who is not guarded passes at the first look-up of every hook. The same instructions serve both kernel rungs: loaded as
//! LSM programs, or as `fmod_ret` programs on `security_*` where `bpf` is not in the lsm list.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod born;
mod climb;
mod content;
mod emit;
mod grant;
mod judge;
mod kernel;
mod links;
mod machine;
mod maps;
mod metadata;
mod mounts;
mod rename;
mod requests;
mod second;
mod session;
mod tamper;
mod walk;

use aya_ebpf::{
    macros::{fexit, lsm, raw_tracepoint},
    programs::{FExitContext, LsmContext, RawTracePointContext},
};
use blastradius_common::{Operation, member::PROGRAM_NUMBER};

use crate::{
    judge::{PASSED, judge},
    kernel::{BpfMap, BpfProgram, Dentry, Exec, File, Mount, Path, SuperBlock, Task, UserNamespace},
    walk::Place,
};

/// The `n`th argument of the hook, as the handle that the hook's signature says it is.
macro_rules! argument {
    ($handle:ident, $ctx:ident, $n:literal) => {
        // SAFETY: each use names the structure that the kernel's own prototype of the hook has at this position
        // (include/linux/lsm_hook_defs.h, fs/namei.c); the loader checks positions that moved between kernels.
        unsafe { $handle::from_argument($ctx.arg($n)) }
    };
}

/// Has `judge` the last word, unless the calling task is nobody's, as most are. A judge that is a function of its own keeps
/// them from paying for its registers and its stack.
#[inline(always)]
fn ask(ctx: LsmContext, judge: fn(LsmContext) -> i32) -> i32 {
    if maps::is_known(kernel::current()) { judge(ctx) } else { PASSED }
}

/// May the name be removed?
#[inline(never)]
fn judge_removal(ctx: LsmContext) -> i32 {
    let Some(guarded) = maps::entry(kernel::current()) else { return PASSED };
    let dentry = argument!(Dentry, ctx, 1);
    let Some(inode) = dentry.inode() else { return PASSED };
    // SAFETY: the map's own memory, valid until the program returns, and only this task writes there.
    let member = unsafe { (*guarded).member };
    let verdict = judge(member, dentry, inode, Operation::Remove, Place::of(member.session, dentry, inode));
    if verdict == PASSED {
        second::pass(guarded, dentry);
    }
    verdict
}

/// May this file lose this name? (unlink, unlinkat, io_uring; `path_unlink(dir, dentry)`)
#[lsm(hook = "path_unlink")]
pub fn path_unlink(ctx: LsmContext) -> i32 {
    ask(ctx, judge_removal)
}

/// May this directory go? (`path_rmdir(dir, dentry)`)
#[lsm(hook = "path_rmdir")]
pub fn path_rmdir(ctx: LsmContext) -> i32 {
    ask(ctx, judge_removal)
}

/// May the name be removed, by whatever the calling task does?
#[inline(never)]
fn judge_removal_again(ctx: LsmContext) -> i32 {
    second::judge_removal(argument!(Dentry, ctx, 1))
}

/// May this file lose this name, whoever asks for it? (`inode_unlink(dir, dentry)`)
#[lsm(hook = "inode_unlink")]
pub fn inode_unlink(ctx: LsmContext) -> i32 {
    ask(ctx, judge_removal_again)
}

/// May this directory go, whoever asks for it? (`inode_rmdir(dir, dentry)`)
#[lsm(hook = "inode_rmdir")]
pub fn inode_rmdir(ctx: LsmContext) -> i32 {
    ask(ctx, judge_removal_again)
}

/// May this object move there, and may what is there be lost? (`path_rename(old_dir, old, new_dir, new[, flags])`)
#[lsm(hook = "path_rename")]
pub fn path_rename(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    // Before 5.19 the hook has no flags and is called twice for an exchange, once each way.
    let flags = if kernel::rename_has_flags() { ctx.arg::<u32>(4) } else { 0 };
    rename::judge_rename(member, argument!(Dentry, ctx, 1), argument!(Dentry, ctx, 3), flags)
}

/// What is about to be made?
#[inline(never)]
fn announce(ctx: LsmContext) -> i32 {
    born::announce(argument!(Dentry, ctx, 1));
    PASSED
}

/// Which directory is about to be made? (`path_mkdir(dir, dentry, mode)`)
#[lsm(hook = "path_mkdir")]
pub fn path_mkdir(ctx: LsmContext) -> i32 {
    ask(ctx, announce)
}

/// Which node is about to be made? (`path_mknod(dir, dentry, mode, dev)`)
#[lsm(hook = "path_mknod")]
pub fn path_mknod(ctx: LsmContext) -> i32 {
    ask(ctx, announce)
}

/// Which symlink is about to be made? (`path_symlink(dir, dentry, target)`)
#[lsm(hook = "path_symlink")]
pub fn path_symlink(ctx: LsmContext) -> i32 {
    ask(ctx, announce)
}

/// May this object have a further name there? (`path_link(old, dir, new)`)
#[lsm(hook = "path_link")]
pub fn path_link(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    let verdict = links::judge_link(member, argument!(Dentry, ctx, 0), argument!(Dentry, ctx, 2));
    if verdict == PASSED {
        born::announce(argument!(Dentry, ctx, 2));
    }
    verdict
}

/// May the content be cut? Before 6.2 it is asked for descriptors and O_TRUNC too. (`path_truncate(path)`)
#[lsm(hook = "path_truncate")]
pub fn path_truncate(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    let dentry = argument!(Path, ctx, 0).dentry();
    let Some(inode) = dentry.inode() else { return PASSED };
    content::judge_truncation(member, dentry, inode)
}

/// May the content of this open file be cut? (ftruncate, O_TRUNC; since 6.2; `file_truncate(file)`)
#[lsm(hook = "file_truncate")]
pub fn file_truncate(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    let file = argument!(File, ctx, 0);
    content::judge_truncation(member, file.dentry(), file.inode())
}

/// May the mode change? (`path_chmod(path, mode)`)
#[lsm(hook = "path_chmod")]
pub fn path_chmod(ctx: LsmContext) -> i32 {
    metadata::judge_change(argument!(Path, ctx, 0).dentry())
}

/// May the owner change? (`path_chown(path, uid, gid)`)
#[lsm(hook = "path_chown")]
pub fn path_chown(ctx: LsmContext) -> i32 {
    metadata::judge_change(argument!(Path, ctx, 0).dentry())
}

/// May this process be signalled? And is it a supervisor's way to name a task? (`task_kill(task, info, signal, cred)`)
#[lsm(hook = "task_kill")]
pub fn task_kill(ctx: LsmContext) -> i32 {
    grant::serve(argument!(Task, ctx, 0));
    tamper::judge_signal(argument!(Task, ctx, 0), ctx.arg::<i32>(2))
}

/// May this process be traced, its memory written? (`ptrace_access_check(child, mode)`)
#[lsm(hook = "ptrace_access_check")]
pub fn ptrace_access_check(ctx: LsmContext) -> i32 {
    tamper::judge_trace(argument!(Task, ctx, 0), ctx.arg::<u32>(1))
}

/// May this be mounted there? (`sb_mount(device, path, type, flags, data)`)
#[lsm(hook = "sb_mount")]
pub fn sb_mount(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    mounts::judge_mount(member, argument!(Path, ctx, 1), ctx.arg::<u64>(3))
}

/// May this mount be attached there? (`move_mount(from, to)`)
#[lsm(hook = "move_mount")]
pub fn move_mount(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    mounts::judge_move(member, argument!(Path, ctx, 0), argument!(Path, ctx, 1))
}

/// May this mount go? (`sb_umount(mount, flags)`)
#[lsm(hook = "sb_umount")]
pub fn sb_umount(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    let mount = argument!(Mount, ctx, 0);
    if tamper::carries_pins(mount) { judge::REFUSED } else { mounts::judge_detach(member, mount) }
}

/// May the options of this file system change? (`sb_remount(sb, options)`)
#[lsm(hook = "sb_remount")]
pub fn sb_remount(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    mounts::judge_remount(member, argument!(SuperBlock, ctx, 0))
}

/// May this file system, just made, be mounted? (`sb_kern_mount(sb)`)
#[lsm(hook = "sb_kern_mount")]
pub fn sb_kern_mount(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    mounts::judge_new(member, argument!(SuperBlock, ctx, 0))
}

/// May the root of the namespace change? (`sb_pivotroot(old, new)`)
#[lsm(hook = "sb_pivotroot")]
pub fn sb_pivotroot(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    mounts::judge_pivot(member, argument!(Path, ctx, 1))
}

/// May the capability be used? (`capable(cred, user_namespace, capability, options)`)
#[lsm(hook = "capable")]
pub fn capable(ctx: LsmContext) -> i32 {
    let capability = ctx.arg::<u32>(2);
    if !machine::concerns(capability) || !argument!(UserNamespace, ctx, 1).is_initial() {
        return PASSED;
    }
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    machine::judge_capability(member, capability)
}

/// May the request be made? (`file_ioctl(file, request, argument)`)
#[lsm(hook = "file_ioctl")]
pub fn file_ioctl(ctx: LsmContext) -> i32 {
    let request = ctx.arg::<u32>(1);
    if !requests::concerns(request) {
        return PASSED;
    }
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    requests::judge_request(member, argument!(File, ctx, 0), request)
}

/// May this map be opened? (`bpf_map(map, mode)`)
#[lsm(hook = "bpf_map")]
pub fn bpf_map(ctx: LsmContext) -> i32 {
    tamper::judge_descriptor(u64::from(argument!(BpfMap, ctx, 0).id()))
}

/// May this program be opened? (`bpf_prog(program)`)
#[lsm(hook = "bpf_prog")]
pub fn bpf_prog(ctx: LsmContext) -> i32 {
    tamper::judge_descriptor(PROGRAM_NUMBER + u64::from(argument!(BpfProgram, ctx, 0).id()))
}

/// May this file be open, and did this open create it? (`file_open(file)`)
#[lsm(hook = "file_open")]
pub fn file_open(ctx: LsmContext) -> i32 {
    ask(ctx, judge_open)
}

#[inline(never)]
fn judge_open(ctx: LsmContext) -> i32 {
    let Some(member) = maps::member(kernel::current()) else { return PASSED };
    let file = argument!(File, ctx, 0);
    if file.is_new() {
        born::give_birth(member.session, file.inode());
    }
    content::judge_open(member, file)
}

/// Is the child of this fork guarded? (`task_alloc(task, clone_flags)`)
#[lsm(hook = "task_alloc")]
pub fn task_alloc(ctx: LsmContext) -> i32 {
    session::settle(argument!(Task, ctx, 0))
}

/// Which task is gone? (`task_free(task)`)
#[lsm(hook = "task_free")]
pub fn task_free(ctx: LsmContext) -> i32 {
    session::forget(argument!(Task, ctx, 0));
    PASSED
}

/// Which role does the new program have? (`bprm_committing_creds(bprm)`: past the point of no return)
#[lsm(hook = "bprm_committing_creds")]
pub fn bprm_committing_creds(ctx: LsmContext) -> i32 {
    session::change_role(argument!(Exec, ctx, 0));
    PASSED
}

/// Which object does the supervisor's thread want to mark? Attached only while marking. (`inode_getattr(path)`)
#[lsm(hook = "inode_getattr")]
pub fn inode_getattr(ctx: LsmContext) -> i32 {
    session::identify(argument!(Path, ctx, 0).dentry());
    PASSED
}

/// What does the calling thread ask for? Never attached: run by `BPF_PROG_TEST_RUN`.
#[raw_tracepoint]
pub fn enrol(ctx: RawTracePointContext) -> i32 {
    session::enrol(&ctx)
}

/// Did the creation succeed? One program per position of the dentry and of the return value: a position that is not
/// constant does not verify. The loader picks by the running kernel's BTF.
macro_rules! creations {
    ($($name:ident, $dentry:literal, $returned:literal, $ended:expr;)*) => {$(
        #[doc = concat!("Dentry at ", $dentry, ", return value at ", $returned, ".")]
        #[fexit]
        pub fn $name(ctx: FExitContext) -> i32 {
            let ended: fn(Dentry, u64) = $ended;
            ended(argument!(Dentry, ctx, $dentry), ctx.arg::<u64>($returned));
            0
        }
    )*};
}

#[inline(always)]
fn made_directory(dentry: Dentry, returned: u64) {
    born::created(dentry, kernel::mkdir_succeeded(returned));
}

#[inline(always)]
fn made(dentry: Dentry, returned: u64) {
    born::created(dentry, returned as i32 == 0);
}

#[inline(always)]
fn linked(dentry: Dentry, returned: u64) {
    born::linked(dentry, returned as i32 == 0);
}

creations! {
    vfs_mkdir_1_3, 1, 3, made_directory;
    vfs_mkdir_2_4, 2, 4, made_directory;
    vfs_mkdir_2_5, 2, 5, made_directory;
    vfs_symlink_1_3, 1, 3, made;
    vfs_symlink_2_4, 2, 4, made;
    vfs_symlink_2_5, 2, 5, made;
    vfs_mknod_1_4, 1, 4, made;
    vfs_mknod_2_5, 2, 5, made;
    vfs_mknod_2_6, 2, 6, made;
    vfs_create_1_4, 1, 4, made;
    vfs_create_2_5, 2, 5, made;
    vfs_link_2_4, 2, 4, linked;
    vfs_link_3_5, 3, 5, linked;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // The verifier proves that no panic is reachable: a loop without end does not load.
    loop {}
}

/// Some helpers are for GPL-compatible programs only; the MIT half of our licence is.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
