//! `blastradius doctor`: what is enforced here, proved by doing it, and what to change to get more.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::guard::ladder::{self, Foothold, PassedOver, Require};
use crate::guard::landlock::unenforced::Errs;
use crate::guard::log;
use crate::guard::notify::ArchGuarded;
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
    pub(super) const PRIVILEGE: &str = "start as root (or with CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN)";
    pub(super) const BTF: &str =
        "boot a kernel with CONFIG_DEBUG_INFO_BTF=y (that of the distribution, as a rule)";
    /// `LIST` stands for the security modules that are active.
    pub(super) const LSM: &str = "add `lsm=LIST,bpf` to the kernel command line: in GRUB_CMDLINE_LINUX of /etc/default/grub, then \
                                  update-grub (Debian, Ubuntu) or grubby --update-kernel=ALL --args=lsm=LIST,bpf (Fedora, RHEL)";
    pub(super) const OUTSIDE: &str = "where loading eBPF programs is forbidden from outside (a virtual machine's or container's host), \
                                      only that host can change it";
    pub(super) const LANDLOCK: &str = "Linux 5.13 or newer with `landlock` in `lsm=`; in a container, a seccomp profile that allows \
                                       landlock_create_ruleset, landlock_add_rule and landlock_restrict_self";
    pub(super) const SUDO: &str = "start as root with --user USER";

    #[cfg(test)]
    pub(super) const ALL: &[&str] = &[POLICY, LOG, PRIVILEGE, BTF, LSM, OUTSIDE, LANDLOCK, SUDO];
}

/// One thing that was tried.
struct Check {
    name: &'static str,
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
    let checks = [
        check_policy(&policy),
        place,
        check_kernel(&kernel),
        check_landlock(&landlock),
        check_execs(),
        check_privileges(),
    ];
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
        name: "policy",
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
    let outcome = log::Log::begin(state, &name).map(|log| {
        let _ = std::fs::remove_file(log.path());
        format!("{} can be written", state.display())
    });
    Check {
        name: "log",
        serves: "keeps what was refused",
        change: outcome.is_err().then(|| advice::LOG.to_owned()),
        outcome: outcome.map_err(|error| error.to_string()),
    }
}

fn check_kernel(outcome: &Result<String, PassedOver>) -> Check {
    Check {
        name: "kernel rung",
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
        name: "landlock rung",
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
        name: "exec layer",
        serves: "judges commands before they start",
        outcome: outcome.map(|()| "an exec of a child was asked about and refused".to_owned()),
        change: None,
    }
}

fn check_privileges() -> Check {
    let full = ladder::may_administer();
    Check {
        name: "sudo",
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
