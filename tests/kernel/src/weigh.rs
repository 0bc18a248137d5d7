//! What loading costs: the programs as the verifier sees them.

use std::process::ExitCode;
use std::time::Instant;

use blastradius::guard::kernel::{Effort, Rung, weigh};

/// Prints the table for `rung`, and for the object at the path `object` if there is one.
pub(crate) fn run(rung: &str, object: &str) -> ExitCode {
    let rung = if rung == Rung::ModifyReturn.name() { Rung::ModifyReturn } else { Rung::BpfLsm };
    let object = (!object.is_empty()).then(|| std::fs::read(object).expect("readable"));
    let begun = Instant::now();
    match weigh(rung, object.as_deref()) {
        Ok(efforts) => {
            print(&efforts);
            println!("in all {:.1?}", begun.elapsed());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn print(efforts: &[Effort]) {
    println!("{:24} {:>12} {:>9} {:>7} {:>9}", "program", "instructions", "visited", "states", "ms");
    for Effort { program, instructions, visited, states, micros } in efforts {
        println!("{program:24} {instructions:12} {visited:9} {states:7} {:9.1}", *micros as f64 / 1e3);
    }
    let sum = |count: fn(&Effort) -> u64| efforts.iter().map(count).sum::<u64>();
    println!(
        "{:24} {:12} {:9} {:7} {:9.1}",
        "all",
        sum(|effort| effort.instructions as u64),
        sum(|effort| effort.visited),
        sum(|effort| effort.states),
        sum(|effort| effort.micros) as f64 / 1e3
    );
}
