//! `blastradius doctor`: what is enforced here, proved by doing it, and what to change to get more.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::guard::ladder::{self, Foothold, PassedOver, Require};
use crate::guard::landlock::unenforced::Errs;
use crate::guard::log;
use crate::guard::notify::ArchGuarded;
use crate::guard::program;
use crate::hosts::canary::{self, Canary};
use crate::hosts::install::site::{Scope, Site};
use crate::policy::Policy;
use crate::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print one JSON document on stdout
    #[arg(long)]
    json: bool,
    /// The rung that must be there for the exit status to be 0
    #[arg(long, value_enum, default_value_t = Require::Any)]
    require: Require,
}

/// What would bring what is missing. docs/troubleshooting.md says more about each.
mod advice {
    pub(super) const POLICY: &str = "mend the lines that are named";
    pub(super) const LOG: &str = "set XDG_STATE_HOME to a directory that can be written";
    pub(super) const PRIVILEGE: &str = "start as root with `sudo blastradius run -- AGENT` (the agent runs as you again), or with \
                                        CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN";
    pub(super) const CONTAINER: &str = "give the container the capabilities BPF, PERFMON and SYS_ADMIN and the host's /sys/fs/bpf (docker, \
                                        podman: --cap-add BPF --cap-add PERFMON --cap-add SYS_ADMIN -v /sys/fs/bpf:/sys/fs/bpf), or \
                                        run blastradius on the host";
    pub(super) const LOCKDOWN: &str = "lockdown is in confidentiality mode, which forbids what the programs read: boot with \
                                       lockdown=integrity";
    pub(super) const BTF: &str =
        "boot a kernel with CONFIG_DEBUG_INFO_BTF=y (that of the distribution, as a rule)";
    /// `LIST` stands for the security modules that are active.
    pub(super) const LSM: &str = "add `lsm=LIST,bpf` to the kernel command line: in GRUB_CMDLINE_LINUX of /etc/default/grub, then \
                                  update-grub (Debian, Ubuntu) or grub2-mkconfig -o /boot/grub2/grub.cfg (openSUSE); grubby \
                                  --update-kernel=ALL --args=lsm=LIST,bpf (Fedora, RHEL); in `options` of \
                                  /boot/loader/entries/*.conf (systemd-boot, Arch); in /boot/firmware/cmdline.txt (Raspberry Pi OS)";
    pub(super) const OUTSIDE: &str = "where loading eBPF programs is forbidden from outside (a virtual machine's or container's host), \
                                      only that host can change it";
    pub(super) const LANDLOCK: &str = "Linux 5.13 or newer with `landlock` in `lsm=`; in a container, a seccomp profile that allows \
                                       landlock_create_ruleset, landlock_add_rule and landlock_restrict_self";
    pub(super) const LISTENER: &str = "start it outside of the tool that listens already (another blastradius, a sandbox, a container \
                                       engine's own notifier)";
    pub(super) const PROFILE: &str = "let the container's AppArmor or SELinux profile permit seccomp notification: with docker \
                                      --security-opt apparmor=unconfined, with podman --security-opt label=disable";
    pub(super) const SECCOMP: &str = "let the container's seccomp profile permit seccomp(2), pidfd_getfd(2) and process_vm_readv(2): with \
                                      docker and podman --security-opt seccomp=PROFILE";
    pub(super) const SUDO: &str = "start as root with --user USER";

    #[cfg(test)]
    pub(super) const ALL: &[&str] = &[
        POLICY, LOG, PRIVILEGE, CONTAINER, LOCKDOWN, BTF, LSM, OUTSIDE, LANDLOCK, LISTENER, PROFILE, SECCOMP,
        SUDO,
    ];
}

/// One thing that was tried.
struct Check {
    name: Cow<'static, str>,
    /// What it is good for.
    serves: &'static str,
    /// `Ok`: what was seen. `Err`: why not.
    outcome: Result<String, String>,
    /// What would bring it.
    change: Option<String>,
}

