//! What does the text layer say of an exec?
//!
//! The judge that `run` uses: the analyzer, asked in the caller's own environment, working directory and root. Where the
//! session's rung is proved, removals are left to the kernel, which knows what was born; what that rung says it does not
//! enforce (history on the Landlock rung, settings of agents) is judged here after all.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blastradius_common::{RuleId, Verdict};

use super::caller::ExecRequest;
use super::judge::{Answer, ExecJudge};
use super::landlock::unenforced::Unenforced;
use crate::analysis::{self, Report, Subject};
use crate::policy::Policy;
use crate::policy::effect::Located;
use crate::policy::finding::Finding;
use crate::policy::mode::{Asker, Mode, Surface};
use crate::system::System;
use crate::undo::advise::{self, Answered};
use crate::undo::keep::Keeper;

/// What the exec layer must look after because the rung does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uncovered {
    /// No rung at all: everything.
    pub everything: bool,
    /// Places whose removal the rung does not refuse.
    pub places: Vec<PathBuf>,
    /// Places where files are saved by rename, so that only moving within them is left to the rung.
    pub saved: Vec<PathBuf>,
    /// Rules about acts that the rung does not see.
    pub rules: Vec<RuleId>,
}

/// Rules about what is known only at run time. Where a rung is proved they are left to the execs and system calls that
/// follow: by then it is known.
const LEFT_TO_WHAT_FOLLOWS: &[RuleId] = &[
    RuleId::UnknownOperand,
    RuleId::UnknownCode,
    RuleId::UnparseableCommand,
    RuleId::UnparseableLimit,
    RuleId::GlobBreadth,
    RuleId::GlobNoMatch,
    RuleId::TildeAmbiguous,
];

impl Uncovered {
    /// What a text-only session must look after.
    pub fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// What is left by a rung with these gaps.
    pub fn by(gaps: &[Unenforced]) -> Self {
        let mut uncovered = Self::default();
        for gap in gaps {
            match gap {
                Unenforced::ConfigRemoval { places } => uncovered.saved.extend(places.iter().cloned()),
                Unenforced::History { places }
                | Unenforced::OwnFiles { places }
                | Unenforced::NestedRoots { places } => uncovered.places.extend(places.iter().cloned()),
                Unenforced::LaterName { place, .. } | Unenforced::NotCarved { place, .. } => {
                    uncovered.places.push(place.clone());
                }
                Unenforced::FileSystem { mount, .. } => uncovered.places.push(mount.clone()),
                Unenforced::Metadata => uncovered.rules.push(RuleId::RecursiveMetadata),
                _ => {}
            }
        }
        uncovered
    }

    fn concerns(&self, program: &Path, finding: &Finding) -> bool {
        let Some(path) = finding.resolved.as_deref() else { return self.rules.contains(&finding.rule) };
        let touches =
            |places: &[PathBuf]| places.iter().any(|at| path.starts_with(at) || at.starts_with(path));
        let moves = program.file_name().is_some_and(|name| name == "mv");
        self.rules.contains(&finding.rule) || touches(&self.places) || (!moves && touches(&self.saved))
    }
}

/// The analyzer as a judge of execs.
pub struct Analyst {
    policy: Arc<Policy>,
    uncovered: Arc<Uncovered>,
    mode: Mode,
    keeper: Option<Arc<Keeper>>,
}

impl Analyst {
    /// A judge by this policy, read once for the session.
    pub fn new(policy: Arc<Policy>, uncovered: Arc<Uncovered>, mode: Mode) -> Self {
        Self { policy, uncovered, mode, keeper: None }
    }

    /// Keeps what is about to be lost.
    #[must_use]
    pub fn with_keeper(mut self, keeper: Option<Arc<Keeper>>) -> Self {
        self.keeper = keeper;
        self
    }

    fn ask(&self, subject: &Subject, system: &System, rung_proved: bool) -> (Report, Vec<Located>) {
        let asker = Asker { mode: self.mode, surface: Surface::Exec { rung_proved } };
        analysis::analyze_effects(subject, system, &self.policy, asker)
    }

