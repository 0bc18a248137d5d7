//! What a compiled program does: system calls, without a word that a text layer could read.

use std::{fs, path::Path, process::ExitCode, thread, time::Duration};

use crate::calls::{DONE, Outcome, unlink};

/// `act unlink FILE`, or `act unlink-when SIGN FILE REPORT`: waits until SIGN is there, removes FILE and writes the error
/// number to REPORT.
pub(crate) fn act(words: &[String]) -> ExitCode {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let outcome = match *words {
        ["unlink", file] => unlink(file),
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
