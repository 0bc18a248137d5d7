//! What the evaluator makes of whole texts, on a made-up machine.

use super::world::memory::MemoryWorld;
use super::world::{Platform, World};
use super::*;
use crate::policy::effect::{Act, Base, Effect};
use crate::shell::value::Piece;

fn machine() -> MemoryWorld {
    MemoryWorld::new(Platform::Linux)
        .account("dev", "/home/dev")
        .cwd("/home/dev/proj")
        .env("HOME", "/home/dev")
        .env("EMPTY", "")
        .file("/home/dev/proj/build/a.o", "x")
        .file("/home/dev/proj/a.log", "x")
        .file("/home/dev/proj/b.log", "x")
        .file("/home/dev/proj/list.txt", "one\ntwo\n")
        .file("/home/dev/proj/clean.sh", "#!/bin/sh\nrm -rf /srv/data\n")
        .dir("/etc")
        .dir("/tmp")
}

fn evaluate_on(world: &dyn World, text: &str) -> Evaluation {
    evaluate_text(text.as_bytes(), Dialect::Bash, world, &Options::default())
}

fn evaluate(text: &str) -> Evaluation {
    evaluate_on(&machine(), text)
}

/// What is removed, as text: unknown stretches in angle brackets, variables that gave nothing in `<nothing: …>`.
fn removed(text: &str) -> Vec<String> {
    let evaluation = evaluate(text);
    assert!(evaluation.problems.is_empty(), "{text}: {:?}", evaluation.problems);
    let operands = evaluation.effects.iter().filter_map(|located| match &located.effect {
        Effect::Path { act: Act::Remove { .. }, target } => Some(eval::Said::text(&target.operand.text)),
        _ => None,
    });
    operands.collect()
}

fn bases(text: &str) -> Vec<Base> {
    let effects = evaluate(text).effects.into_iter();
    let bases = effects.filter_map(|located| match located.effect {
        Effect::Path { target, .. } => Some(target.base),
        _ => None,
    });
    bases.collect()
}

fn rules(text: &str) -> Vec<&'static str> {
    let effects = evaluate(text).effects.into_iter();
    let rules = effects.filter_map(|located| match located.effect {
        Effect::Thing { rule, .. } => Some(rule.id()),
        _ => None,
    });
    rules.collect()
}

fn limit(text: &str) -> String {
    let evaluation = evaluate(text);
    evaluation.problems.iter().map(|problem| problem.what.to_string()).collect()
}

#[test]
fn a_variable_that_gave_nothing_is_blamed_through_assignments() {
    assert_eq!(removed("D=$AGENT_TMP/x; rm -rf \"$D\""), ["<nothing: AGENT_TMP is unset>/x"]);
    assert_eq!(removed("rm -rf \"$EMPTY/x\""), ["<nothing: EMPTY is empty>/x"]);
    assert_eq!(removed("X=; rm -rf $X/*"), ["<nothing: X is empty>/*"]);
}

#[test]
fn guards_remove_doubt() {
    for text in [
        "rm -rf \"${X:?}/\"",
        ": \"${X:?unset}\"; rm -rf \"$X/\"",
        "set -u; rm -rf \"$X/\"",
        "[ -n \"$X\" ] && rm -rf \"$X/\"",
        "if [ -z \"$X\" ]; then exit 1; fi; rm -rf \"$X/\"",
        "[[ -d $X ]] && rm -rf \"$X/\"",
        "test -n \"$X\" || exit; rm -rf \"$X/\"",
        "[ -z \"$X\" ] || rm -rf \"$X/\"",
    ] {
        assert_eq!(removed(text), [""; 0], "{text}");
    }
}

#[test]
fn a_guard_of_one_variable_guards_no_other_target() {
    assert_eq!(removed("[ -n \"$X\" ] && rm -rf /"), ["/"]);
    assert_eq!(removed(": ${X:?}; rm -rf /"), ["/"]);
}

#[test]
fn what_is_not_reached_is_looked_at_all_the_same() {
    for text in ["false && rm -rf ~", "if false; then rm -rf ~; fi", "exit; rm -rf ~", "true || rm -rf ~"] {
        assert_eq!(removed(text), ["/home/dev"], "{text}");
        assert!(evaluate(text).effects[0].conditional, "{text}");
    }
}

