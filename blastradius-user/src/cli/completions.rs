//! `blastradius completions SHELL`.

use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell that will read the script
    shell: clap_complete::Shell,
}

pub(super) fn main(args: Args) -> ExitCode {
    let mut command = super::command();
    clap_complete::generate(args.shell, &mut command, "blastradius", &mut std::io::stdout());
    ExitCode::SUCCESS
}
