//! Subcommands that change what others have: git-push(1), and what it starts at the other end, git-receive-pack(1).

use blastradius_common::RuleId;

use crate::policy::effect::{Base, Discard, Effect};
use crate::programs::git::Git;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::verbs::as_written;
use crate::programs::words;
use crate::programs::{Call, Machine, acts};
use crate::shell::value::Field;

static PUSH: Grammar = Grammar::new(&[
    flag("h", ""),
    flag("v", "verbose"),
    flag("q", "quiet"),
    flag("4", "ipv4"),
    flag("6", "ipv6"),
    flag("f", "force"),
    flag("d", "delete"),
    flag("n", "dry-run"),
    flag("u", "set-upstream"),
    flag("", "all"),
    flag("", "branches"),
    flag("", "mirror"),
    flag("", "tags"),
    flag("", "follow-tags"),
    flag("", "porcelain"),
    flag("", "progress"),
    flag("", "prune"),
    flag("", "atomic"),
    flag("", "thin"),
    flag("", "no-thin"),
    flag("", "verify"),
    flag("", "no-verify"),
    flag("", "force-if-includes"),
    optional("", "force-with-lease"),
    optional("", "signed"),
    value("", "recurse-submodules"),
    value("", "receive-pack|exec"),
    value("", "repo"),
    value("o", "push-option"),
]);

/// Options that take something from the remote, or overwrite it.
const FORCING: &[&str] = &["force", "force-with-lease", "delete", "mirror", "prune"];

/// A push that overwrites or deletes what the remote has: by option, by `+ref`, or by a refspec with an empty source.
pub(crate) fn push(call: &Git<'_>, machine: &mut dyn Machine) {
    let parsed = PUSH.read(call.args);
    if parsed.has_any(&["h", "dry-run"]) {
        return;
    }
    let refspecs = parsed.operands.iter().skip(1).map(|operand| words::lead(&operand.text));
    let forced =
        refspecs.into_iter().any(|spec| spec.starts_with('+') || spec.starts_with(':') && spec.len() > 1);
    if forced || parsed.has_any(FORCING) {
        let object = as_written("git push", call.args);
        acts::thing(machine, RuleId::GitRemote, "overwrites or deletes branches that others have", object);
    }
}

static RECEIVE_PACK: Grammar = Grammar::new(&[
    flag("h", ""),
    flag("q", "quiet"),
    flag("", "skip-connectivity-check"),
    flag("", "stateless-rpc"),
    flag("", "http-backend-info-refs"),
    flag("", "advertise-refs"),
    flag("", "reject-thin-pack-for-testing"),
]);

/// The other end of a push to a repository on this machine.
pub(crate) fn receive_pack(call: &Git<'_>, machine: &mut dyn Machine) {
    received(call.args, call.base.clone(), machine);
}

/// The same by the name under which git-push(1) starts it.
pub(crate) fn receives(call: &Call<'_>, machine: &mut dyn Machine) {
    let base = machine.cwd();
    received(call.args, base, machine);
}

fn received(args: &[Field], base: Base, machine: &mut dyn Machine) {
    let parsed = RECEIVE_PACK.read(args);
    if let (false, [repository]) = (parsed.has("h"), parsed.operands.as_slice()) {
        let discard = Discard::Pushed((*repository).clone());
        machine.effect(Effect::Git { discard, base, what: "git receive-pack".into() });
    }
}
