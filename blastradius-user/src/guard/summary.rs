//! What is told at the end of what was refused?
//!
//! The first of each place and a count of the rest, so that a tree of two thousand files is one line and the next thing that
//! was refused is still seen.

use std::path::PathBuf;

use blastradius_common::RuleId;

use super::refusal::{Refusal, thousands};

/// So many places are listed.
const LISTED: usize = 5;
/// So many places are told apart; what is refused elsewhere is only counted.
const FOLLOWED: usize = 256;

/// Refusals of one session, in short.
#[derive(Debug, Default)]
pub struct Summary {
    places: Vec<Place>,
    count: u64,
}

#[derive(Debug)]
struct Place {
    rule: Option<RuleId>,
    directory: Option<PathBuf>,
    first: String,
    more: u64,
}

impl Summary {
    /// Adds one.
    pub fn add(&mut self, refusal: &Refusal) {
        self.count += 1;
        let (rule, directory) = refusal.place();
        // A tree is refused from its leaves up or from its root down: what lies below a place that is told belongs to it.
        let followed = self.places.len();
        let known = self.places.iter_mut().find(|place| {
            place.rule == rule
                && match (&place.directory, &directory) {
                    (Some(told), Some(this)) => this.starts_with(told) && told.parent().is_some(),
                    (told, this) => told == this,
                }
        });
        match known {
            Some(place) => place.more += 1,
            None if followed < FOLLOWED => {
                self.places.push(Place { rule, directory, first: refusal.line(), more: 0 });
            }
            None => {}
        }
    }

    /// How many there were.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The lines of the end report.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        let mut told = 0;
        for place in self.places.iter().take(LISTED) {
            text.push_str(&format!("  {}\n", place.first));
            told += 1 + place.more;
            if place.more > 0 {
                let below = place.directory.as_deref().map_or_else(String::new, |directory| {
                    format!(" below {}", crate::report::human::clean(&directory.to_string_lossy()))
                });
                text.push_str(&format!("    and {} more{below}\n", thousands(place.more)));
            }
        }
        let elsewhere = self.count - told;
        if elsewhere > 0 {
            text.push_str(&format!("  and {} more elsewhere\n", thousands(elsewhere)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Report;
    use crate::guard::refusal::{Layer, Outcome};
    use crate::policy::finding::Finding;
    use blastradius_common::Verdict;

    fn refusal(command: &str, resolved: &str) -> Refusal {
        let finding = Finding {
            rule: RuleId::OutOfScope,
            verdict: Verdict::Deny,
            target: resolved.to_owned(),
            resolved: Some(resolved.into()),
            segment: command.to_owned(),
            reasons: Vec::new(),
            advice: None,
        };
        let report = Report { command: command.to_owned(), verdict: Verdict::Deny, findings: vec![finding] };
        Refusal {
            layer: Layer::Kernel,
            outcome: Outcome::Refused,
            operation: Some("remove"),
            report,
            chain: Vec::new(),
            cwd: None,
            offer: None,
        }
    }

    #[test]
    fn a_burst_is_one_line_and_the_next_place_is_seen() {
        let mut summary = Summary::default();
        for index in 0..2229 {
            summary.add(&refusal("rm -rf /srv/data", &format!("/srv/data/{index}")));
        }
        summary.add(&refusal("rm /home/dev/letter", "/home/dev/letter"));
        assert_eq!(
            summary.lines(),
            "  rm -rf /srv/data  → /srv/data/0  [out-of-scope]\n    and 2,228 more below /srv/data\n  rm /home/dev/letter  [out-of-scope]\n"
        );
        assert_eq!(summary.count(), 2230);
    }

    #[test]
    fn a_refusal_by_a_program_without_words_names_the_path() {
        let mut summary = Summary::default();
        summary.add(&refusal("rm", "/srv/data/x"));
        assert_eq!(summary.lines(), "  rm  → /srv/data/x  [out-of-scope]\n");
    }

    #[test]
    fn many_places_are_counted() {
        let mut summary = Summary::default();
        for index in 0..1000 {
            summary.add(&refusal("rm", &format!("/srv/{index}/x")));
        }
        assert!(summary.lines().ends_with("  and 995 more elsewhere\n"), "{}", summary.lines());
    }
}
