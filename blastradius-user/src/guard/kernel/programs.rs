//! The programs of the object: which there are, what each hangs on, and how it is loaded on either rung.

use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
};

use aya_obj::Object;

use super::{
    btf::{Btf, BtfError},
    caveats::Caveats,
    effort::{Effort, Weigh},
    error::LoadError,
    functions::{self, Functions},
    sys::{self, ProgramKind},
};

/// How the judging programs get their word into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// LSM programs, where `bpf` is in the lsm list.
    BpfLsm,
    /// `fmod_ret` programs on `security_*`, where it is not. The same instructions, the same verdicts.
    ModifyReturn,
}

impl Rung {
    /// The name in output and documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BpfLsm => "bpf-lsm",
            Self::ModifyReturn => "fmod_ret",
        }
    }
}

/// A hook of the kernel that a program of the same name answers.
struct Hook {
    name: &'static str,
    /// It returns nothing: on the second rung it can be watched, not modified, and need not be.
    void: bool,
    /// What a kernel may do that cannot have it.
    otherwise: Otherwise,
}

/// What it means that a hook is missing, or takes no programs.
#[derive(Clone, Copy)]
enum Otherwise {
    /// The rung is not to be had.
    Fail,
    /// What it judges is judged by another hook of the table.
    Judged,
    /// What it judges is not enforced, in words.
    Unenforced(&'static str),
}

const fn judging(name: &'static str) -> Hook {
    Hook { name, void: false, otherwise: Otherwise::Fail }
}

const fn watching(name: &'static str) -> Hook {
    Hook { name, void: true, otherwise: Otherwise::Fail }
}

/// A hook that guards one kind of act, without which the rest is still worth having.
const fn lesser(name: &'static str, lacking: &'static str) -> Hook {
    Hook { otherwise: Otherwise::Unenforced(lacking), ..judging(name) }
}

/// Hooks of which a kernel may lack one, and what is not enforced then, in words.
pub mod lacking {
    /// `path_chown`, which takes structures by value, which programs cannot have before 6.0.
    pub const OWNERS: &str =
        "changes of owner are not judged: the kernel's hook takes no programs before 6.0";
    /// `inode_unlink`, `inode_rmdir`.
    pub const SECOND_LINE: &str =
        "what the kernel removes on a program's behalf (an overlay's work directory) is not judged";
    /// `sb_mount`, `move_mount`, `sb_pivotroot`.
    pub const MOUNTS: &str = "mounts over protected places are not judged";
    /// `sb_remount`.
    pub const REMOUNTS: &str = "new options for protected file systems are not judged";
    /// `sb_kern_mount`.
    pub const OVERLAYS: &str = "the upper directories of overlays are not judged";
    /// `capable`.
    pub const POWER: &str = "restart, kexec and kernel modules are not judged";
    /// `file_ioctl`.
    pub const REQUESTS: &str = "requests to file systems (ioctl) are not judged";

    /// `bpf_loop`, a helper: without it the verifier would have to follow too much.
    pub const MOVES: &str = "a directory that holds protected names (a nested .git) keeps the zone of its place when it is moved: before 5.17";

