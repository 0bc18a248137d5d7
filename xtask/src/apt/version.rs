//! The order of Debian versions, as deb-version(7) states it.

use std::cmp::Ordering;

/// Compares two Debian versions.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (Parts::of(left), Parts::of(right));
    left.epoch
        .cmp(&right.epoch)
        .then_with(|| part(left.upstream, right.upstream))
        .then_with(|| part(left.revision, right.revision))
}

struct Parts<'a> {
    epoch: u64,
    upstream: &'a str,
    revision: &'a str,
}

impl<'a> Parts<'a> {
    fn of(version: &'a str) -> Self {
        let (epoch, rest) = match version.split_once(':') {
            Some((epoch, rest)) => (epoch.parse().unwrap_or(0), rest),
            None => (0, version),
        };
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
        Self { epoch, upstream, revision }
    }
}

/// Alternately compares a run of non-digits by weight and a run of digits by value.
fn part(mut left: &str, mut right: &str) -> Ordering {
    while !left.is_empty() || !right.is_empty() {
        let (left_text, right_text) = (take(&mut left, false), take(&mut right, false));
        let (left_number, right_number) = (take(&mut left, true), take(&mut right, true));
        let order = text(left_text, right_text).then_with(|| number(left_number, right_number));
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

fn take<'a>(rest: &mut &'a str, digits: bool) -> &'a str {
    let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
    let (run, tail) = rest.split_at(end);
    *rest = tail;
    run
}

fn text(left: &str, right: &str) -> Ordering {
    // The end of a run weighs 0: more than `~`, less than anything else.
    let weights = |run: &str| run.chars().map(weight).chain([0]).collect::<Vec<_>>();
    let (left, right) = (weights(left), weights(right));
    let longest = left.len().max(right.len());
    let at = |weights: &[i32], i: usize| weights.get(i).copied().unwrap_or(0);
    (0..longest).map(|i| at(&left, i).cmp(&at(&right, i))).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn weight(c: char) -> i32 {
    match c {
        '~' => -1,
        c if c.is_ascii_alphabetic() => c as i32,
        c => c as i32 + 256,
    }
}

fn number(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.trim_start_matches('0'), right.trim_start_matches('0'));
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_dpkg_orders_them() {
        let ascending = [
            "1.0~rc1-1",
            "1.0-1~bpo12+1",
            "1.0-1",
            "1.0-1+b1",
            "1.0a-1",
            "1.0+dfsg-1",
            "1.2-1",
            "1.10-1",
            "6.1.0-57",
            "6.12.90-1",
            "6.12.117-1~deb12u1",
            "6.12.117-1",
            "6.12.118-1",
            "7.3.4-1~bpo13+1",
            "1:0.1-1",
        ];
        for pair in ascending.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{} < {}", pair[0], pair[1]);
            assert_eq!(compare(pair[1], pair[0]), Ordering::Greater, "{} > {}", pair[1], pair[0]);
            assert_eq!(compare(pair[0], pair[0]), Ordering::Equal);
        }
        assert_eq!(compare("1.01", "1.1"), Ordering::Equal);
        assert_eq!(compare("0:1.0", "1.0"), Ordering::Equal);
    }
}
