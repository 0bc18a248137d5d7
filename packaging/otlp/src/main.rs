//! `blastradius-otlp`: sends the log of blastradius to an OpenTelemetry collector, over OTLP with HTTP and JSON.
//!
//! The guard writes its log and knows of no network. This program, which nothing of the guard's depends on, reads the log
//! afterwards, in order, and remembers how far it came: each record is sent at least once, and after a restart none is
//! sent again that the collector has acknowledged.

mod cursor;
mod reader;
mod records;
mod sender;

use std::{path::PathBuf, process::ExitCode, thread, time::Duration};

use anyhow::{Context as _, Result};
use clap::Parser;

use cursor::Cursor;
use sender::{Sender, Sent};

/// Send the log of blastradius to an OpenTelemetry collector, as log records
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Where the collector takes logs
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:4318/v1/logs")]
    endpoint: String,
    /// A header that the collector asks for; the value may be `@FILE`, whose first line it is then
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = sender::header)]
    headers: Vec<(String, String)>,
    /// The directory of the logs; default: that of blastradius
    #[arg(long, value_name = "DIRECTORY")]
    logs: Option<PathBuf>,
    /// The file that says how far we came; default: `otlp-cursor.json` in $XDG_CACHE_HOME or ~/.cache
    #[arg(long, value_name = "FILE")]
    cursor: Option<PathBuf>,
    /// What this machine is called
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Send what is there and end
    #[arg(long)]
    once: bool,
}

/// How often logs are looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The longest pause while the collector does not answer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("blastradius-otlp: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let place = |given: &Option<PathBuf>, variable, below: &str, name: &str| match given {
        Some(path) => Ok(path.clone()),
        None => base(variable, below).map(|base| base.join(name)),
    };
    let logs = place(&args.logs, "XDG_STATE_HOME", ".local/state", "blastradius")?;
    let mut cursor = Cursor::read(&place(&args.cursor, "XDG_CACHE_HOME", ".cache", "blastradius/otlp-cursor.json")?)?;
    let host = args.host.clone().unwrap_or_else(host_name);
    let sender = Sender::new(&args.endpoint, &args.headers);
    let mut pause = LOOK_AGAIN;
    loop {
        match pass(&logs, &mut cursor, &sender, &host) {
            Ok(()) if args.once => return Ok(()),
            Ok(()) => pause = LOOK_AGAIN,
            Err(error) if args.once => return Err(error),
            Err(error) => {
                eprintln!("blastradius-otlp: {error:#}; trying again in {} s", pause.as_secs());
                thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Sends all that is new.
fn pass(logs: &std::path::Path, cursor: &mut Cursor, sender: &Sender, host: &str) -> Result<()> {
    for (name, path) in reader::files(logs)? {
        while let Some(batch) = reader::batch(&path, cursor.of(&name))? {
            let records = batch.lines.iter().filter_map(|line| match records::record(line) {
                Ok(record) => Some(record),
                Err(error) => {
                    // A line that nobody can read must not stop those behind it.
                    eprintln!("blastradius-otlp: {}: left out: {error:#}", path.display());
                    None
                }
            });
            let records: Vec<_> = records.collect();
            if !records.is_empty()
                && let Sent::Partly(why) = sender.send(&records::export(host, records))?
            {
                eprintln!("blastradius-otlp: the collector left some out: {why}");
            }
            cursor.advance(&name, batch.end)?;
        }
    }
    cursor.forget_all_but(&reader::files(logs)?)
}

/// A directory of the user's, by a variable or below the home.
fn base(variable: &str, below: &str) -> Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable)
        .or_else(|| absolute("HOME").map(|home| home.join(below)))
        .with_context(|| format!("neither {variable} nor HOME is set to an absolute path"))
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