    /// All objections, less those that the rung answers for; `None`: not looked at.
    ///
    /// A script file is not looked at where a rung is proved: each program that it starts is asked about when its
    /// arguments are known, and what it destroys by itself is the rung's. Looking ahead would cost tens of milliseconds
    /// for each of a build's scripts, and find what is unset here and set there.
    fn report(&self, request: &ExecRequest) -> Option<Report> {
        if !self.uncovered.everything && is_script_file(request) {
            return None;
        }
        let subject = Subject::Exec { path: Some(request.path.clone()), argv: request.argv.clone() };
        let system = System::of_process(
            request.env.iter().cloned(),
            request.cwd.clone(),
            request.uid,
            request.root.clone(),
        );
        let (mut report, effects) = self.ask(&subject, &system, false);
        // Nearly always there is no objection, and then one question is enough.
        if report.findings.is_empty() || self.uncovered.everything {
            return Some(self.kept(report, &effects, &system, request));
        }
        let here = self.ask(&subject, &system, true).0.findings;
        report.findings.retain(|finding| {
            let known_later = LEFT_TO_WHAT_FOLLOWS.contains(&finding.rule);
            !known_later && (here.contains(finding) || self.uncovered.concerns(&request.path, finding))
        });
        report.verdict =
            report.findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Allow);
        Some(self.kept(report, &effects, &system, request))
    }

    /// Keeps what the command is about to destroy, if it is let go; what can be taken back is no longer refused.
    fn kept(&self, report: Report, effects: &[Located], system: &System, request: &ExecRequest) -> Report {
        // Paths of a caller with another root are not ours.
        let Some(keeper) = self.keeper.as_ref().filter(|_| request.root.is_none()) else { return report };
        match advise::answer(keeper, report, effects, system, &self.policy, self.mode) {
            Answered { report, kept: _ } => report,
        }
    }
}

/// Whether what runs is read from a file: a script by its header, or a shell that is given neither `-c` nor nothing.
fn is_script_file(request: &ExecRequest) -> bool {
    const SHELLS: &[&str] = &["ash", "bash", "busybox", "dash", "ksh", "mksh", "sh", "zsh"];
    let name = request.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // Options come before the script's name; what follows it is the script's own.
    let options =
        request.argv.iter().skip(1).map(|word| word.as_bytes()).take_while(|word| word.starts_with(b"-"));
    let text = options.into_iter().any(|word| !word.starts_with(b"--") && word.contains(&b'c'));
    if SHELLS.contains(&name) { !text } else { has_header(request) }
}

/// `#!` in front.
fn has_header(request: &ExecRequest) -> bool {
    use std::io::Read as _;
    let path = request.cwd.join(&request.path);
    let path = match &request.root {
        Some(root) => root.join(path.strip_prefix("/").unwrap_or(&path)),
        None => path,
    };
    let mut start = [0; 2];
    let file = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    file.is_ok() && &start == b"#!"
}

impl ExecJudge for Analyst {
    fn judge(&mut self, request: &ExecRequest) -> Answer {
        let Some(report) = self.report(request) else { return Answer::Allow(None) };
        match report.verdict {
            Verdict::Allow => Answer::Allow(None),
            Verdict::Warn => Answer::Allow(Some(report)),
            Verdict::Confirm | Verdict::Deny => Answer::Refuse(report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: RuleId, resolved: &str) -> Finding {
        Finding {
            rule,
            verdict: Verdict::Deny,
            target: resolved.to_owned(),
            resolved: Some(resolved.into()),
            segment: String::new(),
            reasons: Vec::new(),
            advice: None,
        }
    }

    #[test]
    fn what_the_rung_does_not_enforce_is_looked_after() {
        let uncovered =
            Uncovered::by(&[Unenforced::History { places: vec!["/w/.git".into()] }, Unenforced::Metadata]);
        for path in ["/w/.git", "/w/.git/objects", "/w", "/"] {
            assert!(uncovered.concerns(Path::new("/bin/rm"), &finding(RuleId::GitHistory, path)), "{path}");
        }
        for path in ["/w/src", "/home/dev", "/w/.gitignore"] {
            assert!(!uncovered.concerns(Path::new("/bin/rm"), &finding(RuleId::OutOfScope, path)), "{path}");
        }
        assert!(uncovered.concerns(Path::new("/bin/chmod"), &finding(RuleId::RecursiveMetadata, "/srv")));
    }

    #[test]
    fn a_move_within_settings_is_a_save_and_a_removal_is_not() {
        let uncovered =
            Uncovered::by(&[Unenforced::ConfigRemoval { places: vec!["/home/dev/.claude".into()] }]);
        let finding = finding(RuleId::OutOfScope, "/home/dev/.claude/settings");
        assert!(uncovered.concerns(Path::new("/bin/rm"), &finding));
        assert!(!uncovered.concerns(Path::new("/bin/mv"), &finding));
    }

    #[test]
    fn text_is_told_from_a_script_file() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("script"), "#!/bin/sh\n").expect("written");
        std::fs::write(dir.path().join("binary"), "\x7fELF").expect("written");
        let is_script = |path: &str, argv: &[&str]| {
            is_script_file(&ExecRequest {
                tid: 0,
                path: path.into(),
                argv: argv.iter().map(Into::into).collect(),
                env: Vec::new(),
                cwd: dir.path().to_owned(),
                root: None,
                uid: 0,
            })
        };
        assert!(!is_script("/bin/sh", &["sh", "-ec", "rm x"]));
        assert!(is_script("/bin/bash", &["bash", "x.sh"]));
        assert!(is_script("/bin/bash", &["bash", "x.sh", "-c", "rm x"]));
        assert!(is_script("script", &["script"]));
        assert!(!is_script("binary", &["binary"]));
    }
}
