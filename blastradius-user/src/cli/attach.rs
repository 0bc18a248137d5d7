//! `blastradius attach --pid PID`: a tree that runs already, under the kernel rung.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context as _, Result, ensure};

use super::exit;
use crate::guard::{attach, ladder, log};
use crate::policy::plan::Plan;
use crate::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The process at the top of the tree: a container's first process, an agent's
    #[arg(long, value_name = "PID")]
    pid: libc::pid_t,
}

pub(super) fn main(args: Args) -> ExitCode {
    match run(args.pid) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::failure(&error, exit::OWN_FAILURE),
    }
}

fn run(pid: libc::pid_t) -> Result<()> {
    ensure!(pid > 0, "{pid} is no process");
    let system = of_process(pid)?;
    let name = log::session_name(SystemTime::now(), std::process::id());
    let state = log::directory()?;
    let mut log =
        log::Log::begin(&state, &name, None).context("the log cannot be kept, so nothing was attached")?;
    let policy = system.session_policy(std::slice::from_ref(&state));
    let errors: String = policy.errors().iter().map(|error| format!("\n  {error}")).collect();
    ensure!(errors.is_empty(), "the policy must be mended before anything is attached:{errors}");
    let plan = seen_from_here(policy.plan(&system), &root_of(pid));
    let mut foothold = ladder::stand_on_kernel(&plan).map_err(|passed_over| {
        anyhow::anyhow!("{}: only the kernel rung can be attached: {}", passed_over.rung, passed_over.why)
    })?;
    let kernel = foothold.kernel.take().context("the kernel rung holds no session")?;
    let tasks = attach::enrol(&kernel.grants(), pid)?;
    anstream::eprintln!("{}", foothold.line());
    anstream::eprintln!(
        "blastradius: {tasks} tasks below {pid} are guarded; no exec layer: commands are not judged before they start"
    );
    attach::begin(&mut log, &foothold, pid, tasks);
    attach::watch(kernel, log, pid)?;
    Ok(())
}

fn root_of(pid: libc::pid_t) -> PathBuf {
    format!("/proc/{pid}/root").into()
}

/// The machine as the process sees it.
fn of_process(pid: libc::pid_t) -> Result<System> {
    use std::os::unix::ffi::OsStringExt as _;
    use std::os::unix::fs::MetadataExt as _;
    let at = |name: &str| format!("/proc/{pid}/{name}");
    let environ =
        std::fs::read(at("environ")).with_context(|| format!("process {pid} cannot be looked at"))?;
    let variable = |entry: &[u8]| {
        let equals = entry.iter().position(|&byte| byte == b'=')?;
        let text = |bytes: &[u8]| std::ffi::OsString::from_vec(bytes.to_vec());
        Some((text(&entry[..equals]), text(&entry[equals + 1..])))
    };
    let env: Vec<_> = environ.split(|&byte| byte == 0).filter_map(variable).collect();
    let cwd = std::fs::read_link(at("cwd")).with_context(|| at("cwd"))?;
    let uid = std::fs::metadata(at("")).with_context(|| at(""))?.uid();
    Ok(System::of_process(env, cwd, uid, Some(root_of(pid))))
}

/// The plan names paths as the process sees them; they are marked from here.
fn seen_from_here(mut plan: Plan, root: &std::path::Path) -> Plan {
    let here = |path: &PathBuf| root.join(path.strip_prefix("/").unwrap_or(path));
    // What is marked is what the link of /proc leads to, not the link.
    let top = root.join(".");
    for mark in &mut plan.marks {
        mark.path = if mark.path.parent().is_none() { top.clone() } else { here(&mark.path) };
    }
    for name in &mut plan.names {
        name.parent = if name.parent.parent().is_none() { top.clone() } else { here(&name.parent) };
    }
    plan
}
