//! A line of the log, read back. The fields are those of [`crate::guard::log`].

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::guard::log;
use crate::policy::suggest::Wish;

/// One record. Fields that its event does not have are empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    pub(super) v: u32,
    pub(super) time: String,
    pub(super) session: String,
    pub(super) event: String,
    pub(super) rung: Option<String>,
    pub(super) verdict: Option<String>,
    pub(super) rule: Option<String>,
    pub(super) operation: Option<String>,
    pub(super) resolved: Option<PathBuf>,
    pub(super) reasons: Vec<String>,
    pub(super) advice: Option<String>,
    pub(super) pid: Option<i64>,
    pub(super) command: Option<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) chain: Vec<Link>,
    pub(super) refused: Option<u64>,
    pub(super) status: Option<serde_json::Value>,
    pub(super) audit: bool,
    pub(super) others: Vec<Other>,
}

/// A further finding of the same command.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Other {
    pub(super) rule: String,
    pub(super) resolved: Option<PathBuf>,
}

/// One process of a chain.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Link {
    pub(super) pid: i64,
    pub(super) exe: Option<PathBuf>,
    pub(super) argv: Vec<String>,
}

impl Record {
    /// Reads a line. A line of a later schema, or one that was cut by a full disk, gives what can be understood of it.
    pub(super) fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Whether it speaks of something that was, or would have been, refused.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self.event.as_str(), "refused" | "audited")
    }

    /// What it would have taken for the command to pass: one wish a finding.
    pub(super) fn wishes(self) -> Vec<Wish> {
        let command = self.command.unwrap_or_default();
        let first = Other { rule: self.rule.unwrap_or_default(), resolved: self.resolved };
        let findings = std::iter::once(first).chain(self.others);
        let wish = |Other { rule, resolved }| Wish { command: command.clone(), rule, path: resolved };
        findings.map(wish).collect()
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let mut line = format!("{}  {:<8}", self.time, self.event);
        let mut add = |text: &str| {
            // Writing to a String does not fail.
            let _ = write!(line, "  {text}");
        };
        match self.event.as_str() {
            "start" => {
                add(self.rung.as_deref().unwrap_or("-"));
                add(self.command.as_deref().unwrap_or("-"));
            }
            "end" => {
                let status = self.status.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
                add(&format!("status {}", status.trim_matches('"')));
                add(&format!("{} refused", self.refused.unwrap_or_default()));
            }
            _ => {
                add(self.rule.as_deref().unwrap_or("-"));
                if let Some(resolved) = &self.resolved {
                    add(&resolved.display().to_string());
                }
                add(self.command.as_deref().unwrap_or("-"));
            }
        }
        line
    }

    /// Everything, for `why`.
    pub(super) fn story(&self) -> String {
        let mut text = String::new();
        let mut row = |label: &str, value: &str| {
            let _ = writeln!(text, "  {label:<9} {value}");
        };
        row("when", &self.time);
        row("session", &self.session);
        let optional = [
            ("command", self.command.clone()),
            ("operation", self.operation.clone()),
            ("resolved", self.resolved.as_deref().map(shown)),
            ("directory", self.cwd.as_deref().map(shown)),
        ];
        for (label, value) in optional {
            if let Some(value) = value {
                row(label, &value);
            }
        }
        for reason in &self.reasons {
            row("reason", reason);
        }
        for (label, value) in [("rule", &self.rule), ("instead", &self.advice)] {
            if let Some(value) = value {
                row(label, value);
            }
        }
        for (depth, link) in self.chain.iter().enumerate() {
            let label = if depth == 0 { "by" } else { "started by" };
            let exe = link.exe.as_deref().map_or_else(|| "?".to_owned(), shown);
            row(label, &format!("{} {exe}: {}", link.pid, link.argv.join(" ")));
        }
        text
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The session that a command speaks of: the one asked for (or its beginning), else the one that we run in, else the
/// latest.
pub(super) fn session(directory: &Path, asked: Option<&str>) -> io::Result<Option<(String, Vec<PathBuf>)>> {
    let mut sessions = log::sessions(directory)?;
    let inside = std::env::var("BLASTRADIUS_SESSION").ok();
    let wanted = asked.or(inside.as_deref());
    Ok(match wanted {
        Some(wanted) => sessions.into_iter().find(|(name, _)| name.starts_with(wanted)),
        None => sessions.pop(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of schema 1, as it was first written. Later versions must still read it.
    const VERSION_1: &str = include_str!("../../tests/guard/log-v1.jsonl");

    #[test]
    fn a_log_of_schema_1_is_read() {
        let records: Vec<_> = VERSION_1.lines().map(|line| Record::parse(line).expect("a record")).collect();
        let events: Vec<_> = records.iter().map(|record| (record.v, record.event.as_str())).collect();
        assert_eq!(events, [(1, "start"), (1, "refused"), (1, "warned"), (1, "end")]);
        assert_eq!(
            records[1].line(),
            "2026-11-30T10:00:01.500Z  refused   out-of-scope  /srv/data  rm -rf /srv/data"
        );
        let story = records[1].story();
        for part in [
            "directory /home/dev/project",
            "reason    /srv/data lies outside scope",
            "by        4712 /usr/bin/bash: bash",
        ] {
            assert!(story.contains(part), "{story}");
        }
    }

    #[test]
    fn a_cut_line_is_no_record_and_a_later_field_does_no_harm() {
        assert!(Record::parse(r#"{"v":1,"event":"ref"#).is_none());
        assert!(
            Record::parse(r#"{"v":2,"event":"refused","later":[1]}"#)
                .is_some_and(|record| record.is_refusal())
        );
    }
}
