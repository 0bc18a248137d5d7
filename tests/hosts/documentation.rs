//! The page about hosts is written from the host table.

use std::fmt::Write as _;
use std::path::Path;

use blastradius::hosts::examples;
use blastradius::hosts::table::{Ask, HOSTS, Host};

const HEAD: &str = "\
# Agent hosts

Written from the host table by `BLESS=1 cargo test -p blastradius-tests --test hosts`; do not edit it.

`blastradius install AGENT [--global]` puts the hook into the agent's settings, `blastradius uninstall AGENT` takes it
out and leaves every byte as it was. `blastradius hook` is what the agent then calls: one JSON document in, one out.

* **allow** and **warn**: nothing is printed, status 0. An explicit yes would switch off the user's own prompt.
* **confirm**: the host's question, where the host honours one; elsewhere a refusal that says so.
* **deny**: the host's own refusal on stdout, the same reason on stderr, and the status of the table.
* A payload that cannot be read, or that takes longer than 4 seconds to judge, is refused with a reason.

## Any other host

In: `{\"command\": TEXT or [ARG, …], \"cwd\": DIR}`; or `{\"tool_name\": NAME, \"tool_input\": {…}, \"cwd\": DIR}`. All of these are optional:
`\"ask\": true` (the caller can put a question to a human), `\"explicit\": true` (a verdict is printed for allow too, so that
silence means that the hook died), `\"human\": true` (a human typed it: only a denial stops it), `\"event\": \"after\"`.

Out: `{\"verdict\": \"deny\", \"rule\": ID, \"reason\": TEXT}` with status 2, or `{\"verdict\": \"confirm\", …}` or `{\"verdict\": \"allow\"}` with
status 0. `rule` is `unjudged` where the hook could not do its work. `echo '{\"command\": \"ls\"}' | blastradius hook` prints nothing.
";

fn asks(host: &Host) -> String {
    match host.answer.ask_in {
        Ask::Never => "never, it is refused".into(),
        Ask::Always => "yes".into(),
        Ask::Modes(_, modes) => format!("in the modes {}", modes.join(", ")),
        Ask::Payload(_) => "where there is someone to ask".into(),
    }
}

fn section(host: &Host, text: &mut String) {
    let Some(config) = &host.config else { return };
    let mut say = |label: &str, what: &str| {
        // A String takes everything.
        let _ = writeln!(text, "* {label}: {what}");
    };
    if let Some(place) = config.project {
        say("project", &format!("`{}`", place.path));
    }
    if let Some(place) = config.global {
        let moved = place.moved_by.map(|(name, below)| format!(", or `${name}/{below}`")).unwrap_or_default();
        say("global", &format!("`~/{}`{moved}", place.path));
    }
    say("status of a refusal", &host.answer.refusal_exit.to_string());
    say("questions", &asks(host));
    say("if the hook fails", host.on_failure);
    for hole in host.holes {
        say("not seen", hole);
    }
}

fn page() -> String {
    let mut text = HEAD.to_owned();
    for host in HOSTS.iter().filter(|host| host.config.is_some()) {
        let _ = write!(text, "\n## {} (`{}`)\n\n", host.title, host.name);
        section(host, &mut text);
        if let Some(example) = examples::of(host.name) {
            let _ = write!(text, "\n```json\n{}\n```\n", example.before);
        }
    }
    text
}

#[test]
fn the_page_says_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/hosts.md");
    let page = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(&path, &page).expect("written");
    }
    assert!(std::fs::read_to_string(&path).expect("docs/hosts.md") == page, "BLESS=1 writes it anew");
}
