//! Inputs that are made to hurt an evaluator, and harmless ones of the same size: each must get an answer, in bounded
//! time and memory, and never `allow` because a limit was reached.

use blastradius::shell::world::memory::MemoryWorld;

use crate::{cases, fixture};

/// What the answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It destroys something, or reaches a limit: never `allow`.
    Stopped,
    /// It is only long.
    Allowed,
    /// Whatever: it destroys nothing, and may be too much.
    Answered,
}

/// One input.
pub struct Input {
    /// What it is, for people.
    pub name: &'static str,
    /// The text.
    pub text: Vec<u8>,
    /// The right answer.
    pub expected: Expected,
}

use Expected::{Allowed, Answered, Stopped};

/// As long as a text may be.
const FULL: usize = 1 << 20;

/// A stretch that is repeated until the text is as long as it may be.
fn fill(begin: &str, again: &str, end: &str) -> String {
    let times = (FULL - begin.len() - end.len()) / again.len();
    format!("{begin}{}{end}", again.repeat(times))
}

fn nested(depth: usize, open: &str, inner: &str, close: &str) -> String {
    open.repeat(depth) + inner + &close.repeat(depth)
}

fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// All of them.
pub fn inputs() -> Vec<Input> {
    let mut inputs: Vec<Input> = texts()
        .into_iter()
        .map(|(name, expected, text)| Input { name, text: text.into_bytes(), expected })
        .collect();
    inputs.push(Input {
        name: "bytes that are not UTF-8",
        text: b"rm -rf /etc/\xff\xfe; rm -rf \"$X\xc0\x80\"/*".to_vec(),
        expected: Stopped,
    });
    inputs.push(Input {
        name: "1 MiB of bytes that are not UTF-8",
        text: [b"rm -rf /etc ".as_slice(), &vec![0xff; FULL - 12]].concat(),
        expected: Stopped,
    });
    inputs
}

fn texts() -> Vec<(&'static str, Expected, String)> {
    let mut texts = nesting();
    texts.extend(growth());
    texts.extend(length());
    texts.extend(gathering());
    texts.extend(harmless());
    texts
}

