//! The evaluator's expansion against real bash: the same words, the same preamble, the same arguments.
//!
//! bash only prints here. A word that the evaluator does not know counts as right; one that it knows must be what bash
//! makes of it, or the guard would judge another command than the one that runs.

use std::process::Command;

use blastradius::policy::effect::Effect;
use blastradius::programs::Dialect;
use blastradius::shell::world::Platform;
use blastradius::shell::world::memory::MemoryWorld;
use blastradius::shell::{Options, evaluate_text};

/// What both shells know beforehand.
const PREAMBLE: &str = r#"A=alpha; B="two words"; E=; P=/usr/local/lib/file.tar.gz; N=42; S='a*c'; T='  lead and trail  '
Q='q"u'\''o'; W=$'line1\nline2'; M=MixedCase; C=a:b::c; arr=(x "y z" w); declare -A m=([k]=v [j]="a b"); ref=A
set -- one "two three" four; sparse=([2]=c [5]=f); D=a/b/c/; BS='back\slash'; ZERO=0; HOME=/home/t; x1=one; x2=two
"#;

/// Words, one a line. A line may hold several.
const WORDS: &str = include_str!("words.txt");

fn script(words: &str, print: &str) -> String {
    format!("{PREAMBLE}i=0; for w in {words}\ndo i=$((i+1)); {print} \"$i:$w\"; done\n")
}

/// What bash makes of the words; `None`: bash refuses.
fn by_bash(words: &str) -> Option<Vec<String>> {
    let output = Command::new("bash")
        .env_clear()
        .env("HOME", "/home/t")
        .env("LC_ALL", "C.UTF-8")
        .current_dir("/")
        .arg("-c")
        .arg(script(words, "printf '%s\\0'"))
        .output()
        .expect("bash runs");
    output.status.success().then(|| {
        let text = String::from_utf8(output.stdout).expect("the words are UTF-8");
        text.split_terminator('\0').map(str::to_owned).collect()
    })
}

/// What the evaluator makes of them; `None`: it does not know all of them.
fn by_evaluator(words: &str) -> Option<Vec<String>> {
    let world = MemoryWorld::new(Platform::Linux).env("HOME", "/home/t").env("LC_ALL", "C.UTF-8").cwd("/");
    let evaluation =
        evaluate_text(script(words, "rm --").as_bytes(), Dialect::Bash, &world, &Options::default());
    if !evaluation.problems.is_empty() {
        // Not understood, and said so.
        return None;
    }
    let operands = evaluation.effects.iter().filter_map(|located| match &located.effect {
        Effect::Path { target, .. } => Some(target.operand.text.as_known().map(std::borrow::Cow::into_owned)),
        _ => None,
    });
    operands.collect()
}

#[test]
fn words_expand_as_bash_expands_them() {
    let mut wrong = Vec::new();
    let mut known = 0;
    let lines: Vec<&str> = WORDS.lines().filter(|line| !line.is_empty() && !line.starts_with("##")).collect();
    for words in &lines {
        let Some(expected) = by_bash(words) else { continue };
        let Some(found) = by_evaluator(words) else { continue };
        known += 1;
        if found != expected {
            wrong.push(format!("{words}\n    bash {expected:?}\n    here {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
    assert!(known * 10 >= lines.len() * 9, "only {known} of {} are known", lines.len());
}
