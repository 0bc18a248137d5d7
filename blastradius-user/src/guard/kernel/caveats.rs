//! In what the rung departs from the policy on this kernel, for people.

/// Departures, each a sentence without a full stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caveats {
    /// What is refused, or costs more, though the policy does not ask for it.
    pub stricter: Vec<String>,
    /// What the policy refuses and this kernel cannot.
    pub unenforced: Vec<String>,
}

const STRICTER: &str = "stricter: ";
const UNENFORCED: &str = "unenforced: ";

impl Caveats {
    /// Whether `what` is not enforced.
    pub(super) fn lacks(&self, what: &str) -> bool {
        self.unenforced.iter().any(|known| known == what)
    }

    /// As lines, for whoever opens the pinned set later.
    pub(super) fn to_text(&self) -> String {
        let stricter = self.stricter.iter().map(|text| format!("{STRICTER}{text}\n"));
        let unenforced = self.unenforced.iter().map(|text| format!("{UNENFORCED}{text}\n"));
        stricter.chain(unenforced).collect()
    }

    /// The inverse of [`Caveats::to_text`]; other lines are passed over.
    pub(super) fn from_text(text: &str) -> Self {
        let with =
            |prefix| text.lines().filter_map(|line| line.strip_prefix(prefix)).map(str::to_owned).collect();
        Self { stricter: with(STRICTER), unenforced: with(UNENFORCED) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let caveats = Caveats { stricter: vec!["a".into(), "b".into()], unenforced: vec!["c".into()] };
        assert_eq!(Caveats::from_text(&caveats.to_text()), caveats);
        assert_eq!(Caveats::from_text("nonsense\n"), Caveats::default());
    }
}
