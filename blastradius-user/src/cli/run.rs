//! `blastradius run -- AGENT [ARG…]`: a process tree under both layers.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};

use crate::guard::analyst::{Analyst, Uncovered};
use crate::guard::child::OWN_FAILURE;
use crate::guard::front::{self, Birth};
use crate::guard::identity::{self, Account};
use crate::guard::judge::MakeJudge;
use crate::guard::kernel_rung::KernelRung;
use crate::guard::ladder::{self, Foothold, Require, Rung, Wanted};
use crate::guard::link::Message;
use crate::guard::log::{self, Log};
use crate::guard::program::{self, ProgramError};
use crate::guard::supervise::{Session, supervise};
use crate::guard::watch::Watch;
use crate::policy::Policy;
use crate::policy::mode::{Backing, Mode};
use crate::system::System;
use crate::undo::keep::Keeper;
use crate::undo::limits::Limits;
use crate::undo::session as undo;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The least protection to start with
    #[arg(long, value_enum, default_value_t = Require::Any)]
    require: Require,
    /// Refuse nothing, only write down what would be refused
    #[arg(long)]
    audit: bool,
    /// Start even if nothing can be enforced by the kernel
    #[arg(long)]
    allow_text_only: bool,
    /// Start although a `deny` line cannot be enforced here
    #[arg(long)]
    accept_unenforced: bool,
    /// End with 3 instead of 0 if something was refused
    #[arg(long)]
    fail_on_refusal: bool,
    /// Run the agent as this user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Print the end report even if nothing was refused
    #[arg(long)]
    report: bool,
    /// How long a question at this terminal waits for an answer; `0s`: nobody is asked there
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "60s")]
    answer_within: Duration,
    /// Keep nothing for `blastradius undo`
    #[arg(long)]
    no_undo: bool,
    /// The agent and its arguments
    #[arg(last = true, required = true, value_name = "AGENT")]
    argv: Vec<OsString>,
}

pub(super) fn main(args: Args) -> ExitCode {
    match front::stand_in(|birth| guard(birth, args)) {
        Ok(code) => ExitCode::from(code),
        Err(errno) => {
            anstream::eprintln!("blastradius: starting the supervisor: {}", errno.desc());
            ExitCode::from(OWN_FAILURE as u8)
        }
    }
}

/// Runs in the guard process.
fn guard(birth: Birth, args: Args) -> u8 {
    match prepare(args) {
        Ok(session) => supervise(birth, session),
        Err(error) => {
            anstream::eprintln!("blastradius: {error:#}");
            let code =
                error.downcast_ref::<ProgramError>().map_or(OWN_FAILURE as u8, ProgramError::exit_code);
            birth.link.say(Message::Failed(i32::from(code)));
            code
        }
    }
}

fn prepare(args: Args) -> Result<Session> {
    let program = program::find(&args.argv[0], std::env::var_os("PATH"))?;
    let account = identity::resolve(args.user.as_deref(), std::env::var("SUDO_UID").ok().as_deref())?;
    let system = System::current().context("the working directory cannot be read")?;
    let system = seen_by(system, account.as_ref());
    let name = log::session_name(SystemTime::now(), std::process::id());
    // Before the plan is compiled: what must be protected must exist.
    let state = log::directory()?;
    let kept = undo::state_of(account.as_ref(), &state);
    let log = begin_log(account.as_ref(), &kept, &state, &name)?;
    let wanted = Wanted {
        require: args.require,
        allow_text_only: args.allow_text_only,
        accept_unenforced: args.accept_unenforced || args.audit,
    };
    let policy = Arc::new(system.session_policy(&[state.clone(), kept.clone()]));
    mended(&policy)?;
    let limits = if args.no_undo { None } else { Limits::of_environment()? };
    let watch = Watch::begin(&policy, &system, account.is_none());
    let (plan, cut) = policy.plan_and_rest(&system);
    within_reach(&cut, wanted.accept_unenforced)?;
    let foothold = ladder::choose(&wanted, &plan, &system, &state)?;
    anstream::eprintln!("{}", if args.audit { AUDIT.to_owned() } else { foothold.line() });
    let identity = account.as_ref().map(|account| account.identity.clone());
    let keeper =
        limits.and_then(|limits| undo::begin(&kept, &name, policy.clone(), identity, limits, &system));
    let mut env: Vec<_> = std::env::vars_os().collect();
    if let Some(account) = &account {
        env.retain(|(name, _)| !account.variables.iter().any(|(set, _)| set == name));
        env.extend(account.variables.iter().cloned());
    }
    env.push(("BLASTRADIUS_SESSION".into(), name.into()));
    let make_judge = judges(policy, &foothold, args.audit, keeper.clone());
    Ok(Session {
        program,
        argv: args.argv,
        env,
        identity: account.map(|account| account.identity),
        foothold,
        log,
        watch,
        make_judge: Some(make_judge),
        keeper,
        audit: args.audit,
        report: args.report,
        fail_on_refusal: args.fail_on_refusal,
        patience: args.answer_within,
    })
}