#[test]
fn branches_leave_one_of_a_few_values() {
    let text = "if x; then D=/a; else D=/b; fi; rm -rf \"$D\"";
    assert_eq!(removed(text), ["/a", "/b"]);
    assert_eq!(removed("x && D=/a; rm -rf \"$D/c\""), ["/a/c", "<nothing: D is unset>/c"]);
    assert_eq!(removed("x && D=/a && rm -rf \"$D/c\""), ["/a/c"]);
    assert_eq!(removed("if x && D=/a; then rm -rf \"$D/c\"; fi"), ["/a/c"]);
    assert_eq!(removed("x || D=/a && rm -rf \"$D/c\""), ["<nothing: D is unset>/c", "/a/c"]);
    assert_eq!(removed("rm -rf \"${1:-/tmp/x}\""), ["<parameter 1>", "/tmp/x"]);
}

#[test]
fn a_cd_that_may_fail_leaves_both_directories() {
    assert!(matches!(&bases("cd nowhere; rm -rf x")[0], Base::OneOf(both) if both.len() == 2));
    for text in ["cd nowhere && rm x", "cd nowhere || exit; rm x", "set -e; cd nowhere; rm x"] {
        assert!(matches!(&bases(text)[0], Base::Known(path) if path.ends_with("nowhere")), "{text}");
    }
    assert!(matches!(&bases("cd build; rm x")[0], Base::Known(path) if path.ends_with("build")));
    assert!(matches!(&bases("(cd build); rm x")[0], Base::Known(path) if path.ends_with("proj")));
}

#[test]
fn code_in_text_is_followed_wherever_it_stands() {
    for text in [
        "sh -c 'rm -rf /'",
        "eval 'rm -rf' /",
        "echo 'rm -rf /' | sh",
        "echo cm0gLXJmIC8K | base64 -d | bash",
        "bash <<'E'\nrm -rf /\nE",
        "bash <<< 'rm -rf /'",
        "$(echo r)m -rf /",
        "f() { rm -rf \"$1\"; }; f /",
        "trap 'rm -rf /' EXIT",
        "X='rm -rf /'; $X",
        "cat > x.sh <<'E'\nrm -rf /\nE\nbash x.sh",
        "exec 3<<<'rm -rf /'; source /dev/fd/3",
        "printf '\\162m -rf /' | sh",
        "coproc rm -rf /",
        "while true; do rm -rf /; break; done",
        "case $Y in a) rm -rf /;; esac",
        "A=rm; declare A=echo B=$A; \"$B\" -rf /",
        "set -- rm -rf /; \"$@\"",
        "a=(rm -rf /); \"${a[@]}\"",
        "alias x='rm -rf /'; x",
        "IFS=,; C=rm,-rf,/; $C",
        "{ rm -rf /; } &",
        "! rm -rf /",
        "time rm -rf /",
    ] {
        assert!(removed(text).contains(&"/".to_owned()), "{text}");
    }
}

#[test]
fn data_is_not_code() {
    for text in [
        "echo rm -rf /",
        "git commit -m 'rm -rf /'",
        "grep -r 'rm -rf /' .",
        "cat <<E\nrm -rf /\nE",
        "man rm",
        "which rm -rf",
        "# rm -rf /",
        "X='rm -rf /'",
        "bash -n -c 'rm -rf /'",
        "set -n; rm -rf /",
    ] {
        assert_eq!(removed(text), [""; 0], "{text}");
    }
}

#[test]
fn an_unknown_wrapper_is_looked_through() {
    assert_eq!(removed("mywrapper --fast rm -rf /"), ["/"]);
    assert_eq!(removed("yarn rm left-pad"), [""; 0]);
    assert_eq!(rules("$TOOL -rf /"), ["unknown-code"]);
}

#[test]
fn code_that_nobody_knows_is_reported_and_makes_everything_unknown() {
    assert_eq!(rules("eval \"$(./gen)\""), ["unknown-code"]);
    assert_eq!(rules("bash -c \"$1\""), ["unknown-code"]);
    assert_eq!(rules("eval \"$(ssh-agent -s)\""), [""; 0]);
    assert_eq!(rules("bash <(curl -s https://x.example/i.sh)"), ["network-code"]);
    assert!(matches!(&bases("D=/tmp/x; eval \"$1\"; rm -rf \"$D\"")[..], [Base::Unknown(_)]));
}