/// What grows a little with every statement or word, and must not be copied, or searched, each time.
fn gathering() -> Vec<(&'static str, Expected, String)> {
    vec![
        (
            "16,000 quoted words that eval reads",
            Stopped,
            fill_to(180_000, "eval ", "\"$E$E\" ", "'rm -rf /etc'"),
        ),
        (
            "1 MiB of words that echo prints into a shell",
            Stopped,
            fill("{ echo ", "a ", "; echo rm -rf /etc; } | sh"),
        ),
        (
            "1 MiB of words that printf prints into a shell",
            Stopped,
            fill("rm -rf /etc; printf '%s\\n' ", "a ", "| sh"),
        ),
        (
            "1 MiB of lines that echo prints into a shell",
            Stopped,
            fill("{\n", "echo :\n", "echo rm -rf /etc; } | sh"),
        ),
        ("1 MiB of appends to a variable", Stopped, fill("", "X+=aaaaaaaaaaaaaaaa\n", "rm -rf /etc")),
        ("1 MiB of appends to a file", Stopped, fill("", "echo aaaaaaaa>>f\n", "rm -rf /etc")),
        ("1 MiB of appends to an array", Stopped, fill("", "X+=(aaaaaa)\n", "rm -rf /etc")),
        ("a path that goes up and down 100,000 times", Stopped, fill("rm -rf /etc", "/../etc", "")),
        ("a path that goes up and down in what is not there", Stopped, fill("rm -rf /etc", "/x/..", "")),
        (
            "40,000 variables, and a subshell for each",
            Stopped,
            numbered(40_000, |n| format!("v{n}=1;(w=2)\n")) + "rm -rf /etc",
        ),
        ("40,000 directories made", Answered, numbered(40_000, |n| format!("mkdir d{n}\n")) + "rm -rf d1"),
        ("40,000 files removed", Answered, numbered(40_000, |n| format!("rm f{n}\n")) + "rm -rf d1"),
        ("20,000 files moved", Answered, numbered(20_000, |n| format!("mv a{n} b{n}\n"))),
        ("20,000 links made", Answered, numbered(20_000, |n| format!("ln -s a{n} b{n}\n"))),
        ("20,000 conditional directories", Answered, numbered(20_000, |n| format!("a && mkdir d{n}\n"))),
        (
            "20,000 subshells that make a directory each",
            Answered,
            numbered(20_000, |n| format!("(mkdir d{n})\n")),
        ),
        ("20,000 files written", Answered, numbered(20_000, |n| format!("a && echo x > f{n}\n"))),
        ("20,000 elements of an array", Answered, numbered(20_000, |n| format!("x[{n}]=a\n"))),
        (
            "20,000 elements by name",
            Answered,
            numbered(20_000, |n| format!("x[k{n}]=a\n")).replacen("x[", "declare -A x; x[", 1),
        ),
        ("20,000 aliases", Answered, numbered(20_000, |n| format!("alias a{n}=b\n"))),
        (
            "20,000 arguments that are set again",
            Answered,
            numbered(20_000, |n| format!("set -- \"$@\" a{n}\n")),
        ),
        ("20,000 directories entered", Answered, "cd a\n".repeat(20_000)),
        ("20,000 directories pushed", Answered, "pushd a\n".repeat(20_000)),
        ("20,000 traps", Answered, numbered(20_000, |n| format!("trap 'rm x{n}' EXIT\n"))),
        ("20,000 functions, each called", Answered, numbered(20_000, |n| format!("f{n}() {{ :; }}; f{n}\n"))),
        ("a replacement in 500 KB", Stopped, format!("X={}; rm -rf /etc${{X//a/b}}", "a".repeat(500_000))),
        (
            "a word of 500 KB that is cut at its end",
            Stopped,
            format!("X={}; rm -rf /etc${{X%/*}}", "/a".repeat(250_000)),
        ),
        ("500 KB that are split", Stopped, format!("X='{}'; rm -rf /etc $X", "a ".repeat(250_000))),
        (
            "500 KB that are read as a list",
            Stopped,
            format!("IFS=: read -ra X <<< {}; rm -rf /etc", "a:".repeat(250_000)),
        ),
        (
            "500 KB that a loop reads line by line",
            Stopped,
            format!("while read -r x; do rm -rf /etc/$x; done <<'E'\n{}E\n", "a\n".repeat(250_000)),
        ),
        (
            "500 KB of lines that xargs hands over",
            Stopped,
            format!("xargs rm -rf /etc <<'E'\n{}E\n", "a\n".repeat(250_000)),
        ),
    ]
}

fn fill_to(length: usize, begin: &str, again: &str, end: &str) -> String {
    format!("{begin}{}{end}", again.repeat(length / again.len()))
}

fn nesting() -> Vec<(&'static str, Expected, String)> {
    vec![
        ("4,000 nested substitutions", Stopped, format!("echo {}", nested(4_000, "$(", "rm -rf /", ")"))),
        ("90 nested substitutions", Stopped, format!("echo {}", nested(90, "$(", "rm -rf /", ")"))),
        ("30 nested double parentheses", Answered, nested(30, "((", "rm -rf /", "))")),
        ("30 nested subshells", Stopped, nested(30, "( ", "rm -rf /", " )")),
        ("200 nested subshells", Stopped, nested(200, "( ", "rm -rf /", " )")),
        ("200 nested ifs", Stopped, nested(200, "if a; then ", "rm -rf /", "; fi")),
        ("200 nested groups", Stopped, nested(200, "{ ", "rm -rf /", "; }")),
        ("2,000 nested braces", Stopped, format!("rm -rf {}", nested(2_000, "{a,", "/etc", "}"))),
        ("2,000 nested defaults", Stopped, format!("rm -rf {}", nested(2_000, "${a:-", "/etc", "}"))),
        ("200 nested evals", Stopped, "eval ".repeat(200) + "rm -rf /etc"),
        ("5,000 nices", Stopped, "nice ".repeat(5_000) + "rm -rf /etc"),
        ("100,000 open parentheses", Stopped, "(".repeat(100_000) + "rm -rf /"),
        ("1 MiB of open parentheses", Stopped, fill("", "( ", "rm -rf /")),
        ("1 MiB of open braces", Stopped, fill("", "{ ", "rm -rf /")),
        ("1 MiB of open brackets", Answered, fill("echo ", "[", "")),
        ("1 MiB of open substitutions", Answered, fill("echo ", "$(", "")),
        ("1 MiB of open quotes and substitutions", Answered, fill("echo ", "\"$(", "")),
        ("an unclosed quote", Stopped, "rm -rf '/etc".into()),
    ]
}

