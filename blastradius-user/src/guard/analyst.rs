//! What does the text layer say of an exec?
//!
//! The judge that `run` uses: the analyzer, asked in the caller's own environment, working directory and root. Where the
//! session's rung is proved, removals are left to the kernel, which knows what was born; what that rung says it does not
//! enforce (history on the Landlock rung, settings of agents) is judged here after all, and what a mute rung would refuse
//! without a word is refused here with the reason.

mod age;
mod script;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use blastradius_common::grant::Cover;
use blastradius_common::{Operation, RuleId, Verdict};

use super::caller::ExecRequest;
use super::judge::{Answer, ExecJudge};
use super::kernel_rung::Grants;
use super::landlock::unenforced::Unenforced;
use super::question::{Object, Question};
use crate::analysis::{self, Foreseen, Report, Subject};
use crate::policy::Policy;
use crate::policy::effect::{Act, Effect, Located, Selection};
use crate::policy::finding::Finding;
use crate::policy::mode::{Asker, Backing, Mode, Surface};
use crate::system::System;
use crate::undo::advise::{self, Answered};
use crate::undo::keep::Keeper;
use script::Script;

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
        let subject = Subject::Exec { path: Some(request.path.clone()), argv: request.argv.clone() };
        let system = || {
            let env = request.env.iter().cloned();
            System::of_process(env, request.cwd.clone(), request.uid, request.root.clone())
        };
        if self.uncovered.backing != Backing::Nothing
            && let Some(script) = script::of(request)
        {
            return self.foreseen(&script, &subject, &system);
        }
        let system = system();
        let proved = self.uncovered.backing != Backing::Nothing;
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
            };
            (report.findings, left) = report.findings.into_iter().partition(ours);
        }
        report.findings.retain(|finding| !self.is_of_this_session(finding));
        report.verdict = worst(&report.findings);
        let report = self.kept(report, foreseen.effects(), &system, request);
        Some(Objections { report, left, effects: foreseen.into_effects() })
    }

    /// What of a script file is looked at ahead.
    fn foreseen(
        &self,
        script: &Script,
        subject: &Subject,
        system: &dyn Fn() -> System,
    ) -> Option<Objections> {
        let Script::File(file) = script else { return None };
        if !script::may_destroy(file) {
            return None;
        }
        let system = system();
        let report = analysis::foresee(subject, &system, &self.policy, self.asker(Backing::Telling));
        (!report.findings.is_empty()).then(|| Objections { report, left: Vec::new(), effects: Vec::new() })
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

    /// What a person is asked of these objections; `None`: nothing.
    fn question(&self, request: &ExecRequest, objections: &Objections) -> Option<Question> {
        let Objections { report, left, effects } = objections;
        let mut objects: Vec<Object> = Vec::new();
        let mut asked = report.clone();
        let futile = report.findings.iter().find_map(|finding| self.futile(request, finding, effects));
        if let Some(grants) = &self.grants {
            let root = request.root.as_deref().unwrap_or(Path::new("/"));
            let find = |finding: &Finding| object(grants, root, finding, effects);
            objects.extend(report.findings.iter().filter_map(find));
            for finding in left.iter().filter(|finding| finding.verdict == Verdict::Confirm) {
                if let Some(object) = find(finding) {
                    objects.push(object);
                    asked.findings.push(finding.clone());
                }
            }
        }
        if asked.findings.iter().all(|finding| finding.verdict < Verdict::Confirm) {
            return None;
        }
        asked.verdict = Verdict::Confirm;
        asked.findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
        Some(Question { report: asked, objects, binding: report.verdict == Verdict::Confirm, futile })
    }

    /// Why a yes to this would not help: the rung refuses it all the same.
    fn futile(&self, request: &ExecRequest, finding: &Finding, effects: &[Located]) -> Option<&'static str> {
        if self.uncovered.backing == Backing::Nothing || finding.verdict != Verdict::Confirm {
            return None;
        }
        if self.grants.is_some() {
            return (finding.rule == RuleId::BlockDevice).then_some(
                "a yes cannot be carried into the kernel for a block device: write to it outside the session",
            );
        }
        // The kernel lets go what lies in scope, kept by git or not.
        if finding.rule == RuleId::UntrackedFiles {
            return None;
        }
        let path = finding.resolved.as_deref()?;
        let on_files = effects.iter().any(|located| act_of(finding, located).is_some());
        let refused = on_files && path.symlink_metadata().is_ok();
        (refused && !self.uncovered.leaves(&request.path, finding)).then_some(
            "this rung (landlock) cannot carry a yes: the kernel would refuse it all the same; an `allow` line, or the kernel rung, can",
        )
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

/// The object of a finding and what would be done to it, if it is there, can be granted, and is not the session's own.
fn object(grants: &Grants, root: &Path, finding: &Finding, effects: &[Located]) -> Option<Object> {
    let path = finding.resolved.clone()?;
    let cover = effects
        .iter()
        .filter_map(|located| act_of(finding, located))
        .map(cover)
        .reduce(|one, other| Some(Cover(one?.0 | other?.0)))??;
    let id = grants.identify(root, &path).ok()?;
    match grants.is_born(id) {
        Ok(false) => Some(Object { path, id, cover }),
        _ => None,
    }
}

/// What this effect does to the object of this finding, if it is its cause.
fn act_of<'a>(finding: &Finding, located: &'a Located) -> Option<(Act, &'a Selection)> {
    match &located.effect {
        Effect::Path { act, target }
            if *located.segment == *finding.segment
                && target.operand.source.to_string() == finding.target =>
        {
            Some((*act, &target.selection))
        }
        _ => None,
    }
}

/// What the kernel must let pass for an act; `None`: more would pass than was asked about.
fn cover((act, selection): (Act, &Selection)) -> Option<Cover> {
    use Operation::{Metadata, MetadataRecursive, MoveOut, Remove, Replace, Truncate};
    let none = Cover::default();
    let cover = match act {
        Act::Remove { recursive: false } => none.with(Remove),
        Act::Remove { recursive: true } => none.with(Remove).with_below(Remove),
        Act::Truncate | Act::Append => none.with(Truncate),
        // The old object goes: by rename, by being cut, or removed first. Programs differ.
        Act::Replace => none.with(Replace).with(Truncate).with(Remove),
        // To another file system it is copied, and then removed.
        Act::Move => none.with(MoveOut).with(Replace).with(Remove).with_below(Remove),
        Act::Metadata { recursive: false } => none.with(Metadata),
        Act::Metadata { recursive: true } => {
            none.with(Metadata).with(MetadataRecursive).with_below(Metadata).with_below(MetadataRecursive)
        }
        Act::Device => return None,
    };
    let partly = !selection.filter.is_empty() || selection.contents_only;
    (!partly).then_some(cover)
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

fn worst(findings: &[Finding]) -> Verdict {
    findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Allow)
}

impl ExecJudge for Analyst {
    fn judge(&mut self, request: &ExecRequest) -> Answer {
        let Some(objections) = self.objections(request) else { return Answer::Allow(None) };
        if objections.report.verdict == Verdict::Deny {
            return Answer::Refuse(objections.report);
        }
        match self.question(request, &objections) {
            Some(question) => Answer::Ask(Box::new(question)),
            None if objections.report.findings.is_empty() => Answer::Allow(None),
            None => Answer::Allow(Some(objections.report)),
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
}
