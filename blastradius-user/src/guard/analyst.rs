//! What does the text layer say of an exec?
//!
//! The judge that `run` uses: the analyzer, asked in the caller's own environment, working directory and root. Where the
//! session's rung is proved, removals are left to the kernel, which knows what was born; what that rung says it does not
//! enforce (history on the Landlock rung, settings of agents) is judged here after all, and what a mute rung would refuse
//! without a word is refused here with the reason.

mod age;
mod asked;
mod lent;
mod script;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use blastradius_common::{RuleId, Verdict};

use super::caller::ExecRequest;
use super::judge::{Answer, ExecJudge};
use super::kernel_rung::Grants;
use super::landlock::unenforced::Unenforced;
use crate::analysis::{self, Foreseen, Report, Subject};
use crate::policy::Policy;
use crate::policy::effect::Located;
use crate::policy::finding::{Finding, worst};
use crate::policy::mode::{Asker, Backing, Mode, Surface};
use crate::system::System;
use crate::undo::advise::{self, Answered};
use crate::undo::keep::Keeper;

/// What the exec layer must look after because the rung does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncovered {
    /// The rung. Without one, everything is uncovered.
    pub backing: Backing,
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
        Self::behind(Backing::Nothing)
    }

    fn behind(backing: Backing) -> Self {
        Self { backing, places: Vec::new(), saved: Vec::new(), rules: Vec::new() }
    }

    /// What is left by a rung with these gaps.
    pub fn by(backing: Backing, gaps: &[Unenforced]) -> Self {
        let mut uncovered = Self::behind(backing);
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

    /// Whether a finding is about something that the rung does not look after, or that lies beside it.
    fn concerns(&self, program: &Path, finding: &Finding) -> bool {
        let Some(path) = finding.resolved.as_deref() else { return self.rules.contains(&finding.rule) };
        self.lacks(program, finding, |place| path.starts_with(place) || place.starts_with(path))
    }

    /// Whether the rung lets the object itself go, so that the exec layer's word is the only one.
    fn leaves(&self, program: &Path, finding: &Finding) -> bool {
        let Some(path) = finding.resolved.as_deref() else { return true };
        self.lacks(program, finding, |place| path.starts_with(place))
    }

    /// Whether the finding's rule, or a place that `is_meant`, is left by the rung. Moving within a place where files are
    /// saved by rename is not.
    fn lacks(&self, program: &Path, finding: &Finding, is_meant: impl Fn(&Path) -> bool) -> bool {
        let any = |places: &[PathBuf]| places.iter().any(|place| is_meant(place));
        let moves = program.file_name().is_some_and(|name| name == "mv");
        self.rules.contains(&finding.rule) || any(&self.places) || (!moves && any(&self.saved))
    }
}

/// The analyzer as a judge of execs.
pub struct Analyst {
    policy: Arc<Policy>,
    uncovered: Arc<Uncovered>,
    mode: Mode,
    grants: Option<Grants>,
    keeper: Option<Arc<Keeper>>,
    began: SystemTime,
}

impl Analyst {
    /// A judge by this policy, read once for the session.
    pub fn new(policy: Arc<Policy>, uncovered: Arc<Uncovered>, mode: Mode) -> Self {
        Self { policy, uncovered, mode, grants: None, keeper: None, began: SystemTime::now() }
    }

    /// The same where a person's yes can be put into the kernel.
    #[must_use]
    pub fn with_grants(self, grants: Option<Grants>) -> Self {
        Self { grants, ..self }
    }

    /// When the session began; else when this judge was made.
    #[must_use]
    pub fn since(self, began: SystemTime) -> Self {
        Self { began, ..self }
    }

    /// Keeps what is about to be lost.
    #[must_use]
    pub fn with_keeper(self, keeper: Option<Arc<Keeper>>) -> Self {
        Self { keeper, ..self }
    }

    fn asker(&self, backing: Backing) -> Asker {
        Asker { mode: self.mode, surface: Surface::Exec { backing } }
    }

