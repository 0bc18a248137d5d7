//! What of the guard's own ground changed while the session ran?
//!
//! The policy in force was read at the start, and an edit changes nothing until the next session. But the next one reads
//! it, so the report says what became of the files: a policy file, the approvals, a hook in an agent's settings. The
//! Landlock rung governs no writes, so there this is all that stands between an agent and its own next policy.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::hosts::install::site::{Scope, Site};
use crate::hosts::install::{self, Change as Edit};
use crate::hosts::table::{HOSTS, Host};
use crate::policy::Policy;
use crate::policy::digest::sha256;
use crate::system::{System, regular};

/// Policy files are short; what is longer is none, and is compared by its size.
const LONGEST: u64 = 1 << 20;

/// What a place held.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    File(String),
    /// A link, a directory, a file too long to be a policy, or one that cannot be read.
    Other(String),
}

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Policy,
    Approvals,
}

/// A hook of ours in an agent's settings.
struct Hook {
    host: &'static Host,
    scope: Scope,
}

/// The guard's ground as it was at the start.
#[derive(Default)]
pub struct Watch {
    files: Vec<(PathBuf, Role, Held)>,
    hooks: Vec<Hook>,
    site: Option<Site>,
    may_mend: bool,
}

/// What became of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// What became of it, for people.
    pub what: String,
    /// It could not be put right: the session's report fails.
    pub fails: bool,
}

impl Watch {
    /// Remembers what the policy was read from, and which hooks are there.
    ///
    /// `may_mend`: the session runs as the same user, so what is put back is put where that user may write anyway.
    pub fn begin(policy: &Policy, system: &System, may_mend: bool) -> Self {
        let policies = policy.config().places.iter().map(|path| (path.clone(), Role::Policy));
        let approvals = system.approvals_file().into_iter().map(|path| (path, Role::Approvals));
        let files = policies.chain(approvals).map(|(path, role)| {
            let held = held(&path);
            (path, role, held)
        });
        // Without a home no agent has settings of the user's.
        let site = Site::current().ok();
        let hooks = site.as_ref().map(hooks).unwrap_or_default();
        Self { files: files.collect(), hooks, site, may_mend }
    }

    /// What changed since. A hook that has gone is put back.
    pub fn changes(&self) -> Vec<Change> {
        let files = self.files.iter().filter_map(|(path, role, before)| {
            let what = told(*role, before, &held(path))?;
            Some(Change { path: path.clone(), what, fails: false })
        });
        let hooks = self.hooks.iter().filter_map(|hook| self.look_after(hook));
        files.chain(hooks).collect()
    }

    fn look_after(&self, Hook { host, scope }: &Hook) -> Option<Change> {
        let site = self.site.as_ref()?;
        if holds(host, *scope, site) {
            return None;
        }
        let path = install::file(host, *scope, site).ok()?.0;
        let global = if *scope == Scope::Global { " --global" } else { "" };
        let again = format!("blastradius install {}{global}", host.name);
        let gone = format!("the hook of {} has gone from it during the session", host.title);
        let change = |what, fails| Some(Change { path, what, fails });
        if !self.may_mend {
            return change(format!("{gone}; put it back: {again}"), true);
        }
        match install::install(host, *scope, site) {
            Ok(outcome) if outcome.change != Edit::None => change(format!("{gone}, and was put back"), false),
            Ok(_) => None,
            Err(error) => {
                change(format!("{gone} and cannot be put back ({error}); mend it, then {again}"), true)
            }
        }
    }
}

impl Change {
    /// One line of the end report.
    pub fn line(&self) -> String {
        format!("{}: {}", self.path.display(), self.what)
    }