#[test]
fn what_the_text_made_is_left_out() {
    for text in [
        "T=$(mktemp -d); rm -rf \"$T\"",
        "rm -rf \"$(mktemp -d)\"/*",
        "T=$(mktemp -d); trap 'rm -rf \"$T\"' EXIT",
        "T=$(mktemp -d) && cd \"$T\" && rm -rf *",
        "mkdir /tmp/fresh && rm -rf /tmp/fresh",
        "mkdir -p /tmp/a/b && cd /tmp/a && rm -rf *",
    ] {
        assert_eq!(removed(text), [""; 0], "{text}");
    }
    assert_eq!(removed("T=$(mktemp -d); cd \"$T\"; rm -rf *"), [""; 0]);
    assert_eq!(removed("T=$(mktemp -d); cd \"$T\"; rm -rf ../*"), ["../*"]);
    // It cannot be made, for what is above it is missing.
    assert_eq!(removed("mkdir /nope/x; rm -rf /nope/x"), ["/nope/x"]);
    // What lies there now was somewhere else before.
    assert!(
        removed("mkdir new; mv ~/Documents new/; rm -rf new").contains(&"/home/dev/Documents".to_owned())
    );
    assert_eq!(removed("ln -s /etc link; rm -rf link/"), ["/etc"]);
}

#[test]
fn listings_keep_what_they_select() {
    for text in [
        "find /etc -name '*.bak' | xargs rm",
        "rm $(find /etc -name '*.bak')",
        "find /etc -name '*.bak' | while read -r f; do rm \"$f\"; done",
        "while read f; do rm $f; done < <(find /etc -name '*.bak')",
        "for f in $(find /etc -name '*.bak'); do rm \"$f\"; done",
        "find /etc | grep bak | xargs rm",
        "mapfile -t all < <(find /etc -name '*.bak'); rm \"${all[@]}\"",
    ] {
        let evaluation = evaluate(text);
        let named = evaluation.effects.iter().any(|located| match &located.effect {
            Effect::Path { target, .. } => {
                target.operand.as_known().as_deref() == Some("/etc") && target.selection.narrow_by_name
            }
            _ => false,
        });
        assert!(named, "{text}: {:?}", evaluation.effects);
    }
}

#[test]
fn a_loop_over_a_pattern_stays_a_pattern() {
    let evaluation = evaluate("for f in *.log; do rm -f \"$f\"; done");
    let Effect::Path { target, .. } = &evaluation.effects[0].effect else { panic!("no path") };
    let glob = target.operand.glob.as_ref().expect("it is a glob");
    assert_eq!((glob.pattern.as_str(), glob.count), ("*.log", 2));
}

#[test]
fn a_pattern_after_a_cd_that_may_fail_is_looked_up_in_both_directories() {
    let evaluation = evaluate("cd nowhere; rm -rf *");
    let directories: Vec<String> = evaluation
        .effects
        .iter()
        .filter_map(|located| match &located.effect {
            Effect::Path { target, .. } => target.operand.glob.as_ref(),
            _ => None,
        })
        .map(|glob| glob.base.display().to_string())
        .collect();
    assert_eq!(directories.len(), 2, "{directories:?}");
    assert!(directories.iter().any(|directory| directory.ends_with("/nowhere")), "{directories:?}");
}

#[test]
fn known_conditions_are_told_apart_where_nothing_is_reached_too() {
    for text in [
        "if [ -n \"$EMPTY\" ]; then case b in a) D=/b;; *) D=/a;; esac; rm -rf \"$D\"; fi",
        "if [ -n \"$EMPTY\" ]; then true && D=/a; rm -rf \"$D\"; fi",
        "if [ -n \"$EMPTY\" ]; then if true; then D=/a; fi; rm -rf \"$D\"; fi",
    ] {
        assert_eq!(removed(text), ["/a"], "{text}");
    }
}

