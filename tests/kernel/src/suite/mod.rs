//! The tests, a room for each subject.

mod born;
mod depth;
mod lifetime;
mod removal;
mod renames;
mod reports;

use crate::Test;

/// Every test, in order.
pub(crate) fn all() -> Vec<Test> {
    [removal::TESTS, renames::TESTS, born::TESTS, depth::TESTS, reports::TESTS, lifetime::TESTS].concat()
}