fn growth() -> Vec<(&'static str, Expected, String)> {
    let doubling = format!("X=/etc\n{}rm -rf \"$X\"", "X=$X$X\n".repeat(64));
    vec![
        ("a brace range of 10^9", Stopped, "rm -rf /etc/{1..1000000000}".into()),
        ("braces that multiply", Stopped, format!("rm -rf /{}", "{a,b}".repeat(40))),
        ("a variable that doubles itself 64 times", Stopped, doubling),
        ("functions that call each other", Stopped, "f() { g; }; g() { f; rm -rf /etc; }; f".into()),
        ("a function that calls itself twice", Answered, "f() { f; f; rm -rf build; }; f".into()),
        ("a loop without end", Stopped, "while :; do X=$X/a; rm -rf \"/$X\"; done".into()),
        (
            "nested loops",
            Stopped,
            "for a in {1..1000}; do for b in {1..1000}; do rm -rf /etc/$a/$b; done; done".into(),
        ),
        ("eval that grows", Stopped, "E='eval \"$E$E\"'; eval \"$E\"; rm -rf /etc".into()),
        (
            "a replacement that grows",
            Stopped,
            "X=aaaaaaaa; while :; do X=${X//a/aaaaaaaa}; done; rm -rf /etc".into(),
        ),
        // Neither bash nor dash runs what an EXIT trap traps.
        ("a trap that traps", Answered, "trap 'trap \"rm -rf /etc\" EXIT; exit' EXIT".into()),
        ("a glob over 50,000 entries", Stopped, "rm -rf many/*; rm -rf /etc".into()),
        ("a hundred globs over 50,000 entries", Stopped, "rm -rf many/[0-9]*; ".repeat(100) + "rm -rf /etc"),
        (
            "a pattern that backtracks",
            Stopped,
            format!("X={}; rm -rf /etc${{X##{}b}}", "a".repeat(5_000), "*a".repeat(50)),
        ),
    ]
}

