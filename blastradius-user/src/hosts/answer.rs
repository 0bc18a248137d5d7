//! Which bytes and which status make this host hold?
//!
//! A refusal is written twice, and then once more as the exit status. A host that reads a document on stdout takes an
//! *allow* from it the moment anything else gets there (a line that a shell's start-up file prints is enough), unless
//! the status says no as well; and a status alone counts for nothing in some, unless a reason stands on stderr.

use std::io::{self, Write};

use super::reason::Reason;
use super::table::{Host, fill};

/// What the hook prints, and how it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// One JSON document and a newline, or nothing.
    pub stdout: String,
    /// For people, and for the model where the host passes it on.
    pub stderr: String,
    /// The exit status.
    pub status: u8,
}

/// The status that blocks, or is harmless, in every host.
const BLOCKED: u8 = 2;

impl Answer {
    /// The command may run. Nothing is said, unless the payload wants a word.
    pub fn allow(host: &Host, explicit: bool) -> Self {
        match host.answer.allow {
            Some(template) if explicit => Self { stdout: line(template), ..Self::default() },
            _ => Self::default(),
        }
    }

    /// The command must not run. Without a host there is no shape that could not be taken for another's.
    pub fn deny(host: Option<&Host>, reason: &Reason) -> Self {
        let stderr = line(&reason.text);
        let Some(host) = host else { return Self { stderr, status: BLOCKED, ..Self::default() } };
        let stdout = host.answer.deny.map(|template| line(&said(template, reason))).unwrap_or_default();
        Self { stdout, stderr, status: host.answer.refusal_exit }
    }

    /// The human is to decide. A refusal where the host has no way to ask.
    pub fn ask(host: &Host, reason: &Reason) -> Self {
        match host.answer.ask {
            Some(template) => Self { stdout: line(&said(template, reason)), ..Self::default() },
            None => Self::deny(Some(host), reason),
        }
    }

    /// Adds to what the model sees of a tool that has run.
    pub fn context(host: &Host, event: &str, text: &str) -> Self {
        match host.answer.context {
            Some(template) => Self {
                stdout: line(&fill(template, &[("%REASON", text), ("%EVENT", event)])),
                ..Self::default()
            },
            None => Self::default(),
        }
    }

    /// Writes it, and gives the status to end with: the blocking one if the document cannot be delivered.
    pub fn write(&self, mut stdout: impl Write, mut stderr: impl Write) -> u8 {
        let told = deliver(&mut stderr, &self.stderr);
        let delivered = deliver(&mut stdout, &self.stdout);
        match (delivered, told) {
            (Ok(()), _) => self.status,
            (Err(_), _) => BLOCKED,
        }
    }
}

/// A template with a reason filled in.
fn said(template: &str, reason: &Reason) -> String {
    fill(template, &[("%REASON", &reason.text), ("%RULE", reason.rule)])
}

fn deliver(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

fn line(text: &str) -> String {
    format!("{text}\n")
}