/// The log is the agent's user's, who will want to read it; an account without a home leaves it to us.
fn begin_log(account: Option<&Account>, kept: &Path, ours: &Path, name: &str) -> Result<Log> {
    let theirs = account.and_then(|account| Log::begin(kept, name, Some(&account.identity)).ok());
    theirs
        .map_or_else(|| Log::begin(ours, name, None), Ok)
        .context("the log cannot be kept, so nothing was started")
}

/// The machine as the agent's user will see it: that user's home, and that user's policy file.
fn seen_by(system: System, account: Option<&Account>) -> System {
    let Some(Account { identity, variables }) = account else { return system };
    let system = system.with_env("SUDO_UID", Some(&identity.uid.to_string()));
    variables.iter().fold(system, |system, (name, value)| match (name.to_str(), value.to_str()) {
        (Some(name), Some(value)) => system.with_env(name, Some(value)),
        _ => system,
    })
}

/// The exec layer looks after what the rung does not. In an audit no rung is in force.
fn judges(
    policy: Arc<Policy>,
    foothold: &Foothold,
    audit: bool,
    keeper: Option<Arc<Keeper>>,
) -> Arc<MakeJudge> {
    let uncovered = match foothold.rung {
        _ if audit => Uncovered::everything(),
        Rung::Kernel(_) => Uncovered::by(Backing::Telling, &foothold.unenforced),
        Rung::Landlock(_) => Uncovered::by(Backing::Mute, &foothold.unenforced),
        Rung::TextOnly => Uncovered::everything(),
    };
    let grants = foothold.kernel.as_ref().filter(|_| !audit).map(KernelRung::grants);
    let uncovered = Arc::new(uncovered);
    let began = SystemTime::now();
    Arc::new(move || {
        // What is to be confirmed becomes a question, and a refusal where nobody answers it.
        let analyst = Analyst::new(policy.clone(), uncovered.clone(), Mode::Interactive);
        Box::new(analyst.since(began).with_grants(grants.clone()).with_keeper(keeper.clone()))
    })
}

/// A policy that says something it must not say protects nothing for certain, so nothing is started under it.
fn mended(policy: &Policy) -> Result<()> {
    let errors: String = policy.errors().iter().map(|error| format!("\n  {error}")).collect();
    anyhow::ensure!(errors.is_empty(), "the policy must be mended before anything is started:{errors}");
    Ok(())
}

/// A line that matches more than was looked at is not wholly in the kernel.
fn within_reach(cut: &[String], accepted: bool) -> Result<()> {
    let lines: String = cut.iter().map(|line| format!("\n  {line}")).collect();
    let what =
        "these lines match more than is looked at at the start; beyond it only the text layer knows them";
    anyhow::ensure!(cut.is_empty() || accepted, "{what}. To start all the same: --accept-unenforced{lines}");
    if !cut.is_empty() {
        anstream::eprintln!("blastradius: {what}:{lines}");
    }
    Ok(())
}

const AUDIT: &str = "blastradius: audit: NOTHING is refused; what would be refused is written to the log";
