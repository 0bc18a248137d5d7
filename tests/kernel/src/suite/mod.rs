//! The tests, a room for each subject.

mod born;
mod content;
mod depth;
mod grants;
mod lifetime;
mod removal;
mod renames;
mod reports;
mod tampering;

use crate::Test;

/// Every test, in order.
pub(crate) fn all() -> Vec<Test> {
    [
        removal::TESTS,
        renames::TESTS,
        born::TESTS,
        content::TESTS,
        depth::TESTS,
        reports::TESTS,
        tampering::TESTS,
        grants::TESTS,
        lifetime::TESTS,
    ]
    .concat()
}