    /// All objections; `None`: not looked at.
    ///
    /// Of a script file only that is looked at which nobody sees later, where a rung is proved: each program that it starts
    /// is asked about when its arguments are known, and what it destroys by itself is the rung's.
    fn objections(&self, request: &ExecRequest) -> Option<Objections> {
        let proved = self.uncovered.backing != Backing::Nothing;
        let script = if proved { script::of(request) } else { None };
        if script.as_ref().is_some_and(|script| !script.may_destroy()) {
            return None;
        }
        let subject = Subject::Exec { path: Some(request.path.clone()), argv: request.argv.clone() };
        let env = request.env.iter().cloned();
        let system = System::of_process(env, request.cwd.clone(), request.uid, request.root.clone());
        if script.is_some() {
            let report = analysis::foresee(&subject, &system, &self.policy, self.asker(Backing::Telling));
            return Some(Objections { report, left: Vec::new(), effects: Vec::new() });
        }
        let foreseen = Foreseen::new(&subject, &system, &self.policy, proved);
        let judged = |backing| foreseen.report(&system, &self.policy, self.asker(backing));
        let mut report = judged(Backing::Nothing);
        let mut left = Vec::new();
        // Nearly always there is no objection, and then one judgement is enough.
        if !report.findings.is_empty() && proved {
            let here = judged(Backing::Telling).findings;
            let unheard = self.unheard(request, &judged);
            let known_now = |finding: &Finding| !LEFT_TO_WHAT_FOLLOWS.contains(&finding.rule);
            report.findings.retain(known_now);
            let ours = |finding: &Finding| {
                here.contains(finding)
                    || unheard.contains(finding)
                    || self.uncovered.concerns(&request.path, finding)
                    || self.reaches_for_history(request, finding)
            };
            (report.findings, left) = report.findings.into_iter().partition(ours);
        }
        report.findings.extend(self.begun_in_vain(request, foreseen.effects(), &judged));
        report.findings.retain(|finding| !self.is_of_this_session(finding));
        report.verdict = worst(&report.findings);
        let report = self.kept(report, foreseen.effects(), &system, request);
        Some(Objections { report, left, effects: foreseen.into_effects() })
    }

    /// Whether the program itself is told to remove history that was there before. The kernel would refuse that, and let go
    /// what is named beside it: `rm -rf .git* .en*`.
    fn reaches_for_history(&self, request: &ExecRequest, finding: &Finding) -> bool {
        let is_old = |path: &Path| !age::is_younger(path, self.began);
        finding.rule == RuleId::GitHistory
            // Paths of a caller with another root are not ours.
            && request.root.is_none()
            && is_of_the_program(request, &finding.segment)
            && finding.resolved.as_deref().is_some_and(is_old)
    }

    /// Whether what git does not have was all made since the session began: nobody misses it.
    fn is_of_this_session(&self, finding: &Finding) -> bool {
        finding.rule == RuleId::UntrackedFiles
            && finding.resolved.as_deref().is_some_and(|path| age::is_younger(path, self.began))
    }

    /// What a mute rung would refuse the program itself. What a shell's text in its arguments would remove may never be
    /// reached, and the exec that removes it is asked about, too.
    fn unheard(&self, request: &ExecRequest, judged: &dyn Fn(Backing) -> Report) -> Vec<Finding> {
        if self.uncovered.backing != Backing::Mute {
            return Vec::new();
        }
        let mut findings = judged(Backing::Mute).findings;
        findings.retain(|finding| is_of_the_program(request, &finding.segment));
        findings
    }

    /// Keeps what the command is about to destroy, if it is let go; what can be taken back is no longer refused.
    fn kept(&self, report: Report, effects: &[Located], system: &System, request: &ExecRequest) -> Report {
        // Paths of a caller with another root are not ours.
        let Some(keeper) = self.keeper.as_ref().filter(|_| request.root.is_none()) else { return report };
        let Answered { report, kept: _ } =
            advise::answer(keeper, report, effects, system, &self.policy, self.mode);
        report
    }
}

/// What the text layer says of an exec.
struct Objections {
    /// What the exec layer answers for.
    report: Report,
    /// What the rung answers for.
    left: Vec<Finding>,
    effects: Vec<Located>,
}

/// Whether a segment is the exec itself, and not a command inside one of its arguments.
fn is_of_the_program(request: &ExecRequest, segment: &str) -> bool {
    let mut by_path = request.argv.clone();
    if let Some(first) = by_path.first_mut() {
        *first = request.path.clone().into_os_string();
    }
    [&request.argv, &by_path].into_iter().any(|argv| {
        // As the evaluator writes exact arguments: as they are.
        let whole = argv.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        // A very long one is cut.
        segment == whole || segment.strip_suffix('…').is_some_and(|start| whole.starts_with(start))
    })
}

