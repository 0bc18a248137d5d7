//! The cases of `corpus/*.jsonl`.

use std::collections::BTreeMap;
use std::path::Path;

use blastradius_common::Verdict;
use serde::Deserialize;

/// One case. The README beside the file says what the fields mean.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Stable name.
    pub id: String,
    /// Shell text.
    pub command: String,
    /// Where it runs; the project, unless the case says otherwise.
    #[serde(default = "project")]
    pub cwd: String,
    /// The shell that reads it; bash, unless the case says otherwise.
    #[serde(default)]
    pub shell: Option<String>,
    /// Set on top of the default environment.
    #[serde(default)]
    pub env: BTreeMap<String, Option<String>>,
    /// `macos`, or absent for Linux.
    pub platform: Option<String>,
    /// What the tree holds beyond the default.
    #[serde(default)]
    pub fs: Option<Facts>,
    /// The right verdict, where a human can answer.
    pub expect: String,
    /// Further right verdicts.
    #[serde(default)]
    pub also: Vec<String>,
    /// Why.
    pub why: String,
    /// Kinds.
    #[serde(default)]
    pub tags: Vec<String>,
}

fn project() -> String {
    "/home/dev/proj".into()
}

/// Facts that a case states of the tree.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Facts {
    /// The entries of the working directory; a trailing slash makes a directory.
    #[serde(default)]
    pub entries: Vec<String>,
    /// Links in the working directory: name → target.
    #[serde(default)]
    pub symlinks: BTreeMap<String, String>,
}

/// Allow and warn run; confirm and deny stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// `allow`, and `warn`, which counts as it.
    Allow,
    /// `confirm`.
    Confirm,
    /// `deny`.
    Deny,
}

impl Answer {
    /// What a verdict comes to.
    pub fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow | Verdict::Warn => Self::Allow,
            Verdict::Confirm => Self::Confirm,
            Verdict::Deny => Self::Deny,
        }
    }

    fn named(name: &str) -> Self {
        Self::of(Verdict::from_name(name).unwrap_or_else(|| panic!("expected a verdict, found {name:?}")))
    }
}

impl Case {
    /// Whether `answer` is right.
    pub fn accepts(&self, answer: Answer) -> bool {
        answer == self.expected() || self.also.iter().any(|also| Answer::named(also) == answer)
    }

    /// The main right answer.
    pub fn expected(&self) -> Answer {
        Answer::named(&self.expect)
    }
}

/// A case that only asks for the default machine.
pub fn plain(command: &str) -> Case {
    Case {
        id: String::new(),
        command: command.into(),
        cwd: project(),
        shell: None,
        env: BTreeMap::new(),
        platform: None,
        fs: None,
        expect: "allow".into(),
        also: Vec::new(),
        why: String::new(),
        tags: Vec::new(),
    }
}

/// Reads a file of cases.
///
/// # Panics
/// If a line is not a case: the data is part of the tests.
pub fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let parse = |(index, line): (usize, &str)| -> Case {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{}:{}: {error}", path.display(), index + 1))
    };
    text.lines().enumerate().map(parse).collect()
}
