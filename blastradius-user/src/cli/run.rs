//! `blastradius run -- AGENT [ARG…]`: a process tree under both layers.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};

use crate::guard::analyst::{Analyst, Uncovered};
use crate::guard::child::OWN_FAILURE;
use crate::guard::front::{self, Birth};
use crate::guard::identity;
use crate::guard::judge::MakeJudge;
use crate::guard::kernel_rung::KernelRung;
use crate::guard::ladder::{self, Foothold, Require, Rung, Wanted};
use crate::guard::link::Message;
use crate::guard::log::{self, Log};
use crate::guard::program::{self, ProgramError};
use crate::guard::supervise::{Session, supervise};
use crate::policy::Policy;
use crate::policy::mode::{Backing, Mode};
use crate::system::System;

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
    let name = log::session_name(SystemTime::now(), std::process::id());
    // Before the plan is compiled: what must be protected must exist.
    let state = log::directory()?;
    let log = Log::begin(&state, &name).context("the log cannot be kept, so nothing was started")?;
    let wanted = Wanted {
        require: args.require,
        allow_text_only: args.allow_text_only,
        accept_unenforced: args.accept_unenforced || args.audit,
    };
    let policy = system.session_policy(std::slice::from_ref(&state));
    mended(&policy)?;
    let foothold = ladder::choose(&wanted, &policy.plan(&system), &system, &state)?;
    anstream::eprintln!("{}", if args.audit { AUDIT.to_owned() } else { foothold.line() });
    let mut env: Vec<_> = std::env::vars_os().collect();
    if let Some(account) = &account {
        env.retain(|(name, _)| !account.variables.iter().any(|(set, _)| set == name));
        env.extend(account.variables.iter().cloned());
    }
    env.push(("BLASTRADIUS_SESSION".into(), name.into()));
    let make_judge = judges(policy, &foothold, args.audit);
    Ok(Session {
        program,
        argv: args.argv,
        env,
        identity: account.map(|account| account.identity),
        foothold,
        log,
        make_judge: Some(make_judge),
        audit: args.audit,
        report: args.report,
        fail_on_refusal: args.fail_on_refusal,
        patience: args.answer_within,
    })
}

/// The exec layer looks after what the rung does not. In an audit no rung is in force.
fn judges(policy: Policy, foothold: &Foothold, audit: bool) -> Arc<MakeJudge> {
    let uncovered = match foothold.rung {
        _ if audit => Uncovered::everything(),
        Rung::Kernel(_) => Uncovered::by(Backing::Telling, &foothold.unenforced),
        Rung::Landlock(_) => Uncovered::by(Backing::Mute, &foothold.unenforced),
        Rung::TextOnly => Uncovered::everything(),
    };
    let grants = foothold.kernel.as_ref().filter(|_| !audit).map(KernelRung::grants);
    let (policy, uncovered) = (Arc::new(policy), Arc::new(uncovered));
    // What is to be confirmed becomes a question, and a refusal where nobody answers it.
    let analyst = move || Analyst::new(policy.clone(), uncovered.clone(), Mode::Interactive);
    Arc::new(move || Box::new(analyst().with_grants(grants.clone())))
}

/// A policy that says something it must not say protects nothing for certain, so nothing is started under it.
fn mended(policy: &Policy) -> Result<()> {
    let errors: String = policy.errors().iter().map(|error| format!("\n  {error}")).collect();
    anyhow::ensure!(errors.is_empty(), "the policy must be mended before anything is started:{errors}");
    Ok(())
}

const AUDIT: &str = "blastradius: audit: NOTHING is refused; what would be refused is written to the log";
