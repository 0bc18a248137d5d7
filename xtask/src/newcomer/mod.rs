//! `cargo xtask newcomer`: does what the README says on a machine that has nothing but Rust and git, and measures how long it takes.
//!
//! The machine is a fresh Debian in a directory, entered in private namespaces. It has this machine's Rust toolchain and this machine's way to
//! the network, and a clone of what is committed here.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use nix::unistd::geteuid;

use crate::{apt::debootstrap, house, proc};

/// Run the README's commands on a fresh Debian, cold and warm
///
/// What is not committed is not tried. It takes as long as everything it does: half an hour is not unusual.
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Which release of Debian
    #[arg(long, default_value = "bookworm")]
    release: String,
    /// Keep the machine, and say where it is
    #[arg(long)]
    keep: bool,
    /// Run these commands instead of the README's
    #[arg(last = true, value_name = "COMMAND")]
    commands: Vec<String>,
}

/// What the README tells a newcomer to type.
const README: &[&str] = &[
    "cargo xtask build",
    "./target/release/blastradius doctor",
    "./target/release/blastradius run -- sh -c 'echo guarded, and still working'",
    "cargo xtask test",
];

/// What there is on the machine beside Rust: git to clone with, and what rustup asks for, a C compiler to link with.
const PACKAGES: &[&str] = &["ca-certificates", "gcc", "git", "libc6-dev"];

/// Does it and prints a table of times.
pub(crate) fn run(request: &Request) -> Result<i32> {
    if !geteuid().is_root() {
        bail!("a machine in a directory takes root to make");
    }
    let cache = house::cache("newcomer")?;
    let base = debootstrap::kept("newcomer", &request.release, PACKAGES)?;
    let machine =
        tempfile::Builder::new().prefix("machine-").disable_cleanup(request.keep).tempdir_in(&cache)?;
    let root = machine.path().join("root");
    furnish(&base, &root)?;
    let toolchain = toolchain()?;
    let commands: Vec<&str> = match request.commands.as_slice() {
        [] => README.to_vec(),
        given => given.iter().map(String::as_str).collect(),
    };
    let mut rows = Vec::new();
    for round in ["cold", "warm"] {
        for command in &commands {
            println!("\n== {round}: {command}");
            let started = Instant::now();
            let status = enter(&root, &toolchain, command).status().context("cannot start unshare")?;
            rows.push((round, *command, started.elapsed(), status));
        }
    }
    println!("\n== summary");
    for (round, command, took, status) in &rows {
        println!("{:>7.1} s  {round}  {command}: {status}", took.as_secs_f64());
    }
    if request.keep {
        println!("the machine is {}", root.display());
    }
    Ok(i32::from(rows.iter().any(|(.., status)| !status.success())))
}

/// Copies the fresh Debian, tells it the way to the network, and clones what is committed here into it.
fn furnish(base: &Path, root: &Path) -> Result<()> {
    proc::run(Command::new("cp").args(["-a", "--reflink=auto"]).arg(base).arg(root))?;
    for file in ["etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"] {
        let ours = Path::new("/").join(file);
        if ours.is_file() {
            fs::copy(&ours, root.join(file)).with_context(|| format!("cannot copy {}", ours.display()))?;
        }
    }
    let apt = proc::capture(Command::new("apt-config").arg("dump"))?;
    let network: String =
        apt.lines().filter(|line| is_network(line)).map(|line| format!("{line}\n")).collect();
    fs::write(root.join("etc/apt/apt.conf.d/90network"), network)?;
    let mut clone = Command::new("git");
    clone.args(["clone", "--quiet", "--no-local"]).arg(house::root()).arg(root.join("root/blastradius"));
    proc::run(&mut clone)
}

/// Settings of apt's that say how to reach archives, not what to do with them.
fn is_network(line: &str) -> bool {
    ["Acquire::http", "Acquire::https", "Acquire::Check-"].iter().any(|start| line.starts_with(start))
}

/// Where the toolchain lies that we were started with.
fn toolchain() -> Result<PathBuf> {
    let said = proc::capture(Command::new("rustc").args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(said.trim()))
}

fn enter(root: &Path, toolchain: &Path, command: &str) -> Command {
    let mut unshare = Command::new("unshare");
    unshare
        .args(["--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--propagation", "private"])
        .args(["sh", "-c", include_str!("enter.sh"), "enter"])
        .arg(root)
        .arg(toolchain)
        .arg(command)
        .stdin(Stdio::null());
    unshare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newcomer_types_what_the_page_shows() {
        let page = fs::read_to_string(house::root().join("README.md")).unwrap();
        for command in README {
            // The agent is the newcomer's own.
            let shown = command.split(" -- ").next().unwrap();
            assert!(page.lines().any(|line| line.starts_with(&format!("    {shown}"))), "{command}");
        }
    }

    #[test]
    fn only_the_way_to_the_network_is_passed_on() {
        assert!(is_network(r#"Acquire::http::Proxy "http://proxy.example:3128";"#));
        assert!(!is_network(r#"APT::Install-Recommends "false";"#));
        assert!(!is_network(r#"Acquire::Languages "none";"#));
    }
}