    /// The fields of its log record.
    pub fn fields(&self) -> Map<String, Value> {
        let fields = [("resolved", json!(self.path.to_string_lossy())), ("reasons", json!([self.what]))];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn told(role: Role, before: &Held, now: &Held) -> Option<String> {
    if before == now {
        return None;
    }
    let did = match (before, now) {
        (Held::Nothing, _) => "was made",
        (_, Held::Nothing) => "was removed",
        _ => "was changed",
    };
    Some(match role {
        Role::Policy => {
            format!("{did} during the session; it had no effect here and is in force from the next: read it")
        }
        Role::Approvals => format!(
            "{did} during the session; if it was not you who approved, take it back: blastradius trust --withdraw"
        ),
    })
}

fn held(path: &Path) -> Held {
    let Ok(meta) = path.symlink_metadata() else { return Held::Nothing };
    if meta.is_symlink() {
        let target = std::fs::read_link(path).unwrap_or_default();
        // It may lead to what never ends, or to more than we hold.
        let is_short = path.metadata().is_ok_and(|meta| meta.len() <= LONGEST);
        let content =
            is_short.then(|| regular::read(path).map(|content| sha256(&content)).unwrap_or_default());
        let content = content.unwrap_or_default();
        return Held::Other(format!("{} {content}", target.display()));
    }
    if !meta.is_file() || meta.len() > LONGEST {
        return Held::Other(format!("{:?} {}", meta.file_type(), meta.len()));
    }
    match regular::read(path) {
        Ok(content) => Held::File(sha256(&content)),
        Err(error) => Held::Other(error.to_string()),
    }
}

fn hooks(site: &Site) -> Vec<Hook> {
    let both = |host: &'static Host| [Scope::Project, Scope::Global].map(|scope| Hook { host, scope });
    HOSTS.iter().flat_map(both).filter(|hook| holds(hook.host, hook.scope, site)).collect()
}

/// Whether a hook of ours is there, this program's or another copy's.
fn holds(host: &Host, scope: Scope, site: &Site) -> bool {
    install::is_installed(host, scope, site).unwrap_or(false) || install::is_foreign(host, scope, site)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::table;

    fn site(root: &Path) -> Site {
        let at = |name: &str| {
            let dir = root.join(name);
            std::fs::create_dir_all(&dir).expect("made");
            dir
        };
        Site {
            home: at("home"),
            project: at("project"),
            state: at("state"),
            program: "/usr/bin/blastradius".into(),
            env: std::collections::HashMap::new(),
        }
    }

    fn watching(site: Site, may_mend: bool) -> Watch {
        Watch { files: Vec::new(), hooks: hooks(&site), site: Some(site), may_mend }
    }

    #[test]
    fn a_file_that_is_made_changed_or_removed_is_told_and_one_that_is_left_alone_is_not() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        for name in ["same", "changed", "removed", "linked"] {
            std::fs::write(at(name), "deny ./x\n").expect("written");
        }
        let names = ["same", "changed", "removed", "made", "linked"];
        let files = names.map(|name| (at(name), Role::Policy, held(&at(name))));
        let watch = Watch { files: files.into(), ..Watch::default() };
        assert_eq!(watch.changes(), []);
        std::fs::write(at("changed"), "deny ./y\n").expect("written");
        std::fs::write(at("made"), "").expect("written");
        std::fs::remove_file(at("removed")).expect("removed");
        std::fs::remove_file(at("linked")).expect("removed");
        std::os::unix::fs::symlink("same", at("linked")).expect("linked");
        let told: Vec<String> = watch.changes().iter().map(Change::line).collect();
        assert_eq!(told.len(), 4, "{told:?}");
        for (line, what) in told.iter().zip([
            "changed: was changed",
            "removed: was removed",
            "made: was made",
            "linked: was changed",
        ]) {
            assert!(line.contains(what), "{line}");
        }
    }

    #[test]
    fn a_hook_that_goes_is_put_back_and_what_its_host_wrote_stays() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let host = table::find("claude-code").expect("in the table");
        let site = site(dir.path());
        install::install(host, Scope::Project, &site).expect("installed");
        let path = install::file(host, Scope::Project, &site).expect("a file").0;
        let watch = watching(site, true);
        assert_eq!(watch.changes(), []);
        std::fs::write(&path, r#"{"model": "fast"}"#).expect("written");
        let changes = watch.changes();
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert!(changes[0].what.contains("put back") && !changes[0].fails, "{changes:?}");
        let text = std::fs::read_to_string(&path).expect("there");
        assert!(text.contains("fast") && text.contains("/usr/bin/blastradius"), "{text}");
        assert_eq!(watch.changes(), [], "it is there again");
        std::fs::remove_file(&path).expect("removed");
        assert!(watch.changes()[0].what.contains("put back"));
    }

    #[test]
    fn a_hook_that_cannot_be_put_back_fails_the_report() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let host = table::find("claude-code").expect("in the table");
        let first = site(dir.path());
        install::install(host, Scope::Project, &first).expect("installed");
        let path = install::file(host, Scope::Project, &first).expect("a file").0;
        let (mending, another) = (watching(first.clone(), true), watching(first, false));
        std::fs::write(&path, "{ this is no JSON").expect("written");
        for watch in [mending, another] {
            let changes = watch.changes();
            assert!(changes.len() == 1 && changes[0].fails, "{changes:?}");
        }
        assert_eq!(
            std::fs::read_to_string(&path).expect("there"),
            "{ this is no JSON",
            "it was left as it was"
        );
    }

    #[test]
    fn a_hook_that_its_host_moved_within_the_file_has_not_gone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let host = table::find("claude-code").expect("in the table");
        let site = site(dir.path());
        install::install(host, Scope::Global, &site).expect("installed");
        let path = install::file(host, Scope::Global, &site).expect("a file").0;
        let watch = watching(site, true);
        let text = std::fs::read_to_string(&path).expect("there");
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        value["model"] = json!("fast");
        std::fs::write(&path, value.to_string()).expect("written");
        assert_eq!(watch.changes(), []);
    }
}
