//! The real agent programs, headless, with our hook in their settings and a scripted model behind them.
//!
//! `cargo test -p blastradius-tests --test agents -- [--list] [AGENT]…` (all without a name). Nothing here talks to
//! the world but npm, which fetches the pinned versions into `${XDG_CACHE_HOME:-~/.cache}/blastradius/hosts` once. Each
//! agent runs in namespaces of its own: only the loopback device, a throwaway home, everything gone at the end.
//!
//! | file | question |
//! |---|---|
//! | `table` | How is each agent set up and called? |
//! | `cache` | Is the pinned version here? |
//! | `cell` | Where can it do no harm? |
//! | `endpoint` | What does the scripted model say, in four protocols? |
//! | `trial` | What must run, what must not, and what must the model be told? |

mod cache;
mod cell;
mod endpoint;
mod table;
mod trial;

use std::process::ExitCode;

use table::{AGENTS, Agent};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, base] = args.as_slice()
        && flag == cell::INSIDE
    {
        return trial::inside(find(name), base.as_ref());
    }
    let names: Vec<&str> = args.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    if args.iter().any(|word| word == "--list") {
        for agent in AGENTS {
            println!("{}: test", agent.name);
        }
        return ExitCode::SUCCESS;
    }
    let chosen: Vec<&Agent> =
        if names.is_empty() { AGENTS.iter().collect() } else { names.into_iter().map(find).collect() };
    let failed: Vec<&str> =
        chosen.into_iter().filter(|agent| !tried(agent)).map(|agent| agent.name).collect();
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\nfailed: {}", failed.join(", "));
    ExitCode::FAILURE
}

fn find(name: &str) -> &'static Agent {
    let found = AGENTS.iter().find(|agent| agent.name == name);
    found.unwrap_or_else(|| panic!("no agent is called {name}"))
}

fn tried(agent: &Agent) -> bool {
    println!("{} {}", agent.name, agent.version);
    let outcome = cache::fetch(agent).and_then(|programs| cell::run(agent, &programs));
    match outcome {
        Ok(()) => true,
        Err(what) => {
            println!("  FAILED {what}");
            false
        }
    }
}