#[test]
fn the_home_of_an_unknown_account_is_unknown_wherever_the_value_goes() {
    for text in ["rm -rf ~ada/x", "D=~ada/x; rm -rf \"$D\"", "sh -c 'rm -rf \"$0\"' ~ada/x"] {
        let evaluation = evaluate(text);
        let Effect::Path { target, .. } = &evaluation.effects[0].effect else { panic!("no path") };
        assert!(matches!(target.operand.text.pieces.first(), Some(Piece::Hole(_))), "{text}");
    }
    assert_eq!(removed("rm -f ./~ada '~ada' ~1"), ["./~ada", "~ada", "~1"]);
}

#[test]
fn a_directory_that_the_text_took_away_may_not_be_entered_for_sure() {
    for text in ["rm -rf build; cd build; rm -rf x", "mv build b2; cd build; rm -rf x"] {
        assert!(matches!(bases(text).last(), Some(Base::OneOf(_))), "{text}");
    }
    for text in ["rm -rf build; mkdir build; cd build; rm -rf ../x", "rm -rf build && cd build && rm -rf x"] {
        assert!(matches!(bases(text).last(), Some(Base::Known(_))), "{text}");
    }
}

#[test]
fn a_name_of_a_pattern_keeps_its_known_ends_when_it_is_trimmed() {
    for (text, expected) in [
        ("for f in *.log; do rm \"${f%.log}.md\"; done", "?.md"),
        ("for f in d/*.log; do rm \"${f%.*}\"; done", "d/?"),
        ("for f in d/*.log; do rm \"x/${f##*/}\"; done", "x/?.log"),
    ] {
        let evaluation = evaluate(text);
        let Effect::Path { target, .. } = &evaluation.effects[0].effect else { panic!("no path") };
        let shown: String = target
            .operand
            .text
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.to_string(),
                Piece::Nothing(_) => String::new(),
                Piece::Hole(hole) => if hole.component && !hole.maybe_empty { "?" } else { "!" }.into(),
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
    }
}

#[test]
fn files_and_here_documents_are_read() {
    assert_eq!(removed("rm -rf $(cat list.txt)"), ["one", "two"]);
    assert_eq!(removed("while read -r x; do rm \"$x\"; done < list.txt"), ["one", "two"]);
    assert_eq!(removed("./clean.sh"), ["/srv/data"]);
}

#[test]
fn redirections_destroy() {
    let acts = |text: &str| -> Vec<Act> {
        let effects = evaluate(text).effects.into_iter();
        let acts = effects.filter_map(|located| match located.effect {
            Effect::Path { act, .. } => Some(act),
            _ => None,
        });
        acts.collect()
    };
    assert_eq!(acts("echo x > a.log"), [Act::Truncate]);
    assert_eq!(acts("echo x >> a.log"), [Act::Append]);
    assert_eq!(acts("> a.log"), [Act::Truncate]);
    assert_eq!(acts("make > /dev/null 2>&1"), []);
    assert_eq!(acts("exec &> a.log"), [Act::Truncate]);
}

#[test]
fn text_that_is_not_understood_is_a_problem_only_if_it_destroys() {
    let verb = |text: &str| evaluate(text).problems.into_iter().find_map(|problem| problem.verb);
    assert_eq!(verb("rm -rf 'a").as_deref(), Some("rm"));
    assert_eq!(verb("echo 'a"), None);
    assert_eq!(verb("rm -rf /\0 x").as_deref(), Some("rm"));
}

#[test]
fn every_bound_has_its_name() {
    for (text, expected) in [
        ("rm -rf /tmp/{1..1000000000}".to_owned(), "brace-words"),
        (format!("X=aaaaaaaa; {}", "X=$X$X; ".repeat(64)), "expanded-bytes"),
        ("a && ".repeat(5000) + "a", "parser-limit"),
        ("X='eval \"$X\"'; eval \"$X\"".to_owned(), "nesting-depth"),
        ("a".repeat(limits::TEXT_BYTES + 1), "text-bytes"),
    ] {
        assert_eq!(limit(&text), expected, "{}", &text[..40]);
    }
}

#[test]
fn recursion_ends() {
    assert_eq!(removed("f() { g; }; g() { f; }; f; rm -rf /"), ["/"]);
    assert_eq!(removed("walk() { for f in \"$1\"/*; do walk \"$f\"; done; }; walk ."), [""; 0]);
    assert_eq!(rules(":(){ :|:& };:")[0], "power-state");
}

