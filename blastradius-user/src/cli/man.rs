//! `blastradius man`: the manual page, in roff.

use std::io::Write as _;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Sections that clap does not know of.
const EXIT_STATUS: &str = r#".SH "EXIT STATUS"
.TP
0
The command was allowed (or warned about); with \fB\-\-\fR the command's own status.
.TP
1
check: denied.
.TP
2
check: a human would be asked.
.TP
64
The arguments make no sense.
.TP
125
run: the guard's own failure, or its refusal to start unprotected.
.TP
126
The wrapper refused the command, or the command cannot be executed.
.TP
127
The command was not found.
.SH FILES
.TP
.B .blastradius
What may be destroyed below a work tree.
.TP
.B $XDG_CONFIG_HOME/blastradius/config
The same, for all work trees of a user.
.TP
.B /etc/blastradius/config
A ceiling that nothing below lifts.
"#;

pub(super) fn main(Args {}: Args) -> ExitCode {
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(super::command()).render(&mut page);
    page.extend_from_slice(EXIT_STATUS.as_bytes());
    match written.and_then(|()| std::io::stdout().write_all(&page)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => super::exit::failure(&error.into(), super::exit::OWN_FAILURE),
    }
}
