//! The tests, a room for each subject.

mod removal;

use crate::Test;

/// Every test, in order.
pub(crate) fn all() -> Vec<Test> {
    [removal::TESTS].concat()
}
