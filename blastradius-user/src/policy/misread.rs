//! What people write into a policy file because another tool understands it. Here it would be the name of something that
//! does not exist: a `deny` line that protects nothing, and nobody hears of it. So it is an error.

/// A form that is not understood.
pub(super) struct Form {
    /// Where it begins, in bytes.
    pub(super) find: fn(&str) -> Option<usize>,
    /// What stands there.
    pub(super) found: &'static str,
    /// What should.
    pub(super) expected: &'static str,
}

/// In patterns of paths and of commands.
pub(super) const EVERYWHERE: &[Form] = &[
    Form {
        find: |text| text.match_indices('#').map(|(at, _)| at).find(|at| is_behind_blank(text, *at)),
        found: "`#` behind a statement",
        expected: "a comment on a line of its own (`?` stands for a `#` in a name)",
    },
    Form {
        find: |text| {
            let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
            (text.len() > 1 && text.ends_with(quote)).then_some(0)
        },
        found: "quotation marks around it",
        expected: "it without them: blanks need none",
    },
];

/// In patterns of paths.
pub(super) const IN_PATTERNS: &[Form] = &[
    Form {
        find: |text| text.starts_with('!').then_some(0),
        found: "`!`",
        expected: "a pattern (`./!` for a name that begins so)",
    },
    Form {
        find: |text| (text.starts_with('<') && !text.starts_with("<repo>")).then_some(0),
        found: "`<`",
        expected: "`<repo>` or another pattern (`./<` for a name that begins so)",
    },
    Form {
        find: |text| {
            let anchors = ["./", "../", "/", "~/", "<repo>", "**/"];
            let starts = text.char_indices().map(|(at, _)| at).filter(|at| is_behind_blank(text, *at));
            starts.into_iter().find(|at| anchors.iter().any(|anchor| text[*at..].starts_with(anchor)))
        },
        found: "a second pattern",
        expected: "a line for each pattern",
    },
    Form {
        find: |text| {
            let lists = text
                .match_indices('{')
                .filter(|(at, _)| text[*at..].split_once('}').is_some_and(|(list, _)| list.contains(',')));
            lists.map(|(at, _)| at).next()
        },
        found: "a list in braces",
        expected: "a line for each pattern (`?` stands for a brace in a name)",
    },
    Form {
        find: |text| text.find("\\ "),
        found: "a backslash before a blank",
        expected: "the blank alone: it needs none",
    },
    Form {
        find: |text| {
            let inner = text.match_indices("/$").find(|(at, _)| {
                text[at + 2..].starts_with(|next: char| next.is_ascii_uppercase() || next == '{')
            });
            inner.map(|(at, _)| at + 1)
        },
        found: "a variable inside the pattern",
        expected: "one at its beginning only (`?` stands for a `$` in a name)",
    },
];

fn is_behind_blank(text: &str, at: usize) -> bool {
    text[..at].ends_with([' ', '\t'])
}
