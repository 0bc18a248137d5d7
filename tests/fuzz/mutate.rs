//! New inputs from old ones.

use fastrand::Rng;

/// No input grows beyond this by mutation: what is longer has tests of its own.
const LONGEST: usize = 8192;

/// Changes an input a little: a few times one of the ways below.
pub(crate) fn mutate(rng: &mut Rng, input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str]) {
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(..=input.len());
        match rng.u8(..9) {
            0 => splice(input, at, 0, rng.choice(words).map_or(&b""[..], |word| word.as_bytes())),
            1 => splice(input, at, rng.usize(..8), b""),
            2 => splice(input, at, rng.usize(..64), b""),
            3 => splice(input, at, 1, &[rng.u8(..)]),
            4 => splice(input, at, 0, &[*rng.choice(SIGNS).unwrap_or(&b' ')]),
            5 => {
                let piece = stretch(rng, input).to_vec();
                let times = if rng.u8(..8) == 0 { rng.usize(1..200) } else { 1 };
                splice(input, at, 0, &piece.repeat(times));
            }
            6 => {
                let other = rng.choice(corpus).cloned().unwrap_or_default();
                splice(input, at, 0, stretch(rng, &other));
            }
            7 => {
                let other = rng.choice(corpus).cloned().unwrap_or_default();
                input.truncate(at);
                input.extend_from_slice(&other[rng.usize(..=other.len())..]);
            }
            _ => {
                let piece = stretch(rng, input).to_vec();
                let word = rng.choice(words).map_or(&b""[..], |word| word.as_bytes());
                let changed = replaced(input, &piece, word);
                *input = changed;
            }
        }
        input.truncate(LONGEST);
    }
}

/// Signs that mean something in a shell, in JSON or in a policy file.
const SIGNS: &[u8] = b"$`\"'\\{}()[]<>|&;*?~!#=/-+:,.%^@\n\t \0";

fn splice(input: &mut Vec<u8>, at: usize, gone: usize, new: &[u8]) {
    let end = at.saturating_add(gone).min(input.len());
    input.splice(at..end, new.iter().copied());
}

fn stretch<'i>(rng: &mut Rng, input: &'i [u8]) -> &'i [u8] {
    let begin = rng.usize(..=input.len());
    let end = rng.usize(begin..=input.len().min(begin + 256));
    &input[begin..end]
}

/// The first place of `old` becomes `new`.
fn replaced(input: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let found =
        (!old.is_empty()).then(|| input.windows(old.len()).position(|window| window == old)).flatten();
    match found {
        Some(at) => [&input[..at], new, &input[at + old.len()..]].concat(),
        None => input.to_vec(),
    }
}

/// The smallest input that can be cut out of `input` with `fails` still true, as far as a bounded search finds it.
pub(crate) fn shrunk(mut input: Vec<u8>, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut tries = 400;
    let mut step = input.len() / 2;
    while step > 0 && tries > 0 {
        let mut at = 0;
        while at < input.len() && tries > 0 {
            let mut shorter = input.clone();
            splice(&mut shorter, at, step, b"");
            tries -= 1;
            if fails(&shorter) {
                input = shorter;
            } else {
                at += step;
            }
        }
        step /= 2;
    }
    input
}
