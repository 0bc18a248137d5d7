//! The machine as a whole: it is not stopped, and no code is loaded into its kernel. One group, which the policy may
//! switch off.

use blastradius_common::{Common, Member, Operation, RuleId};

use crate::{
    emit,
    judge::{PASSED, REFUSED},
    maps,
};

/// `CAP_SYS_MODULE` and `CAP_SYS_BOOT` (include/uapi/linux/capability.h): what the kernel asks for before it loads a module,
/// and before it restarts, stops, or boots another kernel.
const MODULE: u32 = 16;
const BOOT: u32 = 22;

/// May `member` use the capability on the machine itself?
#[inline(always)]
pub fn judge_capability(member: Member, capability: u32) -> i32 {
    let Some(common) = maps::common(member.session) else { return PASSED };
    // SAFETY: the map's own memory, valid until the program returns; the word is written before the session has a task.
    let guarded = unsafe { (*common).rules } & Common::POWER != 0;
    // Packages of the distribution bring modules, and a person may have said yes to loading one.
    let installs = capability == MODULE && (member.traits & Member::PACKAGES != 0 || member.is_approved());
    if !guarded || installs {
        return PASSED;
    }
    let rule = if capability == BOOT { RuleId::PowerState } else { RuleId::SystemConfiguration };
    emit::refusal_of_no_object(member, Operation::Machine, rule as u16);
    REFUSED
}

/// Whether the capability is one of the group.
#[inline(always)]
pub fn concerns(capability: u32) -> bool {
    capability == BOOT || capability == MODULE
}
