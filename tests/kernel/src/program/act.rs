//! What a compiled program does: system calls, without a word that a text layer could read.

use std::{fs, path::Path, process::ExitCode, thread, time::Duration};

use blastradius::guard::door::{self, Request, Response};

use crate::calls::{DONE, Outcome, REFUSED, rmdir, unlink};

/// `act unlink FILE`, `act rmdir DIRECTORY`, or `act unlink-when SIGN FILE REPORT`: waits until SIGN is there, removes FILE
/// and writes the error number to REPORT; or `act approve SESSION NUMBER`: answers a question without a terminal.
pub(crate) fn act(words: &[String]) -> ExitCode {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let outcome = match *words {
        ["unlink", file] => unlink(file),
        ["rmdir", directory] => rmdir(directory),
        ["approve", session, number] => approve(session, number),
        ["unlink-when", sign, file, report] => unlink_when(Path::new(sign), file, Path::new(report)),
        _ => {
            eprintln!("no such act: {words:?}");
            return ExitCode::from(64);
        }
    };
    if outcome == DONE {
        return ExitCode::SUCCESS;
    }
    eprintln!("{outcome:?}");
    ExitCode::FAILURE
}

fn approve(session: &str, number: &str) -> Outcome {
    let said = door::visit(session, &Request::Approve { id: number.to_owned() });
    println!("{said:?}");
    if matches!(said, Ok(Response::Done(_))) { DONE } else { REFUSED }
}

fn unlink_when(sign: &Path, file: &str, report: &Path) -> Outcome {
    while !sign.exists() {
        thread::sleep(Duration::from_millis(20));
    }
    let outcome = unlink(file);
    // The name appears with its content.
    let unfinished = report.with_extension("unfinished");
    let written =
        fs::write(&unfinished, outcome.errno().to_string()).and_then(|()| fs::rename(&unfinished, report));
    if let Err(error) = written {
        eprintln!("{}: {error}", report.display());
    }
    outcome
}
