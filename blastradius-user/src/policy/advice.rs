//! What could be done instead: a command that the analyzer itself allows and that does a lawful part of the job.
//!
//! A suggestion is a shell command; what follows its `#` is for people.

use std::path::Path;

use blastradius_common::{Operation, RuleId};

use crate::shell::value::{Cause, Field};

use super::Policy;
use super::effect::{Act, Discard, Effect, Located};

/// The suggestion for a finding.
pub fn for_finding(
    policy: &Policy,
    located: &Located,
    rule: RuleId,
    resolved: Option<&Path>,
) -> Option<String> {
    match &located.effect {
        Effect::Path { act, target } => match rule {
            RuleId::EmptyVariableExpansion => {
                Some(guarded(&located.segment, &target.operand).unwrap_or_else(|| by_name(policy)))
            }
            RuleId::OutOfScope if matches!(act, Act::Truncate | Act::Replace | Act::Append | Act::Device) => {
                resolved
                    .map(|path| format!("cp {} ./    # work on a copy inside the work tree", quoted(path)))
            }
            RuleId::RecursiveMetadata => {
                resolved.map(|path| format!("ls -ld {}    # look at what is there first", quoted(path)))
            }
            _ => for_rule(policy, rule, &located.segment, resolved),
        },
        Effect::Git { discard, .. } => Some(for_discard(discard)),
        Effect::Thing { .. } => for_rule(policy, rule, &located.segment, resolved),
    }
}

/// The suggestion for a rule without an operand to go by.
pub fn for_rule(policy: &Policy, rule: RuleId, segment: &str, resolved: Option<&Path>) -> Option<String> {
    let look = |path: &Path| {
        format!("ls -la {}    # look first; a person removes it outside the agent", quoted(path))
    };
    match rule {
        RuleId::OutOfScope | RuleId::CriticalFile | RuleId::DeniedPath | RuleId::OwnFiles => {
            Some(resolved.map_or_else(|| by_name(policy), look))
        }
        RuleId::FloorPath
        | RuleId::EmptyTarget
        | RuleId::EmptyVariableExpansion
        | RuleId::TildeAmbiguous
        | RuleId::GlobNoMatch
        | RuleId::GlobBreadth
        | RuleId::ScopeRoot
        | RuleId::UnknownOperand
        | RuleId::UnparseableCommand
        | RuleId::UnparseableLimit
        | RuleId::QuotedTooMuch
        | RuleId::LookAlike => Some(by_name(policy)),
        RuleId::UnknownCode => {
            Some("cat ./script.sh    # write the text to a file and read it, then run the file".into())
        }
        RuleId::GitHistory => Some("git gc    # git cleans its own store".into()),
        RuleId::GitDiscard => {
            Some("git stash --include-untracked    # keeps the work; git stash pop brings it back".into())
        }
        RuleId::GitRemote => Some("git push --dry-run    # shows what would be pushed".into()),
        RuleId::UntrackedFiles => {
            Some("git stash --include-untracked    # git takes them into its keeping".into())
        }
        RuleId::RecursiveMetadata => {
            Some("chmod -R u+rwX ./build    # only what is the project's own".into())
        }
        RuleId::BlockDevice => {
            Some("lsblk    # find out what lies on it; write to an image file instead".into())
        }
        RuleId::StorageStack => Some("lsblk -f    # find out what lies on it".into()),
        RuleId::AccountRemoval => {
            Some("getent passwd    # look at the accounts; a person removes them".into())
        }
        RuleId::SystemConfiguration => {
            Some("systemctl --failed    # look at the state of the system first".into())
        }
        RuleId::PackageRemoval => Some("apt list --installed    # look at what is there".into()),
        RuleId::NetworkCode => Some(fetched(segment)),
        RuleId::MountBelow => Some("findmnt    # look at what is mounted there, and unmount it first".into()),
        RuleId::PolicyError => {
            let file = policy.errors().first().map_or(Path::new(super::CONFIG_NAME), |error| &error.file);
            Some(format!("cat {}    # read the line that the error names; a person mends it", quoted(file)))
        }
        RuleId::PowerState
        | RuleId::SecurityPosture
        | RuleId::PackageSource
        | RuleId::RemoteResource
        | RuleId::OutwardAction
        | RuleId::CommandPattern => None,
    }
}

fn for_discard(discard: &Discard) -> String {
    match discard {
        Discard::WorkTree(_) => "git stash    # keeps the changes; git stash pop brings them back",
        Discard::Untracked { .. } => "git clean -n    # shows what would go, and removes nothing",
        Discard::Stash => "git stash list    # look at what the entries hold",
        Discard::History => "git branch keep-this    # a name that holds the commits; then they cannot be lost",
        Discard::Worktree { .. } => "git worktree list    # look at what is there; `git worktree remove` without --force keeps changes",
        Discard::Pushed(_) => "git push --dry-run    # shows what would be pushed",
    }
    .into()
}

