//! The show as a picture of a terminal, for a page.

use std::fmt::Write as _;

use super::{Played, SHOWN, verdict};

/// Sizes, in pixels: of a character, of a line, and of what is left free around them.
const CHARACTER: f64 = 8.4;
const LINE: usize = 20;
const MARGIN: usize = 16;
/// The bar above the text.
const BAR: usize = 28;
/// So many characters of a line are shown.
const WIDTH: usize = 110;

/// What a line is, which decides its colour.
#[derive(Clone, Copy)]
enum Kind {
    Typed,
    Printed,
    Lost,
    Saved,
}

impl Kind {
    fn colour(self) -> &'static str {
        match self {
            Self::Typed => "#e6edf3",
            Self::Printed => "#8b949e",
            Self::Lost => "#ff7b72",
            Self::Saved => "#7ee787",
        }
    }
}

/// The picture.
pub(super) fn picture(played: &[Played]) -> String {
    let lines: Vec<(Kind, String)> = played.iter().flat_map(lines).collect();
    let height = BAR + 2 * MARGIN + lines.len() * LINE;
    #[expect(clippy::cast_precision_loss, reason = "far below what a float holds")]
    let width = (WIDTH as f64 * CHARACTER).ceil() + 2.0 * MARGIN as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>What agents have done to homes, without blastradius and under it</title>\n\
         <!-- Written by cargo xtask demo: this is what the programs printed. -->\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    for (at, colour) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let _ =
            writeln!(svg, "<circle cx=\"{}\" cy=\"15\" r=\"5\" fill=\"{colour}\"/>", MARGIN + 5 + at * 18);
    }
    svg.push_str("<g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\" xml:space=\"preserve\">\n");
    for (at, (kind, text)) in lines.iter().enumerate() {
        let y = BAR + MARGIN + at * LINE + LINE / 2;
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y}\" fill=\"{}\">{}</text>",
            kind.colour(),
            escaped(&cut(text))
        );
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// An act: what ran, what came of it, and what the guard said.
fn lines(played: &Played) -> Vec<(Kind, String)> {
    let Played { act, unguarded, guarded } = played;
    let mut lines: Vec<(Kind, String)> =
        act.text.trim().lines().map(|line| (Kind::Typed, format!("$ {line}"))).collect();
    let outcome = |how: &str, report| {
        let verdict = verdict(act, report);
        let kind = if verdict.starts_with("LOST") || verdict.starts_with("DISTURBED") {
            Kind::Lost
        } else {
            Kind::Saved
        };
        (kind, format!("  {how:<24}{verdict}"))
    };
    lines.push(outcome("without the guard:", unguarded));
    if let Some(report) = guarded {
        lines.push(outcome("under blastradius run:", report));
        lines.extend(report.output.lines().take(SHOWN).map(|line| (Kind::Printed, format!("    {line}"))));
    }
    lines.push((Kind::Printed, String::new()));
    lines
}

fn cut(line: &str) -> String {
    let line = line.replace('\t', "    ");
    if line.chars().count() <= WIDTH {
        return line;
    }
    line.chars().take(WIDTH - 1).chain(['…']).collect()
}

/// Text as XML takes it. Control characters, which it takes in no form, are left out.
fn escaped(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control()).collect::<String>();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XML takes no `--` in a comment, and readers refuse the whole picture for one.
    #[test]
    fn the_picture_is_one_that_readers_take() {
        let svg = picture(&[]);
        let comment = svg.split_once("<!--").unwrap().1.split_once("-->").unwrap().0;
        assert!(!comment.contains("--"), "{comment}");
    }

    #[test]
    fn what_programs_print_cannot_break_the_picture() {
        assert_eq!(escaped("a <b> & \u{1b}[31mred"), "a &lt;b&gt; &amp; [31mred");
        assert_eq!(cut(&"x".repeat(WIDTH)).chars().count(), WIDTH);
        let long = cut(&"ä".repeat(WIDTH + 5));
        assert!(long.ends_with('…') && long.chars().count() == WIDTH);
    }
}
