//! The canary sings where the hook works, and only there.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use blastradius::hosts::canary;
use blastradius::hosts::install::install;
use blastradius::hosts::install::site::{Scope, Site};
use blastradius::hosts::table::{self, HOSTS};

/// A machine on which a script stands in for the program.
fn site(root: &Path, script: &str) -> Site {
    let program = root.join("blastradius");
    fs::write(&program, script).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    let home = root.join("home");
    Site { project: home.join("p"), state: home.join("state"), home, program, env: HashMap::new() }
}

#[test]
fn every_installed_hook_of_the_real_program_refuses_the_canary() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let mut site = site(root.path(), "");
    site.program = blastradius_tests::binary();
    assert!(canary::fire_all(&site).is_empty(), "nothing is installed");
    let hosts =
        HOSTS.iter().filter(|host| host.config.as_ref().is_some_and(|config| config.global.is_some()));
    let mut expected = 0;
    for host in hosts {
        install(host, Scope::Global, &site).expect("installed");
        expected += 1;
    }
    let fired = canary::fire_all(&site);
    assert_eq!(fired.len(), expected);
    for canary in fired {
        assert_eq!(canary.outcome, Ok(()), "{}", canary.host.name);
    }
}

#[test]
fn a_hook_that_does_not_hold_is_found() {
    let scripts = [
        ("exit 0", "ended with"),
        ("exit 1", "ended with"),
        ("kill -9 $$", "ended with"),
        ("echo no >&2; exit 2", "something else"),
        ("echo '{}'; exit 2", "no reason"),
        ("echo hello; echo '{\"hookSpecificOutput\":{}}'; echo no >&2; exit 2", "something else"),
        ("echo '{\"decision\":\"deny\",\"reason\":\"no\"}'; echo no >&2; exit 2", "shape"),
    ];
    for (script, expected) in scripts {
        let root = tempfile::tempdir().expect("a temporary directory");
        let site = site(root.path(), &format!("#!/bin/sh\n{script}\n"));
        let claude = table::find("claude-code").expect("a row");
        install(claude, Scope::Global, &site).expect("installed");
        let fired = canary::fire(claude, Scope::Global, &site).expect("installed");
        let error = fired.outcome.expect_err(script);
        assert!(error.contains(expected), "{script}: {error}");
    }
}

#[test]
fn a_hook_that_names_another_program_is_found() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let mut site = site(root.path(), "#!/bin/sh\n");
    let codex = table::find("codex").expect("a row");
    install(codex, Scope::Global, &site).expect("installed");
    site.program = PathBuf::from("/elsewhere/blastradius");
    let fired = canary::fire(codex, Scope::Global, &site).expect("installed");
    assert!(fired.outcome.expect_err("another").contains("another program"));
}