impl ExecJudge for Analyst {
    fn judge(&mut self, request: &ExecRequest) -> Answer {
        let Some(objections) = self.objections(request) else { return Answer::Allow(None, Vec::new()) };
        if objections.report.verdict == Verdict::Deny {
            return Answer::Refuse(objections.report);
        }
        match self.question(request, &objections) {
            Some(question) => Answer::Ask(Box::new(question)),
            None => {
                let lent = self.lent(request, &objections.effects);
                let report = objections.report;
                Answer::Allow((!report.findings.is_empty()).then_some(report), lent)
            }
        }
    }

    /// What the person was asked about was not kept yet, where it was asked about for more than a loss.
    fn approved(&mut self, request: &ExecRequest) {
        let Some(keeper) = self.keeper.as_ref().filter(|_| request.root.is_none()) else { return };
        let env = request.env.iter().cloned();
        let system = System::of_process(env, request.cwd.clone(), request.uid, None);
        let subject = Subject::Exec { path: Some(request.path.clone()), argv: request.argv.clone() };
        let foreseen =
            Foreseen::new(&subject, &system, &self.policy, self.uncovered.backing != Backing::Nothing);
        let report = foreseen.report(&system, &self.policy, self.asker(Backing::Nothing));
        keeper.before(&report.command, foreseen.effects(), &system);
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

    fn by(gaps: &[Unenforced]) -> Uncovered {
        Uncovered::by(Backing::Telling, gaps)
    }

    #[test]
    fn what_the_rung_does_not_enforce_is_looked_after() {
        let uncovered = by(&[Unenforced::History { places: vec!["/w/.git".into()] }, Unenforced::Metadata]);
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
        let uncovered = by(&[Unenforced::ConfigRemoval { places: vec!["/home/dev/.claude".into()] }]);
        let finding = finding(RuleId::OutOfScope, "/home/dev/.claude/settings");
        assert!(uncovered.concerns(Path::new("/bin/rm"), &finding));
        assert!(!uncovered.concerns(Path::new("/bin/mv"), &finding));
    }

    #[test]
    fn the_exec_itself_is_told_from_a_command_inside_an_argument() {
        let request = ExecRequest {
            tid: 0,
            path: "/usr/bin/setsid".into(),
            argv: ["setsid", "sh", "-c", "sleep 1; rm /x"].map(Into::into).to_vec(),
            env: Vec::new(),
            cwd: "/".into(),
            root: None,
            uid: 0,
        };
        assert!(is_of_the_program(&request, "setsid sh -c sleep 1; rm /x"));
        assert!(is_of_the_program(&request, "/usr/bin/setsid sh -c sleep 1; rm /x"));
        assert!(is_of_the_program(&request, "/usr/bin/setsid sh -c…"));
        assert!(!is_of_the_program(&request, "rm /x"));
    }

    #[test]
    fn history_is_not_reached_for_beside_a_file_that_would_go_unless_the_session_made_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let here = dir.path().canonicalize().expect("it was just made");
        // The clock of the file system ticks more slowly than ours.
        let pause = || std::thread::sleep(std::time::Duration::from_millis(30));
        let before = SystemTime::now();
        pause();
        for made in [".git/objects", ".git/refs"] {
            std::fs::create_dir_all(here.join(made)).expect("made");
        }
        std::fs::write(here.join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
        std::fs::write(here.join(".env"), "SECRET=1\n").expect("written");
        pause();
        let env: Vec<(std::ffi::OsString, std::ffi::OsString)> =
            [("PATH", "/usr/bin:/bin"), ("HOME", "/nonexistent")]
                .map(|(name, value)| (name.into(), value.into()))
                .to_vec();
        let system = System::of_process(env.clone(), here.clone(), 0, None);
        let policy =
            Arc::new(Policy::load(&system, crate::policy::Start { session: true, ..Default::default() }));
        let refuses = |argv: &[&str], began: SystemTime| {
            let mut analyst =
                Analyst::new(Arc::clone(&policy), Arc::new(by(&[])), Mode::Unattended).since(began);
            let answer = analyst.judge(&ExecRequest {
                tid: 0,
                path: "/usr/bin/rm".into(),
                argv: argv.iter().map(Into::into).collect(),
                env: env.clone(),
                cwd: here.clone(),
                root: None,
                uid: 0,
            });
            matches!(answer, Answer::Refuse(_))
        };
        let both = ["rm", "-rf", ".git", ".env"];
        assert!(refuses(&both, SystemTime::now()));
        assert!(!refuses(&both, before), "the session made it");
        assert!(!refuses(&["rm", "-f", ".env"], SystemTime::now()));
    }
}