    /// All of them.
    pub const ALL: &[&str] = &[OWNERS, SECOND_LINE, MOUNTS, REMOUNTS, OVERLAYS, POWER, REQUESTS, MOVES];
}

/// Hooks without which nothing is enforced, or too much; and the lesser ones.
const HOOKS: &[Hook] = &[
    judging("path_unlink"),
    judging("path_rmdir"),
    lesser("inode_unlink", lacking::SECOND_LINE),
    lesser("inode_rmdir", lacking::SECOND_LINE),
    judging("path_rename"),
    judging("path_mkdir"),
    judging("path_mknod"),
    judging("path_symlink"),
    judging("path_link"),
    judging("path_truncate"),
    // Before 6.2 path_truncate is asked for open files too.
    Hook { otherwise: Otherwise::Judged, ..judging("file_truncate") },
    judging("path_chmod"),
    lesser("path_chown", lacking::OWNERS),
    judging("file_open"),
    judging("task_alloc"),
    watching("task_free"),
    watching("bprm_committing_creds"),
    judging("task_kill"),
    judging("ptrace_access_check"),
    judging("bpf_map"),
    judging("bpf_prog"),
    lesser("sb_mount", lacking::MOUNTS),
    lesser("move_mount", lacking::MOUNTS),
    judging("sb_umount"),
    lesser("sb_remount", lacking::REMOUNTS),
    lesser("sb_kern_mount", lacking::OVERLAYS),
    lesser("sb_pivotroot", lacking::MOUNTS),
    lesser("capable", lacking::POWER),
    lesser("file_ioctl", lacking::REQUESTS),
];

/// Functions whose success makes something born. Their signatures move, so the object has a program per position.
const CREATIONS: &[&str] = &["vfs_mkdir", "vfs_symlink", "vfs_mknod", "vfs_create", "vfs_link"];

/// Answers `fstat` of a supervisor's thread; attached only while marking.
pub(super) const IDENTIFY: &str = "inode_getattr";
/// Runs on request.
pub(super) const ENROL: &str = "enrol";

/// A loaded program.
pub(super) struct Loaded {
    pub(super) name: &'static str,
    pub(super) program: OwnedFd,
}

/// Everything that was loaded.
pub(super) struct Programs {
    /// To be attached for as long as the set exists.
    pub(super) attached: Vec<Loaded>,
    /// [`IDENTIFY`].
    pub(super) identify: OwnedFd,
    /// Its link, where it cannot be attached again and so must stay.
    pub(super) identify_link: Option<OwnedFd>,
    /// [`ENROL`].
    pub(super) enrol: OwnedFd,
    /// What is otherwise than it should be here.
    pub(super) caveats: Caveats,
    /// What each took to verify, if that was asked for.
    pub(super) efforts: Vec<Effort>,
}

/// Loads every program of `object`, which is relocated already.
pub(super) fn load(object: &Object, btf: &Btf, rung: Rung, weigh: Weigh) -> Result<Programs, LoadError> {
    let mut programs = Loader { object, btf, rung, has_loop: has_loop(btf), weigh, efforts: Vec::new() };
    let mut attached = Vec::new();
    let mut caveats = Caveats::default();
    for hook in HOOKS {
        let program = programs.hook(hook);
        match (program, hook.otherwise) {
            (Err(LoadError::HookAbsent { .. }), Otherwise::Judged) => {}
            (Err(error), Otherwise::Unenforced(what)) if error.is_incapable() => {
                if !caveats.lacks(what) {
                    caveats.unenforced.push(what.to_owned());
                }
            }
            (program, _) => attached.push(Loaded { name: hook.name, program: program? }),
        }
    }
    for function in CREATIONS {
        match programs.creation(function)? {
            Some(program) => attached.push(Loaded { name: function, program }),
            None => caveats
                .stricter
                .push(format!("what {function} creates is not told from what was there before")),
        }
    }
    let identify = programs.hook(&judging(IDENTIFY))?;
    let (identify, identify_link) = match reattaches(identify.as_fd())? {
        true => (identify, None),
        false => {
            let identify = programs.hook(&judging(IDENTIFY))?;
            let link = sys::attach(identify.as_fd())?;
            caveats.stricter.push(
                "stat(2) is watched all the time: a program can be attached only once before 5.13".to_owned(),
            );
            (identify, Some(link))
        }
    };
    if !programs.has_loop {
        caveats.unenforced.push(lacking::MOVES.to_owned());
    }
    let enrol = programs.load(ENROL, ProgramKind::RawTracepoint, 0)?;
    Ok(Programs { attached, identify, identify_link, enrol, caveats, efforts: programs.efforts })
}

/// Whether a program can be attached again after its link was closed (since 5.13).
fn reattaches(program: BorrowedFd<'_>) -> io::Result<bool> {
    drop(sys::attach(program)?);
    match sys::attach(program) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

struct Loader<'a> {
    object: &'a Object,
    btf: &'a Btf,
    rung: Rung,
    has_loop: bool,
    weigh: Weigh,
    efforts: Vec<Effort>,
}

impl Loader<'_> {
    fn hook(&mut self, hook: &Hook) -> Result<OwnedFd, LoadError> {
        let (kind, target) = match (self.rung, hook.void) {
            (Rung::BpfLsm, _) => (ProgramKind::Lsm, format!("bpf_lsm_{}", hook.name)),
            (Rung::ModifyReturn, false) => (ProgramKind::ModifyReturn, format!("security_{}", hook.name)),
            (Rung::ModifyReturn, true) => (ProgramKind::Entry, format!("security_{}", hook.name)),
        };
        let id = self.btf.function(&target).map_err(|error| match error {
            BtfError::Absent(_) => LoadError::HookAbsent { hook: hook.name },
            other => LoadError::Btf(other),
        })?;
        self.load(hook.name, kind, id)
    }

