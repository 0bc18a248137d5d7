//! What a session's start waits for.

use blastradius::guard::kernel::weigh;

use crate::{Test, world::Machine};

pub(crate) const TESTS: &[Test] =
    &[Test { name: "the verifier has little to do before the programs are loaded", body: little_to_verify }];

/// Instructions that the verifier may look at, for all programs together. A count, which says the same on every machine:
/// it was 3.2 million with counted loops.
const VISITED: u64 = 250_000;

fn little_to_verify(machine: &Machine) {
    let weight = weigh(machine.rung(), None).expect("what is loaded can be loaded again");
    let visited: u64 = weight.efforts.iter().map(|effort| effort.visited).sum();
    println!("the verifier looked at {visited} instructions");
    if weight.has_loop {
        assert!(visited <= VISITED, "{visited}: {:?}", weight.efforts);
    }
}
