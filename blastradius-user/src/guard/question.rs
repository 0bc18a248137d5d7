//! What is a person asked?
//!
//! About one exec: what the text layer would have confirmed, and the objects that the kernel must let go if the answer is
//! yes. Two questions are the same only if everything in them is, the identity of each object included: a yes to one file
//! is no yes to another that came to bear its name.

use std::path::PathBuf;

use blastradius_common::{Id, Verdict, grant::Cover};

use super::caller::ExecRequest;
use crate::analysis::Report;
use crate::policy::finding::Finding;

/// An object that the act is to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Where it lies, for people.
    pub path: PathBuf,
    /// What it is.
    pub id: Id,
    /// What would be done to it.
    pub cover: Cover,
}

/// A question about one exec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The command and what is to be confirmed of it.
    pub report: Report,
    /// What the kernel must be told after a yes.
    pub objects: Vec<Object>,
    /// Without a yes the exec does not start. Otherwise it does, and the kernel refuses what it would refuse anyway.
    pub binding: bool,
    /// Why a yes would not help here.
    pub futile: Option<&'static str>,
}

/// What is said about one exec, as far as it matters for being the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matter {
    path: PathBuf,
    argv: Vec<std::ffi::OsString>,
    cwd: PathBuf,
    root: Option<PathBuf>,
    uid: u32,
    /// What is confirmed.
    pub points: Vec<Point>,
    /// What the kernel must be told.
    pub objects: Vec<Object>,
}

/// One thing that is confirmed: the rule, and the object as far as it is known, else the operand.
pub type Point = (&'static str, PathBuf);

impl Matter {
    /// What this question about this exec is about.
    pub fn new(request: &ExecRequest, question: &Question) -> Self {
        // Where another root can be reached is a matter of the process, and differs from one to the next.
        let root = request.root.as_ref().and_then(|root| std::fs::canonicalize(root).ok());
        Self {
            path: request.path.clone(),
            argv: request.argv.clone(),
            cwd: request.cwd.clone(),
            root,
            uid: request.uid,
            points: question.report.findings.iter().map(point).collect(),
            objects: question.objects.clone(),
        }
    }

    /// Whether a yes to this one covers the other: no point and no object is new.
    pub fn covers(&self, other: &Self) -> bool {
        let known = |object: &Object| {
            let itself =
                self.objects.iter().any(|own| own.id == object.id && own.cover.includes(object.cover));
            itself || self.objects.iter().any(|own| own.covers_from_above(object))
        };
        let below =
            |path: &PathBuf| self.objects.iter().any(|own| own.is_tree() && path.starts_with(&own.path));
        let same = |(rule, path): &Point| {
            self.points.iter().any(|(own, at)| own == rule && at == path) || below(path)
        };
        other.points.iter().all(same) && other.objects.iter().all(known)
    }
}

impl Object {
    fn is_tree(&self) -> bool {
        self.cover.0 >> 16 != 0
    }

    /// Whether it is a directory whose content may go, and `other` lies in it. By path, which is enough to ask no second
    /// time: what the kernel permits it knows by identity.
    fn covers_from_above(&self, other: &Self) -> bool {
        let whole = Cover(other.cover.0 | other.cover.0 >> 16);
        let lies_below = other.path != self.path && other.path.starts_with(&self.path);
        lies_below && self.cover.0 >> 16 & (whole.0 & 0xffff) == whole.0 & 0xffff
    }
}

fn point(finding: &Finding) -> Point {
    let object = finding.resolved.clone().unwrap_or_else(|| PathBuf::from(&finding.target));
    (finding.rule.id(), object)
}

impl Question {
    /// The refusal that this question becomes without a yes.
    pub fn refused(mut self) -> Report {
        for finding in &mut self.report.findings {
            finding.verdict = finding.verdict.max(Verdict::Deny);
            finding.reasons.extend(self.futile.map(str::to_owned));
        }
        self.report.verdict = Verdict::Deny;
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blastradius_common::{Operation, RuleId};

    fn request(argv: &[&str]) -> ExecRequest {
        ExecRequest {
            tid: 1,
            path: argv[0].into(),
            argv: argv.iter().map(Into::into).collect(),
            env: Vec::new(),
            cwd: "/w".into(),
            root: None,
            uid: 1000,
        }
    }

    fn question(resolved: &str, ino: u64, cover: Cover) -> Question {
        let finding = Finding {
            rule: RuleId::OutOfScope,
            verdict: Verdict::Confirm,
            target: "x".to_owned(),
            resolved: Some(resolved.into()),
            segment: String::new(),
            reasons: Vec::new(),
            advice: None,
        };
        let id = Id { ino, dev: 1, generation: 1 };
        Question {
            report: Report { command: String::new(), verdict: Verdict::Confirm, findings: vec![finding] },
            objects: vec![Object { path: resolved.into(), id, cover }],
            binding: false,
            futile: None,
        }
    }

    const FILE: Cover = Cover(0).with(Operation::Remove);
    const TREE: Cover = FILE.with_below(Operation::Remove);

    #[test]
    fn another_object_of_the_same_name_is_another_matter() {
        let rm = request(&["/bin/rm", "/srv/x"]);
        let first = Matter::new(&rm, &question("/srv/x", 7, FILE));
        assert_eq!(first, Matter::new(&rm, &question("/srv/x", 7, FILE)));
        assert_ne!(first, Matter::new(&rm, &question("/srv/x", 8, FILE)));
        assert_ne!(first, Matter::new(&request(&["/bin/rm", "-f", "/srv/x"]), &question("/srv/x", 7, FILE)));
    }

    #[test]
    fn what_a_descendant_does_within_the_yes_is_covered_and_nothing_else() {
        let shell = Matter::new(&request(&["/bin/sh", "-c", "…"]), &question("/srv/x", 7, TREE));
        let act = |path: &str, ino, cover| Matter::new(&request(&["/bin/rm"]), &question(path, ino, cover));
        assert!(shell.covers(&act("/srv/x", 7, TREE)));
        assert!(shell.covers(&act("/srv/x", 7, FILE)));
        assert!(shell.covers(&act("/srv/x/deep/file", 9, FILE)));
        assert!(!shell.covers(&act("/srv/y", 9, FILE)));
        assert!(!shell.covers(&act("/srv/x", 8, FILE)), "another object took over the name");
        let truncation = Cover(0).with(Operation::Truncate);
        assert!(!shell.covers(&act("/srv/x/file", 9, truncation)));
    }
}
