//! What docs/policy.md shows is what the policy does.

use std::path::Path;

use super::{Subject, analyze};
use crate::policy::config::TEMPLATE;
use crate::policy::mode::{Asker, Mode, Surface};
use crate::policy::resolve::Last;
use crate::policy::trust::TrustStore;
use crate::policy::{Policy, Start};
use crate::programs::Dialect;
use crate::shell::world::Platform;
use crate::shell::world::memory::MemoryWorld;

const PAGE: &str = include_str!("../../../docs/policy.md");
const PROJECT: &str = "/home/dev/proj";

/// A fenced block: what stands behind the fence, and its lines.
struct Block<'a> {
    kind: &'a str,
    lines: Vec<&'a str>,
}

fn blocks() -> Vec<Block<'static>> {
    let mut blocks: Vec<Block<'static>> = Vec::new();
    let mut inside = false;
    for line in PAGE.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(_), true) => inside = false,
            (Some(kind), false) => {
                blocks.push(Block { kind, lines: Vec::new() });
                inside = true;
            }
            (None, true) => blocks.last_mut().expect("inside one").lines.push(line),
            (None, false) => {}
        }
    }
    blocks
}

struct Trusting(bool);

impl TrustStore for Trusting {
    fn is_trusted(&self, _path: &Path, _content: &[u8]) -> bool {
        self.0
    }
}

fn machine(lines: &[&str]) -> MemoryWorld {
    let world = MemoryWorld::new(Platform::Linux)
        .account("dev", "/home/dev")
        .env("HOME", "/home/dev")
        .env("PATH", "/usr/bin")
        .file("/usr/bin/npm", "")
        .dir("/tmp")
        .work_tree(PROJECT)
        .cwd(PROJECT);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if lines.is_empty() { world } else { world.file("/home/dev/proj/.blastradius", &text) }
}

/// A line of two columns.
fn columns(line: &str) -> (&str, &str) {
    let (what, said) = line.rsplit_once(' ').expect("two columns");
    (what.trim(), said)
}

#[test]
fn each_example_of_the_page_is_true() {
    let (mut zones, mut commands, mut errors) = (0, 0, 0);
    let mut world = machine(&[]);
    let mut policy = Policy::load(&world, Start::default());
    for Block { kind, lines } in blocks() {
        match kind {
            "policy" | "policy trusted" => {
                world = machine(&lines);
                let trust = Trusting(kind.ends_with("trusted"));
                policy = Policy::load(&world, Start { trust: Some(&trust), ..Start::default() });
                assert_eq!(policy.errors(), [], "{lines:?}");
            }
            "zones" => {
                for (path, zone) in lines.into_iter().map(columns) {
                    let path = path.replacen('~', "/home/dev", 1);
                    let real = policy.resolve(&world, Path::new(PROJECT), Path::new(&path), Last::Kept).path;
                    assert_eq!(policy.zone(&world, &real).zone.name(), zone, "{path}");
                    zones += 1;
                }
            }
            "commands" => {
                for (command, verdict) in lines.into_iter().map(columns) {
                    let subject = Subject::Text { text: command.into(), dialect: Dialect::Bash };
                    let asker = Asker { mode: Mode::Interactive, surface: Surface::Text };
                    let report = analyze(&subject, &world, &policy, asker);
                    assert_eq!(report.verdict.name(), verdict, "{command}");
                    commands += 1;
                }
            }
            "broken" => {
                let (error, lines) = lines.split_last().expect("an error");
                let policy = Policy::load(&machine(lines), Start::default());
                assert_eq!(policy.errors()[0].to_string(), *error);
                errors += 1;
            }
            other => panic!("a block of an unknown kind: {other}"),
        }
    }
    assert!(zones > 30 && commands > 4 && errors > 3, "{zones} {commands} {errors}");
}

#[test]
fn the_page_and_the_template_tell_of_every_statement() {
    for statement in ["allow ", "deny ", "deny-command ", "confirm-command ", "rule "] {
        assert!(PAGE.contains(&format!("`{statement}")), "{statement} is not on the page");
        assert!(TEMPLATE.contains(&format!("\n#{statement}")), "{statement} is not in the template");
    }
}
