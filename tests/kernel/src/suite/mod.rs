//! The tests, a room for each subject.

mod born;
mod content;
mod depth;
mod grants;
mod lifetime;
mod loading;
mod machine;
mod metadata;
mod mounts;
mod places;
mod removal;
mod renames;
mod reports;
mod second;
mod sessions;
mod tampering;

use crate::Test;

/// Every test, in order.
pub(crate) fn all() -> Vec<Test> {
    [
        removal::TESTS,
        renames::TESTS,
        born::TESTS,
        content::TESTS,
        metadata::TESTS,
        mounts::TESTS,
        second::TESTS,
        places::TESTS,
        machine::TESTS,
        sessions::TESTS,
        depth::TESTS,
        reports::TESTS,
        tampering::TESTS,
        grants::TESTS,
        lifetime::TESTS,
        loading::TESTS,
    ]
    .concat()
}
