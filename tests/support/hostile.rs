//! Inputs that are made to hurt an evaluator: each must get an answer, in bounded time and memory, and never `allow`
//! because a limit was reached.

/// Name and text of each.
pub fn inputs() -> Vec<(&'static str, String)> {
    let nested = |depth: usize, open: &str, inner: &str, close: &str| {
        open.repeat(depth) + inner + &close.repeat(depth)
    };
    vec![
        ("1 MiB of a &&", "a && ".repeat((1 << 20) / 5 - 3) + "rm -rf /"),
        ("50,000 links of a &&, nothing destroyed", "a && ".repeat(50_000) + "b"),
        ("4,000 nested substitutions", format!("echo {}", nested(4_000, "$(", "rm -rf /", ")"))),
        ("30 nested double parentheses", nested(30, "((", "rm -rf /", "))")),
        ("30 nested subshells", nested(30, "( ", "rm -rf /", " )")),
        ("a word of 100,000 characters", format!("rm -rf /{}", "x".repeat(100_000))),
        ("2,000 nested braces", format!("rm -rf {}", nested(2_000, "{a,", "/etc", "}"))),
        ("a brace range of 10^9", "rm -rf /etc/{1..1000000000}".into()),
        ("braces that multiply", format!("rm -rf /{}", "{a,b}".repeat(40))),
        (
            "a variable that doubles itself 64 times",
            format!("X=/etc\n{}rm -rf \"$X\"", "X=$X$X\n".repeat(64)),
        ),
        ("functions that call each other", "f() { g; }; g() { f; rm -rf /etc; }; f".into()),
        ("a function that calls itself twice", "f() { f; f; rm -rf build; }; f".into()),
        ("a loop without end", "while :; do X=$X/a; rm -rf \"/$X\"; done".into()),
        ("500 KB of statements", "rm -rf build/x\n".repeat(33_000)),
        ("NUL and control characters", "rm\0 -rf \u{1}/etc; rm -rf /".into()),
        ("an unclosed quote", "rm -rf '/etc".into()),
        ("100,000 open parentheses", "(".repeat(100_000) + "rm -rf /"),
        (
            "nested loops",
            "for a in {1..1000}; do for b in {1..1000}; do rm -rf /etc/$a/$b; done; done".into(),
        ),
        ("eval that grows", "E='eval \"$E$E\"'; eval \"$E\"; rm -rf /etc".into()),
    ]
}