/// Something that may go by its name under this policy; where nothing of the kind may, a look.
fn by_name(policy: &Policy) -> String {
    let build = policy.work_tree().map(|tree| ("./build", tree.root.join("build")));
    let places = build.into_iter().chain([("/tmp/NAME", "/tmp/NAME".into())]);
    let may_go = |path: &Path| {
        policy.marks.zone(path).is_some_and(|answer| answer.stated.zone.permits(Operation::Remove))
    };
    match places.into_iter().find(|(_, path)| may_go(path)) {
        Some((place, _)) => format!("rm -rf {place}    # name what is to go, inside scope"),
        None => "ls -la    # look at what is there; `blastradius scope` says what may go".into(),
    }
}

/// Variables that elsewhere are set, and to a place that is not to be removed: with a guard the command would be as bad.
const NAMES_A_PLACE: &[&str] = &["HOME", "OLDPWD", "PWD"];

/// The command with every variable that gave nothing guarded: `${X:?}` ends the command where X is unset or empty.
fn guarded(segment: &str, operand: &Field) -> Option<String> {
    let mut text = segment.to_owned();
    let mut changed = false;
    for cause in operand.text.causes() {
        match cause {
            Cause::Unset(name) | Cause::Empty(name) if !NAMES_A_PLACE.contains(&&**name) => {
                let with = with_guard(&text, name);
                changed |= with != text;
                text = with;
            }
            // A substitution cannot be guarded in place.
            _ => return None,
        }
    }
    // A line of several commands is not one suggestion; a comment would swallow what follows.
    (changed && !text.contains('\n')).then_some(text)
}

fn with_guard(text: &str, name: &str) -> String {
    let braced = text.replace(&format!("${{{name}}}"), &format!("${{{name}:?}}"));
    let bare = format!("${name}");
    let mut out = String::with_capacity(braced.len() + 8);
    let mut rest = &*braced;
    while let Some(at) = rest.find(&bare) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        rest = &from[bare.len()..];
        let longer =
            rest.chars().next().is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        out.push_str(&if longer { bare.clone() } else { format!("${{{name}:?}}") });
    }
    out.push_str(rest);
    out
}

/// `curl URL | sh` in two steps, of which a person (or agent) can read the first one's result.
fn fetched(segment: &str) -> String {
    let is_url = |word: &&str| word.starts_with("http://") || word.starts_with("https://");
    let trim = |word: &str| word.trim_matches(|letter| "\"'()`;|&<>".contains(letter)).to_owned();
    let url = segment
        .split_whitespace()
        .map(|word| word.trim_start_matches(['"', '\'', '(', '<']))
        .find(is_url)
        .map(trim);
    let url = url.unwrap_or_else(|| "https://example.invalid/script.sh".into());
    format!("curl -fsSL -o ./script.sh '{}'    # read it before it runs", url.replace('\'', ""))
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-+@%,:=".contains(letter));
    if plain { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_guarded_where_they_stand() {
        assert_eq!(with_guard("rm -rf \"$A/x-$AB\" ${A}", "A"), "rm -rf \"${A:?}/x-$AB\" ${A:?}");
        assert_eq!(with_guard("rm -rf build", "A"), "rm -rf build");
    }

    #[test]
    fn the_address_is_found_in_quotes_and_substitutions() {
        assert!(
            fetched("sh -c \"$(curl -fsSL https://x.example/i.sh)\"").contains("'https://x.example/i.sh'")
        );
        assert!(fetched("curl https://x.example/i.sh | sh").contains("'https://x.example/i.sh'"));
    }

    #[test]
    fn odd_paths_are_quoted() {
        assert_eq!(quoted(Path::new("/a b'c")), "'/a b'\\''c'");
        assert_eq!(quoted(Path::new("/a/b-1")), "/a/b-1");
    }

    #[test]
    fn at_most_a_fifth_of_the_rules_has_nothing_to_suggest() {
        let world = crate::shell::world::memory::MemoryWorld::new(crate::shell::world::Platform::Linux);
        let policy = Policy::load(&world, crate::policy::Start::default());
        let none = RuleId::ALL.iter().filter(|rule| for_rule(&policy, **rule, "x", None).is_none()).count();
        assert!(none * 5 <= RuleId::ALL.len(), "{none} of {}", RuleId::ALL.len());
    }
}
