//! On which stack an evaluation runs.
//!
//! Nearly every command is shallow and is evaluated where the caller stands. Text that nests, or turns out to, is
//! evaluated on a stack of known size, so that no input can overflow the caller's.

use super::eval::Evaluator;
use super::limits::{DEPTH, Eval, Limit, SHALLOW_DEPTH, Stop};
use super::world::World;
use super::{Evaluation, Options};

/// Enough for [`DEPTH`] levels in a build without optimisation. Pages that are not touched cost nothing.
const STACK_BYTES: usize = 256 << 20;

/// Opening signs in a text up to which the parser cannot nest deeply.
const FEW_OPENERS: usize = 24;

/// Evaluates, shallow first.
pub(crate) fn evaluate(
    text: &str,
    world: &dyn World,
    options: &Options,
    run: impl Fn(&mut Evaluator<'_>) -> Eval<()>,
) -> Evaluation {
    if is_flat(text) {
        let mut evaluator = Evaluator::new(world, options, SHALLOW_DEPTH);
        let ended = run(&mut evaluator);
        if ended != Err(Stop(Limit::Depth)) {
            return evaluator.finish(ended);
        }
    }
    let evaluated = on_a_big_stack(|| {
        let mut evaluator = Evaluator::new(world, options, DEPTH);
        let ended = run(&mut evaluator);
        evaluator.finish(ended)
    });
    // Without room nothing is known of the text.
    evaluated.unwrap_or_else(|| Evaluator::new(world, options, 0).finish(Err(Stop(Limit::Stack))))
}

/// Whether the text is too small or too plain to nest deeply.
fn is_flat(text: &str) -> bool {
    let opens = |byte: &u8| matches!(byte, b'(' | b'{' | b'`' | b'[' | b'|' | b'&' | b'\n' | b';');
    text.len() < 4096 && text.bytes().filter(|byte| opens(byte)).take(FEW_OPENERS + 1).count() <= FEW_OPENERS
}

/// Runs `work` on a thread of its own while the caller waits; `None`: the system gives no memory, or no thread.
fn on_a_big_stack<T>(work: impl FnOnce() -> T) -> Option<T> {
    struct Loan<T>(T);
    // SAFETY: what is lent is used by one thread at a time: the caller does nothing but wait until the thread has
    // ended, and starting and joining a thread order all memory accesses on both sides. Nothing that is lent is bound
    // to a thread: counts of `Rc` and cells of the world are plain memory.
    unsafe impl<T> Send for Loan<T> {}
    impl<T> Loan<T> {
        fn take(self) -> T {
            self.0
        }
    }
    let lent = Loan(work);
    std::thread::scope(|scope| {
        let spawned = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, move || Loan(lent.take()()));
        match spawned.ok()?.join() {
            Ok(Loan(value)) => Some(value),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