#[test]
fn work_is_counted_and_small_for_small_texts() {
    let work = evaluate("rm -rf build").work;
    assert!(work.steps < 20 && work.world_calls < 4, "{work:?}");
}

#[test]
fn zsh_does_not_split_what_it_expands() {
    let world = machine();
    let text = "X='a /'; rm -rf $X";
    let count = |dialect| evaluate_text(text.as_bytes(), dialect, &world, &Options::default()).effects.len();
    assert_eq!((count(Dialect::Bash), count(Dialect::Zsh)), (2, 1));
}

#[test]
fn exact_argv_is_not_expanded() {
    let argv: Vec<Field> = ["rm", "-rf", "$X", "~", "*"].into_iter().map(Field::literal).collect();
    let evaluation = evaluate_argv(&argv, &machine(), &Options::default());
    assert_eq!(evaluation.effects.len(), 3);
}

#[test]
fn words_that_end_within_a_quote_or_a_substitution_get_an_answer() {
    for text in [
        "{<(",
        "rm -rf {a,<(",
        "cat <<E\n$[\u{e9}\nE\nrm x",
        "echo $((1+$[\u{e9}))",
        "x=$[\u{e9}; rm x",
        "rm ${x[\u{e9}",
        "rm >(",
        "while read \u{fffd}; do r; done; f() { s; }; f; rm \"$(f)\"",
    ] {
        evaluate(text);
    }
}

#[test]
fn an_array_grows_in_its_own_shell_only() {
    assert_eq!(removed("x=(a); x+=(\"${x[0]}b\" c); rm \"${x[@]}\""), ["a", "ab", "c"]);
    assert_eq!(removed("x=(a); (x+=(b); rm \"${x[@]}\"); rm \"${x[0]}\" \"${#x[@]}\""), ["a", "b", "a", "1"]);
    assert_eq!(
        removed("x=(a); x[1]=b; y=(\"${x[@]}\"); x[0]=c; rm \"${x[@]}\" \"${y[@]}\""),
        ["c", "b", "a", "b"]
    );
    assert_eq!(removed("declare -A x; x[k]=a; x[l]=b; rm \"${x[k]}\" \"${x[l]}\""), ["a", "b"]);
    assert_eq!(removed("readonly x=(a); x+=(b); rm \"${x[@]}\""), ["a"]);
}

#[test]
fn what_is_printed_or_replaced_letter_by_letter_counts_once() {
    let work = |text: &str| {
        let evaluation = evaluate(text);
        assert!(evaluation.problems.is_empty(), "{:?}", evaluation.problems);
        evaluation.work.bytes
    };
    let text = "line of text\n".repeat(1_000);
    assert!(work(&format!("x='{text}'; y=${{x//$'\\n'/, }}; echo \"$y\"")) < 200_000);
    assert!(work(&format!("x=$(printf '%s\\n' {})", "word ".repeat(4_000))) < 200_000);
}

#[test]
fn what_is_made_above_the_directory_is_left_out_unless_a_link_leads_elsewhere() {
    let machine = machine().link("/home/dev/proj/away", "/srv/x").dir("/srv/x");
    let left = |text: &str| {
        let effects = evaluate_on(&machine, text).effects;
        let removes = |located: &&crate::policy::effect::Located| {
            matches!(located.effect, Effect::Path { act: Act::Remove { .. }, .. })
        };
        effects.iter().filter(removes).count()
    };
    for text in [
        "mkdir ../new && rm -rf ../new",
        "mkdir -p ../new/x && rm -rf ../new/x/y ./../new",
        "cp -r build ../new && rm -rf ../new",
        "mkdir ../new; cd ../new && rm -rf ../new/x",
        "mkdir new && rm -rf build/../new",
    ] {
        assert_eq!(left(text), 0, "{text}");
    }
    for text in [
        "mkdir ../new && rm -rf ../other",
        "cd away && mkdir ../new && rm -rf ../new",
        "mkdir new && rm -rf away/../new",
        "mkdir away/../new; rm -rf new",
        "ln -s /srv/x l; mkdir new; rm -rf l/../new",
        "mkdir ../new && rm -rf ../new/../../other",
    ] {
        assert!(left(text) >= 1, "{text}");
    }
}