pub(super) fn main(args: Args) -> ExitCode {
    match examine(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("blastradius: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the rung that is asked for is there.
fn examine(args: &Args) -> Result<bool> {
    let system = System::current().context("the working directory cannot be read")?;
    let state = log::directory()?;
    let place = check_log(&state);
    let policy = system.session_policy(std::slice::from_ref(&state));
    let kernel = ladder::stand_on_kernel(&policy.plan(&system)).map(|foothold| {
        format!(
            "{}: {} acts refused: {}",
            foothold.rung.name(),
            foothold.proved.len(),
            foothold.proved.join(", ")
        )
    });
    let landlock =
        ladder::stand_on_landlock(&policy.plan(&system), &system, &state).map_err(|error| error.to_string());
    let mut checks = vec![
        check_policy(&policy),
        place,
        check_kernel(&kernel),
        check_landlock(&landlock),
        check_execs(),
        check_privileges(),
    ];
    checks.extend(check_hooks());
    let enough = match args.require {
        Require::Kernel => kernel.is_ok(),
        Require::Landlock => landlock.is_ok(),
        Require::Any => kernel.is_ok() || landlock.is_ok(),
    };
    let gaps = if kernel.is_ok() { None } else { landlock.as_ref().ok() };
    if args.json {
        print_json(&checks, gaps, enough)?
    } else {
        print_text(&checks, gaps)?
    }
    Ok(enough)
}

fn check_policy(policy: &Policy) -> Check {
    let errors: Vec<_> = policy.errors().iter().map(ToString::to_string).collect();
    Check {
        name: "policy".into(),
        serves: "says what may be destroyed",
        outcome: if errors.is_empty() {
            Ok("read without errors".to_owned())
        } else {
            Err(errors.join("; "))
        },
        change: (!errors.is_empty()).then(|| advice::POLICY.to_owned()),
    }
}

fn check_log(state: &Path) -> Check {
    // A session that begins and is thrown away: the same code that `run` depends on.
    let name = log::session_name(std::time::SystemTime::now(), std::process::id());
    let outcome = log::Log::begin(state, &name, None).map(|log| {
        let _ = std::fs::remove_file(log.path());
        format!("{} can be written", state.display())
    });
    Check {
        name: "log".into(),
        serves: "keeps what was refused",
        change: outcome.is_err().then(|| advice::LOG.to_owned()),
        outcome: outcome.map_err(|error| error.to_string()),
    }
}

fn check_kernel(outcome: &Result<String, PassedOver>) -> Check {
    Check {
        name: "kernel rung".into(),
        serves: "refuses destruction by identity, follows what the session made, carries grants",
        outcome: outcome.clone().map_err(|passed_over| passed_over.why),
        change: outcome.is_err().then(kernel_change),
    }
}

/// The change that most often helps, by what is seen here.
fn kernel_change() -> String {
    if !nix::unistd::Uid::effective().is_root() {
        return advice::PRIVILEGE.to_owned();
    }
    if !ladder::may_administer() {
        return advice::CONTAINER.to_owned();
    }
    if std::fs::read_to_string("/sys/kernel/security/lockdown")
        .is_ok_and(|mode| mode.contains("[confidentiality]"))
    {
        return advice::LOCKDOWN.to_owned();
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return advice::BTF.to_owned();
    }
    match std::fs::read_to_string("/sys/kernel/security/lsm") {
        Ok(list) if !list.split(',').any(|lsm| lsm.trim() == "bpf") => {
            advice::LSM.replace("LIST", list.trim())
        }
        _ => advice::OUTSIDE.to_owned(),
    }
}

fn check_landlock(outcome: &Result<Foothold, String>) -> Check {
    let seen = |foothold: &Foothold| {
        format!(
            "{} operations refused outside scope and permitted inside: {}",
            foothold.proved.len(),
            foothold.proved.join(", ")
        )
    };
    Check {
        name: "landlock rung".into(),
        serves: "refuses destruction outside scope, without privilege",
        outcome: outcome.as_ref().map(seen).map_err(Clone::clone),
        change: outcome.is_err().then(|| advice::LANDLOCK.to_owned()),
    }
}

fn check_execs() -> Check {
    let outcome = ArchGuarded::exec_filter().map_err(|error| error.to_string()).and_then(|filter| {
        crate::guard::probe::listen(&filter.into_program()).map_err(|error| error.to_string())
    });
    Check {
        name: "exec layer".into(),
        serves: "judges commands before they start",
        change: outcome.as_ref().err().map(|why| exec_change(why).to_owned()),
        outcome: outcome.map(|()| "an exec of a child was asked about and refused".to_owned()),
    }
}

/// What most often stands in the way, by what was said.
fn exec_change(why: &str) -> &'static str {
    if why.contains("already listens") {
        advice::LISTENER
    } else if why.contains("cannot be received") {
        advice::PROFILE
    } else {
        advice::SECCOMP
    }
}

/// Fires every hook that is installed here.
fn check_hooks() -> Vec<Check> {
    // Without a home there is no place where a hook could be.
    let Ok(site) = Site::current() else { return Vec::new() };
    canary::fire_all(&site).into_iter().map(|fired| check_hook(fired, &site)).collect()
}

fn check_hook(fired: Canary, site: &Site) -> Check {
    let Canary { host, scope, path, outcome } = fired;
    let (whose, global) = match scope {
        Scope::Project => ("project", ""),
        Scope::Global => ("global", " --global"),
    };
    // Only Codex can say whether it would run what it is given.
    let codex = program::find("codex".as_ref(), std::env::var_os("PATH")).ok();
    let doubt = codex.and_then(|codex| canary::doubt(host, site, &codex));
    let outcome = outcome.and_then(|()| doubt.map_or(Ok(()), |doubt| Err(doubt.to_owned())));
    Check {
        name: format!("hook {} ({whose})", host.name).into(),
        serves: "lets the agent ask before it runs a command",
        change: outcome.is_err().then(|| format!("blastradius install {}{global}", host.name)),
        outcome: match outcome {
            Ok(()) => Ok(format!("{} was fired, and refused its canary", path.display())),
            Err(why) => Err(format!("{}: {why}", path.display())),
        },
    }
}

fn check_privileges() -> Check {
    let full = ladder::may_administer();
    Check {
        name: "sudo".into(),
        serves: "lets set-uid programs gain rights inside a session",
        outcome: if full {
            Ok("no_new_privs is not needed".to_owned())
        } else {
            Err("no_new_privs is set".to_owned())
        },
        change: (!full).then(|| advice::SUDO.to_owned()),
    }
}

fn print_text(checks: &[Check], gaps: Option<&Foothold>) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    for Check { name, serves, outcome, change } in checks {
        let (word, detail) = match outcome {
            Ok(detail) => ("yes", detail),
            Err(detail) => ("no", detail),
        };
        writeln!(out, "{word:<3}  {name:<14} {serves}\n     {:<14} {detail}", "")?;
        if let Some(change) = change {
            writeln!(out, "     {:<14} to get it: {change}", "")?;
        }
    }
    for gap in gaps.iter().flat_map(|foothold| &foothold.unenforced) {
        let word = if gap.errs() == Errs::Looser { "not enforced" } else { "stricter" };
        writeln!(out, "{word}: {}", gap.sentence())?;
    }
    Ok(())
}

fn print_json(checks: &[Check], gaps: Option<&Foothold>, enough: bool) -> io::Result<()> {
    let check = |check: &Check| {
        json!({
            "name": check.name,
            "ok": check.outcome.is_ok(),
            "detail": check.outcome.as_ref().unwrap_or_else(|why| why),
            "change": check.change,
        })
    };
    let gaps: Vec<Value> = gaps
        .iter()
        .flat_map(|foothold| &foothold.unenforced)
        .map(|gap| json!({ "looser": gap.errs() == Errs::Looser, "sentence": gap.sentence() }))
        .collect();
    let document = json!({
        "v": 1,
        "ok": enough,
        "checks": checks.iter().map(check).collect::<Value>(),
        "unenforced": gaps,
    });
    writeln!(io::stdout(), "{document}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_advice_is_in_the_page_on_trouble() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/troubleshooting.md");
        let page = std::fs::read_to_string(page).expect("the page");
        // Lines of the page may break anywhere.
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for advice in advice::ALL {
            assert!(page.contains(advice), "docs/troubleshooting.md does not speak of: {advice}");
        }
    }
}
