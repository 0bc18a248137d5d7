//! `blastradius man`: the manual page, in roff.

use std::io::Write as _;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Sections that clap does not know of.
const EXIT_STATUS: &str = r#".SH "EXIT STATUS"
.TP
0
check: allowed, perhaps with a warning.
.TP
1
check: refused. doctor: less than what was required.
.TP
2
check: a person would be asked.
.TP
3
run \-\-fail\-on\-refusal: the agent ended well, and something was refused.
.TP
64
The arguments make no sense.
.TP
65
scope: a policy file is broken.
.TP
125
run, attach: a failure of the guard's own, or its refusal to start.
.TP
126
\fBblastradius \-\-\fR: refused, or it cannot be executed.
.TP
127
There is no such command.
.PP
\fBrun\fR and \fBblastradius \-\-\fR otherwise end as the command does, by its signal, too; as process 1 of a container, which no signal ends,
\fBrun\fR exits with 128 + N for signal N.
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