    /// `None`: the function is not there, or takes and returns what no program of the object expects.
    fn creation(&mut self, function: &str) -> Result<Option<OwnedFd>, LoadError> {
        let Ok(signature) = self.btf.signature(function) else { return Ok(None) };
        let Some(dentry) = signature.last_pointer_to("dentry") else { return Ok(None) };
        let program = format!("{function}_{dentry}_{}", signature.parameters.len());
        if !self.object.programs.contains_key(&program) {
            return Ok(None);
        }
        let id = self.btf.function(function).map_err(LoadError::Btf)?;
        self.load(&program, ProgramKind::Exit, id).map(Some)
    }

    fn load(&mut self, name: &str, kind: ProgramKind, target: u32) -> Result<OwnedFd, LoadError> {
        let missing = || LoadError::Object(format!("it has no program {name}"));
        let program = self.object.programs.get(name).ok_or_else(missing)?;
        let function = self.object.functions.get(&program.function_key()).ok_or_else(missing)?;
        let mut instructions = function.instructions.clone();
        // The kernel's `bpf_rdonly_cast` is as old as the trust that it takes away: 6.2.
        functions::put_casts(&mut instructions, self.btf.function("bpf_rdonly_cast").ok());
        let functions = if self.has_loop {
            Some(Functions::describe(name, &instructions)?)
        } else {
            functions::without_references(&mut instructions);
            None
        };
        let encoded = encode(&instructions);
        let functions = functions.as_ref();
        let program = sys::Program { kind, name, instructions: &encoded, target, functions };
        let loaded = match self.weigh {
            Weigh::No => sys::load_program(&program),
            Weigh::Yes => sys::load_program_aloud(&program).map(|(fd, words)| {
                self.efforts.push(Effort::from_log(name, instructions.len(), &words));
                fd
            }),
        };
        loaded.map_err(|(error, log)| match error.raw_os_error() {
            Some(libc::EPERM) => {
                LoadError::NotPermitted { what: format!("loading the program {name}"), error }
            }
            _ => LoadError::Program { name: name.to_owned(), error, log },
        })
    }
}

/// The instructions as the kernel reads them.
fn encode(instructions: &[aya_obj::generated::bpf_insn]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(instructions.len() * 8);
    for instruction in instructions {
        let registers = instruction.src_reg() << 4 | instruction.dst_reg();
        bytes.extend([instruction.code, registers]);
        bytes.extend(instruction.off.to_ne_bytes());
        bytes.extend(instruction.imm.to_ne_bytes());
    }
    bytes
}

/// Points the instructions of `object` at the maps in `maps`, and functions at each other.
pub(super) fn relocate(object: &mut Object, maps: &HashMap<String, OwnedFd>) -> Result<(), LoadError> {
    use std::os::fd::AsRawFd as _;
    let wrong = |error: &dyn std::fmt::Display| LoadError::Object(error.to_string());
    let definitions = std::mem::take(&mut object.maps);
    let sections = object.functions.keys().map(|(section, _)| *section).collect();
    let descriptors = definitions
        .iter()
        .filter_map(|(name, definition)| Some((name.as_str(), maps.get(name)?.as_raw_fd(), definition)));
    object.relocate_maps(descriptors, &sections).map_err(|error| wrong(&error))?;
    object.relocate_calls(&sections).map_err(|error| wrong(&error))
}

/// Whether `vfs_mkdir` returns a pointer, and whether `path_rename` has flags: facts that the object is told.
pub(super) fn signature_facts(btf: &Btf) -> (bool, bool) {
    let mkdir_returns_dentry = btf.signature("vfs_mkdir").is_ok_and(|mkdir| mkdir.returns_pointer);
    let rename_has_flags =
        btf.signature("bpf_lsm_path_rename").is_ok_and(|rename| rename.parameters.len() >= 5);
    (mkdir_returns_dentry, rename_has_flags)
}

/// Whether programs can have `bpf_loop`: another fact that the object is told.
pub(super) fn has_loop(btf: &Btf) -> bool {
    btf.function("bpf_loop").is_ok()
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        Self::Io { what: "talking to the kernel".to_owned(), error }
    }
}
