//! The climb: from a name up to the root of its file system, a directory at a time.
//!
//! Most of what a start costs is the verifier, and most of that are loops: it follows a counted loop through each of its
//! turns, for every way that leads there. Of `bpf_loop` (since 5.17) it follows one turn. So every climb is made here, by
//! `bpf_loop` where the kernel has it and by counting where not; which, the verifier knows from a constant, so that it
//! sees one of the two.
//!
//! Before 6.7 the verifier takes the first turn of `bpf_loop` for all of them. What a turn reads and another has changed
//! must therefore be nothing that it knows before the first: a pointer, or a number that it was made to forget.

use aya_ebpf::helpers::generated::bpf_loop;
use core::ffi::c_void;

use crate::kernel::{self, Access, Dentry};

/// How a climb ended.
#[derive(Clone, Copy)]
pub enum End<A> {
    /// The directory above the given name gave an answer.
    Answer(u32, Dentry<A>),
    /// None did, up to the root.
    Root,
    /// None did, and there are more.
    CutShort,
}

/// No answer yet.
const NONE: u64 = 0;
/// No directory is left to ask. Answers are 32 bits.
const ROOT: u64 = 1 << 32;

#[derive(Clone, Copy)]
#[repr(C)]
struct Climb<A, S, V> {
    here: Dentry<A>,
    end: u64,
    state: S,
    visit: V,
}

/// What is asked at each name: the name, the directory that holds it, and what the climb carries.
pub trait Visit<A, S>: Fn(Dentry<A>, Dentry<A>, &mut S) -> u32 + Copy {}

impl<A, S, V: Fn(Dentry<A>, Dentry<A>, &mut S) -> u32 + Copy> Visit<A, S> for V {}

impl<A: Access, S, V: Visit<A, S>> Climb<A, S, V> {
    /// Goes up by one directory. Whether that was the end.
    #[inline(always)]
    fn advance(&mut self) -> bool {
        let parent = self.here.parent();
        if parent == self.here {
            self.end = ROOT;
            return true;
        }
        let answer = (self.visit)(self.here, parent, &mut self.state);
        if answer != 0 {
            self.end = u64::from(answer);
            return true;
        }
        self.here = parent;
        false
    }
}

/// One turn, as `bpf_loop` calls it.
#[inline(never)]
extern "C" fn turn<A: Access, S, V: Visit<A, S>>(_: u64, climb: *mut c_void) -> u64 {
    // SAFETY: what [`climb_with`] hands to the helper, which calls back before it returns.
    let climb = unsafe { &mut *climb.cast::<Climb<A, S, V>>() };
    u64::from(climb.advance())
}

/// All turns, counted. A function of its own, for the sake of its caller's stack; and on a copy that stays in registers,
/// since the verifier has the more to compare in each turn, the more lies on a stack.
#[inline(never)]
fn count<A: Access, S: Copy, V: Visit<A, S>>(climb: &mut Climb<A, S, V>, steps: u32) {
    let mut own = *climb;
    for _ in 0..steps {
        if own.advance() {
            break;
        }
    }
    (climb.here, climb.end, climb.state) = (own.here, own.end, own.state);
}

/// Asks the directories above `start`, the nearest first, until one gives an answer that is not 0; `steps` of them at most.
#[inline(always)]
pub fn climb<A: Access>(start: Dentry<A>, steps: u32, ask: impl Fn(Dentry<A>) -> u32 + Copy) -> End<A> {
    climb_with(start, steps, (), move |_, parent, ()| ask(parent)).0
}

/// The same with a state that is carried from turn to turn, and is returned.
#[inline(always)]
pub fn climb_with<A: Access, S: Copy, V: Visit<A, S>>(
    start: Dentry<A>,
    steps: u32,
    state: S,
    visit: V,
) -> (End<A>, S) {
    let mut climb = Climb { here: start, end: NONE, state, visit };
    if kernel::has_loop() {
        // SAFETY: `turn` is for such a climb, which lives until the helper returns.
        unsafe { bpf_loop(steps, turn::<A, S, V> as *mut c_void, (&raw mut climb).cast(), 0) };
    } else {
        count(&mut climb, steps);
    }
    let end = match climb.end {
        NONE => End::CutShort,
        ROOT => End::Root,
        answer => End::Answer(answer as u32, climb.here),
    };
    (end, climb.state)
}
