//! The `blastradius` binary: it only dispatches.

fn main() {}