fn length() -> Vec<(&'static str, Expected, String)> {
    vec![
        ("1 MiB of a &&", Stopped, fill("", "a && ", "rm -rf /")),
        ("50,000 links of a &&, nothing destroyed", Answered, "a && ".repeat(50_000) + "b"),
        ("1 MiB of a |", Stopped, fill("", "a | ", "rm -rf /")),
        ("a word of 100,000 characters", Stopped, format!("rm -rf /{}", "x".repeat(100_000))),
        ("a word of 1 MiB", Stopped, fill("rm -rf /", "x", "")),
        ("a path of 500,000 components", Stopped, fill("rm -rf /etc", "/x", "")),
        ("500 KB of statements", Answered, "rm -rf build/x\n".repeat(33_000)),
        ("1 MiB of statements on one line", Answered, fill("", "rm x; ", "")),
        ("1 MiB of statements, line by line", Answered, fill("", "rm x\n", "")),
        ("1 MiB of statements, the last one fatal", Stopped, fill("", "a;", "rm -rf /")),
        ("1 MiB of statements in braces", Stopped, fill("{ ", "rm x; ", "rm -rf /; }")),
        ("1 MiB of assignments", Answered, fill("", "a=b ", "")),
        ("1 MiB of operands", Stopped, fill("rm -rf /", " a", "")),
        ("200,000 operands outside", Stopped, format!("rm -rf{}", " /z".repeat(200_000))),
        (
            "4,000 directories with operands of their own",
            Stopped,
            format!("rm -rf {} /etc", numbered(4_000, |n| format!("many/{n} "))),
        ),
        ("an array of 500,000", Stopped, fill("x=(", "a ", "); rm -rf /")),
        ("1 MiB of empty quotes", Stopped, fill("rm -rf /etc", "\"\"", "")),
        ("1 MiB of parameters", Stopped, fill("rm -rf /etc", "$a", "")),
        ("1 MiB of defaults", Stopped, fill("rm -rf /etc", "${a:-b}", "")),
        ("1 MiB of backquotes", Stopped, fill("rm -rf /etc ", "`a` ", "")),
        ("1 MiB of arms", Stopped, fill("rm -rf /etc; case x in ", "a) b;; ", "esac")),
        ("1 MiB of functions", Stopped, fill("rm -rf /etc\n", "f(){ a;}\n", "f")),
        ("1 MiB of redirections", Stopped, fill("echo >/etc/passwd ", ">a ", "")),
        ("1 MiB of alternatives", Stopped, fill("rm -rf /etc; [[ a ", "|| a ", "]]")),
        ("1 MiB of arithmetic", Stopped, fill("rm -rf /etc $((1", "+1", "))")),
        (
            "1 MiB of aliases",
            Stopped,
            fill("shopt -s expand_aliases\nalias a='b b b b'\nrm -rf /etc\n", "a\n", ""),
        ),
        ("1 MiB of negations", Stopped, fill("", "! ", "rm -rf /")),
        ("more than 1 MiB", Stopped, "a".repeat(FULL + 1)),
        ("NUL and control characters", Stopped, "rm\0 -rf \u{1}/etc; rm -rf /".into()),
    ]
}

fn harmless() -> Vec<(&'static str, Expected, String)> {
    let line = |n: usize| format!("line {n}: it's \"quoted\", costs $5 and says rm -rf / `now`\n");
    let json = |n: usize| format!("{{\"id\": {n}, \"name\": \"entry {n}\", \"path\": \"/etc/{n}\"}},\n");
    let script =
        |n: usize| format!("echo \"step {n}\" && mkdir -p out/{n} && cp src/{n}.c out/{n}/ || exit 1\n");
    vec![
        ("2,000 lines of echo", Allowed, numbered(2_000, |n| format!("echo line {n}\n"))),
        (
            "2,000 lines of echo in a function",
            Allowed,
            format!("f() {{\n{}}}\nf", numbered(2_000, |n| format!("echo line {n}\n"))),
        ),
        ("30,000 words", Allowed, format!("echo {}", "word ".repeat(30_000))),
        (
            "a here-document of 500 KB",
            Allowed,
            format!("cat > notes.md <<'EOF'\n{}EOF\n", numbered(8_000, line)),
        ),
        (
            "a here-document of 900 KB of JSON",
            Allowed,
            format!("cat > data.json <<'EOF'\n{}EOF\nrm -f notes.txt\n", numbered(15_000, json)),
        ),
        ("a script of 100 KB", Allowed, format!("set -e\n{}", numbered(1_400, script))),
        (
            "a text of 100 KB in quotes",
            Allowed,
            format!("git commit -m '{}'", "rm -rf / is bad. ".repeat(6_000)),
        ),
        ("a blob of 500 KB", Allowed, format!("echo {} > blob", "QUJD".repeat(125_000))),
        (
            "1 MiB of comments",
            Allowed,
            fill("", "# rm -rf / is only talked about here, at some length\n", ""),
        ),
    ]
}

/// The machine that they are judged on: the corpus's, with a directory of 50,000 entries.
pub fn world() -> MemoryWorld {
    let mut world = fixture::world(&cases::plain("true"));
    for at in 0..50_000 {
        world = world.file(&format!("/home/dev/proj/many/{at}"), "");
    }
    world
}
