//! The picture of the README: is it one, and is what it shows what the program says today?

use std::fs;

use crate::page::{Page, root};

/// What stands in a picture's elements, in order. Panics where it is not well formed: that much of XML is enough for what we draw.
fn texts(svg: &str) -> Vec<String> {
    let (mut open, mut texts) = (Vec::new(), Vec::new());
    let mut rest = svg.trim();
    while let Some((before, after)) = rest.split_once('<') {
        for entity in before.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;"].iter().any(|known| entity.starts_with(known)), "&{entity}");
        }
        if open.last() == Some(&"text") {
            texts.push(before.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"));
        }
        if let Some(comment) = after.strip_prefix("!--") {
            let (comment, next) = comment.split_once("-->").expect("a comment ends");
            assert!(!comment.contains("--"), "{comment}");
            rest = next;
            continue;
        }
        let (tag, next) = after.split_once('>').expect("a tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = next;
    }
    assert!(open.is_empty() && rest.is_empty(), "{open:?} {rest}");
    texts
}

#[test]
fn the_picture_shows_the_refusal_that_the_readme_quotes_and_no_loss_under_the_guard() {
    let svg = fs::read_to_string(root().join("docs/demo.svg")).expect("cargo xtask demo --svg docs/demo.svg");
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "), "{}", &svg[..80]);
    let shown = texts(&svg);
    let page = Page::read("README.md");
    let examples = page.examples();
    let (_, refusal) =
        examples.iter().find(|(command, _)| command.contains("AGENT_TMP")).expect("the flagship");
    // In the show a shell is handed the text: it is a part of that command there.
    for line in refusal.lines().filter(|line| !line.starts_with("  command ")) {
        assert!(
            shown.iter().any(|text| text.trim() == line.trim()),
            "the picture lacks `{line}`: draw it anew"
        );
    }
    let told = |how: &str| shown.iter().filter(|text| text.trim_start().starts_with(how)).collect::<Vec<_>>();
    let (without, under) = (told("without the guard:"), told("under blastradius run:"));
    assert!(without.len() >= 3 && without.len() == under.len(), "{without:?} {under:?}");
    assert!(without.iter().filter(|text| text.contains("LOST ")).count() >= 2, "{without:?}");
    assert!(
        under.iter().all(|text| text.contains("saved all ") || text.ends_with("undisturbed")),
        "{under:?}"
    );
}

#[test]
fn a_picture_that_is_broken_is_found() {
    assert_eq!(texts("<svg a=\"1\"><!-- < --><text>a &lt; b</text><r/></svg>"), ["a < b"]);
    for broken in [
        "<svg><text>a</svg>",
        "<svg><!-- a -- b --></svg>",
        "<svg>a & b</svg>",
        "<svg",
        "<svg></svg></g>",
        "<svg a=\"1></svg>",
    ] {
        assert!(std::panic::catch_unwind(|| texts(broken)).is_err(), "{broken}");
    }
}
