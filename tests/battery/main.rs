//! Real incidents, bypasses and false positives, run for real in throwaway roots: what survives, what `blastradius undo` gives
//! back, what still works.
//!
//! `BLASTRADIUS_BIN` names the binary; without it, the one beside this test is taken. `BLASTRADIUS_CASE` runs one case,
//! or several with commas between, and shows its output. With `BLASTRADIUS_RUNG=kernel` each case must reach the kernel
//! rung, as root, in a guest.

mod peers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use blastradius_tests::incidents::{self, Incident, Kind, Outcome};

/// How the guarded run is started: unattended, both layers, on the best rung that the machine proves.
const GUARD: &[&str] = &["/usr/local/bin/blastradius", "run", "--"];

/// The same where nothing is kept: what is in danger must be refused, or is lost.
const WITHOUT_UNDO: &[&str] = &["/usr/local/bin/blastradius", "run", "--no-undo", "--"];

/// Cases that are lost and stay lost after an undo, and why. A case that is lost and not named here fails the test.
const LOST: &[(&str, &str)] = &[];

/// Cases that are lost where nothing is kept, and why: each destroys what lies in scope, as an agent may.
const LOST_WITHOUT_UNDO: &[(&str, &str)] = &[
    ("inc-git-show-over-itself", "the shell empties the file in scope before git starts"),
    ("inc-mv-fails-rm-source", "one file of a directory in scope, by its name, after a move that failed"),
    ("inc-sed-i-empties", "an edit in scope; that no line matches is known only to sed"),
    ("inc-tar-over-populated", "files in scope are replaced by what an archive holds"),
];

fn tests() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn binary() -> PathBuf {
    blastradius_tests::binary()
}

fn cases() -> Vec<Incident> {
    let only = std::env::var("BLASTRADIUS_CASE").ok();
    let mut cases = match std::env::var_os("BLASTRADIUS_CASES") {
        Some(file) => incidents::read(Path::new(&file)),
        None => incidents::read(&tests().join("incidents/incidents.jsonl")),
    };
    cases.retain(|case| only.as_ref().is_none_or(|only| only.split(',').any(|only| only == case.id)));
    assert!(!cases.is_empty(), "BLASTRADIUS_CASE names no case");
    cases
}

/// A session that keeps the machine's programs loaded: the verifier takes longer over them than a case takes.
struct Keeper(std::process::Child);

impl Keeper {
    /// `None` on another rung, where nothing is loaded.
    fn on_the_kernel_rung(binary: &Path) -> Option<Self> {
        if std::env::var("BLASTRADIUS_RUNG").ok()? != "kernel" {
            return None;
        }
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = std::process::Command::new(binary);
        command.args(["run", "--require", "kernel", "--", "sh", "-c", "echo ready; exec sleep 100000"]);
        let child = command.current_dir("/tmp").stdout(writer).spawn().expect("the program runs");
        // Ours of the pipe: or else nobody would tell that the child has gone without a word. The first case says why, then.
        drop(command);
        let mut ready = [0; 6];
        let _ = std::io::Read::read_exact(&mut reader, &mut ready);
        Some(Self(child))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `deny` and `confirm` both stop an agent that nobody watches.
fn stops(verdict: &str) -> bool {
    matches!(verdict, "deny" | "confirm")
}

/// What came of the cases of one kind.
#[derive(Default)]
struct Column {
    run: usize,
    good: usize,
    restored: Vec<String>,
    bad: Vec<String>,
    unexpected: Vec<String>,
}

impl Column {
    fn add(&mut self, case: &Incident, outcome: &Outcome, named: &[(&str, &str)]) {
        self.run += 1;
        if outcome.lost.is_empty() && outcome.missing.is_empty() {
            self.good += 1;
            return;
        }
        // What must happen has happened before anything was given back; a false positive must have survived by itself.
        if case.kind != Kind::FalsePositive && outcome.unrestored.is_empty() && outcome.missing.is_empty() {
            self.restored.push(case.id.clone());
            return;
        }
        let named = named.iter().find(|(id, _)| *id == case.id).map(|(_, why)| *why);
        let line = format!(
            "{}: lost {:?}, not given back {:?}, did not happen {:?} ({})",
            case.id,
            outcome.lost,
            outcome.unrestored,
            outcome.missing,
            named.unwrap_or(&case.why)
        );
        if named.is_none() {
            self.unexpected.push(line.clone());
        }
        self.bad.push(line);
    }
}

/// Replays each case under `guard` and prints what came of it.
fn replay(guard: &[&str], named: &[(&str, &str)]) -> Option<BTreeMap<Kind, Column>> {
    if !nix::unistd::geteuid().is_root() {
        println!("not run here: needs root for private root directories");
        return None;
    }
    let binary = binary();
    let mut columns: BTreeMap<Kind, Column> = BTreeMap::new();
    let mut wrong_text = Vec::new();
    let cases = cases();
    let _loaded = Keeper::on_the_kernel_rung(&binary);
    for case in &cases {
        let outcome = case.run(tests(), &binary, guard);
        let text = outcome
            .text
            .as_deref()
            .unwrap_or_else(|error| panic!("{}: check gave no verdict: {error}", case.id));
        if stops(text) != stops(&case.text_expect) {
            wrong_text.push(format!("{}: wants {}, got {text} ({})", case.id, case.text_expect, case.why));
        }
        tell(case, &outcome);
        if case.verified && !case.needs_human {
            columns.entry(case.kind).or_default().add(case, &outcome, named);
        }
    }
    println!("text: {} of {} verdicts as expected", cases.len() - wrong_text.len(), cases.len());
    for line in &wrong_text {
        println!("  {line}");
    }
    for (kind, Column { run, good, restored, bad, unexpected: _ }) in &columns {
        println!("{kind:?}: of {run}, {good} survived, {} restored, {} lost", restored.len(), bad.len());
        println!("  restored: {}", restored.join(" "));
        for line in bad {
            println!("  {line}");
        }
    }
    assert!(
        wrong_text.len() * 100 <= cases.len() * 3,
        "fewer than 97 % of the text verdicts: {wrong_text:#?}"
    );
    Some(columns)
}

fn tell(case: &Incident, outcome: &Outcome) {
    if std::env::var_os("BLASTRADIUS_CASE").is_some() {
        println!("{}\n{outcome:#?}\n{}", case.command_or_script, outcome.output);
    }
    if outcome.lost.is_empty() && outcome.missing.is_empty() {
        println!("{}: as it should be", case.id);
    } else {
        println!("{}: lost {:?}, did not happen {:?}", case.id, outcome.lost, outcome.missing);
    }
}

#[test]
fn the_battery_survives_both_layers_and_false_positives_still_work() {
    for (kind, column) in replay(GUARD, LOST).into_iter().flatten() {
        assert!(column.unexpected.is_empty(), "{kind:?}: {:#?}", column.unexpected);
    }
}

#[test]
fn nineteen_in_twenty_survive_where_nothing_is_kept() {
    let Some(columns) = replay(WITHOUT_UNDO, LOST_WITHOUT_UNDO) else { return };
    let (mut run, mut good) = (0, 0);
    for (kind, column) in columns {
        assert!(column.unexpected.is_empty(), "{kind:?}: {:#?}", column.unexpected);
        if kind != Kind::FalsePositive {
            run += column.run;
            good += column.good;
        }
    }
    assert!(good * 20 >= run * 19, "of {run}, only {good} survive");
}
