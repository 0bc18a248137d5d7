//! Where quoted and nested constructs of shell text end. Everything here looks at bytes and gives byte offsets.

/// Nesting beyond which a construct counts as unterminated. The parser refuses such text before it comes here.
const MAX_NESTING: u32 = 160;

/// The offset behind the single-quoted string whose opening quote is at `start`.
pub(crate) fn skip_single(src: &[u8], start: usize) -> usize {
    src[start + 1..].iter().position(|&byte| byte == b'\'').map_or(src.len(), |at| start + at + 2)
}

/// The offset behind `$'…'` whose opening quote is at `start`.
pub(crate) fn skip_ansi(src: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < src.len() {
        match src[at] {
            b'\\' => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    src.len()
}

/// The offset behind the double-quoted string whose opening quote is at `start`.
pub(crate) fn skip_double(src: &[u8], start: usize, depth: u32) -> usize {
    let mut at = start + 1;
    while at < src.len() {
        match src[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            b'$' => at = skip_dollar(src, at, true, depth + 1),
            b'`' => at = skip_backtick(src, at),
            _ => at += 1,
        }
    }
    src.len()
}

/// The offset behind the backtick substitution that opens at `start`.
pub(crate) fn skip_backtick(src: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < src.len() {
        match src[at] {
            b'\\' => at += 2,
            b'`' => return at + 1,
            _ => at += 1,
        }
    }
    src.len()
}

/// The offset behind what begins with the `$` at `start`: a substitution, an expansion in braces, or the `$` alone.
pub(crate) fn skip_dollar(src: &[u8], start: usize, in_double: bool, depth: u32) -> usize {
    match src.get(start + 1) {
        Some(b'(') => skip_paren(src, start + 1, depth + 1),
        Some(b'{') => skip_brace(src, start + 1, in_double, depth + 1),
        Some(b'[') => skip_bracket(src, start + 1, depth + 1),
        Some(b'\'') if !in_double => skip_ansi(src, start + 1),
        Some(b'"') if !in_double => skip_double(src, start + 1, depth + 1),
        _ => start + 1,
    }
}

/// The offset behind the `}` that closes the `{` of a parameter expansion at `start`.
pub(crate) fn skip_brace(src: &[u8], start: usize, in_double: bool, depth: u32) -> usize {
    if depth > MAX_NESTING {
        return src.len();
    }
    let mut at = start + 1;
    while at < src.len() {
        match src[at] {
            b'\\' => at += 2,
            b'}' => return at + 1,
            b'\'' if !in_double => at = skip_single(src, at),
            b'"' => at = skip_double(src, at, depth + 1),
            b'`' => at = skip_backtick(src, at),
            b'$' => at = skip_dollar(src, at, in_double, depth + 1),
            _ => at += 1,
        }
    }
    src.len()
}

/// The offset behind the `]` that closes the `[` at `start` (a subscript, `$[…]`).
pub(crate) fn skip_bracket(src: &[u8], start: usize, depth: u32) -> usize {
    if depth > MAX_NESTING {
        return src.len();
    }
    let mut at = start + 1;
    while at < src.len() {
        match src[at] {
            b'\\' => at += 2,
            b']' => return at + 1,
            b'[' => at = skip_bracket(src, at, depth + 1),
            b'\'' => at = skip_single(src, at),
            b'"' => at = skip_double(src, at, depth + 1),
            b'`' => at = skip_backtick(src, at),
            b'$' => at = skip_dollar(src, at, false, depth + 1),
            _ => at += 1,
        }
    }
    src.len()
}

/// The offset behind the `)` that closes the `(` of a substitution at `start`.
///
/// The text between may hold anything that a script may hold, so `case` patterns, comments and here-documents are
/// recognised: their parentheses do not count.
pub(crate) fn skip_paren(src: &[u8], start: usize, depth: u32) -> usize {
    if depth > MAX_NESTING {
        return src.len();
    }
    let mut at = start + 1;
    let mut open = 1_u32;
    // `case` words that wait for their `esac`: inside, a `)` without a `(` ends a pattern.
    let mut cases = 0_u32;
    let mut word_start = true;
    let mut heredocs: Vec<(Vec<u8>, bool)> = Vec::new();
    while at < src.len() {
        let byte = src[at];
        let fresh = word_start;
        word_start = false;
        match byte {
            b'\\' => at += 2,
            b'\'' => at = skip_single(src, at),
            b'"' => at = skip_double(src, at, depth + 1),
            b'`' => at = skip_backtick(src, at),
            b'$' => at = skip_dollar(src, at, false, depth + 1),
            b'#' if fresh => {
                while at < src.len() && src[at] != b'\n' {
                    at += 1;
                }
            }
            b'(' => {
                open += 1;
                at += 1;
                word_start = true;
            }
            b')' => {
                at += 1;
                word_start = true;
                if open == 1 && cases > 0 {
                    continue;
                }
                open -= 1;
                if open == 0 {
                    return at;
                }
            }
            b'<' if src[at..].starts_with(b"<<<") => at += 3,
            b'<' if src[at..].starts_with(b"<<") => {
                let (next, delimiter) = heredoc_delimiter(src, at + 2);
                at = next;
                heredocs.extend(delimiter);
            }
            b'\n' => {
                at += 1;
                word_start = true;
                for (delimiter, strip) in heredocs.drain(..) {
                    at = skip_heredoc(src, at, &delimiter, strip);
                }
            }
            b' ' | b'\t' | b';' | b'|' | b'&' | b'<' | b'>' => {
                at += 1;
                word_start = true;
            }
            _ if fresh && byte.is_ascii_lowercase() => {
                let end =
                    src[at..].iter().position(|b| !b.is_ascii_alphanumeric()).map_or(src.len(), |n| at + n);
                match &src[at..end] {
                    b"case" if word_ends(src, end) => cases += 1,
                    b"esac" if word_ends(src, end) => cases = cases.saturating_sub(1),
                    _ => {}
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    src.len()
}

/// Whether a word ends in front of `at`.
fn word_ends(src: &[u8], at: usize) -> bool {
    src.get(at).is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')'))
}

/// Reads the delimiter behind `<<`: the offset behind it, and the delimiter with whether tabs are stripped.
fn heredoc_delimiter(src: &[u8], start: usize) -> (usize, Option<(Vec<u8>, bool)>) {
    let mut at = start;
    let strip = src.get(at) == Some(&b'-');
    if strip {
        at += 1;
    }
    while matches!(src.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let mut delimiter = Vec::new();
    while let Some(&byte) = src.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
            b'\\' => {
                delimiter.extend(src.get(at + 1));
                at += 2;
            }
            b'\'' | b'"' => {
                let end = src[at + 1..].iter().position(|&b| b == byte).map_or(src.len(), |n| at + 1 + n);
                delimiter.extend_from_slice(&src[at + 1..end]);
                at = end + 1;
            }
            _ => {
                delimiter.push(byte);
                at += 1;
            }
        }
    }
    let at = at.min(src.len());
    (at, (!delimiter.is_empty()).then_some((delimiter, strip)))
}

/// The offset behind the here-document body that begins at `start`.
fn skip_heredoc(src: &[u8], start: usize, delimiter: &[u8], strip: bool) -> usize {
    let mut at = start;
    while at < src.len() {
        let end = src[at..].iter().position(|&b| b == b'\n').map_or(src.len(), |n| at + n);
        let mut line = &src[at..end];
        while strip && line.first() == Some(&b'\t') {
            line = &line[1..];
        }
        at = (end + 1).min(src.len());
        if line == delimiter {
            return at;
        }
    }
    src.len()
}
