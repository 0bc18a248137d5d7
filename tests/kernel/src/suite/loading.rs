//! What a session's start waits for.

use blastradius::guard::kernel::{btf::Btf, weigh};

use crate::{Test, world::Machine};

pub(crate) const TESTS: &[Test] =
    &[Test { name: "the verifier has little to do before the programs are loaded", body: little_to_verify }];

/// Instructions that the verifier may look at, for all programs together. A count, which says the same on every machine:
/// it was 3.2 million with counted loops.
const VISITED: u64 = 250_000;

fn little_to_verify(machine: &Machine) {
    let types = Btf::of_running_kernel().expect("readable").expect("well formed");
    // Before 5.17 the verifier follows every loop through all of its turns.
    if types.function("bpf_loop").is_err() {
        return;
    }
    let efforts = weigh(machine.rung(), None).expect("what is loaded can be loaded again");
    let visited: u64 = efforts.iter().map(|effort| effort.visited).sum();
    println!("the verifier looked at {visited} instructions");
    assert!(visited <= VISITED, "{visited}: {efforts:?}");
}
