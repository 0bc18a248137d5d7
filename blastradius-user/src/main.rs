//! The `blastradius` binary: it only dispatches.

fn main() -> std::process::ExitCode {
    blastradius::cli::main()
}
