//! Loading a policy looks at the places that it names, and at nothing that merely lies beside them.

use blastradius::policy::{Policy, Start};
use blastradius::shell::world::memory::MemoryWorld;
use blastradius_tests::counting::Counting;
use blastradius_tests::{cases, fixture};

/// A work tree with a policy of 200 lines and this many files.
fn world(files: usize) -> MemoryWorld {
    let lines: String = (0..200)
        .map(|at| match at % 4 {
            0 => format!("allow <repo>/out/{at}/**\n"),
            1 => format!("deny ./keep/{at}\n"),
            2 => format!("allow build/*/{at}.tmp\n"),
            _ => format!("deny **/secret-{at}.*\n"),
        })
        .collect();
    let mut world = fixture::world(&cases::plain("true")).file("/home/dev/proj/.blastradius", &lines);
    for at in 0..files {
        world = world.file(&format!("/home/dev/proj/src/{}/{}/{at}.rs", at % 10, at % 100), "");
    }
    world
}

/// What loading costs: questions, entries of directories.
fn cost(files: usize) -> (u64, u64) {
    let world = world(files);
    let counting = Counting::new(&world);
    let policy = Policy::load(&counting, Start::default());
    assert!(policy.errors().is_empty(), "{:?}", policy.errors());
    assert_eq!(policy.config().denies.len(), 100);
    (counting.asked(), counting.entries())
}

#[test]
fn loading_200_lines_asks_the_same_of_a_tree_of_100_000_files_as_of_an_empty_one() {
    let (small, large) = (cost(0), cost(100_000));
    assert_eq!(small, large, "(questions, entries)");
    assert!(large.0 <= 5_000, "{} questions for 200 lines", large.0);
}
